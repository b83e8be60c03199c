//! The log of both programs in JSON: an event is a constant message and fields.

use std::process::{Command, Stdio};

use lon_tests::process::{SutNode, binary};
use lon_tests::test_run::TestRun;
use nix::sys::signal::Signal;
use serde_json::Value;

/// The events with this message.
fn events<'e>(events: &'e [Value], message: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| event["fields"]["message"] == message).map(|event| &event["fields"]).collect()
}

fn parsed(log: &str) -> Vec<Value> {
    log.lines().filter(|line| line.starts_with('{')).map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn events_in_json_have_fields() {
    let node = SutNode::start("N1", "null", &["--log-format", "json"]);
    let run = TestRun::new("Server").on(&node.address).set("min_duration=0,min_query_count=100,target_qps=2000");
    let (finished, _folder) = run.args(&["--log-format", "json", "--max-lag", "60s"]).finish();
    assert!(matches!(finished.code, Some(0 | 3)), "{finished:?}");
    let ours = parsed(&finished.stderr);
    let [claimed] = events(&ours, "the run has its SUT nodes")[..] else { panic!("{}", finished.stderr) };
    let [started] = events(&ours, "run started")[..] else { panic!("{}", finished.stderr) };
    assert_eq!((&claimed["nodes"], &started["scenario"]), (&"N1".into(), &"Server".into()));
    let [named] = events(&ours, "the SUT has said its name")[..] else { panic!("{}", finished.stderr) };
    assert!(named["took_us"].is_u64(), "a duration is a number: {named}");
    let loaded = events(&ours, "samples loaded");
    assert!(loaded.iter().all(|event| event["samples"].as_u64() > Some(0) && event["bytes"].is_u64()), "{loaded:?}");
    node.signal(Signal::SIGTERM);
    let (_, log) = node.wait_with_log();
    assert!(parsed(&log).iter().all(|event| event["fields"]["message"].is_string()), "{log}");
}

/// Colours appear only on terminals, and on none where `NO_COLOR` asks for none.
#[test]
fn colours_are_for_terminals_that_want_them() {
    let node = SutNode::start("N1", "null", &[]);
    let program = binary("loadgen-node");
    let check = format!("{} conformance --sut {}", program.display(), node.address);
    let has_colours = |no_color: bool, in_terminal: bool| {
        let mut command = match in_terminal {
            true => Command::new("script"),
            false => Command::new("sh"),
        };
        match in_terminal {
            true => command.args(["-qec", &check, "/dev/null"]),
            false => command.args(["-c", &check]),
        };
        command.env("TERM", "xterm").env_remove("NO_COLOR").env_remove("CI").stdin(Stdio::null());
        if no_color {
            command.env("NO_COLOR", "1");
        }
        let output = command.output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        // Of how many rules is a matter of time.
        assert!(text.contains(" kept, "), "{text} {}", String::from_utf8_lossy(&output.stderr));
        text.contains("\u{1b}[")
    };
    assert_eq!([has_colours(false, true), has_colours(true, true), has_colours(false, false)], [true, false, false]);
}
