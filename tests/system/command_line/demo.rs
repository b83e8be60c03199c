use lon_tests::process::LoadGen;
use lon_tests::run_folder::RunFolder;

#[test]
fn the_demo_does_the_main_job() {
    let folder = RunFolder::new();
    let finished = LoadGen::run(&["demo", "--json", "--out", folder.arg()]);
    // A step of its own in `.ci/run` checks that the demo is VALID on a machine that does nothing else.
    assert!(matches!(finished.code, Some(0 | 3)), "{finished:?}");
    folder.assert_complete();
    let result = folder.result();
    assert_eq!(serde_json::from_str::<serde_json::Value>(&finished.stdout).unwrap(), result);
    let late = ["sent late", "stood still", "latency", "over the limit"];
    for reason in result["reasons"].as_array().unwrap() {
        assert!(late.iter().any(|phrase| reason.as_str().unwrap().contains(phrase)), "{reason}: {result}");
    }
    assert_eq!((&result["counts"]["failed"], &result["counts"]["late"]), (&0.into(), &0.into()), "{result}");
    assert_eq!(result["counts"]["issued"], result["counts"]["completed"], "{result}");
    assert_eq!(result["sut_name"], "Network SUT: demo-sut-1, demo-sut-2");
    assert!(result["accuracy"]["value"].as_f64().unwrap() > 97.0, "{result}");
    let nodes = result["network"]["nodes"].as_array().unwrap();
    assert!(nodes.iter().all(|node| node["samples"].as_u64().unwrap() > 500), "both nodes work: {result}");
    let text = std::fs::read_to_string(format!("{}/result.txt", folder.arg())).unwrap();
    assert!(text.contains("VALID") && text.contains("top1"), "{text}");
    assert!(text.contains("not an official MLPerf result"), "{text}");
    let line = |name: &str| text.lines().filter(|line| line.starts_with(name)).collect::<Vec<&str>>().join("\n");
    let samples = "Samples   accuracy 450 issued, 450 answered, 0 failed; performance ";
    assert!(line("Samples").starts_with(samples), "{text}");
    assert_eq!(line("Settings"), "Settings  min_duration 10s, min_query_count 1000, performance_sample_count 450");
    let mark = "Division  not a Network division result: 3 of 38 rules broken (run_duration, suite, separate_hosts), ";
    assert!(line("Division").starts_with(mark) && line("Division").lines().count() == 1, "{text}");
    // The folder can be scored again by itself.
    let scored = LoadGen::run(&["accuracy", "--json", folder.arg()]);
    assert_eq!(scored.code, Some(0), "{scored:?}");
    let score: serde_json::Value = serde_json::from_str(&scored.stdout).unwrap();
    assert_eq!(score["value"], result["accuracy"]["value"]);
    assert_eq!((score["samples"].as_u64(), score["passed"].as_bool()), (Some(450), Some(true)));
}
