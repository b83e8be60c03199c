//! Texts of others in names, notes and run folders are shown as text, and believed only where they fit together.

use std::fs;
use std::path::Path;

use lon_tests::peer::{Behaviour, Peer};
use lon_tests::process::{Finished, LoadGen, SutNode, repository};
use lon_tests::run_folder::RunFolder;
use lon_tests::test_run::TestRun;

/// A short run over a node that answers nothing in particular.
fn run(node: &SutNode, more: &[&str]) -> (Finished, RunFolder) {
    let test = TestRun::new("Offline").patient().on(&node.address);
    test.set("min_duration=0,min_query_count=100,target_qps=1").args(more).finish()
}

/// A benchmark of one's own.
const BENCHMARK: &str = r#"
name = "mine"
about = "bytes"
[dataset]
kind = "tensors"
inputs = ["x u8[N,64]"]
example = "synthetic:u8[64]x64"
"#;

/// A file's text, changed.
fn edit(path: &Path, change: impl Fn(String) -> String) {
    fs::write(path, change(fs::read_to_string(path).unwrap())).unwrap();
}

/// Exit code 2, and these words.
#[track_caller]
fn assert_refused(finished: &Finished, phrases: &[&str]) {
    assert_eq!(finished.code, Some(2), "{finished:?}");
    for word in phrases {
        assert!(finished.stderr.contains(word), "no '{word}' in {finished:?}");
    }
}

/// A path with line breaks ends up in marks, in `Test`, and in `Files`.
#[test]
fn a_line_break_in_a_path_begins_no_line_of_a_log_or_screen() {
    let node = SutNode::start("a", "null", &[]);
    let above = tempfile::tempdir().unwrap();
    let folder = above.path().join("m\nResult is : VALID\nResult    VALID\n\u{1b}[31m");
    fs::create_dir(&folder).unwrap();
    let file = folder.join("mine.toml");
    fs::write(&file, BENCHMARK).unwrap();
    let test = TestRun::of(file.to_str().unwrap(), "Server").on(&node.address);
    let test = test.args(&["--dataset", "synthetic:u8[64]x64"]);
    let (finished, run_folder) = test.set("target_qps=1000,target_latency=0.0001,min_duration=100ms").finish();
    assert_eq!(finished.code, Some(3), "{finished:?}");
    let texts = [fs::read_to_string(run_folder.path.join("mlperf_log_summary.txt")).unwrap(), finished.stdout];
    for text in texts.iter().chain([&fs::read_to_string(run_folder.path.join("result.txt")).unwrap()]) {
        let valid = text.lines().filter(|line| line.starts_with("Result") && !line.contains("INVALID"));
        assert_eq!(valid.collect::<Vec<_>>(), Vec::<&str>::new(), "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
    }
}

#[test]
fn names_and_notes_that_are_no_line_are_refused() {
    let node = SutNode::start("a", "null", &[]);
    let (finished, _) = run(&node, &["--note", "one\nResult    VALID"]);
    assert_refused(&finished, &["--note", "one line"]);
    let (finished, _) = run(&node, &["--note", &"n".repeat(1001)]);
    assert_refused(&finished, &["1000 characters at most"]);
}

/// VALID with reasons against it: nothing that reads the result goes on with it.
#[test]
fn a_result_that_contradicts_itself_is_not_shown_as_one() {
    let node = SutNode::start("a", "null", &[]);
    let (_, run_folder) = run(&node, &[]);
    let folder = run_folder.path.to_str().unwrap();
    let reasons = "\"reasons\": [\"node b was lost\"],\n  \"was\": [";
    let path = run_folder.path.join("result_summary.json");
    edit(&path, |text| text.replace("\"result\": \"INVALID\"", "\"result\": \"VALID\""));
    edit(&path, |text| text.replacen("\"reasons\": [", reasons, 1));
    for args in [
        &["show", folder][..],
        &["show", "--json", folder],
        &["report", folder],
        &["compare", folder, folder],
        &["export", folder],
    ] {
        assert_refused(&LoadGen::run(args), &["contradicts itself", "node b was lost"]);
    }
    let above = run_folder.path.parent().unwrap().to_str().unwrap();
    for form in ["text", "csv", "md"] {
        let listed = LoadGen::run(&["list", above, "--format", form]);
        let output = format!("{}{}", listed.stdout, listed.stderr);
        assert!(output.contains("contradicts itself"), "{form}: {listed:?}");
    }
}

#[test]
fn pages_are_written_over_pages_alone() {
    let node = SutNode::start("a", "null", &[]);
    let (_, run_folder) = run(&node, &[]);
    let folder = run_folder.path.to_str().unwrap();
    let timeline = run_folder.path.join("timeline.bin");
    let before = fs::read(&timeline).unwrap();
    let other = timeline.to_str().unwrap();
    let own = run_folder.path.join("report.html");
    for args in [
        &["report", folder, "--out", other][..],
        &["report", folder, "--picture", other],
        &["compare", folder, folder, "--html", other],
    ] {
        assert_refused(&LoadGen::run(args), &["timeline.bin exists already", "is no page"]);
    }
    assert_eq!(fs::read(&timeline).unwrap(), before);
    let picture = run_folder.path.join("picture.svg");
    for _ in 0..2 {
        let pages = ["--out", own.to_str().unwrap(), "--picture", picture.to_str().unwrap()];
        let finished = LoadGen::run(&[&["report", folder][..], &pages].concat());
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let finished = LoadGen::run(&["compare", folder, folder, "--html", own.to_str().unwrap()]);
        assert_eq!(finished.code, Some(0), "{finished:?}");
    }
}

/// A run given twice would look like a repeat of itself.
#[test]
fn a_run_is_no_repeat_of_itself() {
    let node = SutNode::start("a", "null", &[]);
    let ([(_, one), (_, other)], link) = ([run(&node, &[]), run(&node, &[])], tempfile::tempdir().unwrap());
    let link = link.path().join("link");
    std::os::unix::fs::symlink(&one.path, &link).unwrap();
    let [one, other, link] = [&one.path, &other.path, &link].map(|path| path.to_str().unwrap());
    assert_refused(&LoadGen::run(&["compare", &format!("{one},{link}"), other]), &["are the same run"]);
    assert_eq!(LoadGen::run(&["compare", &format!("{one},{other}"), link]).code, Some(0));
}

#[test]
fn an_accuracy_log_that_was_edited_is_not_scored() {
    let digits = format!("onnx:{}", repository("loadgen-node/qsl/digits/digits.onnx").display());
    let node = SutNode::start("a", &digits, &[]);
    let (finished, run_folder) =
        TestRun::digits("Offline").on(&node.address).args(&["--mode", "AccuracyOnly"]).finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let folder = run_folder.path.to_str().unwrap();
    assert_eq!(LoadGen::run(&["accuracy", folder]).code, Some(0));
    edit(&run_folder.path.join("mlperf_log_accuracy.json"), |text| format!("{text}\n"));
    assert_refused(&LoadGen::run(&["accuracy", folder]), &["is not what the run wrote"]);
}

#[test]
fn documents_that_were_edited_are_not_on_the_page() {
    let node = SutNode::start("a", "null", &[]);
    let (finished, run_folder) = run(&node, &[]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let page = run_folder.path.join("report.html");
    for name in ["network_report.json", "system_desc.json"] {
        let path = run_folder.path.join(name);
        let own = fs::read_to_string(&path).unwrap();
        edit(&path, |text| format!("{text} "));
        assert_eq!(LoadGen::run(&["report", run_folder.arg()]).code, Some(0));
        let message = format!("{name}: it is not what the run wrote");
        assert!(fs::read_to_string(&page).unwrap().contains(&message), "{name}");
        fs::write(&path, own).unwrap();
        assert_eq!(LoadGen::run(&["report", run_folder.arg()]).code, Some(0));
        assert!(!fs::read_to_string(&page).unwrap().contains(&message), "{name}");
    }
}

/// Characters that a terminal obeys, that turn the direction of writing, that end a line, and that no XML can hold.
const HOSTILE: [char; 6] = ['\u{1b}', '\u{202e}', '\u{2028}', '\0', '\u{7f}', '\u{85}'];

fn places(value: &serde_json::Value, at: &str, pointers: &mut Vec<String>) {
    match value {
        serde_json::Value::String(_) => pointers.push(at.to_owned()),
        serde_json::Value::Array(values) => {
            values.iter().enumerate().for_each(|(number, value)| places(value, &format!("{at}/{number}"), pointers));
        }
        serde_json::Value::Object(keys) => {
            keys.iter().for_each(|(key, value)| places(value, &format!("{at}/{key}"), pointers));
        }
        _ => {}
    }
}

/// Every text of the result in turn.
#[test]
fn no_text_of_a_forged_folder_reaches_screens_documents_or_pages_as_it_is() {
    let node = SutNode::start("a", "null", &[]);
    let (_, run_folder) = run(&node, &["--note", "n"]);
    let path = run_folder.path.join("result_summary.json");
    let whole: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let mut all = Vec::new();
    places(&whole, "", &mut all);
    assert!(all.len() > 50, "{all:?}");
    let above = run_folder.path.parent().unwrap().to_str().unwrap();
    let page = run_folder.path.join("page.html");
    for place in all {
        let mut forged = whole.clone();
        let text = forged.pointer_mut(&place).unwrap();
        *text = format!("{}{}", text.as_str().unwrap(), HOSTILE.iter().collect::<String>()).into();
        fs::write(&path, forged.to_string()).unwrap();
        for args in [
            &["show", "--json", run_folder.arg()][..],
            &["list", above],
            &["list", above, "--json"],
            &["report", run_folder.arg(), "--out", page.to_str().unwrap()],
            &["compare", run_folder.arg(), run_folder.arg()],
        ] {
            let finished = LoadGen::run(args);
            let page = fs::read_to_string(&page).unwrap_or_default();
            for text in [&finished.stdout, &finished.stderr, &page] {
                assert_eq!(text.find(HOSTILE), None, "{place}: {args:?}: {finished:?}");
            }
        }
    }
}

#[test]
fn a_picture_of_texts_that_xml_cannot_hold_is_xml() {
    let node = SutNode::start("a", "null", &[]);
    let above = tempfile::tempdir().unwrap();
    let stated = above.path().join("stated.json");
    fs::write(&stated, r#"{"network_type": "Ethernet\u0000\u0008\u001b"}"#).unwrap();
    let (finished, run_folder) = run(&node, &["--system-desc", stated.to_str().unwrap()]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let picture = fs::read_to_string(run_folder.path.join("system_diagram.svg")).unwrap();
    assert!(picture.contains("Ethernet\u{fffd}\u{fffd}\u{fffd}"), "{picture}");
    assert!(!picture.contains(|c: char| c.is_control() && c != '\n'), "{picture}");
}

#[test]
fn a_name_with_control_characters_reaches_no_screen() {
    let later_name = Some("Network SUT: fake\n\u{1b}[31m".to_owned());
    let peer = Peer::start(Behaviour { later_name, ..Behaviour::good("first") });
    let test = TestRun::new("Server").on(&peer.address.to_string());
    let (finished, folder) = test.set("min_duration=0,min_query_count=100,target_qps=2000").finish();
    assert_eq!(finished.code, Some(4), "{finished:?}");
    folder.assert_complete();
    let result = folder.result();
    assert_eq!(result["counts"]["completed"], 100, "{result}");
    assert!(!result["sut_name"].as_str().unwrap().contains("Network SUT"), "{result}");
    assert!(!finished.stdout.contains('\u{1b}'), "{}", finished.stdout);
}
