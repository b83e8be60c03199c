//! Mixes: several tenants at once, over nodes that are claimed once.

use std::path::{Path, PathBuf};
use std::process::Command;

use loadgen::run::SearchEnd;
use lon_run::documents::mix_result::{MixResult, TenantResult};
use lon_run::documents::network_report::NetworkReport;
use lon_run::documents::result_summary::Validity;
use lon_tests::metrics::{Node, Page};
use lon_tests::process::{Finished, LoadGen, SutNode, binary, repository};
use lon_tests::run_folder::RunFolder;
use lon_tests::schemas;

/// Limits that no machine exceeds.
const PATIENT: &str =
    "target_latency = 3600000, target_latency_percentile = 50, min_query_count = 50, min_duration = \"500ms\"";

/// Bytes by which a sample is longer than its one tensor.
const HEAD_BYTES: u64 = 8;

/// A mix that is over.
struct Mixed {
    finished: Finished,
    folder: RunFolder,
}

impl Mixed {
    fn run(nodes: &[&SutNode], file: &str, flags: &[&str]) -> Mixed {
        let (run, folder, _file) = Mixed::start(nodes, file, flags);
        Mixed { finished: run.finish(), folder }
    }

    fn start(nodes: &[&SutNode], file: &str, flags: &[&str]) -> (LoadGen, RunFolder, tempfile::TempDir) {
        let above = tempfile::tempdir().unwrap();
        let path = above.path().join("mix.toml");
        std::fs::write(&path, file).unwrap();
        let folder = RunFolder::new();
        let sut: Vec<&str> = nodes.iter().map(|node| node.address.as_str()).collect();
        let (sut, mix) = (sut.join(","), path.to_str().unwrap());
        let args = ["run", "--mix", mix, "--sut", &sut, "--max-lag", "3600s", "--out", folder.arg()];
        (LoadGen::start(&[&args, flags].concat()), folder, above)
    }

    fn result(&self) -> MixResult {
        let text = std::fs::read_to_string(self.folder.path.join("mix_result.json"));
        schemas::assert_folder(&self.folder.path);
        serde_json::from_str(&text.unwrap_or_else(|error| panic!("{error}: {:?}", self.finished))).unwrap()
    }

    fn tenant(&self, name: &str) -> TenantResult {
        self.result().tenants.into_iter().find(|tenant| tenant.name == name).unwrap()
    }

    fn path(&self, tenant: &str) -> PathBuf {
        self.folder.path.join(tenant)
    }
}

/// A tenant with samples of its own, which a node can tell by their size.
fn tenant(name: &str, model: &str, bytes: u64, more: &str) -> String {
    format!(
        "[[tenant]]\nname = \"{name}\"\nmodel = \"{model}\"\nbenchmark = \"synthetic\"\n\
         dataset = \"synthetic:u8[{bytes}]x16\"\n{more}\n"
    )
}

fn server(rate: u64) -> String {
    format!("scenario = \"Server\"\nsettings = {{ target_qps = {rate}, {PATIENT} }}")
}

const CLOSED: &str =
    "scenario = \"Closed\"\nsettings = { concurrency = 2, min_query_count = 5, min_duration = \"100ms\" }";

/// Bytes of samples that were sent to the nodes of a tenant. Both ends have counted the same messages.
fn sample_bytes(folder: &Path) -> u64 {
    let text = std::fs::read_to_string(folder.join("network_report.json")).unwrap();
    let report: NetworkReport = serde_json::from_str(&text).unwrap();
    for node in &report.nodes {
        let messages = node.layers.message_bytes;
        assert_eq!(Some(messages.ingress.loadgen), messages.ingress.sut, "{node:?}");
        assert_eq!(Some(messages.egress.loadgen), messages.egress.sut, "{node:?}");
    }
    report.nodes.iter().map(|node| node.layers.tensor_bytes.ingress).sum()
}

fn two_models(name: &str) -> SutNode {
    SutNode::start(
        name,
        "quick=synthetic:constant=1ms",
        &["--backend", "slow=synthetic:constant=5ms", "--backend", "none=null", "--max-batch", "4"],
    )
}

#[test]
fn every_tenant_is_judged_and_counted_by_itself() {
    let nodes = [two_models("a"), two_models("b")];
    let file = format!(
        "alone_first = \"300ms\"\n{}{}{}",
        tenant("vision", "quick", 100, &server(200)),
        tenant("chat", "slow", 1000, &format!("start = \"200ms\"\n{}", server(20))),
        tenant("backfill", "none", 10, CLOSED),
    );
    let mixed = Mixed::run(&[&nodes[0], &nodes[1]], &file, &[]);
    assert_eq!(mixed.finished.code, Some(0), "{:?}", mixed.finished);
    let result = mixed.result();
    assert_eq!((result.result, result.reasons.len(), result.tenants.len()), (Validity::Valid, 0, 3));
    assert!(result.fairness.is_some_and(|index| (0.5..=1.0).contains(&index)), "{result:?}");
    for (name, bytes) in [("vision", 100), ("chat", 1000), ("backfill", 10)] {
        let tenant = mixed.tenant(name);
        let samples = tenant.samples;
        assert_eq!(sample_bytes(&mixed.path(name)), samples * (bytes + HEAD_BYTES), "{name}: {tenant:?}");
        assert!(tenant.alone.is_some() && tenant.interference_p99.is_some(), "{tenant:?}");
        assert_eq!(tenant.nodes, ["a", "b"]);
    }
    // The chat starts later and needs the most time, so the others go on for it.
    assert!(mixed.tenant("vision").samples > 130, "{:?}", mixed.tenant("vision"));
    let page = std::fs::read_to_string(mixed.path("report.html")).unwrap();
    for part in ["href=\"chat/report.html\"", "p99 over time", "Fairness"] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains(" are not there."), "every tenant has curves");
    let folder = mixed.folder.arg();
    let again = LoadGen::run(&["show", folder]);
    assert!(again.code == Some(0) && again.stdout.starts_with("Result    VALID\n"), "{again:?}");
    let refused = LoadGen::run(&["recover", folder]);
    assert!(refused.code == Some(2) && refused.stderr.contains("name one of "), "{refused:?}");
    let output = &mixed.finished.stdout;
    assert!(output.starts_with("Result    VALID\n") && output.contains("Fairness  "), "{output}");
    assert!(output.contains("\np99       chat: "), "the parts of its latency: {output}");
    assert!(mixed.tenant("chat").schedule_lag_ns.is_some(), "{output}");
    let report = LoadGen::run(&["report", folder]);
    assert_eq!(
        (report.code, std::fs::read_to_string(mixed.path("report.html")).unwrap()),
        (Some(0), page),
        "{report:?}"
    );
    // A list of the folder that has the mix has the runs of its tenants.
    let above = mixed.folder.path.parent().unwrap();
    let listed = LoadGen::run(&["list", above.to_str().unwrap(), "--format", "csv", "--label", "tenant=chat"]);
    assert!(listed.stdout.contains("/chat,") && !listed.stdout.contains("/alone/"), "{listed:?}");
}

#[test]
fn models_share_workers_in_turns() {
    let twenty_ms = ["--backend", "other=synthetic:constant=20ms", "--max-batch", "1", "--shared-workers", "1"];
    let node = SutNode::start("a", "one=synthetic:constant=20ms", &twenty_ms);
    let closed = "scenario = \"Closed\"\nsettings = { concurrency = 4, min_query_count = 20, min_duration = \"1s\" }";
    let file = tenant("one", "one", 100, closed) + &tenant("other", "other", 100, closed);
    let mixed = Mixed::run(&[&node], &file, &["--format", "csv"]);
    assert_eq!(mixed.finished.code, Some(0), "{:?}", mixed.finished);
    let [one, other] = ["one", "other"].map(|name| mixed.tenant(name).achieved_per_s.unwrap());
    // One of them computes at a time: 50 a second of both, in turns.
    assert!(one + other < 55.0, "{one} and {other} a second");
    assert!((0.6..1.7).contains(&(one / other)), "{one} and {other} a second");
    let heads = mixed.finished.stdout.lines().next().unwrap_or_default();
    assert!(heads.starts_with("tenant,result,model,") && heads.contains(",p99_ns,"), "{:?}", mixed.finished);
}

#[test]
fn workers_that_are_threads_share_them_too() {
    let model = repository("loadgen-node/qsl/digits/digits.onnx").display().to_string();
    let [one, other] = ["one", "other"].map(|name| format!("{name}=onnx:{model}"));
    let node = SutNode::start("a", &one, &["--backend", &other, "--shared-workers", "1"]);
    let tenant =
        |name: &str| format!("[[tenant]]\nname = \"{name}\"\nmodel = \"{name}\"\nbenchmark = \"digits\"\n{CLOSED}\n");
    let mixed = Mixed::run(&[&node], &(tenant("one") + &tenant("other")), &[]);
    assert_eq!((mixed.finished.code, mixed.result().result), (Some(0), Validity::Valid), "{:?}", mixed.finished);
}

#[test]
fn a_model_alone_shares_no_workers() {
    let serve = ["serve", "--node", "a", "--listen", "127.0.0.1:0", "--backend", "null", "--shared-workers", "1"];
    let refused = Command::new(binary("sut-node")).args(serve).output().unwrap();
    let message = String::from_utf8_lossy(&refused.stderr);
    assert!(
        refused.status.code() == Some(2) && message.contains("--shared-workers is for two or more models"),
        "{message}"
    );
}

#[test]
fn two_tenants_of_one_model_are_told_apart() {
    let node = two_models("a");
    let file = format!("{}{}", tenant("one", "quick", 100, &server(100)), tenant("other", "quick", 7, &server(30)));
    let mixed = Mixed::run(&[&node], &file, &[]);
    assert_eq!(mixed.finished.code, Some(0), "{:?}", mixed.finished);
    let [one, other] = ["one", "other"].map(|name| mixed.tenant(name).samples);
    assert_eq!(sample_bytes(&mixed.path("one")), one * (100 + HEAD_BYTES));
    assert_eq!(sample_bytes(&mixed.path("other")), other * (7 + HEAD_BYTES));
}

#[test]
fn a_tenant_may_have_some_of_the_nodes() {
    let nodes = [two_models("a"), two_models("b")];
    let of_b = format!("nodes = [\"{}\"]\n{}", nodes[1].address, server(50));
    let file = format!("{}{}", tenant("all", "quick", 10, &server(100)), tenant("part", "slow", 10, &of_b));
    let mixed = Mixed::run(&[&nodes[0], &nodes[1]], &file, &["--transport", "tcp"]);
    assert_eq!(mixed.finished.code, Some(0), "{:?}", mixed.finished);
    assert_eq!((mixed.tenant("all").nodes.len(), mixed.tenant("part").nodes), (2, vec!["b".to_owned()]));
}

#[test]
fn a_model_that_stalls_or_is_too_slow_is_the_failure_of_its_tenant() {
    let node = SutNode::start(
        "a",
        "good=synthetic:constant=1ms",
        &[
            "--backend",
            "stalls=synthetic:constant=1ms,stall=3s,stall_share=0.2",
            "--backend",
            "slow=synthetic:constant=20ms",
        ],
    );
    let stalls = format!("response-timeout = \"1s\"\n{}", server(20));
    let file = format!(
        "{}{}{}",
        tenant("good", "good", 10, &server(100)),
        tenant("stalls", "stalls", 10, &stalls),
        tenant("slow", "slow", 10, &server(1000).replace("3600000", "100")),
    );
    let mixed = Mixed::run(&[&node], &file, &[]);
    assert!(matches!(mixed.finished.code, Some(3 | 4)), "{:?}", mixed.finished);
    let results = ["good", "stalls", "slow"].map(|name| mixed.tenant(name).result);
    assert_eq!(results, [Validity::Valid, Validity::Invalid, Validity::Invalid], "{:?}", mixed.result());
}

#[test]
fn a_search_finds_the_factor_of_all_rates_or_the_rate_of_one_tenant() {
    // One worker that takes 5 ms a sample stands 200/s.
    let node = SutNode::start(
        "a",
        "quick=synthetic:constant=1us",
        &["--backend", "slow=synthetic:constant=5ms", "--max-batch", "1", "--workers", "slow=1"],
    );
    let limited = |rate: u64| {
        let limits = "target_latency = \"50ms\", target_latency_percentile = 50";
        format!(
            "scenario = \"Server\"\nsettings = {{ target_qps = {rate}, {limits}, min_query_count = 100, \
             min_duration = 0 }}"
        )
    };
    let file = format!("{}{}", tenant("one", "quick", 10, &limited(100)), tenant("two", "slow", 10, &limited(100)));
    let search =
        ["--mode", "FindPeakPerformance", "--find-peak-precision", "50%", "--find-peak-trial", "100%", "--json"];
    for (tenant, more, setting, expected) in [
        (None, &[][..], "factor", 1.0..4.0),
        (Some("two"), &["--find-peak-tenant", "two"][..], "target_qps", 100.0..400.0),
    ] {
        let mixed = Mixed::run(&[&node], &file, &[&search[..], more].concat());
        assert!(matches!(mixed.finished.code, Some(0 | 3)), "{:?}", mixed.finished);
        let result = mixed.result();
        let searched = result.search.clone().unwrap();
        assert_eq!((searched.tenant.as_deref(), searched.setting.as_str()), (tenant, setting), "{searched:?}");
        let highest = searched.trials.iter().filter(|trial| !trial.passed).map(|trial| trial.load).reduce(f64::min);
        assert!(highest.is_some_and(|load| load <= 2.0 * expected.end), "one worker has an end: {searched:?}");
        for trial in &searched.trials {
            let own: MixResult = read(&mixed.path(&trial.folder).join("mix_result.json"));
            let target = |place: usize| own.tenants[place].target_per_s.unwrap();
            let factor = if tenant.is_none() { trial.load } else { 1.0 };
            assert!((target(0) - 100.0 * factor).abs() < 1e-6, "{own:?}");
            let load = if tenant.is_none() { 100.0 * factor } else { trial.load };
            assert!((target(1) - load).abs() < 1e-6, "{own:?}");
        }
        let SearchEnd::Found = searched.end else { continue };
        assert_eq!((result.result, mixed.finished.code), (Validity::Valid, Some(0)));
        let low = searched.bracket.low.unwrap();
        assert!(expected.contains(&low), "{searched:?}");
        let reported = searched.trials.iter().rfind(|trial| trial.is_verification && trial.passed).unwrap();
        assert!(result.tenants[0].folder.starts_with(&reported.folder), "{result:?}");
    }
}

#[test]
fn a_search_whose_first_run_fails_says_so() {
    let node = SutNode::start("a", "slow=synthetic:constant=20ms", &["--max-batch", "1"]);
    let limits = "target_latency = \"30ms\", target_latency_percentile = 90";
    let slow = format!(
        "scenario = \"Server\"\nsettings = {{ target_qps = 500, {limits}, min_query_count = 200, min_duration = 0 }}"
    );
    let file = format!("{}{}", tenant("one", "slow", 10, &slow), tenant("rest", "slow", 10, CLOSED));
    let mixed = Mixed::run(&[&node], &file, &["--mode", "FindPeakPerformance"]);
    assert_eq!(mixed.finished.code, Some(3), "{:?}", mixed.finished);
    let result = mixed.result();
    assert_eq!(result.reasons[0], "the search has no lower bound: factor 1 already fails");
    assert_eq!(result.search.unwrap().trials.len(), 1);
    assert!(mixed.finished.stdout.contains("Search    no factor holds; runs: 1\n"), "{:?}", mixed.finished);
}

fn read(path: &Path) -> MixResult {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn one_model_of_several_can_be_asked_alone() {
    let node = two_models("a");
    let run = |model: &str| {
        let test = lon_tests::test_run::TestRun::new("Server").on(&node.address).patient();
        test.set("target_qps=100,min_duration=0,min_query_count=100,target_latency_percentile=50")
            .args(&["--model", model])
            .finish()
    };
    let (finished, folder) = run("slow");
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let engine = folder.result()["sut"][0].to_string();
    assert!(engine.contains("5ms"), "{engine}");
    let (refused, _) = run("other");
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("no model 'other'; it has: quick, slow, none"), "{refused:?}");
}

#[test]
fn a_mix_of_which_nothing_ran_leaves_nothing() {
    let node = two_models("a");
    let above = tempfile::tempdir().unwrap();
    let (file, out) = (above.path().join("mix.toml"), above.path().join("out"));
    std::fs::write(&file, tenant("one", "quick", 10, &server(100))).unwrap();
    let [file, folder] = [&file, &out].map(|path| path.to_str().unwrap());
    let args = ["run", "--mix", file, "--sut", &node.address, "--max-lag", "3600s", "--out", folder];
    let small_files = ["sh", "-c", "ulimit -f 8; exec \"$0\" \"$@\""];
    let refused = LoadGen::start_under(&small_files, &args).finish();
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(!out.join("mix_result.json").exists());
    let next = LoadGen::run(&args);
    assert_eq!(next.code, Some(0), "{next:?}");
}

#[test]
fn files_that_are_no_mix_are_refused_by_name() {
    let node = two_models("a");
    let good = tenant("one", "quick", 10, &server(100));
    let offline = tenant("one", "quick", 10, "scenario = \"Offline\"\nsettings = { target_qps = 100 }");
    for (file, flags, reason) in [
        (String::new(), &[][..], "missing field `tenant`"),
        (format!("{good}{good}"), &[], "two tenants are named 'one'"),
        (format!("alone = 1\n{good}"), &[], "unknown field `alone`"),
        (good.replace("synthetic\"", "sinthetic\""), &[], "tenant 'one'"),
        (good.replace("model =", "modle ="), &[], "'modle' is no flag of `loadgen-node run`; is it model?"),
        (good.replace("target_qps = 100", "target_qps = \"auto\""), &[], "tenant 'one': a setting is auto"),
        (good.replace("\"Server\"", "\"Offline\""), &[], "tenant 'one': --set: no setting 'target_latency' in Offline"),
        (offline.replace("target_qps = 100", "target_qps = \"auto\""), &[], "tenant 'one': Offline is one query"),
        (offline, &[], "tenant 'one': Offline is one query with all samples"),
        (good.replace("\"one\"", "\"a/b\""), &[], "its name 'a/b' cannot be that of a folder"),
        (format!("{good}nodes = [\"h:1\"]\n"), &[], "nodes: h:1 is not among the nodes of --sut"),
        (format!("{good}out = \"x\"\n"), &[], "'out' is given by"),
        (good.replace("quick", "quik"), &[], "tenant 'one': SUT node a"),
        (good.clone(), &["--scenario", "Server"], "'--scenario <NAME>' cannot be used multiple times"),
        (format!("{good}find-peak-verify = 2\n"), &[], "'find-peak-verify' is of the whole run"),
        (good.clone(), &["--find-peak-tenant", "one"], "--find-peak-tenant goes with --mode FindPeakPerformance"),
        (
            good.clone(),
            &["--mode", "FindPeakPerformance", "--find-peak-tenant", "two"],
            "--find-peak-tenant two: the mix has one",
        ),
        (
            good.clone(),
            &["--mode", "FindPeakPerformance", "--find-peak-goal", "p99<=1ms"],
            "--find-peak-goal is for the search of one test",
        ),
        (
            tenant("one", "quick", 10, CLOSED),
            &["--mode", "FindPeakPerformance"],
            "no tenant has a rate: a search needs one in Server with a limit",
        ),
        (good.clone(), &["--repeat", "2"], "--repeat is not for --mix"),
        (good.clone(), &["--mode", "AccuracyOnly"], "a tenant runs in mode PerformanceOnly"),
    ] {
        let refused = Mixed::run(&[&node], &file, flags).finished;
        assert_eq!(refused.code, Some(2), "{file}: {refused:?}");
        assert!(refused.stderr.contains(reason), "{file}: {refused:?}");
    }
}

#[test]
fn a_node_counts_the_samples_of_each_model() {
    let Node { node, metrics } =
        Node::start("a", "quick=synthetic:constant=1ms", &["--backend", "slow=synthetic:constant=5ms"]);
    let file = format!("{}{}", tenant("one", "quick", 10, &server(100)), tenant("two", "slow", 10, &server(30)));
    let mixed = Mixed::run(&[&node], &file, &[]);
    assert_eq!(mixed.finished.code, Some(0), "{:?}", mixed.finished);
    let page = Page::at(&metrics);
    for (name, model) in [("one", "quick"), ("two", "slow")] {
        let samples = mixed.tenant(name).samples;
        let labels = format!("purpose=run,model={model}");
        for counter in ["lon_sut_received_samples_total", "lon_sut_answered_samples_total"] {
            assert_eq!(page.count(counter, &labels), samples, "{counter} of {model}");
        }
        assert_eq!(page.count("lon_sut_runs_ended_total", &format!("end=client,{labels}")), 1, "{model}");
    }
}

#[test]
fn a_tenant_that_is_quicker_than_its_plan_goes_on_to_the_end() {
    let node = SutNode::start("a", "null=null", &["--backend", "slow=synthetic:constant=1ms"]);
    // The plan expects 100 ms for each query of the first tenant, which takes less than one.
    let quick = "scenario = \"SingleStream\"\nsettings = { target_latency = 100, min_query_count = 5, \
                 min_duration = \"300ms\" }";
    let file = format!("{}{}", tenant("quick", "null", 10, quick), tenant("slow", "slow", 10, &server(50)));
    let mixed = Mixed::run(&[&node], &file, &[]);
    assert_eq!(mixed.finished.code, Some(0), "{:?}", mixed.finished);
    let quick = mixed.tenant("quick");
    assert!(!quick.left_early && quick.samples > 100, "{quick:?}");
}
