//! `--baseline`: what the same backend does without a network, as `sut-node bench --out` measured it, and what a run
//! over the network loses against it: the fabric tax.

use std::path::{Path, PathBuf};

use lon_proto::files;
use lon_shell::documents::{BENCH_SCHEMA, BenchBackend, BenchLatency, BenchReport, of_text};
use qdl::NodeDescription;
use serde::Deserialize as _;
use serde_json::Value;

use loadgen::judge::PERCENTILES;
use loadgen::traffic::Shape;

/// A file of `sut-node bench`.
#[derive(Clone, Debug)]
pub struct Baseline {
    pub(crate) path: PathBuf,
    pub(crate) report: BenchReport,
}

/// Highest rate that counts as measured, samples per second; `LONGEST_NS` is the longest time. No machine reaches them.
const MOST_SAMPLES_PER_S: f64 = 1e12;
const LONGEST_NS: u64 = 86_400_000_000_000;

/// Checks that the values to compare were measured.
fn check(report: &BenchReport) -> Result<(), &'static str> {
    let BenchReport { throughput, latency_ns: alone, .. } = report;
    let times = alone_ns(alone);
    let rate = throughput.samples_per_s;
    match () {
        () if throughput.failed > 0 || throughput.samples == 0 => Err("samples failed, or there were none"),
        () if !(1e-6..=MOST_SAMPLES_PER_S).contains(&rate) => Err("its rate is none"),
        () if !times.is_sorted() || alone.p99_9 > LONGEST_NS => Err("its latencies are none"),
        () => Ok(()),
    }
}

/// The percentiles that a run has, too, in its order.
fn alone_ns(alone: &BenchLatency) -> [u64; PERCENTILES.len()] {
    let BenchLatency { p50, p90, p95, p97, p99, p99_9, .. } = *alone;
    [p50, p90, p95, p97, p99, p99_9]
}

/// Why a file is no baseline, or not that of these nodes.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BaselineError {
    #[error("cannot read {0}: {1}")]
    Read(PathBuf, std::io::Error),
    #[error("{0} is not a result of sut-node bench --out: {1}")]
    Format(PathBuf, serde_json::Error),
    #[error("{0} measured nothing: {1}; measure again with sut-node bench")]
    Nothing(PathBuf, &'static str),
    #[error(
        "{0} has version {1} of the format, this program reads version {BENCH_SCHEMA}: measure again with its sut-node"
    )]
    Schema(PathBuf, u64),
    #[error("{path} measured {measured}, node {node} runs {runs}: measure the node's own backend (sut-node bench)")]
    Other { path: PathBuf, measured: String, node: String, runs: String },
}

impl Baseline {
    /// Reads and checks the file at `path`.
    ///
    /// # Errors
    /// See [`BaselineError`].
    pub(crate) fn read(path: &Path) -> Result<Baseline, BaselineError> {
        let place = || path.to_owned();
        let text = files::user_text(path).map_err(|error| BaselineError::Read(place(), error))?;
        let format = |error| BaselineError::Format(place(), error);
        let value: Value = of_text(&text).map_err(format)?;
        // Before the keys: another version may have others.
        match value.get("schema").and_then(Value::as_u64) {
            Some(schema) if schema != u64::from(BENCH_SCHEMA) => return Err(BaselineError::Schema(place(), schema)),
            _ => {}
        }
        let report = BenchReport::deserialize(value).map_err(format)?;
        check(&report).map_err(|what| BaselineError::Nothing(place(), what))?;
        Ok(Baseline { path: place(), report })
    }

    /// Checks that every node runs the measured backend.
    ///
    /// # Errors
    /// One does not; the error names both.
    pub(crate) fn fits(&self, nodes: &[NodeDescription]) -> Result<(), BaselineError> {
        let backend_text = |engine: &str, model: &str, sha256: &str, outputs: &str| match sha256.get(..12) {
            Some(sum) => format!("{model} (SHA-256 {sum}..) on {engine}, giving {outputs}"),
            None => engine.to_owned(),
        };
        let BenchBackend { engine, model, model_sha256, outputs, .. } = &self.report.backend;
        let outputs = outputs.join(", ");
        for node in nodes {
            let theirs = node.outputs.to_string();
            if (engine, model_sha256, &outputs) != (&node.engine, &node.model_sha256, &theirs) {
                return Err(BaselineError::Other {
                    path: self.path.clone(),
                    measured: backend_text(engine, model, model_sha256, &outputs),
                    node: node.name.clone(),
                    runs: backend_text(&node.engine, &node.model, &node.model_sha256, &theirs),
                });
            }
        }
        Ok(())
    }
}

/// Loss of a run against its baseline.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tax {
    /// Samples/s: of as many nodes as the run had without a network, and of the run. Offline only: in other scenarios
    /// the rate is what was asked for.
    pub(crate) rates: Option<(f64, f64)>,
    /// Of the run minus of one sample at a time without a network, by percentile, in ns. Not Offline, where latency is
    /// counted from the start of all, nor MultiStream, where it is that of several samples.
    pub(crate) added_ns: Option<[i64; PERCENTILES.len()]>,
}

impl Tax {
    /// Of a run with such queries on so many nodes: its rate and its percentiles of latency, where it has them.
    pub(crate) fn of(
        baseline: &Baseline,
        shape: Shape,
        nodes: usize,
        run: Option<f64>,
        percentiles_ns: Option<[i64; PERCENTILES.len()]>,
    ) -> Tax {
        let BenchReport { throughput, latency_ns: alone, .. } = &baseline.report;
        let alone_ns = alone_ns(alone);
        let added = |run: [i64; PERCENTILES.len()]| {
            let mut added = run;
            added.iter_mut().zip(alone_ns).for_each(|(ns, alone)| *ns -= i64::try_from(alone).unwrap_or(i64::MAX));
            added
        };
        Tax {
            rates: run.filter(|_| shape.is_pulled()).map(|run| (throughput.samples_per_s * nodes as f64, run)),
            added_ns: percentiles_ns.filter(|_| shape.is_one_sample() && alone.count > 0).map(added),
        }
    }

    /// The run's rate over that without a network.
    pub(crate) fn ratio(&self) -> Option<f64> {
        self.rates.filter(|(alone, _)| *alone > 0.0).map(|(alone, run)| run / alone)
    }

    /// The comparison as text for people.
    pub(crate) fn text(&self, human: impl Fn(i64) -> String) -> String {
        match (self.rates, self.ratio(), self.added_ns) {
            (Some((alone, run)), Some(ratio), _) => {
                format!("{:.1} % of the {alone:.2} samples/s without a network ({run:.2})", 100.0 * ratio)
            }
            (_, _, Some([p50, p90, _, _, p99, _])) => {
                let signed = |ns: i64| format!("{}{}", if ns < 0 { "-" } else { "+" }, human(ns.saturating_abs()));
                format!(
                    "p50 {}, p90 {}, p99 {} against one sample at a time without a network",
                    signed(p50),
                    signed(p90),
                    signed(p99)
                )
            }
            _ => "nothing that can be compared".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use loadgen::plan::Plan;
    use loadgen::settings::{Qsl, Scenario, TestSettings};

    fn shape(scenario: Scenario) -> Shape {
        let settings = TestSettings { scenario, ..TestSettings::default() };
        Plan::for_judging(settings, Qsl { total: 8, performance: 8 }).unwrap().effective().shape
    }

    fn text() -> Value {
        json!({
            "schema": 1, "software": "sut-node 0.1.0",
            "backend": { "engine": "tract 1", "model": "m.onnx", "model_sha256": "00112233445566", "inputs": [],
                         "outputs": ["y f32[N,2]"] },
            "options": { "max_batch": 8, "max_delay_ns": 0, "workers": 1, "threads": 1, "preprocess": null,
                         "postprocess": "none", "phase_ns": 1 },
            "samples": { "what": "random", "count": 64, "mean_bytes": 80 },
            "throughput": { "samples_per_s": 50.0, "samples": 500, "failed": 0, "duration_ns": 1, "in_flight": 32 },
            "latency_ns": { "count": 9, "min": 1, "mean": 2.5, "p50": 10, "p90": 20, "p95": 30, "p97": 40, "p99": 50,
                            "p99_9": 60, "max": 70 },
            "nan": 0,
        })
    }

    fn read(value: &Value) -> Result<Baseline, BaselineError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bench.json");
        std::fs::write(&path, value.to_string()).unwrap();
        Baseline::read(&path)
    }

    #[test]
    fn offline_is_compared_by_rate_and_single_queries_by_latency() {
        let baseline = read(&text()).unwrap();
        let percentiles = Some([11, 22, 33, 44, 55, 66]);
        let tax = Tax::of(&baseline, shape(Scenario::OFFLINE), 2, Some(97.0), percentiles);
        assert_eq!((tax.ratio(), tax.rates), (Some(0.97), Some((100.0, 97.0))));
        assert!(tax.added_ns.is_none() && tax.text(|ns| ns.to_string()).starts_with("97.0 %"));
        let tax = Tax::of(&baseline, shape(Scenario::SERVER), 1, Some(3.0), percentiles);
        assert_eq!(tax.added_ns, Some([1, 2, 3, 4, 5, 6]));
        assert_eq!(tax.ratio(), None);
        assert!(tax.text(|ns| ns.to_string()).starts_with("p50 +1, p90 +2, p99 +5"));
        let tax = Tax::of(&baseline, shape(Scenario::MULTI_STREAM), 1, Some(3.0), percentiles);
        assert_eq!(tax, Tax { rates: None, added_ns: None });
    }

    #[test]
    fn what_is_not_a_baseline_is_refused_with_its_name() {
        let error = Baseline::read(Path::new("/no/bench.json")).unwrap_err().to_string();
        assert!(error.contains("/no/bench.json"), "{error}");
        let mut later = text();
        later["schema"] = json!(2);
        later["news"] = json!(1);
        assert!(read(&later).unwrap_err().to_string().contains("has version 2"));
        let mut odd = text();
        odd["throughput"]["typo"] = json!(1);
        let error = read(&odd).unwrap_err().to_string();
        assert!(error.contains("bench.json is not a result of sut-node bench") && error.contains("typo"), "{error}");
        assert!(read(&json!([])).unwrap_err().to_string().contains("is not a result"));
        for (part, key, value) in [
            ("throughput", "samples_per_s", json!(5e-324)),
            ("throughput", "samples_per_s", json!(1e308)),
            ("throughput", "samples_per_s", json!(-1.0)),
            ("throughput", "failed", json!(3)),
            ("latency_ns", "p99_9", json!(u64::MAX)),
            ("latency_ns", "p50", json!(1_000)),
        ] {
            let mut absurd = text();
            absurd[part][key] = value;
            let error = read(&absurd).unwrap_err().to_string();
            assert!(error.contains("bench.json measured nothing"), "{key}: {error}");
        }
    }
}
