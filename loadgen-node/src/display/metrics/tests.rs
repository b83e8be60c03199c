use std::sync::Arc;

use qdl::NodeNow;

use super::*;
use lon_run::live::live_checks::{Check, Standing, State};
use lon_run::live::snapshot::Totals;
use lon_world::failures::Failed;

fn text(board: &Board) -> String {
    Boards::One(board.clone()).metrics().open_metrics().unwrap()
}

fn snapshot() -> Snapshot {
    let mut totals = Totals { tokens: 90, ..Totals::default() };
    [1_500, 3_000_000, 200_000_000_000].into_iter().for_each(|ns| totals.latency.record(ns));
    let mut node =
        Node { now: NodeNow { name: "N\"1".to_owned(), outstanding: 2, ..NodeNow::default() }, ..Node::default() };
    (node.now.counts.samples_sent, node.now.counts.tensor_bytes_out, node.now.traffic.socket_bytes_in) = (9, 640, 77);
    let text = str::to_owned;
    let (name, value, requirement) = (text("p99 latency"), text("3ms"), text("2ms at most"));
    let check = Check { name, value, requirement, state: State::Fails, is_timed: true };
    Snapshot {
        queries: 4,
        issued: 12,
        ended: 10,
        failures: vec![Failed { reason: "timed_out", first: String::new(), samples: 3 }],
        nodes: vec![node],
        standing: Standing { checks: vec![check] },
        totals: Arc::new(totals),
        ..Snapshot::default()
    }
}

#[test]
fn before_a_run_there_is_only_the_program() {
    let text = text(&Board::default());
    assert!(text.contains("lon_loadgen_build_info{") && text.ends_with("# EOF\n"), "{text}");
    assert!(!text.contains("samples"), "{text}");
}

#[test]
fn everything_of_a_run_is_told() {
    let board = Board::default();
    let about = Arc::new(lon_run::examples::about(true));
    board.put(about, Arc::new(snapshot()));
    let output = text(&board);
    for line in [
        "lon_loadgen_issued_queries_total 4",
        "lon_loadgen_issued_samples_total 12",
        "lon_loadgen_answered_samples_total 7",
        r#"lon_loadgen_failed_samples_total{reason="timed_out"} 3"#,
        r#"lon_loadgen_failed_samples_total{reason="overload"} 0"#,
        "lon_loadgen_outstanding_samples 2",
        r#"lon_loadgen_sent_samples_total{node="N\"1"} 9"#,
        r#"lon_loadgen_network_bytes_total{node="N\"1",layer="tensor",direction="ingress"} 640"#,
        r#"lon_loadgen_network_bytes_total{node="N\"1",layer="socket",direction="egress"} 77"#,
        r#"lon_loadgen_rule_state{rule="p99 latency"} 2"#,
        "lon_loadgen_finished 0",
        r#"lon_loadgen_latency_seconds_bucket{le="0.000002"} 1"#,
        r#"lon_loadgen_latency_seconds_bucket{le="0.005"} 2"#,
        r#"lon_loadgen_latency_seconds_bucket{le="100.0"} 2"#,
        r#"lon_loadgen_latency_seconds_bucket{le="+Inf"} 3"#,
        "lon_loadgen_latency_seconds_count 3",
        "lon_loadgen_answered_tokens_total 90",
    ] {
        assert!(output.lines().any(|row| row == line), "no '{line}' in:\n{output}");
    }
    assert!(output.contains(r#"sut="Network SUT: N1, N2",label_rack="7"} 1"#), "{output}");
    assert!(!output.contains("lon_loadgen_valid"), "it is not known yet:\n{output}");
    board.judged(false);
    let output = text(&board);
    for line in ["lon_loadgen_finished 1", "lon_loadgen_valid 0"] {
        assert!(output.lines().any(|row| row == line), "no '{line}' in:\n{output}");
    }
}

/// The reference has a list of all metrics.
#[test]
fn every_metric_is_in_the_list() {
    let board = Board::default();
    board.put(Arc::new(lon_run::examples::about(true)), Arc::new(snapshot()));
    board.judged(true);
    let list = include_str!("../../../../docs/reference/metrics.md");
    let text = text(&board);
    let names = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    let missing: Vec<&str> = names.filter(|name| !list.contains(&format!("`{name}"))).collect();
    assert!(missing.is_empty(), "not in docs/reference/metrics.md: {missing:?}");
}

#[test]
fn every_series_of_a_tenant_has_its_name() {
    let boards = ["vision", "chat"].map(|name| {
        let board = Board::default();
        board.put(Arc::new(lon_run::examples::about(true)), Arc::new(snapshot()));
        (name.to_owned(), board)
    });
    let text = Boards::Tenants(boards.into()).metrics().open_metrics().unwrap();
    for name in ["vision", "chat"] {
        assert!(text.contains(&format!("lon_loadgen_issued_samples_total{{tenant=\"{name}\"}}")), "{text}");
    }
    let heads = text.lines().filter(|line| line.starts_with("# TYPE lon_loadgen_latency_seconds "));
    assert_eq!(heads.count(), 1, "{text}");
}
