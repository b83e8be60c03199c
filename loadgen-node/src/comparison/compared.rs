//! All of a comparison as one document.

use super::condition::Condition;
use super::facts;
use super::interval::{self, Draws};
use super::metric::{METRICS, Metric, Noise};
use super::side::Side;
use crate::network::spread;
use crate::outputs::documents::comparison::{
    Better, Comparison, DifferenceDocument, Finding, IntervalOf, MetricComparison, SCHEMA,
};

/// Less than this of what is counted is no difference.
const COUNTED: f64 = 0.01;

/// Note on the limits of every comparison of single runs.
const SINGLE_RUNS: &str = "intervals of single runs come from blocks of their timelines: what changes from run to run \
                           is not in them; three repeats on each side (A1,A2,A3 B1,B2,B3) show that, too";

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
    let metrics = METRICS.iter().map(|metric| one(metric, sides, &draws, is_comparable));
    let metrics: Vec<MetricComparison> = metrics.filter(|metric| metric.values.iter().any(Option::is_some)).collect();
    let mut notes = facts::notes(sides);
    let has_blocks = |metric: &MetricComparison| {
        metric.differences.iter().flatten().any(|difference| difference.interval_of == Some(IntervalOf::Blocks))
    };
    notes.extend(metrics.iter().any(has_blocks).then(|| SINGLE_RUNS.to_owned()));
    let failed = Vec::new();
    let sides = sides.iter().map(Side::document).collect();
    let mut made = Comparison { schema: SCHEMA, sides, not_comparable, notes, different, metrics, failed };
    for condition in conditions {
        let failed = condition.failed(&made)?;
        made.failed.extend(failed);
    }
    Ok(made)
}

/// One quantity on all sides.
fn one(metric: &Metric, sides: &[Side], draws: &[Draws], is_comparable: bool) -> MetricComparison {
    let all: Vec<Vec<f64>> = sides.iter().map(|side| side.sources().filter_map(metric.of).collect()).collect();
    let difference = |(other, draws_of_other): (&Vec<f64>, &Draws)| {
        let percent = 100.0 * (mean(other)? / mean(&all[0])? - 1.0);
        let found = match metric.noise {
            _ if all[0].len().min(other.len()) >= spread::FEWEST_REPEATS => {
                spread::ratio_interval(&all[0], other).map(|interval| (interval, IntervalOf::Repeats))
            }
            // Where the difference is outside, the draws were of something else: it is no noise.
            Noise::Drawn(drawn) => interval::of_draws(&draws[0], draws_of_other, drawn)
                .filter(|[low, high]| (100.0 * low..=100.0 * high).contains(&percent))
                .map(|interval| (interval, IntervalOf::Blocks)),
            _ => None,
        };
        let interval_percent = found.map(|(interval, _)| interval.map(|share| 100.0 * share));
        let finding = finding(metric, percent, interval_percent);
        let interval_of = found.map(|(_, of)| of);
        let difference = DifferenceDocument { percent, interval_percent, interval_of, finding };
        (is_comparable && percent.is_finite()).then_some(difference)
    };
    MetricComparison {
        name: metric.name.to_owned(),
        about: metric.about.to_owned(),
        unit: metric.unit.name().to_owned(),
        better: metric.better,
        values: all.iter().map(|values| mean(values)).collect(),
        differences: all.iter().zip(draws).skip(1).map(difference).collect(),
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn finding(metric: &Metric, percent: f64, interval: Option<[f64; 2]>) -> Finding {
    match interval {
        Some([low, high]) if low <= 0.0 && 0.0 <= high => return Finding::Noise,
        None if metric.noise == Noise::Counted && percent.abs() < 100.0 * COUNTED => return Finding::Noise,
        None if metric.noise != Noise::Counted => return Finding::NotKnown,
        _ => {}
    }
    match (metric.better, percent > 0.0) {
        (Better::Neither, _) => Finding::Differs,
        (Better::Higher, true) | (Better::Lower, false) => Finding::Better,
        _ => Finding::Worse,
    }
}
