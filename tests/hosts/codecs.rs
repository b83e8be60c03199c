//! Gain of codecs on a link of a known rate.

use lon_tests::fabric::{Fabric, FabricSpec, Host};
use lon_tests::process::SutNode;
use lon_tests::stats::medians_within;
use lon_tests::test_run::{TestRun, went_well};
use lon_tests::traffic::IMAGES;

/// Samples per second that a codec brings over a link of 100 Mbit/s, and its ratio.
fn rate_and_ratio(from: &Host, sut: &str, codec: &str) -> (f64, f64) {
    let test = TestRun::new("Offline").inside(from).on(sut).dataset(IMAGES).args(&["--compression", codec]);
    // As many samples with every codec: three to four seconds without one.
    let (_, folder) = went_well(test.set("target_qps=150,min_duration=2000,min_query_count=1"), codec);
    let rate = folder.result()["metric"]["value"].as_f64().unwrap();
    (rate, folder.network_report().number("/ratio"))
}

/// A codec gains in samples as much as it saves in bytes: the link is what takes the time.
#[test]
#[ignore = ".ci/run links"]
fn a_codec_gains_its_ratio() {
    let fabric = Fabric::new(FabricSpec { hosts: 2, rate_mbit_s: Some(100) });
    let near = fabric.host(0);
    let node = SutNode::start_in(fabric.host(1), "a", "null", &[]);
    for codec in ["zstd:1", "delta-zstd:1"] {
        let gain = || {
            let (plain, one) = rate_and_ratio(near, &node.address, "none");
            let (encoded, ratio) = rate_and_ratio(near, &node.address, codec);
            assert!((0.99..1.01).contains(&one) && ratio > 1.05, "{codec}: ratios {one} and {ratio}");
            [encoded / plain / ratio]
        };
        assert_eq!(medians_within(0.93..=1.07, 5, gain), Ok(()), "{codec}: gain by ratio");
    }
}
