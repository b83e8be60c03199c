//! The command of a run, checked as it would be when it is typed.

use std::path::{Path, PathBuf};
use std::process::Command as Process;

use anyhow::{Context as _, Result, anyhow};

use super::checked::Campaign;
use super::jobs::Job;
use crate::cli::without_outputs;
use crate::exit::{Failure, Outcome};
use crate::keys::test::{first_words, spec};
use crate::mix::CheckedMix;
use crate::nodes::target::Target;
use crate::test_run::Test;

/// Stands for nodes that are not started yet.
const NO_NODES: &str = "127.0.0.1:1";

impl Job<'_> {
    /// The words behind this program's name that make the run on these nodes. None: the flags name nodes that are up.
    pub(crate) fn command(&self, sut: Option<&str>) -> Vec<String> {
        let mut words = self.words(sut);
        if let Some(accuracy) = self.accuracy() {
            words.push(format!("--accuracy-run={}", accuracy.folder().display()));
        }
        words
    }

    /// The same without what other runs have to make first.
    fn words(&self, sut: Option<&str>) -> Vec<String> {
        let mut words = vec!["run".to_owned()];
        words.extend(self.cell.run.iter().cloned());
        words.extend(sut.map(|sut| format!("--sut={sut}")));
        words.extend(self.repeat.is_none().then(|| "--mode=AccuracyOnly".to_owned()));
        words.push(format!("--out={}", self.folder().display()));
        words
    }

    /// Checks the command, opens the dataset, and predicts for how long samples are issued, s. No node is asked.
    ///
    /// # Errors
    /// The run cannot be made; the failure has the line of the file.
    pub(crate) fn predicted_s(&self) -> Outcome<f64> {
        let sut = self.cell.nodes.as_ref().map(|_| NO_NODES);
        let words = self.words(sut);
        let test = |words: &[String]| {
            let test = Test::new(spec(words)?)?;
            let cell = self.cell.name.as_str();
            test.doubts().iter().for_each(|doubt| tracing::warn!(cell, doubt, "settings"));
            Ok(test.predicted()?.duration_s)
        };
        let checked = mix(&words).map_or_else(|| test(&words), |mix| mix?.predicted_s());
        checked.map_err(|failure| {
            let told = failure.one_line();
            let place = self.campaign.place_of(&told).map(str::to_owned);
            let place = place.unwrap_or_else(|| format!("cell {}", self.cell.name));
            Failure { error: anyhow!("{place}: {told}"), ..failure }
        })
    }
}

/// The nodes that a run names, and how they are reached.
///
/// # Errors
/// The run cannot be made.
pub(super) fn target(job: &Job<'_>) -> Outcome<Target> {
    let words = job.words(None);
    match mix(&words) {
        Some(mix) => Ok(mix?.target()?.clone()),
        None => spec(&words).map(|spec| spec.target),
    }
}

/// The mix that a run names; `None`: it is one test.
fn mix(words: &[String]) -> Option<Outcome<CheckedMix>> {
    let file = words.iter().find_map(|word| word.strip_prefix("--mix="))?;
    Some(CheckedMix::read(Path::new(file), &without_outputs(words.iter().cloned())))
}

impl Campaign {
    /// The program of the nodes, with flags that it takes.
    ///
    /// # Errors
    /// There is no such program, or it refuses flags; the text has the line of the file.
    pub(crate) fn check_nodes(&self) -> Result<()> {
        let mut checked: Vec<&[String]> = Vec::new();
        for setup in self.cells.iter().filter_map(|cell| cell.nodes.as_ref()) {
            if checked.contains(&setup.flags.as_slice()) {
                continue;
            }
            checked.push(&setup.flags);
            let program = sut_node();
            // The flags are read before the help is printed.
            let asked = Process::new(&program).arg("serve").args(&setup.flags).arg("--help").output();
            let asked = asked.with_context(|| {
                format!("cannot start {}: [node] needs sut-node beside this program or on PATH", program.display())
            })?;
            if !asked.status.success() {
                let told = first_words(&String::from_utf8_lossy(&asked.stderr));
                let place = self.place_of(&told).unwrap_or("[node]");
                return Err(anyhow!("{place}: sut-node serve: {told}"));
            }
        }
        Ok(())
    }
}

/// The program of the nodes: the one beside this program, else the one on PATH.
pub(crate) fn sut_node() -> PathBuf {
    let name = "sut-node";
    let beside = std::env::current_exe().ok().and_then(|own| Some(own.parent()?.join(name)));
    beside.filter(|path| path.is_file()).unwrap_or_else(|| name.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(run: &str) -> Result<f64, String> {
        let text = format!(
            "out = \"o\"\n[run]\nsut = \"h:1\"\nbenchmark = \"synthetic\"\nscenario = \"Server\"\n\
             dataset = \"synthetic:u8[8]x8\"\n{run}"
        );
        let campaign = Campaign::of(&text, "c.toml").unwrap();
        campaign.jobs()[0].predicted_s().map_err(|failure| failure.one_line())
    }

    #[test]
    fn a_run_is_predicted_by_its_settings() {
        let predicted_s = planned("settings.target_qps = 1000\nsettings.min_duration = 2000\n").unwrap();
        assert!((1.5..3.0).contains(&predicted_s), "{predicted_s}");
    }

    #[test]
    fn a_value_that_a_run_refuses_has_the_line_of_the_file() {
        for (run, line, why) in [
            ("connections = 0\n", 7, "from 1 to 256"),
            ("settings.target_qps = -1\n", 7, "target_qps"),
            ("compression = \"auto\"\n", 7, "advice"),
            ("extend = true\nuser-conf = \"/no/such/file\"\n", 8, "/no/such/file"),
        ] {
            let told = planned(run).unwrap_err();
            assert!(told.contains(why) && told.contains(&format!("c.toml, line {line}:")), "{told}");
        }
    }
}
