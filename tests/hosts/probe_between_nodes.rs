//! `probe --matrix` between hosts behind links of a known rate: a bad host is told from a bad cable.

use lon_tests::fabric::{Fabric, FabricSpec};
use lon_tests::json::Json;
use lon_tests::probe::json;
use lon_tests::process::{LoadGen, SutNode, sut};
use lon_tests::secrets::{Secrets, texts};

/// Returns the suspects of a matrix: place, nodes and direction of each.
fn suspects(document: &Json) -> Vec<(String, Vec<String>, String)> {
    let suspect = |it: &Json| {
        let nodes = it.items("/nodes").iter().map(|node| node.text("")).collect();
        (it.text("/place"), nodes, it.text("/direction"))
    };
    document.items("/matrix/0/judgement/suspects").iter().map(suspect).collect()
}

/// Four hosts behind links of one rate: nothing, then a host, then one direction of it, then what lies between two.
#[test]
#[ignore = ".ci/run links"]
fn a_bad_host_is_told_from_a_bad_cable() {
    const RATE_MBIT_S: u32 = 100;
    let fabric = Fabric::new(FabricSpec { hosts: 5, rate_mbit_s: Some(RATE_MBIT_S) });
    let secrets = Secrets::new();
    let flags = secrets.flags(&[("--token-file", "token")]);
    let mut nodes: Vec<SutNode> = Vec::new();
    // The last first: each may measure those that come after it.
    for number in (1..=4).rev() {
        let later = sut(&nodes);
        let peers = ["--probe-peers", &later];
        let more = [&texts(&flags)[..], if later.is_empty() { &[] } else { &peers }].concat();
        nodes.insert(0, SutNode::start_in(fabric.host(number), &format!("n{number}"), "null", &more));
    }
    let sut = sut(&nodes);
    let suspects_of = |code: i32| {
        let args = ["probe", "--sut", &sut, "--insecure", "--json", "--matrix", "--tolerance", "25%"];
        let more = ["--duration", "400ms", "--sizes", "64", "--transport", "tcp"];
        let finished = LoadGen::start_in(fabric.host(0), &[], &[&args[..], &more, &texts(&flags)].concat()).finish();
        assert_eq!(finished.code, Some(code), "{finished:?}");
        let document = json(&finished);
        assert!(document.flag("/matrix/0/judgement/tells_hosts_from_links"), "{document}");
        let usual = document.number("/matrix/0/judgement/usual_gbit_s") * 1e3;
        assert!((80.0..=100.0).contains(&usual), "{usual} Mbit/s: {document}");
        suspects(&document)
    };
    let suspect = |place: &str, nodes: &[&str], direction: &str| {
        vec![(place.to_owned(), nodes.iter().map(|&node| node.to_owned()).collect::<Vec<_>>(), direction.to_owned())]
    };
    assert_eq!(suspects_of(0), [], "an even fabric");
    let second = fabric.host(2);
    fabric.reshape(second, Some(RATE_MBIT_S * 4 / 10));
    assert_eq!(suspects_of(3), suspect("host", &["n2"], "both"), "a host's own link");
    fabric.reshape(second, Some(RATE_MBIT_S));
    fabric.reshape_ways(second, [RATE_MBIT_S, RATE_MBIT_S * 4 / 10]);
    assert_eq!(suspects_of(3), suspect("host", &["n2"], "sends"), "what a host sends");
    fabric.reshape(second, Some(RATE_MBIT_S));
    fabric.reshape_between(second, fabric.host(4), RATE_MBIT_S * 3 / 10);
    assert_eq!(suspects_of(3), suspect("link", &["n2", "n4"], "one"), "one direction between two");
    fabric.reshape_between(fabric.host(4), second, RATE_MBIT_S * 3 / 10);
    assert_eq!(suspects_of(3), suspect("link", &["n2", "n4"], "both"), "both directions between two");
}
