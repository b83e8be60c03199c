//! One Dispatch stream, message by message: what is said, what is heard, and what is wrong with it.

use std::collections::{HashMap, HashSet};
use std::future::poll_fn;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use bytes::Bytes;
use lon_net::clock;
use lon_net::flow::{Fill, Filled, Source};
use lon_net::framing::{Inbound, Incoming, Outbound};
use lon_proto::assembly::{Assembly, Part};
use lon_proto::limits::{HEARTBEAT_INTERVAL, MAX_SAMPLE_BYTES, PART_BYTES};
use lon_proto::run_identity::RunPass;
use lon_proto::v1::dispatch_response::Kind;
use lon_proto::v1::{DispatchRequest, DispatchResponse, Heartbeat, Stages};
use prost::Message as _;
use tokio::sync::mpsc;
use tokio::time::{Interval, MissedTickBehavior, interval};
use tonic::Status;

use super::notes::status_text;
use super::rules::{ANSWER_ONCE, ANSWER_PARTS, Rule};
use crate::carry::{Endpoint, Transport};

/// Traffic on a stream in one direction. Open and heartbeats are no messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) samples: u64,
    pub(super) message_bytes: u64,
    pub(super) payload_bytes: u64,
}

/// A whole answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) id: u64,
    /// The bytes of it and how many tokens they are, or why the sample failed.
    pub(super) result: Result<(u64, u64), String>,
    pub(super) stages: Option<Stages>,
    /// From the last part of the sample to the last part of its answer.
    pub(super) took: Duration,
}

/// A stream that has been accepted. It ends when this is dropped.
pub(super) struct DispatchStream {
    sender: mpsc::UnboundedSender<DispatchRequest>,
    source: Box<dyn Source>,
    inbound: Inbound,
    waiting: HashMap<u64, Waiting>,
    done: HashSet<u64>,
    pub(super) sent: Count,
    pub(super) received: Count,
    pub(super) heartbeats: u64,
    pub(super) answers: Vec<Answer>,
    /// Rules that were broken by what was heard, and how.
    pub(super) faults: Vec<(&'static Rule, String)>,
}

/// A sample without an answer.
struct Waiting {
    since: Instant,
    /// Parts of the answer and of the first token.
    parts: [Assembly; 2],
}

impl DispatchStream {
    /// Opens a stream of the run.
    ///
    /// # Errors
    /// The status that it was refused with.
    pub(super) async fn open(
        transport: Transport,
        endpoint: Endpoint,
        pass: &RunPass,
    ) -> Result<DispatchStream, Status> {
        let (sender, receiver) = mpsc::unbounded_channel();
        let open = DispatchRequest { open: Some(pass.open()), ..DispatchRequest::default() };
        let mut beat = interval(HEARTBEAT_INTERVAL);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let fill = RequestFill { open: Some(open), receiver, beat };
        let (source, inbound) = transport.bare_stream(endpoint, Box::new(fill)).await?;
        Ok(DispatchStream {
            sender,
            source,
            inbound,
            waiting: HashMap::new(),
            done: HashSet::new(),
            sent: Count::default(),
            received: Count::default(),
            heartbeats: 0,
            answers: Vec::new(),
            faults: Vec::new(),
        })
    }

    /// Sends one part of a sample.
    pub(super) fn say(&mut self, id: u64, part: Part) {
        let Part { number, last, total_len, data } = part;
        if last {
            self.sent.samples += 1;
            self.waiting.insert(id, Waiting { since: clock::now(), parts: Default::default() });
        }
        self.sent.payload_bytes += data.len() as u64;
        let message = DispatchRequest { id, part: number, last, total_len, data, ..DispatchRequest::default() };
        self.sent.message_bytes += message.encoded_len() as u64;
        // Fails when the stream is over, which is heard.
        let _ = self.sender.send(message);
    }

    /// Sends a whole sample.
    pub(super) fn ask(&mut self, id: u64, sample: &Bytes) {
        lon_proto::assembly::Parts::new(sample.clone()).for_each(|part| self.say(id, part));
    }

    /// Listens until every sample is answered.
    ///
    /// # Errors
    /// They are not by then, or the stream has ended; in words.
    pub(super) async fn hear_all(&mut self, patience: Duration) -> Result<(), String> {
        while !self.waiting.is_empty() {
            // A slow model is no fault: each answer is waited for anew.
            let count = self.waiting.len();
            let next = async {
                while self.waiting.len() == count {
                    self.hear().await.map_err(|status| over(&status))?;
                }
                Ok::<(), String>(())
            };
            match tokio::time::timeout(patience, next).await {
                Ok(heard) => heard?,
                Err(_) => return Err(format!("{count} samples were not answered within {patience:?}")),
            }
        }
        Ok(())
    }

    /// Listens for this long, with nothing to wait for.
    ///
    /// # Errors
    /// The stream has ended; in words.
    pub(super) async fn hear_for(&mut self, time: Duration) -> Result<(), String> {
        let listening = async {
            loop {
                self.hear().await.map_err(|status| over(&status))?;
            }
        };
        tokio::time::timeout(time, listening).await.unwrap_or(Ok(()))
    }

    /// Listens until the node ends the stream, which it should do at once; how it ended, or that it did not.
    pub(super) async fn hear_end(&mut self, patience: Duration) -> Result<(), Status> {
        let listening = async {
            loop {
                self.hear().await?;
            }
        };
        tokio::time::timeout(patience, listening).await.unwrap_or(Ok(()))
    }

    /// The next message; an error when the stream is over.
    async fn hear(&mut self) -> Result<(), Status> {
        let no_reason = || Status::ok("the node ended it");
        loop {
            match self.inbound.next_message::<DispatchResponse>()? {
                Some(Incoming::Message(message, bytes)) => {
                    self.take(message, bytes);
                    return Ok(());
                }
                Some(Incoming::End(Ok(()))) => return Err(no_reason()),
                Some(Incoming::End(Err((code, text)))) => return Err(Status::new(code, text)),
                None => {}
            }
            if !poll_fn(|cx| self.source.poll_read(cx, &mut self.inbound)).await? {
                return Err(no_reason());
            }
        }
    }

    fn take(&mut self, message: DispatchResponse, bytes: u64) {
        if message.heartbeat.is_some() {
            self.heartbeats += 1;
            return;
        }
        self.received.message_bytes += bytes;
        self.received.payload_bytes += message.data.len() as u64;
        let kind = message.kind();
        let DispatchResponse { id, part, last, total_len, data, n_tokens, stages, error, .. } = message;
        let Some(waiting) = self.waiting.get_mut(&id) else {
            let what = if self.done.contains(&id) { "a second answer to" } else { "an answer to an unknown" };
            self.faults.push((&ANSWER_ONCE, format!("{what} id {id}")));
            return;
        };
        if data.len() > PART_BYTES {
            self.faults.push((&ANSWER_PARTS, format!("a part of {} bytes", data.len())));
        }
        let result = if error.is_empty() {
            let part = Part { number: part, last, total_len, data };
            let whole = waiting.parts[usize::from(kind == Kind::First)].push(part, MAX_SAMPLE_BYTES);
            match whole {
                Ok(Some(whole)) if kind == Kind::Final => Ok((whole.len() as u64, n_tokens)),
                Ok(_) => return,
                Err(error) => {
                    self.faults.push((&ANSWER_PARTS, format!("the answer to id {id}: {error}")));
                    self.is_done(id);
                    return;
                }
            }
        } else {
            Err(error)
        };
        let took = clock::since(waiting.since);
        self.is_done(id);
        self.answers.push(Answer { id, result, stages, took });
    }
}

impl DispatchStream {
    /// Nothing more is to come for this sample.
    fn is_done(&mut self, id: u64) {
        self.waiting.remove(&id);
        self.done.insert(id);
        self.received.samples += 1;
    }
}

/// A stream is over before it should be; in words.
fn over(status: &Status) -> String {
    format!("the stream is over: {}", status_text(status))
}

/// Messages that a stream sends: Open, then those from `receiver`, with heartbeats in between. It ends when no more
/// will come.
struct RequestFill {
    open: Option<DispatchRequest>,
    receiver: mpsc::UnboundedReceiver<DispatchRequest>,
    beat: Interval,
}

impl Fill for RequestFill {
    fn poll_fill(&mut self, cx: &mut Context<'_>, out: &mut Outbound) -> Poll<Filled> {
        let message = match self.open.take() {
            Some(open) => open,
            None => match self.receiver.poll_recv(cx) {
                Poll::Ready(Some(message)) => message,
                Poll::Ready(None) => return Poll::Ready(Filled::End(Ok(()))),
                Poll::Pending => {
                    ready!(self.beat.poll_tick(cx));
                    DispatchRequest { heartbeat: Some(Heartbeat {}), ..DispatchRequest::default() }
                }
            },
        };
        out.push_message(&message);
        Poll::Ready(Filled::Some)
    }
}
