//! All of a comparison as one document.

use super::condition::Condition;
use super::facts;
use super::interval::{self, Draws};
use super::metric::{METRICS, Metric, Noise, Unit, WITHIN};
use super::side::Side;
use lon_run::network::spread;
use lon_run::outputs::documents::comparison::{
    Better, Comparison, DifferenceDocument, Finding, IntervalOf, MetricComparison, SCHEMA,
};

/// Less than this of what is counted is no difference.
const COUNTED: f64 = 0.01;

/// A rate without an interval that differs as the load that was asked for, but for this share, is as asked.
const AS_ASKED: f64 = 0.05;

/// The curves, which intervals are drawn from, have latencies of three digits: percent.
const OF_CURVES: f64 = 0.1;

/// Note on the limits of every comparison of single runs.
const SINGLE_RUNS: &str =
    "Intervals of single runs do not include run-to-run variation: make three runs of each (--repeat 3)";

/// Reason for every finding that is not made.
const NOT_JUDGED: &str = "A row that is not judged: single runs have no interval for its quantity. Make three of each \
    (--repeat 3, A1,A2,A3 \
     B1,B2,B3)";

/// Compares the sides with the first of them.
///
/// # Errors
/// A condition is about something that a side does not have, or about sides that cannot be compared, in words.
pub(crate) fn compared(sides: &[Side], conditions: &[Condition]) -> Result<Comparison, String> {
    let different = facts::different(sides);
    let not_comparable = facts::not_comparable(sides, &different);
    let draws: Vec<Draws> =
        sides.iter().zip(0..).map(|(side, number)| Draws::of(side.drawn_series(), number)).collect();
    let is_comparable = not_comparable.is_empty();
    let requests = LoadRequest::of(sides);
    let metrics = METRICS.iter().map(|metric| one(metric, sides, &draws, &requests, is_comparable));
    let other_limits = facts::other_limits(&different);
    let is_shown = |metric: &MetricComparison| {
        metric.values.iter().any(Option::is_some) && (other_limits.is_none() || !WITHIN.contains(&metric.name.as_str()))
    };
    let metrics: Vec<MetricComparison> = metrics.filter(is_shown).collect();
    let mut notes = facts::notes(sides);
    notes.extend(other_limits);
    let has_blocks = |metric: &MetricComparison| {
        metric.differences.iter().flatten().any(|difference| difference.interval_of == Some(IntervalOf::Blocks))
    };
    notes.extend(metrics.iter().any(has_blocks).then(|| SINGLE_RUNS.to_owned()));
    let is_not_judged = |metric: &MetricComparison| {
        metric.differences.iter().flatten().any(|difference| difference.finding == Finding::NotJudged)
    };
    notes.extend(metrics.iter().any(is_not_judged).then(|| NOT_JUDGED.to_owned()));
    let failed = Vec::new();
    let sides = sides.iter().map(Side::document).collect();
    let mut comparison = Comparison { schema: SCHEMA, sides, not_comparable, notes, different, metrics, failed };
    for condition in conditions {
        let failed = condition.failed(&comparison)?;
        comparison.failed.extend(failed);
    }
    Ok(comparison)
}

/// Points in which a side differs from the first because that was asked for.
struct LoadRequest {
    /// The load as a multiple of the first side's; none: it is the same, or there is none.
    load_ratio: Option<f64>,
    /// Transport or codec differ, so that the bytes of a sample do.
    has_other_framing: bool,
}

impl LoadRequest {
    /// Of each side but the first.
    fn of(sides: &[Side]) -> Vec<LoadRequest> {
        let loads = facts::other_load(sides).map(|(_, loads)| loads);
        let of_side = |(at, side): (usize, &Side)| LoadRequest {
            load_ratio: loads.as_ref().map(|loads| loads[at] / loads[0]).filter(|ratio| *ratio != 1.0),
            has_other_framing: !facts::is_framed_alike(&sides[0], side),
        };
        sides.iter().enumerate().skip(1).map(of_side).collect()
    }

    /// The finding on a quantity, where the difference follows from what was asked for.
    fn finding(&self, metric: &Metric, percent: f64, interval: Option<[f64; 2]>, base_finding: Finding) -> Finding {
        let is_a_rate = metric.unit == Unit::PerSecond && base_finding != Finding::Noise;
        match self.load_ratio {
            Some(ratio) if is_a_rate => {
                let asked_percent = 100.0 * (ratio - 1.0);
                let is_as_asked = match interval {
                    Some([low, high]) => (low..=high).contains(&asked_percent),
                    None => ((1.0 + percent / 100.0) / ratio - 1.0).abs() < AS_ASKED,
                };
                if is_as_asked { Finding::AsAsked } else { Finding::Differs }
            }
            _ if metric.noise == Noise::Counted && self.has_other_framing && base_finding != Finding::Same => {
                Finding::Differs
            }
            _ => base_finding,
        }
    }
}

/// One quantity on all sides.
fn one(
    metric: &Metric,
    sides: &[Side],
    draws: &[Draws],
    requests: &[LoadRequest],
    is_comparable: bool,
) -> MetricComparison {
    let all: Vec<Vec<f64>> = sides.iter().map(|side| side.sources().filter_map(metric.of).collect()).collect();
    let difference = |((other, draws_of_other), request): ((&Vec<f64>, &Draws), &LoadRequest)| {
        let percent = 100.0 * (mean(other)? / mean(&all[0])? - 1.0);
        let estimate = match metric.noise {
            _ if all[0].len().min(other.len()) >= spread::FEWEST_REPEATS => {
                spread::ratio_interval(&all[0], other).map(|interval| (interval, IntervalOf::Repeats))
            }
            // Where the difference is outside, the draws were of something else: it is no noise.
            Noise::Drawn(quantity) => interval::of_draws(&draws[0], draws_of_other, quantity)
                .filter(|[low, high]| (100.0 * low - OF_CURVES..=100.0 * high + OF_CURVES).contains(&percent))
                .map(|[low, high]| ([low.min(percent / 100.0), high.max(percent / 100.0)], IntervalOf::Blocks)),
            _ => None,
        };
        let interval_percent = estimate.map(|(interval, _)| interval.map(|share| 100.0 * share));
        let finding = finding(metric, percent, interval_percent);
        let finding = request.finding(metric, percent, interval_percent, finding);
        let interval_of = estimate.map(|(_, of)| of);
        let difference = DifferenceDocument { percent, interval_percent, interval_of, finding };
        (is_comparable && percent.is_finite()).then_some(difference)
    };
    MetricComparison {
        name: metric.name.to_owned(),
        about: metric.about.to_owned(),
        unit: metric.unit.name().to_owned(),
        better: metric.better,
        values: all.iter().map(|values| mean(values)).collect(),
        differences: all.iter().zip(draws).skip(1).zip(requests).map(difference).collect(),
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn finding(metric: &Metric, percent: f64, interval: Option<[f64; 2]>) -> Finding {
    match interval {
        Some([low, high]) if low <= 0.0 && 0.0 <= high => return Finding::Noise,
        None if metric.noise == Noise::Counted && percent.abs() < 100.0 * COUNTED => return Finding::Same,
        None if metric.noise != Noise::Counted => return Finding::NotJudged,
        _ => {}
    }
    match (metric.better, percent > 0.0) {
        (Better::Neither, _) => Finding::Differs,
        (Better::Higher, true) | (Better::Lower, false) => Finding::Better,
        _ => Finding::Worse,
    }
}
