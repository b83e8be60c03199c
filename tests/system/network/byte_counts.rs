//! Bytes that cross the network, exactly, as both ends count them.

use lon_tests::process::{SutNode, sut};
use lon_tests::route::{Route, TRANSPORTS};
use lon_tests::test_run::{TestRun, went_well};
use lon_tests::traffic::{IMAGE_BYTES, IMAGES, bytes};

/// As reports call them.
const CODECS: [&str; 5] = ["none", "lz4", "zstd:1", "shuffle-zstd:3", "delta-zstd:1"];

/// Every transport, every codec, one to four nodes.
#[test]
fn message_bytes_are_equal_at_both_ends() {
    let nodes = ["a", "b", "c", "d"].map(|name| SutNode::start(name, "synthetic:constant=0us,output=5000", &[]));
    let cases = TRANSPORTS.iter().flat_map(|transport| CODECS.map(|codec| (transport, codec)));
    for (number, (transport, codec)) in cases.enumerate() {
        // Five codecs a transport: each transport sees every number of nodes.
        let count = 1 + number % nodes.len();
        let what = format!("{transport} {codec} {count} nodes");
        let sut = sut(&nodes[..count]);
        let test = TestRun::new("Offline").on(&sut).dataset(IMAGES);
        let test = test.args(&["--transport", transport, "--compression", codec, "--response-compression", "zstd"]);
        let (_, folder) = went_well(test.set("min_duration=0,min_query_count=200,target_qps=1"), &what);
        let report = folder.network_report();
        assert_eq!((report.text("/transport").as_str(), report.text("/codec").as_str()), (*transport, codec));
        let nodes = report.items("/nodes");
        assert_eq!(nodes.len(), count, "{report}");
        for node in &nodes {
            for direction in ["ingress", "egress"] {
                let ends = ["loadgen", "sut"].map(|end| bytes(node, "message", direction, end));
                assert_eq!(ends[0], ends[1], "{what}: {direction} in {report}");
                assert!(ends[0] > 0, "{what}: {direction} in {report}");
            }
        }
        // The layers lie around each other: what a codec saves, and what messages add.
        let sum = |pointer: &str| nodes.iter().map(|node| node.count(pointer)).sum::<u64>();
        let [tensor, encoded] = ["tensor", "encoded"].map(|layer| sum(&format!("/{layer}_bytes/ingress")));
        let message = sum("/message_bytes/ingress/loadgen");
        assert!(tensor >= 200 * IMAGE_BYTES as u64, "{what}: {report}");
        assert!(encoded < message && message < encoded + 200 * 64, "{what}: {report}");
        match codec {
            "none" => assert_eq!(encoded, tensor, "{what}: {report}"),
            // Finds nothing to gain in a noisy image.
            "lz4" => {}
            _ => assert!(encoded < tensor, "{what}: {report}"),
        }
    }
}

/// An interface's claim and its traffic appear where there is an interface, and are null on loopback.
#[test]
fn loopback_has_no_interface_to_speak_of() {
    for route in Route::ALL {
        let opened = route.open();
        let nodes = [opened.node("a", "null", &[])];
        let test = TestRun::new("Offline").set("min_duration=0,min_query_count=100,target_qps=1");
        let (_, folder) = went_well(opened.on(test, &nodes), route.transport());
        let report = folder.network_report();
        assert!(report.is_null("/nodes/0/nic"), "{route:?}: {report}");
        assert!(report.is_null("/bandwidth_gbit_s/nic_claim/ingress"), "{route:?}: {report}");
        // The socket carries more than the messages: heads, handshakes, records of TLS.
        for direction in ["ingress", "egress"] {
            let node = report.at("/nodes/0");
            let [message, socket] = ["message", "socket"].map(|layer| bytes(&node, layer, direction, "loadgen"));
            assert!(message > 0 && socket > message, "{route:?} {direction}: {report}");
        }
    }
}
