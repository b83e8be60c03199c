//! The rules of the Network division: what breaks them is refused, all of it at once, or marked in every output.

use lon_tests::peer::{Behaviour, Peer};
use lon_tests::process::{Finished, LoadGen, SutNode};
use lon_tests::run_folder::RunFolder;
use lon_tests::test_run::TestRun;

/// Settings and data of one's own, with which a run is over in two seconds.
const OWN: &str = "target_latency=10000,target_latency_percentile=50,min_duration=2s,schedule_rng_seed=7,target_qps=50";

const IMAGES: [&str; 4] = ["--dataset", "synthetic:u8[3,224,224]x16", "--rules", "v5.0"];

#[test]
fn a_run_that_keeps_no_rule_is_refused_with_all_of_them() {
    let node = SutNode::start("a", "null", &[]);
    let test = TestRun::of("resnet50", "Server").on(&node.address).set(OWN);
    let (finished, folder) = test.args(&IMAGES).args(&["--division", "network"]).finish();
    assert_eq!(finished.code, Some(2), "{finished:?}");
    assert!(!folder.path.exists(), "a run that never started leaves nothing");
    let rules = [
        ("run_duration", "3"),
        ("percentile", "3"),
        ("latency_limit", "4.1"),
        ("qsl_size", "4.1"),
        ("seeds", "5.1"),
        ("separate_hosts", "6.2.2"),
        ("inference", "6.2.3"),
        ("real_data", "7"),
        ("whole_dataset", "7"),
    ];
    for (id, section) in rules {
        let named = format!("({id}, section {section} of the division's rules)");
        assert!(finished.stderr.contains(&named), "no '{named}' in: {}", finished.stderr);
    }
    assert!(finished.stderr.contains("without --division network the run is possible"), "{}", finished.stderr);
}

#[test]
fn a_run_for_no_division_is_made_and_every_output_says_so() {
    let node = SutNode::start("a", "null", &[]);
    let test = TestRun::of("resnet50", "Server").on(&node.address).set(OWN).set("min_query_count=20");
    let (finished, folder) = test.args(&IMAGES).finish();
    assert!(matches!(finished.code, Some(0 | 3)), "{finished:?}");
    let result = folder.result();
    let rules = result["division"]["rules"].as_array().unwrap();
    let verdict = |id: &str| rules.iter().find(|rule| rule["id"] == id).unwrap()["verdict"].as_str().unwrap();
    for id in ["run_duration", "seeds", "separate_hosts", "inference", "real_data"] {
        assert_eq!(verdict(id), "broken", "{id}");
    }
    assert_eq!((verdict("suite"), verdict("all_crossed"), verdict("no_caching")), ("kept", "kept", "not checked"));
    let broken = rules.iter().filter(|rule| rule["verdict"] == "broken").count();
    let marks = result["marks"].as_array().unwrap();
    assert_eq!(marks.iter().filter(|mark| mark.as_str().unwrap().starts_with("not a Network result")).count(), broken);
    for file in ["mlperf_log_summary.txt", "mlperf_log_detail.txt"] {
        let text = std::fs::read_to_string(folder.path.join(file)).unwrap();
        assert!(text.contains("not a Network result") && text.contains("(seeds, section 5.1 of the"), "{file}");
    }
    let lines: Vec<&str> = finished.stdout.lines().filter(|line| line.starts_with("Division")).collect();
    let [mark] = lines[..] else { panic!("{finished:?}") };
    for part in ["not a Network division result: ", " broken (", "not checked; the verdict above does not depend"] {
        assert!(mark.contains(part), "{part} in: {mark}");
    }
    let listed = LoadGen::run(&["show", "--division", folder.arg()]);
    assert_eq!(listed.code, Some(0), "{listed:?}");
    for part in ["run_duration", "broken", "not checked", "only the submitter can say so"] {
        assert!(listed.stdout.contains(part), "no '{part}' in: {listed:?}");
    }
}

#[test]
fn conf_lists_the_rules_before_anything_runs() {
    let flags = ["conf", "--benchmark", "resnet50", "--scenario", "Server", "--rules", "v5.0", "--division", "network"];
    let listed = LoadGen::run(&flags);
    assert_eq!(listed.code, Some(0), "{listed:?}");
    for part in ["Rules of the Network division", "separate_hosts", "Appendix B", "not checked", "kept"] {
        assert!(listed.stdout.contains(part), "no '{part}' in: {}", listed.stdout);
    }
    let json = LoadGen::run(&[&flags[..], &["--set", "min_duration=2s", "--json"]].concat());
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    let rules = json["division"]["rules"].as_array().unwrap();
    let broken: Vec<_> = rules.iter().filter(|rule| rule["verdict"] == "broken").map(|rule| &rule["id"]).collect();
    assert_eq!(broken, ["run_duration"], "{json}");
}

/// An accuracy run of the Network division, on as many volumes as KiTS19 has, against a peer with these manners.
fn accuracy_run(behaviour: Behaviour) -> (Finished, RunFolder) {
    let data = tempfile::tempdir().unwrap();
    let header = b"{'descr': '|u1', 'fortran_order': False, 'shape': (43, 1, 2, 2, 2), }\n";
    let length = (header.len() as u16).to_le_bytes();
    let file = data.path().join("volumes.npy");
    std::fs::write(&file, [&b"\x93NUMPY\x01\x00"[..], &length, header, &[7; 43 * 8]].concat()).unwrap();
    let peer = Peer::start(behaviour);
    let test = TestRun::of("3d-unet", "Offline").on(&peer.address.to_string());
    let test = test.args(&["--mode", "AccuracyOnly", "--dataset", file.to_str().unwrap(), "--rules", "v5.0"]);
    test.args(&["--division", "network"]).finish()
}

#[test]
fn a_rule_that_the_run_breaks_makes_it_invalid() {
    // The volumes have no masks: nothing else is wrong with the run.
    let (finished, folder) = accuracy_run(Behaviour::good("a"));
    assert_eq!(finished.code, Some(3), "{finished:?}");
    let result = folder.result();
    let [reason] = &result["reasons"].as_array().unwrap()[..] else { panic!("{result}") };
    assert!(reason.as_str().unwrap().contains("was not judged") && result["division"]["name"] == "network", "{result}");
    let rules = result["division"]["rules"].as_array().unwrap();
    assert!(rules.iter().all(|rule| rule["verdict"] != "broken" && rule["rounds"][0] == "v5.0"), "{result}");

    let (finished, folder) = accuracy_run(Behaviour { miscounts: true, ..Behaviour::good("a") });
    assert_eq!(finished.code, Some(3), "{finished:?}");
    let result = folder.result();
    assert_eq!(result["result"], "INVALID");
    let reasons = result["reasons"].to_string();
    let breach = "a rule of the Network division is broken: the ends have counted differently";
    assert!(reasons.contains(breach) && reasons.contains("(all_crossed, section 6.2.3 of the"), "{reasons}");
}

#[test]
fn what_the_official_script_printed_of_the_accuracy_run_is_judged() {
    let (_, folder) = accuracy_run(Behaviour::good("a"));
    let sum = folder.result()["files"]["mlperf_log_accuracy.json"]["sha256"].as_str().unwrap().to_owned();
    let target = |dice: &str| {
        let text = format!("Accuracy: mean = {dice}, kidney = 0.9, tumor = 0.8\nhash={sum}\n");
        std::fs::write(folder.path.join("accuracy.txt"), text).unwrap();
        let base = ["conf", "--benchmark", "3d-unet", "--scenario", "Offline", "--rules", "v5.0", "--json"];
        let conf = LoadGen::run(&[&base[..], &["--division", "network", "--accuracy-run", folder.arg()]].concat());
        assert_eq!(conf.code, Some(0), "{conf:?}");
        let conf: serde_json::Value = serde_json::from_str(&conf.stdout).unwrap();
        let rules = conf["division"]["rules"].as_array().unwrap();
        let verdict = |id: &str| rules.iter().find(|rule| rule["id"] == id).unwrap()["verdict"].clone();
        let setup = rules.iter().find(|rule| rule["why"].to_string().contains("is INVALID"));
        assert!(setup.is_none(), "a run that others score: {setup:?}");
        verdict("accuracy_target")
    };
    assert_eq!((target("0.86170"), target("0.85")), ("kept".into(), "broken".into()));
}
