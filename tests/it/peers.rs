//! Nodes that misbehave while a run is under way, on every way to travel.

use bytes::Bytes;
use lon_proto::v1::DispatchResponse;
use lon_tests::peer::{Manners, Script, Step, eight_bytes};
use lon_tests::process::Finished;
use lon_tests::run_folder::RunFolder;
use lon_tests::test_run::TestRun;
use lon_tests::way::Way;
use serde_json::Value;
use tonic::Status;

/// How a run against a peer ended.
struct Outcome {
    way: Way,
    finished: Finished,
    folder: RunFolder,
}

impl Outcome {
    fn result(&self) -> Value {
        self.folder.result()
    }

    fn reasons(&self) -> String {
        self.result()["reasons"].to_string()
    }

    /// It ended with this code, complete files and these counts.
    fn assert(&self, code: i32, counts: &[(&str, u64)]) {
        let Outcome { way, finished, folder } = self;
        assert_eq!(finished.code, Some(code), "{way:?}: {finished:?}");
        folder.assert_complete();
        let result = self.result();
        for (name, count) in counts {
            assert_eq!(result["counts"][name], *count, "{way:?}: {name} in {result}");
        }
        assert_eq!(result["result"], "INVALID", "{way:?}");
    }

    fn assert_reason(&self, part: &str) {
        assert!(self.reasons().contains(part), "{:?}: no '{part}' in {}", self.way, self.reasons());
    }
}

/// A short run against a peer with these manners on each way, all at once.
fn outcomes(manners: &Manners, more: &[&str]) -> [Outcome; 6] {
    let begun = Way::ALL.map(|way| {
        let paved = way.paved();
        let peer = paved.peer(manners.clone());
        let test = TestRun::new("Server").args(more).set("min_duration=0,min_query_count=100,target_qps=2000");
        let (run, folder) = paved.to(test, &peer.address.to_string()).start();
        (paved, peer, run, folder)
    });
    begun.map(|(paved, _peer, run, folder)| Outcome { way: paved.way, finished: run.finish(), folder })
}

fn runs_against(script: Script, more: &[&str]) -> [Outcome; 6] {
    outcomes(&Manners { script, ..Manners::good("odd") }, more)
}

#[test]
fn a_second_answer_is_counted_and_makes_the_run_invalid() {
    let twice: Script = |number, id| {
        let again = number == 7;
        std::iter::repeat_with(|| Step::Send(eight_bytes(id))).take(1 + usize::from(again)).collect()
    };
    for outcome in runs_against(twice, &[]) {
        outcome.assert(3, &[("duplicate", 1), ("completed", 100)]);
        outcome.assert_reason("odd sent 1 answers to samples that it had answered");
    }
}

#[test]
fn an_answer_to_an_unknown_id_is_counted_and_delivered_to_nobody() {
    let stranger: Script = |number, id| {
        let mut steps = vec![Step::Send(eight_bytes(id))];
        if number == 3 {
            steps.push(Step::Send(eight_bytes(id ^ 0x00ff_0000)));
        }
        steps
    };
    for outcome in runs_against(stranger, &[]) {
        outcome.assert(3, &[("foreign", 1), ("completed", 100)]);
    }
}

#[test]
fn a_sample_that_the_node_refuses_fails_alone() {
    let refuses: Script = |number, id| match number {
        5 => vec![Step::Send(DispatchResponse { id, last: true, error: "bad weather".into(), ..Default::default() })],
        _ => vec![Step::Send(eight_bytes(id))],
    };
    for outcome in runs_against(refuses, &[]) {
        outcome.assert(3, &[("failed", 1), ("completed", 99)]);
        outcome.assert_reason("bad weather");
    }
}

#[test]
fn a_sample_without_an_answer_times_out_and_the_run_goes_on() {
    let forgets: Script = |number, id| if number == 5 { Vec::new() } else { vec![Step::Send(eight_bytes(id))] };
    for outcome in runs_against(forgets, &["--response-timeout", "500ms"]) {
        outcome.assert(3, &[("failed", 1), ("completed", 99)]);
        outcome.assert_reason("no answer within");
        let result = outcome.result();
        assert_eq!(result["official_result"], "INVALID", "over-latency in the statistics: {result}");
    }
}

#[test]
fn rubbish_ends_the_run_with_exit_4_and_complete_files() {
    let scripts: [Script; 4] = [
        // Parts that do not begin at the beginning.
        |_, id| vec![Step::Send(DispatchResponse { part: 1, ..eight_bytes(id) })],
        // A length that is not that of the data.
        |_, id| vec![Step::Send(DispatchResponse { total_len: 9, ..eight_bytes(id) })],
        // More than is allowed.
        |_, id| vec![Step::Send(DispatchResponse { total_len: u64::MAX, data: Bytes::new(), ..eight_bytes(id) })],
        // The end of the stream, with a reason.
        |_, _| vec![Step::Fail(Status::internal("rubbish"))],
    ];
    for script in scripts {
        for outcome in runs_against(script, &[]) {
            outcome.assert(4, &[]);
            outcome.assert_reason("odd was lost");
        }
    }
}

#[test]
fn the_reason_of_a_stream_that_is_ended_is_passed_on() {
    let ends: Script = |number, id| match number {
        5 => vec![Step::Fail(Status::internal("out of order"))],
        _ => vec![Step::Send(eight_bytes(id))],
    };
    for outcome in runs_against(ends, &[]) {
        outcome.assert(4, &[]);
        outcome.assert_reason("out of order");
    }
}

#[test]
fn a_silent_node_is_lost_though_its_connection_stands() {
    let mute: Script = |_, _| Vec::new();
    for outcome in outcomes(&Manners { script: mute, heartbeats: false, ..Manners::good("odd") }, &[]) {
        outcome.assert(4, &[]);
        outcome.assert_reason("nothing was heard");
    }
}

#[test]
fn a_node_that_never_opens_its_stream_is_named_within_seconds() {
    for Outcome { way, finished, folder } in outcomes(&Manners { opens: false, ..Manners::good("closed") }, &[]) {
        assert_eq!(finished.code, Some(4), "{way:?}: {finished:?}");
        assert!(
            finished.stderr.contains("closed") && finished.stderr.contains("open the stream"),
            "{way:?}: {finished:?}"
        );
        assert!(!folder.path.exists(), "{way:?}");
    }
}

#[test]
fn a_name_that_changes_during_the_run_is_no_name() {
    for later in ["other", "Network SUT: fake\n\u{1b}[31m"] {
        for outcome in outcomes(&Manners { later_name: Some(later.to_owned()), ..Manners::good("first") }, &[]) {
            outcome.assert(4, &[("completed", 100)]);
            let result = outcome.result();
            assert!(!result["sut_name"].as_str().unwrap().contains("Network SUT"), "{:?}: {result}", outcome.way);
            assert!(!outcome.finished.stdout.contains('\u{1b}'), "{}", outcome.finished.stdout);
        }
    }
}
