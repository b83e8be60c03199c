//! Decode threads: samples that came in a codec are inflated and decoded here, never on an I/O thread, and images are
//! pre-processed. The results go to the workers, or through an inline backend at once. Only samples of runs with a
//! codec, for samples or for answers, pass here, and all samples where the node pre-processes.
//!
//! - [`pool`]: the samples that wait for a decode thread, and how far the threads may get ahead of the backend.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::JoinHandle;
use std::time::Duration;

use bytes::Bytes;
use lon_net::clock;
use lon_proto::stages::duration_ns;

use self::pool::{DecodePool, Place, Turn};
use super::answer_queue::SampleAnswer;
use super::coder::Coder;
use super::infer::infer;
use super::job::Job;
use super::queue::JobQueue;
use crate::backend::{BackendSample, Input, Worker};
use crate::pipeline::{Preprocessing, images};
use crate::run::failure::{FailureKind, SampleFailure};
use crate::run::state::ClaimedRun;
use crate::tensor::Signature;
use crate::{memory, tensor};

pub(crate) mod pool;

/// Where decoded samples go.
pub(crate) enum Next {
    /// To the worker threads.
    Queue(Arc<JobQueue>),
    /// Through the backend, on the decode thread.
    Inline(Box<dyn Worker>),
}

/// Settings of the decoding of samples.
#[derive(Clone)]
pub(crate) struct Decoding {
    /// Pre-processing of samples before the model sees them; none: samples are what the model takes.
    pub(crate) preprocess: Option<Preprocessing>,
    /// Tensors that the model takes.
    pub(crate) inputs: Signature,
    /// Part of a sample that the backend looks at.
    pub(crate) input: Input,
    /// The most bytes that a sample has which the model takes; none: as many as the run allows.
    pub(crate) max_raw_bytes: Option<u64>,
}

impl Decoding {
    /// The most bytes of a sample of this run once it is inflated.
    fn max_raw_bytes(&self, run: &ClaimedRun) -> u64 {
        self.max_raw_bytes.unwrap_or(u64::MAX).min(run.limits.max_sample_bytes)
    }

    /// The form in which the run's images come.
    fn form(run: &ClaimedRun, bytes: &Bytes) -> images::Form {
        match run.codecs.samples {
            codec if codec.name() == images::ORIGINAL => images::Form::Files,
            codec if codec.is_none() => images::Form::Plain,
            codec => images::Form::Coded(codec.declared_bytes(bytes)),
        }
    }

    /// The most bytes of memory that a sample takes while it is decoded: see [`pool::Measure`]. One that is refused for
    /// its size takes none.
    pub(crate) fn bytes(&self, run: &ClaimedRun, bytes: &Bytes) -> u64 {
        let codec = run.codecs.samples;
        if codec.declared_bytes(bytes) > self.max_raw_bytes(run) {
            return 0;
        }
        let input_bytes = match &self.preprocess {
            None => 0,
            Some(Preprocessing::Images(spec)) => images::working_bytes(spec, bytes, Decoding::form(run, bytes)),
            // An input each, and all of them as numbers of 64 bits on their way.
            Some(Preprocessing::TokenIds(_)) => {
                codec.declared_bytes(bytes).saturating_mul(2 * (self.inputs.len() as u64 + 1))
            }
        };
        codec.inflating_bytes(bytes).saturating_add(input_bytes)
    }
}

/// Starts one thread for each of `nexts`. They end when the pool is closed and empty. Each calls `prepare` first.
///
/// # Errors
/// The operating system has no thread left. Those that were started end with the pool.
pub(crate) fn start(
    pool: &Arc<DecodePool<Job>>,
    nexts: Vec<Next>,
    decoding: &Decoding,
    prepare: fn(),
) -> io::Result<Vec<JoinHandle<()>>> {
    let spawn = |(number, next)| {
        let (pool, decoding) = (Arc::clone(pool), decoding.clone());
        let decoder = Decoder { pool, next, decoding, coder: Coder::default(), samples: Vec::new() };
        std::thread::Builder::new().name(format!("decode-{number}")).spawn(move || {
            prepare();
            decoder.work();
        })
    };
    nexts.into_iter().enumerate().map(spawn).collect()
}

fn not_decoded(reason: String) -> SampleFailure {
    SampleFailure::new(FailureKind::Decode, reason)
}

/// State of one decode thread.
struct Decoder {
    pool: Arc<DecodePool<Job>>,
    next: Next,
    decoding: Decoding,
    coder: Coder,
    /// For an inline backend: the samples of one batch; empty between batches.
    samples: Vec<BackendSample>,
}

impl Decoder {
    fn work(mut self) {
        let (mut batch, mut decoded, mut ends) = (Vec::new(), Vec::new(), 0);
        loop {
            match self.pool.take(&mut batch, &mut ends) {
                Turn::Work => {}
                Turn::Rest => {
                    self.coder = Coder::default();
                    memory::give_back();
                    continue;
                }
                Turn::End => return,
            }
            // All jobs of a batch are of one stream.
            if batch.first().is_some_and(|job| job.answer_queue.is_over()) {
                batch.drain(..).for_each(Job::give_up);
                continue;
            }
            decoded.extend(batch.drain(..).filter_map(|job| self.decode(job)));
            if !decoded.is_empty() {
                self.hand_on(&mut decoded);
            }
        }
    }

    /// Makes of a job's bytes what the backend looks at. A job whose bytes cannot be read is answered with the reason.
    fn decode(&mut self, mut job: Job) -> Option<Job> {
        let started = clock::now();
        job.waited_until(started);
        let bytes = std::mem::take(&mut job.sample).bytes;
        let mut preprocess = Duration::ZERO;
        // A codec that panics on one client's bytes must not take the thread, and everybody's samples, with it.
        let may_take = job.place.as_ref().map_or(0, Place::bytes);
        let unwrap = || self.unwrap(&job.answer_queue.run, bytes, may_take, &mut preprocess);
        let unwrapped = catch_unwind(AssertUnwindSafe(unwrap));
        let unwrapped = unwrapped.unwrap_or_else(|panic| {
            self.coder = Coder::default();
            Err(SampleFailure::panicked("decoding", panic.as_ref()))
        });
        let decoded_at = clock::now();
        job.ticket.stages.decode_ns = duration_ns((decoded_at - started).saturating_sub(preprocess));
        job.ticket.stages.preprocess_ns = duration_ns(preprocess);
        // From here on it waits for the backend.
        job.queued_at = decoded_at;
        match unwrapped {
            Ok(sample) => {
                job.sample = sample;
                let bytes = job.decoded_bytes();
                job.place.iter_mut().for_each(|place| place.shrink(bytes));
                Some(job)
            }
            Err(failure) => {
                job.fail(failure);
                None
            }
        }
    }

    /// The sample that was wrapped in `bytes`. Takes `may_take` bytes of memory at most. `preprocess` becomes the part
    /// of the time that pre-processing took.
    fn unwrap(
        &mut self,
        run: &ClaimedRun,
        bytes: Bytes,
        may_take: u64,
        preprocess: &mut Duration,
    ) -> Result<BackendSample, SampleFailure> {
        let (codec, form) = (run.codecs.samples, Decoding::form(run, &bytes));
        let inflating = codec.inflating_bytes(&bytes);
        let max_raw_bytes = self.decoding.max_raw_bytes(run);
        if inflating > may_take && codec.declared_bytes(&bytes) <= max_raw_bytes {
            let codec = codec.name();
            return Err(not_decoded(format!(
                "the sample cannot be inflated: {codec}: that takes {inflating} bytes, {may_take} are set aside \
                 (sut-node --memory)"
            )));
        }
        let bytes = self.coder.inflate(codec, max_raw_bytes, bytes)?;
        run.counters.raw_bytes_in.fetch_add(bytes.len() as u64, Relaxed);
        if let Some(preprocessing) = &self.decoding.preprocess {
            let tensors = tensor::decode(bytes).map_err(|error| SampleFailure::unreadable(&error))?;
            let mut decoded_at = clock::now();
            let tensors = match preprocessing {
                Preprocessing::Images(spec) => {
                    let pixels = images::pixels(&tensors, form, may_take).map_err(not_decoded)?;
                    decoded_at = clock::now();
                    images::tensor(spec, &pixels, may_take.saturating_sub(inflating)).map(|tensor| vec![tensor])
                }
                Preprocessing::TokenIds(spec) => spec.tensors(&self.decoding.inputs, &tensors),
            };
            *preprocess = clock::now().saturating_duration_since(decoded_at);
            return Ok(BackendSample { bytes: Bytes::new(), tensors: tensors.map_err(not_decoded)? });
        }
        let tensors = match self.decoding.input {
            Input::Opaque => Vec::new(),
            Input::Tensors => tensor::decode(bytes.clone()).map_err(|error| SampleFailure::unreadable(&error))?,
        };
        Ok(BackendSample { bytes, tensors })
    }

    /// Sends decoded jobs of one stream where they are answered. `jobs` is empty afterwards.
    fn hand_on(&mut self, jobs: &mut Vec<Job>) {
        let Some(answer_queue) = jobs.first().map(|job| Arc::clone(&job.answer_queue)) else { return };
        match &mut self.next {
            Next::Queue(queue) => {
                queue.push(jobs.drain(..));
                // A Flush that waits for these may have told the queue before they were in it.
                answer_queue.run.tell_flushes();
            }
            Next::Inline(worker) => {
                let samples = &mut self.samples;
                samples.extend(jobs.iter_mut().map(|job| std::mem::take(&mut job.sample)));
                let start = clock::now();
                let results = infer(worker.as_mut(), samples);
                let done = clock::now();
                samples.clear();
                let inference_ns = duration_ns(done - start);
                let coder = &mut self.coder;
                let answers = jobs.drain(..).zip(results).map(|(mut job, result)| {
                    job.waited_until(start);
                    job.ticket.stages.inference_ns = inference_ns;
                    job.encode(coder, result, 0, done)
                });
                // All answers are encoded before `answer` locks the answer queue.
                let answers: Vec<SampleAnswer> = answers.collect();
                answer_queue.answer(answers.into_iter());
            }
        }
    }
}
