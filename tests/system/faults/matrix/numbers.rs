//! Time until a run ends that has lost one of its nodes, at a rate.

use std::thread::sleep;
use std::time::{Duration, Instant};

use lon_tests::folder_check::FolderCheck;
use lon_tests::route::Route;
use lon_tests::test_run::TestRun;
use nix::sys::signal::Signal;

/// Longest time on a machine of its own, by transport, and the factor that is allowed on a busy machine.
const LIMITS: [(Route, Duration); 3] = [
    (Route::Grpc, Duration::from_secs(3)),
    (Route::Tcp, Duration::from_secs(3)),
    (Route::Quic, Duration::from_secs(6)),
];
const SLACK: u32 = 3;

#[test]
fn a_node_of_four_that_dies_at_5000_queries_a_second_ends_the_run_in_seconds() {
    for (route, limit) in LIMITS {
        let opened = route.open();
        let nodes = ["a", "b", "c", "d"].map(|name| opened.node(name, "null", &[]));
        let test = TestRun::new("Server").set("min_duration=60000,target_qps=5000");
        let (run, folder) = opened.on(test, &nodes).begin();
        sleep(Duration::from_secs(1));
        let killed = Instant::now();
        nodes[3].signal(Signal::SIGKILL);
        let finished = run.finish();
        let ended = killed.elapsed();
        let check = FolderCheck::of(&folder.path, finished.code);
        let [issued, completed, failed] = ["issued", "completed", "failed"].map(|name| check.count(name));
        println!("{route:?}: ended {ended:.2?} after the kill; {issued} issued, {completed} answered, {failed} failed");
        assert_eq!((finished.code, check.faults.as_slice()), (Some(4), &[][..]), "{route:?}: {finished:?}");
        assert!(ended < limit * SLACK, "{route:?}: {ended:?}");
    }
}
