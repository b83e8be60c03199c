//! `result_summary.json`, and the node's own reasons against a result. Pure: what happened goes in, JSON comes out.

use std::collections::BTreeMap;
use std::time::Duration;

use lon_qsl::accuracy::{Score, ScoreError};
use lon_qsl::benchmark::Benchmark;
use qdl::{NodeReport, Transport};
use serde_json::{Value, json};

use super::finished::Finished;
use super::latency;
use super::network::report;
use super::tally::{OTHER_FAILURES, Tally};
use super::tokens;
use loadgen::plan::{Effective, Plan};
use loadgen::run::{End, LagStats};
use loadgen::settings::Scenario;
use loadgen::judge::Verdict;

/// Adds what the engine cannot know to the strict verdict.
pub(crate) fn add_reasons(finished: &mut Finished<'_>) {
    let Finished { args, plan, outcome, reports, names, tally, benchmark, accuracy, network, .. } = finished;
    let (lag, searched) = (outcome.lag(), outcome.find_peak.is_some());
    let verdict = &mut outcome.verdict;
    if verdict.official.is_some() {
        add_lag(verdict, lag, plan, args.max_lag);
    }
    add_nodes(verdict, reports);
    // What was under way when a run was broken off is in one end's books and not in the other's.
    if outcome.end == End::Completed {
        for difference in &network.differences {
            verdict.add("bytes", difference.clone());
        }
    }
    // In a search for the peak the failures are those of all trials, which are no fault of the reported one.
    if !searched {
        add_failures(verdict, tally);
    }
    for name in names.iter().filter(|name| !name.is_complete()) {
        verdict.add("sut_name", name.text.clone());
    }
    add_accuracy(verdict, benchmark, accuracy.as_ref());
}

/// A generator that was late measured itself. Only Server has a schedule to be late for.
fn add_lag(verdict: &mut Verdict, lag: LagStats, plan: &Plan, max_lag: Option<Duration>) {
    let effective = plan.effective();
    if effective.scenario != Scenario::SERVER || lag.count == 0 {
        return;
    }
    let usual_ns = usual_lag_ns(effective);
    let limit_ns = max_lag.map_or(usual_ns, |limit| u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX));
    if lag.p99_ns > limit_ns {
        let [lag, limit] = [lag.p99_ns, limit_ns].map(Duration::from_nanos);
        verdict.add(
            "schedule_lag",
            format!("the LoadGen node could not keep up: schedule lag p99 {lag:.1?}, {limit:.1?} allowed (--max-lag)"),
        );
    }
}

/// A hundredth of the latency that a sample may have, in token runs of that to its first token; 1 ms at least.
fn usual_lag_ns(effective: &Effective) -> u64 {
    let target_ns = if effective.use_token_latencies { effective.ttft_latency_ns } else { effective.target_latency_ns };
    (target_ns / 100).max(1_000_000)
}

fn add_nodes(verdict: &mut Verdict, reports: &[NodeReport]) {
    for report in reports {
        let NodeReport { name, counts, sut, lost, .. } = report;
        match (lost, sut) {
            (Some(failure), _) => verdict.add("node_lost", format!("node {name} was lost: {failure}")),
            // Servers of other protocols count nothing: that is said, and not held against the result.
            (None, Err(_)) if report.transport == Transport::Kserve => {}
            (None, Err(reason)) => verdict.add("counters", format!("node {name} gave no counters: {reason}")),
            (None, Ok(_)) => {}
        }
        for (count, code, what) in [
            (counts.duplicate, "duplicate_answers", "answers to samples that it had answered"),
            (counts.late, "late_answers", "answers to samples that had been given up"),
            (counts.foreign, "foreign_answers", "answers to samples that it was never sent"),
        ] {
            if count > 0 {
                verdict.add(code, format!("node {name} sent {count} {what}"));
            }
        }
    }
}

fn add_failures(verdict: &mut Verdict, tally: &Tally) {
    // With the causes known, the engine's bare number says nothing more.
    verdict.reasons.retain(|reason| reason.code != "failed_samples" || tally.failures().is_empty());
    let (shown, others) = most_frequent(tally.failures());
    for (failure, count) in shown {
        verdict.add("failed_samples", format!("{count} samples failed: {failure}"));
    }
    if others > 0 {
        verdict.add("failed_samples", format!("{others} samples failed for other reasons"));
    }
}

/// Reasons for failures, the most frequent first, and how many samples failed for others: a text that has a sample's own
/// numbers in it comes in any number of kinds.
fn most_frequent(failures: &BTreeMap<String, u64>) -> (Vec<(&str, u64)>, u64) {
    const SHOWN: usize = 5;
    let mut known: Vec<(&str, u64)> = failures.iter().map(|(text, count)| (text.as_str(), *count)).collect();
    let others: u64 = known.extract_if(.., |(text, _)| *text == OTHER_FAILURES).map(|(_, count)| count).sum();
    known.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let rest = known.split_off(known.len().min(SHOWN));
    (known, others + rest.iter().map(|(_, count)| count).sum::<u64>())
}

fn add_accuracy(verdict: &mut Verdict, benchmark: &Benchmark, accuracy: Option<&Result<Score, ScoreError>>) {
    match (accuracy, benchmark.accuracy) {
        (Some(Err(error)), _) => verdict.add("accuracy_unknown", error.to_string()),
        (Some(Ok(score)), Some(target)) if !target.is_reached_by(*score) => {
            let (metric, unit) = (target.metric.name(), target.metric.unit());
            let (value, wanted) = (score.value, target.value);
            verdict.add("accuracy", format!("{metric} is {value:.3} {unit}, the target is {wanted} {unit}"));
        }
        _ => {}
    }
}

/// The whole of `result_summary.json`.
pub(crate) fn json(finished: &Finished<'_>) -> Value {
    let Finished { args, benchmark, plan, outcome, .. } = finished;
    let verdict = &outcome.verdict;
    let word = |valid: bool| if valid { "VALID" } else { "INVALID" };
    let lag = outcome.lag();
    let mut json = json!({
        "schema": 1,
        "result": word(verdict.is_valid()),
        // Accuracy runs have no official verdict.
        "official_result": verdict.official.map(word),
        "interrupted": outcome.end == End::Interrupted,
        "unofficial": "results of this tool are unverified and are not official MLPerf results",
        "loadgen_version": concat!("lon ", env!("CARGO_PKG_VERSION"), ", unofficial"),
        "division": args.division.name(),
        "marks": finished.marks,
        "rules": finished.rules.round.name,
        "benchmark": benchmark.name,
        "benchmark_file": benchmark.file,
        "dataset": finished.dataset_name,
        "scenario": args.scenario.name(),
        "mode": plan.requested().mode.name(),
        "sut_name": finished.names[1].text,
        "metric": metric(finished),
        "find_peak": outcome.find_peak.as_ref().map(|search| {
            json!({ "end": search.end, "bracket": search.bracket, "trials": search.trials })
        }),
        "accuracy": accuracy(finished),
        "accuracy_note": not_scored(finished),
        "latency_ns": outcome.summary.as_ref().map(|summary| latency::json(summary.judged_latency())),
        "schedule_lag_ns": { "p50": lag.p50_ns, "p99": lag.p99_ns, "max": lag.max_ns },
        "saturation": finished.saturation.json(outcome, finished.tally.refused()),
        // What the fabric cost against the same backend without one.
        "baseline": finished.tax().map(|(baseline, tax)| tax.json(baseline)),
        "counts": counts(finished),
        "reasons": verdict.reasons.iter().map(|reason| reason.text.as_str()).collect::<Vec<_>>(),
        "settings": plan.requested(),
        "network": network(finished),
    });
    if let (Some(summary), Value::Object(keys)) = (&outcome.summary, &mut json) {
        tokens::add_json(summary, keys);
    }
    json
}

fn metric(finished: &Finished<'_>) -> Value {
    match (&finished.outcome.summary, &finished.accuracy) {
        (Some(summary), _) => {
            let metric = summary.metric;
            json!({ "name": metric.name, "value": finished.metric_value(&metric), "unit": metric.unit })
        }
        (None, Some(_)) => accuracy(finished),
        (None, None) => Value::Null,
    }
}

/// The skeleton of `accuracy --json`, or null.
fn accuracy(finished: &Finished<'_>) -> Value {
    match (&finished.accuracy, finished.benchmark.accuracy) {
        (Some(Ok(score)), Some(target)) => super::accuracy::json(*score, target),
        _ => Value::Null,
    }
}

/// Why an accuracy run has no score; none: it has one, or is no accuracy run.
pub(crate) fn not_scored(finished: &Finished<'_>) -> Option<String> {
    if !finished.plan.effective().mode.has_accuracy() || finished.accuracy.is_some() {
        return None;
    }
    let why = match finished.benchmark.accuracy {
        None if finished.benchmark.quality.is_empty() => format!("{} cannot be scored here", finished.benchmark.name),
        None => {
            let official: Vec<String> = finished.benchmark.quality.iter().map(ToString::to_string).collect();
            let (name, official) = (finished.benchmark.name, official.join(", "));
            format!("{name} cannot be scored here (officially {official})")
        }
        Some(_) => "the dataset has no labels".to_owned(),
    };
    Some(format!("not scored: {why}; the answers are in mlperf_log_accuracy.json"))
}

fn counts(finished: &Finished<'_>) -> Value {
    let counts = finished.outcome.counts();
    let sum = |count: fn(&qdl::NodeCounts) -> u64| finished.reports.iter().map(|r| count(&r.counts)).sum::<u64>();
    json!({
        "issued": counts.issued,
        "completed": counts.completed,
        "failed": counts.failed + counts.lost,
        "duplicate": counts.duplicate + sum(|counts| counts.duplicate),
        "late": counts.late + sum(|counts| counts.late),
        // Answered, but with outputs that hold a NaN, as the nodes that could be asked have counted; null: none could.
        "nan": finished.nan(),
        "foreign": counts.unknown + sum(|counts| counts.foreign),
    })
}

fn network(finished: &Finished<'_>) -> Value {
    let nodes = finished.nodes.iter().zip(&finished.reports).map(|(node, report)| {
        let sut = report.sut.as_ref().ok();
        json!({
            "name": node.name,
            "address": node.address.to_string(),
            "hostname": node.host.hostname,
            "software": node.software,
            "engine": node.engine,
            "model": node.model,
            "model_sha256": node.model_sha256,
            // By which answers are scored; empty: not known.
            "outputs": node.outputs.to_string(),
            "samples": report.counts.samples_sent,
            "message_bytes": {
                "ingress": { "loadgen": report.counts.message_bytes_out, "sut": sut.map(|sut| sut.message_bytes_in) },
                "egress": { "loadgen": report.counts.message_bytes_in, "sut": sut.map(|sut| sut.message_bytes_out) },
            },
            "lost": report.lost.as_ref().map(ToString::to_string),
        })
    });
    json!({
        "transport": finished.args.dial.transport.name(),
        // Nodes were verified by their certificates, and nobody could read along.
        "tls": finished.args.dial.security.has_tls(),
        "codec": finished.codec.to_string(),
        "response_codec": finished.args.codecs.response_compression.to_string(),
        "connections": finished.args.connections,
        "nodes": nodes.collect::<Vec<_>>(),
        "name_round_trips": report::name_round_trips(finished),
        "latency_split_ns": report::split(finished),
        "bandwidth_gbit_s": finished.network.bandwidth.json(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadgen::settings::{Qsl, TestSettings};

    #[test]
    fn a_few_reasons_stand_for_many() {
        let failures = |all: &[(&str, u64)]| all.iter().map(|(text, count)| ((*text).to_owned(), *count)).collect();
        assert_eq!(most_frequent(&failures(&[("a", 1), ("b", 9)])), (vec![("b", 9), ("a", 1)], 0));
        let many = [("a", 1), ("b", 1), ("c", 7), ("d", 1), ("e", 1), ("f", 1), (OTHER_FAILURES, 40)];
        assert_eq!(most_frequent(&failures(&many)), (vec![("c", 7), ("a", 1), ("b", 1), ("d", 1), ("e", 1)], 41));
    }

    #[test]
    fn the_lag_that_is_usual_follows_the_latency_that_is_judged() {
        let usual_ns = |use_token_latencies, server_ttft_latency| {
            let scenario = Scenario::SERVER;
            let target = TestSettings { scenario, server_target_latency_ns: 500_000_000, ..TestSettings::default() };
            let settings = TestSettings { use_token_latencies, server_ttft_latency, ..target };
            usual_lag_ns(Plan::for_judging(settings, Qsl { total: 8, performance: 8 }).unwrap().effective())
        };
        assert_eq!(usual_ns(false, 2_000_000_000), 5_000_000);
        assert_eq!(usual_ns(true, 2_000_000_000), 20_000_000);
        assert_eq!(usual_ns(true, 50_000_000), 1_000_000);
    }
}
