//! Check that nothing is left at a SUT node when a run is over.

use std::time::Duration;

use lon_tests::route::Route;
use lon_tests::test_run::TestRun;
use nix::sys::signal::Signal;

/// Time for the node to come to rest: number of looks, and the interval between two looks.
const LOOKS: u32 = 3_000;
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// Descriptors and threads of a process.
fn holdings(pid: u32) -> (usize, usize) {
    let count = |what: &str| std::fs::read_dir(format!("/proc/{pid}/{what}")).unwrap().count();
    (count("fd"), count("task"))
}

/// Connections, streams and tasks go with their run, whichever way it came and however it ended.
#[test]
fn after_a_run_a_node_holds_what_it_held_before() {
    for route in Route::ALL {
        let opened = route.open();
        let nodes = [opened.node("a", "null", &[])];
        let pid = nodes[0].id();
        let before = holdings(pid);
        for _ in 0..2 {
            let run =
                opened.on(TestRun::new("Server"), &nodes).set("target_qps=500,min_duration=200ms,min_query_count=1");
            let (finished, _folder) = run.args(&["--connections", "3"]).finish();
            // A lag that was too long on a busy machine is no matter here.
            assert!(matches!(finished.code, Some(0 | 3)), "{route:?}: {finished:?}");
        }
        let run = opened.on(TestRun::new("Offline"), &nodes).set("min_duration=60000,target_qps=10000");
        let (run, _folder) = run.begin();
        run.signal(Signal::SIGTERM);
        assert_eq!(run.finish().code, Some(5), "{route:?}");
        let mut after = holdings(pid);
        for _ in 0..LOOKS {
            if after == before {
                break;
            }
            std::thread::sleep(BETWEEN_LOOKS);
            after = holdings(pid);
        }
        assert_eq!(after, before, "{route:?}: descriptors and threads");
    }
}
