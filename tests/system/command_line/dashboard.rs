//! The dashboard where there is no terminal. In real terminals it is tested in `others::terminal`.

use lon_tests::process::SutNode;
use lon_tests::test_run::TestRun;

/// Where there is no terminal the reason is in the log, and the run goes on.
#[test]
fn without_a_terminal_there_is_a_message_and_no_dashboard() {
    let node = SutNode::start("a-node", "null", &[]);
    let run = TestRun::new("Offline").on(&node.address).args(&["--ui", "dashboard"]);
    let (finished, _) = run.set("min_duration=0").finish();
    assert!(matches!(finished.code, Some(0 | 3)), "{finished:?}");
    assert!(finished.stderr.contains("no dashboard") && finished.stderr.contains("is no terminal"), "{finished:?}");
    assert!(!finished.stderr.contains('\u{1b}'), "{finished:?}");
}
