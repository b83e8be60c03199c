//! `result_summary.json`. Pure: what happened goes in, JSON comes out.

use serde_json::{Value, json};

use super::{latency, network_report as report};
use crate::outputs::tokens;
use crate::test_run::finished::Finished;
use loadgen::run::End;

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
        (Some(Ok(score)), Some(target)) => crate::commands::accuracy::json(*score, target),
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
