//! Durations of samples in the node, stage by stage, for those who ask for metrics.
//!
//! Each stream that is answered counts for itself, so that no sample waits for another thread and nothing is locked.

use std::sync::{Arc, Mutex, PoisonError};

use lon_proto::stages::Stages;
use lon_shell::metrics::histogram::{Buckets, Durations};

/// The names of the stages that samples pass here, in the order of [`Stages`]: all but the last, which the LoadGen node
/// adds.
pub(crate) const STAGES: &[&str] = Stages::NAMES.as_slice().split_at(N).0;
const N: usize = Stages::NAMES.len() - 1;

/// The durations of samples that left on one stream at a time.
#[derive(Debug, Default)]
pub(crate) struct StageDurations {
    stages: [Durations; N],
    whole: Durations,
}

impl StageDurations {
    /// Counts a sample that was answered. A stage that took it no time is left out.
    pub(crate) fn add(&self, stages: &Stages) {
        let mut whole_ns = 0_u64;
        for (durations, duration_ns) in self.stages.iter().zip(stages.durations_ns()) {
            if duration_ns > 0 {
                durations.add(duration_ns);
                whole_ns = whole_ns.saturating_add(duration_ns);
            }
        }
        self.whole.add(whole_ns);
    }
}

/// Those of all streams, those that are gone among them.
#[derive(Debug, Default)]
pub(crate) struct DurationShares(Mutex<Vec<Arc<StageDurations>>>);

impl DurationShares {
    /// Where one stream counts until it drops what is returned. What a stream that is gone has counted stays, and the
    /// next stream adds to it: there are never more of them than streams at one time.
    pub(crate) fn lend(&self) -> Arc<StageDurations> {
        let mut shares = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A share without another owner is free, and all that was written to it is seen from here on.
        let free = shares.iter_mut().position(|share| Arc::get_mut(share).is_some());
        let place = free.unwrap_or_else(|| {
            shares.push(Arc::default());
            shares.len() - 1
        });
        Arc::clone(&shares[place])
    }

    /// The sums over all streams: by stage, in the order of [`STAGES`], and of all stages together.
    pub(crate) fn sums(&self) -> (Vec<Buckets>, Buckets) {
        // No stage of no stream, so that there are buckets before the first stream.
        let none = Durations::default().buckets();
        let (mut stages, mut whole) = (vec![none.clone(); N], none);
        for share in self.0.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            stages.iter_mut().zip(&share.stages).for_each(|(sum, one)| sum.add(&one.buckets()));
            whole.add(&share.whole.buckets());
        }
        (stages, whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_streams_counted_stays_when_they_are_gone() {
        let shares = DurationShares::default();
        let (first, second) = (shares.lend(), shares.lend());
        first.add(&Stages { queue_ns: 1_500, inference_ns: 3_000_000, ..Stages::default() });
        second.add(&Stages { inference_ns: 1_000_000, inflate_ns: 7, ..Stages::default() });
        drop(first);
        shares.lend().add(&Stages { inference_ns: 2_000_000, ..Stages::default() });
        assert_eq!(shares.0.lock().unwrap().len(), 2, "the share of a stream that is gone is lent again");
        let (stages, whole) = shares.sums();
        let counts: Vec<u64> = stages.iter().map(Buckets::count).collect();
        assert_eq!(STAGES, ["decode", "preprocess", "queue", "batch", "inference", "postprocess", "encode"]);
        assert_eq!(counts, [0, 0, 1, 0, 3, 0, 0]);
        assert_eq!(whole.count(), 3);
        assert!((whole.sum() - 0.006_001_5).abs() < 1e-12, "{}", whole.sum());
    }
}
