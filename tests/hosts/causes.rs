//! Runs that something holds back, each told what it is: a link that is full, nodes that are slow, a host that is busy,
//! nodes that take too few samples at once for the way to them.
//!
//! Each is run several times, since a cause that is named by chance is worse than none: `LON_TEST_CAUSE_RUNS` says how
//! often.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use lon_tests::fabric::{Fabric, FabricSpec};
use lon_tests::process::{SutNode, sut};
use lon_tests::test_run::TestRun;
use serde_json::Value;

/// Pictures of 1.2 Mbit each.
const PICTURES: &str = "synthetic:u8[150528]x16";

/// Returns the number of times that each run is made.
fn runs() -> usize {
    std::env::var("LON_TEST_CAUSE_RUNS").map_or(5, |runs| runs.parse().unwrap())
}

/// Makes a run again and again. The cause that its result names each time; the last result.
fn causes(run: impl Fn() -> TestRun) -> (Vec<String>, Value) {
    let result = |_| {
        let (finished, folder) = run().finish();
        assert!(matches!(finished.code, Some(0 | 3)), "{finished:?}");
        folder.result()
    };
    let results: Vec<Value> = (0..runs()).map(result).collect();
    let cause = |result: &Value| result["bound"]["cause"].as_str().unwrap_or("none").to_owned();
    let named = results.iter().map(cause).collect();
    for result in &results {
        println!("{} {} {}", result["scenario"], result["bound"], result["schedule_lag_ns"]["p99"]);
    }
    (named, results.into_iter().next_back().unwrap())
}

fn assert_named(cause: &str, named: &[String]) {
    assert!(named.iter().all(|name| name == cause), "{cause} is what it is, and not always said: {named:?}");
}

#[test]
#[ignore = ".ci/run causes"]
fn a_link_that_is_full_is_named_with_the_rate_that_fits() {
    let fabric = Fabric::new(FabricSpec { hosts: 3, rate_mbit_s: Some(100) });
    // The links of the nodes are what is narrow.
    fabric.reshape(fabric.host(0), None);
    let nodes = [1, 2].map(|host| SutNode::start_in(fabric.host(host), &format!("n{host}"), "null", &[]));
    let of = |scenario: &str| TestRun::new(scenario).dataset(PICTURES).inside(fabric.host(0)).on(&sut(&nodes));
    let set = "target_qps=200,min_duration=2000,min_query_count=100,target_latency=100";
    let (named, late) = causes(|| of("Server").set(set));
    assert_named("link", &named);
    let fits = late["bound"]["links_fit_per_s"].as_f64().unwrap();
    assert!((140.0..=165.0).contains(&fits), "{late}");
    let (reasons, hints) = (late["reasons"].to_string(), late["hints"].to_string());
    assert!(reasons.contains("because of the link: 200/s needs 24"), "{reasons}");
    assert!(reasons.contains("--compression gives more"), "{reasons}");
    assert!(hints.contains(&format!("--set target_qps={fits:.0}")), "{hints}");
    assert_eq!(late["network"]["bandwidth_gbit_s"]["is_limit"], true, "{late}");
    let (named, _) = causes(|| of("Offline").set("target_qps=150,min_duration=2000"));
    assert_named("link", &named);
}

#[test]
#[ignore = ".ci/run causes"]
fn nodes_that_are_slow_are_named() {
    let node = SutNode::start("n", "synthetic:constant=20ms", &["--max-batch", "1"]);
    let of = |scenario: &str| TestRun::new(scenario).on(&node.address);
    let set = "target_qps=100,min_duration=2000,min_query_count=100,target_latency=100";
    let (named, slow) = causes(|| of("Server").set(set).args(&["--max-lag", "1s"]));
    assert_named("node", &named);
    assert_eq!(slow["network"]["bandwidth_gbit_s"]["is_limit"], false, "{slow}");
    let (named, _) = causes(|| of("Offline").set("target_qps=50,min_duration=2000"));
    assert_named("node", &named);
}

#[test]
#[ignore = ".ci/run causes"]
fn a_host_that_is_busy_is_named() {
    let node = SutNode::start_under(&["taskset", "-c", "1"], "n", "null", &[]);
    let _others: Vec<Busy> = (0..4).map(|_| Busy::on_the_first_core()).collect();
    let of = |scenario: &str| TestRun::new(scenario).on(&node.address).under(&["taskset", "-c", "0"]);
    let set = "target_qps=1000,min_duration=2000,min_query_count=100,target_latency=10000";
    let (named, late) = causes(|| of("Server").set(set).args(&["--max-lag", "500us"]));
    assert_named("loadgen_host", &named);
    assert!(late["reasons"].to_string().contains("had no core"), "{late}");
    // In the longer of the runs sockets are full, too.
    for target_qps in [8_000, 200_000] {
        let (named, _) = causes(|| of("Offline").set(&format!("target_qps={target_qps},min_duration=2000")));
        assert_named("loadgen_host", &named);
    }
}

#[test]
#[ignore = ".ci/run causes"]
fn nodes_that_take_too_few_samples_for_the_way_are_named() {
    let node =
        SutNode::start("n", "synthetic:constant=1ms", &["--max-batch", "1", "--workers", "4", "--memory", "64MiB"]);
    let address = far_away(node.address.parse().unwrap(), Duration::from_millis(200)).to_string();
    for transport in ["tcp", "grpc"] {
        let of = |scenario: &str| TestRun::new(scenario).on(&address).args(&["--transport", transport]);
        // 24 MiB are under way at this rate, and the node takes 16; HTTP/2 takes fewer.
        let set = "target_qps=60,min_duration=2000,min_query_count=100,target_latency=10000";
        let large = || of("Server").dataset("synthetic:u8[1048576]x4").set(set).args(&["--max-lag", "1s"]);
        let (named, refused) = causes(large);
        assert_named("window", &named);
        assert!(refused["reasons"].to_string().contains("because of the window of the SUT nodes"), "{refused}");
        let (named, _) = causes(|| of("Offline").set("target_qps=20,min_duration=2000"));
        assert_named("window", &named);
    }
}

/// A picture takes 12.7 ms of such a link, so that few may be under way at a time.
#[test]
#[ignore = ".ci/run causes"]
fn a_rate_that_is_found_holds_in_the_run_and_none_is_found_that_the_wire_forbids() {
    let fabric = Fabric::new(FabricSpec { hosts: 2, rate_mbit_s: Some(100) });
    fabric.reshape(fabric.host(0), None);
    let node = SutNode::start_in(fabric.host(1), "n", "null", &[]);
    let of = |target_latency_ms: u64, percentile: u64| {
        let limit = format!("target_latency={target_latency_ms},target_latency_percentile={percentile}");
        let set = format!("target_qps=auto,min_duration=4000,min_query_count=500,{limit}");
        let test = TestRun::new("Server").dataset(PICTURES).inside(fabric.host(0)).on(&node.address).set(&set);
        test.args(&["--max-lag", "1s"])
    };
    // Bursts of seven pictures come at every rate: within 60 ms a few of 500 queries may be late.
    for (limit_ms, percentile) in (0..runs()).flat_map(|_| [(100, 99), (60, 95)]) {
        let (finished, folder) = of(limit_ms, percentile).finish();
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let how = folder.result()["made"]["found_how"].as_str().unwrap().to_owned();
        assert!(how.contains(&format!(" (limit {limit_ms}.0ms), at least 20 % below it as wanted")), "{how}");
        assert!(how.contains("; the limit of higher rates is the link: "), "{how}");
    }
    // No rate helps a sample that is longer on the wire than it may take.
    let (refused, _) = of(10, 99).start();
    let refused = refused.finish();
    assert_eq!(refused.code, Some(3), "{refused:?}");
    assert!(refused.stderr.contains("no rate keeps the limit of the latency"), "{refused:?}");
}

/// A program that never sleeps.
struct Busy(Child);

impl Busy {
    fn on_the_first_core() -> Busy {
        let child = Command::new("taskset").args(["-c", "0", "sh", "-c", "while :; do :; done"]).spawn();
        Busy(child.expect("taskset starts"))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Where `node` is reached over a long way, of any width: everything is so much later at the other end.
fn far_away(node: SocketAddr, by: Duration) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for near in listener.incoming() {
            let (Ok(near), Ok(far)) = (near, TcpStream::connect(node)) else { continue };
            for (from, to) in [(&near, &far), (&far, &near)] {
                let _ = from.set_nodelay(true);
                later(from.try_clone().unwrap(), to.try_clone().unwrap(), by);
            }
        }
    });
    address
}

/// Passes bytes on, so much later.
fn later(mut from: TcpStream, mut to: TcpStream, by: Duration) {
    let (sender, receiver) = mpsc::channel::<(Instant, Vec<u8>)>();
    std::thread::spawn(move || {
        let mut bytes = vec![0; 1 << 20];
        while let Ok(count) = from.read(&mut bytes) {
            let _ = sender.send((Instant::now() + by, bytes[..count].to_vec()));
            if count == 0 {
                break;
            }
        }
    });
    std::thread::spawn(move || {
        for (at, bytes) in receiver {
            std::thread::sleep(at.saturating_duration_since(Instant::now()));
            let ended = bytes.is_empty() || to.write_all(&bytes).is_err();
            if ended {
                let _ = to.shutdown(std::net::Shutdown::Write);
                return;
            }
        }
    });
}
