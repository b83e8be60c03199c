//! `sut-node bench`: the backend behind its own queue and workers, in this process, with no network in between. What a
//! run over the network loses against it is what the fabric and its software cost (`loadgen-node run --baseline`).
//!
//! Two phases of so many seconds each. *Saturation*: as many samples in flight as keep the workers busy, which is what
//! Offline does. *One at a time*: the next sample goes in when the last one's answer is out, which is what SingleStream
//! does. Samples pass the same stages as those of a run: decoding, pre-processing, queue, batch, backend, lane.

use std::sync::Arc;
use std::task::{Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hdrhistogram::Histogram;
use lon_proto::v1::StartRunRequest;

use crate::backend::{Backend, Execution, Input, Sample, Worker};
use crate::config::ServeConfig;
use crate::pipeline::images;
use crate::run::codecs::Codecs;
use crate::run::state::{Purpose, Run};
use crate::service::calls::busy_samples;
use crate::work::batches as workers;
use crate::work::decode::pool::Wrapped;
use crate::work::lane::{Answer, Lane};
use crate::work::queue::Job;
use crate::work::threads::{self, Crew};
use crate::{ServeError, tensor};

pub(crate) mod report;
pub(crate) mod samples;

use samples::Samples;

/// What came of it.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) saturation: Saturation,
    /// In ns, of the samples that were answered.
    pub(crate) latency_ns: Histogram<u64>,
    /// Answers whose model outputs held a NaN, of both phases.
    pub(crate) nan: u64,
    /// Samples of the second phase that failed.
    pub(crate) failed_alone: u64,
    /// Why samples failed: the first reason there was.
    pub(crate) failure: Option<String>,
}

/// What came of the first phase.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Saturation {
    /// Answered; failed ones are not among them.
    pub(crate) samples: u64,
    pub(crate) failed: u64,
    /// Of the answers, by backends that answer token by token.
    pub(crate) tokens: u64,
    /// Until the last answer.
    pub(crate) duration: Duration,
    /// At most.
    pub(crate) in_flight: u64,
}

/// Runs both phases.
///
/// # Errors
/// The backend cannot be brought up.
pub(crate) fn run(
    config: &ServeConfig,
    backend: &dyn Backend,
    samples: &Samples,
    phase: Duration,
) -> Result<Measured, ServeError> {
    let crew = Crew::start(config, backend)?;
    let in_flight = busy_samples(config, backend).saturating_mul(2);
    let mut client = Client::new(config, backend, &crew, samples)?;
    let saturation = client.saturate(phase, in_flight);
    let (latency_ns, failed_alone) = client.one_at_a_time(phase);
    let (nan, failure) = (client.lane.run.report().samples_nan, client.failure);
    crew.finish();
    Ok(Measured { saturation, latency_ns, nan, failed_alone, failure })
}

/// Who asks and is answered, in place of a connection.
struct Client<'a> {
    crew: &'a Crew,
    lane: Arc<Lane>,
    samples: &'a Samples,
    input: Input,
    path: Path,
    waker: Waker,
    next: u64,
    failure: Option<String>,
}

/// The way of a sample to the backend; the same that a run's samples go.
enum Path {
    Queue,
    Decode,
    Inline(Box<dyn Worker>),
}

impl<'a> Client<'a> {
    fn new(
        config: &ServeConfig,
        backend: &dyn Backend,
        crew: &'a Crew,
        samples: &'a Samples,
    ) -> Result<Client<'a>, ServeError> {
        let codec = if samples.are_files { images::ORIGINAL } else { "" };
        let request = StartRunRequest { codec: codec.to_owned(), ..StartRunRequest::default() };
        let codecs = Codecs::agreed(&request, &config.node, &backend.info().outputs, true);
        let codecs = codecs.map_err(|status| ServeError::Bench(status.message().to_owned()))?;
        let run = Run::new(Bytes::new(), "this process".to_owned(), config.limits, Purpose::Run(codecs), None);
        let path = match backend.execution() {
            _ if config.preprocess.is_some() => Path::Decode,
            Execution::Workers => Path::Queue,
            Execution::Inline => Path::Inline(crew::inline_half(backend)?),
        };
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        let (lane, input) = (Lane::new(Arc::new(run)), backend.input());
        Ok(Client { crew, lane, samples, input, path, waker, next: 0, failure: None })
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
                // What is there may go, full batch or not.
                self.crew.work.queue.flush();
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

    /// How long they took, and how many failed.
    fn one_at_a_time(&mut self, phase: Duration) -> (Histogram<u64>, u64) {
        let began = Instant::now();
        // 1 ns to an hour with three significant digits.
        let latency_ns = Histogram::new_with_bounds(1, 3_600_000_000_000, 3);
        let mut latency_ns = latency_ns.unwrap_or_else(|_| unreachable!("the bounds are constants"));
        let (mut answers, mut failed) = (Vec::new(), 0);
        while began.elapsed() < phase {
            let sent = Instant::now();
            self.submit(1, &mut answers);
            self.wait(&mut answers);
            let took = sent.elapsed();
            if answers.drain(..).all(|answer| self.is_answered(answer)) {
                latency_ns.saturating_record(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
            } else {
                failed += 1;
            }
        }
        (latency_ns, failed)
    }

    fn is_answered(&mut self, answer: Answer) -> bool {
        match answer.result {
            Ok(_) => true,
            Err(reason) => {
                self.failure.get_or_insert(reason);
                false
            }
        }
    }

    /// Sends `count` samples on their way. An inline backend has answered them on return.
    fn submit(&mut self, count: u64, answers: &mut Vec<Answer>) {
        let first = self.next;
        self.next += count;
        let payloads = (first..first + count).map(|id| (id, self.samples.payload(id)));
        let queued_at = Instant::now();
        match &mut self.path {
            Path::Decode => {
                self.lane.expect_answers(count);
                let lane = &self.lane;
                let wrapped = |(id, bytes)| Wrapped { lane: Arc::clone(lane), id, bytes, queued_at };
                self.crew.work.decode.push(payloads.map(wrapped));
            }
            Path::Queue => {
                self.lane.expect_answers(count);
                let (lane, input) = (&self.lane, self.input);
                let job = |(id, bytes): (u64, Bytes)| Job {
                    lane: Arc::clone(lane),
                    id,
                    sample_bytes: bytes.len() as u64,
                    sample: sample(bytes, input),
                    waited: Duration::ZERO,
                    decode: Duration::ZERO,
                    preprocess: Duration::ZERO,
                    queued_at,
                    inflated: None,
                };
                // Made before the queue's lock is taken.
                let jobs: Vec<Job> = payloads.map(job).collect();
                self.crew.work.queue.push(jobs.into_iter());
            }
            Path::Inline(worker) => {
                let input = self.input;
                let (ids, samples): (Vec<u64>, Vec<Sample>) =
                    payloads.map(|(id, bytes)| (id, sample(bytes, input))).unzip();
                let results = workers::infer(worker.as_mut(), &samples);
                answers.extend(ids.into_iter().zip(results).map(|(id, result)| Answer {
                    id,
                    result,
                    stages: crate::work::lane::Stages::default(),
                    sample_bytes: 0,
                }));
            }
        }
    }

    /// Returns with one answer at least, and says how many tokens came with them.
    fn wait(&self, answers: &mut Vec<Answer>) -> u64 {
        loop {
            let tokens = self.lane.take_answers(&self.waker, answers);
            if !answers.is_empty() {
                return tokens;
            }
            std::thread::park();
        }
    }
}

/// As the reader of a stream makes it. Samples of our own can be read.
fn sample(bytes: Bytes, input: Input) -> Sample {
    let tensors = match input {
        Input::Opaque => Vec::new(),
        Input::Tensors => tensor::decode(bytes.clone()).unwrap_or_default(),
    };
    Sample { bytes, tensors }
}

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
    use crate::backend::{BackendOptions, open};

    fn measured(text: &str, max_batch: usize, free: Option<u32>) -> Measured {
        let max_batch = NonZeroUsize::new(max_batch).unwrap();
        let backend = open(text, &BackendOptions { max_batch, ..BackendOptions::default() }).unwrap();
        let mut config = ServeConfig::new("n1".parse().unwrap());
        config.max_batch = max_batch;
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
    fn tokens_are_counted() {
        let saturation = measured("synthetic:ttft=1ms,tpot=0ms,tokens=5", 1, None).saturation;
        assert!(saturation.samples > 0 && saturation.tokens == 5 * saturation.samples, "{saturation:?}");
    }

    #[cfg(feature = "onnx")]
    #[test]
    #[ignore = "needs generated models: set LON_TEST_MODELS"]
    fn a_decoder_runs_on_token_ids() {
        let folder = std::env::var("LON_TEST_MODELS").expect("LON_TEST_MODELS names what tests/models/make.py wrote");
        let measured = measured(&format!("onnx:{folder}/decoder.onnx"), 1, None);
        assert_eq!((measured.saturation.failed, measured.failure), (0, None));
        assert_eq!(measured.saturation.tokens, 128 * measured.saturation.samples);
    }

    #[cfg(feature = "onnx")]
    #[test]
    fn a_model_runs_on_samples_made_for_it() {
        let digits = concat!("onnx:", env!("CARGO_MANIFEST_DIR"), "/../loadgen-node/qsl/digits/digits.onnx");
        let measured = measured(digits, 8, None);
        assert_eq!((measured.saturation.failed, measured.failure), (0, None));
        assert!(measured.saturation.samples > 8 && measured.latency_ns.len() > 1);
    }
}
