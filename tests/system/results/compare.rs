//! `loadgen-node compare`: runs side by side, what was not the same, and which differences are noise.

use std::fs;

use lon_run::documents::comparison::{Comparison, Finding, IntervalOf, MetricComparison};
use lon_tests::page::{section, stands_alone};
use lon_tests::peer::{Behaviour, Peer, Script, Step, answer_once};
use lon_tests::process::{Finished, LoadGen, SutNode};
use lon_tests::run_folder::RunFolder;
use lon_tests::test_run::TestRun;
use tonic::Status;

const PICTURES: &str = "synthetic:image-u8[64,64,3]x50";

/// A run of pictures at 300 queries a second.
fn run(node: &SutNode, more: &[&str]) -> RunFolder {
    let test = TestRun::new("Server").on(&node.address).dataset(PICTURES).args(more);
    let (finished, folder) = test.set("target_qps=300,min_duration=2500,min_query_count=300").finish();
    assert!(matches!(finished.code, Some(0 | 3)), "{finished:?}");
    folder
}

fn compare(args: &[&str]) -> Finished {
    LoadGen::run(&[&["compare"], args].concat())
}

fn document(args: &[&str]) -> Comparison {
    let finished = compare(&[args, &["--json"]].concat());
    assert_eq!(finished.code, Some(0), "{finished:?}");
    serde_json::from_str(&finished.stdout).unwrap()
}

fn metric<'a>(comparison: &'a Comparison, name: &str) -> &'a MetricComparison {
    comparison.metrics.iter().find(|metric| metric.name == name).unwrap_or_else(|| panic!("no {name}: {comparison:?}"))
}

#[test]
fn two_runs_over_different_codecs_show_what_changed_and_what_is_noise() {
    let node = SutNode::start("n1", "null", &[]);
    let (plain, packed) = (run(&node, &["--note", "plain | sent"]), run(&node, &["--compression", "zstd"]));
    let comparison = document(&[plain.arg(), packed.arg()]);
    let codec = comparison.different.iter().find(|fact| fact.what == "codec").unwrap();
    assert_eq!(codec.values[0].as_deref(), Some("none"));
    assert!(codec.values[1].as_ref().unwrap().starts_with("zstd"), "{codec:?}");
    assert!(
        comparison.not_comparable.is_empty() && !comparison.different.iter().any(|fact| fact.what.contains("_id")),
        "{comparison:?}"
    );
    let bytes = metric(&comparison, "sent");
    let difference = bytes.differences[0].unwrap();
    // Other bytes were asked for.
    assert!(difference.percent < -5.0 && difference.finding == Finding::Differs, "{difference:?}");
    let mean = metric(&comparison, "mean").differences[0].unwrap();
    let [low, high] = mean.interval_percent.unwrap();
    assert!(low < mean.percent && mean.percent < high && mean.interval_of == Some(IntervalOf::Blocks), "{mean:?}");
    // The distance of two rates depends on what else the machine does. The rate of a run against itself is noise.
    assert!(metric(&comparison, "rate").differences[0].is_some(), "{comparison:?}");
    let same = document(&[plain.arg(), plain.arg()]);
    assert_eq!(metric(&same, "rate").differences[0].unwrap().finding, Finding::Noise);

    let page = plain.path.join("compared.html");
    let text = compare(&[plain.arg(), packed.arg(), "--html", page.to_str().unwrap()]);
    assert!(text.stdout.contains("codec") && text.stdout.contains("From A to B"), "{text:?}");
    let page = fs::read_to_string(page).unwrap();
    stands_alone(&page);
    for id in ["distribution", "latency", "rate"] {
        assert_eq!(section(&page, id).unwrap_or_else(|| panic!("no {id}")).matches("<li>").count(), 2, "{id}");
    }
    let csv = compare(&[plain.arg(), packed.arg(), "--format", "csv"]).stdout;
    let quantities = csv.lines().filter(|line| line.starts_with("quantity,"));
    assert!(quantities.clone().all(|line| line.matches(',').count() == 10), "{csv}");
    let row = quantities.clone().find(|line| line.starts_with("quantity,A,B,sent,bytes,")).unwrap();
    assert!(row.ends_with(",differs"), "{row}");
    assert!(csv.contains("\ndifferent,A,B,codec,,none,zstd"), "{csv}");
    let markdown = compare(&[plain.arg(), packed.arg(), "--format", "md"]).stdout;
    assert!(markdown.contains("| bytes to the SUT for each sample (sent) |") && markdown.contains("plain \\| sent"));

    let check = compare(&[plain.arg(), packed.arg(), "--fail-if", "sent<-5%", "--fail-if", "rate>+99999%"]);
    assert!(check.code == Some(3) && check.stdout.contains("Failed: --fail-if 'sent<-5%': B has -"), "{check:?}");
    assert!(!check.stdout.contains("'rate>+99999%'"), "{check:?}");
}

/// The latency of samples without an answer is unknown, and blocks of time do not have them.
#[test]
fn what_was_not_answered_is_compared_with_nothing_and_excused_by_no_noise() {
    // Two of a hundred are never answered, and with the last of them the node is gone.
    let goes: Script = |number, id| match number {
        0..1000 => answer_once(number, id),
        1019 => vec![Step::Fail(Status::unavailable("gone"))],
        _ => Vec::new(),
    };
    let run = |script: Script| {
        let peer = Peer::start(Behaviour { script, ..Behaviour::good("n1") });
        let test = TestRun::new("Server").on(&peer.address.to_string()).dataset(PICTURES).args(&["--max-lag", "3600s"]);
        test.set("target_qps=500,min_duration=0,min_query_count=1020,max_query_count=1020").finish()
    };
    let ((whole_finished, whole), (finished, lost)) = (run(answer_once), run(goes));
    assert!(matches!(whole_finished.code, Some(0 | 3)), "{whole_finished:?}");
    assert_eq!(finished.code, Some(4), "{finished:?}");
    // The lost node is the one reason: late samples follow from it.
    let is_named = finished.stdout.contains("- node n1 was lost: ") && finished.stdout.contains("p99 no answer");
    assert!(is_named, "{finished:?}");
    let comparison = document(&[whole.arg(), lost.arg()]);
    for name in ["p99", "p99.9", "max", "mean"] {
        let quantity = metric(&comparison, name);
        assert!(
            quantity.values[0].is_some() && quantity.values[1].is_none() && quantity.differences == [None],
            "{quantity:?}"
        );
    }
    // Of most samples it is known.
    for name in ["p50", "p90", "rate", "metric_rate"] {
        assert_eq!(metric(&comparison, name).differences[0].unwrap().finding, Finding::NotJudged, "{name}");
    }
    let check = compare(&[whole.arg(), lost.arg(), "--fail-if", "p99>+5%"]);
    assert!(check.code == Some(2) && check.stderr.contains("'p99' is not known of all sides"), "{check:?}");
    let check = compare(&[whole.arg(), lost.arg(), "--fail-if", "metric_rate<-5%", "--fail-if", "invalid"]);
    assert!(check.code == Some(3) && check.stdout.contains("B is INVALID"), "{check:?}");
}

/// The rate of Server is what was asked for, and the latencies are those that the result has.
#[test]
fn another_rate_that_was_asked_for_is_not_better() {
    let node = SutNode::start("n1", "null", &[]);
    let at = |qps: u32| {
        let test = TestRun::new("Server").on(&node.address).set(&format!("target_qps={qps},min_duration=2500"));
        test.args(&["--max-lag", "3600s"]).finish().1
    };
    let (slow, quick) = (at(200), at(400));
    let comparison = document(&[slow.arg(), quick.arg()]);
    assert_eq!(comparison.notes[0], "target_qps differs (A 200, B 400): rate and latencies follow from it");
    for name in ["rate", "metric_rate"] {
        assert_eq!(
            metric(&comparison, name).differences[0].unwrap().finding,
            Finding::AsAsked,
            "{name}: {comparison:?}"
        );
    }
    let result = slow.result();
    for (name, key) in [("p50", "p50"), ("p99", "p99"), ("p99.9", "p99_9"), ("mean", "mean")] {
        assert_eq!(metric(&comparison, name).values[0], result["latency_ns"][key].as_f64(), "{name}");
    }
    assert!(!comparison.different.iter().any(|fact| fact.what == "settings, mode"), "{comparison:?}");
}

#[test]
fn repeats_are_held_against_repeats() {
    let node = SutNode::start("n1", "null", &[]);
    let folders = [(); 3].map(|()| run(&node, &[]));
    let thrice = folders.each_ref().map(RunFolder::arg).join(",");
    let comparison = document(&[&thrice, &thrice]);
    assert!(comparison.different.is_empty() && comparison.sides[1].runs.len() == 3, "{comparison:?}");
    let mean = metric(&comparison, "outside_p50").differences[0].unwrap();
    assert_eq!((mean.percent, mean.interval_of, mean.finding), (0.0, Some(IntervalOf::Repeats), Finding::Noise));
}

#[test]
fn other_work_is_not_compared() {
    let node = SutNode::start("n1", "null", &[]);
    let server = run(&node, &[]);
    let (_, offline) = TestRun::new("Offline").on(&node.address).set("min_duration=0,min_query_count=1").finish();
    let comparison = document(&[server.arg(), offline.arg()]);
    for why in ["scenario is not the same", "dataset is not the same"] {
        assert!(comparison.not_comparable.iter().any(|reason| reason == why), "{comparison:?}");
    }
    assert!(comparison.metrics.iter().all(|metric| metric.differences == [None]), "{comparison:?}");
    let check = compare(&[server.arg(), offline.arg(), "--fail-if", "p99>5%"]);
    assert!(check.code == Some(2) && check.stderr.contains("the sides cannot be compared"), "{check:?}");
    let bad = compare(&[server.arg(), server.arg(), "--fail-if", "p98>5%"]);
    assert!(bad.code == Some(2) && bad.stderr.contains("there is no 'p98'"), "{bad:?}");
    let none = RunFolder::new();
    let refused = compare(&[server.arg(), none.arg()]);
    assert!(refused.code == Some(2) && refused.stderr.contains("is not a run folder"), "{refused:?}");
}
