//! Answers that are not what a node has said of its model, answers without end, and books that cannot be true.

use bytes::Bytes;
use lon_proto::v1::{DispatchResponse, Stages, TensorSpec};
use lon_tests::memory;
use lon_tests::peer::{Behaviour, FlushManner, Peer, Script, Step, answer_with_stages, eight_bytes};
use lon_tests::process::Finished;
use lon_tests::route::Route;
use lon_tests::run_folder::RunFolder;
use lon_tests::test_run::TestRun;

/// End of a run against a peer.
struct Outcome {
    route: Route,
    finished: Finished,
    folder: RunFolder,
    /// The most memory that the LoadGen node had.
    most_bytes: u64,
}

impl Outcome {
    /// It ended with this code, complete files and these counts.
    fn assert(&self, code: i32, counts: &[(&str, u64)]) {
        let Outcome { route, finished, folder, .. } = self;
        assert_eq!(finished.code, Some(code), "{route:?}: {finished:?}");
        folder.assert_complete();
        let result = self.folder.result();
        for (name, count) in counts {
            assert_eq!(result["counts"][name], *count, "{route:?}: {name} in {result}");
        }
        assert_eq!(result["result"], "INVALID", "{route:?}");
    }

    /// It took no more memory than a quiet run does, what is `set_aside`, and 64 MiB.
    fn assert_memory(&self, quiet_bytes: u64, set_aside: u64) {
        let Outcome { route, most_bytes, .. } = self;
        let figures = format!("{route:?}: {most_bytes} bytes, {quiet_bytes} of a quiet run, {set_aside} set aside");
        println!("{figures}");
        assert!(*most_bytes < quiet_bytes + set_aside + (64 << 20), "{figures}");
    }

    fn assert_mark(&self, part: &str) {
        let marks = self.folder.result()["marks"].to_string();
        assert!(marks.contains(part), "{:?}: no '{part}' in {marks}", self.route);
    }

    fn assert_reason(&self, part: &str) {
        let reasons = self.folder.result()["reasons"].to_string();
        assert!(reasons.contains(part), "{:?}: no '{part}' in {reasons}", self.route);
    }
}

/// A short run against a peer with these manners on each way, all at once.
fn outcomes(behaviour: &Behaviour, more: &[&str]) -> [Outcome; 3] {
    let runs = [Route::Grpc, Route::Tcp, Route::QuicTls].map(|route| {
        let opened = route.open();
        let peer = opened.peer(behaviour.clone());
        let test =
            TestRun::new("Server").patient().args(more).set("min_duration=0,min_query_count=100,target_qps=2000");
        let (run, folder) = opened.to(test, &peer.address.to_string()).start();
        (opened, peer, memory::Watch::begin(run.id()), run, folder)
    });
    runs.map(|(opened, _peer, watch, run, folder)| {
        let finished = run.finish();
        Outcome { route: opened.route, finished, folder, most_bytes: watch.most_bytes() }
    })
}

fn runs_against(script: Script, more: &[&str]) -> [Outcome; 3] {
    outcomes(&Behaviour { script, ..Behaviour::good("odd") }, more)
}

#[test]
fn tokens_that_cannot_be_in_an_answer_make_the_run_invalid() {
    let many: Script = |_, id| vec![Step::Send(DispatchResponse { n_tokens: u64::MAX, ..eight_bytes(id) })];
    for outcome in runs_against(many, &[]) {
        outcome.assert(3, &[("completed", 0), ("failed", 100)]);
        outcome.assert_reason("node odd counts 18446744073709551615 tokens in an answer of 8 bytes");
    }
}

/// Right: before the run, with the type or the difference. Some were scored as 0 %, others failed after the run.
#[test]
fn answers_that_could_not_be_scored_are_refused_before_the_run() {
    let output = |dtype: &str, last: i64| {
        vec![TensorSpec { name: "y".into(), dtype: dtype.into(), dims: vec![-1, last], ..TensorSpec::default() }]
    };
    let peer = |name: &str, outputs| Peer::start(Behaviour { outputs, ..Behaviour::good(name) });
    let refused = |peers: &[Peer], parts: &[&str]| {
        let sut = peers.iter().map(|peer| peer.address.to_string()).collect::<Vec<_>>().join(",");
        let (finished, folder) = TestRun::digits("Offline").on(&sut).args(&["--mode", "AccuracyOnly"]).finish();
        assert_eq!(finished.code, Some(2), "{finished:?}");
        parts.iter().for_each(|part| assert!(finished.stderr.contains(part), "no '{part}' in: {finished:?}"));
        assert!(!folder.path.exists());
    };
    refused(&[peer("a", output("f8e4m3", 10))], &["cannot be scored", "answers of f8e4m3", "a Cast"]);
    refused(&[peer("a", output("f16", 12))], &["cannot be scored", "12 f16 are no score for each of 10 classes"]);
    let both = [peer("a", output("f32", 10)), peer("b", output("i64", 10))];
    refused(&both, &["node a answers with y f32[N,10], node b with y i64[N,10]"]);
}

/// Of a node that has said that its answers are ten floats.
#[test]
fn answers_that_are_not_what_the_node_described_make_the_run_invalid() {
    let floats = TensorSpec { name: "y".into(), dtype: "f32".into(), dims: vec![-1, 10], ..TensorSpec::default() };
    let behaviour = |script| Behaviour { script, outputs: vec![floats.clone()], ..Behaviour::good("odd") };
    let nothing: Script =
        |_, id| vec![Step::Send(DispatchResponse { total_len: 0, data: Bytes::new(), ..eight_bytes(id) })];
    let short: Script = |_, id| vec![Step::Send(eight_bytes(id))];
    for (script, bytes) in [(nothing, 0), (short, 8)] {
        for outcome in outcomes(&behaviour(script), &[]) {
            outcome.assert(3, &[("completed", 0), ("failed", 100)]);
            outcome.assert_reason(&format!("node odd gave an answer of {bytes} bytes, 40 were due"));
        }
    }
    let forty: Script = |_, id| {
        vec![Step::Send(DispatchResponse { total_len: 40, data: Bytes::from_static(&[0; 40]), ..eight_bytes(id) })]
    };
    for outcome in outcomes(&behaviour(forty), &[]) {
        // Too few for LoadGen's own rules, but all as described.
        outcome.assert(3, &[("completed", 100), ("failed", 0)]);
        assert!(!outcome.folder.result()["marks"].to_string().contains("not checked"), "{:?}", outcome.route);
    }
    for outcome in outcomes(&Behaviour::good("odd"), &[]) {
        outcome.assert(3, &[("completed", 100), ("failed", 0)]);
        let Outcome { route, finished, folder, .. } = outcome;
        let marks = folder.result()["marks"].to_string();
        assert!(marks.contains("answers not checked: node odd"), "{route:?}: {marks}");
        assert!(finished.stdout.contains("answers not checked"), "{route:?}: {}", finished.stdout);
    }
}

/// The run is INVALID for any declaration of the node's outputs.
#[test]
fn answers_without_a_byte_make_the_run_invalid() {
    let output = |name: &str, dtype: &str, dims: &[i64], optional| TensorSpec {
        name: name.into(),
        dtype: dtype.into(),
        dims: dims.to_vec(),
        optional,
        ..TensorSpec::default()
    };
    let behaviour = |script, outputs| Behaviour { script, outputs, ..Behaviour::good("odd") };
    let nothing: Script =
        |_, id| vec![Step::Send(DispatchResponse { total_len: 0, data: Bytes::new(), ..eight_bytes(id) })];
    // Text, and tensors whose rows have a size: something is due.
    for (dtype, dims) in [("u8", &[-1, -1][..]), ("i64", &[-1, -1]), ("f32", &[-1, 2, -1])] {
        for outcome in outcomes(&behaviour(nothing, vec![output("y", dtype, dims, true)]), &[]) {
            outcome.assert(3, &[("completed", 0), ("failed", 100)]);
            outcome.assert_reason("node odd gave an answer of 0 bytes");
        }
    }
    let rows = [output("boxes", "f32", &[-1, -1, 4], false), output("scores", "f32", &[-1, -1], true)];
    for outputs in [rows[..1].to_vec(), rows.to_vec()] {
        for outcome in outcomes(&behaviour(nothing, outputs), &[]) {
            outcome.assert(3, &[("completed", 100), ("failed", 0)]);
            outcome.assert_reason("all 100 answers of a phase have not a byte");
            outcome.assert_mark("empty answers: 100 of the 100 answers of node odd have not a byte");
        }
    }
    let seldom: Script = |number, id| match number {
        7 => vec![Step::Send(DispatchResponse { total_len: 0, data: Bytes::new(), ..eight_bytes(id) })],
        _ => vec![Step::Send(eight_bytes(id))],
    };
    for outcome in outcomes(&behaviour(seldom, vec![output("y", "f32", &[-1, -1, 2], false)]), &[]) {
        outcome.assert(3, &[("completed", 100), ("failed", 0)]);
        outcome.assert_mark("lengths of answers checked in part: node odd leaves y of any size");
        outcome.assert_mark("empty answers: 1 of the 100 answers of node odd have not a byte");
        assert!(!outcome.folder.result()["reasons"].to_string().contains("byte"), "{:?}", outcome.route);
    }
}

/// They are shown as where the time went.
#[test]
fn stages_that_take_longer_than_the_round_trip_are_marked() {
    let long: Script = |number, id| {
        let inference_ns = if number < 3 { 3_600_000_000_000 } else { 0 };
        let stages = Some(Stages { inference_ns, ..Stages::default() });
        vec![Step::Send(DispatchResponse { stages, ..eight_bytes(id) })]
    };
    for outcome in runs_against(long, &[]) {
        outcome.assert(3, &[("completed", 100)]);
        outcome.assert_mark("stages not plausible: 3 of the 100 answers of node odd have stages that took longer");
    }
    for outcome in runs_against(answer_with_stages, &[]) {
        assert!(!outcome.folder.result()["marks"].to_string().contains("not plausible"), "{:?}", outcome.route);
    }
}

/// A node says what it takes in before it stops reading, and announces answers without end.
#[test]
fn answers_without_end_are_refused_before_they_take_memory() {
    let endless: Script = |_, id| {
        let part = DispatchResponse { last: false, total_len: 1 << 30, ..eight_bytes(id) };
        vec![Step::Send(part)]
    };
    let quiet_bytes = quiet_bytes();
    for outcome in runs_against(endless, &["--max-answer", "1MiB"]) {
        outcome.assert(4, &[]);
        outcome.assert_reason("1073741824 bytes, 1048576 are allowed (--max-answer)");
        outcome.assert_memory(quiet_bytes, 0);
    }
}

/// Each answer has a size that is allowed, and none of them comes to its end.
#[test]
fn answers_that_never_end_take_no_more_memory_than_is_set_aside_for_all() {
    const MIB: usize = 1 << 20;
    let unfinished: Script = |_, id| {
        let data = Bytes::from_static(&[0; MIB]);
        let part =
            |part| DispatchResponse { part, last: false, total_len: 60 << 20, data: data.clone(), ..eight_bytes(id) };
        (0..59).map(|number| Step::Send(part(number))).collect()
    };
    let quiet_bytes = quiet_bytes();
    for outcome in runs_against(unfinished, &[]) {
        outcome.assert(4, &[]);
        outcome.assert_reason("unfinished answers take more than 1073741824 bytes together");
        // Beside it there are the window of a connection, and what buffers have unused at their ends.
        outcome.assert_memory(quiet_bytes, (1 << 30) + (256 << 20));
    }
}

/// The most memory that a LoadGen node has whose node answers well.
fn quiet_bytes() -> u64 {
    outcomes(&Behaviour::good("odd"), &[]).iter().map(|outcome| outcome.most_bytes).max().unwrap()
}

#[test]
fn a_node_whose_sockets_carried_nothing_is_told() {
    for outcome in outcomes(&Behaviour { honest_sockets: false, ..Behaviour::good("odd") }, &[]) {
        outcome.assert(3, &[("completed", 100)]);
        outcome.assert_reason("node odd: socket bytes, ingress");
    }
}

#[test]
fn a_node_that_fails_flush_or_does_not_return_from_it_is_named() {
    for (flush, why) in [
        (FlushManner::Fails, "node odd failed Flush: "),
        (FlushManner::Hangs, "node odd failed Flush: it did not return within"),
    ] {
        for outcome in outcomes(&Behaviour { flush, ..Behaviour::good("odd") }, &[]) {
            outcome.assert(3, &[("completed", 100), ("failed", 0)]);
            outcome.assert_reason(why);
        }
    }
    for outcome in outcomes(&Behaviour::good("odd"), &[]) {
        assert!(!outcome.folder.result()["reasons"].to_string().contains("Flush"), "{:?}", outcome.route);
    }
}

/// A node of somebody else's need not be able to count bytes on sockets. What it cannot count it leaves out.
#[test]
fn a_node_that_cannot_count_its_sockets_is_marked() {
    for outcome in outcomes(&Behaviour { counts_sockets: false, ..Behaviour::good("odd") }, &[]) {
        // So short a run is INVALID by the official rules, and by nothing else.
        outcome.assert(3, &[("completed", 100)]);
        let result = outcome.folder.result();
        let (marks, reasons) = (result["marks"].to_string(), result["reasons"].to_string());
        assert!(marks.contains("socket bytes not compared: node odd counts no bytes of sockets"), "{marks}");
        assert!(!reasons.contains("odd"), "{reasons}");
    }
}
