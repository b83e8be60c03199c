//! The tables of `list --related`: coverage of benchmarks and scenarios, Server over Offline, and each result over the
//! slowest. Section VI of the MLPerf Inference paper compares submissions by these, and by no summary score.

use std::collections::BTreeMap;

use lon_proto::figures::duration_ns;
use lon_run::outputs::documents::result_summary::{MetricDocument, Validity};
use lon_run::outputs::documents::run_list::ListedRun;
use lon_run::outputs::tables::table::Table;

/// The best result of a SUT with a benchmark in a scenario, of its VALID performance runs.
#[derive(Clone, Debug, PartialEq)]
struct Best {
    value: f64,
    unit: String,
}

impl Best {
    /// A latency is better where it is less, all else where it is more.
    fn is_latency(&self) -> bool {
        self.unit == "ns"
    }

    /// Returns true when this is better than another result of the same unit.
    fn beats(&self, other: &Best) -> bool {
        if self.is_latency() { self.value < other.value } else { self.value > other.value }
    }

    /// This over a slower result, 1 or more.
    fn times(&self, slowest: &Best) -> f64 {
        if self.is_latency() { slowest.value / self.value } else { self.value / slowest.value }
    }

    fn text(&self) -> String {
        if self.is_latency() { duration_ns(self.value as i64) } else { format!("{:.2} {}", self.value, self.unit) }
    }
}

/// The name of the SUT, the benchmark, and the scenario.
type Key = (String, String, String);

/// The results of runs, related to each other.
#[derive(Debug, Default)]
pub(super) struct Related {
    /// Number of VALID performance runs, by benchmark and scenario.
    coverage: BTreeMap<(String, String), usize>,
    best: BTreeMap<Key, Best>,
}

impl Related {
    /// Of these runs. Those that are INVALID, or measured no performance, are left out.
    pub(super) fn of(runs: &[ListedRun]) -> Related {
        let mut related = Related::default();
        for run in runs.iter().filter(|run| run.result == Validity::Valid) {
            let Some(MetricDocument::Performance(metric)) = &run.metric else { continue };
            let Some(value) = metric.value.filter(|value| *value > 0.0) else { continue };
            let sut = run.sut_name.trim_start_matches("Network SUT: ").to_owned();
            let result = Best { value, unit: metric.unit.clone() };
            *related.coverage.entry((run.benchmark.clone(), run.scenario.clone())).or_default() += 1;
            let best = related.best.entry((sut, run.benchmark.clone(), run.scenario.clone()));
            let best = best.or_insert_with(|| result.clone());
            if result.beats(best) {
                *best = result;
            }
        }
        related
    }

    /// The slowest of the best results of all SUTs with this benchmark in this scenario.
    fn slowest(&self, benchmark: &str, scenario: &str) -> Option<&Best> {
        let same = self.best.iter().filter(|((_, one, other), _)| one == benchmark && other == scenario);
        same.map(|(_, best)| best).reduce(|slowest, other| if slowest.beats(other) { other } else { slowest })
    }

    /// The rate of Server over that of Offline, by SUT and benchmark.
    fn server_over_offline(&self) -> Vec<(&str, &str, &Best, &Best)> {
        let server = self.best.iter().filter(|((.., scenario), _)| scenario == "Server");
        let pairs = server.filter_map(|((sut, benchmark, _), server)| {
            let offline = self.best.get(&(sut.clone(), benchmark.clone(), "Offline".to_owned()))?;
            (!server.is_latency() && !offline.is_latency()).then_some((&**sut, &**benchmark, server, offline))
        });
        pairs.collect()
    }

    /// The three tables, each with its title.
    pub(super) fn tables(&self) -> [(&'static str, Table); 3] {
        let mut coverage = Table::new(["benchmark", "scenario", "VALID runs"]);
        for ((benchmark, scenario), runs) in &self.coverage {
            coverage.row([benchmark, scenario, &runs.to_string()]);
        }
        let mut ratios = Table::new(["SUT", "benchmark", "Server", "Offline", "Server / Offline"]);
        for (sut, benchmark, server, offline) in self.server_over_offline() {
            let ratio = format!("{:.3}", server.value / offline.value);
            ratios.row([sut, benchmark, &server.text(), &offline.text(), &ratio]);
        }
        let mut rates = Table::new(["SUT", "benchmark", "scenario", "result", "times the slowest"]);
        for ((sut, benchmark, scenario), best) in &self.best {
            let times = self.slowest(benchmark, scenario).map_or(1.0, |slowest| best.times(slowest));
            rates.row([sut, benchmark, scenario, &best.text(), &format!("{times:.3}")]);
        }
        [("Coverage", coverage), ("Server over Offline", ratios), ("Results over the slowest", rates)]
    }

    /// All tables in one, a number in each row.
    pub(super) fn long_table(&self) -> Table {
        let mut table = Table::new(["table", "sut_name", "benchmark", "scenario", "value", "unit"]);
        for ((benchmark, scenario), runs) in &self.coverage {
            table.row(["coverage", "", benchmark, scenario, &runs.to_string(), "runs"]);
        }
        for (sut, benchmark, server, offline) in self.server_over_offline() {
            table.row(["server_over_offline", sut, benchmark, "", &(server.value / offline.value).to_string(), ""]);
        }
        for ((sut, benchmark, scenario), best) in &self.best {
            let times = self.slowest(benchmark, scenario).map_or(1.0, |slowest| best.times(slowest));
            table.row(["result", sut, benchmark, scenario, &best.value.to_string(), &best.unit]);
            table.row(["times_the_slowest", sut, benchmark, scenario, &times.to_string(), ""]);
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best(value: f64, unit: &str) -> Best {
        Best { value, unit: unit.to_owned() }
    }

    fn related(results: &[(&str, &str, f64, &str)]) -> Related {
        let mut related = Related::default();
        for (sut, scenario, value, unit) in results {
            related.coverage.insert(("digits".to_owned(), (*scenario).to_owned()), 1);
            let key = ((*sut).to_owned(), "digits".to_owned(), (*scenario).to_owned());
            related.best.insert(key, best(*value, unit));
        }
        related
    }

    #[test]
    fn rates_are_over_the_slowest_and_latencies_under_it() {
        let related = related(&[
            ("a", "Offline", 300.0, "samples/s"),
            ("b", "Offline", 100.0, "samples/s"),
            ("a", "SingleStream", 4e6, "ns"),
            ("b", "SingleStream", 2e6, "ns"),
        ]);
        let [_, _, (_, rates)] = related.tables();
        let times: Vec<&str> = rates.rows.iter().map(|row| row[4].as_str()).collect();
        assert_eq!(times, ["3.000", "1.000", "1.000", "2.000"], "{rates:?}");
    }

    #[test]
    fn server_over_offline_needs_both_of_one_sut() {
        let related = related(&[
            ("a", "Server", 150.0, "samples/s"),
            ("a", "Offline", 200.0, "samples/s"),
            ("b", "Server", 150.0, "samples/s"),
        ]);
        let [_, (_, ratios), _] = related.tables();
        assert_eq!(ratios.rows, [["a", "digits", "150.00 samples/s", "200.00 samples/s", "0.750"]]);
        let long = related.long_table();
        assert!(
            long.rows.contains(&["server_over_offline", "a", "digits", "", "0.75", ""].map(str::to_owned).to_vec())
        );
    }
}
