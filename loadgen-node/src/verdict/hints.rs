//! What to set when a run was too short: a number instead of a direction. Pure.

use loadgen::judge::Summary;
use loadgen::plan::Effective;
use loadgen::traffic::Pacing;

/// How much more than what was measured is asked for, so that the next run is not too short again.
const MORE: f64 = 1.2;

/// The setting by which the next run becomes long enough; none where this one was.
pub(crate) fn longer(summary: &Summary, effective: &Effective) -> Option<String> {
    if summary.checks.min_duration {
        return None;
    }
    let set = match effective.scenario.pacing() {
        Pacing::Room => format!("target_qps={}", upwards(summary.rates.samples_per_s * MORE)?),
        Pacing::Reply { .. } => {
            let latency_ms = summary.judged_latency().mean_ns as f64 / 1e6;
            format!("target_latency={}ms", downwards(latency_ms / MORE)?)
        }
        // A schedule is as long as it was made.
        Pacing::Schedule => return None,
    };
    let key = set.split('=').next().unwrap_or_default();
    Some(format!("--set {set} (the next run is then long enough at this speed), or --set {key}=auto"))
}

/// The setting by which the next run has as many queries as early stopping takes; none where this one had.
pub(crate) fn more_queries(summary: &Summary, effective: &Effective) -> Option<String> {
    let least = effective.scenario.judge().early_stopping().least_queries(effective.target_latency_percentile);
    let is_short = !summary.checks.early_stopping && summary.queries < least;
    is_short.then(|| format!("--set min_query_count={least} (early stopping takes as many)"))
}

/// Rounded up to two digits.
fn upwards(number: f64) -> Option<f64> {
    rounded(number, f64::ceil)
}

/// Rounded down to two digits.
fn downwards(number: f64) -> Option<f64> {
    rounded(number, f64::floor)
}

fn rounded(number: f64, how: fn(f64) -> f64) -> Option<f64> {
    if !(1e-9..1e15).contains(&number) {
        return None;
    }
    let digits = 1 - number.log10().floor() as i32;
    let step = 10_f64.powi(digits);
    // Written and read again, so that 0.27 is not 0.27000000000000002.
    let places = usize::try_from(digits).unwrap_or(0);
    format!("{:.places$}", how(number * step) / step).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_two_digits() {
        assert_eq!([28_345.0, 5.01, 0.0123].map(upwards), [Some(29_000.0), Some(5.1), Some(0.013)]);
        assert_eq!([28_345.0, 5.01, 0.0123].map(downwards), [Some(28_000.0), Some(5.0), Some(0.012)]);
        assert_eq!([0.0, f64::NAN, -1.0, f64::INFINITY].map(upwards), [None; 4]);
    }
}
