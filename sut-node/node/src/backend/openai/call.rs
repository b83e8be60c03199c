//! A prompt under way, and the worker's half of the backend, which holds one of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::answer::Completion;
use super::connection::{Connection, Heard, READ_BYTES};
use super::error::PromptFailure;
use super::prompt::{Lengths, Prompt};
use super::reply::{Progress, Reply};
use super::server::Server;
use crate::backend::stream::{Event, Streamer, What};
use crate::backend::{BackendSample, InferError};

/// A prompt that was sent and its reply under way.
#[derive(Debug)]
pub(super) struct Call {
    connection: Connection,
    reply: Reply,
}

impl Call {
    /// Sends a prompt.
    pub(super) fn start(server: &Server, model: &str, prompt: &Prompt<'_>) -> Result<Call, PromptFailure> {
        Ok(Call { connection: server.post(&prompt.body(model))?, reply: Reply::new(prompt.tokens) })
    }

    /// Waits for more of the reply, [`POLL`](super::connection::POLL) at most.
    pub(super) fn step(&mut self, buffer: &mut [u8]) -> Progress {
        match self.connection.receive(buffer) {
            Ok(Heard::Bytes(bytes)) => self.reply.feed(bytes),
            Ok(Heard::NothingYet) => Progress::default(),
            Ok(Heard::Closed) => self.reply.close(),
            Err(failure) => Progress { first: None, end: Some(Err(failure)) },
        }
    }

    /// Returns true when the server has begun to answer.
    pub(super) fn has_head(&self) -> bool {
        self.reply.has_head()
    }

    /// Returns the name that the server gives its software; empty when it gives none.
    pub(super) fn server(&self) -> &str {
        self.reply.server()
    }
}

/// State that all workers of a backend share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) server: Server,
    pub(super) model: String,
    /// Limits on the tokens of an answer where the sample sets none.
    pub(super) tokens: Lengths,
    /// The log says already that chunks are counted as tokens.
    pub(super) has_warned: AtomicBool,
    /// The log names already a part of chunks that is left out.
    pub(super) has_named: AtomicBool,
}

impl Shared {
    /// Says in the log, once each, that the server does not count its tokens, and which text of its is left out.
    pub(super) fn warn(&self, completion: &Completion) {
        if let Some(part) = &completion.unread
            && !self.has_named.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(server = self.server.authority, part, "text beside the answer's is left out");
        }
        if completion.chunks_counted && !self.has_warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                server = self.server.authority,
                "the server does not say how many tokens its answers have: tokens counted as chunks"
            );
        }
    }
}

/// A worker's half of the backend. It holds one prompt at a time; more prompts at a time are more workers.
pub(super) struct Caller {
    shared: Arc<Shared>,
    call: Option<Call>,
    buffer: Vec<u8>,
}

impl Caller {
    pub(super) fn new(shared: Arc<Shared>) -> Caller {
        Caller { shared, call: None, buffer: vec![0; READ_BYTES] }
    }
}

impl Streamer for Caller {
    fn slots(&self) -> usize {
        1
    }

    fn begin(&mut self, _slot: usize, sample: &BackendSample) -> Result<(), InferError> {
        let prompt = Prompt::read(&sample.tensors, self.shared.tokens)?;
        self.call = Some(Call::start(&self.shared.server, &self.shared.model, &prompt)?);
        Ok(())
    }

    fn step(&mut self, events: &mut Vec<Event>) {
        let Some(call) = &mut self.call else { return };
        let Progress { first, end } = call.step(&mut self.buffer);
        let event = |what| Event { slot: 0, what };
        events.extend(first.map(What::First).map(event));
        let Some(end) = end else { return };
        self.call = None;
        events.push(event(match end {
            Ok(completion) => {
                self.shared.warn(&completion);
                What::Done(completion.output)
            }
            Err(failure) => What::Failed(failure.into()),
        }));
    }

    fn cancel(&mut self, _slot: usize) {
        self.call = None;
    }
}
