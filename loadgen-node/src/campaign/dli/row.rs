//! A performance run with its 22 columns.

use std::path::Path;

use anyhow::Result;
use loadgen::traffic::Expected;
use lon_shell::dli::row::{INFERENCE_FAILURE, Measured, NO_ERROR, Parameters, Row};
use lon_shell::dli::terms::{Mode, NONE, blobs, device, infrastructure, setting, stated};

use super::planned::Planned;
use super::times::Times;
use lon_run::exit::Exit;
use lon_run::outputs::documents::campaign_run::{CampaignRun, CellOutcome};
use lon_run::outputs::documents::result_summary::{MetricDocument, ResultSummary};
use lon_run::outputs::documents::sut_setup::{SutNode, SutSetup};
use lon_run::outputs::logs::own_result;
use lon_shell::dli::facts::Facts;

/// A row with the name of its cell of the campaign.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CellRow {
    pub(super) cell: String,
    pub(super) row: Row,
}

impl CellRow {
    /// The row of a run. One without a result is a row as well, with the values that its flags give.
    ///
    /// # Errors
    /// Its result cannot be read.
    pub(super) fn of(out: &Path, run: &CampaignRun, facts: &Facts, planned: &Planned) -> Result<CellRow> {
        let row = of_run(out, run, facts, planned)?;
        Ok(CellRow { cell: run.cell.clone(), row })
    }
}

fn of_run(out: &Path, run: &CampaignRun, facts: &Facts, planned: &Planned) -> Result<Row> {
    if run.outcome != CellOutcome::Result {
        return Ok(failed(run, facts, planned));
    }
    let folder = out.join(&run.folder);
    let result = own_result::read(&folder)?;
    Ok(match Times::read(&folder) {
        Ok(times) => with_result(&result, &times, facts),
        Err(_) => failed(run, facts, planned),
    })
}

/// The name of the model: the fact, else the name that the node has for it, else the benchmark's.
pub(super) fn topology(facts: &Facts, setup: &SutSetup, benchmark: &str) -> String {
    let model = Some(setup.model.as_str()).filter(|model| !model.is_empty());
    facts.topology.as_deref().or(model).unwrap_or(benchmark).to_owned()
}

fn with_result(result: &ResultSummary, times: &Times, facts: &Facts) -> Row {
    let SutNode { setup, host } = result.sut.first().cloned().unwrap_or_default();
    let mode = Mode::of(result.settings.scenario.traffic().expected() == Expected::Latency);
    let node_batch = setting(&setup.settings, "max_batch").and_then(|text| text.parse().ok()).unwrap_or(1);
    let batch = if mode == Mode::Latency { times.query_samples } else { node_batch }.max(1);
    let measured = measured(times, total_s(result, times), mode, batch);
    let requests = result.users.as_ref().map(|users| users.users.div_ceil(batch));
    let is_whole = times.unanswered == 0 && !times.samples_s.is_empty();
    Row {
        is_whole,
        task: stated(facts.task.as_deref()),
        topology: topology(facts, &setup, &result.benchmark),
        dataset: facts.dataset.clone().unwrap_or_else(|| result.dataset.clone()),
        framework: stated(facts.framework.as_deref()),
        engine: stated(Some(&setup.engine)),
        blobs: blobs(&setup.inputs, batch),
        image_blobs: blobs(&setup.inputs, 1),
        precision: stated(facts.precision.as_deref()),
        batch: Some(batch),
        mode: Some(mode),
        device: device(&setup.settings),
        parameters: parameters(&setup, result.sut.len(), measured.iterations, mode, requests),
        infrastructure: infrastructure(&host),
        measured,
        error: if is_whole { NO_ERROR } else { INFERENCE_FAILURE },
    }
}

/// The row of a run without a result.
fn failed(run: &CampaignRun, facts: &Facts, planned: &Planned) -> Row {
    let is = |exit: Exit| run.exit_code == Some(exit as i32);
    let error = match run.outcome {
        _ if is(Exit::Usage) => "PROCESS_CMD_ERROR",
        _ if is(Exit::Bug) => "INFERENCE_EXCEPTION",
        CellOutcome::Failed if run.exit_code.is_none() && run.wall_s == 0.0 => "PROCESS_CREATE_ERROR",
        _ => INFERENCE_FAILURE,
    };
    let named = |name: &str, value: &Option<String>| value.as_ref().map(|value| format!("{name}: {value}"));
    let streams = planned.workers.clone().filter(|_| planned.mode != Some(Mode::Latency));
    let parts = [("Device", &planned.device), ("Thread count", &planned.threads), ("Stream count", &streams)];
    let parameters: Vec<String> = parts.into_iter().filter_map(|(name, value)| named(name, value)).collect();
    Row {
        is_whole: false,
        task: stated(facts.task.as_deref()),
        topology: stated(facts.topology.as_deref().or(planned.model.as_deref())),
        dataset: stated(facts.dataset.as_deref().or(planned.dataset.as_deref())),
        framework: stated(facts.framework.as_deref()),
        engine: NONE.to_owned(),
        blobs: NONE.to_owned(),
        image_blobs: NONE.to_owned(),
        precision: stated(facts.precision.as_deref()),
        batch: planned.batch,
        mode: planned.mode,
        device: stated(planned.device.as_deref()),
        parameters: stated(Some(&parameters.join(", "))),
        infrastructure: NONE.to_owned(),
        measured: Measured::default(),
        error,
    }
}

/// The time of a pass, s. The starts of a closed loop are not recorded, so there the measured rate gives the time.
fn total_s(result: &ResultSummary, times: &Times) -> f64 {
    let is_closed = result.settings.scenario.traffic().expected() == Expected::MostQps;
    let rate = match &result.metric {
        Some(MetricDocument::Performance(metric)) if is_closed => metric.value,
        _ => None,
    };
    rate.filter(|rate| *rate > 0.0).map_or(times.total_s, |rate| times.samples_s.len() as f64 / rate)
}

fn measured(times: &Times, total_s: f64, mode: Mode, batch: u64) -> Measured {
    let measured = match mode {
        Mode::Latency => Measured::of_latency_mode(&times.queries_s, batch),
        Mode::Throughput => Measured::of_throughput_mode(times.samples_s.len() as u64, total_s, batch),
    };
    measured.with_tokens(&times.samples_s, &times.tokens)
}

/// The parameters of the test in DLI's words. A closed loop has so many asynchronous requests in flight. In other
/// scenarios their number is no setting: the nodes decide by what they take.
fn parameters(setup: &SutSetup, nodes: usize, iterations: u64, mode: Mode, requests: Option<u64>) -> String {
    let workers = setting(&setup.settings, "workers").and_then(|workers| workers.parse::<u64>().ok());
    let workers = workers.filter(|_| mode == Mode::Throughput);
    let streams = workers.map(|workers| workers.saturating_mul(nodes as u64));
    Parameters { settings: &setup.settings, iterations, requests, streams }.to_string()
}

/// A row of latency mode without a fault, for tests.
#[cfg(test)]
pub(super) fn example() -> CellRow {
    let row = Row {
        is_whole: true,
        task: "classification".to_owned(),
        topology: "alexnet".to_owned(),
        dataset: "ImageNet".to_owned(),
        framework: "Caffe".to_owned(),
        engine: "tract".to_owned(),
        blobs: "2x3x227x227".to_owned(),
        image_blobs: "1x3x227x227".to_owned(),
        precision: "FP32".to_owned(),
        batch: Some(2),
        mode: Some(Mode::Latency),
        device: "CPU".to_owned(),
        parameters: "Device: CPU".to_owned(),
        infrastructure: "CPU: Intel".to_owned(),
        measured: Measured { fps: Some(8.0), ..Measured::default() },
        error: NO_ERROR,
    };
    CellRow { cell: "a".to_owned(), row }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lon_run::outputs::documents::campaign::RunKind;

    fn setup() -> SutSetup {
        let setting = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        SutSetup {
            inputs: vec!["image u8[N,1,8,8]".to_owned(), "mask i64[4]".to_owned()],
            settings: vec![setting("max_batch", "8"), setting("workers", "2"), setting("threads", "3")],
            ..SutSetup::default()
        }
    }

    fn times() -> Times {
        Times {
            queries_s: vec![0.4, 0.1, 0.3, 0.2],
            query_samples: 2,
            samples_s: vec![0.1; 100],
            tokens: vec![0; 100],
            unanswered: 0,
            total_s: 4.0,
        }
    }

    fn result(scenario: &str) -> ResultSummary {
        let mut result = ResultSummary {
            benchmark: "digits".to_owned(),
            dataset: "/d/images.npy".to_owned(),
            sut: vec![SutNode { setup: setup(), ..SutNode::default() }; 2],
            ..ResultSummary::default()
        };
        result.settings.scenario = loadgen::settings::Scenario::from_name(scenario).unwrap();
        result
    }

    fn row(scenario: &str, times: &Times, facts: &Facts) -> Row {
        with_result(&result(scenario), times, facts)
    }

    #[test]
    fn modes_have_their_own_formulas() {
        let sync = row("MultiStream", &times(), &Facts::default());
        assert_eq!((sync.batch, sync.measured.iterations, sync.is_whole), (Some(2), 4, true));
        assert_eq!(sync.cells()[12..16], ["0.25000", "0.25000", "8.000", "8.000"]);
        let other = row("Offline", &times(), &Facts::default());
        assert_eq!((other.batch, other.measured.iterations), (Some(8), 13));
        assert_eq!(other.cells()[12..18], ["0.32000", "N/A", "25.000", "25.000", "N/A", "N/A"]);
        let lost = row("MultiStream", &Times { unanswered: 1, ..times() }, &Facts::default());
        assert_eq!((lost.is_whole, lost.error), (false, "INFERENCE_FAILURE"));
    }

    #[test]
    fn a_row_has_the_setup_in_the_words_of_dli() {
        let facts = Facts { precision: Some("FP32".to_owned()), ..Facts::default() };
        let cells = row("Offline", &times(), &facts).cells();
        assert_eq!((cells[0].as_str(), cells[2].as_str(), cells[7].as_str()), ("Success", "digits", "FP32"));
        assert_eq!((cells[6].as_str(), cells[8].as_str(), cells[9].as_str()), ("8x1x8x8, 4", "8", "Async"));
        assert_eq!(cells[10], "Device: CPU, Iteration count: 13, Thread count: 3, Stream count: 4");
        assert_eq!((cells[3].as_str(), cells[21].as_str()), ("/d/images.npy", "NO_ERROR"));
        let facts = Facts { dataset: Some("Digits".to_owned()), ..facts };
        assert_eq!(row("Offline", &times(), &facts).dataset, "Digits");
    }

    #[test]
    fn a_run_without_a_result_is_a_row_with_its_error() {
        let run = |exit_code, wall_s| CampaignRun {
            schema: 1,
            cell: "a".to_owned(),
            kind: RunKind::Performance,
            repeat: Some(1),
            folder: "a/1".to_owned(),
            outcome: CellOutcome::Failed,
            result: None,
            reason: None,
            exit_code,
            started_utc: String::new(),
            wall_s,
            result_sha256: None,
        };
        let planned = Planned {
            mode: Some(Mode::Throughput),
            batch: Some(8),
            device: Some("CPU".to_owned()),
            model: Some("a.onnx".to_owned()),
            workers: Some("2".to_owned()),
            ..Planned::default()
        };
        for (run, error) in [
            (run(Some(2), 0.1), "PROCESS_CMD_ERROR"),
            (run(Some(4), 0.1), "INFERENCE_FAILURE"),
            (run(Some(1), 0.1), "INFERENCE_EXCEPTION"),
            (run(None, 0.0), "PROCESS_CREATE_ERROR"),
        ] {
            let cells = failed(&run, &Facts::default(), &planned).cells();
            assert_eq!((cells[0].as_str(), cells[14].as_str(), cells[21].as_str()), ("Failed", "N/A", error));
            assert_eq!([&cells[2], &cells[8], &cells[9]], ["a.onnx", "8", "Async"]);
            assert_eq!([&cells[10], &cells[11]], ["Device: CPU, Stream count: 2", "N/A"]);
        }
    }
}
