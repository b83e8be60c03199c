//! The official submission checker's requirements on the benchmarks, by round: counts of samples, bounds of accuracy
//! and compliance tests.

use std::sync::LazyLock;

use serde::Deserialize;

use super::definition::Benchmark;
use super::printed_scores::{OfficialScores, Printed};
use super::rounds::Rounds;

/// The checker's requirements on a benchmark, or on one of its variants of accuracy, in some rounds.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Official {
    name: String,
    /// The name of the benchmark in the checker: `resnet`, `bert-99.9`.
    pub checker: String,
    rounds: Rounds,
    /// The number of samples in the whole dataset, which an accuracy run asks for.
    pub dataset_samples: Option<u64>,
    /// The least number of samples from which a performance run draws.
    pub performance_samples: Option<u64>,
    /// The number of samples of an accuracy run, where that is not the whole dataset.
    pub accuracy_samples: Option<u64>,
    /// The least number of samples in the query of scenario Offline.
    pub offline_samples: Option<u64>,
    /// The scores that the answers must reach, in the metrics of the reference implementation.
    #[serde(default)]
    pub bounds: Vec<Bound>,
}

/// The bounds of one metric of accuracy.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bound {
    /// The name of the metric in the checker.
    pub metric: String,
    /// The lowest score that passes.
    pub at_least: Option<f64>,
    /// The highest score that passes.
    pub at_most: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    printed: Vec<Printed>,
    compliance: Vec<Compliance>,
    shown: Vec<Shown>,
    benchmark: Vec<Official>,
}

/// A compliance test of some benchmarks in some rounds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Compliance {
    /// The official name of the test: `TEST01`.
    test: String,
    rounds: Rounds,
    /// The names of the benchmarks in the checker.
    benchmarks: Vec<String>,
}

/// A folder that an accuracy run of a benchmark has in a round: answers for people to look at, and `captions.txt`.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shown {
    checker: String,
    round: String,
    /// The name of the folder, beside the logs.
    pub folder: String,
    /// The samples whose answers are shown. A file of any format is named by the number of its sample.
    pub samples: Vec<u64>,
}

static OFFICIAL: LazyLock<File> = LazyLock::new(|| {
    let text = include_str!("../../rounds/checker.toml");
    // The file is part of the program, and a test reads it.
    toml::from_str(text).unwrap_or_else(|error| unreachable!("rounds/checker.toml: {error}"))
});

/// Reads the `accuracy.txt` that the script of a reference implementation wrote.
pub fn official_scores(accuracy_txt: &str) -> OfficialScores {
    OfficialScores::new(accuracy_txt, &OFFICIAL.printed)
}

impl Official {
    /// Returns the name of our benchmark for it. Settings for interactive use may have a benchmark of their own.
    pub fn benchmark(&self) -> &str {
        &self.name
    }

    /// Returns the official names of the compliance tests that a submission has in this round, in their order.
    pub fn compliance_tests(&self, round: &str) -> Vec<&'static str> {
        let of_it = |entry: &&Compliance| entry.rounds.has(round) && entry.benchmarks.contains(&self.checker);
        OFFICIAL.compliance.iter().filter(of_it).map(|entry| entry.test.as_str()).collect()
    }

    /// Returns the folder of answers that an accuracy run has to show in a round, where the checker asks for one.
    pub fn shown(&self, round: &str) -> Option<&'static Shown> {
        OFFICIAL.shown.iter().find(|entry| entry.checker == self.checker && entry.round == round)
    }

    /// Returns what the checker holds of a benchmark by its own name for it, in a round.
    pub fn named(checker: &str, round: &str) -> Option<&'static Official> {
        OFFICIAL.benchmark.iter().find(|official| official.checker == checker && official.rounds.has(round))
    }
}

impl Benchmark {
    /// Returns what the official submission checker holds of this benchmark in a round: one entry for each variant of
    /// accuracy, the lowest first; none when the round does not have it. The settings for interactive use are of the
    /// same benchmark.
    pub fn official(&self, round: &str) -> Vec<&'static Official> {
        let of = |name: &str| -> Vec<&'static Official> {
            OFFICIAL.benchmark.iter().filter(|official| official.name == name && official.rounds.has(round)).collect()
        };
        match of(self.name) {
            none if none.is_empty() => of(self.name.trim_end_matches("-interactive")),
            entries => entries,
        }
    }

    /// True for settings of interactive use that are, in this round, a scenario of another benchmark.
    pub fn is_scenario_of(&self, round: &str) -> bool {
        self.official(round).iter().any(|official| official.benchmark() != self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::benchmark::{Membership, ROUNDS, Suite};

    fn of(name: &str, round: &str) -> Vec<&'static Official> {
        Benchmark::find(name).unwrap().official(round)
    }

    #[test]
    fn counts_and_bounds_are_by_round() {
        let [resnet50] = of("resnet50", "v6.1")[..] else { panic!() };
        assert_eq!((resnet50.dataset_samples, resnet50.performance_samples), (Some(50_000), Some(1_024)));
        assert_eq!((resnet50.offline_samples, resnet50.bounds[0].at_least), (Some(24_576), Some(75.6954)));
        assert_eq!((of("mixtral-8x7b", "v6.0").len(), of("mixtral-8x7b", "v6.1").len()), (1, 0));
        assert_eq!((of("llama2-70b", "v6.0").len(), of("llama2-70b", "v6.1").len()), (2, 1));
        assert_eq!(of("deepseek-r1-interactive", "v6.1"), of("deepseek-r1", "v6.1"));
        assert_eq!(of("gpt-oss-120b", "v6.1")[0].accuracy_samples, Some(4_395));
    }

    #[test]
    fn compliance_tests_change_with_the_rounds() {
        let tests = |name: &str, round: &str| Official::named(name, round).unwrap().compliance_tests(round);
        assert_eq!(tests("resnet", "v5.0"), ["TEST01", "TEST04"]);
        assert_eq!(
            (tests("llama2-70b-99", "v6.0"), tests("gpt-oss-120b", "v6.1")),
            (vec!["TEST06"], vec!["TEST07", "TEST09"])
        );
        assert_eq!((tests("retinanet", "v6.0"), tests("e2e-rag-db", "v6.1")), (vec!["TEST01"], Vec::new()));
        assert!(Official::named("retinanet", "v6.1").is_none());
    }

    #[test]
    fn answers_that_are_shown_change_with_the_rounds() {
        let answers = |name: &str, round: &str| Official::named(name, round).unwrap().shown(round);
        let wan = answers("wan-2.2-t2v-a14b", "v6.1").unwrap();
        assert_eq!((&*wan.folder, wan.samples.len(), wan.samples[5]), ("videos", 10, 123));
        assert_eq!(answers("stable-diffusion-xl", "v5.0").unwrap().samples[9], 95);
        assert_eq!((answers("stable-diffusion-xl", "v6.1"), answers("resnet", "v6.0")), (None, None));
    }

    /// The rules' own table says 42 samples and a reference of 0.86330; what is submitted is checked by these.
    #[test]
    fn volumes_are_counted_as_the_checker_counts_them() {
        let [normal, high] = of("3d-unet", "v5.0")[..] else { panic!() };
        assert_eq!((normal.dataset_samples, high.dataset_samples), (Some(43), Some(43)));
        assert_eq!((normal.bounds[0].at_least, high.bounds[0].at_least), (Some(0.853083), Some(0.8608383)));
    }

    #[test]
    fn scores_have_upper_bounds_where_the_checker_has_them() {
        let bounds = &of("stable-diffusion-xl", "v5.0")[0].bounds;
        let fid = bounds.iter().find(|bound| bound.metric == "FID_SCORE").unwrap();
        assert_eq!((fid.at_least, fid.at_most), (Some(23.01085758), Some(23.95007626)));
    }

    #[test]
    fn every_benchmark_of_a_datacenter_suite_has_its_counts() {
        for (benchmark, round) in Benchmark::all().iter().flat_map(|benchmark| ROUNDS.map(|round| (benchmark, round))) {
            if let Membership::Scenarios(_) = benchmark.membership(Suite::Datacenter, round) {
                let entries = benchmark.official(round);
                let complete = |entry: &&Official| entry.dataset_samples.is_some() && !entry.bounds.is_empty();
                assert!(!entries.is_empty() && entries.iter().all(complete), "{} {round}", benchmark.name);
            }
        }
    }
}
