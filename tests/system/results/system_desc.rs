//! `system_desc.json`: what is known of both ends is there, what is not says so, what the user states is taken.

use std::fs;

use lon_tests::json::Json;
use lon_tests::process::SutNode;
use lon_tests::run_folder::RunFolder;
use lon_tests::test_run::TestRun;

/// The keys that MLPerf's submission checker asks of every system, and of a network system.
const KEYS: &str = "is_network network_type network_media network_rate nic_loadgen number_nic_loadgen \
    net_software_stack_loadgen network_protocol number_connections nic_sut number_nic_sut net_software_stack_sut \
    network_topology division submitter status system_name number_of_nodes host_processor_model_name \
    host_processors_per_node host_processor_core_count host_memory_capacity host_storage_capacity host_storage_type \
    accelerators_per_node accelerator_model_name accelerator_memory_capacity framework operating_system system_type \
    other_software_stack host_processor_frequency host_processor_caches host_memory_configuration \
    host_processor_interconnect host_networking host_networking_topology accelerator_frequency \
    accelerator_host_interconnect accelerator_interconnect accelerator_interconnect_topology \
    accelerator_memory_configuration accelerator_on-chip_memories cooling hw_notes sw_notes host_network_card_count \
    system_type_detail";

fn description(folder: &RunFolder) -> Json {
    Json::read(&folder.path.join("system_desc.json"))
}

fn short(test: TestRun) -> TestRun {
    test.patient().set("target_qps=50,min_duration=0")
}

#[test]
fn on_loopback_no_interface_is_made_up() {
    let [a, b] = ["a", "b"].map(|name| SutNode::start(name, "null", &[]));
    let sut = format!("{},{}", a.address, b.address);
    let test = short(TestRun::new("Offline").on(&sut)).args(&["--connections", "2", "--transport", "tcp"]);
    let (finished, folder) = test.finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let desc = description(&folder);
    assert_eq!(KEYS.split(' ').count(), 48);
    for key in KEYS.split(' ') {
        let empty = desc.text(&format!("/{key}")).is_empty();
        assert_eq!(empty, !desc.is_null(&format!("/to_be_stated/{key}")), "{key}: {desc}");
    }
    assert_eq!(desc.text("/is_network"), "True");
    let protocol = "TCP; layer 4: TCP, layer 3: IPv4, layers 1 and 2: loopback";
    assert_eq!((desc.text("/network_protocol"), desc.text("/number_connections")), (protocol.into(), "4".into()));
    assert!(desc.text("/data_path/0").starts_with("LoadGen node: host memory"), "{desc}");
    assert_eq!(desc.text("/sut/0/setup/settings/max_batch"), "8", "{desc}");
    let svg = fs::read_to_string(folder.path.join("system_diagram.svg")).unwrap();
    assert!(svg.contains("SUT node a") && svg.contains("SUT node b") && svg.contains("LoadGen node"), "{svg}");
    for key in ["network_type", "network_rate", "nic_loadgen", "number_nic_sut", "network_topology"] {
        assert!(!desc.is_null(&format!("/to_be_stated/{key}")), "{key}: {desc}");
    }
    for (key, software) in [("net_software_stack_loadgen", "loadgen-node "), ("net_software_stack_sut", "sut-node ")] {
        let text = desc.text(&format!("/{key}"));
        assert!(text.contains("Linux ") && text.contains(software), "{text}");
    }
    assert_eq!(desc.text("/loadgen/boot_id"), desc.text("/sut/1/boot_id"));
    // A run folder is given away: ids say which machines are the same, and not which they are.
    assert_eq!(desc.text("/loadgen/boot_id").len(), 64, "{desc}");
    for path in ["/proc/sys/kernel/random/boot_id", "/etc/machine-id"] {
        let id = fs::read_to_string(path).unwrap_or_default();
        let id = id.trim();
        assert!(id.is_empty() || !folder.texts().iter().any(|text| text.contains(id)), "{path}");
    }
    let (_, again) = short(TestRun::new("Offline").on(&a.address)).finish();
    assert_ne!(desc.text("/loadgen/boot_id"), description(&again).text("/loadgen/boot_id"), "another run, another key");
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
