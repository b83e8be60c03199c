//! The two phases of `bench`, of so many seconds each.
//!
//! *Saturation*: as many samples in flight as keep the workers busy, which is what Offline does. *One at a time*: the
//! next request goes in when the answers to the last one are out. A request is a sample, which is what SingleStream
//! does, or a batch, as in DLI's latency mode. Samples pass the same stages as those of a run: decoding,
//! pre-processing, queue, batch, backend, answer queue.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hdrhistogram::Histogram;
use lon_proto::run_identity::RunPass;

use super::samples::Samples;
use crate::backend::{Backend, BackendSample, Execution, Input, Worker};
use crate::config::ServeConfig;
use crate::error::ServeError;
use crate::pipeline::images;
use crate::run::codecs::Codecs;
use crate::run::state::{ClaimedRun, Purpose};
use crate::tensor;
use crate::work::answer_queue::{AnswerQueue, SampleAnswer};
use crate::work::infer::infer;
use crate::work::job::Job;
use crate::work::threads::{ComputeThreads, busy_samples, busy_threads, inline_worker};
use crate::work::ticket::Ticket;

/// Results of both phases.
#[derive(Debug)]
pub struct Measured {
    /// The first phase.
    pub saturation: Saturation,
    /// Latencies in ns of the samples of the second phase that were answered.
    pub latency_ns: Histogram<u64>,
    /// Answers whose model outputs held a NaN, of both phases.
    pub nan: u64,
    /// Samples of the second phase that failed.
    pub failed_alone: u64,
    /// The first reason why a sample failed.
    pub failure: Option<String>,
}

/// Result of the first phase.
#[derive(Clone, Copy, Debug, Default)]
pub struct Saturation {
    /// Samples that were answered. Failed ones are not among them.
    pub samples: u64,
    /// Number of samples that failed.
    pub failed: u64,
    /// Tokens of their answers; 0 unless the backend answers token by token.
    pub tokens: u64,
    /// From the first sample to the last answer.
    pub duration: Duration,
    /// The most samples that were in flight.
    pub in_flight: u64,
}

/// A request that was answered whole.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// From the request to its last answer.
    pub time: Duration,
    /// Tokens of its answers; 0 unless the backend answers token by token.
    pub tokens: u64,
}

/// Results of both phases where the requests of the second one are batches.
#[derive(Debug)]
pub struct MeasuredBatches {
    /// The first phase.
    pub saturation: Saturation,
    /// The requests of the second phase that were answered whole.
    pub requests: Vec<Request>,
    /// Requests of the second phase with a sample that failed.
    pub failed_requests: u64,
    /// The first reason why a sample failed.
    pub failure: Option<String>,
}

/// Runs both phases.
///
/// # Errors
/// The backend cannot be brought up.
pub fn run(
    config: &ServeConfig,
    backend: &dyn Backend,
    samples: &Samples,
    phase: Duration,
) -> Result<Measured, ServeError> {
    // 1 ns to an hour with three significant digits.
    let latency_ns = Histogram::new_with_bounds(1, 3_600_000_000_000, 3);
    let mut latency_ns = latency_ns.unwrap_or_else(|_| unreachable!("the bounds are constants"));
    let record = |request: Request| {
        latency_ns.saturating_record(u64::try_from(request.time.as_nanos()).unwrap_or(u64::MAX));
    };
    let Phases { saturation, failed, nan, failure } = phases((config, backend, samples), phase, 1, record)?;
    Ok(Measured { saturation, latency_ns, nan, failed_alone: failed, failure })
}

/// Runs both phases, the second one with batches of the largest size.
///
/// # Errors
/// The backend cannot be brought up.
pub fn run_batches(
    config: &ServeConfig,
    backend: &dyn Backend,
    samples: &Samples,
    phase: Duration,
) -> Result<MeasuredBatches, ServeError> {
    let mut requests = Vec::new();
    let size = config.model.max_batch.get() as u64;
    let Phases { saturation, failed, failure, .. } =
        phases((config, backend, samples), phase, size, |request| requests.push(request))?;
    Ok(MeasuredBatches { saturation, requests, failed_requests: failed, failure })
}

/// Results of both phases, without the requests that were answered.
struct Phases {
    saturation: Saturation,
    /// Requests of the second phase with a sample that failed.
    failed: u64,
    nan: u64,
    failure: Option<String>,
}

/// Runs both phases. Requests of the second one have `size` samples, and `answered` gets those that were answered.
fn phases(
    (config, backend, samples): (&ServeConfig, &dyn Backend, &Samples),
    phase: Duration,
    size: u64,
    answered: impl FnMut(Request),
) -> Result<Phases, ServeError> {
    let threads = ComputeThreads::start(&config.model, backend, busy_threads(&config.model, backend), None)?;
    let in_flight = busy_samples(&config.model, backend).saturating_mul(2);
    let mut client = Client::new(config, backend, &threads, samples)?;
    let saturation = client.saturate(phase, in_flight);
    let failed = client.one_at_a_time(phase, size, answered);
    let (nan, failure) = (client.answer_queue.run.counters.nan.load(Relaxed), client.failure);
    threads.finish();
    Ok(Phases { saturation, failed, nan, failure })
}

/// Asks and is answered, in place of a connection.
struct Client<'a> {
    threads: &'a ComputeThreads,
    answer_queue: Arc<AnswerQueue>,
    samples: &'a Samples,
    input: Input,
    target: Target,
    waker: Waker,
    /// The number of the next sample.
    next: u64,
    failure: Option<String>,
}

/// Where samples are answered, as those of a run would be.
enum Target {
    Queue,
    Decode,
    Inline(Box<dyn Worker>),
}

impl<'a> Client<'a> {
    fn new(
        config: &ServeConfig,
        backend: &dyn Backend,
        threads: &'a ComputeThreads,
        samples: &'a Samples,
    ) -> Result<Client<'a>, ServeError> {
        let codec = if samples.are_files { images::ORIGINAL } else { "" };
        let codecs = Codecs::agreed(codec, "", &config.node, &backend.info().outputs, true);
        let codecs = codecs.map_err(|status| ServeError::Bench(status.message().to_owned()))?;
        let pass = RunPass::new(Bytes::new(), Bytes::new());
        let run = ClaimedRun::new(pass, "this process".to_owned(), config.limits, Purpose::Run(codecs), None);
        let target = match backend.execution() {
            _ if config.model.preprocess.is_some() => Target::Decode,
            Execution::Workers => Target::Queue,
            Execution::Inline => Target::Inline(inline_worker(backend)?),
        };
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        let (answer_queue, input) = (AnswerQueue::new(Arc::new(run)), backend.input());
        Ok(Client { threads, answer_queue, samples, input, target, waker, next: 0, failure: None })
    }

    fn saturate(&mut self, phase: Duration, in_flight: u64) -> Saturation {
        let began = Instant::now();
        let mut result = Saturation { in_flight, ..Saturation::default() };
        let (mut outstanding, mut answers) = (0, Vec::new());
        loop {
            if began.elapsed() < phase {
                self.submit(in_flight - outstanding, &mut answers);
                outstanding = in_flight;
            } else {
                // The batches that are there may go, full or not.
                self.threads.queues.workers.flush();
            }
            result.tokens += self.wait(&mut answers);
            outstanding -= answers.len() as u64;
            for answer in answers.drain(..) {
                let is_answered = self.is_answered(answer);
                result.samples += u64::from(is_answered);
                result.failed += u64::from(!is_answered);
            }
            result.duration = began.elapsed();
            if outstanding == 0 && result.duration >= phase {
                return result;
            }
        }
    }

    /// Sends requests of so many samples, each when the one before is answered. Returns the number of requests with a
    /// sample that failed; `answered` has the others.
    fn one_at_a_time(&mut self, phase: Duration, samples: u64, mut answered: impl FnMut(Request)) -> u64 {
        let began = Instant::now();
        let (mut answers, mut failed) = (Vec::new(), 0);
        while began.elapsed() < phase {
            let start = Instant::now();
            self.submit(samples, &mut answers);
            let (mut remainder, mut tokens, mut is_whole) = (samples, 0, true);
            while remainder > 0 {
                tokens += self.wait(&mut answers);
                remainder -= answers.len() as u64;
                for answer in answers.drain(..) {
                    is_whole &= self.is_answered(answer);
                }
            }
            let time = start.elapsed();
            if is_whole { answered(Request { time, tokens }) } else { failed += 1 }
        }
        failed
    }

    fn is_answered(&mut self, answer: SampleAnswer) -> bool {
        match answer.result {
            Ok(_) => true,
            Err(failure) => {
                self.failure.get_or_insert(failure.reason);
                false
            }
        }
    }

    /// Sends `count` samples where they are answered. An inline backend has answered them on return.
    fn submit(&mut self, count: u64, answers: &mut Vec<SampleAnswer>) {
        let first = self.next;
        self.next += count;
        let queued_at = Instant::now();
        if let Target::Inline(worker) = &mut self.target {
            let sample = |id| sample(self.samples.payload(id), self.input);
            let samples: Vec<BackendSample> = (first..first + count).map(sample).collect();
            let results = infer(worker.as_mut(), &samples);
            let answer = |(id, result)| SampleAnswer { ticket: Ticket::new(id, 0), result, n_tokens: 0 };
            return answers.extend((first..).zip(results).map(answer));
        }
        self.answer_queue.expect_answers(count);
        // Decode threads want samples as they come.
        let is_decoded_later = matches!(self.target, Target::Decode);
        let input = if is_decoded_later { Input::Opaque } else { self.input };
        let job = |id| {
            let bytes = self.samples.payload(id);
            let ticket = Ticket::new(id, bytes.len() as u64);
            Job {
                answer_queue: Arc::clone(&self.answer_queue),
                ticket,
                sample: sample(bytes, input),
                queued_at,
                place: None,
            }
        };
        // All jobs exist before `push` takes the lock of a queue.
        let jobs: Vec<Job> = (first..first + count).map(job).collect();
        if is_decoded_later {
            self.threads.queues.decode.push(jobs.into_iter());
        } else {
            self.threads.queues.workers.push(jobs.into_iter());
        }
    }

    /// Waits for one answer at least. Returns how many tokens the answers have.
    fn wait(&self, answers: &mut Vec<SampleAnswer>) -> u64 {
        loop {
            let tokens = self.answer_queue.take_answers(&self.waker, answers);
            if !answers.is_empty() {
                return tokens;
            }
            std::thread::park();
        }
    }
}

/// A sample as the reader of a stream makes it. It was made here, so its tensors can be read.
fn sample(bytes: Bytes, input: Input) -> BackendSample {
    let tensors = match input {
        Input::Opaque => Vec::new(),
        Input::Tensors => tensor::decode(bytes.clone()).unwrap_or_default(),
    };
    BackendSample { bytes, tensors }
}

/// Wakes the thread of the client.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Unpark>) {
        self.0.unpark();
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use super::*;
    use crate::backend::{BackendOptions, Backends};

    fn measured(text: &str, max_batch: usize, free: Option<u32>) -> Measured {
        let max_batch = NonZeroUsize::new(max_batch).unwrap();
        let backend = Backends::new().open(text, &BackendOptions { max_batch, ..BackendOptions::default() }).unwrap();
        let mut config = ServeConfig::new("n1".parse().unwrap());
        config.model.max_batch = max_batch;
        let samples = Samples::for_backend(backend.as_ref(), free).unwrap();
        run(&config, backend.as_ref(), &samples, Duration::from_millis(200)).unwrap()
    }

    #[test]
    fn every_sample_is_answered_and_no_latency_is_shorter_than_the_service() {
        let Measured { saturation, latency_ns, nan, failed_alone, failure } =
            measured("synthetic:constant=5ms", 4, None);
        assert_eq!((saturation.failed, saturation.in_flight, nan, failed_alone, failure), (0, 16, 0, 0, None));
        assert!(saturation.samples >= 16 && saturation.duration >= Duration::from_millis(200), "{saturation:?}");
        assert!(latency_ns.min() >= 5_000_000 && latency_ns.len() <= 40, "{}", latency_ns.min());
    }

    #[test]
    fn a_backend_without_workers_is_measured_too() {
        let measured = measured("null", 1, None);
        assert!(measured.saturation.samples > 256 && measured.latency_ns.len() > 1);
    }

    #[test]
    fn a_request_of_a_batch_ends_with_its_last_answer() {
        let options = BackendOptions { max_batch: NonZeroUsize::new(4).unwrap(), ..BackendOptions::default() };
        let backend = Backends::new().open("synthetic:base=2ms,per_sample=1ms", &options).unwrap();
        let mut config = ServeConfig::new("n1".parse().unwrap());
        config.model.max_batch = options.max_batch;
        let samples = Samples::for_backend(backend.as_ref(), None).unwrap();
        let measured = run_batches(&config, backend.as_ref(), &samples, Duration::from_millis(100)).unwrap();
        assert_eq!((measured.failed_requests, measured.failure), (0, None));
        let shortest = measured.requests.iter().map(|request| request.time).min().unwrap();
        assert!(shortest >= Duration::from_millis(6) && measured.requests.len() <= 17, "{shortest:?}");
    }

    #[test]
    fn tokens_are_counted() {
        let saturation = measured("synthetic:ttft=1ms,tpot=0ms,tokens=5", 1, None).saturation;
        assert!(saturation.samples > 0 && saturation.tokens == 5 * saturation.samples, "{saturation:?}");
    }
}
