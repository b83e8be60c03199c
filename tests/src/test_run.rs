//! `loadgen-node run`, said in a sentence: `TestRun::new("Server").on(&node.address).set("target_qps=500").finish()`.

use std::path::Path;

use crate::fabric::Host;
use crate::metrics;
use crate::process::{Finished, LoadGen, SutNode};
use crate::run_folder::RunFolder;
use crate::schemas;

/// A run that is being put together. Synthetic samples of 64 bytes unless told otherwise.
pub struct TestRun {
    args: Vec<String>,
    host: Option<Host>,
    under: Vec<String>,
    /// Where it writes.
    pub folder: RunFolder,
}

impl TestRun {
    /// A run of this scenario on synthetic samples.
    pub fn new(scenario: &str) -> TestRun {
        TestRun::of("synthetic", scenario).args(&["--dataset", "synthetic:u8[64]x16"])
    }

    /// A run of this scenario on the digits.
    pub fn digits(scenario: &str) -> TestRun {
        TestRun::of("digits", scenario)
    }

    /// A mix of the tenants in this file, on synthetic samples where the file has no others.
    ///
    /// # Panics
    /// The file cannot be written.
    pub fn mix(file: &str) -> TestRun {
        let folder = RunFolder::new();
        let path = folder.path.with_file_name("mix.toml");
        std::fs::write(&path, file).expect("a temporary folder takes a file");
        let path = path.to_str().expect("temporary paths are UTF-8");
        let args = ["run", "--mix", path, "--benchmark", "synthetic", "--dataset", "synthetic:u8[64]x16"];
        TestRun { args: args.map(str::to_owned).to_vec(), host: None, under: Vec::new(), folder }
    }

    /// A run of this benchmark and scenario.
    pub fn of(benchmark: &str, scenario: &str) -> TestRun {
        TestRun {
            args: ["run", "--benchmark", benchmark, "--scenario", scenario].map(str::to_owned).to_vec(),
            host: None,
            under: Vec::new(),
            folder: RunFolder::new(),
        }
    }

    /// With its files in this folder.
    pub fn into(self, folder: RunFolder) -> TestRun {
        TestRun { folder, ..self }
    }

    /// Starts the run through another program that replaces itself with it, as `sh -c 'ulimit ...; exec "$0" "$@"'`
    /// does.
    pub fn under(self, under: &[&str]) -> TestRun {
        TestRun { under: under.iter().map(ToString::to_string).collect(), ..self }
    }

    /// Against these nodes, comma-separated.
    pub fn on(self, sut: &str) -> TestRun {
        self.args(&["--sut", sut])
    }

    /// With these settings, comma-separated.
    pub fn set(self, settings: &str) -> TestRun {
        self.args(&["--set", settings])
    }

    /// With limits that no machine exceeds: its lateness, its speed and its stalls do not decide the verdict. What is
    /// asserted of time is tested in virtual time (`tests/sim`), or by tests that run alone and are ignored for
    /// `.ci/run timing`. Settings that follow count.
    pub fn patient(self) -> TestRun {
        let is_server = self.args.iter().any(|arg| arg == "Server");
        let test = self.args(&["--max-lag", "3600s"]);
        if is_server { test.set("target_latency=3600000") } else { test }
    }

    /// With other synthetic samples.
    pub fn dataset(mut self, dataset: &str) -> TestRun {
        match self.args.iter_mut().find(|arg| arg.starts_with("synthetic:")) {
            Some(arg) => *arg = dataset.to_owned(),
            None => panic!("only a synthetic run has synthetic samples"),
        }
        self
    }

    /// From a host of a fabric, where plain text is allowed.
    pub fn inside(mut self, host: &Host) -> TestRun {
        self.host = Some(host.clone());
        self.args(&["--insecure"])
    }

    /// With more flags.
    pub fn args(mut self, more: &[&str]) -> TestRun {
        self.args.extend(more.iter().map(ToString::to_string));
        self
    }

    /// Starts it.
    pub fn start(self) -> (LoadGen, RunFolder) {
        let args: Vec<&str> = self.args.iter().map(String::as_str).chain(["--out", self.folder.arg()]).collect();
        let under: Vec<&str> = self.under.iter().map(String::as_str).collect();
        let run = match &self.host {
            Some(host) => LoadGen::start_in(host, &under, &args),
            None => LoadGen::start_under(&under, &args),
        };
        (run, self.folder)
    }

    /// Starts it and returns when it says that the run has begun.
    pub fn begin(self) -> (LoadGen, RunFolder) {
        let (mut run, folder) = self.start();
        run.wait_for_log("run started");
        (run, folder)
    }

    /// Starts it and returns when so many of its samples have been answered.
    pub fn begin_until_answered(self, samples: u64) -> (LoadGen, RunFolder) {
        let (mut run, folder) = self.args(&["--metrics-listen", "127.0.0.1:0"]).start();
        let address = run.metrics_address();
        match metrics::wait_for(&address, "lon_loadgen_answered_samples_total", samples) {
            Ok(()) => (run, folder),
            Err(error) => panic!("it ended before {samples} answers ({error}): {:?}", run.finish()),
        }
    }

    /// Runs it to its end.
    pub fn finish(self) -> (Finished, RunFolder) {
        let (run, folder) = self.start();
        let finished = run.finish();
        schemas::assert_folder(&folder.path);
        (finished, folder)
    }
}

/// A run whose result may be INVALID for reasons of time, and which went well otherwise.
pub fn went_well(test: TestRun, what: &str) -> (Finished, RunFolder) {
    let (finished, folder) = test.finish();
    assert!(matches!(finished.code, Some(0 | 3)), "{what}: {finished:?}");
    folder.assert_complete();
    let counts = &folder.result()["counts"];
    assert_eq!(counts["issued"], counts["completed"], "{what}: {finished:?}");
    (finished, folder)
}

/// Limits that a busy machine keeps.
const JUDGED_BY_TOKENS: &str = "use_token_latencies=1,ttft_latency=60000,tpot_latency=60000,\
    target_latency_percentile=50,min_duration=0,min_query_count=200,target_qps=200";

/// A run over a model that answers token by token; one of Server is judged by its tokens.
pub fn token_run(scenario: &str) -> TestRun {
    let test = TestRun::new(scenario).dataset("synthetic:tokens-i64[16]x8").patient();
    if scenario == "Server" { test.set(JUDGED_BY_TOKENS) } else { test }
}

/// A run of a few samples whose accuracy and performance are both measured.
pub fn short_submission(node: &SutNode) -> TestRun {
    let set = "min_duration=0,min_query_count=1,target_qps=1000";
    TestRun::new("Offline").patient().on(&node.address).set(set).args(&["--mode", "SubmissionRun"])
}

/// In the shell that becomes the program: `setup` first, and a folder of this path for what the run folder does not
/// take.
pub fn in_shell(run: TestRun, setup: &str, other: &Path) -> TestRun {
    std::fs::create_dir_all(other).unwrap();
    run.under(&["sh", "-c", &format!("{setup} TMPDIR={} exec \"$0\" \"$@\"", other.display())])
}
