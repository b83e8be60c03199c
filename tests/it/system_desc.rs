//! `system_desc.json`: what is known of both ends is there, what is not says so, what the user states is taken.

use std::fs;

use lon_tests::json::Json;
use lon_tests::process::SutNode;
use lon_tests::run_folder::RunFolder;
use lon_tests::test_run::TestRun;

/// The keys that MLPerf's submission checker asks of a network system.
const KEYS: [&str; 13] = [
    "is_network",
    "network_type",
    "network_media",
    "network_rate",
    "nic_loadgen",
    "number_nic_loadgen",
    "net_software_stack_loadgen",
    "network_protocol",
    "number_connections",
    "nic_sut",
    "number_nic_sut",
    "net_software_stack_sut",
    "network_topology",
];

fn description(folder: &RunFolder) -> Json {
    Json::read(&folder.path.join("system_desc.json"))
}

fn short(test: TestRun) -> TestRun {
    test.set("target_qps=50,min_duration=0")
}

#[test]
fn on_loopback_no_interface_is_made_up() {
    let [a, b] = ["a", "b"].map(|name| SutNode::start(name, "null", &[]));
    let sut = format!("{},{}", a.address, b.address);
    let test = short(TestRun::new("Offline").on(&sut)).args(&["--connections", "2", "--transport", "tcp"]);
    let (finished, folder) = test.finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let desc = description(&folder);
    for key in KEYS {
        let empty = desc.text(&format!("/{key}")).is_empty();
        assert_eq!(empty, !desc.is_null(&format!("/to_be_stated/{key}")), "{key}: {desc}");
    }
    assert_eq!(desc.text("/is_network"), "True");
    assert_eq!((desc.text("/network_protocol"), desc.text("/number_connections")), ("TCP".into(), "4".into()));
    for key in ["network_type", "network_rate", "nic_loadgen", "number_nic_sut", "network_topology"] {
        assert!(!desc.is_null(&format!("/to_be_stated/{key}")), "{key}: {desc}");
    }
    for (key, software) in [("net_software_stack_loadgen", "loadgen-node "), ("net_software_stack_sut", "sut-node ")] {
        let text = desc.text(&format!("/{key}"));
        assert!(text.contains("Linux ") && text.contains(software), "{text}");
    }
    assert_eq!(desc.text("/loadgen/boot_id"), desc.text("/sut/1/boot_id"));
    assert!(desc.items("/marks").iter().any(|mark| mark.text("").contains("one host")), "{desc}");
    assert_eq!(desc.text("/sut/1/name"), "b");
}

#[test]
fn what_the_user_states_is_taken_and_checked_before_anything_runs() {
    let node = SutNode::start("a", "null", &[]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sys.json");
    let run = |text: &str| {
        fs::write(&file, text).unwrap();
        short(TestRun::new("Offline").on(&node.address)).args(&["--system-desc", file.to_str().unwrap()]).finish()
    };
    let (finished, folder) = run(r#"{"network_media": "copper", "network_topology": "one switch", "cooling": "air"}"#);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let desc = description(&folder);
    assert_eq!((desc.text("/network_media"), desc.text("/cooling")), ("copper".into(), "air".into()));
    assert!(desc.is_null("/to_be_stated/network_topology") && !desc.is_null("/to_be_stated/network_type"), "{desc}");
    let (finished, folder) = run(r#"{"network_topolgy": "one switch"}"#);
    assert_eq!(finished.code, Some(2), "{finished:?}");
    assert!(finished.stderr.contains("sys.json") && finished.stderr.contains("network_topolgy"), "{finished:?}");
    assert!(!folder.path.exists());
}
