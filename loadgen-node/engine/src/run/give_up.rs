//! Knowing early that a phase cannot meet its latency target any more.

use crate::effective::Effective;
use crate::recorder::{Recorder, SampleEnd};
use crate::world::TimeNs;

/// Age from which an outstanding sample is late for sure, beyond twice the limit: an answer may have arrived in time
/// and not been handed over yet.
const MARGIN_NS: u64 = 10_000_000;

/// Counts late samples in issue order, each looked at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct GiveUp {
    limit_ns: u64,
    surely_late_ns: u64,
    /// With this many late samples the judged percentile is above the limit. It only falls when fewer are issued.
    hopeless: u64,
    late: u64,
    next: u64,
}

impl GiveUp {
    /// The counter of a phase of `samples` samples; `None` in token runs, which are judged by other latencies.
    pub(super) fn new(effective: &Effective, samples: u64) -> Option<Self> {
        let within = (samples as f64 * effective.target_latency_percentile) as u64;
        let limit_ns = effective.target_latency_ns;
        (!effective.settings.use_token_latencies).then_some(Self {
            limit_ns,
            surely_late_ns: limit_ns.saturating_mul(2).saturating_add(MARGIN_NS),
            hopeless: samples.saturating_sub(within).max(1),
            late: 0,
            next: 0,
        })
    }

    /// The number of late samples, once it is too large.
    pub(super) fn late_beyond_repair(&mut self, recorder: &Recorder, now: TimeNs, start: TimeNs) -> Option<u64> {
        let now_ns = now.since(start);
        while let Some(end) = recorder.end_at(self.next) {
            let late = match end {
                SampleEnd::Done { latency_ns } => latency_ns > self.limit_ns,
                SampleEnd::Pending { scheduled_ns } if now_ns.saturating_sub(scheduled_ns) < self.surely_late_ns => {
                    break;
                }
                SampleEnd::Pending { .. } | SampleEnd::Failed { .. } | SampleEnd::Unissued => true,
            };
            self.late += u64::from(late);
            self.next += 1;
        }
        (self.late >= self.hopeless).then_some(self.late)
    }
}
