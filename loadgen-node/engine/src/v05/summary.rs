//! Lines of the summary file, made of a judged series: labels and values as they are printed, without layout.

use super::effective::Effective;
use super::judge::{Judgement, Measured, at_percentile, sorted};
use super::scenario::{LatencyRule, Pacing, Scenario, Searched, Shape};
use crate::judge::Metric;
use crate::settings::Mode;
use crate::value::{Value, g};

/// The percentiles of all lists, as fractions.
const PERCENTILES: [f64; 6] = [0.5, 0.9, 0.95, 0.97, 0.99, 0.999];

/// Lines with labels, in their order.
pub type Lines = Vec<(String, String)>;

/// The summary of a performance series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Result and verdict.
    pub result: Lines,
    /// Additional statistics, section by section.
    pub stats: Vec<(&'static str, Lines)>,
    /// The settings in force.
    pub parameters: Lines,
}

impl Summary {
    /// The summary of what was measured and judged.
    pub fn new(sut: &str, effective: &Effective, measured: &Measured, judgement: Judgement) -> Self {
        Self {
            result: result(sut, effective, measured, judgement),
            stats: stats(effective, measured),
            parameters: parameters(effective),
        }
    }
}

/// The rules that a result breaks, in the order of their recommendations.
pub fn broken_rules(judgement: Judgement) -> Vec<&'static str> {
    let rules = [
        ("latency", judgement.latency.unwrap_or(true)),
        ("min_duration", judgement.min_duration),
        ("min_queries", judgement.min_queries),
    ];
    rules.into_iter().filter(|(_, is_met)| !is_met).map(|(name, _)| name).collect()
}

/// The recommendations for a result, one for each rule that it breaks, in the words of the round.
pub fn recommendations(shape: Shape, judgement: Judgement) -> Vec<&'static str> {
    let latency = match shape.searched {
        Some(Searched::SamplesPerQuery) => "Reduce samples per query to improve latency.",
        _ => "Reduce target QPS to improve latency.",
    };
    let queries = "The test exited early, before enough queries were issued.\n   See the detailed log for why this may \
                   have occurred.";
    let rules = [
        (latency, judgement.latency.unwrap_or(true)),
        (duration_advice(shape), judgement.min_duration),
        (queries, judgement.min_queries),
    ];
    rules.into_iter().filter(|(_, is_met)| !is_met).map(|(text, _)| text).collect()
}

/// The recommendation for a series that was too short.
pub fn duration_advice(shape: Shape) -> &'static str {
    match (shape.latency_rule, shape.pacing) {
        (LatencyRule::None, Pacing::AtOnce) => {
            "Increase expected QPS so the loadgen pre-generates a larger (coalesced) query."
        }
        (LatencyRule::None, _) => "Decrease the expected latency so the loadgen pre-generates more queries.",
        (LatencyRule::Intervals, _) => "MultiStream should always meet the minimum duration. Please file a bug.",
        (LatencyRule::Queries | LatencyRule::Samples, _) => {
            "Increase the target QPS so the loadgen pre-generates more queries."
        }
    }
}

/// The words for a rule that is kept or not.
pub fn yes_or_no(is_met: bool) -> &'static str {
    if is_met { "Yes" } else { "NO" }
}

/// The word for a verdict.
pub fn verdict(is_valid: bool) -> &'static str {
    if is_valid { "VALID" } else { "INVALID" }
}

/// The last line, which counts the errors of the log.
pub fn errors_line(errors: usize) -> String {
    match errors {
        0 => "No errors encountered during test.".to_owned(),
        1 => "1 ERROR encountered. See detailed log.".to_owned(),
        count => format!("{count} ERRORS encountered. See detailed log."),
    }
}

#[allow(clippy::needless_pass_by_value, reason = "callers have numbers and texts")]
fn line(label: impl Into<String>, value: impl ToString) -> (String, String) {
    (label.into(), value.to_string())
}

fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::SubmissionRun => "Submission",
        Mode::AccuracyOnly => "Accuracy",
        Mode::PerformanceOnly => "Performance",
        Mode::FindPeakPerformance => "Find Peak Performance",
    }
}

fn result(sut: &str, effective: &Effective, measured: &Measured, judgement: Judgement) -> Lines {
    let mut lines = vec![
        line("SUT name", sut),
        line("Scenario", effective.shape.title),
        line("Mode", mode(effective.requested.mode)),
        headline(effective, measured),
        line("Result is", verdict(judgement.is_valid())),
    ];
    lines.extend(judgement.latency.map(|is_met| line("Performance constraints satisfied", yes_or_no(is_met))));
    lines.push(line("Min duration satisfied", yes_or_no(judgement.min_duration)));
    lines.push(line("Min queries satisfied", yes_or_no(judgement.min_queries)));
    lines
}

/// The result line of a scenario.
fn headline(effective: &Effective, measured: &Measured) -> (String, String) {
    let samples = measured.sample_latencies_ns.len() as f64;
    let settings = &effective.requested;
    match settings.scenario {
        Scenario::SingleStream => {
            let percentile = settings.single_stream_target_latency_percentile;
            let latency = at_percentile(&sorted(&measured.sample_latencies_ns), percentile);
            line(format!("{:.0}th percentile latency (ns)", percentile * 100.0), latency)
        }
        Scenario::MultiStream => line("Samples per query", effective.samples_per_query),
        Scenario::MultiStreamFree => {
            let samples = measured.queries_issued * effective.samples_per_query;
            line("Samples per second", g(samples as f64 / seconds(measured.final_query_all_done_ns)))
        }
        Scenario::Server => {
            line("Scheduled samples per second", scheduled_rate(samples, measured.final_query_scheduled_ns))
        }
        Scenario::Offline => line("Samples per second", g(samples / seconds(measured.max_latency_ns))),
    }
}

/// The rate at which Server's samples were due, as the summary has it.
pub fn scheduled_rate(samples: f64, final_due_ns: u64) -> String {
    fixed(rate_of_gaps(samples, final_due_ns))
}

fn rate_of_gaps(samples: f64, end_ns: u64) -> f64 {
    (samples - 1.0) / seconds(end_ns)
}

/// The number by which runs are compared, which is that of the result line. It has the name of that line.
pub fn metric(effective: &Effective, measured: &Measured) -> Metric {
    let samples = measured.sample_latencies_ns.len() as f64;
    let settings = &effective.requested;
    let (name, value, unit) = match settings.scenario {
        Scenario::SingleStream => {
            let percentile = settings.single_stream_target_latency_percentile;
            let latency = at_percentile(&sorted(&measured.sample_latencies_ns), percentile);
            ("percentile_latency", latency as f64, "ns")
        }
        Scenario::MultiStream => ("samples_per_query", effective.samples_per_query as f64, "samples/query"),
        Scenario::MultiStreamFree => {
            let samples = measured.queries_issued * effective.samples_per_query;
            ("samples_per_second", samples as f64 / seconds(measured.final_query_all_done_ns), "samples/s")
        }
        Scenario::Server => {
            let rate = rate_of_gaps(samples, measured.final_query_scheduled_ns);
            ("scheduled_samples_per_second", rate, "samples/s")
        }
        Scenario::Offline => ("samples_per_second", samples / seconds(measured.max_latency_ns), "samples/s"),
    };
    Metric::new(name, Some(value), unit)
}

fn stats(effective: &Effective, measured: &Measured) -> Vec<(&'static str, Lines)> {
    let latencies = sorted(&measured.sample_latencies_ns);
    let rate = |end_ns| fixed((measured.queries_issued as f64 - 1.0) / seconds(end_ns));
    let mut lines = Lines::new();
    match effective.requested.scenario {
        Scenario::SingleStream => {
            lines.push(line("QPS w/ loadgen overhead", rate(measured.final_query_issued_ns)));
            lines.push(line("QPS w/o loadgen overhead", fixed(1.0 / seconds(mean(&latencies)))));
        }
        Scenario::Server => lines.push(line("Completed samples per second", rate(measured.final_query_all_done_ns))),
        Scenario::MultiStream | Scenario::MultiStreamFree => {
            return vec![
                ("stats intervals", intervals(effective, &measured.query_intervals)),
                ("stats per query", per_query(effective, &measured.query_latencies_ns)),
                ("stats per sample", per_sample(&latencies)),
            ];
        }
        Scenario::Offline => {}
    }
    lines.extend(per_sample(&latencies));
    vec![("stats", lines)]
}

/// The line on the interval between queries.
pub fn interval_line(effective: &Effective) -> String {
    format!("\"qps\" : {}, \"ms\" : {}", g(effective.target_qps), g(1000.0 / effective.target_qps))
}

/// The line on the limit of queries.
pub fn per_query_line(effective: &Effective) -> String {
    let limit = effective.target_latency_ns;
    format!("\"target_ns\" : {limit}, \"target_ms\" : {}", g(limit as f64 / 1e6))
}

fn intervals(effective: &Effective, intervals: &[u64]) -> Lines {
    let mut lines = vec![line("Intervals between each IssueQuery", interval_line(effective))];
    lines.extend(percentiles(&sorted(intervals), ""));
    lines
}

fn per_query(effective: &Effective, latencies: &[u64]) -> Lines {
    let mut lines = vec![line("Per-query latency", per_query_line(effective))];
    lines.extend(percentiles(&sorted(latencies), " latency (ns)"));
    lines
}

fn per_sample(sorted: &[u64]) -> Lines {
    let mut lines = vec![
        line("Min latency (ns)", sorted.first().unwrap_or(&0)),
        line("Max latency (ns)", sorted.last().unwrap_or(&0)),
        line("Mean latency (ns)", mean(sorted)),
    ];
    lines.extend(percentiles(sorted, " latency (ns)"));
    lines
}

fn percentiles(sorted: &[u64], unit: &str) -> Lines {
    let label = |fraction: f64| format!("{:.2} percentile{unit}", fraction * 100.0);
    PERCENTILES.iter().map(|fraction| line(label(*fraction), at_percentile(sorted, *fraction))).collect()
}

fn parameters(effective: &Effective) -> Lines {
    let s = &effective.requested;
    vec![
        line("samples_per_query", effective.samples_per_query),
        line("target_qps", g(effective.target_qps)),
        line("target_latency (ns)", effective.target_latency_ns),
        line("max_async_queries", effective.max_async_queries),
        line("min_duration (ms)", s.min_duration_ms),
        line("max_duration (ms)", s.max_duration_ms),
        line("min_query_count", effective.min_query_count),
        line("max_query_count", s.max_query_count),
        line("qsl_rng_seed", s.qsl_rng_seed),
        line("sample_index_rng_seed", s.sample_index_rng_seed),
        line("schedule_rng_seed", s.schedule_rng_seed),
        line("accuracy_log_rng_seed", s.accuracy_log_rng_seed),
        line("accuracy_log_probability", g(s.accuracy_log_probability)),
        line("print_timestamps", s.print_timestamps),
        line("performance_issue_unique", s.performance_issue_unique),
        line("performance_issue_same", s.performance_issue_same),
        line("performance_issue_same_index", s.performance_issue_same_index),
        line("performance_sample_count", effective.performance_sample_count),
    ]
}

/// The mean in whole ns; 0 when there are none.
fn mean(latencies: &[u64]) -> u64 {
    let sum: u128 = latencies.iter().map(|ns| u128::from(*ns)).sum();
    sum.checked_div(latencies.len() as u128).unwrap_or(0) as u64
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// Two decimals, as C prints them.
fn fixed(value: f64) -> String {
    Value::Fixed(value).summary()
}

#[cfg(test)]
mod tests {
    use super::super::settings::Settings;
    use super::*;
    use crate::settings::Qsl;

    fn summary(scenario: Scenario, measured: &Measured) -> Summary {
        let settings = Settings { scenario, ..Settings::default() };
        let effective = Effective::new(&settings, Qsl { total: 9, performance: 9 }, &mut Vec::new()).unwrap();
        Summary::new("s", &effective, measured, Judgement::new(&effective, measured))
    }

    fn measured(latencies: &[u64], last_ns: u64) -> Measured {
        Measured {
            queries_issued: latencies.len() as u64,
            sample_latencies_ns: latencies.to_vec(),
            max_latency_ns: latencies.iter().copied().max().unwrap_or(0),
            final_query_scheduled_ns: last_ns,
            final_query_issued_ns: last_ns,
            final_query_all_done_ns: last_ns + latencies.last().copied().unwrap_or(0),
            ..Measured::default()
        }
    }

    fn has(lines: &Lines, label: &str, value: &str) -> bool {
        lines.iter().any(|(name, text)| name == label && text == value)
    }

    #[test]
    fn rates_leave_out_the_first_sample() {
        let server = summary(Scenario::Server, &measured(&[1_000_000_000; 3], 4_000_000_000));
        assert!(has(&server.result, "Scheduled samples per second", "0.50"), "{server:?}");
        assert!(has(&server.stats[0].1, "Completed samples per second", "0.40"), "{server:?}");
        let alone = summary(Scenario::SingleStream, &measured(&[3_000_000], 0));
        assert!(has(&alone.stats[0].1, "QPS w/ loadgen overhead", "-nan"), "0 divided by 0: {alone:?}");
        assert!(has(&alone.stats[0].1, "QPS w/o loadgen overhead", "333.33"), "{alone:?}");
    }

    #[test]
    fn offline_has_no_line_on_constraints_and_counts_all_samples() {
        let offline = summary(Scenario::Offline, &measured(&[2_000_000_000, 2_100_000_000], 0));
        assert!(has(&offline.result, "Samples per second", "0.952381"), "{offline:?}");
        assert_eq!(offline.result.len(), 7);
        assert_eq!(offline.parameters.len(), 18);
    }

    #[test]
    fn errors_are_counted_in_words() {
        assert_eq!([0, 1, 2].map(errors_line)[2], "2 ERRORS encountered. See detailed log.");
        let judgement = Judgement { latency: Some(false), min_duration: true, min_queries: false };
        assert_eq!(broken_rules(judgement), ["latency", "min_queries"]);
    }
}
