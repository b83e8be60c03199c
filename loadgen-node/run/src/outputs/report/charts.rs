//! The curves of a run.

use std::ops::Range;

use hdrhistogram::Histogram;
use loadgen::run::LatencyKind;
use lon_proto::figures::{bit_rate, duration_ns};

use super::chart::{Axis, Chart, Curve};
use super::series::{Series, Step, TokenTimes, is_known, known_shares};
use super::source::Source;
use crate::verdict::limits::LatencyLimit;

/// A limit or a rate of the network is drawn where it is at most so many times the largest value: else the curve would
/// be a flat line.
const NEAR: f64 = 4.0;
/// Most steps of the bytes over time.
const BYTE_STEPS: usize = 300;

/// Every chart that the run has something for.
pub(super) fn all(source: &Source) -> Vec<Chart> {
    let mut charts = Vec::new();
    if let Some(series) = &source.series {
        let is_answered = !series.latencies.is_empty();
        charts.extend(is_answered.then(|| distribution(series, source)));
        // In Offline all latencies begin at once.
        let has_course = series.steps.iter().filter(|step| !step.latencies.is_empty()).count() > 1;
        charts.extend(has_course.then(|| latency_over_time(series, source)));
        charts.extend(is_answered.then(|| rate_over_time(series)));
        charts.extend(series.has_begun().then(|| outstanding(series)));
        charts.extend(series.tokens.as_ref().map(|times| tokens(times, source)));
    }
    charts.extend(lag(source));
    charts.extend(bytes(source));
    charts
}

/// Of time, with as many digits as places have that are this far from each other, s.
pub fn seconds(title: &'static str, step_s: f64) -> Axis {
    let text: fn(f64) -> String = match step_s {
        step_s if step_s >= 0.1 => |value| format!("{value:.1} s"),
        step_s if step_s >= 0.01 => |value| format!("{value:.2} s"),
        step_s if step_s >= 1e-3 => |value| format!("{value:.3} s"),
        step_s if step_s >= 1e-4 => |value| format!("{:.1} ms", value * 1e3),
        step_s if step_s >= 1e-5 => |value| format!("{:.2} ms", value * 1e3),
        _ => |value| format!("{:.2} µs", value * 1e6),
    };
    Axis { title: title.into(), is_log: false, is_whole: false, text }
}

/// Of answers per second.
pub fn rate() -> Axis {
    let text = |rate: f64| match rate {
        rate if rate == 0.0 || rate >= 100.0 => format!("{rate:.0}/s"),
        rate if rate >= 10.0 => format!("{rate:.1}/s"),
        _ => format!("{rate:.3}/s"),
    };
    Axis { title: "samples per second".into(), is_log: false, is_whole: false, text }
}

/// An axis of latencies, logarithmic.
pub fn latency() -> Axis {
    Axis { title: "latency".into(), is_log: true, is_whole: false, text: |ns| duration_ns(ns.round() as i64) }
}

/// Percentiles, each at the number of samples that one slower one stands for: see [`odds`].
fn percentile() -> Axis {
    let text = |ratio| percentile_text(100.0 - 100.0 / ratio);
    Axis { title: "percentile".into(), is_log: true, is_whole: false, text }
}

/// The limits that the official rules judge these quantities by.
fn limits(source: &Source, of: &[LatencyKind]) -> Vec<(String, f64)> {
    let judged = source.result.latency_limits.iter().filter(|limit| of.contains(&limit.of));
    let name = |limit: &LatencyLimit| match of.len() {
        1 => format!("limit of p{}", limit.percentile),
        _ => format!("limit of {} p{}", limit.of, limit.percentile),
    };
    judged.map(|limit| (name(limit), limit.limit_ns as f64)).collect()
}

fn distribution(series: &Series, source: &Source) -> Chart {
    let about = format!(
        "Latency by percentile, of {} answered samples. The axis stretches the slowest of them.",
        series.latencies.len()
    );
    let name = if source.result.counts.unanswered() > 0 { "latency of what was answered" } else { "latency" };
    let curves = [(name, &series.latencies)];
    of_percentiles("distribution", "Latency distribution", about, &curves, limits(source, &[LatencyKind::Latency]))
}

/// Of token runs: how long the first token took, and each further one.
fn tokens(times: &TokenTimes, source: &Source) -> Chart {
    let about = format!("Of {} samples: time to first token (ttft) and per output token (tpot).", times.first.len());
    let curves = [("ttft", &times.first), ("tpot", &times.each)];
    of_percentiles("tokens", "Token latencies", about, &curves, limits(source, &[LatencyKind::Ttft, LatencyKind::Tpot]))
}

/// Distributions over the percentiles that the largest of them has; each as far as it has them.
pub fn of_percentiles(
    id: &'static str,
    title: &'static str,
    about: String,
    curves: &[(&str, &Histogram<u64>)],
    limits: Vec<(String, f64)>,
) -> Chart {
    let largest = curves.iter().map(|(_, values)| values.len()).max().unwrap_or_default();
    let shares = known_shares(largest);
    let last = shares.last().map_or(0.0, |share| share * 100.0);
    let marks = [0.0, 50.0, 90.0, 99.0, 99.9, 99.99].into_iter().filter(|percentile| *percentile <= last + 1e-9);
    let curve = |(name, values): &(&str, &Histogram<u64>)| {
        let value = |share: &f64| is_known(*share, values.len()).then(|| values.value_at_quantile(*share) as f64);
        Curve { name: (*name).to_owned(), values: shares.iter().map(value).collect() }
    };
    Chart {
        id,
        title,
        about,
        x: percentile(),
        y: latency(),
        places: shares.iter().map(|share| odds(share * 100.0)).collect(),
        curves: curves.iter().map(curve).collect(),
        limits,
        marks: marks.map(|percentile| (odds(percentile), percentile_text(percentile))).collect(),
    }
}

/// Returns the number of samples for each sample that is above the percentile.
fn odds(percentile: f64) -> f64 {
    100.0 / (100.0 - percentile).max(1e-6)
}

fn percentile_text(percentile: f64) -> String {
    let text = format!("{percentile:.3}");
    format!("p{}", text.trim_end_matches('0').trim_end_matches('.'))
}

fn over_time(series: &Series, of: impl Fn(&Step) -> Option<f64>) -> Vec<Option<f64>> {
    series.steps.iter().map(of).collect()
}

/// The ends of all steps, s.
fn ends(series: &Series) -> Vec<f64> {
    (1..=series.steps.len()).map(|step| step as f64 * series.step_s).collect()
}

fn latency_over_time(series: &Series, source: &Source) -> Chart {
    let at = |share: f64| {
        over_time(series, move |step| {
            (!step.latencies.is_empty()).then(|| step.latencies.value_at_quantile(share) as f64)
        })
    };
    let curve = |name: &str, values| Curve { name: name.to_owned(), values };
    Chart {
        id: "latency",
        title: "Latency over time",
        about: "Of the samples that began in each step of time.".to_owned(),
        x: seconds("time since the first sample", series.step_s),
        y: latency(),
        places: ends(series),
        curves: vec![
            curve("p50", at(0.5)),
            curve("p99", at(0.99)),
            curve("max", over_time(series, |step| (!step.latencies.is_empty()).then(|| step.latencies.max() as f64))),
        ],
        limits: limits(source, &[LatencyKind::Latency]),
        marks: Vec::new(),
    }
}

fn rate_over_time(series: &Series) -> Chart {
    let step_s = series.step_s;
    Chart {
        id: "rate",
        title: "Answers per second over time",
        about: "Samples that were answered in each step of time, per second.".to_owned(),
        x: seconds("time since the first sample", series.step_s),
        y: rate(),
        places: ends(series),
        curves: vec![Curve {
            name: "answered".to_owned(),
            values: over_time(series, |step| Some(step.answered as f64 / step_s)),
        }],
        limits: Vec::new(),
        marks: Vec::new(),
    }
}

fn outstanding(series: &Series) -> Chart {
    Chart {
        id: "outstanding",
        title: "Samples without an answer over time",
        about: "Samples that had begun and were not answered at the end of each step of time.".to_owned(),
        x: seconds("time since the first sample", series.step_s),
        y: Axis { title: "samples".into(), is_log: false, is_whole: true, text: |count| format!("{count:.0}") },
        places: ends(series),
        curves: vec![Curve {
            name: "outstanding".to_owned(),
            values: over_time(series, |step| Some(step.outstanding as f64)),
        }],
        limits: Vec::new(),
        marks: Vec::new(),
    }
}

/// Returns the chart of the lateness of samples. In Offline all of them are due at once, and there is no course.
fn lag(source: &Source) -> Option<Chart> {
    let course = &source.result.schedule_lag_course;
    if course.largest_ns.len() < 2 {
        return None;
    }
    let step_s = course.step_ns as f64 / 1e9;
    let allowed_ns = source.result.made.max_lag_ns as f64;
    Some(Chart {
        id: "lag",
        title: "Schedule lag over time",
        about: "The largest time between when a sample was due and when it was sent, in each step of time. The \
                line is the limit of the p99 of the whole run."
            .to_owned(),
        x: seconds("time since the first sample", step_s),
        y: Axis { title: "lag".into(), ..latency() },
        places: (1..=course.largest_ns.len()).map(|step| step as f64 * step_s).collect(),
        curves: vec![Curve {
            name: "largest lag".to_owned(),
            values: course.largest_ns.iter().map(|lag_ns| (*lag_ns > 0).then_some(*lag_ns as f64)).collect(),
        }],
        limits: if allowed_ns > 0.0 { vec![("allowed".to_owned(), allowed_ns)] } else { Vec::new() },
        marks: Vec::new(),
    })
}

/// Returns the chart of the bytes that crossed the sockets, with the bandwidth that the rules require and that the
/// network gives.
fn bytes(source: &Source) -> Option<Chart> {
    let network = source.network.as_ref()?;
    let steps = &network.per_second;
    let parts = parts(&steps.t_s);
    let ends: Vec<f64> = parts.iter().map(|(looks, _)| steps.t_s[looks.end - 1]).collect();
    let rates = |bytes: &[u64]| -> Vec<Option<f64>> {
        let rate = |(looks, length_s): &(Range<usize>, f64)| {
            let sum: u64 = bytes.get(looks.clone())?.iter().sum();
            (*length_s > 0.0).then(|| sum as f64 * 8.0 / length_s)
        };
        parts.iter().map(rate).collect()
    };
    let curves = vec![
        Curve { name: "to the SUT".to_owned(), values: rates(&steps.socket_ingress) },
        Curve { name: "back".to_owned(), values: rates(&steps.socket_egress) },
    ];
    let lengths_s = parts.iter().map(|(_, length_s)| *length_s).filter(|length_s| *length_s > 0.0);
    let shortest_s = lengths_s.fold(f64::INFINITY, f64::min);
    let most = curves.iter().flat_map(|curve| curve.values.iter().flatten()).copied().reduce(f64::max)?;
    let of = &network.bandwidth_gbit_s;
    let lines = [
        ("required to the SUT", of.required.ingress),
        ("required back", of.required.egress),
        ("probed to the SUT", of.probed.ingress),
        ("probed back", of.probed.egress),
        ("claimed by the interfaces", of.nic_claim.ingress),
    ];
    let lines = lines.into_iter().filter_map(|(name, gbit_s)| Some((name.to_owned(), gbit_s? * 1e9)));
    let is_near = |(_, rate): &(String, f64)| *rate > most / NEAR && *rate < most * NEAR;
    Some(Chart {
        id: "bytes",
        title: "Bits on the sockets over time",
        about: "Bits per second on the sockets of all nodes, headers of this program's messages included. Rates \
                far beyond these are left out; the table Network has them."
            .to_owned(),
        x: seconds("time since the start", shortest_s),
        y: Axis { title: "bits per second".into(), is_log: false, is_whole: false, text: bit_rate },
        places: ends,
        curves,
        limits: lines.filter(is_near).collect(),
        marks: Vec::new(),
    })
}

/// Looks at counters that are shown as one, each with its length in s, so that a long run is not a large page. The last
/// look comes when the run ends: where that is soon after the one before, the two are one.
fn parts(looks_s: &[f64]) -> Vec<(Range<usize>, f64)> {
    let each = looks_s.len().div_ceil(BYTE_STEPS).max(1);
    let mut parts: Vec<(Range<usize>, f64)> = Vec::new();
    let mut begin_s = 0.0;
    for begin in (0..looks_s.len()).step_by(each) {
        let end = (begin + each).min(looks_s.len());
        let length_s = looks_s[end - 1] - begin_s;
        begin_s = looks_s[end - 1];
        match parts.last_mut() {
            Some((looks, before_s)) if length_s < *before_s / 2.0 => {
                (looks.end, *before_s) = (end, *before_s + length_s);
            }
            _ => parts.push((begin..end, length_s)),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_last_look_that_comes_soon_is_no_spike() {
        assert_eq!(parts(&[1.0, 2.0, 2.25]), [(0..1, 1.0), (1..3, 1.25)]);
        assert_eq!(parts(&[1.0, 2.0, 2.75]), [(0..1, 1.0), (1..2, 1.0), (2..3, 0.75)]);
        assert_eq!(parts(&[]), []);
        let long: Vec<f64> = (1..=1000).map(f64::from).collect();
        assert!(
            parts(&long).len() <= BYTE_STEPS
                && parts(&long).iter().map(|(_, length_s)| length_s).sum::<f64>() == 1000.0
        );
    }

    #[test]
    fn marks_of_an_axis_differ_however_short_the_run_was() {
        for length_s in [3e-5, 4e-4, 3e-3, 0.05, 0.7, 12.0, 600.0] {
            let axis = seconds("time", length_s / 120.0);
            let texts: std::collections::BTreeSet<String> =
                (1..=120).map(|step| (axis.text)(f64::from(step) * length_s / 120.0)).collect();
            assert_eq!(texts.len(), 120, "{length_s} s");
        }
        let texts = [0.0, 0.25, 12.34, 4321.6].map(rate().text);
        assert_eq!(texts, ["0/s", "0.250/s", "12.3/s", "4322/s"]);
    }

    #[test]
    fn percentiles_come_back_from_their_places() {
        for percentile in [0.0, 50.0, 99.0, 99.9, 99.99] {
            assert!((100.0 - 100.0 / odds(percentile) - percentile).abs() < 1e-9);
        }
        assert_eq!([percentile_text(99.9), percentile_text(90.0)], ["p99.9", "p90"]);
    }
}
