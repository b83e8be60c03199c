//! `loadgen-node run`, said in a sentence: `TestRun::new("Server").on(&node.address).set("target_qps=500").finish()`.

use crate::fabric::Host;
use crate::process::{Finished, LoadGen};
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

    /// Started by another program that is to become it, as `sh -c 'ulimit ...; exec "$0" "$@"'` does.
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

    /// Runs it to its end.
    pub fn finish(self) -> (Finished, RunFolder) {
        let (run, folder) = self.start();
        let finished = run.finish();
        schemas::assert_folder(&folder.path);
        (finished, folder)
    }
}
