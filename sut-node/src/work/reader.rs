//! The reading half of one Dispatch stream: parts become samples, samples become work.
//!
//! Works in bursts: what one read brought is decoded, then handed over, or run through an inline backend, in one go.
//! Stops reading, and so lets the transport push back, while the node is full. Never waits for its own writer.

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use bytes::Bytes;
use lon_net::flow::Source;
use lon_net::framing::{Inbound, Incoming};
use lon_proto::assembly::{Assembly, AssemblyError, Part};
use lon_proto::limits;
use lon_proto::v1::DispatchRequest;
use tokio::sync::watch;
use tonic::Status;

use crate::backend::{Input, Sample, Worker};
use crate::tensor;
use crate::work::decode::pool::{DecodePool, Wrapped};
use crate::work::lane::{Answer, Lane, Stages};
use crate::work::queue::{Job, JobQueue};
use crate::work::{batches as workers, probe};

/// Where the samples of a stream go.
pub(crate) enum Target {
    /// To the worker threads.
    Queue(Arc<JobQueue>),
    /// Through the backend at once: it is cheaper than any hand-over.
    Inline(Box<dyn Worker>),
    /// To the decode threads, which hand it on: a run with a codec.
    Decode(Arc<DecodePool>),
    /// Answered here: a probe.
    Probe,
}

/// Reads one stream to its end.
pub(crate) struct Reader {
    lane: Arc<Lane>,
    target: Target,
    input: Input,
    /// Samples of several parts that are not whole yet.
    partial: HashMap<u64, Partial>,
    burst: Burst,
}

/// Samples that have come in whole and wait for the end of the burst.
#[derive(Default)]
struct Burst {
    samples: Vec<Sample>,
    tickets: Vec<Ticket>,
}

/// What belongs to a sample besides its content.
struct Ticket {
    id: u64,
    decode: Duration,
    bytes: u64,
}

/// A sample whose parts are coming in. Its whole announced size is admitted with the first of them, so that what waits
/// for its end counts against the node's bounds too.
struct Partial {
    assembly: Assembly,
    bytes: u64,
}

/// Samples of several parts that may be open at one time on one stream; a sender finishes one before the next.
const MAX_PARTIAL: usize = 64;

/// Samples in a burst at most.
const MAX_BURST: usize = 256;

/// How long a stream may take to say which run it belongs to.
const OPEN_TIMEOUT: Duration = Duration::from_secs(10);

/// Why reading ends in good order.
enum Taken {
    /// Everything that was there; read on.
    All,
    /// The other end says that nothing follows, or is gone.
    End,
}

impl Reader {
    /// A reader for samples that are for `target`, of which a backend looks at `input`.
    pub(crate) fn new(lane: Arc<Lane>, target: Target, input: Input) -> Reader {
        // Whoever decodes elsewhere, or never, wants them as they came.
        let input = if matches!(target, Target::Queue(_) | Target::Inline(_)) { input } else { Input::Opaque };
        Reader { lane, target, input, partial: HashMap::new(), burst: Burst::default() }
    }

    /// Runs until the stream ends, breaks, or `stop` turns true. How it ended goes to the lane.
    pub(crate) async fn run(mut self, mut source: impl Source, mut inbound: Inbound, mut stop: watch::Receiver<bool>) {
        let run = Arc::clone(&self.lane.run);
        let shutting_down = || Err(Status::unavailable("the node is shutting down"));
        let looked = stop.clone();
        // One future for the whole stream: to make and drop one for every read would cost more than the read's decoding.
        let mut over = pin!(async {
            tokio::select! {
                () = run.until_end() => Ok(()),
                _ = stop.wait_for(|stop| *stop) => shutting_down(),
            }
        });
        let how = loop {
            match self.take_all(&mut inbound).await {
                Ok(Taken::All) => {}
                Ok(Taken::End) => break Ok(()),
                Err(status) => break Err(status),
            }
            // Asked each time: a peer that never pauses would keep the select below from ever looking.
            if run.has_ended() {
                break Ok(());
            }
            if *looked.borrow() {
                break shutting_down();
            }
            let read = tokio::select! {
                biased;
                read = poll_fn(|cx| source.poll_read(cx, &mut inbound)) => read,
                how = &mut over => break how,
            };
            match read {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(status) => break Err(status),
            }
        };
        self.lane.end_input(how);
    }

    /// Every whole message that is there.
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

    /// One message in; false when nobody is there any more to answer to.
    async fn take(&mut self, message: DispatchRequest, message_bytes: u64) -> Result<bool, Status> {
        let counters = &self.lane.run.counters;
        counters.message_bytes_in.fetch_add(message_bytes, Relaxed);
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
        let whole = match (begins, last) {
            (true, true) => Assembly::default().push(part, max).map_err(|error| {
                self.lane.run.release(1, total_len);
                breach(error)
            })?,
            _ => self.assemble(id, part, max)?,
        };
        if let Some(bytes) = whole {
            self.keep(id, bytes);
        }
        Ok(true)
    }

    /// Makes room for a sample of `bytes`; false when nobody is there any more to answer to.
    async fn admit(&mut self, bytes: u64) -> bool {
        if self.lane.run.try_admit(bytes) {
            return true;
        }
        // What is waiting for would otherwise be held by ourselves.
        self.hand_over();
        self.lane.run.admit(bytes, &self.lane.closed).await
    }

    /// A part of a sample that has several.
    fn assemble(&mut self, id: u64, part: Part, max: u64) -> Result<Option<Bytes>, Status> {
        let (begins, bytes) = (part.number == 0, part.total_len);
        if begins && (self.partial.len() >= MAX_PARTIAL || self.partial.contains_key(&id)) {
            self.lane.run.release(1, bytes);
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

    /// Decodes a whole sample and keeps it for the end of the burst.
    fn keep(&mut self, id: u64, bytes: Bytes) {
        let sample_bytes = bytes.len() as u64;
        let (sample, decode) = match self.input {
            Input::Opaque => (Ok(Sample { bytes, tensors: Vec::new() }), Duration::ZERO),
            Input::Tensors => {
                let started = Instant::now();
                let decoded = tensor::decode(bytes.clone()).map(|tensors| Sample { bytes, tensors });
                (decoded, started.elapsed())
            }
        };
        match sample {
            Ok(sample) => {
                self.burst.samples.push(sample);
                self.burst.tickets.push(Ticket { id, decode, bytes: sample_bytes });
                if self.burst.samples.len() >= MAX_BURST {
                    self.hand_over();
                }
            }
            Err(error) => {
                self.lane.run.count_received(1);
                self.lane.expect_answers(1);
                let result = Err(workers::unreadable(&error));
                let stages = Stages { decode, ..Stages::default() };
                self.lane.answer(std::iter::once(Answer { id, result, stages, sample_bytes }));
            }
        }
    }

    /// The burst goes where samples go.
    fn hand_over(&mut self) {
        let Burst { samples, tickets } = &mut self.burst;
        if samples.is_empty() {
            return;
        }
        let count = samples.len() as u64;
        self.lane.run.count_received(count);
        self.lane.expect_answers(count);
        let queued_at = Instant::now();
        match &mut self.target {
            Target::Queue(queue) => {
                let lane = &self.lane;
                queue.push(samples.drain(..).zip(tickets.drain(..)).map(|(sample, Ticket { id, decode, bytes })| {
                    Job {
                        lane: Arc::clone(lane),
                        id,
                        sample,
                        sample_bytes: bytes,
                        waited: Duration::ZERO,
                        decode,
                        preprocess: Duration::ZERO,
                        queued_at,
                        inflated: None,
                    }
                }));
                // A Flush on another thread may have told the queue before these were in it.
                lane.run.tell_flushes();
            }
            Target::Decode(pool) => {
                let lane = &self.lane;
                pool.push(samples.drain(..).zip(tickets.drain(..)).map(|(sample, Ticket { id, .. })| Wrapped {
                    lane: Arc::clone(lane),
                    id,
                    bytes: sample.bytes,
                    queued_at,
                }));
            }
            Target::Probe => {
                self.lane.answer(samples.drain(..).zip(tickets.drain(..)).map(|(sample, Ticket { id, bytes, .. })| {
                    Answer { id, result: probe::answer(&sample.bytes), stages: Stages::default(), sample_bytes: bytes }
                }));
            }
            Target::Inline(worker) => {
                let results = workers::infer(worker.as_mut(), samples);
                let inference = queued_at.elapsed();
                samples.clear();
                let answers = tickets.drain(..).zip(results).map(|(Ticket { id, decode, bytes }, result)| Answer {
                    id,
                    result,
                    stages: Stages { decode, inference, ..Stages::default() },
                    sample_bytes: bytes,
                });
                self.lane.answer(answers);
            }
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.lane.run.release_all(self.partial.values().map(|partial| partial.bytes));
        // Says nothing new when the stream ended in an orderly way; otherwise nobody would.
        self.lane.end_input(Err(Status::internal("the node's reader failed")));
    }
}

/// Reads the Open that every stream starts with. The peer is given a moment, not for ever.
pub(crate) async fn open(source: &mut impl Source, inbound: &mut Inbound) -> Result<Bytes, Status> {
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
    let open = open.ok_or_else(|| Status::invalid_argument("a Dispatch stream starts with Open"))?;
    if open.run_id.len() != limits::RUN_ID_BYTES {
        return Err(Status::invalid_argument("a run id has 16 bytes"));
    }
    Ok(open.run_id)
}
