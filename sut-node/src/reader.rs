//! The reading half of one Dispatch stream: parts become samples, samples become jobs.
//!
//! Stops reading, and so lets the transport push back, while the node is full. Never waits for its own writer.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use bytes::Bytes;
use lon_proto::assembly::{Assembly, AssemblyError, Part};
use lon_proto::limits;
use lon_proto::v1::DispatchRequest;
use prost::Message as _;
use tokio::sync::watch;
use tonic::{Status, Streaming};

use crate::backend::{Input, Sample, Worker};
use crate::lane::{Answer, Lane, Stages};
use crate::queue::{Job, JobQueue};
use crate::tensor;
use crate::workers;

/// Where the samples of a stream go.
pub(crate) enum Target {
    /// To the worker threads.
    Queue(Arc<JobQueue>),
    /// Through the backend at once: it is cheaper than any hand-over.
    Inline(Box<dyn Worker>),
}

/// Reads one stream to its end.
pub(crate) struct Reader {
    pub(crate) lane: Arc<Lane>,
    pub(crate) target: Target,
    pub(crate) input: Input,
    /// Samples of several parts that are not whole yet.
    pub(crate) partial: HashMap<u64, Partial>,
}

/// A sample whose parts are coming in. Its whole announced size is admitted with the first of them, so that what waits
/// for its end counts against the node's bounds too.
pub(crate) struct Partial {
    assembly: Assembly,
    bytes: u64,
}

/// Samples of several parts that may be open at one time on one stream; a sender finishes one before the next.
const MAX_PARTIAL: usize = 64;

impl Reader {
    /// Runs until the stream ends, breaks, or `stop` turns true. How it ended goes to the lane.
    pub(crate) async fn run(mut self, mut stream: Streaming<DispatchRequest>, mut stop: watch::Receiver<bool>) {
        let run = Arc::clone(&self.lane.run);
        let shutting_down = || Err(Status::unavailable("the node is shutting down"));
        let how = loop {
            // Asked each time: a peer that never pauses would keep the select below from ever looking.
            if run.has_ended() {
                break Ok(());
            }
            if *stop.borrow() {
                break shutting_down();
            }
            let message = tokio::select! {
                biased;
                message = stream.message() => message,
                () = run.until_end() => break Ok(()),
                _ = stop.wait_for(|stop| *stop) => break shutting_down(),
            };
            match message {
                Ok(Some(message)) => match self.take(message).await {
                    Ok(true) => {}
                    Ok(false) => break Ok(()),
                    Err(status) => break Err(status),
                },
                Ok(None) => break Ok(()),
                Err(status) => break Err(status),
            }
        };
        self.lane.end_input(how);
    }

    /// One message in; false when nobody is there any more to answer to.
    async fn take(&mut self, message: DispatchRequest) -> Result<bool, Status> {
        let counters = &self.lane.run.counters;
        counters.message_bytes_in.fetch_add(message.encoded_len() as u64, Relaxed);
        counters.payload_bytes_in.fetch_add(message.data.len() as u64, Relaxed);
        if message.open.is_some() {
            return Err(Status::invalid_argument("a second Open on this stream"));
        }
        let DispatchRequest { id, part, last, total_len, data, .. } = message;
        let part = Part { number: part, last, total_len, data };
        let (max, begins) = (self.lane.run.limits.max_sample_bytes, part.number == 0);
        let breach = |error: AssemblyError| Status::invalid_argument(format!("sample {id}: {error}"));
        if begins && total_len > max {
            return Err(breach(AssemblyError::TooLarge { total_len, max }));
        }
        if begins && !self.admit(total_len).await {
            return Ok(false);
        }
        // After admission: waiting for room is the sender's haste, not decoding.
        let started = Instant::now();
        let whole = match (begins, last) {
            (true, true) => Assembly::default().push(part, max).map_err(|error| {
                self.lane.run.release(total_len);
                breach(error)
            })?,
            _ => self.assemble(id, part, max)?,
        };
        if let Some(bytes) = whole {
            self.lane.run.count_received();
            self.lane.expect_answer();
            self.hand_over(id, bytes, started);
        }
        Ok(true)
    }

    /// Exclusive only because an inline backend's state may not be shared between threads.
    async fn admit(&mut self, bytes: u64) -> bool {
        let run = &self.lane.run;
        run.try_admit(bytes) || run.admit(bytes, &self.lane.closed).await
    }

    /// A part of a sample that has several.
    fn assemble(&mut self, id: u64, part: Part, max: u64) -> Result<Option<Bytes>, Status> {
        let (begins, bytes) = (part.number == 0, part.total_len);
        if begins && (self.partial.len() >= MAX_PARTIAL || self.partial.contains_key(&id)) {
            self.lane.run.release(bytes);
            return Err(Status::invalid_argument(format!(
                "sample {id}: begun twice, or more than {MAX_PARTIAL} samples begun and not ended"
            )));
        }
        let breach = |error: AssemblyError| Status::invalid_argument(format!("sample {id}: {error}"));
        if begins {
            self.partial.insert(id, Partial { assembly: Assembly::default(), bytes });
        }
        let partial = self.partial.get_mut(&id);
        let partial = partial.ok_or_else(|| breach(AssemblyError::OutOfOrder { expected: 0, got: part.number }))?;
        let whole = partial.assembly.push(part, max).map_err(breach)?;
        if whole.is_some() {
            // From here on its answer holds its place.
            self.partial.remove(&id);
        }
        Ok(whole)
    }

    fn hand_over(&mut self, id: u64, bytes: Bytes, started: Instant) {
        let sample_bytes = bytes.len() as u64;
        let sample = match decode(bytes, self.input) {
            Ok(sample) => sample,
            Err(error) => {
                let stages = Stages { decode: started.elapsed(), ..Stages::default() };
                self.lane.answer(Answer { id, result: Err(error), stages, sample_bytes });
                return;
            }
        };
        let decoded = Instant::now();
        let decode = decoded - started;
        match &mut self.target {
            Target::Queue(queue) => {
                queue.push(Job { lane: Arc::clone(&self.lane), id, sample, decode, queued_at: decoded });
            }
            Target::Inline(worker) => {
                let mut results = workers::infer(worker.as_mut(), std::slice::from_ref(&sample));
                let result = results.pop().unwrap_or_else(|| Err("the backend returned no answer".to_owned()));
                let stages = Stages { decode, inference: decoded.elapsed(), ..Stages::default() };
                self.lane.answer(Answer { id, result, stages, sample_bytes });
            }
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        for partial in self.partial.values() {
            self.lane.run.release(partial.bytes);
        }
        // Says nothing new when the stream ended in an orderly way; otherwise nobody would.
        self.lane.end_input(Err(Status::internal("the node's reader failed")));
    }
}

/// Reads the Open that every stream starts with. The peer is given a moment, not for ever.
pub(crate) async fn open(stream: &mut Streaming<DispatchRequest>) -> Result<Bytes, Status> {
    let first = tokio::time::timeout(Duration::from_secs(10), stream.message()).await;
    let first = first.map_err(|_| Status::deadline_exceeded("no Open came within 10 s"))??;
    let open = first.and_then(|message| message.open);
    let open = open.ok_or_else(|| Status::invalid_argument("a Dispatch stream starts with Open"))?;
    if open.run_id.len() != limits::RUN_ID_BYTES {
        return Err(Status::invalid_argument("a run id has 16 bytes"));
    }
    Ok(open.run_id)
}

fn decode(bytes: Bytes, input: Input) -> Result<Sample, String> {
    let tensors = match input {
        Input::Opaque => Vec::new(),
        Input::Tensors => {
            tensor::decode(bytes.clone()).map_err(|error| format!("the sample cannot be read: {error}"))?
        }
    };
    Ok(Sample { bytes, tensors })
}
