//! The arrival process of a run, as asked for and as drawn: part of `result_summary.json`.

use lon_proto::figures::number;
use serde::{Deserialize, Serialize};

use loadgen::plan::Plan;
use loadgen::trace::Drawn;

/// Arrivals of the performance phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ArrivalsDocument {
    /// The process: the setting `arrivals`, or the name of the one that the scenario has.
    pub process: String,
    /// Mean rate that was asked for, queries per second.
    pub asked_rate_per_s: f64,
    /// Coefficient of variation of the gaps that was asked for; null where the process has no simple formula for it.
    pub asked_gap_cv: Option<f64>,
    /// Mean rate and variation of the due times that were drawn. Nothing was rescaled.
    pub drawn: Drawn,
}

impl ArrivalsDocument {
    /// Of a plan; `None` where nothing is due at a time of its own, and where nothing is measured.
    pub(crate) fn of(plan: &Plan) -> Option<ArrivalsDocument> {
        let effective = plan.effective();
        let phase = plan.phases().iter().find(|phase| !phase.is_accuracy())?;
        let promise = effective.arrivals.promise(effective.target_qps);
        effective.shape.has_schedule().then(|| ArrivalsDocument {
            process: plan.arrivals_text(),
            asked_rate_per_s: promise.rate_per_s,
            asked_gap_cv: promise.gap_cv,
            drawn: phase.drawn,
        })
    }

    /// The process with the numbers that were drawn, as one line.
    pub(crate) fn text(&self) -> String {
        let request_text = |value: f64| format!(" (asked {})", number(value));
        let mut parts = Vec::new();
        if let Some(rate) = self.drawn.rate_per_s {
            parts.push(format!("{} queries/s drawn{}", number(rate), request_text(self.asked_rate_per_s)));
        }
        if let Some(cv) = self.drawn.gap_cv {
            parts.push(format!("CV of gaps {}{}", number(cv), self.asked_gap_cv.map(request_text).unwrap_or_default()));
        }
        parts.extend(
            self.drawn.dispersion.map(|index| format!("variance/mean of queries per second {}", number(index))),
        );
        let peaks = [("100 ms", self.drawn.peak_100ms), ("1 s", self.drawn.peak_1s), ("10 s", self.drawn.peak_10s)];
        let peaks = peaks.into_iter().filter_map(|(window, peak)| Some(format!("{} in {window}", number(peak?))));
        let peaks: Vec<String> = peaks.collect();
        if !peaks.is_empty() {
            parts.push(format!("busiest window over the mean {}", peaks.join(", ")));
        }
        format!("{}: {}", self.process, parts.join("; "))
    }
}
