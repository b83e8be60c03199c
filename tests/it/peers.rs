//! Nodes that misbehave while a run is under way.

use bytes::Bytes;
use lon_proto::v1::DispatchResponse;
use lon_tests::peer::{Manners, Peer, Script, Step, eight_bytes};
use lon_tests::process::Finished;
use lon_tests::run_folder::RunFolder;
use lon_tests::test_run::TestRun;
use tonic::Status;

fn run_against(script: Script, more: &[&str]) -> (Finished, RunFolder) {
    let peer = Peer::start(Manners { script, ..Manners::good("odd") });
    let test = TestRun::new("Server").on(&peer.address.to_string()).args(more);
    let (finished, folder) = test.set("min_duration=0,min_query_count=100,target_qps=2000").finish();
    folder.assert_complete();
    (finished, folder)
}

fn reasons(folder: &RunFolder) -> String {
    folder.result()["reasons"].to_string()
}

#[test]
fn a_second_answer_is_counted_and_makes_the_run_invalid() {
    let twice: Script = |number, id| {
        let again = number == 7;
        std::iter::repeat_with(|| Step::Send(eight_bytes(id))).take(1 + usize::from(again)).collect()
    };
    let (finished, folder) = run_against(twice, &[]);
    assert_eq!(finished.code, Some(3), "{finished:?}");
    let result = folder.result();
    assert_eq!((&result["counts"]["duplicate"], &result["counts"]["completed"]), (&1.into(), &100.into()), "{result}");
    assert!(reasons(&folder).contains("odd sent 1 answers to samples that it had answered"), "{result}");
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
    let (finished, folder) = run_against(stranger, &[]);
    assert_eq!(finished.code, Some(3), "{finished:?}");
    let result = folder.result();
    assert_eq!((&result["counts"]["foreign"], &result["counts"]["completed"]), (&1.into(), &100.into()), "{result}");
}

#[test]
fn a_sample_that_the_node_refuses_fails_alone() {
    let refuses: Script = |number, id| match number {
        5 => vec![Step::Send(DispatchResponse { id, last: true, error: "bad weather".into(), ..Default::default() })],
        _ => vec![Step::Send(eight_bytes(id))],
    };
    let (finished, folder) = run_against(refuses, &[]);
    assert_eq!(finished.code, Some(3), "{finished:?}");
    let result = folder.result();
    assert_eq!((&result["counts"]["failed"], &result["counts"]["completed"]), (&1.into(), &99.into()), "{result}");
    assert!(reasons(&folder).contains("bad weather"), "{result}");
}

#[test]
fn a_sample_without_an_answer_times_out_and_the_run_goes_on() {
    let forgets: Script = |number, id| if number == 5 { Vec::new() } else { vec![Step::Send(eight_bytes(id))] };
    // This peer sends no heartbeats; the silence would count before a longer timeout.
    let (finished, folder) = run_against(forgets, &["--response-timeout", "500ms"]);
    assert_eq!(finished.code, Some(3), "{finished:?}");
    let result = folder.result();
    assert_eq!((&result["counts"]["failed"], &result["counts"]["completed"]), (&1.into(), &99.into()), "{result}");
    assert!(reasons(&folder).contains("no answer within"), "{result}");
    assert_eq!(result["official_result"], "INVALID", "over-latency in the statistics: {result}");
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
        let (finished, folder) = run_against(script, &[]);
        assert_eq!(finished.code, Some(4), "{finished:?}");
        assert!(reasons(&folder).contains("odd was lost"), "{}", folder.result());
        assert_eq!(folder.result()["result"], "INVALID");
    }
}

#[test]
fn a_silent_node_is_lost_though_its_connection_stands() {
    let mute: Script = |_, _| Vec::new();
    let (finished, folder) = run_against(mute, &[]);
    assert_eq!(finished.code, Some(4), "{finished:?}");
    assert!(reasons(&folder).contains("nothing was heard"), "{}", folder.result());
}

#[test]
fn a_node_that_never_opens_its_stream_is_named_within_seconds() {
    let peer = Peer::start(Manners { opens: false, ..Manners::good("closed") });
    let (finished, folder) = TestRun::new("Server").on(&peer.address.to_string()).finish();
    assert_eq!(finished.code, Some(4), "{finished:?}");
    assert!(finished.stderr.contains("closed") && finished.stderr.contains("open the stream"), "{finished:?}");
    assert!(!folder.path.exists());
}

#[test]
fn a_name_that_changes_during_the_run_is_no_name() {
    for later in ["other", "Network SUT: fake\n\u{1b}[31m"] {
        let peer = Peer::start(Manners { later_name: Some(later.to_owned()), ..Manners::good("first") });
        let test = TestRun::new("Server").on(&peer.address.to_string());
        let (finished, folder) = test.set("min_duration=0,min_query_count=100,target_qps=2000").finish();
        assert_eq!(finished.code, Some(4), "{finished:?}");
        let result = folder.result();
        assert!(!result["sut_name"].as_str().unwrap().contains("Network SUT"), "{result}");
        assert_eq!(result["result"], "INVALID");
        assert!(!finished.stdout.contains('\u{1b}'), "{}", finished.stdout);
    }
}
