//! Scenario and benchmark: what the division consists of in a round.

use lon_qsl::benchmark::{Benchmark, Membership, Suite};

use super::facts::Facts;
use super::rule::Verdict;
use loadgen::settings::Mode;

/// The official names of the Network division's scenarios.
pub(super) const SCENARIOS: [&str; 2] = ["Server", "Offline"];

/// Section 6.2: the Datacenter suite alone, whose scenarios are two.
pub(super) fn scenario(facts: &Facts<'_>) -> Verdict {
    match facts.planned.scenario.name() {
        name if SCENARIOS.contains(&name) => Verdict::Kept,
        name => Verdict::broken(format!("the Network division has the scenarios Server and Offline, not {name}")),
    }
}

/// Section 6.2: the benchmarks of the Datacenter suite.
pub(super) fn benchmark(facts: &Facts<'_>) -> Verdict {
    let planned = facts.planned;
    if planned.benchmark.is_scenario_of(planned.round) {
        let round = planned.round;
        return Verdict::broken(format!(
            "in round {round} this is the scenario Interactive, and the Network division has Server and Offline"
        ));
    }
    let (name, round, scenario) = (planned.benchmark.name, planned.round, planned.scenario.name());
    let membership = match planned.benchmark.network() {
        Some(_) => planned.benchmark.membership(Suite::Datacenter, round),
        None => Membership::Absent,
    };
    match membership {
        Membership::Absent => {
            let is_benchmark =
                |name: &&str| Benchmark::find(name).is_ok_and(|benchmark| !benchmark.is_scenario_of(round));
            let names = Benchmark::of_suite(Suite::Datacenter, round).into_iter().filter(is_benchmark);
            let names = names.collect::<Vec<_>>().join(", ");
            Verdict::broken(format!("the Datacenter suite of round {round} does not have {name}, but {names}"))
        }
        Membership::Scenarios(scenarios) if SCENARIOS.contains(&scenario) && !scenarios.has(scenario) => {
            let message =
                format!("the Datacenter suite of round {round} does not have {name} with scenario {scenario}");
            Verdict::broken(message)
        }
        Membership::Unknown => Verdict::unchecked(format!("the suites of round {round} are not known")),
        Membership::Scenarios(_) => Verdict::Kept,
    }
}

/// Section 4.1: benchmarks are as they are published.
pub(super) fn unaltered(facts: &Facts<'_>) -> Verdict {
    match &facts.planned.benchmark.file {
        None => published(facts),
        Some(file) => Verdict::broken(format!("the benchmark is that of {}, not the built-in one", file.display())),
    }
}

/// Verdict kept, or not checked where MLPerf has published nothing to compare the benchmark with.
pub(super) fn published(facts: &Facts<'_>) -> Verdict {
    let benchmark = facts.planned.benchmark;
    match benchmark.is_of_mlperf() {
        true => Verdict::Kept,
        false => {
            let message = "is no benchmark of MLPerf, which breaks rule suite and leaves nothing to compare";
            Verdict::unchecked(format!("{} {message}", benchmark.name))
        }
    }
}

/// Section 5.1: performance and accuracy are what is run.
pub(super) fn mode(facts: &Facts<'_>) -> Verdict {
    match facts.planned.mode {
        Mode::FindPeakPerformance => {
            Verdict::broken("a search for the peak is no result: run the rate that it finds (PerformanceOnly)")
        }
        _ => Verdict::Kept,
    }
}

#[cfg(test)]
mod tests {
    use lon_qsl::benchmark::ROUNDS;

    use super::*;
    use loadgen::conf::rules::{RULES as ROUND_RULES, Rules};

    #[test]
    fn rounds_are_the_same_everywhere() {
        assert_eq!(ROUND_RULES.each_ref().map(|rules| rules.round.name), ROUNDS);
    }

    #[test]
    fn benchmarks_have_the_names_of_official_config_files() {
        let newest = Rules::newest();
        // These benchmarks left the rules before the rounds that are known.
        let retired = ["dlrm", "rnnt", "ssd-mobilenet"];
        for model in newest.models().iter().filter(|model| !retired.contains(&model.as_str())) {
            assert_eq!(Benchmark::find(model).map(|benchmark| benchmark.name), Ok(model.as_str()));
        }
        // The checker has three of them, and round v0.5 three. Config files of the newest round have no settings for
        // any.
        let checked = ["qwen3-vl-235b-a22b-interactive", "e2e-rag-db", "e2e-rag-qna"];
        let others = [&["digits", "synthetic", "gnmt", "ssd-resnet34", "mobilenet"][..], &checked].concat();
        for benchmark in Benchmark::all().iter().filter(|benchmark| !others.contains(&benchmark.name)) {
            assert!(newest.knows(benchmark.name), "{}", benchmark.name);
        }
    }
}
