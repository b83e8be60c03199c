//! Facts of a run that are known before it begins, as far as displays need them.

use loadgen::judge::Terms;
use loadgen::judge::early_stopping::Rule;

/// A run, and what it will be held against.
#[derive(Clone, Debug)]
pub(crate) struct About {
    /// Name of the benchmark.
    pub(crate) benchmark: String,
    /// Name of the scenario.
    pub(crate) scenario: &'static str,
    /// Name of the transport.
    pub(crate) transport: &'static str,
    /// Name that the SUT gives itself.
    pub(crate) sut_name: String,
    /// Labels of the user, each value by its name in metrics.
    pub(crate) labels: Vec<(String, String)>,
    /// Terms by which a performance phase is judged.
    pub(crate) terms: Terms,
    /// True when the judged percentile of the latency must stay within a limit.
    pub(crate) has_latency_limit: bool,
    /// The early-stopping rule of the scenario.
    pub(crate) early_stopping: Rule,
    /// True when queries are due at times of a schedule, so that the LoadGen node can be late.
    pub(crate) has_schedule: bool,
    /// The largest schedule lag (p99), and the longest stall, of a valid result, ns.
    pub(crate) lag_limit_ns: u64,
    /// The run is a search for the peak: a trial that fails is no fault of the result.
    pub(crate) is_search: bool,
    /// The run may go on beyond its planned queries.
    pub(crate) may_extend: bool,
}

impl About {
    /// Benchmark and scenario.
    pub(crate) fn title(&self) -> String {
        format!("{} {}", self.benchmark, self.scenario)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use loadgen::judge::TokenLimits;

    use super::*;

    /// A Server run over two nodes, made up; with token limits or without.
    pub(crate) fn about(has_tokens: bool) -> About {
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
}
