//! Files in run folders are read only where they have a usual length and belong to that run. Nothing waits for a pipe,
//! nothing fills the memory, and no result counts in the folder of another run.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use lon_run::documents::result_summary::Validity;
use lon_run::documents::run_list::RunList;
use lon_tests::process::{LoadGen, SutNode, binary, repository};
use lon_tests::run_folder::RunFolder;
use lon_tests::test_run::TestRun;

/// A short VALID run; `more` queries make its files others than those of another run.
fn run(node: &SutNode, more: u32) -> RunFolder {
    let test = TestRun::new("Offline").patient().on(&node.address);
    let (finished, folder) = test.set(&format!("min_duration=0,min_query_count={},target_qps=1", 100 + more)).finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    folder
}

fn put_pipe(path: &Path) {
    let _ = fs::remove_file(path);
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn put_sparse(path: &Path) {
    File::create(path).unwrap().set_len(20 << 30).unwrap();
}

/// Returns the output of a command about a folder, for any usual exit code.
fn output_of(args: &[&str]) -> String {
    let finished = LoadGen::run(args);
    assert!(matches!(finished.code, Some(0 | 2 | 3)), "{args:?}: {finished:?}");
    finished.stdout + &finished.stderr
}

#[test]
fn a_pipe_or_a_file_without_an_end_in_a_run_folder_is_named() {
    let node = SutNode::start("a", "null", &[]);
    let whole = run(&node, 0);
    let above = tempfile::tempdir().unwrap();
    let folder = above.path().join("run");
    let arg = folder.to_str().unwrap();
    let all: [(&str, &[&[&str]]); 4] = [
        (
            "result_summary.json",
            &[
                &["show", arg],
                &["show", "--json", arg],
                &["report", arg],
                &["compare", arg, arg],
                &["recover", arg],
                &["export", arg],
                &["accuracy", arg],
                &["replay", "--timeline", arg],
                &["list", above.path().to_str().unwrap()],
            ],
        ),
        ("result.txt", &[&["show", arg]]),
        (
            "mlperf_log_detail.txt",
            &[&["show", arg], &["report", arg], &["compare", arg, arg], &["replay", "--official", arg]],
        ),
        ("timeline.bin", &[&["replay", "--timeline", arg], &["export", arg], &["compare", arg, arg]]),
    ];
    for (name, commands) in all {
        let too_long =
            ["of which at most", "has more than", "zero bytes", "is another one", "does not begin with LONTIME3"];
        type Put = fn(&Path);
        let cases: [(Put, &[&str]); 2] = [(put_pipe, &["is a named pipe, not a file"]), (put_sparse, &too_long)];
        for (put, phrases) in cases {
            fs::create_dir(&folder).unwrap();
            for entry in fs::read_dir(&whole.path).unwrap().map(Result::unwrap) {
                fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
            }
            put(&folder.join(name));
            for args in commands {
                let output = output_of(args);
                assert!(
                    phrases.iter().any(|phrase| output.contains(phrase)),
                    "{name}, {phrases:?}: {args:?}: {output}"
                );
            }
            fs::remove_dir_all(&folder).unwrap();
        }
    }
}

/// A tree of somebody else may hold anything in the place of a file.
#[test]
fn a_pipe_or_a_file_without_an_end_in_a_submission_is_named() {
    let [tree, clone] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    fs::create_dir_all(clone.path().join("tools/submission")).unwrap();
    let run = "open/Us/results/sys/resnet50/Offline";
    let files = [
        "open/Us/systems/sys.json".to_owned(),
        "open/Us/measurements/sys/resnet50/Offline/user.conf".to_owned(),
        format!("{run}/performance/run_1/mlperf_log_detail.txt"),
        format!("{run}/accuracy/mlperf_log_accuracy.json"),
        format!("{run}/accuracy/accuracy.txt"),
    ];
    type Put = fn(&Path);
    let cases: [(Put, &str); 2] = [(put_pipe, "a pipe or a device"), (put_sparse, "has 21474836480 bytes")];
    for (put, phrase) in cases {
        for file in &files {
            let path = tree.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            put(&path);
        }
        let args = ["submission", "check", "--rules", "v5.1", "--mlcommons", clone.path().to_str().unwrap()];
        let checked = LoadGen::run(&[&args[..], &[tree.path().to_str().unwrap()]].concat());
        assert_eq!(checked.code, Some(3), "{checked:?}");
        let output = checked.stdout + &checked.stderr;
        assert!(output.matches(phrase).count() >= files.len(), "{output}");
        assert!(output.contains("not asked: it would wait for a pipe"), "{output}");
        files.iter().for_each(|file| fs::remove_file(tree.path().join(file)).unwrap());
    }
}

/// One folder that cannot be read takes nothing from the list of the others.
#[test]
fn a_pipe_in_one_folder_does_not_stop_the_list() {
    let node = SutNode::start("a", "null", &[]);
    let above = RunFolder::new();
    fs::create_dir(&above.path).unwrap();
    for name in ["good", "bad"] {
        fs::rename(&run(&node, 0).path, above.path.join(name)).unwrap();
    }
    put_pipe(&above.path.join("bad/result_summary.json"));
    let listed = LoadGen::run(&["list", above.arg(), "--json"]);
    let listed: RunList = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(listed.runs.len(), 1, "{listed:?}");
    assert!(listed.unreadable.len() == 1 && listed.unreadable[0].contains("is a named pipe, not a file"), "{listed:?}");
}

#[test]
fn a_model_that_is_a_pipe_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("m.onnx");
    fs::copy(repository("loadgen-node/qsl/digits/digits.onnx"), &model).unwrap();
    let backend = format!("onnx:{}", model.display());
    for name in ["SHA256SUMS", "m.onnx"] {
        put_pipe(&folder.path().join(name));
        let output = Command::new(binary("sut-node")).args(["describe", "--backend", &backend]).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && stderr.contains("is a named pipe, not a file"), "{name}: {output:?}");
    }
}

#[test]
fn a_valid_result_in_the_folder_of_another_run_is_not_believed() {
    let node = SutNode::start("a", "null", &[]);
    let above = RunFolder::new();
    fs::create_dir(&above.path).unwrap();
    let [good, other, alone] = ["good", "other", "alone"].map(|name| above.path.join(name));
    fs::rename(&run(&node, 0).path, &good).unwrap();
    fs::rename(&run(&node, 1).path, &other).unwrap();
    fs::create_dir(&alone).unwrap();
    let [good_arg, other_arg] = [&good, &other].map(|path| path.to_str().unwrap());
    let list = || -> RunList {
        let listed = LoadGen::run(&["list", above.arg(), "--json"]);
        serde_json::from_str(&listed.stdout).unwrap()
    };
    let compare = || LoadGen::run(&["compare", good_arg, other_arg, "--fail-if", "invalid"]).code;
    assert_eq!((compare(), list().runs.len()), (Some(0), 2));
    for folder in [&other, &alone] {
        fs::copy(good.join("result_summary.json"), folder.join("result_summary.json")).unwrap();
    }
    assert_ne!(compare(), Some(0));
    for args in [&["show", other_arg][..], &["show", "--json", other_arg], &["report", other_arg]] {
        let finished = LoadGen::run(args);
        assert!(
            finished.code == Some(2) && finished.stderr.contains("is not of the run of this folder"),
            "{finished:?}"
        );
    }
    let listed = list();
    assert!(listed.runs.len() == 1 && listed.runs[0].result == Validity::Valid, "{listed:?}");
    assert_eq!(listed.unreadable.len(), 2, "{listed:?}");
}

/// The result of the folder says that its run has not ended.
#[test]
fn a_timeline_of_another_run_in_an_unfinished_folder_is_not_judged() {
    let node = SutNode::start("a", "null", &[]);
    let ended = run(&node, 0);
    let server = TestRun::new("Server").on(&node.address).set("target_qps=100,min_duration=600s,min_query_count=100");
    let (killed, folder) = server.begin();
    killed.signal(nix::sys::signal::Signal::SIGKILL);
    killed.finish();
    fs::copy(ended.path.join("timeline.bin"), folder.path.join("timeline.bin")).unwrap();
    let judged = LoadGen::run(&["replay", "--timeline", folder.arg()]);
    assert!(judged.code == Some(2) && judged.stderr.contains("has not ended"), "{judged:?}");
    let recovered = LoadGen::run(&["recover", folder.arg()]);
    assert!(recovered.code == Some(2) && recovered.stderr.contains("is of another run"), "{recovered:?}");
    fs::remove_file(folder.path.join("timeline.bin")).unwrap();
    assert_eq!(LoadGen::run(&["recover", folder.arg()]).code, Some(0));
}
