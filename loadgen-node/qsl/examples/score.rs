//! Prints the scores of accuracy logs, without a run: for a comparison with other programs
//! (tests/peers/scorers_diff.py).
//!
//! Each argument is a folder with `benchmark.toml`, the dataset `data` (a folder) or `data.jsonl`, and
//! `mlperf_log_accuracy.json`. It may have `outputs.txt`, the outputs of the SUT as results show them. A line is
//! printed for each folder: the score, or `error` and why there is none.

#![allow(clippy::print_stdout, reason = "a program for developers that prints a table")]

use std::path::Path;

use lon_qsl::accuracy::Rows;
use lon_qsl::benchmark::Benchmark;
use lon_qsl::dataset::OpenOptions;
use serde::Deserialize;

/// A line of the accuracy log; it has more keys.
#[derive(Deserialize)]
struct Entry {
    qsl_idx: usize,
    data: String,
}

fn main() {
    for folder in std::env::args().skip(1) {
        match score(Path::new(&folder)) {
            Ok(score) => println!("{score:?}"),
            Err(error) => println!("error {error}"),
        }
    }
}

fn score(folder: &Path) -> Result<f64, Box<dyn std::error::Error>> {
    let benchmark = Benchmark::named(&folder.join("benchmark.toml").to_string_lossy())?;
    let target = benchmark.accuracy.ok_or("no accuracy in benchmark.toml")?;
    let lines = folder.join("data.jsonl");
    let data = if lines.exists() { lines } else { folder.join("data") };
    let options = OpenOptions { original: true, labels_only: true, ..OpenOptions::default() };
    let dataset = benchmark.open_with(data.to_str(), &options)?;
    let truths = dataset.truths().ok_or("the dataset has no right answers")?;
    let entries: Vec<Entry> = serde_json::from_slice(&std::fs::read(folder.join("mlperf_log_accuracy.json"))?)?;
    let decoded = entries.iter().map(|entry| Ok((entry.qsl_idx, hex::decode(&entry.data)?)));
    let answers: Vec<(usize, Vec<u8>)> = decoded.collect::<Result<_, hex::FromHexError>>()?;
    let outputs = std::fs::read_to_string(folder.join("outputs.txt"));
    let rows = outputs.ok().and_then(|outputs| Rows::from_text(outputs.trim()));
    let answers = answers.iter().map(|(index, data)| (*index, data.as_slice()));
    Ok(target.score(answers, truths, rows)?.value)
}
