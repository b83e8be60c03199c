//! The command `accuracy`: an accuracy log against the labels of the dataset it was made with.

use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, anyhow};
use lon_qsl::accuracy::Score;
use lon_qsl::benchmark::{Benchmark, Target};
use lon_qsl::source::OpenOptions;
use serde::Deserialize;
use serde_json::{Value, json};

use super::args::AccuracyArgs;
use super::exit::{Exit, OrExit as _, Outcome};
use crate::settings::Mode;

/// One line of `mlperf_log_accuracy.json`; keys that are not needed here are not read.
#[derive(Deserialize)]
struct Entry {
    qsl_idx: usize,
    data: String,
}

/// What of `result_summary.json` says how to score.
#[derive(Deserialize)]
struct Made {
    benchmark: String,
    /// Of the user's, if it was one.
    benchmark_file: Option<String>,
    dataset: String,
    mode: String,
}

/// Scores a run folder.
pub(crate) fn accuracy(args: &AccuracyArgs) -> Outcome {
    let made: Made = read(&args.folder, "result_summary.json")?;
    let entries: Vec<Entry> = read(&args.folder, "mlperf_log_accuracy.json")?;
    if entries.is_empty() && !Mode::from_name(&made.mode).is_some_and(Mode::has_accuracy) {
        let mode = &made.mode;
        let told = anyhow!("the run was {mode}: it logged no answers to score; run with --mode AccuracyOnly");
        return Err(told).or_exit(Exit::Usage);
    }
    let benchmark = Benchmark::named(made.benchmark_file.as_ref().unwrap_or(&made.benchmark)).or_exit(Exit::Usage)?;
    let target = benchmark.accuracy.ok_or_else(|| anyhow!("benchmark {} has no accuracy", benchmark.name));
    let target = target.or_exit(Exit::Usage)?;
    // Labels are wanted, not images.
    let options = OpenOptions { original: true, ..OpenOptions::default() };
    let dataset = benchmark.open_with(args.dataset.as_deref(), &options).or_exit(Exit::Usage)?;
    let truths = dataset.truths().ok_or_else(|| anyhow!("dataset {} has no labels", made.dataset));
    let truths = truths.or_exit(Exit::Usage)?;
    let answers: anyhow::Result<Vec<(usize, Vec<u8>)>> = entries.iter().map(decode).collect();
    let answers = answers.or_exit(Exit::Usage)?;
    let answers = answers.iter().map(|(index, data)| (*index, data.as_slice()));
    let score = target.score(answers, truths).context("the accuracy log cannot be scored");
    let score = score.or_exit(Exit::Usage)?;
    let text = if args.json { json(score, target).to_string() } else { line(score, target) };
    writeln!(std::io::stdout(), "{text}").or_exit(Exit::Bug)?;
    Ok(if target.is_reached_by(score) { Exit::Ok } else { Exit::Invalid })
}

/// The score for people.
pub(crate) fn line(score: Score, target: Target) -> String {
    let (name, unit) = (target.metric.name(), target.metric.unit());
    let verdict = if target.is_reached_by(score) { "passed" } else { "missed" };
    let (value, samples, wanted) = (score.value, score.samples, target.value);
    format!("{name} {value:.3} {unit} on {samples} samples (target {wanted} {unit}: {verdict})")
}

/// The score for programs.
pub(crate) fn json(score: Score, target: Target) -> Value {
    json!({
        "metric": target.metric.name(),
        "name": target.metric.name(),
        "value": score.value,
        "unit": target.metric.unit(),
        "target": target.value,
        "passed": target.is_reached_by(score),
        "samples": score.samples,
    })
}

fn read<T: for<'de> Deserialize<'de>>(folder: &Path, name: &str) -> Outcome<T> {
    let path = folder.join(name);
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()));
    let text = text.or_exit(Exit::Usage)?;
    serde_json::from_str(&text)
        .with_context(|| format!("{} is not what a run writes", path.display()))
        .or_exit(Exit::Usage)
}

fn decode(entry: &Entry) -> anyhow::Result<(usize, Vec<u8>)> {
    let digits = entry.data.as_bytes();
    let bad = || anyhow!("the data of sample {} is not hexadecimal", entry.qsl_idx);
    if !digits.len().is_multiple_of(2) || !digits.iter().all(u8::is_ascii_hexdigit) {
        return Err(bad());
    }
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let data: Option<Vec<u8>> = digits.chunks(2).map(byte).collect();
    Ok((entry.qsl_idx, data.ok_or_else(bad)?))
}
