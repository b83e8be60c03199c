//! What the division that a run is for demands of it, before it starts. Pure: facts in, refusal or marks out.
//!
//! `network` refuses what the rules of the Network division refuse. `open` runs it all the same; then every output
//! carries a mark that says what a Network result would not have had. Either way nothing here makes a result official.

use lon_qsl::Codec;
use lon_qsl::bandwidth::Direction;
use lon_qsl::benchmark::network::{Breach, NetworkRules};
use lon_qsl::benchmark::{Benchmark, Membership, Suite};
use qdl::Host;

use loadgen::settings::Scenario;

/// Whose rules a run is to keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Division {
    /// Anything goes, and is marked.
    #[default]
    Open,
    /// Server and Offline of the Datacenter suite over a network, with the codecs that the rules name.
    Network,
}

/// The official names of the Network division's scenarios.
const SCENARIOS: [&str; 2] = ["Server", "Offline"];

/// What is looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DivisionFacts<'a> {
    pub(crate) scenario: Scenario,
    pub(crate) benchmark: &'a Benchmark,
    /// The codec of samples.
    pub(crate) codec: Codec,
    /// The codec of answers.
    pub(crate) response_codec: Codec,
    /// The round whose rules apply, for example `v6.1`.
    pub(crate) round: &'a str,
    /// Why nodes of this kind have no counters; they are no SUT nodes then.
    pub(crate) no_counters: Option<&'static str>,
    /// Why the samples cannot be this benchmark's, if they cannot.
    pub(crate) misfit: Option<&'a str>,
}

/// Why a run is none for the Network division.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DivisionError {
    #[error("the Network division has the scenarios Server and Offline, not {}: --division open runs it", .0.name())]
    Scenario(Scenario),
    #[error("the Network division has no rules for benchmark {benchmark} (it knows {known}): --division open runs it")]
    Benchmark { benchmark: &'static str, known: String },
    #[error("the Network division's rules are those that are built in, not those of {0}: --division open runs it")]
    BenchmarkFile(String),
    #[error("{0}: --division open runs it")]
    Codec(#[from] Breach),
    #[error("{0}; --division open runs it")]
    Misfit(String),
    #[error(
        "nodes that speak KServe's protocol cannot be seen to keep the Network division's rules (names, stage times, \
         counters): --division open runs against them"
    )]
    Kserve,
}

impl Division {
    /// As typed, and in results.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Division::Open => "open",
            Division::Network => "network",
        }
    }
}

/// Whether the run may be made, and the marks that every output of it carries.
///
/// # Errors
/// The division refuses it. `open` refuses nothing.
pub(crate) fn check(division: Division, facts: &DivisionFacts<'_>) -> Result<Vec<String>, DivisionError> {
    match division {
        Division::Open => Ok(open_marks(facts)),
        Division::Network => {
            check_network(facts)?;
            Ok(suite_mark(facts).into_iter().collect())
        }
    }
}

fn check_network(facts: &DivisionFacts<'_>) -> Result<(), DivisionError> {
    if !SCENARIOS.contains(&facts.scenario.name()) {
        return Err(DivisionError::Scenario(facts.scenario));
    }
    if let Some(file) = &facts.benchmark.file {
        return Err(DivisionError::BenchmarkFile(file.display().to_string()));
    }
    let unknown = || DivisionError::Benchmark { benchmark: facts.benchmark.name, known: known() };
    let rules = facts.benchmark.network().ok_or_else(unknown)?;
    if let Some(breach) = breaches(rules, facts).into_iter().next() {
        return Err(breach.into());
    }
    if let Some(misfit) = facts.misfit {
        return Err(DivisionError::Misfit(misfit.to_owned()));
    }
    if facts.no_counters.is_some() { Err(DivisionError::Kserve) } else { Ok(()) }
}

/// Everything that a Network result would not have had.
fn open_marks(facts: &DivisionFacts<'_>) -> Vec<String> {
    let mut marks = Vec::new();
    if !SCENARIOS.contains(&facts.scenario.name()) {
        marks
            .push(format!("not a Network result: its scenarios are Server and Offline, not {}", facts.scenario.name()));
    }
    if let Some(file) = &facts.benchmark.file {
        marks.push(format!("not a Network result: the benchmark is that of {}", file.display()));
    }
    match facts.benchmark.network() {
        None => marks.push(format!("not a Network result: no benchmark of that division ({})", facts.benchmark.name)),
        Some(rules) => marks.extend(breaches(rules, facts).iter().map(mark)),
    }
    if let Some(misfit) = facts.misfit {
        marks.push(format!("not a Network result: {misfit}"));
    }
    marks.extend(facts.no_counters.map(kserve_mark));
    marks
}

fn breaches(rules: &NetworkRules, facts: &DivisionFacts<'_>) -> Vec<Breach> {
    let codecs = [(facts.codec, Direction::Ingress), (facts.response_codec, Direction::Egress)];
    codecs.into_iter().filter_map(|(codec, direction)| rules.check(codec, direction, facts.round).err()).collect()
}

/// What every output of a run against servers of KServe's protocol carries.
fn kserve_mark(none: &str) -> String {
    format!(
        "not a Network result: nodes that speak KServe's protocol show neither names nor stage times nor counters of \
         their own ({none})"
    )
}

fn mark(breach: &Breach) -> String {
    format!("not a Network result: {breach}")
}

/// The rules speak of some benchmarks in rounds whose Datacenter suite does not have them, or not with this scenario.
fn suite_mark(facts: &DivisionFacts<'_>) -> Option<String> {
    let DivisionFacts { benchmark, round, scenario, .. } = facts;
    let (name, scenario) = (benchmark.name, scenario.name());
    match benchmark.membership(Suite::Datacenter, round) {
        Membership::Absent => Some(format!("the Datacenter suite of round {round} does not have {name}")),
        Membership::Scenarios(scenarios) if !scenarios.has(scenario) => {
            Some(format!("the Datacenter suite of round {round} does not have {name} with scenario {scenario}"))
        }
        Membership::Unknown | Membership::Scenarios(_) => None,
    }
}

fn known() -> String {
    let ruled = Benchmark::all().iter().filter(|benchmark| benchmark.network().is_some());
    ruled.map(|benchmark| benchmark.name).collect::<Vec<_>>().join(", ")
}

/// The mark of a run whose two ends share a machine; none when every node (its name and its machine) is elsewhere, as
/// far as is known.
pub(crate) fn one_host<'a>(ours: &Host, nodes: impl Iterator<Item = (&'a str, &'a Host)>) -> Option<String> {
    let here: Vec<&str> = nodes.filter(|(_, host)| share(ours, host)).map(|(name, _)| name).collect();
    match &here[..] {
        [] => None,
        [name] => Some(format!("one host: not a Network result (node {name} runs on the LoadGen node's machine)")),
        names => {
            let names = names.join(", ");
            Some(format!("one host: not a Network result (nodes {names} run on the LoadGen node's machine)"))
        }
    }
}

/// Containers of a machine share its kernel, and so its boot id.
fn share(ours: &Host, theirs: &Host) -> bool {
    // What systemd writes into images that are yet to become machines says nothing of one.
    let same = |ours: &str, theirs: &str| {
        let (ours, theirs) = (ours.trim(), theirs.trim());
        !ours.is_empty() && ours != "uninitialized" && ours == theirs
    };
    same(&ours.machine_id, &theirs.machine_id) || same(&ours.boot_id, &theirs.boot_id)
}

#[cfg(test)]
mod tests {
    use lon_qsl::benchmark::ROUNDS;

    use super::*;
    use loadgen::conf::rules::{RULES, Rules};

    fn benchmark(name: &str) -> &'static Benchmark {
        Benchmark::find(name).unwrap()
    }

    fn facts(name: &str) -> DivisionFacts<'static> {
        DivisionFacts {
            scenario: Scenario::OFFLINE,
            benchmark: benchmark(name),
            codec: Codec::None,
            response_codec: Codec::None,
            round: "v6.1",
            no_counters: None,
            misfit: None,
        }
    }

    fn refusal(facts: DivisionFacts<'_>) -> String {
        assert!(check(Division::Open, &facts).is_ok());
        let text = check(Division::Network, &facts).unwrap_err().to_string();
        assert!(text.contains("--division open"), "no way out in: {text}");
        text
    }

    #[test]
    fn server_and_offline_alone() {
        for scenario in Scenario::ALL {
            let facts = DivisionFacts { scenario, ..facts("resnet50") };
            if SCENARIOS.contains(&scenario.name()) {
                assert_eq!(check(Division::Network, &facts), Ok(Vec::new()));
            } else {
                assert!(refusal(facts).contains(scenario.name()));
            }
        }
    }

    #[test]
    fn benchmarks_without_rules_are_refused() {
        for name in ["digits", "synthetic", "yolo"] {
            let text = refusal(facts(name));
            assert!(text.contains(name) && text.contains("resnet50") && text.contains("llama2-70b"), "{text}");
            let marks = check(Division::Open, &facts(name)).unwrap();
            assert!(marks.len() == 1 && marks[0].contains(name), "{marks:?}");
        }
    }

    #[test]
    fn samples_of_another_shape_are_refused() {
        let facts = DivisionFacts { misfit: Some("the samples are f32[4]"), ..facts("bert") };
        assert!(refusal(facts).contains("f32[4]"));
        let marks =
            check(Division::Open, &DivisionFacts { misfit: Some("they are odd"), ..super::tests::facts("bert") });
        assert_eq!(marks, Ok(vec!["not a Network result: they are odd".to_owned()]));
    }

    #[test]
    fn kserve_is_refused() {
        let facts = DivisionFacts { no_counters: Some(qdl::KSERVE_NO_COUNTERS), ..facts("bert") };
        assert!(refusal(facts).contains("KServe"));
        assert_eq!(check(Division::Open, &facts), Ok(vec![kserve_mark(qdl::KSERVE_NO_COUNTERS)]));
    }

    /// Whatever codecs there are: `network` allows what the rules allow, and `open` marks what they do not.
    #[test]
    fn codecs_are_the_rules_business() {
        for name in ["resnet50", "3d-unet", "gptj"] {
            let rules = benchmark(name).network().unwrap();
            for (codec, response_codec) in codec_pairs() {
                let wrong = [(codec, Direction::Ingress), (response_codec, Direction::Egress)];
                let wrong = wrong.into_iter().filter(|(codec, way)| rules.check(*codec, *way, "v6.1").is_err()).count();
                let facts = DivisionFacts { codec, response_codec, ..facts(name) };
                let marks = check(Division::Open, &facts).unwrap();
                assert_eq!(marks.len(), wrong, "{name} {codec} {response_codec}: {marks:?}");
                assert!(marks.iter().all(|mark| mark.starts_with("not a Network result: --")), "{marks:?}");
                assert_eq!(check(Division::Network, &facts).is_ok(), wrong == 0, "{name} {codec} {response_codec}");
            }
        }
    }

    fn codec_pairs() -> Vec<(Codec, Codec)> {
        let codecs = Codec::NAMES.map(|name| name.parse::<Codec>().unwrap());
        codecs.into_iter().flat_map(|codec| codecs.map(|other| (codec, other))).collect()
    }

    #[test]
    fn breaches_keep_the_rules_name_in_refusals_and_marks() {
        let breach =
            benchmark("gptj").network().unwrap().check_typed("zstd:3", Direction::Ingress, "v6.1").unwrap_err();
        for text in [mark(&breach), DivisionError::from(breach).to_string()] {
            assert!(text.contains("zstd:3") && text.contains("compression rules of gptj"), "{text}");
        }
    }

    #[test]
    fn rounds_that_the_rules_do_not_know_are_refused() {
        assert!(refusal(DivisionFacts { round: "v9.0", ..facts("bert") }).contains("v9.0"));
        assert_eq!(RULES.each_ref().map(|rules| rules.round.name), ROUNDS);
    }

    #[test]
    fn a_suite_that_lacks_the_benchmark_is_a_mark() {
        let marks = |name, round, scenario| {
            let facts = DivisionFacts { round, scenario, ..facts(name) };
            check(Division::Network, &facts).unwrap().join("; ")
        };
        assert_eq!(marks("resnet50", "v5.0", Scenario::SERVER), "");
        assert!(marks("resnet50", "v5.1", Scenario::SERVER).contains("round v5.1 does not have resnet50"));
        assert!(marks("3d-unet", "v6.0", Scenario::SERVER).contains("3d-unet with scenario Server"));
        assert_eq!(marks("bert", "v6.1", Scenario::SERVER), "", "the suites of v6.1 are not known");
    }

    #[test]
    fn benchmarks_have_the_names_of_official_config_files() {
        let newest = Rules::newest();
        // Left the rules before the rounds that are known.
        let retired = ["dlrm", "rnnt", "ssd-mobilenet"];
        let models = newest.models();
        for model in models.iter().filter(|model| !retired.contains(&model.as_str())) {
            assert_eq!(Benchmark::find(model).map(|benchmark| benchmark.name), Ok(model.as_str()));
        }
        for benchmark in Benchmark::all().iter().filter(|benchmark| !["digits", "synthetic"].contains(&benchmark.name))
        {
            assert!(newest.knows(benchmark.name), "{}", benchmark.name);
        }
    }

    #[test]
    fn one_machine_or_one_kernel_is_one_host() {
        let ids = |machine_id: &str, boot_id: &str| Host {
            machine_id: machine_id.to_owned(),
            boot_id: boot_id.to_owned(),
            ..Host::default()
        };
        let ours = ids("m1", "b1");
        let mark = |nodes: &[(&'static str, Host)]| one_host(&ours, nodes.iter().map(|(name, host)| (*name, host)));
        assert_eq!(mark(&[("n1", ids("m2", "b2")), ("n2", ids("m3", "b3"))]), None);
        let text = mark(&[("n1", ids("m2", "b1\n")), ("n2", ids("m3", "b3"))]).unwrap();
        assert!(text.starts_with("one host: not a Network result") && text.contains("node n1 "), "{text}");
        let text = mark(&[("n1", ids("m1", "b2")), ("n2", ids("", "b1"))]).unwrap();
        assert!(text.contains("nodes n1, n2 "), "{text}");
        let nobody = ids("", "uninitialized");
        assert_eq!(one_host(&nobody, [("n1", &nobody), ("n2", &ours)].into_iter()), None);
    }
}
