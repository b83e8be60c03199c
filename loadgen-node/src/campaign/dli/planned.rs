//! Values of a cell that its flags give, for the row of a run without a result.

use std::path::Path;

use loadgen::settings::{Scenario, setting_keys};
use loadgen::traffic::Expected;
use lon_shell::dli::terms::{CPU, Mode};

use lon_run::outputs::documents::campaign::PlannedCell;

/// The prefix of a backend that runs an ONNX model.
const ONNX: &str = "onnx:";
/// The setting with the samples of a query.
const SAMPLES: &str = "samples_per_query";

/// Values of a cell, as far as its flags give them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Planned {
    pub(super) mode: Option<Mode>,
    /// Images of a batch.
    pub(super) batch: Option<u64>,
    pub(super) device: Option<String>,
    pub(super) dataset: Option<String>,
    /// The file of the model.
    pub(super) model: Option<String>,
    pub(super) threads: Option<String>,
    pub(super) workers: Option<String>,
}

impl Planned {
    /// Reads the flags of a cell. Nodes that are up have flags of their own, which are not known here.
    pub(super) fn of(cell: &PlannedCell) -> Planned {
        let flags = cell.nodes.as_ref().map(|nodes| nodes.flags.as_slice());
        let of_node = |name: &str| flags.and_then(|flags| value(flags, name)).map(str::to_owned);
        let scenario = value(&cell.run, "scenario").and_then(Scenario::from_name);
        let mode = scenario.map(|scenario| Mode::of(scenario.traffic().expected() == Expected::Latency));
        let samples = scenario.and_then(|scenario| set(&cell.run, SAMPLES, scenario));
        let batch = match mode {
            // A query has as many samples as the setting says, and one where its scenario has no such setting.
            Some(Mode::Latency) if !scenario.is_some_and(has_samples) => Some(1),
            Some(Mode::Latency) => samples.and_then(|samples| samples.parse().ok()),
            _ => of_node("max-batch").and_then(|batch| batch.parse().ok()),
        };
        let backend = of_node("backend");
        let file = backend.as_deref().and_then(|backend| backend.strip_prefix(ONNX)).and_then(file_name);
        Planned {
            mode,
            batch,
            device: flags.map(|_| of_node("ep").unwrap_or_else(|| CPU.to_owned())),
            dataset: value(&cell.run, "dataset").map(str::to_owned),
            model: file,
            threads: of_node("threads"),
            workers: of_node("workers"),
        }
    }
}

/// The value of a flag among words such as `--sut=a:1`. The last one counts.
fn value<'a>(arguments: &'a [String], flag: &str) -> Option<&'a str> {
    arguments.iter().rev().find_map(|word| word.strip_prefix("--")?.strip_prefix(flag)?.strip_prefix('='))
}

/// The value of a setting of LoadGen, for this scenario alone or for all.
fn set<'a>(arguments: &'a [String], key: &str, scenario: Scenario) -> Option<&'a str> {
    let assigned = |word: &'a String| word.strip_prefix("--set=")?.split_once('=');
    let own = format!("{}.{key}", scenario.name());
    arguments.iter().rev().filter_map(assigned).find(|(name, _)| *name == key || *name == own).map(|(_, value)| value)
}

/// True for a scenario whose queries have a number of samples that is set.
fn has_samples(scenario: Scenario) -> bool {
    setting_keys().any(|setting| setting.key == SAMPLES && setting.scenario == Some(scenario))
}

fn file_name(path: &str) -> Option<String> {
    Some(Path::new(path).file_name()?.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {

    use super::*;
    use lon_run::outputs::documents::campaign::PlannedNodes;

    fn planned(run: &[&str], flags: Option<&[&str]>) -> Planned {
        let arguments = |texts: &[&str]| texts.iter().map(|word| (*word).to_owned()).collect();
        let nodes = flags.map(|flags| PlannedNodes { count: 1, flags: arguments(flags) });
        Planned::of(&PlannedCell { name: "a".to_owned(), values: Vec::new(), run: arguments(run), nodes, link: None })
    }

    #[test]
    fn mode_and_batch_follow_from_the_flags() {
        let single = planned(&["--scenario=SingleStream", "--dataset=d.npy"], None);
        assert_eq!((single.mode, single.batch, single.device.clone()), (Some(Mode::Latency), Some(1), None));
        assert_eq!(single.dataset.as_deref(), Some("d.npy"));
        for set in ["--set=samples_per_query=4", "--set=MultiStream.samples_per_query=4"] {
            assert_eq!(planned(&["--scenario=MultiStream", set], Some(&["--max-batch=8"])).batch, Some(4));
        }
        let flags = ["--backend=onnx:/m/a.onnx", "--max-batch=8", "--threads=3", "--workers=2", "--ep=CUDA"];
        let closed = planned(&["--scenario=Closed"], Some(&flags));
        assert_eq!((closed.mode, closed.batch), (Some(Mode::Throughput), Some(8)));
        assert_eq!([closed.model.as_deref(), closed.device.as_deref()], [Some("a.onnx"), Some("CUDA")]);
        assert_eq!([closed.threads.as_deref(), closed.workers.as_deref()], [Some("3"), Some("2")]);
    }

    #[test]
    fn a_value_that_no_flag_gives_is_none() {
        assert_eq!(planned(&["--scenario=MultiStream"], None).batch, None);
        let device = Some(CPU.to_owned());
        assert_eq!(planned(&["--benchmark=digits"], Some(&[])), Planned { device, ..Planned::default() });
    }
}
