//! Cause that held a run back, where something did. It follows from the limits of the run, and from the measurements of
//! the causes. Pure.

use lon_proto::figures::length_ns;

use super::lag_limit::LagLimit;
use super::limits::LatencyLimit;
use crate::network::cause::{Cause, Evidence};
use loadgen::plan::Effective;
use loadgen::run::RunOutcome;
use loadgen::settings::Mode;
use loadgen::traffic::Expected;

/// Cause that held a run back.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bound {
    pub(crate) cause: Cause,
    /// Measurement of the cause, with the number that would fit.
    pub(crate) why: String,
}

/// Facts from which the cause that held a run back is found.
#[derive(Clone, Copy)]
pub(crate) struct LimitingFacts<'a> {
    pub(crate) evidence: &'a Evidence,
    pub(crate) effective: &'a Effective,
    /// Samples have a codec already.
    pub(crate) is_smaller: bool,
}

impl LimitingFacts<'_> {
    /// The rate at which queries were due, samples per second.
    fn target_per_s(&self) -> Option<f64> {
        let Effective { shape, target_qps, samples_per_query, .. } = *self.effective;
        shape.has_schedule().then_some(target_qps * samples_per_query as f64)
    }

    /// This cause, with what was measured of it.
    pub(crate) fn by(&self, cause: Cause) -> Bound {
        Bound { cause, why: self.evidence.explain(cause, self.target_per_s(), self.is_smaller) }
    }

    /// Returns the cause that held the run back. `None` where nothing did, as in a run that has kept its limits at the
    /// rate that was asked for.
    pub(crate) fn bound(&self, outcome: &RunOutcome, lag_limit: LagLimit, refused: u64) -> Option<Bound> {
        let (effective, evidence) = (self.effective, self.evidence);
        let summary = outcome.summary.as_ref().filter(|_| effective.mode != Mode::FindPeakPerformance)?;
        if outcome.counts().completed == 0 {
            // Without an answer there is no part of a latency to look at.
            return None;
        }
        let is_late = effective.shape.has_schedule() && outcome.lag().p99_ns > lag_limit.ns();
        let is_missed = || LatencyLimit::all(summary, effective).iter().any(|limit| !limit.kept);
        let cause = match effective.scenario.traffic().expected() {
            _ if is_late => evidence.of_lateness(),
            _ if refused > 0 => evidence.of_overload(),
            Expected::SampleRate => evidence.of_throughput(),
            Expected::QueryRate | Expected::Bursts if !is_missed() => return None,
            Expected::QueryRate | Expected::Bursts => evidence.of_latency(),
            // The next query waits for the answer: every part of the latency holds it back, and one may stand out.
            Expected::Latency | Expected::MostQps => {
                Some(evidence.of_latency()).filter(|cause| *cause != Cause::Unknown)?
            }
        };
        Some(self.by(cause))
    }

    /// The setting that fits what the link carries, where that was too little.
    pub(crate) fn fitting(&self, bound: &Bound) -> Option<String> {
        let fits = self.evidence.fits_per_s().filter(|fits| bound.cause == Cause::Link && *fits >= 1.0)?;
        let has_rate = self.effective.scenario.traffic().expected() == Expected::QueryRate;
        let is_turned = has_rate && !self.effective.arrivals.has_own_rate();
        let rate = self.target_per_s().filter(|rate| is_turned && fits < *rate)?;
        let limit_ns = self.effective.target_latency_ns;
        if let Some(wire_ns) = self.evidence.wire_ns().filter(|ns| 2.0 * ns > limit_ns as f64)
            && !self.effective.settings.use_token_latencies
        {
            let [wire, limit] = [wire_ns as u64, limit_ns].map(length_ns);
            return Some(format!(
                "a faster link, --compression, or a higher target_latency (a sample takes {wire} of the link, and two \
                 in a row exceed the limit of {limit})"
            ));
        }
        Some(format!("--set target_qps={fits:.0} (what the link carries of the {rate:.0}/s)"))
    }
}

impl Bound {
    /// As the end of a sentence: `because of the link: ...`.
    pub(crate) fn because(&self) -> String {
        match self.cause {
            Cause::Unknown => format!("and why is not known: {}", self.why),
            cause => format!("because of {}: {}", cause.text(), self.why),
        }
    }

    /// As a line of its own: `the link: ...`.
    pub(crate) fn text(&self) -> String {
        format!("{}: {}", self.cause.text(), self.why)
    }
}
