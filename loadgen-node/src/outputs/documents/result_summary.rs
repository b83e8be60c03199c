//! `result_summary.json`. Pure: what happened goes in, JSON comes out.

use serde_json::{Value, json};

use super::{latency, network_report as report};
use crate::outputs::tokens;
use crate::test_run::finished::{Finished, Setup};
use loadgen::run::End;

/// The whole of `result_summary.json`.
pub(crate) fn json(finished: &Finished) -> Value {
    let Finished { setup: Setup { benchmark, plan, division, .. }, outcome, .. } = finished;
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
        "division": division.name(),
        "marks": finished.judgement.marks,
        "rules": finished.setup.rules.round.name,
        "benchmark": benchmark.name,
        "benchmark_file": benchmark.file,
        "dataset": finished.setup.dataset_name,
        "scenario": finished.setup.scenario().name(),
        "mode": plan.requested().mode.name(),
        "sut_name": finished.nodes.last_name.text,
        "metric": metric(finished),
        "find_peak": outcome.find_peak.as_ref().map(|search| {
            json!({ "end": search.end, "bracket": search.bracket, "trials": search.trials })
        }),
        "accuracy": accuracy(finished),
        "accuracy_note": finished.not_scored(),
        "latency_ns": outcome.summary.as_ref().map(|summary| latency::json(summary.judged_latency())),
        "schedule_lag_ns": { "p50": lag.p50_ns, "p99": lag.p99_ns, "max": lag.max_ns },
        "saturation": finished.judgement.saturation.json(outcome, finished.nodes.tally.refused()),
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

fn metric(finished: &Finished) -> Value {
    match (&finished.outcome.summary, &finished.judgement.score) {
        (Some(summary), _) => {
            let metric = summary.metric;
            json!({ "name": metric.name, "value": finished.metric_value(&metric), "unit": metric.unit })
        }
        (None, Some(_)) => accuracy(finished),
        (None, None) => Value::Null,
    }
}

/// The skeleton of `accuracy --json`, or null.
fn accuracy(finished: &Finished) -> Value {
    match (&finished.judgement.score, finished.setup.benchmark.accuracy) {
        (Some(Ok(score)), Some(target)) => super::accuracy::json(*score, target),
        _ => Value::Null,
    }
}

fn counts(finished: &Finished) -> Value {
    let counts = finished.outcome.counts();
    let sum = |count: fn(&qdl::NodeCounts) -> u64| finished.nodes.reports.iter().map(|r| count(&r.counts)).sum::<u64>();
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

fn network(finished: &Finished) -> Value {
    let nodes = finished.nodes.described.iter().zip(&finished.nodes.reports).map(|(node, report)| {
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
        "transport": finished.setup.link.transport.name(),
        // Nodes were verified by their certificates, and nobody could read along.
        "tls": finished.setup.link.has_tls,
        "codec": finished.setup.codecs.samples.to_string(),
        "response_codec": finished.setup.codecs.answers.to_string(),
        "connections": finished.setup.link.connections,
        "nodes": nodes.collect::<Vec<_>>(),
        "name_round_trips": report::name_round_trips(finished),
        "latency_split_ns": report::split(finished),
        "bandwidth_gbit_s": finished.network.bandwidth.json(),
    })
}
