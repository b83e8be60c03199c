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

/// The same once it no longer changes: after a start, or after a run, threads come and go for a while.
fn at_rest(pid: u32) -> (usize, usize) {
    let (mut last, mut unchanged) = (holdings(pid), 0);
    while unchanged < 10 {
        std::thread::sleep(BETWEEN_LOOKS);
        let now = holdings(pid);
        (last, unchanged) = (now, if now == last { unchanged + 1 } else { 0 });
    }
    last
}

/// Connections, streams and tasks go with their run, whichever way it came and however it ended.
#[test]
fn after_a_run_a_node_holds_no_more_than_before() {
    for route in Route::ALL {
        let opened = route.open();
        let nodes = [opened.node("a", "null", &[])];
        let pid = nodes[0].id();
        let run_once = || {
            let run =
                opened.on(TestRun::new("Server"), &nodes).set("target_qps=500,min_duration=200ms,min_query_count=1");
            let (finished, _folder) = run.args(&["--connections", "3"]).finish();
            // A lag that was too long on a busy machine is no matter here.
            assert!(matches!(finished.code, Some(0 | 3)), "{route:?}: {finished:?}");
        };
        // The first run starts what later ones share.
        run_once();
        let before = at_rest(pid);
        (0..2).for_each(|_| run_once());
        let run = opened.on(TestRun::new("Offline"), &nodes).set("min_duration=60000,target_qps=10000");
        let (run, _folder) = run.begin();
        run.signal(Signal::SIGTERM);
        assert_eq!(run.finish().code, Some(5), "{route:?}");
        let holds_more = |(descriptors, threads): (usize, usize)| descriptors > before.0 || threads > before.1;
        let mut after = holdings(pid);
        for _ in 0..LOOKS {
            if !holds_more(after) {
                break;
            }
            std::thread::sleep(BETWEEN_LOOKS);
            after = holdings(pid);
        }
        assert!(!holds_more(after), "{route:?}: {after:?} descriptors and threads, {before:?} before");
    }
}
