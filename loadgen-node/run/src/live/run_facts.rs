//! Facts of a run that are known before it begins, as far as displays need them.

pub use loadgen::judge::Terms;
use loadgen::judge::early_stopping::Rule;

/// A run, and what it will be held against.
#[derive(Clone, Debug)]
pub struct About {
    /// Name of the benchmark.
    pub benchmark: String,
    /// Name of the scenario.
    pub scenario: &'static str,
    /// Name of the transport.
    pub transport: &'static str,
    /// Name that the SUT gives itself.
    pub sut_name: String,
    /// Labels of the user, each value by its name in metrics.
    pub labels: Vec<(String, String)>,
    /// Terms by which a performance phase is judged.
    pub terms: Terms,
    /// True when the judged percentile of the latency must stay within a limit.
    pub has_latency_limit: bool,
    /// The early-stopping rule of the scenario.
    pub early_stopping: Rule,
    /// True when queries are due at times of a schedule, so that the LoadGen node can be late.
    pub has_schedule: bool,
    /// The largest schedule lag (p99), and the longest stall, of a valid result, ns.
    pub lag_limit_ns: u64,
    /// The run is a search for the peak: a trial that fails is no fault of the result.
    pub is_search: bool,
    /// The run may go on beyond its planned queries.
    pub may_extend: bool,
}

impl About {
    /// Benchmark and scenario.
    pub fn title(&self) -> String {
        format!("{} {}", self.benchmark, self.scenario)
    }
}
