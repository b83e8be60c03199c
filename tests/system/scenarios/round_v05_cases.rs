//! `trace --vector`: cases that the LoadGen of round v0.5 recorded are equal, or have a first difference.

use std::fs;
use std::path::Path;

use lon_tests::process::{Finished, LoadGen, repository};

/// Some cases of every kind as files; their paths.
fn cases(folder: &Path) -> Vec<String> {
    let mut paths = Vec::new();
    for kind in ["traffic", "intervals", "judging", "search", "config", "accuracylog", "official"] {
        let all = repository(&format!("loadgen-node/engine/tests/data/v05/{kind}.jsonl"));
        for (number, case) in fs::read_to_string(all).unwrap().lines().step_by(9).enumerate() {
            let path = folder.join(format!("{kind}-{number}.json"));
            fs::write(&path, case).unwrap();
            paths.push(path.to_str().unwrap().to_owned());
        }
    }
    paths
}

fn compared(paths: &[&str]) -> (Option<i32>, Vec<String>) {
    let finished: Finished = LoadGen::run(&[&["trace", "--vector"][..], paths].concat());
    assert!(finished.stderr.is_empty(), "{finished:?}");
    (finished.code, finished.stdout.lines().map(str::to_owned).collect())
}

#[test]
fn equal_cases_have_a_line_each() {
    let folder = tempfile::tempdir().unwrap();
    let cases = cases(folder.path());
    let paths: Vec<&str> = cases.iter().map(String::as_str).collect();
    assert!(paths.len() > 20, "{}", paths.len());
    let (code, lines) = compared(&paths);
    assert_eq!(code, Some(0), "{lines:#?}");
    assert_eq!(lines, paths.iter().map(|path| format!("{path}: equal")).collect::<Vec<_>>());
}

/// A case with one value altered, and the place of the value.
fn altered(path: &str, from: &str, to: &str) -> String {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{path} has no {from}");
    let other = format!("{path}.altered");
    fs::write(&other, text.replacen(from, to, 1)).unwrap();
    other
}

#[test]
fn a_difference_has_its_place_and_both_values() {
    let folder = tempfile::tempdir().unwrap();
    let cases = cases(folder.path());
    let first = |kind: &str| cases.iter().find(|path| path.contains(kind)).unwrap().as_str();
    let (intervals, config) = (first("intervals-0"), first("config-0"));
    let other = altered(intervals, r#""ticks_passed":20"#, r#""ticks_passed":21"#);
    let (code, lines) = compared(&[&other, intervals]);
    assert_eq!(code, Some(1), "{lines:#?}");
    let line = format!("{other}: expected.ticks_passed is 21 in the file, 20 as computed");
    assert_eq!(lines, [line, format!("{intervals}: equal")]);
    let input = altered(intervals, r#""target_qps":20"#, r#""target_qps":25"#);
    let (code, lines) = compared(&[&input]);
    assert_eq!(code, Some(1));
    let end = "test_settings.multi_stream_target_qps is 20 in the file, 25.0 as computed";
    assert!(lines[0].ends_with(end), "what is computed follows from the settings: {lines:?}");
    let unknown = altered(config, r#""qsl":"#, r#""library":"#);
    let (code, lines) = compared(&[&unknown, "/no/such/case.json", &other, config]);
    assert_eq!(code, Some(2), "{lines:#?}");
    assert!(lines[0].contains("not compared") && lines[0].contains("library"), "{lines:#?}");
    assert!(lines[1].starts_with("/no/such/case.json: not compared: "), "{lines:#?}");
    assert!(lines[2].contains("multi_stream_target_qps") && lines[3].ends_with(": equal"), "{lines:#?}");
}
