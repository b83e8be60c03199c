//! The file of a submission, and the plan that is made from it.

use std::fs;
use std::path::Path;

use lon_tests::process::{Finished, LoadGen, SutNode};
use lon_tests::test_run::TestRun;

fn submission(words: &[&str]) -> Finished {
    LoadGen::run(&[&["submission"], words].concat())
}

fn init(folder: &Path, more: &[&str]) -> String {
    let file = folder.join("s.toml");
    let written = submission(&[&["init", file.to_str().unwrap()], more].concat());
    assert_eq!(written.code, Some(0), "{written:?}");
    fs::read_to_string(file).unwrap()
}

fn plan(folder: &Path, text: &str, more: &[&str]) -> Finished {
    let file = folder.join("s.toml");
    fs::write(&file, text).unwrap();
    submission(&[&["plan", file.to_str().unwrap()], more].concat())
}

#[test]
fn a_fresh_file_names_all_that_is_to_be_filled_in_and_all_that_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let text = init(folder.path(), &[]);
    let planned = plan(folder.path(), &text, &[]);
    assert_eq!(planned.code, Some(2), "{planned:?}");
    let at = |part: &str| planned.stdout.find(part).unwrap_or_else(|| panic!("no {part} in {planned:?}"));
    let marks = ["submitter", "round", "benchmark.name", "system-description.status", "system-description.cooling"];
    let marks = marks.map(|key| at(&format!(", {key}: ")));
    assert!(marks.iter().all(|mark| *mark < at("MISSING ")), "{planned:?}");
    assert!(planned.stdout.contains("run.dataset: /data/dataset") && planned.stdout.contains("[all "), "{planned:?}");
    assert_eq!(planned.stdout.matches("MISSING").count(), 1, "{planned:?}");
    let line = text.lines().position(|line| line.starts_with("run = ")).unwrap() + 1;
    assert!(planned.stdout.contains(&format!("s.toml:{line}, benchmark.run.dataset: ")), "{planned:?}");
    assert!(planned.stdout.contains("\nEngine loadgen-node: the rules ask for logs of the official"), "{planned:?}");
    assert!(planned.stderr.contains("6 runs cannot be made yet: see MISSING"), "{planned:?}");
    assert!(planned.stdout.contains("\n6 runs; 6 cannot be made yet\n"), "{planned:?}");
}

#[test]
fn a_rehearsal_breaks_no_rule_by_its_length_and_names_what_cannot_be_scored() {
    let folder = tempfile::tempdir().unwrap();
    let text = init(folder.path(), &[]).replace("\"v6.1\"", "\"v5.0\"").replace("llama3_1-8b", "resnet50");
    let text = text.replace("/data/dataset", "synthetic:f32[3,224,224]x8");
    let text = text.replace("# rehearsal = ", "rehearsal = ");
    let planned = plan(folder.path(), &text, &["--json"]);
    assert_eq!(planned.code, Some(3), "{planned:?}");
    let json: serde_json::Value = serde_json::from_str(&planned.stdout).unwrap();
    let rules = json["broken_rules"].as_array().unwrap();
    let ids: Vec<&str> = rules.iter().map(|rule| rule["id"].as_str().unwrap()).collect();
    assert!(ids.contains(&"whole_dataset") && !ids.contains(&"run_duration"), "{ids:?}");
    assert!(rules.iter().all(|rule| rule["runs"].as_array().unwrap().len() >= 2), "{json}");
    let offline = json["runs"].as_array().unwrap().iter().find(|run| run["name"] == "resnet50 Offline performance");
    assert_eq!(offline.unwrap()["samples"], 24_576, "{json}");
    let unscored = json["unscored"].to_string();
    assert!(unscored.contains("resnet50 Server accuracy cannot be scored here"), "{unscored}");
    let open = plan(folder.path(), &text.replace("\"network\"", "\"open\""), &[]);
    assert_eq!(open.code, Some(0), "{open:?}");
    assert!(open.stdout.contains("TO BE SCORED resnet50 Server accuracy"), "{open:?}");
}

#[test]
fn a_run_fills_in_what_it_was() {
    let node = SutNode::start("a", "synthetic:constant=1ms", &[]);
    let run = TestRun::new("Server").patient().on(&node.address).set("target_qps=200,min_duration=100ms");
    let (finished, run) = run.args(&["--rules", "v6.0", "--transport", "tcp"]).finish();
    assert!(matches!(finished.code, Some(0 | 3)), "{finished:?}");
    let folder = tempfile::tempdir().unwrap();
    let text = init(folder.path(), &["--run", run.arg()]);
    let benchmark = run.result()["benchmark"].to_string();
    for line in [
        "round = \"v6.0\"",
        "transport = \"tcp\"",
        "settings.Server = { target_qps = 200 }",
        &format!("sut = \"{}\"", node.address),
        &format!("name = {benchmark}"),
    ] {
        assert!(text.lines().any(|own| own == line), "no {line} in {text}");
    }
    assert!(!text.contains("/data/dataset"), "{text}");
    let other = folder.path().join("other.toml");
    let written = submission(&["init", other.to_str().unwrap(), "--run", run.arg()]);
    assert!(written.stdout.contains("round v6.0 has no benchmark synthetic: nothing of this run"), "{written:?}");
}

/// The advice after a run that was too short names the line of the file that has the setting.
#[test]
fn advice_names_the_line_of_a_config_file() {
    let folder = tempfile::tempdir().unwrap();
    let conf = folder.path().join("user.conf");
    fs::write(&conf, "# Mine.\n*.SingleStream.target_latency = 100000\n*.SingleStream.min_duration = 2000000\n")
        .unwrap();
    let node = SutNode::start("a", "synthetic:constant=1ms", &[]);
    let run = TestRun::new("SingleStream").patient().on(&node.address).set("min_query_count=1");
    let (finished, run) = run.args(&["--anyway", "--user-conf", conf.to_str().unwrap()]).finish();
    assert_eq!(finished.code, Some(3), "{finished:?}");
    let hint = run.result()["hints"][0].to_string();
    assert!(hint.contains(&format!("; {}:2 has it now", conf.display())), "{hint}");
}
