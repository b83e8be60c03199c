//! Run folders, later: they are listed.

use std::fs;
use std::path::Path;

use lon_run::documents::result_summary::{MetricDocument, ResultSummary, Validity};
use lon_run::documents::run_list::RunList;
use lon_tests::process::{Finished, LoadGen, SutNode};
use lon_tests::run_folder::RunFolder;
use lon_tests::test_run::TestRun;
use nix::sys::signal::Signal;

fn list(above: &Path, more: &[&str]) -> Finished {
    LoadGen::run(&[&["list", above.to_str().unwrap()], more].concat())
}

fn listed(above: &Path, more: &[&str]) -> RunList {
    let finished = list(above, &[more, &["--json"]].concat());
    assert_eq!(finished.code, Some(0), "{finished:?}");
    serde_json::from_str(&finished.stdout).unwrap()
}

fn moved(folder: &RunFolder, to: &Path) {
    fs::rename(&folder.path, to).unwrap();
}

#[test]
fn a_run_that_goes_on_is_no_interrupted_one() {
    let node = SutNode::start("n1", "null", &[]);
    let server = TestRun::new("Server").on(&node.address).set("target_qps=100,min_duration=600s,min_query_count=100");
    let (run, folder) = server.begin();
    let above = folder.path.parent().unwrap();
    let one = || listed(above, &[]).runs.into_iter().find(|run| Path::new(&run.folder) == folder.path);
    let while_it_runs = one().expect("it is listed");
    assert!(while_it_runs.goes_on && while_it_runs.result == Validity::Invalid, "{while_it_runs:?}");
    let text = list(above, &[]).stdout;
    assert!(text.lines().any(|line| line.contains(folder.arg()) && line.contains("goes on")), "{text}");
    run.signal(Signal::SIGKILL);
    assert_ne!(run.finish().code, Some(0));
    let killed = one().expect("it is listed still");
    assert!(killed.interrupted && !killed.goes_on, "{killed:?}");
}

#[test]
fn runs_are_listed_by_time_and_filtered() {
    let node = SutNode::start("n1", "null", &[]);
    let above = RunFolder::new();
    fs::create_dir(&above.path).unwrap();
    let at = |name: &str| above.path.join(name);
    // Longer than a second, in which the times are written.
    let server = TestRun::new("Server").on(&node.address).args(&["--note", "a, \"b\" | c"]);
    let (_, first) = server.set("target_qps=500,min_duration=1200,min_query_count=100").finish();
    moved(&first, &at("z-first"));
    let (_, second) = TestRun::new("Offline").on(&node.address).set("min_duration=0,min_query_count=1").finish();
    moved(&second, &at("a-second"));
    fs::create_dir(at("broken")).unwrap();
    fs::write(at("broken").join("result_summary.json"), "{").unwrap();
    fs::create_dir(at("other")).unwrap();

    let all = listed(&above.path, &[]);
    let folders: Vec<&str> = all.runs.iter().map(|run| run.folder.as_str()).collect();
    assert_eq!(folders, [at("z-first"), at("a-second")].map(|path| path.to_str().unwrap().to_owned()), "by time");
    assert!(all.unreadable.len() == 1 && all.unreadable[0].contains("broken"), "{all:?}");
    let text = fs::read_to_string(at("z-first").join("result_summary.json")).unwrap();
    let result: ResultSummary = serde_json::from_str(&text).unwrap();
    let run = &all.runs[0];
    assert_eq!((&run.metric, run.result, run.has_page), (&result.metric, result.result, true));
    let Some(MetricDocument::Performance(metric)) = &run.metric else { panic!("{run:?}") };

    let csv = list(&above.path, &["--format", "csv"]).stdout;
    assert!(csv.contains("\"a, \"\"b\"\" | c\"") && csv.starts_with("started_utc,benchmark,"), "{csv}");
    let value = metric.value.unwrap();
    assert!(csv.contains(&format!(",ended,result_completed_samples_per_sec,{value},samples/s,")), "{csv}");
    let p99_ns = result.latency_ns.unwrap().p99.unwrap();
    assert!(csv.contains(&format!(",{p99_ns},500,,,,,grpc,none,none,")), "{csv}");
    let markdown = list(&above.path, &["--format", "md"]).stdout;
    assert!(markdown.contains("a, \"b\" \\| c"), "{markdown}");
    assert_eq!(listed(&above.path, &["--scenario", "Server"]).runs.len(), 1);
    for (filter, text, count) in [("--note", "\"b\"", 1), ("--note", "c d", 0), ("--sut", "n1", 2), ("--sut", "n2", 0)]
    {
        assert_eq!(listed(&above.path, &[filter, text]).runs.len(), count, "{filter} {text}");
    }
    assert_eq!(listed(&above.path, &["--last", "1"]).runs[0].folder, at("a-second").to_str().unwrap());
    for (word, verdict) in [("valid", Validity::Valid), ("INVALID", Validity::Invalid)] {
        let runs = listed(&above.path, &["--result", word]).runs;
        assert_eq!(runs.len(), all.runs.iter().filter(|run| run.result == verdict).count(), "{word}");
    }
    // Both have a result over the slowest, which is their own; the rate of a busy machine may be INVALID.
    let related = list(&above.path, &["--related"]).stdout;
    assert!(related.starts_with("Coverage\n") && related.contains("\nResults over the slowest\n"), "{related}");
    assert!(related.contains("times the slowest") && related.contains("1.000"), "{related}");
    let long = list(&above.path, &["--related", "--format", "csv"]).stdout;
    assert!(long.contains("\ncoverage,,synthetic,Offline,1,runs\n"), "{long}");
    let none = list(&above.path, &["--benchmark", "bert"]);
    assert!(none.stdout.contains("not listed: ") && none.code == Some(0), "{none:?}");
    let missing = list(&at("nowhere"), &[]);
    assert!(missing.code == Some(2) && missing.stderr.contains("nowhere"), "{missing:?}");
}

/// The folder of a run that an official LoadGen led has logs, and no result of this program.
#[test]
fn commands_for_run_folders_lead_to_the_one_for_official_logs() {
    let above = RunFolder::new();
    let folder = above.path.join("official");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("mlperf_log_detail.txt"), ":::MLLOG {}\n").unwrap();
    let arg = folder.to_str().unwrap();
    let message =
        format!("{arg} has the logs of an official LoadGen, which `loadgen-node replay --official {arg}` judges");
    for command in ["show", "report", "accuracy"] {
        let refused = LoadGen::run(&[command, arg]);
        assert!(refused.code == Some(2) && refused.stderr.contains(&message), "{command}: {refused:?}");
    }
    let listing = listed(&above.path, &[]);
    assert!(listing.runs.is_empty() && listing.unreadable == [message.clone()], "{listing:?}");
    assert!(list(&above.path, &[]).stdout.contains(&format!("not listed: {message}")));
}
