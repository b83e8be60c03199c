//! Every rule: kept, broken and not seen, with the words that the user sees. One file, since all rules are tried on the
//! same made-up run.

use lon_qsl::Codec;
use lon_qsl::accuracy::Score;
use lon_qsl::benchmark::{Benchmark, official_scores};
use qdl::{
    Host, Interface, KSERVE_NO_COUNTERS, NicTraffic, NodeCounts, NodeDescription, NodeReport, NodeTraffic, PeerKind,
    Setting, SutCounts,
};

use super::facts::{AccuracyRun, Data, Facts, NodeFacts, Planned, RunFacts, Settings};
use super::findings::{Findings, Tally};
use super::rule::{Finding, Judged, Verdict};
use super::rules::{RULES, judge};
use super::{bandwidth, hosts};
use crate::network::bandwidth::{Bandwidth, PerDirection};
use crate::network::nics::NicUse;
use crate::network::traffic::Bytes;
use loadgen::conf::origin::{Origin, Sourced};
use loadgen::conf::rules::Rules;
use loadgen::settings::{Mode, Scenario};

/// Returns the settings of `resnet50` in round v5.0 with these assignments on top.
fn settings(scenario: Scenario, set: &[&str]) -> Settings {
    let rules = Rules::find("v5.0").unwrap();
    let mut sourced = Sourced::new("resnet50", scenario);
    sourced.apply_round(rules);
    for text in set {
        sourced.assign(&text.parse().unwrap(), &Origin::Flag(format!("--set {text}"))).unwrap();
    }
    Settings::of(&sourced, rules, "resnet50")
}

/// A run of resnet50 that breaks no rule.
fn good() -> Planned {
    Planned {
        benchmark: Benchmark::find("resnet50").unwrap(),
        scenario: Scenario::SERVER,
        mode: Mode::PerformanceOnly,
        round: "v5.0",
        settings: settings(Scenario::SERVER, &["target_qps=500", "target_latency=14"]),
        samples_per_query: Some(1),
        data: Some(Data {
            name: "/data/imagenet".to_owned(),
            total: 50_000,
            performance: 1_024,
            is_aggregated: false,
            sums_sha256: Some("5a".to_owned()),
            is_compared: true,
            misfit: None,
        }),
        codec: Codec::None,
        response_codec: Codec::None,
        no_counters: None,
        preprocess: Some("crop=224".to_owned()),
        accuracy_run: None,
    }
}

fn host(id: &str) -> Host {
    Host { machine_id: format!("m{id}"), boot_id: format!("b{id}"), ..Host::default() }
}

fn node(name: &str, host_id: &str, engine: &str) -> NodeDescription {
    NodeDescription {
        address: "a:1".parse().unwrap(),
        name: name.to_owned(),
        software: String::new(),
        host: host(host_id),
        engine: engine.to_owned(),
        model: "m".to_owned(),
        model_sha256: "abc".to_owned(),
        inputs: Default::default(),
        outputs: Default::default(),
        ends: None,
        answers_checked: qdl::AnswersChecked::Wholly,
        codecs: Vec::new(),
        build: Default::default(),
        model_bytes: Default::default(),
        models: Vec::new(),
        settings: vec![Setting::of_answers("preprocess", "crop=224"), Setting::of_speed("workers", 2)],
    }
}

fn report(name: &str, counters: bool) -> NodeReport {
    NodeReport {
        name: name.to_owned(),
        peer_kind: PeerKind::SUT_NODE,
        counts_resends: false,
        flushed: Ok(()),
        counts: NodeCounts::default(),
        traffic: NodeTraffic::default(),
        room: Default::default(),
        sut: if counters { Ok(counts()) } else { Err("it is gone".to_owned()) },
        lost: None,
        stalls: Vec::new(),
        local: None,
    }
}

/// Returns the counts of a node on an interface of Ethernet.
fn counts() -> SutCounts {
    let traffic = NicTraffic { interface: nic("eth0", "Ethernet").interface, bytes_in: 0, bytes_out: 0 };
    SutCounts { nic: Some(traffic), ..SutCounts::default() }
}

/// Returns the verdict on one rule before the nodes are asked.
fn planned(id: &str, planned: &Planned) -> Verdict {
    verdict(id, &Facts { planned, nodes: None, run: None })
}

fn verdict(id: &str, facts: &Facts<'_>) -> Verdict {
    let findings = judge(facts);
    findings.iter().find(|finding| finding.rule.id == id).unwrap_or_else(|| panic!("no rule {id}")).verdict.clone()
}

#[track_caller]
fn broken(verdict: Verdict, parts: &[&str]) {
    let Verdict::Broken(why) = verdict else { panic!("{verdict:?}") };
    assert!(parts.iter().all(|part| why.contains(part)), "{parts:?} in: {why}");
}

#[track_caller]
fn unchecked(verdict: Verdict, part: &str) {
    let Verdict::Unchecked(why) = verdict else { panic!("{verdict:?}") };
    assert!(why.contains(part), "{part} in: {why}");
}

#[test]
fn rules_have_one_id_each_and_stand_in_order() {
    let mut ids: Vec<&str> = RULES.iter().map(|rule| rule.id).collect();
    let sections: Vec<&str> = RULES.iter().map(|rule| rule.section).collect();
    assert!(sections.is_sorted(), "{sections:?}");
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), RULES.len());
}

#[test]
fn the_guide_has_every_rule_and_no_other() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/division.md")).unwrap();
    let row = |section: &str, id: &str, asks: &str, judged: &str| format!("| {section} | `{id}` | {asks} | {judged} |");
    let rows: Vec<String> =
        RULES.iter().map(|rule| row(rule.section, rule.id, rule.asks, rule.judged.name())).collect();
    assert!(page.contains(&rows.join("\n")), "docs/guide/division.md: the table should be:\n{}", rows.join("\n"));
}

/// Source: the section on ECC of a datacenter system's least requirements, in the rules, 4.1.1.
#[test]
fn memories_correct_errors_where_the_nodes_say_so() {
    let (planned, here) = (good(), host("1"));
    let with = |all: &[(&str, &[(&str, &str)])]| {
        let of = |(name, settings): &(&str, &[(&str, &str)])| {
            let mut node = node(name, "2", "tract 0.23");
            node.settings.extend(settings.iter().map(|(name, value)| Setting::of_speed(name, value)));
            if name.starts_with('g') {
                node.host.accelerators = vec![Default::default()];
            }
            node
        };
        let nodes: Vec<NodeDescription> = all.iter().map(of).collect();
        verdict("ecc", &Facts { planned: &planned, nodes: Some(NodeFacts { here: &here, nodes: &nodes }), run: None })
    };
    let (on, both) = (("host_ecc", "on"), [("host_ecc", "on"), ("accelerator_ecc", "on")]);
    assert_eq!(with(&[("n1", &[on]), ("g2", &both)]), Verdict::Kept);
    broken(with(&[("n1", &[("host_ecc", "off")]), ("n2", &[])]), &["node n1: the memory of its host has ECC off"]);
    broken(with(&[("g1", &[on, ("accelerator_ecc", "off")])]), &["node g1: the memory of its accelerators"]);
    unchecked(with(&[("n1", &[on]), ("n2", &[])]), "node n2 does not say whether the memory of its host");
    unchecked(with(&[("g1", &[on])]), "node g1 does not say whether the memory of its accelerators");
    unchecked(with(&[("n1", &[("host_ecc", "perhaps")])]), "node n1 does not say");
    unchecked(super::tests::planned("ecc", &planned), "have not been asked");
}

/// Source: the table of additional inference parameters in the rules, 4.1.3.
#[test]
fn answers_are_generated_with_the_rounds_parameters() {
    let here = host("1");
    let with = |name: &str, round, mode, settings: &[(&str, u32)]| {
        let planned = Planned { benchmark: Benchmark::find(name).unwrap(), round, mode, ..good() };
        let of = settings.iter().map(|(name, value)| Setting::of_answers(name, value)).collect();
        let nodes = [NodeDescription { settings: of, ..node("n1", "2", "tract 0.23") }];
        verdict(
            "generation",
            &Facts { planned: &planned, nodes: Some(NodeFacts { here: &here, nodes: &nodes }), run: None },
        )
    };
    let (performance, accuracy) = (Mode::PerformanceOnly, Mode::AccuracyOnly);
    let gptj = |beams, least, most| [("beams", beams), ("min_tokens", least), ("max_tokens", most)];
    assert_eq!(with("gptj", "v5.0", accuracy, &gptj(4, 30, 128)), Verdict::Kept);
    broken(with("gptj", "v5.0", accuracy, &gptj(1, 30, 128)), &["node n1: beams is 1, 4 in round v5.0"]);
    broken(with("gptj", "v5.0", accuracy, &gptj(4, 0, 128)), &["min_tokens is 0, 30 in"]);
    broken(with("gptj", "v5.0", accuracy, &gptj(4, 30, 64)), &["max_tokens is 64, 128 in"]);
    broken(with("gptj", "v5.0", accuracy, &[("max_tokens", 64)]), &["max_tokens is 64"]);
    unchecked(with("gptj", "v5.0", accuracy, &[("max_tokens", 128)]), "node n1 does not say its beams");
    unchecked(with("llama2-70b", "v6.1", performance, &[]), "node n1 does not say its max_tokens");
    assert_eq!(with("llama2-70b", "v6.1", performance, &[("max_tokens", 1_024), ("min_tokens", 9)]), Verdict::Kept);
    let oss = |most| [("min_tokens", 1), ("max_tokens", most)];
    assert_eq!(with("gpt-oss-120b", "v6.1", performance, &oss(10_000)), Verdict::Kept);
    broken(with("gpt-oss-120b", "v6.1", performance, &oss(32_768)), &["10000 in round v6.1"]);
    assert_eq!(with("gpt-oss-120b", "v6.1", accuracy, &oss(32_768)), Verdict::Kept);
    broken(with("gpt-oss-120b", "v6.1", accuracy, &oss(10_000)), &["32768 in round v6.1"]);
    assert_eq!(planned("generation", &good()), Verdict::Kept, "resnet50 generates nothing");
    let before = Planned { benchmark: Benchmark::find("gptj").unwrap(), ..good() };
    unchecked(planned("generation", &before), "have not been asked");
}

/// The rule on approval. Data that is sent as it is needs no approval.
const UNASKED: &str = "approval";

#[test]
fn a_good_plan_breaks_nothing() {
    let planned = good();
    let findings = judge(&Facts { planned: &planned, nodes: None, run: None });
    let broken: Vec<_> = findings.broken().collect();
    assert!(broken.is_empty() && findings.refuse().is_ok() && findings.marks().is_empty(), "{broken:?}");
    assert!(findings.tally().kept >= 15, "{:?}", findings.tally());
    let later = |finding: &&Finding| finding.rule.judged != Judged::Before && finding.rule.id != UNASKED;
    for finding in findings.iter().filter(later) {
        assert!(matches!(finding.verdict, Verdict::Unchecked(_)), "{} before the run", finding.rule.id);
    }
}

#[test]
fn settings_differ_only_as_the_rules_let_them() {
    for (set, id, part) in [
        ("min_duration=2s", "run_duration", "min_duration_ms is 2000 (--set min_duration=2s), 600000 at least"),
        (
            "min_duration=3s",
            "run_duration",
            "in round v5.0, for every benchmark; --set min_duration=600000 keeps the rule",
        ),
        ("min_query_count=1", "query_count", "min_query_count is 1"),
        ("max_duration=700s", "no_early_end", "max_duration_ms is 700000"),
        ("max_query_count=9", "no_early_end", "max_query_count is 9"),
        ("target_latency_percentile=50", "percentile", "0.99 in round v5.0"),
        ("coalesce_queries=1", "samples_per_query", "server_coalesce_queries is true"),
        ("target_latency=10000", "latency_limit", "15000000 at most"),
        ("use_token_latencies=1", "latency_limit", "use_token_latencies is true"),
        ("sample_index_rng_seed=7", "seeds", "sample_index_rng_seed is 7"),
        ("test05=1", "seeds", "test05 is true"),
        ("test05_qsl_rng_seed=7", "seeds", "test05_qsl_rng_seed is 7"),
        ("accuracy_log_probability=1%", "other_settings", "accuracy_log_probability is 0.01"),
        ("accuracy_log_sampling_target=5", "other_settings", "accuracy_log_sampling_target is 5"),
        ("print_timestamps=1", "other_settings", "print_timestamps is true"),
        ("performance_issue_unique=1", "drawing", "performance_issue_unique is true"),
        ("accuracy_sample_count_override=9", "accuracy_set", "accuracy_sample_count_override is 9"),
    ] {
        let changed = Planned { settings: settings(Scenario::SERVER, &[set]), ..good() };
        broken(planned(id, &changed), &[part, "round v5.0"]);
        assert_eq!(planned(id, &good()), Verdict::Kept, "{id}");
    }
    for (set, id) in [("min_duration=2s", "run_duration"), ("min_query_count=1", "query_count")] {
        let settings = settings(Scenario::SERVER, &[set]);
        let accuracy = Planned { mode: Mode::AccuracyOnly, settings, ..good() };
        assert_eq!(planned(id, &accuracy), Verdict::KeptBecause("an accuracy run has no least length"), "{id}");
    }
    let own = Planned { settings: Settings { are_known: false, ..good().settings }, ..good() };
    assert_eq!(["run_duration", "seeds"].map(|id| planned(id, &own)), [Verdict::Kept, Verdict::Kept]);
    let seeds = settings(Scenario::SERVER, &["schedule_rng_seed=7"]);
    let own_seeds = Planned { settings: Settings { are_known: false, ..seeds }, ..good() };
    broken(planned("seeds", &own_seeds), &["schedule_rng_seed is 7"]);
    let all = ["query_count", "no_early_end", "percentile", "samples_per_query", "other_settings"];
    for id in all.into_iter().chain(["latency_limit", "drawing", "accuracy_set"]) {
        unchecked(planned(id, &own), "no settings for resnet50");
    }
    for set in ["min_duration=601s", "min_query_count=1000000", "target_latency=1"] {
        let changed = Planned { settings: settings(Scenario::SERVER, &[set]), ..good() };
        assert!(judge(&Facts { planned: &changed, nodes: None, run: None }).refuse().is_ok(), "{set}");
    }
}

#[test]
fn an_offline_query_has_the_rounds_samples() {
    let offline = |samples_per_query| Planned {
        scenario: Scenario::OFFLINE,
        settings: settings(Scenario::OFFLINE, &[]),
        samples_per_query,
        ..good()
    };
    assert_eq!(planned("query_count", &offline(Some(24_576))), Verdict::Kept);
    broken(planned("query_count", &offline(Some(24_575))), &["24575 samples, 24576 at least"]);
}

#[test]
fn data_are_the_benchmarks_own() {
    let with = |change: fn(&mut Data)| {
        let mut changed = good();
        changed.data.as_mut().map(change);
        changed
    };
    broken(planned("real_data", &with(|data| data.name = "synthetic:u8[4]x9".to_owned())), &["made up", "synthetic:"]);
    broken(planned("real_data", &with(|data| data.misfit = Some("they are f32[4]".to_owned()))), &["f32[4]"]);
    broken(planned("real_data", &with(|data| data.is_aggregated = true)), &["which only dlrm-v2 allows"]);
    broken(planned("whole_dataset", &with(|data| data.total = 49_999)), &["49999 samples", "50000 in round v5.0"]);
    broken(planned("qsl_size", &with(|data| data.performance = 64)), &["64 samples, 1024 at least"]);
    unchecked(planned("unchanged_data", &with(|data| data.sums_sha256 = None)), "SHA256SUMS");
    unchecked(planned("unchanged_data", &with(|data| data.is_compared = false)), "a run compares");
    let accuracy = Planned { mode: Mode::AccuracyOnly, ..with(|data| data.performance = 64) };
    assert_eq!(planned("qsl_size", &accuracy), Verdict::Kept, "an accuracy run draws nothing");
    let digits = |name: &str| {
        let mut changed = Planned { benchmark: Benchmark::find("digits").unwrap(), ..good() };
        if let Some(data) = &mut changed.data {
            (data.name, data.sums_sha256) = (name.to_owned(), None);
        }
        changed
    };
    for id in ["benchmark_unaltered", "real_data", "generation"] {
        unchecked(planned(id, &digits("digits")), "digits is no benchmark of MLPerf");
        assert_eq!(planned(id, &good()), Verdict::Kept, "{id}");
    }
    unchecked(planned("unchanged_data", &digits("digits")), "digits is part of the program");
    unchecked(planned("unchanged_data", &digits("/data/digits")), "beside the dataset (SHA256SUMS)");
    broken(planned("real_data", &digits("synthetic:u8[4]x9")), &["made up"]);
    let none = Planned { data: None, ..good() };
    for id in ["real_data", "whole_dataset", "qsl_size", "unchanged_data"] {
        assert_eq!(planned(id, &good()), Verdict::Kept, "{id}");
        unchecked(planned(id, &none), "no dataset");
    }
    let unknown = Planned { round: "v9.9", ..good() };
    unchecked(planned("whole_dataset", &unknown), "no count for resnet50");
    unchecked(planned("qsl_size", &unknown), "no QSL size for resnet50");
}

#[test]
fn a_run_of_round_v0_5_breaks_one_rule_and_is_held_to_no_other() {
    let findings = judge(&Facts { planned: &Planned { round: "v0.5", ..good() }, nodes: None, run: None });
    assert_eq!(findings.tally(), Tally { kept: 0, broken: 1, unchecked: RULES.len() - 1 });
    let marks = findings.marks();
    assert!(marks.len() == 1 && marks[0].contains("round v0.5 has no Network division"), "{marks:?}");
    assert_eq!(findings.broken_afterwards().count(), 0);
}

#[test]
fn scenario_and_benchmark_are_of_the_suite() {
    for scenario in Scenario::ALL {
        let verdict = planned("scenario", &Planned { scenario, ..good() });
        match scenario.name() {
            "Server" | "Offline" => assert_eq!(verdict, Verdict::Kept),
            name => broken(verdict, &["Server and Offline, not", name]),
        }
    }
    let of = |name: &str, round, scenario| {
        let benchmark = Benchmark::find(name).unwrap();
        planned("suite", &Planned { benchmark, round, scenario, ..good() })
    };
    assert_eq!(of("resnet50", "v5.0", Scenario::SERVER), Verdict::Kept);
    broken(of("resnet50", "v6.1", Scenario::SERVER), &["Datacenter suite of round v6.1 does not have resnet50"]);
    broken(of("3d-unet", "v6.0", Scenario::SERVER), &["3d-unet with scenario Server"]);
    unchecked(of("resnet50", "v9.9", Scenario::SERVER), "v9.9");
    for name in ["digits", "synthetic", "yolo"] {
        broken(of(name, "v6.1", Scenario::SERVER), &["suite of round v6.1 does not have", name, ", but 3d-unet, "]);
    }
    let mut changed = good().benchmark.clone();
    changed.file = Some("mine.toml".into());
    let file: &'static Benchmark = Box::leak(Box::new(changed));
    broken(planned("benchmark_unaltered", &Planned { benchmark: file, ..good() }), &["mine.toml"]);
    assert_eq!(planned("benchmark_unaltered", &good()), Verdict::Kept);
    broken(planned("mode", &Planned { mode: Mode::FindPeakPerformance, ..good() }), &["search for the peak"]);
    assert_eq!(planned("mode", &Planned { mode: Mode::AccuracyOnly, ..good() }), Verdict::Kept);
}

#[test]
fn codecs_are_those_of_the_rules_table() {
    let of = |name: &str, codec: &str, response: &str| {
        let (codec, response_codec) = (codec.parse().unwrap(), response.parse().unwrap());
        planned("codecs", &Planned { benchmark: Benchmark::find(name).unwrap(), codec, response_codec, ..good() })
    };
    assert_eq!(of("resnet50", "zstd", "none"), Verdict::Kept);
    assert_eq!(of("3d-unet", "lz4", "zstd"), Verdict::Kept);
    broken(of("resnet50", "none", "zstd"), &["--response-compression zstd", "compression rules of resnet50"]);
    broken(of("gptj", "zstd:3", "lz4"), &["--compression zstd", "--response-compression lz4"]);
    unchecked(of("digits", "zstd", "none"), "no codecs for digits");
    broken(planned("codecs", &Planned { round: "v9.0", ..good() }), &["v9.0"]);
    assert_eq!(planned("approval", &good()), Verdict::KeptBecause("no codec, nothing to approve"));
    for (codec, response_codec) in [("zstd", "none"), ("none", "lz4")] {
        let (codec, response_codec) = (codec.parse().unwrap(), response_codec.parse().unwrap());
        unchecked(planned("approval", &Planned { codec, response_codec, ..good() }), "only the submitter");
    }
}

#[test]
fn nodes_are_separate_named_and_have_a_model() {
    let (planned, here) = (good(), host("1"));
    let with = |id: &str, nodes: &[NodeDescription]| {
        verdict(id, &Facts { planned: &planned, nodes: Some(NodeFacts { here: &here, nodes }), run: None })
    };
    let apart = [node("n1", "2", "tract 0.23"), node("n2", "3", "tract 0.23")];
    for id in ["separate_hosts", "named_nodes", "inference"] {
        assert_eq!(with(id, &apart), Verdict::Kept, "{id}");
        unchecked(super::tests::planned(id, &planned), "have not been asked");
    }
    broken(with("separate_hosts", &[node("n1", "1", "x"), node("n2", "3", "x")]), &["one host: node n1 runs on"]);
    broken(with("separate_hosts", &[node("n1", "1", "x"), node("n2", "1", "x")]), &["nodes n1, n2 run"]);
    let mut clone = node("n1", "2", "x");
    clone.host.machine_id = host("1").machine_id;
    assert_eq!(with("separate_hosts", &[clone]), Verdict::Kept, "two machines of one image");
    let mut container = node("n1", "2", "x");
    container.host.boot_id = host("1").boot_id;
    broken(with("separate_hosts", &[container]), &["one host: node n1"]);
    let mut silent = node("n1", "2", "x");
    silent.host = Host::default();
    unchecked(with("separate_hosts", &[silent]), "neither its machine id");
    let dialled = |local: &str, remote: &str| {
        let ends = Some(qdl::Ends { local: local.parse().unwrap(), remote: remote.parse().unwrap() });
        with("separate_hosts", &[NodeDescription { ends, ..node("n1", "2", "x") }])
    };
    for (local, remote) in [("127.0.0.1", "127.0.0.1:8000"), ("10.0.0.1", "127.0.0.2:8000"), ("::1", "[::1]:8000")] {
        broken(dialled(local, remote), &["one host: node n1 runs on"]);
    }
    broken(dialled("10.0.0.1", "10.0.0.1:8000"), &["one host: node n1 runs on"]);
    assert_eq!(dialled("10.0.0.1", "10.0.0.2:8000"), Verdict::Kept);
    broken(with("named_nodes", &[node("n1", "2", "x"), node("n1", "3", "x")]), &["'n1'"]);
    for engine in ["null", "synthetic:fixed=1ms"] {
        broken(with("inference", &[node("n1", "2", engine)]), &["node n1 has no model", engine]);
    }
}

#[test]
fn kserve_has_no_counters() {
    let odd = Planned { no_counters: Some(KSERVE_NO_COUNTERS), ..good() };
    broken(planned("sut_nodes", &odd), &["KServe"]);
    assert_eq!(planned("sut_nodes", &good()), Verdict::Kept);
}

/// A run that is over.
struct Over {
    reports: Vec<NodeReport>,
    names: [&'static str; 2],
    is_whole: bool,
    differences: Vec<String>,
    bandwidth: Bandwidth,
    nics: Vec<NicUse>,
    score: Option<f64>,
}

impl Over {
    fn good() -> Over {
        let all = PerDirection { ingress: Some(1e9), egress: Some(0.0) };
        Over {
            reports: vec![report("n1", true)],
            names: ["Network SUT: n1"; 2],
            is_whole: true,
            differences: Vec::new(),
            bandwidth: Bandwidth { required: all, probed: all, ..Bandwidth::default() },
            nics: vec![nic("eth0", "Ethernet")],
            score: None,
        }
    }

    fn judged(&self, planned: &Planned) -> Findings {
        let (here, mut nodes) = (host("1"), [node("n1", "2", "tract")]);
        nodes[0].settings.push(Setting::of_speed("host_ecc", "on"));
        let score = self.score.map(|value| Score { value, samples: 50_000, questions: None, others: Vec::new() });
        judge(&Facts {
            planned,
            nodes: Some(NodeFacts { here: &here, nodes: &nodes }),
            run: Some(RunFacts {
                reports: &self.reports,
                names: self.names,
                is_whole: self.is_whole,
                differences: &self.differences,
                bandwidth: &self.bandwidth,
                nics: &self.nics,
                score: score.as_ref(),
            }),
        })
    }

    fn verdict(&self, id: &str, planned: &Planned) -> Verdict {
        let findings = self.judged(planned);
        findings.iter().find(|finding| finding.rule.id == id).unwrap().verdict.clone()
    }
}

fn nic(name: &str, link: &str) -> NicUse {
    let interface = Interface { name: name.to_owned(), link: link.to_owned(), ..Interface::default() };
    NicUse { interface, carried: Bytes::default(), explained: Bytes::default() }
}

/// Every field of the settings is some rule's, or the submitter's to choose.
#[test]
fn no_setting_is_forgotten() {
    let fields = serde_json::to_value(loadgen::settings::TestSettings::default()).unwrap();
    let names = || super::settings::ELSEWHERE.iter().chain(&super::settings::SEEDS);
    for field in names() {
        assert!(fields.get(*field).is_some(), "{field} is no setting");
    }
}

#[test]
fn nodes_that_differ_are_not_one_system() {
    let (here, mut nodes) = (host("1"), [node("n1", "2", "tract"), node("n2", "3", "tract")]);
    let one = |nodes: &[NodeDescription]| {
        let planned = good();
        verdict("one_sut", &Facts { planned: &planned, nodes: Some(NodeFacts { here: &here, nodes }), run: None })
    };
    assert_eq!(one(&nodes), Verdict::Kept);
    nodes[1].engine = "onnxruntime 1.31.1".to_owned();
    broken(one(&nodes), &["the nodes are not one SUT: engine: tract at n1, onnxruntime 1.31.1 at n2"]);
    unchecked(planned("one_sut", &good()), "when the nodes have been asked");
}

#[test]
fn a_whole_run_keeps_all_but_what_the_user_states() {
    let over = Over { score: Some(76.4), ..Over::good() };
    let findings = over.judged(&good());
    let mut silent = Over::good();
    silent.reports[0].sut = Ok(SutCounts::default());
    unchecked(silent.verdict("fabric", &good()), "node n1 does not say which interface it used");
    let open_findings: Vec<_> = findings.iter().filter(|finding| finding.verdict != Verdict::Kept).collect();
    assert!(open_findings.iter().all(|finding| finding.rule.judged == Judged::Word), "{open_findings:?}");
    let word_rules = RULES.iter().filter(|rule| rule.judged == Judged::Word && rule.id != UNASKED).count();
    assert_eq!(findings.tally(), Tally { kept: RULES.len() - word_rules, broken: 0, unchecked: word_rules });
    assert_eq!(findings.broken_afterwards().count(), 0);
}

#[test]
fn what_crossed_is_counted_at_both_ends() {
    let over = Over { differences: vec!["n1: 4 messages, 5 there".to_owned()], ..Over::good() };
    for id in ["all_crossed", "qdl"] {
        broken(over.verdict(id, &good()), &["n1: 4 messages"]);
        let broken_off = Over { is_whole: false, differences: over.differences.clone(), ..Over::good() };
        unchecked(broken_off.verdict(id, &good()), "the run was broken off");
        assert_eq!(Over::good().verdict(id, &good()), Verdict::Kept, "{id}");
        unchecked(planned(id, &good()), "known after the run");
    }
    unchecked(Over { reports: vec![report("n1", false)], ..Over::good() }.verdict("all_crossed", &good()), "node n1");
    let marks = over.judged(&good()).broken_afterwards().collect::<Vec<_>>();
    assert!(marks.len() == 2 && marks[1].contains("(all_crossed, section 6.2.3 of the division's rules)"), "{marks:?}");
}

#[test]
fn the_name_says_that_the_sut_is_a_networks() {
    let over = Over { names: ["Network SUT: n1", "SUT in doubt: node n1"], ..Over::good() };
    broken(over.verdict("sut_name", &good()), &["'SUT in doubt: node n1'"]);
    assert_eq!(Over::good().verdict("sut_name", &good()), Verdict::Kept);
    unchecked(planned("sut_name", &good()), "after the run");
}

#[test]
fn fabrics_are_of_a_permitted_kind() {
    let of = |nics: &[NicUse]| hosts::kinds(nics.iter().map(|nic| &nic.interface));
    assert_eq!(of(&[nic("eth0", "Ethernet"), nic("ib0", "InfiniBand")]), Verdict::Kept);
    broken(of(&[nic("nv0", "NVLink")]), &["nv0 is NVLink", "Ethernet, InfiniBand"]);
    unchecked(of(&[nic("wg0", "")]), "wg0");
    unchecked(of(&[]), "no interface");
    unchecked(planned("fabric", &good()), "after the run");
}

#[test]
fn bandwidth_is_what_appendix_b_asks() {
    let of = |probed: Option<f64>| {
        let required = PerDirection { ingress: Some(2e9), egress: Some(0.0) };
        let probed = PerDirection { ingress: probed, egress: None };
        bandwidth::of(&Bandwidth { required, probed, ..Bandwidth::default() })
    };
    assert_eq!(of(Some(2e9)), Verdict::Kept);
    broken(of(Some(1e9)), &["ingress: 2.00 Gbit/s is required, the fabric gave 1.00 Gbit/s"]);
    unchecked(of(None), "--probe");
    unchecked(bandwidth::of(&Bandwidth { verdict: "nothing answered".to_owned(), ..Bandwidth::default() }), "nothing");
    unchecked(planned("bandwidth", &good()), "after the run");
}

/// 75.69535 is a tie of five digits.
#[test]
fn accuracy_is_within_bounds_to_five_digits() {
    let of = |score| Over { score: Some(score), ..Over::good() }.verdict("accuracy_target", &good());
    assert_eq!(of(75.6955), Verdict::Kept, "75.696 to five digits");
    broken(of(75.69499), &["acc is 75.695, 75.6954", " at least in round v5.0 (resnet)"]);
    broken(of(75.6944), &["acc is 75.694, 75.6954"]);
    unchecked(Over::good().verdict("accuracy_target", &good()), "--accuracy-run");
    let many = Planned { benchmark: Benchmark::find("gptj").unwrap(), ..good() };
    unchecked(Over { score: Some(1.0), ..Over::good() }.verdict("accuracy_target", &many), "ROUGE2, ROUGEL, GEN_LEN");
}

#[test]
fn what_the_official_script_printed_counts_for_its_log() {
    let of = |text: &str| {
        let (official, log_sha256) = (Some(official_scores(text)), Some("1a".to_owned()));
        let run = AccuracyRun { folder: "acc".to_owned(), official, log_sha256, ..AccuracyRun::default() };
        let (benchmark, round) = (Benchmark::find("stable-diffusion-xl").unwrap(), "v5.0");
        planned("accuracy_target", &Planned { benchmark, round, accuracy_run: Some(run), ..good() })
    };
    let text = |fid: f64, clip: f64| format!("{{'CLIP_SCORE': {clip}, 'FID_SCORE': '{fid}'}}\nhash=1a\n");
    assert_eq!(of(&text(23.5, 31.75)), Verdict::Kept);
    broken(of(&text(24.5, 31.75)), &["FID_SCORE is 24.5, 23.95007626 at most in round v5.0"]);
    broken(of(&text(22.5, 30.0)), &["CLIP_SCORE is 30", "FID_SCORE is 22.5, 23.01085758 at least"]);
    unchecked(of("{'CLIP_SCORE': 31.75}\nhash=1a\n"), "round v5.0 asks for FID_SCORE, which is not scored here");
    unchecked(of(&text(23.5, 31.75).replace("hash=1a", "")), "does not say which log");
    unchecked(of(&text(23.5, 31.75).replace("hash=1a", "hash=2b")), "of another log");
}

#[test]
fn the_accuracy_run_is_of_the_same_setup() {
    let run = || AccuracyRun {
        folder: "acc".to_owned(),
        is_valid: true,
        benchmark: "resnet50".to_owned(),
        scenario: "Server".to_owned(),
        dataset: "/mnt/imagenet".to_owned(),
        dataset_sums_sha256: Some("5a".to_owned()),
        round: "v5.0".to_owned(),
        score: Some(76.1),
        other_scores: Vec::new(),
        official: None,
        log_sha256: Some("1a".to_owned()),
        samples: 50_000,
        engines: vec!["tract".to_owned()],
        models: vec!["m with SHA-256 abc".to_owned(), "m with SHA-256 abc".to_owned()],
        machines: vec!["a processor that is not told".to_owned()],
        preprocess: Some("crop=224".to_owned()),
        options: [("preprocess".to_owned(), ["crop=224".to_owned()].into())].into(),
        settings: good().settings.values,
        codecs: ["none".to_owned(), "none".to_owned()],
    };
    let of = |run: AccuracyRun, id: &str| Over::good().verdict(id, &Planned { accuracy_run: Some(run), ..good() });
    assert_eq!(of(run(), "accuracy_run"), Verdict::Kept);
    assert_eq!(of(run(), "accuracy_target"), Verdict::Kept);
    type Change = fn(&mut AccuracyRun);
    let changes: [(Change, &str); 15] = [
        (|run| run.is_valid = false, "acc is INVALID"),
        (|run| run.samples = 100, "has 100 samples of 50000"),
        (|run| run.models = vec!["other".to_owned()], "model is other, this one's m with SHA-256 abc"),
        (|run| run.engines = vec!["onnxruntime".to_owned()], "engine is onnxruntime, this one's tract"),
        (|run| run.machines = vec!["Xeon + pci 10de:2330".to_owned()], "machine is Xeon + pci 10de:2330, this one's a"),
        (|run| run.preprocess = None, "pre-processing is not told, this one's crop=224"),
        (|run| run.dataset = "/mnt/other".to_owned(), "dataset is other, this one's imagenet"),
        (|run| drop(run.options.insert("eos".to_owned(), ["2".to_owned()].into())), "eos is 2, this one's not told"),
        (|run| run.dataset_sums_sha256 = Some("5b".to_owned()), "dataset's SHA256SUMS is 5b, this one's 5a"),
        (|run| run.dataset_sums_sha256 = None, "dataset is /mnt/imagenet, this one's /data/imagenet"),
        (|run| run.scenario = "Offline".to_owned(), "scenario is Offline, this one's Server"),
        (|run| drop(run.options.remove("preprocess")), "preprocess is not told, this one's crop=224"),
        (|run| drop(run.settings.insert("qsl_rng_seed".to_owned(), 7.into())), "qsl_rng_seed is 7, this one's"),
        (|run| run.round = "v6.1".to_owned(), "round is v6.1"),
        (|run| run.codecs[0] = "lz4".to_owned(), "codec is lz4"),
    ];
    for (change, part) in changes {
        let mut changed = run();
        change(&mut changed);
        broken(of(changed, "accuracy_run"), &[part]);
    }
    let earlier = AccuracyRun { machines: Vec::new(), ..run() };
    assert_eq!(of(earlier, "accuracy_run"), Verdict::Kept, "earlier versions do not tell machines");
    unchecked(of(AccuracyRun { score: None, ..run() }, "accuracy_target"), "acc has no score");
    unchecked(Over::good().verdict("accuracy_run", &good()), "--accuracy-run");
}

#[test]
fn a_refusal_names_every_broken_rule_with_its_section() {
    let odd = Planned {
        scenario: Scenario::SINGLE_STREAM,
        settings: settings(Scenario::SERVER, &["min_duration=2s", "target_latency=10000"]),
        ..good()
    };
    let text = judge(&Facts { planned: &odd, nodes: None, run: None }).refuse().unwrap_err().to_string();
    assert!(
        text.starts_with("refused, 3 rules of the Network division broken (without --division network the run is"),
        "{text}"
    );
    for part in ["(run_duration, section 3 of", "(latency_limit, section 4.1 of", "(scenario, section 6.2 of"] {
        assert!(text.contains(part), "{part} in: {text}");
    }
    assert_eq!(super::place("Appendix B"), "Appendix B of the division's rules");
}
