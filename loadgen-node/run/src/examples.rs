//! Documents and facts that are made up, for the unit tests of this crate and of the program.

use loadgen::judge::early_stopping::Rule;
use loadgen::judge::{Terms, TokenLimits};

use crate::live::run_facts::About;
use crate::network::fabric::{Fabric, NodeFabric};
use crate::network::matrix::{Matrix, Route};
use crate::outputs::documents::probe::matrix::MatrixDocument;
use crate::outputs::documents::probe::{FabricDocument, ProbeDocument};
use crate::outputs::report::Series;

/// A Server run over two nodes, made up; with token limits or without.
pub fn about(has_tokens: bool) -> About {
    let tokens = TokenLimits { ttft_ns: 2_000_000_000, tpot_ns: 100_000_000 };
    let terms = Terms {
        target_percentile: 0.99,
        target_latency_ns: 100_000_000,
        min_duration_ms: 60_000,
        min_query_count: 1_000,
        min_sample_count: 1_000,
        users: None,
        tokens: has_tokens.then_some(tokens),
        inferred_tokens_per_sample: None,
    };
    About {
        benchmark: "digits".to_owned(),
        scenario: "Server",
        transport: "grpc",
        sut_name: "Network SUT: N1, N2".to_owned(),
        labels: vec![("label_rack".to_owned(), "7".to_owned())],
        terms,
        has_latency_limit: true,
        early_stopping: Rule::Limit,
        has_schedule: true,
        lag_limit_ns: 1_000_000,
        is_search: false,
        may_extend: false,
    }
}

/// Nodes n1, n2 and so on, with these rates in Gbit/s from the node of a row to that of a column.
pub fn matrix(rates_gbit_s: &[Vec<f64>]) -> Matrix {
    let nodes = rates_gbit_s.len();
    let route = |from: usize, to: usize| Route {
        from,
        to,
        is_back: from > to,
        repeats_bits_per_s: vec![rates_gbit_s[from][to] * 1e9],
        rtt_ns: Some(90_000),
        ..Route::default()
    };
    let pairs = (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to))).filter(|(from, to)| from != to);
    Matrix {
        transport: "tcp",
        names: (1..=nodes).map(|number| format!("n{number}")).collect(),
        routes: pairs.map(|(from, to)| ((from, to), route(from, to))).collect(),
    }
}

/// The document of what was measured, judged with a tolerance of 5 %.
pub fn judged(matrix: &Matrix) -> MatrixDocument {
    MatrixDocument::new(matrix, &matrix.judge(0.05), 0.05)
}

/// A probe of nodes with these names, of which nothing was measured.
pub fn probe(names: &[&str]) -> ProbeDocument {
    let node =
        |name: &&str| NodeFabric { name: (*name).to_owned(), address: "a:1".to_owned(), ..NodeFabric::default() };
    let nodes = names.iter().map(node).collect();
    ProbeDocument {
        fabric: FabricDocument::from(&Fabric { transport: "tcp", nodes, ..Fabric::default() }),
        asked: None,
        other_transports: Vec::new(),
        carries: Vec::new(),
        needs: None,
        matrix: Vec::new(),
        against: None,
        ended_early: None,
    }
}

/// The series of samples that are all answered, each with its start and its latency, ns.
#[allow(clippy::unwrap_used, reason = "there is no series of no samples, and a test that asks for one has failed")]
pub fn series_of(samples: &[(u64, u64)]) -> Series {
    let end_ns = samples.iter().map(|(start_ns, latency_ns)| start_ns + latency_ns).max().unwrap_or_default();
    Series::of_samples(end_ns.max(1), 120, samples.iter().map(|(start_ns, latency_ns)| (*start_ns, Some(*latency_ns))))
        .unwrap()
}
