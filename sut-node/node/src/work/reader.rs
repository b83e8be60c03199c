//! The reading half of one Dispatch stream: parts become samples, and samples are sent where they are answered.
//!
//! Works in bursts: what one read brought is decoded, then handed over, or run through an inline backend, in one go.
//! Stops reading, and so makes the transport slow the client down, while the node is full. Never waits for the stream's
//! own output.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use bytes::Bytes;
use lon_net::clock;
use lon_net::flow::Source;
use lon_net::framing::{Inbound, Incoming};
use lon_proto::assembly::{Assembly, AssemblyError, Part};
use lon_proto::stages::duration_ns;
use lon_proto::v1::{DispatchRequest, Open};
use tonic::Status;

use super::answer_queue::{AnswerQueue, SampleAnswer};
use super::decode::pool::DecodePool;
use super::infer::infer;
use super::job::Job;
use super::parts::{IncompleteSamples, breach};
use super::probe;
use super::queue::JobQueue;
use super::ticket::Ticket;
use crate::backend::{BackendSample, Input, Worker};
use crate::run::failure::SampleFailure;
use crate::stop::Stop;
use crate::tensor;

/// Where the samples of a stream are answered.
pub(crate) enum Target {
    /// By the worker threads.
    Queue(Arc<JobQueue>),
    /// Here, by the backend: that costs less than handing samples over.
    Inline(Box<dyn Worker>),
    /// By whom the decode threads hand them to: a run with a codec.
    Decode(Arc<DecodePool<Job>>),
    /// Here, without a backend: a probe.
    Probe,
}

/// Reads one stream to its end.
pub(crate) struct Reader {
    answer_queue: Arc<AnswerQueue>,
    target: Target,
    /// Part of a sample that the reader decodes.
    input: Input,
    incomplete: IncompleteSamples,
    burst: Burst,
}

/// Samples that have come in whole and wait for the end of the burst. The two lists go together, place by place: a
/// backend takes the samples as one slice.
#[derive(Default)]
struct Burst {
    samples: Vec<BackendSample>,
    tickets: Vec<Ticket>,
}

/// The most samples in a burst.
const MAX_BURST: usize = 256;

/// Time limit for a client to say which run its stream belongs to.
const OPEN_TIMEOUT: Duration = Duration::from_secs(10);

/// Result of taking the messages that were there.
enum Taken {
    /// All were taken. More may come.
    All,
    /// The client says that nothing follows, or is gone.
    End,
}

impl Reader {
    /// A reader for samples that are answered at `target`, by a backend that looks at `input`.
    pub(crate) fn new(answer_queue: Arc<AnswerQueue>, target: Target, input: Input) -> Reader {
        // Elsewhere samples are decoded later, or never, and are wanted as they came.
        let input = if matches!(target, Target::Queue(_) | Target::Inline(_)) { input } else { Input::Opaque };
        Reader { answer_queue, target, input, incomplete: IncompleteSamples::default(), burst: Burst::default() }
    }

    /// Runs until the stream ends or breaks, the run ends, or the node is told to stop. Tells the answer queue
    /// how it ended.
    pub(crate) async fn run(mut self, mut source: impl Source, mut inbound: Inbound, stop: Stop) {
        let run = Arc::clone(&self.answer_queue.run);
        let shutting_down = || Err(Status::unavailable("the node is shutting down"));
        // One future for the whole stream: making one for every read would cost more than decoding what it brought.
        let mut over = pin!(async {
            tokio::select! {
                biased;
                () = run.until_end() => run.how_ended(),
                () = stop.clone().wait() => shutting_down(),
            }
        });
        let how = loop {
            match self.take_all(&mut inbound).await {
                Ok(Taken::All) => {}
                Ok(Taken::End) => break Ok(()),
                Err(status) => break Err(status),
            }
            // Each turn asks this: a client that never pauses would keep the select below from ever looking.
            if run.has_ended() {
                break run.how_ended();
            }
            if stop.is_told() {
                break shutting_down();
            }
            let outcome = tokio::select! {
                biased;
                outcome = poll_fn(|cx| source.poll_read(cx, &mut inbound)) => outcome,
                how = &mut over => break how,
            };
            match outcome {
                Ok(true) => run.presence.heard(),
                Ok(false) => break Ok(()),
                Err(status) => break Err(status),
            }
        };
        self.answer_queue.end_input(how);
    }

    /// Takes every whole message that is there, and ends the burst.
    async fn take_all(&mut self, inbound: &mut Inbound) -> Result<Taken, Status> {
        let taken = loop {
            match inbound.next_message::<DispatchRequest>() {
                Ok(Some(Incoming::Message(message, bytes))) => match self.take(message, bytes).await {
                    Ok(true) => {}
                    Ok(false) => break Ok(Taken::End),
                    Err(status) => break Err(status),
                },
                Ok(Some(Incoming::End(_))) => break Ok(Taken::End),
                Ok(None) => break Ok(Taken::All),
                Err(status) => break Err(status),
            }
        };
        self.hand_over();
        taken
    }

    /// Takes one message. False when the client is gone, so that nobody waits for the answer.
    async fn take(&mut self, message: DispatchRequest, message_bytes: u64) -> Result<bool, Status> {
        if message.heartbeat.is_some() {
            self.answer_queue.run.counters.client_heartbeats.fetch_add(1, Relaxed);
            return Ok(true);
        }
        self.answer_queue.run.counters.add_message_in(message_bytes, message.data.len() as u64);
        if message.open.is_some() {
            return Err(Status::invalid_argument("a second Open on this stream"));
        }
        let DispatchRequest { id, part, last, total_len, data, .. } = message;
        let part = Part { number: part, last, total_len, data };
        let (max, begins) = (self.answer_queue.run.limits.max_sample_bytes, part.number == 0);
        if begins && total_len > max {
            return Err(breach(id, &AssemblyError::TooLarge { total_len, max }));
        }
        if begins && !self.admit(total_len).await {
            return Ok(false);
        }
        let whole = if begins && last { self.only_part(id, part, max)? } else { self.one_of_parts(id, part, max)? };
        if let Some(bytes) = whole {
            self.keep(id, bytes);
        }
        Ok(true)
    }

    /// Makes room for a sample of `bytes`. False when the client is gone.
    async fn admit(&mut self, bytes: u64) -> bool {
        if self.answer_queue.run.admission.try_admit(bytes) {
            return true;
        }
        // The room that is missing may be held by samples of this burst.
        self.hand_over();
        let answer_queue = &self.answer_queue;
        let _waiting = answer_queue.run.presence.not_reading();
        answer_queue.run.admission.admit(bytes, || answer_queue.is_over()).await
    }

    /// Checks a sample that came in one part.
    fn only_part(&self, id: u64, part: Part, max: u64) -> Result<Option<Bytes>, Status> {
        let bytes = part.total_len;
        Assembly::default().push(part, max).map_err(|error| {
            self.answer_queue.run.admission.release(1, bytes);
            breach(id, &error)
        })
    }

    /// Adds a part of a sample that has several.
    fn one_of_parts(&mut self, id: u64, part: Part, max: u64) -> Result<Option<Bytes>, Status> {
        let bytes = part.total_len;
        if part.number == 0
            && let Err(status) = self.incomplete.begin(id, bytes)
        {
            self.answer_queue.run.admission.release(1, bytes);
            return Err(status);
        }
        self.incomplete.add(id, part, max)
    }

    /// Makes the ticket of a whole sample, decodes the sample and keeps both for the end of the burst.
    fn keep(&mut self, id: u64, bytes: Bytes) {
        let mut ticket = Ticket::new(id, bytes.len() as u64);
        let sample = match self.input {
            Input::Opaque => Ok(BackendSample { bytes, tensors: Vec::new() }),
            Input::Tensors => {
                let started = clock::now();
                let decoded = tensor::decode(bytes.clone()).map(|tensors| BackendSample { bytes, tensors });
                ticket.stages.decode_ns = duration_ns(clock::since(started));
                decoded
            }
        };
        match sample {
            Ok(sample) => {
                self.burst.samples.push(sample);
                self.burst.tickets.push(ticket);
                if self.burst.samples.len() >= MAX_BURST {
                    self.hand_over();
                }
            }
            Err(error) => {
                self.answer_queue.run.count_received(1);
                self.answer_queue.expect_answers(1);
                self.answer_queue.answer(std::iter::once(SampleAnswer {
                    ticket,
                    result: Err(SampleFailure::unreadable(&error)),
                    n_tokens: 0,
                }));
            }
        }
    }

    /// Ends the burst: sends its samples where they are answered.
    fn hand_over(&mut self) {
        let Burst { samples, tickets } = &mut self.burst;
        if samples.is_empty() {
            return;
        }
        let answer_queue = &self.answer_queue;
        let count = samples.len() as u64;
        answer_queue.run.count_received(count);
        answer_queue.expect_answers(count);
        let queued_at = clock::now();
        let job =
            |(sample, ticket)| Job { answer_queue: Arc::clone(answer_queue), ticket, sample, queued_at, place: None };
        match &mut self.target {
            Target::Queue(queue) => {
                queue.push(samples.drain(..).zip(tickets.drain(..)).map(job));
                // A Flush on another thread may have told the queue before these were in it.
                answer_queue.run.tell_flushes();
            }
            Target::Decode(pool) => pool.push(samples.drain(..).zip(tickets.drain(..)).map(job)),
            Target::Probe => {
                answer_queue.answer(samples.drain(..).zip(tickets.drain(..)).map(|(sample, ticket)| SampleAnswer {
                    ticket,
                    result: probe::answer(&sample.bytes),
                    n_tokens: 0,
                }));
            }
            Target::Inline(worker) => {
                let results = infer(worker.as_mut(), samples);
                let inference_ns = duration_ns(clock::since(queued_at));
                samples.clear();
                answer_queue.answer(tickets.drain(..).zip(results).map(|(mut ticket, result)| {
                    ticket.stages.inference_ns = inference_ns;
                    SampleAnswer { ticket, result, n_tokens: 0 }
                }));
            }
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.answer_queue.run.admission.release_all(self.incomplete.sizes());
        // Changes nothing when the stream ended in good order. Otherwise nobody would tell the answer queue.
        self.answer_queue.end_input(Err(Status::internal("the node's reader failed")));
    }
}

/// Reads the Open that every stream starts with. The client has ten seconds for it.
///
/// # Errors
/// The status to refuse the stream with: no Open came.
pub(crate) async fn open(source: &mut impl Source, inbound: &mut Inbound) -> Result<Open, Status> {
    let first = async {
        loop {
            match inbound.next_message::<DispatchRequest>()? {
                Some(Incoming::Message(message, _)) => return Ok(message.open),
                Some(Incoming::End(_)) => return Ok(None),
                None if poll_fn(|cx| source.poll_read(cx, inbound)).await? => {}
                None => return Ok(None),
            }
        }
    };
    let open = tokio::time::timeout(OPEN_TIMEOUT, first).await;
    let open =
        open.unwrap_or_else(|_| Err(Status::deadline_exceeded(format!("no Open came within {OPEN_TIMEOUT:?}"))))?;
    open.ok_or_else(|| Status::invalid_argument("a Dispatch stream starts with Open"))
}
