//! The C interface of the QDL, called as a LoadGen in C would call it: whole runs, loss, misuse.

#![allow(unsafe_code, reason = "calls a C interface")]

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_void};
use std::path::Path;
use std::ptr;
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use lon_qdl::{
    LonCallbacks, LonResponse, LonSample, lon_close, lon_describe, lon_encoded, lon_flush, lon_issue, lon_issue_loaded,
    lon_last_error, lon_load, lon_name, lon_open, lon_performance_count, lon_qsl_open, lon_take, lon_total_count,
    lon_try_issue_loaded, lon_unload,
};
use lon_tests::process::{SutNode, repository, sut};
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, fork};
use serde_json::{Value, json};

const HANDLE: i32 = 6;
const ARGUMENT: i32 = 7;
const THREAD: i32 = 8;
const BUSY: i32 = 9;
const FORK: i32 = 10;

/// Longest time for an event that takes a second at most on an idle machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// Answers by the sample's id, and the reasons of a loss, as the callbacks received them.
#[derive(Default)]
struct Heard {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    answers: BTreeMap<u64, (Vec<u8>, i64)>,
    first_tokens: BTreeMap<u64, Vec<u8>>,
    lost: Vec<String>,
    /// Result of a call inside a callback.
    inside: Vec<i32>,
    handle: u64,
}

impl Heard {
    fn wait(&self, what: &str, is_there: impl Fn(&State) -> bool) {
        let until = Instant::now() + PATIENCE;
        let mut state = self.state.lock().unwrap();
        while !is_there(&state) {
            let time_left = until.saturating_duration_since(Instant::now());
            assert!(!time_left.is_zero(), "{what} did not happen; {} answers came", state.answers.len());
            state = self.changed.wait_timeout(state, time_left).unwrap().0;
        }
    }
}

unsafe fn heard<'a>(user: *mut c_void) -> &'a Heard {
    // SAFETY: every test gives this, and closes its run before it ends.
    unsafe { &*user.cast::<Heard>() }
}

unsafe fn each(responses: *const LonResponse, count: usize, mut take: impl FnMut(u64, Vec<u8>, i64)) {
    // SAFETY: as the header says.
    for response in unsafe { std::slice::from_raw_parts(responses, count) } {
        let data = match response.data.is_null() {
            true => &[],
            // SAFETY: as the header says.
            false => unsafe { std::slice::from_raw_parts(response.data.cast::<u8>(), response.size) },
        };
        take(response.id, data.to_vec(), response.n_tokens);
    }
}

unsafe extern "C" fn completed(user: *mut c_void, responses: *const LonResponse, count: usize) {
    // SAFETY: see `heard` and `each`.
    let heard = unsafe { heard(user) };
    let mut state = heard.state.lock().unwrap();
    // SAFETY: as above.
    unsafe {
        each(responses, count, |id, data, n_tokens| {
            assert!(state.answers.insert(id, (data, n_tokens)).is_none(), "sample {id} was completed twice");
        });
    }
    if state.inside.is_empty() && state.handle != 0 {
        // SAFETY: a handle and a null pointer.
        let code = unsafe { lon_close(state.handle, ptr::null()) };
        state.inside.push(code);
    }
    heard.changed.notify_all();
}

unsafe extern "C" fn first_tokens(user: *mut c_void, responses: *const LonResponse, count: usize) {
    // SAFETY: see `heard` and `each`.
    let mut state = unsafe { heard(user) }.state.lock().unwrap();
    // SAFETY: as above.
    unsafe {
        each(responses, count, |id, data, _| {
            assert!(!state.answers.contains_key(&id), "the first token of {id} came after its answer");
            state.first_tokens.insert(id, data);
        });
    }
}

unsafe extern "C" fn lost(user: *mut c_void, reason: *const c_char) {
    // SAFETY: as the header says.
    let (heard, reason) = unsafe { (heard(user), CStr::from_ptr(reason)) };
    heard.state.lock().unwrap().lost.push(reason.to_str().unwrap().to_owned());
    heard.changed.notify_all();
}

fn callbacks(heard: &Heard) -> LonCallbacks {
    LonCallbacks {
        struct_size: size_of::<LonCallbacks>(),
        user: ptr::from_ref(heard).cast_mut().cast(),
        completed: Some(completed),
        first_tokens: Some(first_tokens),
        lost: Some(lost),
    }
}

fn last_error() -> String {
    // SAFETY: never null.
    unsafe { CStr::from_ptr(lon_last_error()) }.to_str().unwrap().to_owned()
}

#[track_caller]
fn fine(code: i32) {
    assert_eq!(code, 0, "{}", last_error());
}

fn open(options: &Value, callbacks: Option<&LonCallbacks>) -> Result<u64, (i32, String)> {
    let (text, mut run) = (CString::new(options.to_string()).unwrap(), 0);
    // SAFETY: what the pointers lead to lives until the call returns.
    match unsafe { lon_open(text.as_ptr(), callbacks.map_or(ptr::null(), ptr::from_ref), &mut run) } {
        0 => Ok(run),
        code => Err((code, last_error())),
    }
}

fn load(run: u64, indices: &[usize]) {
    // SAFETY: a slice.
    fine(unsafe { lon_load(run, indices.as_ptr(), indices.len()) });
}

fn issue(run: u64, samples: impl Iterator<Item = (u64, usize)>) -> i32 {
    let samples: Vec<LonSample> = samples.map(|(id, index)| LonSample { id, index }).collect();
    // SAFETY: a slice.
    unsafe { lon_issue_loaded(run, samples.as_ptr(), samples.len()) }
}

fn close(run: u64, folder: &Path) -> i32 {
    let folder = CString::new(folder.to_str().unwrap()).unwrap();
    // SAFETY: a text.
    unsafe { lon_close(run, folder.as_ptr()) }
}

fn text_of(function: unsafe extern "C" fn(u64, *mut c_char, usize, *mut usize) -> i32, handle: u64) -> String {
    let (mut buffer, mut length) = ([0x7f_u8; 2000], 0);
    // SAFETY: the buffer has as many bytes.
    fine(unsafe { function(handle, buffer.as_mut_ptr().cast(), buffer.len(), &mut length) });
    assert_eq!(buffer[length], 0);
    let text = str::from_utf8(&buffer[..length]).unwrap().to_owned();
    // The function cuts a text that does not fit, and still reports its whole length.
    let mut whole = 0;
    // SAFETY: as above.
    fine(unsafe { function(handle, buffer.as_mut_ptr().cast(), 4, &mut whole) });
    assert_eq!((whole, buffer[3]), (length, 0));
    text
}

fn digits(nodes: &[SutNode], scenario: &str) -> Value {
    let sut = sut(nodes);
    json!({"sut": sut, "benchmark": "digits", "scenario": scenario, "insecure": true})
}

fn digits_nodes() -> [SutNode; 2] {
    let backend = format!("onnx:{}", repository("loadgen-node/qsl/digits/digits.onnx").display());
    ["left", "right"].map(|name| SutNode::start(name, &backend, &[]))
}

/// The class with the highest of ten scores.
fn class(data: &[u8]) -> usize {
    let scores = data.chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()));
    scores.enumerate().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap().0
}

fn result(folder: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder.join("qdl_result.json")).unwrap()).unwrap()
}

#[test]
fn samples_go_out_by_index_and_come_back_by_id() {
    let nodes = digits_nodes();
    for scenario in ["Server", "Offline"] {
        let heard = Heard::default();
        let run = open(&digits(&nodes, scenario), Some(&callbacks(&heard))).unwrap();
        assert_eq!(text_of(lon_name, run), "Network SUT: left, right");
        let description: Value = serde_json::from_str(&text_of(lon_describe, run)).unwrap();
        assert_eq!((&description["total_count"], &description["nodes"][1]["name"]), (&json!(450), &json!("right")));
        let all: Vec<usize> = (0..450).collect();
        load(run, &all);
        heard.state.lock().unwrap().handle = run;
        fine(issue(run, (0..20_000).map(|id| (id + 7, (id % 450) as usize))));
        fine(lon_flush(run));
        heard.wait("every answer", |state| state.answers.len() == 20_000);
        let state = heard.state.lock().unwrap();
        assert_eq!(state.inside, [THREAD], "a run cannot be closed inside a callback");
        // Equal samples have equal answers, whichever node had them; a batch may change the last digits.
        let mut by_index: BTreeMap<u64, usize> = BTreeMap::new();
        for (id, (data, _)) in &state.answers {
            let class = class(data);
            assert_eq!((*by_index.entry((id - 7) % 450).or_insert(class), data.len()), (class, 40));
        }
        drop(state);
        let folder = tempfile::tempdir().unwrap();
        fine(close(run, &folder.path().join("new")));
        let result = result(&folder.path().join("new"));
        assert_eq!((&result["state"], &result["counts"]["completed"]), (&json!("usable"), &json!(20_000)), "{result}");
        let report = std::fs::read_to_string(folder.path().join("new/network_report.json")).unwrap();
        let report: Value = serde_json::from_str(&report).unwrap();
        for direction in ["ingress", "egress"] {
            let bytes = &report["total"]["message_bytes"][direction];
            assert!(bytes["loadgen"].as_u64().unwrap() > 0 && bytes["loadgen"] == bytes["sut"], "{report}");
        }
        assert!(folder.path().join("new/system_desc.json").exists());
        lon_tests::schemas::assert_folder(&folder.path().join("new"));
        let page = std::fs::read_to_string(folder.path().join("new/report.html")).unwrap();
        lon_tests::page::stands_alone(&page);
        assert!(page.contains("logs usable") && page.contains("20000 issued, 20000 answered"), "{page}");
        assert!(!page.contains("VALID") && !page.contains("server_target_qps"), "LoadGen has verdict and settings");
    }
}

/// Server, and more samples than a node takes: they wait, and none fails.
#[test]
fn more_samples_than_nodes_take_wait_at_the_issuing_thread() {
    // It holds 16,384 at a time.
    let node = SutNode::start("full", "synthetic:constant=1ms", &["--max-batch", "64"]);
    let options = json!({"sut": node.address, "benchmark": "synthetic", "dataset": "synthetic:u8[64]x16",
                         "scenario": "Server"});
    let heard = Heard::default();
    let run = open(&options, Some(&callbacks(&heard))).unwrap();
    load(run, &(0..16).collect::<Vec<_>>());
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let ids = move |call: u64| (0..1_000).map(move |id| (thread * 10_000 + call * 1_000 + id, 3));
            scope.spawn(move || (0..10).for_each(|call| fine(issue(run, ids(call)))));
        }
    });
    heard.wait("every answer", |state| state.answers.len() == 40_000);
    let folder = tempfile::tempdir().unwrap();
    fine(close(run, folder.path()));
    assert_eq!(result(folder.path())["counts"]["failed"], 0);
}

/// A sample is sent when there is room for it. Otherwise it is neither sent nor counted, and the call that waits can
/// issue it.
#[test]
fn a_sample_is_tried_without_waiting() {
    // It holds 16,384 at a time, and answers 3200 of them a second: fewer than the slowest machine issues.
    let node = SutNode::start("full", "synthetic:constant=20ms", &["--max-batch", "64"]);
    let options = json!({"sut": node.address, "benchmark": "synthetic", "dataset": "synthetic:u8[64]x16",
                         "scenario": "Server"});
    let heard = Heard::default();
    let run = open(&options, Some(&callbacks(&heard))).unwrap();
    load(run, &[3]);
    // SAFETY: a place on the stack.
    let tried = |id, index| unsafe { lon_try_issue_loaded(run, &LonSample { id, index }) };
    assert_eq!(tried(0, 4), ARGUMENT, "{}", last_error());
    // SAFETY: a null pointer is an error.
    assert_eq!(unsafe { lon_try_issue_loaded(run, ptr::null()) }, ARGUMENT);
    let refused = (0..100_000).map(|id| (id, tried(id, 3))).find(|(_, code)| *code != 0);
    let Some((refused_id, BUSY)) = refused else { panic!("{refused:?}: {}", last_error()) };
    assert!(last_error().contains("without waiting"), "{}", last_error());
    // The one that was refused is issued by the call that waits.
    fine(issue(run, [(refused_id, 3)].into_iter()));
    heard.wait("every answer", |state| state.answers.len() as u64 == refused_id + 1);
    let folder = tempfile::tempdir().unwrap();
    fine(close(run, folder.path()));
    let counts = &result(folder.path())["counts"];
    assert_eq!((&counts["completed"], &counts["failed"]), (&json!(refused_id + 1), &json!(0)), "{counts}");
    assert_eq!(tried(7, 3), HANDLE, "{}", last_error());
}

#[test]
fn samples_of_the_callers_own_are_answered_alike() {
    let nodes = digits_nodes();
    let heard = Heard::default();
    let run = open(&digits(&nodes, "Server"), Some(&callbacks(&heard))).unwrap();
    load(run, &[5]);
    let (mut data, mut size) = (ptr::null(), 0);
    // SAFETY: places on the stack.
    fine(unsafe { lon_encoded(run, 5, &mut data, &mut size) });
    // SAFETY: valid until the sample is unloaded.
    let own = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), size) }.to_vec();
    fine(issue(run, [(1, 5)].into_iter()));
    // SAFETY: slices and their lengths.
    fine(unsafe { lon_issue(run, [2].as_ptr(), [own.as_ptr().cast()].as_ptr(), [own.len()].as_ptr(), 1) });
    drop(own);
    heard.wait("both answers", |state| state.answers.len() == 2);
    let classes: Vec<usize> = heard.state.lock().unwrap().answers.values().map(|(data, _)| class(data)).collect();
    assert_eq!(classes[0], classes[1]);
    // SAFETY: a null folder.
    fine(unsafe { lon_close(run, ptr::null()) });
}

#[test]
fn first_tokens_come_before_answers_with_their_numbers_of_tokens() {
    let node = SutNode::start("tokens", "synthetic:ttft=2ms,tpot=1ms,tokens=5", &["--slots", "8"]);
    let options = json!({"sut": node.address, "benchmark": "synthetic", "dataset": "synthetic:tokens-i64[16]x8",
                         "scenario": "Server", "response-compression": "none"});
    let heard = Heard::default();
    let run = open(&options, Some(&callbacks(&heard))).unwrap();
    load(run, &[0, 1]);
    fine(issue(run, (0..50).map(|id| (id, id as usize % 2))));
    heard.wait("every answer", |state| state.answers.len() == 50);
    {
        let state = heard.state.lock().unwrap();
        assert_eq!(state.first_tokens.len(), 50);
        assert!(state.answers.values().all(|(_, n_tokens)| *n_tokens == 5));
    }
    // SAFETY: a null folder.
    fine(unsafe { lon_close(run, ptr::null()) });

    // The same, fetched.
    let run = open(&options, None).unwrap();
    load(run, &[0]);
    fine(issue(run, [(9, 0)].into_iter()));
    let mut kinds = Vec::new();
    while kinds.len() < 2 {
        let mut room = [LonResponse { id: 0, data: ptr::null(), size: 0, n_tokens: 0 }; 4];
        let (mut count, mut kind) = (0, 0);
        // SAFETY: an array with room for four.
        fine(unsafe { lon_take(run, room.as_mut_ptr(), 4, 10_000, &mut count, &mut kind) });
        kinds.extend(room[..count].iter().map(|response| (kind, response.id, response.n_tokens)));
    }
    assert_eq!(kinds, [(1, 9, 0), (0, 9, 5)]);
    // SAFETY: a null folder.
    fine(unsafe { lon_close(run, ptr::null()) });
}

#[test]
fn a_lost_node_makes_the_run_unusable_in_every_file() {
    let nodes = ["stays", "goes"].map(|name| SutNode::start(name, "synthetic:constant=20ms", &[]));
    let folder = tempfile::tempdir().unwrap();
    let sut = sut(&nodes);
    let options = json!({"sut": sut, "benchmark": "synthetic", "dataset": "synthetic:u8[64]x16", "scenario": "Offline",
                         "out": folder.path()});
    let heard = Heard::default();
    let run = open(&options, Some(&callbacks(&heard))).unwrap();
    load(run, &[0]);
    fine(issue(run, (0..2_000).map(|id| (id, 0))));
    heard.wait("a first answer", |state| !state.answers.is_empty());
    nodes[1].signal(Signal::SIGKILL);
    heard.wait("the word of loss", |state| !state.lost.is_empty());
    let unusable = result(folder.path());
    let reasons = unusable["reasons"].to_string();
    assert!(unusable["state"] == "unusable" && reasons.contains("node goes was lost"), "{unusable}");
    assert!(heard.state.lock().unwrap().lost[0].contains("node goes was lost"));
    // The other engine comes to its end: every sample is completed, those that are issued now among them.
    fine(issue(run, [(2_000, 0)].into_iter()));
    heard.wait("the end of every sample", |state| state.answers.len() == 2_001);
    let state = heard.state.lock().unwrap();
    assert!(state.answers[&2_000].0.is_empty(), "it was never sent");
    drop(state);
    std::fs::write(folder.path().join("mlperf_log_summary.txt"), "Result is : VALID\n").unwrap();
    // SAFETY: a null folder: the one of the options.
    assert_eq!(unsafe { lon_close(run, ptr::null()) }, 4);
    assert!(last_error().contains("node goes was lost"), "{}", last_error());
    assert!(!folder.path().join("mlperf_log_summary.txt").exists());
    assert_eq!(result(folder.path()), unusable);
}

#[test]
fn whoever_fetches_is_told_of_the_loss_once_and_gets_the_lost_samples() {
    let node = SutNode::start("goes", "synthetic:constant=60s", &[]);
    let options = json!({"sut": node.address, "benchmark": "synthetic", "dataset": "synthetic:u8[64]x16",
                         "scenario": "Server"});
    let run = open(&options, None).unwrap();
    load(run, &[0]);
    fine(issue(run, [(5, 0)].into_iter()));
    node.signal(Signal::SIGKILL);
    let fetch = || {
        let mut room = [LonResponse { id: 0, data: ptr::null(), size: 0, n_tokens: 0 }; 4];
        let (mut count, mut kind) = (0, 0);
        // SAFETY: an array with room for four.
        let code = unsafe { lon_take(run, room.as_mut_ptr(), 4, 60_000, &mut count, &mut kind) };
        (code, room[..count].iter().map(|response| (response.id, response.size)).collect::<Vec<_>>())
    };
    assert_eq!(fetch(), (4, vec![]));
    assert_eq!(fetch(), (0, vec![(5, 0)]));
    // SAFETY: a null folder.
    assert_eq!(unsafe { lon_close(run, ptr::null()) }, 4);
}

#[test]
fn datasets_are_opened_without_nodes() {
    let (options, mut qsl) = (c"{\"benchmark\": \"digits\", \"compression\": \"zstd\"}", 0);
    // SAFETY: a text and a place on the stack.
    fine(unsafe { lon_qsl_open(options.as_ptr(), &mut qsl) });
    let counts = [lon_total_count, lon_performance_count].map(|function| {
        let mut count = 0;
        // SAFETY: a place on the stack.
        fine(unsafe { function(qsl, &mut count) });
        count
    });
    assert_eq!(counts, [450, 450]);
    load(qsl, &[3, 4]);
    let encoded = |index| {
        let (mut data, mut size) = (ptr::null(), 0);
        // SAFETY: places on the stack.
        (unsafe { lon_encoded(qsl, index, &mut data, &mut size) }, size)
    };
    assert!(encoded(3).1 > 0);
    // SAFETY: a slice, with an index beyond the end that is passed over.
    fine(unsafe { lon_unload(qsl, [3, 9_999].as_ptr(), 2) });
    assert_eq!((encoded(3).0, encoded(4).0, encoded(9_999).0), (ARGUMENT, 0, ARGUMENT));
    assert!(last_error().contains("there is no sample 9999: the dataset has 450"), "{}", last_error());
    assert_eq!(issue(qsl, [(0, 4)].into_iter()), HANDLE);
    // SAFETY: a null folder.
    fine(unsafe { lon_close(qsl, ptr::null()) });
}

/// Any misuse gives an error with a text, and no crash.
#[test]
fn misuse_is_an_error() {
    let [node, _other] = digits_nodes();
    let options = digits(std::slice::from_ref(&node), "Server");
    let heard = Heard::default();
    let run = open(&options, Some(&callbacks(&heard))).unwrap();
    load(run, &[0]);
    let (mut length, mut place, mut size) = (0, ptr::null(), 0);
    // SAFETY: what is wrong with each is what the library has to find.
    let codes = unsafe {
        [
            ("no handle", lon_flush(0), HANDLE),
            ("never a handle", lon_flush(u64::MAX), HANDLE),
            ("no options", lon_open(ptr::null(), ptr::null(), &mut 0), ARGUMENT),
            ("no place for the handle", lon_open(c"{}".as_ptr(), ptr::null(), ptr::null_mut()), ARGUMENT),
            ("no UTF-8", lon_open(c"\xff".as_ptr(), ptr::null(), &mut 0), ARGUMENT),
            ("no JSON", lon_open(c"{".as_ptr(), ptr::null(), &mut 0), 2),
            ("no nodes", lon_open(c"{\"benchmark\": \"digits\"}".as_ptr(), ptr::null(), &mut 0), 2),
            ("no indices", lon_load(run, ptr::null(), 1), ARGUMENT),
            ("huge", lon_load(run, [0].as_ptr(), usize::MAX), ARGUMENT),
            ("huge samples", lon_issue_loaded(run, ptr::NonNull::dangling().as_ptr(), usize::MAX / 8), ARGUMENT),
            ("not aligned", lon_load(run, 9 as *const usize, 1), ARGUMENT),
            ("beyond the end", lon_load(run, [450].as_ptr(), 1), ARGUMENT),
            ("not loaded", issue(run, [(1, 0), (2, 1)].into_iter()), ARGUMENT),
            ("no data", lon_issue(run, [1].as_ptr(), [ptr::null()].as_ptr(), [5].as_ptr(), 1), ARGUMENT),
            ("no arrays", lon_issue(run, ptr::null(), ptr::null(), ptr::null(), 1), ARGUMENT),
            ("huge sample", lon_issue(run, [1].as_ptr(), [9 as *const _].as_ptr(), [usize::MAX].as_ptr(), 1), ARGUMENT),
            ("no length", lon_name(run, ptr::null_mut(), 0, ptr::null_mut()), ARGUMENT),
            ("no buffer", lon_name(run, ptr::null_mut(), 9, &mut length), ARGUMENT),
            ("no place", lon_encoded(run, 0, ptr::null_mut(), &mut size), ARGUMENT),
            ("no place for the size", lon_encoded(run, 0, &mut place, ptr::null_mut()), ARGUMENT),
            ("no count", lon_total_count(run, ptr::null_mut()), ARGUMENT),
            ("no room", lon_take(run, ptr::null_mut(), 4, 0, &mut size, &mut 0), ARGUMENT),
            ("callbacks have everything", take_one(run), ARGUMENT),
        ]
    };
    for (what, code, expected_code) in codes {
        assert_eq!(code, expected_code, "{what}");
    }
    // Nothing is null or loaded, and nothing is asked for.
    // SAFETY: no items.
    fine(unsafe { lon_load(run, ptr::null(), 0) });
    fine(issue(run, std::iter::empty()));
    let wrong_size = LonCallbacks { struct_size: 8, ..callbacks(&heard) };
    let (code, text) = open(&options, Some(&wrong_size)).unwrap_err();
    assert!(code == ARGUMENT && text.contains("struct_size of the callbacks is 8, not 40"), "{text}");
    assert!(heard.state.lock().unwrap().answers.is_empty());
    // SAFETY: a null folder.
    fine(unsafe { lon_close(run, ptr::null()) });
    // SAFETY: as above.
    assert_eq!(unsafe { lon_close(run, ptr::null()) }, HANDLE, "closed twice");
    assert_eq!((issue(run, [(1, 0)].into_iter()), lon_flush(run)), (HANDLE, HANDLE), "used after it was closed");
    assert_eq!(last_error(), format!("{run} is no handle, or was closed"));
}

/// The library's threads are not there: what is handed in would never be sent.
#[test]
fn a_process_that_was_forked_is_told_so_by_every_function() {
    let [node, _other] = digits_nodes();
    let heard = Heard::default();
    let run = open(&digits(std::slice::from_ref(&node), "Server"), Some(&callbacks(&heard))).unwrap();
    load(run, &[0]);
    let folder = tempfile::tempdir().unwrap();
    let is_right = || {
        let options = CString::new("{}").unwrap();
        // SAFETY: what the pointers lead to lives until the call returns.
        let opened = unsafe { lon_open(options.as_ptr(), ptr::null(), &mut 0) };
        let codes =
            [issue(run, [(1, 0)].into_iter()), lon_flush(run), take_one(run), opened, close(run, folder.path())];
        codes == [FORK; 5] && last_error().contains("was forked from")
    };
    // SAFETY: the child calls what it may not, and ends at once.
    match unsafe { fork() }.unwrap() {
        // SAFETY: it ends this process.
        ForkResult::Child => unsafe { nix::libc::_exit(if is_right() { 0 } else { 1 }) },
        ForkResult::Parent { child } => assert_eq!(waitpid(child, None).unwrap(), WaitStatus::Exited(child, 0)),
    }
    fine(issue(run, [(1, 0)].into_iter()));
    heard.wait("the answer", |state| state.answers.len() == 1);
    fine(close(run, folder.path()));
}

fn take_one(run: u64) -> i32 {
    let mut room = [LonResponse { id: 0, data: ptr::null(), size: 0, n_tokens: 0 }];
    // SAFETY: room for one.
    unsafe { lon_take(run, room.as_mut_ptr(), 1, 0, &mut 0, &mut 0) }
}

/// A folder that has such files already is refused before a node is asked.
#[test]
fn files_that_are_there_stay() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("qdl_result.json"), "mine").unwrap();
    let options = json!({"sut": "127.0.0.1:1", "benchmark": "digits", "scenario": "Server", "out": folder.path()});
    let (code, text) = open(&options, None).unwrap_err();
    assert!(code == 2 && text.contains("qdl_result.json is there already"), "{text}");
    assert_eq!(std::fs::read_to_string(folder.path().join("qdl_result.json")).unwrap(), "mine");
}
