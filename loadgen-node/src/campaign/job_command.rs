//! The command of a run, checked as it would be when it is typed.

use std::path::{Path, PathBuf};
use std::process::Command as Process;

use anyhow::{Context as _, Result, anyhow};

use super::checked::Campaign;
use super::jobs::Job;
use crate::cli::without_outputs;
use crate::keys::test::{first_words, spec};
use crate::mix::CheckedMix;
use lon_run::exit::{Failure, Outcome};
use lon_run::nodes::target::Target;
use lon_run::test_run::Test;

/// Stands for nodes that are not started yet.
const NO_NODES: &str = "127.0.0.1:1";

impl Job<'_> {
    /// The words behind this program's name that make the run on these nodes. None: the flags name nodes that are up.
    pub(crate) fn command(&self, sut: Option<&str>) -> Vec<String> {
        let mut arguments = self.arguments(sut);
        if let Some(accuracy) = self.accuracy() {
            arguments.push(format!("--accuracy-run={}", accuracy.folder().display()));
        }
        arguments
    }

    /// The same without what other runs have to make first.
    fn arguments(&self, sut: Option<&str>) -> Vec<String> {
        let mut arguments = vec!["run".to_owned()];
        arguments.extend(self.cell.run.iter().cloned());
        arguments.extend(sut.map(|sut| format!("--sut={sut}")));
        arguments.extend(self.repeat.is_none().then(|| "--mode=AccuracyOnly".to_owned()));
        arguments.push(format!("--out={}", self.folder().display()));
        arguments
    }

    /// Checks the command, opens the dataset, and predicts for how long samples are issued, s. No node is asked.
    ///
    /// # Errors
    /// The run cannot be made; the failure has the line of the file.
    pub(crate) fn predicted_s(&self) -> Outcome<f64> {
        let sut = self.cell.nodes.as_ref().map(|_| NO_NODES);
        let arguments = self.arguments(sut);
        let test = |arguments: &[String]| {
            let test = Test::new(spec(arguments)?)?;
            let cell = self.cell.name.as_str();
            test.doubts().iter().for_each(|doubt| tracing::warn!(cell, doubt, "settings"));
            Ok(test.predicted()?.duration_s)
        };
        let checked = mix(&arguments).map_or_else(|| test(&arguments), |mix| mix?.predicted_s());
        checked.map_err(|failure| {
            let message = failure.one_line();
            let place = self.campaign.place_of(&message).map(str::to_owned);
            let place = place.unwrap_or_else(|| format!("cell {}", self.cell.name));
            Failure { error: anyhow!("{place}: {message}"), ..failure }
        })
    }
}

/// The nodes that a run names, and how they are reached.
///
/// # Errors
/// The run cannot be made.
pub(super) fn target(job: &Job<'_>) -> Outcome<Target> {
    let arguments = job.arguments(None);
    match mix(&arguments) {
        Some(mix) => Ok(mix?.target()?.clone()),
        None => spec(&arguments).map(|spec| spec.target),
    }
}

/// The mix that a run names; `None`: it is one test.
fn mix(arguments: &[String]) -> Option<Outcome<CheckedMix>> {
    let file = arguments.iter().find_map(|word| word.strip_prefix("--mix="))?;
    Some(CheckedMix::read(Path::new(file), &without_outputs(arguments.iter().cloned())))
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
            let output = Process::new(&program).arg("serve").args(&setup.flags).arg("--help").output();
            let output = output.with_context(|| {
                format!("cannot start {}: [node] needs sut-node beside this program or on PATH", program.display())
            })?;
            if !output.status.success() {
                let message = first_words(&String::from_utf8_lossy(&output.stderr));
                let place = self.place_of(&message).unwrap_or("[node]");
                return Err(anyhow!("{place}: sut-node serve: {message}"));
            }
        }
        Ok(())
    }
}

/// The program of the nodes: the one beside this program, else the one on PATH.
pub(crate) fn sut_node() -> PathBuf {
    let name = "sut-node";
    let sibling = std::env::current_exe().ok().and_then(|own| Some(own.parent()?.join(name)));
    sibling.filter(|path| path.is_file()).unwrap_or_else(|| name.into())
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
            let message = planned(run).unwrap_err();
            assert!(message.contains(why) && message.contains(&format!("c.toml, line {line}:")), "{message}");
        }
    }
}
