//! The official LoadGen over our QDL, and by itself: programs of tests/peers, and what its summary says.
//!
//! The environment variable `LON_TEST_OFFICIAL` names a folder with `official_rate` (which
//! `tests/peers/official_rate.sh` builds) and with the Python environment `venv` that has the official wheel.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::context::Context;
use crate::process::{Ended, Place};
use crate::product;
use crate::row::{Cpu, Face, Figure, IMAGE, SMALL};

/// A test takes a few seconds; LoadGen first makes the whole schedule.
const PATIENCE: Duration = Duration::from_secs(60);
const FOLDER: &str = "LON_TEST_OFFICIAL";
const HERE: &str = "in-process";

/// The test that LoadGen runs.
struct TestSpec {
    face: Face,
    scenario: &'static str,
    /// Bytes of one sample.
    size: usize,
    /// Queries per second in Server, samples in Offline.
    amount: f64,
}

impl TestSpec {
    /// Server at a rate that no SUT can answer through this face.
    fn too_much(face: Face) -> TestSpec {
        let amount = match face {
            Face::Cpp => 2e6,
            Face::Python => 4e5,
        };
        TestSpec { face, scenario: "Server", size: SMALL, amount }
    }

    /// The rate of answers; an error where it may be no more than what was offered.
    fn checked(&self, rate: f64) -> Result<f64> {
        ensure!(rate < 0.95 * self.amount, "{rate:.0} answers per second to {:.0} queries: offer more", self.amount);
        Ok(rate)
    }
}

/// Answers per second of a SUT in LoadGen's own process.
pub(super) fn in_process(context: &Context, face: Face) -> Result<f64> {
    let spec = TestSpec::too_much(face);
    let (summary, _) = test(context, &spec, HERE)?;
    spec.checked(number(&summary, "Completed samples per second")?)
}

/// Answers per second over the network, where more is offered than can be answered.
pub(super) fn rate(context: &Context, face: Face) -> Result<Figure> {
    let spec = TestSpec::too_much(face);
    let figure = over_network(context, &spec, "Completed samples per second")?;
    Ok(Figure { value: spec.checked(figure.value)?, ..figure })
}

/// The median latency at this rate, ns.
pub(super) fn latency(context: &Context, rate: u32) -> Result<Figure> {
    let spec = TestSpec { face: Face::Cpp, scenario: "Server", size: SMALL, amount: f64::from(rate) };
    over_network(context, &spec, "50.00 percentile latency (ns)")
}

/// Bytes of so many samples per second.
pub(super) fn goodput(context: &Context, samples: f64) -> Result<Figure> {
    let spec = TestSpec { face: Face::Cpp, scenario: "Offline", size: IMAGE, amount: samples };
    let figure = over_network(context, &spec, "Samples per second")?;
    Ok(Figure { value: figure.value * IMAGE as f64, ..figure })
}

/// One test against a node without a model, and a figure of its summary.
fn over_network(context: &Context, spec: &TestSpec, label: &str) -> Result<Figure> {
    let (node, address) = product::null_node(&context.starter, &context.programs)?;
    let (summary, loadgen) = test(context, spec, &address)?;
    let node = node.stop()?.expect_code(&[0])?;
    // The summary does not say how many samples there were.
    let cpu = Cpu { loadgen_s: loadgen.cpu_s, sut_s: node.cpu_s, samples: 0 };
    Ok(Figure { value: number(&summary, label)?, cpu })
}

/// The official summary, and the process that ended.
fn test(context: &Context, spec: &TestSpec, place: &str) -> Result<(String, Ended)> {
    let out = context.folder.path().join("official");
    // The test before may have left this folder.
    let _ = std::fs::remove_dir_all(&out);
    let mut command = program(context, spec.face)?;
    command.args([place, spec.scenario]).arg(spec.size.to_string()).arg(format!("{:.0}", spec.amount)).arg(&out);
    let ended = context.starter.start(&mut command, Place::Anywhere)?.wait(PATIENCE)?.expect_code(&[0])?;
    let path = out.join("mlperf_log_summary.txt");
    let text = std::fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
    Ok((text, ended))
}

fn program(context: &Context, face: Face) -> Result<Command> {
    let folder = std::env::var_os(FOLDER).map(PathBuf::from);
    let folder =
        folder.with_context(|| format!("set {FOLDER} to the folder that tests/peers/official_rate.sh made"))?;
    Ok(match face {
        Face::Cpp => Command::new(folder.join("official_rate")),
        Face::Python => {
            let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../peers/wheel_rate.py");
            let mut command = Command::new(folder.join("venv/bin/python3"));
            command.arg("-B").arg(script).arg("--library").arg(context.programs.library()?);
            command
        }
    })
}

/// The number behind a label of the summary.
fn number(summary: &str, label: &str) -> Result<f64> {
    let of_line = |line: &str| line.strip_prefix(label)?.trim_start().strip_prefix(':')?.trim().parse().ok();
    summary.lines().find_map(of_line).with_context(|| format!("the official summary has no number '{label}'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_behind_their_labels() {
        let summary = "SUT name : Network SUT: N1\nCompleted samples per second    : 1234.50\n99.00 percentile : 3\n";
        assert_eq!(number(summary, "Completed samples per second").unwrap(), 1234.5);
        let error = number(summary, "Samples per second").unwrap_err().to_string();
        assert!(error.contains("'Samples per second'"), "{error}");
    }
}
