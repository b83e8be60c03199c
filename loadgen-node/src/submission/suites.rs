//! The scenarios that the suites of a round ask for.

use loadgen::settings::Scenario;
use lon_qsl::benchmark::{Benchmark, Membership, Official, Suite};

/// The scenario of the rules that is LoadGen's Server with the settings of interactive use.
pub(super) const INTERACTIVE: &str = "Interactive";
/// The scenario that Interactive may stand for.
const SERVER: &str = "Server";

/// A scenario of a benchmark in a round, with what the round holds of it.
pub(super) struct Subject {
    /// The name of the scenario in the rules.
    pub(super) name: &'static str,
    pub(super) scenario: Scenario,
    pub(super) benchmark: &'static Benchmark,
    pub(super) official: &'static Official,
}

impl Subject {
    /// The one whose folder has this name, in any case. The settings and bounds of Interactive may be its own.
    pub(super) fn of(word: &str, checker: &'static Official, round: &str) -> Option<Subject> {
        let benchmark = Benchmark::find(checker.benchmark()).ok()?;
        if word.eq_ignore_ascii_case(INTERACTIVE) {
            let benchmark = Benchmark::find(&format!("{}-interactive", benchmark.name)).ok()?;
            let mut of_round = benchmark.official(round).into_iter();
            let official = of_round.find(|official| official.checker == checker.checker)?;
            let Membership::Scenarios(scenarios) = benchmark.membership(Suite::Datacenter, round) else { return None };
            let scenario = Scenario::SERVER;
            let has_it = scenarios.has(scenario.name());
            return has_it.then_some(Subject { name: INTERACTIVE, scenario, benchmark, official });
        }
        let scenario = Scenario::OFFICIAL.into_iter().find(|own| own.name().eq_ignore_ascii_case(word))?;
        Some(Subject { name: scenario.name(), scenario, benchmark, official: checker })
    }
}

/// The scenarios that the suites of a system ask for and nobody has made, and those that no suite has.
pub(super) fn unlike_suites(
    suites: &[Suite],
    official: &'static Official,
    round: &str,
    run_scenarios: &[&str],
) -> Vec<String> {
    let Ok(benchmark) = Benchmark::find(official.benchmark()) else { return Vec::new() };
    let of_suite = |suite: &Suite| match benchmark.membership(*suite, round) {
        Membership::Scenarios(scenarios) => Some(scenarios),
        Membership::Absent | Membership::Unknown => None,
    };
    let all: Vec<_> = suites.iter().filter_map(of_suite).collect();
    let names = suites.iter().copied().map(suite_name).collect::<Vec<_>>().join(" or the ");
    if all.is_empty() {
        let absent = (!suites.is_empty()).then(|| format!("is not in the {names} suite of round {round}"));
        return absent.into_iter().collect();
    }
    // A scenario that two suites ask for is there twice, and what is said of it is kept once.
    let (mut required, mut allowed) = (Vec::new(), Vec::new());
    for scenarios in all {
        required.extend(scenarios.required.iter().map(|scenario| scenario.name()));
        allowed.extend(scenarios.required.iter().chain(&scenarios.optional).map(|scenario| scenario.name()));
    }
    let has_interactive = suites.contains(&Suite::Datacenter) && Subject::of(INTERACTIVE, official, round).is_some();
    allowed.extend(has_interactive.then_some(INTERACTIVE));
    let open = required.iter().filter(|name| !run_scenarios.contains(name));
    let mut faults: Vec<String> =
        open.map(|name| format!("lacks scenario {name}, which a submission must have")).collect();
    if has_interactive && ![INTERACTIVE, SERVER].iter().any(|name| run_scenarios.contains(name)) {
        faults.push(format!("lacks scenarios {SERVER} and {INTERACTIVE}, of which a submission must have one"));
    }
    let odd = run_scenarios.iter().filter(|name| !allowed.contains(name));
    faults.extend(odd.map(|name| format!("has scenario {name}, which the {names} suite of round {round} does not")));
    faults
}

fn suite_name(suite: Suite) -> &'static str {
    match suite {
        Suite::Datacenter => "datacenter",
        Suite::Edge => "edge",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults_of(suites: &[Suite], benchmark: &str, round: &str, run_scenarios: &[&str]) -> Vec<String> {
        unlike_suites(suites, Official::named(benchmark, round).unwrap(), round, run_scenarios)
    }

    /// Source: the tables of required and optional scenarios in the official checker, mlcommons/inference b66003e1.
    #[test]
    fn suites_ask_for_scenarios_and_have_no_others() {
        let (datacenter, both) = ([Suite::Datacenter], [Suite::Datacenter, Suite::Edge]);
        for (suites, benchmark, round, run_scenarios, parts) in [
            (&datacenter[..], "resnet", "v5.0", &["Server", "Offline"][..], &[][..]),
            (&datacenter, "resnet", "v5.0", &["Offline"], &["lacks scenario Server"]),
            (&datacenter, "resnet", "v5.0", &["Offline", "Server", "MultiStream"], &["has scenario MultiStream"]),
            (&datacenter, "bert-99", "v5.0", &["Offline"], &["is not in the datacenter suite"]),
            (&both, "bert-99", "v5.0", &["Offline", "SingleStream"], &[]),
            (&datacenter, "llama2-70b-99", "v5.1", &["Offline", "Interactive"], &[]),
            (&datacenter, "llama2-70b-99", "v5.1", &["Offline"], &["lacks scenarios Server and Interactive"]),
            (&datacenter, "deepseek-r1", "v5.1", &["Offline"], &["lacks scenario Server"]),
            (&datacenter, "deepseek-r1", "v6.0", &["Offline", "Server"], &[]),
            (&[Suite::Edge], "resnet", "v6.1", &["Offline", "SingleStream"], &["lacks scenario MultiStream"]),
            (&[], "resnet", "v6.1", &[], &[]),
        ] {
            let faults = faults_of(suites, benchmark, round, run_scenarios);
            let is_match =
                faults.len() == parts.len() && faults.iter().zip(parts).all(|(one, part)| one.starts_with(part));
            assert!(is_match, "{benchmark} {round} {run_scenarios:?}: {faults:?}");
        }
    }
}
