//! `--priority` at both ends: what was asked for, and what was got.

use lon_tests::process::SutNode;
use lon_tests::test_run::TestRun;

#[test]
fn what_priority_both_ends_got_is_in_the_result() {
    let node = SutNode::start("a", "null", &["--priority", "auto"]);
    let run = |priority| {
        let test = TestRun::new("Server").patient().on(&node.address);
        test.set("target_qps=200,min_duration=0,min_query_count=50").args(&["--priority", priority])
    };
    let (process, folder) = run("realtime").start();
    let finished = process.finish();
    match finished.code {
        // The machine decides whether it grants the priority.
        Some(2) => {
            assert!(finished.stderr.contains("--priority realtime: the system does not grant it"), "{finished:?}");
        }
        _ => assert_eq!(folder.result()["saturation"]["priority"], "realtime", "{finished:?}"),
    }
    let (_, folder) = run("normal").finish();
    let result = folder.result();
    assert_eq!(result["saturation"]["priority"], "normal");
    let of_node = result["sut"][0]["settings"]["priority"].as_str().unwrap();
    assert!(["realtime", "normal"].contains(&of_node), "{of_node}");
}

#[test]
fn real_time_threads_that_never_sleep_must_leave_a_core() {
    let node = SutNode::start("a", "null", &[]);
    let test = TestRun::new("Server").patient().on(&node.address).under(&["taskset", "-c", "0"]);
    let (refused, _) = test.args(&["--priority", "realtime", "--busy-poll", "--anyway"]).start();
    let refused = refused.finish();
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("would hold the last core"), "{refused:?}");
}

/// The user's `chrt -i 0` says that others come first.
#[test]
fn a_program_that_was_started_to_give_way_stays_as_it_is() {
    let node = SutNode::start("a", "null", &["--priority", "auto"]);
    let test = TestRun::new("Server").patient().on(&node.address).under(&["chrt", "-i", "0"]);
    let (_, folder) =
        test.set("target_qps=200,min_duration=0,min_query_count=50").args(&["--priority", "auto"]).finish();
    assert_eq!(folder.result()["saturation"]["priority"], "normal");
}
