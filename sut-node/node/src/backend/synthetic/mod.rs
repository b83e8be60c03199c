//! A backend that takes as long as it is told and answers what it is told: queues, batches and schedules are measured
//! without a model.
//!
//! - `spec`: the SPEC of `synthetic:SPEC`, as values;
//! - `draw`: random times, counts and answers;
//! - `stream`: token streams.
//!
//! SPEC is `KEY=VALUE[,KEY=VALUE...]` with one shape of service time:
//!
//! | shape | takes |
//! |---|---|
//! | `constant=DURATION` | this time for a batch of any size |
//! | `lognormal=MEDIAN,SIGMA` | a log-normal time for a batch; SIGMA is the standard deviation of its logarithm |
//! | `base=DURATION,per_sample=DURATION` | the base, and a time for each sample (one may be left out) |
//! | `ttft=DURATION,tpot=DURATION,tokens=COUNT` | token by token: a time to the first, a time for each further one |
//!
//! `tokens=MEDIAN,SIGMA` makes the number of tokens log-normal. Beside the shape there may be
//!
//! - `stall=DURATION,stall_share=SHARE`: that share of the batches (of the samples, in a token stream: before their
//!   first token) takes that much longer;
//! - `seed=NUMBER` (0): other random numbers;
//! - `output=BYTES` (8): the size of an answer of a batch. Its bytes are zeros; with a `seed` of its own, noise, which
//!   no codec makes smaller.
//!
//! A worker sleeps, so as many batches are under way as there are workers, and cores do not matter; a worker of token
//! streams has `--slots` of them under way.
//!
//! Everything is drawn with the 64-bit Mersenne Twister: for batches by worker and in their order, which depends on
//! the seed alone; for token streams by the sample's own bytes, so that a sample's answer is the same whenever
//! and wherever it is asked.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use bytes::Bytes;
use rand_mt::Mt64;

use self::draw::{duration, unit};
pub use self::spec::{Count, ServiceTime, Spec, SpecError, Stall};
use self::stream::SyntheticStreamer;
use super::{Backend, BackendError, BackendInfo, BackendSample, Half, InferError, Input, TokenOptions, Worker};
use crate::node_setting::Setting;
use crate::tensor::DType;

mod draw;
pub(super) mod spec;
mod stream;

/// The backend, as its SPEC says.
#[derive(Debug)]
pub struct Synthetic {
    info: BackendInfo,
    spec: Spec,
    slots: NonZeroUsize,
    answer: Bytes,
    /// Number of halves that were given out. Each draws random numbers of its own.
    halves: AtomicU64,
}

impl Synthetic {
    /// A backend that behaves as `spec` says. Of `tokens` it uses the slots alone.
    pub fn new(spec: &Spec, tokens: &TokenOptions) -> Synthetic {
        let engine = format!("synthetic:{spec}");
        let info = match spec.service_time {
            ServiceTime::Tokens { .. } => BackendInfo::without_model(engine, "tokens", DType::I64, &[None]),
            _ => BackendInfo::without_model(engine, "noise", DType::U8, &[u32::try_from(spec.output_bytes).ok()]),
        };
        let settings = vec![Setting::of_speed("slots", tokens.slots)];
        let answer = draw::answer(spec.seed, spec.output_bytes);
        let info = BackendInfo { settings, ..info };
        Synthetic { info, spec: spec.clone(), slots: tokens.slots, answer, halves: AtomicU64::new(0) }
    }
}

impl Backend for Synthetic {
    fn info(&self) -> &BackendInfo {
        &self.info
    }

    fn input(&self) -> Input {
        Input::Opaque
    }

    fn cores_per_inference(&self) -> usize {
        0
    }

    fn slots(&self) -> Option<NonZeroUsize> {
        matches!(self.spec.service_time, ServiceTime::Tokens { .. }).then_some(self.slots)
    }

    fn worker(&self) -> Result<Half, BackendError> {
        let Spec { service_time, stall, .. } = self.spec;
        let seed = self.spec.seed.unwrap_or(0);
        if let ServiceTime::Tokens { ttft, tpot, tokens } = service_time {
            let streamer = SyntheticStreamer::new(self.slots.get(), ttft, tpot, tokens, stall, seed);
            return Ok(Half::Stream(Box::new(streamer)));
        }
        let mt = Mt64::new(seed.wrapping_add(self.halves.fetch_add(1, Relaxed)));
        Ok(Half::Batch(Box::new(SyntheticWorker { service_time, stall, mt, answer: self.answer.clone() })))
    }
}

struct SyntheticWorker {
    service_time: ServiceTime,
    stall: Option<Stall>,
    mt: Mt64,
    answer: Bytes,
}

impl SyntheticWorker {
    /// Returns the time of the next batch, which has `batch` samples. The order of the draws does not depend on their
    /// results.
    fn next(&mut self, batch: usize) -> Duration {
        let time = match self.service_time {
            ServiceTime::Constant(time) => time,
            ServiceTime::LogNormal { median, sigma } => duration(median, sigma, unit(&mut self.mt)),
            ServiceTime::Linear { base, per_sample } => {
                base.saturating_add(per_sample.saturating_mul(u32::try_from(batch).unwrap_or(u32::MAX)))
            }
            // Never asked: a spec of token streams has a half of the other kind.
            ServiceTime::Tokens { ttft, .. } => ttft,
        };
        time.saturating_add(self.stall.map_or(Duration::ZERO, |stall| stall.next(&mut self.mt)))
    }
}

impl Worker for SyntheticWorker {
    fn infer(&mut self, batch: &[BackendSample]) -> Vec<Result<Bytes, InferError>> {
        std::thread::sleep(self.next(batch.len()));
        vec![Ok(self.answer.clone()); batch.len()]
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn backend(spec: &str) -> Synthetic {
        Synthetic::new(&spec.parse().unwrap(), &TokenOptions::default())
    }

    /// Returns the times that the halves of `backend`, in their order, would sleep for batches of these sizes.
    fn times(backend: &Synthetic, halves: u64, batches: &[usize]) -> Vec<Duration> {
        let worker = |half| {
            let Spec { service_time, stall, seed, .. } = backend.spec;
            let mt = Mt64::new(seed.unwrap_or(0) + half);
            let mut worker = SyntheticWorker { service_time, stall, mt, answer: Bytes::new() };
            batches.iter().map(|&batch| worker.next(batch)).collect::<Vec<_>>()
        };
        (0..halves).flat_map(worker).collect()
    }

    #[test]
    fn a_batch_takes_as_long_as_told() {
        let mut worker = backend("constant=20ms,output=3").worker().unwrap().batch().unwrap();
        let start = Instant::now();
        assert_eq!(worker.infer(&vec![BackendSample::default(); 4]), vec![Ok(Bytes::from_static(&[0; 3])); 4]);
        // A lower bound only: a busy machine may well take longer.
        assert!(start.elapsed() >= Duration::from_millis(20));
    }

    #[test]
    fn a_cost_for_each_sample_makes_batches_worth_while() {
        let ms = Duration::from_millis;
        assert_eq!(times(&backend("base=10ms,per_sample=2ms"), 1, &[1, 8]), [ms(12), ms(26)]);
        assert_eq!(times(&backend("per_sample=2ms"), 1, &[0, 8]), [ms(0), ms(16)]);
    }

    #[test]
    fn draws_follow_the_seed_and_the_distribution() {
        let many = vec![1; 20_000];
        let seeded = |seed: &str| times(&backend(&format!("lognormal=2ms,0.5{seed}")), 2, &many);
        let draws = seeded("");
        assert_eq!(draws, seeded(",seed=0"));
        assert_ne!(draws, seeded(",seed=7"));
        assert_ne!(draws[..20_000], draws[20_000..], "each worker has a sequence of its own");
        let mut sorted = draws;
        sorted.sort();
        let at = |share: f64| sorted[(share * sorted.len() as f64) as usize].as_secs_f64() / 2e-3;
        // exp(0.5 * 1.2816) and its reciprocal.
        for (share, expected) in [(0.5, 1.0), (0.9, 1.898), (0.1, 0.527)] {
            assert!((at(share) / expected - 1.0).abs() < 0.03, "{share}: {}", at(share));
        }
        assert_eq!(times(&backend("lognormal=2ms,0"), 1, &[1]), [Duration::from_millis(2)]);
    }

    #[test]
    fn stalls_make_a_second_mode() {
        let times = times(&backend("constant=1ms,stall=50ms,stall_share=0.25"), 1, &vec![1; 10_000]);
        let (short, long): (Vec<Duration>, Vec<Duration>) = times.into_iter().partition(|time| time.as_millis() < 25);
        assert!(short.iter().all(|time| time.as_millis() == 1) && long.iter().all(|time| time.as_millis() == 51));
        assert!((2_350..2_650).contains(&long.len()), "{}", long.len());
    }

    #[test]
    fn answers_are_zeros_or_the_noise_of_a_seed() {
        let answer = |spec: &str| backend(spec).answer.clone();
        assert_eq!(answer("constant=0ms"), &[0; 8][..]);
        let noise = answer("constant=0ms,output=1001,seed=3");
        assert_eq!((noise.len(), &noise), (1001, &answer("constant=0ms,output=1001,seed=3")));
        assert_ne!(noise, answer("constant=0ms,output=1001,seed=4"));
        assert!(noise.iter().filter(|byte| **byte == 0).count() < 20);
    }
}
