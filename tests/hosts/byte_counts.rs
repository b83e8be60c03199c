//! Bytes of sockets against the counters of the interfaces that they crossed.

use lon_tests::fabric::{Fabric, FabricSpec, Host};
use lon_tests::process::SutNode;
use lon_tests::route::TRANSPORTS;
use lon_tests::test_run::{TestRun, went_well};
use lon_tests::traffic::bytes;

/// Ethernet, IPv4 and TCP with its timestamps, of each packet.
const TCP_HEADER_BYTES: u64 = 14 + 20 + 32;

/// Payload of UDP in a full packet of QUIC on Ethernet.
const QUIC_PACKET_BYTES: u64 = 1452;

/// Ethernet, IPv4 and UDP.
const UDP_HEADER_BYTES: u64 = 14 + 20 + 8;

/// The interface's own counters, less the heads of its packets, are what the sockets say.
#[test]
#[ignore = ".ci/run links"]
fn socket_bytes_are_those_of_the_wire() {
    for transport in TRANSPORTS {
        let fabric = Fabric::new(FabricSpec { hosts: 2, rate_mbit_s: Some(100) });
        let (near, far) = (fabric.host(0), fabric.host(1));
        // Every packet is to be counted with its head.
        fabric.hosts().iter().for_each(Host::offload_off);
        let node = SutNode::start_in(far, "a", "synthetic:constant=0us,output=150000", &[]);
        let before = near.counters();
        let test = TestRun::new("Offline").inside(near).on(&node.address).args(&["--transport", transport]);
        let test = test.dataset("synthetic:u8[150528]x64").set("target_qps=80,min_duration=2000,min_query_count=1");
        let (_, folder) = went_well(test, transport);
        let wire = near.counters().since(before);
        let head = if transport == "quic" { UDP_HEADER_BYTES } else { TCP_HEADER_BYTES };
        let report = folder.network_report();
        for (direction, bytes_on_wire, packets) in
            [("ingress", wire.tx_bytes, wire.tx_packets), ("egress", wire.rx_bytes, wire.rx_packets)]
        {
            let expected = bytes_on_wire - packets * head;
            for end in ["loadgen", "sut"] {
                let mut end_bytes = bytes(&report.at("/nodes/0"), "socket", direction, end);
                let is_sender = (end == "loadgen") == (direction == "ingress");
                if transport == "quic" && is_sender {
                    // The sender counts each packet that it hands to the kernel. A packet that a full link dropped
                    // never crossed it.
                    end_bytes -= report.count(&format!("/nodes/0/retransmits/{end}")) * QUIC_PACKET_BYTES;
                }
                let off = end_bytes.abs_diff(expected) as f64 / expected as f64;
                assert!(off < 0.02, "{transport} {direction}: {end} says {end_bytes}, the wire {expected}: {report}");
            }
        }
    }
}
