//! The file of a submission, and the plan that is made from it.

use std::fs;
use std::path::Path;

use lon_tests::process::{Finished, LoadGen, SutNode};
use lon_tests::test_run::TestRun;

fn submission(args: &[&str]) -> Finished {
    LoadGen::run(&[&["submission"], args].concat())
}

fn init(folder: &Path, more: &[&str]) -> String {
    let file = folder.join("s.toml");
    let finished = submission(&[&["init", file.to_str().unwrap()], more].concat());
    assert_eq!(finished.code, Some(0), "{finished:?}");
    fs::read_to_string(file).unwrap()
}

/// A file without the placeholders that nobody may keep.
fn named(text: &str) -> String {
    let text = text.replace("ORGANISATION", "Acme").replace("\"SYSTEM\"", "\"two\"");
    text.replace("\"WEIGHTS\"", "\"a.onnx\"").replace("https://example.org", "https://example.org/acme")
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
    assert!(marks.iter().all(|mark| *mark < at("FAULT ")), "{planned:?}");
    assert!(planned.stdout.contains("run.dataset: /data/dataset") && planned.stdout.contains("[all "), "{planned:?}");
    assert_eq!(planned.stdout.matches("FAULT ").count(), 1, "{planned:?}");
    let line = text.lines().position(|line| line.starts_with("run = ")).unwrap() + 1;
    assert!(planned.stdout.contains(&format!("s.toml:{line}, benchmark.run.dataset: ")), "{planned:?}");
    assert!(planned.stdout.contains("\nEngine loadgen-node: the rules ask for logs of the official"), "{planned:?}");
    assert!(planned.stderr.contains("6 runs cannot be made yet: see FAULT"), "{planned:?}");
    assert!(planned.stdout.contains("\n6 runs; 6 cannot be made yet\n"), "{planned:?}");
    let listed = |line: &&str| line.starts_with("  missing") && line.contains(" samples  llama3.1-8b ");
    assert_eq!(planned.stdout.lines().filter(listed).count(), 6, "{planned:?}");
}

/// The remedy stands in each refusal, so that a reader looks for it nowhere else.
#[test]
fn refusals_name_the_line_and_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let text = init(folder.path(), &[]).replace("\"v6.1\"", "\"v5.0\"").replace("llama3_1-8b", "resnet50");
    let text = text.replace("/data/dataset", "synthetic:f32[3,224,224]x8");
    let planned = plan(folder.path(), &text, &[]);
    assert_eq!(planned.code, Some(2), "{planned:?}");
    let (file, tree) = (folder.path().join("s.toml"), folder.path().join("tree"));
    let file = file.to_str().unwrap();
    let run = submission(&["run", file]);
    let built = submission(&["build", file, "--out", tree.to_str().unwrap()]);
    for refused in [&planned, &run, &built] {
        assert_eq!(refused.code, Some(2), "{refused:?}");
        for place in
            ["s.toml:12, submitter: \"ORGANISATION\" is a placeholder: write", "s.toml:14, system: ", "WEIGHTS"]
        {
            assert!(refused.stderr.contains(place), "no {place} in {refused:?}");
        }
    }
    // Without Offline the network division has no result.
    let server = named(&text).replace("settings.Offline = { target_qps = 100 }", "");
    let planned = plan(folder.path(), &server, &[]);
    assert!(planned.stdout.contains("SCENARIO ") && planned.stdout.contains("lacks scenario Offline"), "{planned:?}");
    // Two faults are named together.
    let faults = plan(folder.path(), &server.replace("\"Acme\"", "\"A B\"").replace("resnet50", "digits"), &[]);
    assert!(
        faults.stderr.contains("has 2 faults, and lines to fill in") && faults.stderr.contains("no blanks"),
        "{faults:?}"
    );
    // A run that is refused has its reason once more beside the refusal.
    let missing = named(&text).replace("synthetic:f32[3,224,224]x8", "/data/nowhere");
    plan(folder.path(), &missing, &[]);
    let run = submission(&["run", file]);
    let last = run.stderr.lines().last().unwrap_or_default();
    assert!(last.contains(" was refused: ") && last.contains("benchmark.run.dataset: /data/nowhere"), "{run:?}");
}

#[test]
fn a_check_says_what_it_needs() {
    let folder = tempfile::tempdir().unwrap();
    let (tree, file) = (folder.path().to_str().unwrap(), folder.path().join("note.txt"));
    fs::write(&file, "x").unwrap();
    let built = "`loadgen-node submission build FILE --out TREE`";
    for (args, message) in [
        (&["check", tree][..], "give --rules ROUND (v5.0, v5.1, v6.0, v6.1), or --file FILE"),
        (&["check", file.to_str().unwrap(), "--rules", "v5.0"], "is a file, and a folder belongs here"),
        (&["check", "/nowhere/tree", "--rules", "v5.0"], built),
        (&["check", tree, "--rules", "v5.0"], built),
        (&["check", tree, "--rules", "v5.0", "--mlcommons", "/nowhere"], "git clone"),
    ] {
        let refused = submission(args);
        assert!(refused.code == Some(2) && refused.stderr.contains(message), "no {message} in {refused:?}");
    }
}

#[test]
fn a_rehearsal_breaks_no_rule_by_its_length_and_names_what_cannot_be_scored() {
    let folder = tempfile::tempdir().unwrap();
    let text = init(folder.path(), &[]).replace("\"v6.1\"", "\"v5.0\"").replace("llama3_1-8b", "resnet50");
    let text = text.replace("/data/dataset", "synthetic:f32[3,224,224]x8");
    let text = named(&text.replace("# rehearsal = ", "rehearsal = "));
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
    let attempt = submission(&["init", other.to_str().unwrap(), "--run", run.arg()]);
    assert!(attempt.stdout.contains("round v6.0 has no benchmark synthetic: nothing of this run"), "{attempt:?}");
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
