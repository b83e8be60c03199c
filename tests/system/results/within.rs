//! `--within`: share and rate of the queries within limits of the user, in each output, and never in the verdict.

use std::fs;

use lon_run::documents::comparison::Comparison;
use lon_run::documents::run_list::RunList;
use lon_tests::process::{LoadGen, SutNode};
use lon_tests::run_folder::RunFolder;
use lon_tests::test_run::{TestRun, token_run, went_well};

/// A short Server run with these limits.
fn run(node: &SutNode, limits: &str) -> RunFolder {
    let test = TestRun::new("Server").patient().on(&node.address).args(&["--within", limits]);
    let test = test.set("target_qps=500,min_duration=1500,min_query_count=100");
    went_well(test, limits).1
}

#[test]
fn queries_within_limits_are_counted_beside_the_verdict() {
    let node = SutNode::start("n1", "null", &[]);
    let (all, none) = (run(&node, "latency=3600s"), run(&node, "latency=1ns"));
    for (folder, share) in [(&all, 1.0), (&none, 0.0)] {
        let result = folder.result();
        let within = &result["within"];
        assert_eq!((within["share"].as_f64(), &within["queries"]), (Some(share), &result["counts"]["issued"]));
        assert_eq!(result["reasons"].as_array().map(Vec::len), Some(0), "nothing is judged by it: {result}");
        let rate = within["queries_per_s"].as_f64().unwrap();
        // The official rate leaves out one query.
        let least_rate = share * result["metric"]["value"].as_f64().unwrap();
        assert!(rate >= least_rate && rate <= 1.1 * least_rate, "{rate} {least_rate}");
        let line = format!("\nWithin    {:.2} % of ", 100.0 * share);
        let text = LoadGen::run(&["show", folder.arg()]).stdout;
        assert!(text.contains(&line) && text.contains("; not judged)"), "{text}");
        let page = fs::read_to_string(folder.path.join("report.html")).unwrap();
        assert!(page.contains("Within the limits of --within") && page.contains(&line[11..]), "{share}");
    }

    let compared = LoadGen::run(&["compare", all.arg(), all.arg(), "--json"]);
    let compared: Comparison = serde_json::from_str(&compared.stdout).unwrap();
    let values = |name: &str| compared.metrics.iter().find(|metric| metric.name == name).unwrap().values.clone();
    assert_eq!(values("within_share"), [Some(1.0); 2]);
    assert!(values("within_rate")[0].unwrap() > 0.0);
    let other = LoadGen::run(&["compare", all.arg(), none.arg()]).stdout;
    assert!(other.contains("limits of --within") && other.contains("within_rate are left out"), "{other}");
    assert!(!other.contains("(within_share)"), "{other}");

    // Other limits, from the record of the samples.
    let again = LoadGen::run(&["replay", "--timeline", all.arg(), "--within", "latency=1ns"]);
    assert!(again.code == Some(0) && again.stderr.contains("Within    0.00 % of "), "{again:?}");
    let tokens = LoadGen::run(&["replay", "--timeline", all.arg(), "--within", "tpot=1s"]);
    assert!(tokens.code == Some(2) && tokens.stderr.contains("--within: tpot: token runs alone"), "{tokens:?}");

    let listed = LoadGen::run(&["list", all.path.parent().unwrap().to_str().unwrap(), "--json"]);
    let listed: RunList = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(listed.runs[0].within_share, Some(1.0));
}

#[test]
fn token_runs_have_limits_of_tokens() {
    let node = SutNode::start("a", "synthetic:ttft=20ms,tpot=2ms,tokens=16", &["--slots", "64"]);
    let test = token_run("Server").on(&node.address).args(&["--within", "ttft=1h,tpot=1h,latency=1h"]);
    let (finished, folder) = test.finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let result = folder.result();
    assert_eq!(
        (&result["within"]["kept"], result["within"]["share"].as_f64()),
        (&result["counts"]["issued"], Some(1.0))
    );
    // No first token comes within the 20 ms that the node waits.
    let strict = LoadGen::run(&["replay", "--timeline", folder.arg(), "--within", "ttft=19ms,latency=1h"]);
    assert!(strict.stderr.contains("Within    0.00 % of ") && strict.stderr.contains("(ttft 19.0ms, "), "{strict:?}");
}

#[test]
fn limits_that_a_run_cannot_be_held_against_are_refused_before_it() {
    for (limits, more, message) in [
        ("p99=1s", &["--scenario=Server"][..], "there is no 'p99' to limit: write ttft, tpot or latency"),
        ("latency=1", &["--scenario=Server"], "write a number above 0 and a unit"),
        ("latency=1s,latency=2s", &["--scenario=Server"], "latency is there twice"),
        ("ttft=1s", &["--scenario=Server"], "--within: ttft: token runs alone measure it (use_token_latencies=1)"),
        ("tpot=1s", &["--scenario=Offline", "--set=use_token_latencies=1"], "Offline measures whole answers"),
        ("latency=1s", &["--scenario=Server", "--mode=AccuracyOnly"], "mode AccuracyOnly measures no latencies"),
    ] {
        let data = ["--dataset=synthetic:tokens-i64[16]x8", "--benchmark=synthetic"];
        let args = [&["run", "--sut=127.0.0.1:1", "--within", limits], &data[..], more].concat();
        let refused = LoadGen::run(&args);
        assert!(refused.code == Some(2) && refused.stderr.contains(message), "{limits}: {refused:?}");
    }
}
