//! The command `accuracy`: an accuracy log against the labels of the dataset it was made with.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use anyhow::{Context as _, anyhow};
use lon_qsl::accuracy::{Rows, Score, Truths};
use lon_qsl::benchmark::{Benchmark, Target};
use lon_qsl::dataset::{Dataset, OpenOptions};
use lon_shell::documents::of_text;
use serde::Deserialize;

use super::{io, scorer};
use crate::cli::AccuracyArgs;
use loadgen::official::DETAIL_FILE;
use loadgen::settings::Mode;
use lon_run::audit::Detail;
use lon_run::exit::{Exit, OrExit as _, Outcome};
use lon_run::outputs::documents::accuracy::{self, AccuracyDocument};
use lon_run::outputs::documents::accuracy_subset::AccuracySubset;
use lon_run::outputs::documents::qdl_result::{self, QdlResult};
use lon_run::outputs::documents::result_summary::{self, ResultSummary};
use lon_run::outputs::logs::accuracy_log::{self, Entry, Log};
use lon_run::outputs::timeline::stored_timeline;

/// Facts of a run whose answers are scored.
pub(super) struct Answered {
    mode: String,
    pub(super) rules: String,
    /// The benchmark's name, or its file.
    pub(super) benchmark: String,
    dataset: String,
    /// Layout of the answers, as all nodes reported it.
    pub(super) rows: Option<Rows>,
}

impl Answered {
    /// Reads it from the result of a run, or of one that another engine led.
    pub(super) fn read(folder: &Path) -> Outcome<Answered> {
        if !folder.join(qdl_result::FILE).exists() || folder.join(result_summary::FILE).exists() {
            let result = ResultSummary::of_folder(folder).or_exit(Exit::Usage)?;
            let (rows, benchmark) = (result.network.rows(), result.benchmark_file.unwrap_or(result.benchmark));
            return Ok(Answered { mode: result.mode, rules: result.rules, benchmark, dataset: result.dataset, rows });
        }
        let result: QdlResult = read(folder, qdl_result::FILE)?;
        let path = folder.join(DETAIL_FILE);
        let detail = Detail::read(&io::read(&path)?);
        let detail = detail.map_err(|why| anyhow!("{}: {why}", path.display())).or_exit(Exit::Usage)?;
        let mode = detail.text("effective_test_mode").unwrap_or_default().to_owned();
        let rows = result.network.rows();
        Ok(Answered { mode, rules: result.rules, benchmark: result.benchmark, dataset: result.dataset, rows })
    }

    /// The path of the dataset, where it is not there any more.
    pub(super) fn missing_dataset(&self) -> Option<&str> {
        let is_path = self.dataset.contains('/') && !self.dataset.starts_with("synthetic:");
        (is_path && !Path::new(&self.dataset).exists()).then_some(self.dataset.as_str())
    }

    /// The dataset, where it is a path that is still there, or one that was made up.
    fn dataset(&self) -> Option<&str> {
        let is_there = self.dataset.starts_with("synthetic:") || Path::new(&self.dataset).exists();
        is_there.then_some(self.dataset.as_str())
    }
}

/// Scores a run folder.
pub(crate) fn accuracy(args: &AccuracyArgs) -> Outcome {
    let run = Answered::read(&args.folder)?;
    let Log { path, entries } = accuracy_log::read(&args.folder, args.backup.as_deref()).or_exit(Exit::Usage)?;
    if path.parent() == Some(args.folder.as_path()) {
        // A log that was edited since is no log of the run.
        stored_timeline::check_sum(&path, &accuracy_log::sum(&path).or_exit(Exit::Usage)?).or_exit(Exit::Usage)?;
    }
    let has_accuracy = Mode::from_name(&run.mode).is_some_and(Mode::has_accuracy);
    if entries.is_empty() && !has_accuracy {
        let mode = &run.mode;
        let error = anyhow!("the run was {mode}: it logged no answers to score; run with --mode AccuracyOnly");
        return Err(error).or_exit(Exit::Usage);
    }
    let answers: anyhow::Result<Vec<(usize, Vec<u8>)>> = entries.iter().map(decode).collect();
    let answers = answers.or_exit(Exit::Usage)?;
    // A performance run asks for a sample more than once; of its answers the first counts, as in the official scripts.
    if has_accuracy && let Some(index) = contradicted(&answers) {
        let error = anyhow!("the accuracy log has two different answers to sample {index}");
        return Err(error).or_exit(Exit::Usage);
    }
    let benchmark = Benchmark::named(&run.benchmark).or_exit(Exit::Usage)?;
    if let Some(command) = &args.scorer {
        if !has_accuracy {
            let error = anyhow!("--scorer: the run was {}, and its log has some answers only", run.mode);
            return Err(error).or_exit(Exit::Usage);
        }
        if answers.is_empty() {
            return Err(anyhow!("--scorer: the accuracy log has no answers")).or_exit(Exit::Usage);
        }
        let scores = scorer::scores(command, &path, benchmark, &run.rules)?;
        io::print_in(args.form.check(), &scores, || io::print(&scores.text()), || scores.table())?;
        return Ok(if scores.passed == Some(false) { Exit::Invalid } else { Exit::Ok });
    }
    let rows = run.rows;
    if !has_accuracy {
        return some(&answers, benchmark, &run, args);
    }
    let (target, dataset) = labels(benchmark, &run, args.dataset.as_deref())?;
    let truths = truths(&dataset)?;
    let answers = answers.iter().map(|(index, data)| (*index, data.as_slice()));
    let score = scored(benchmark, answers, truths, rows, "the accuracy log cannot be scored")?;
    let document = AccuracyDocument::new(&score, target);
    let lines = || io::print(&accuracy::lines(&score, target).join("\n"));
    io::print_in(args.form.check(), &document, lines, || document.table())?;
    Ok(if accuracy::has_passed(&score, target) { Exit::Ok } else { Exit::Invalid })
}

/// The score of all answers.
fn scored<'a>(
    benchmark: &Benchmark,
    answers: impl Iterator<Item = (usize, &'a [u8])> + Clone,
    truths: &Truths,
    rows: Option<Rows>,
    message: &'static str,
) -> Outcome<Score> {
    let score = benchmark.score(answers, truths, rows);
    let score = score.ok_or_else(|| anyhow!("benchmark {} has no accuracy", benchmark.name)).or_exit(Exit::Usage)?;
    score.context(message).or_exit(Exit::Usage)
}

/// The target of a benchmark and the dataset with its right answers.
fn labels(benchmark: &Benchmark, run: &Answered, path: Option<&str>) -> Outcome<(Target, Dataset)> {
    let target = benchmark.accuracy.ok_or_else(|| anyhow!("benchmark {} has no accuracy", benchmark.name));
    let target = target.or_exit(Exit::Usage)?;
    // Labels are wanted, not images.
    let options = OpenOptions { original: true, labels_only: true, ..OpenOptions::default() };
    let dataset = benchmark.open_with(path.or_else(|| run.dataset()), &options).or_exit(Exit::Usage)?;
    Ok((target, dataset))
}

fn truths(dataset: &Dataset) -> Outcome<&Truths> {
    dataset.truths().ok_or_else(|| anyhow!("dataset {} has no labels", dataset.name())).or_exit(Exit::Usage)
}

/// Scores the samples that a performance run has logged, and holds the score against nothing.
fn some(answers: &[(usize, Vec<u8>)], benchmark: &Benchmark, run: &Answered, args: &AccuracyArgs) -> Outcome {
    let (score, target, all) = subset(benchmark, run, args.dataset.as_deref(), answers, run.rows)?;
    let document = AccuracySubset::new(&score, target.metric, all);
    io::print_in(args.form.check(), &document, || io::print(&document.line()), || document.table())
}

/// Scores answers to some samples of a dataset. Returns how many samples the dataset has, too.
pub(super) fn subset(
    benchmark: &Benchmark,
    run: &Answered,
    dataset: Option<&str>,
    answers: &[(usize, Vec<u8>)],
    rows: Option<Rows>,
) -> Outcome<(Score, Target, usize)> {
    let (target, dataset) = labels(benchmark, run, dataset)?;
    let all = truths(&dataset)?;
    let places = places(answers, dataset.total_count()).or_exit(Exit::Usage)?;
    let indices: Vec<usize> = places.keys().copied().collect();
    let Some(subset_truths) = all.of_samples(&indices) else {
        let error = anyhow!("the run has logged some answers, and this dataset is scored as a whole alone");
        return Err(error).or_exit(Exit::Usage);
    };
    let placed = answers.iter().map(|(index, data)| (places[index], data.as_slice()));
    let message = "the accuracy log cannot be scored (samples are counted among those that were logged)";
    Ok((scored(benchmark, placed, &subset_truths, rows, message)?, target, dataset.total_count()))
}

/// The samples that have answers, each with its place among them.
fn places(answers: &[(usize, Vec<u8>)], count: usize) -> anyhow::Result<BTreeMap<usize, usize>> {
    let answered: BTreeSet<usize> = answers.iter().map(|(index, _)| *index).collect();
    if let Some(index) = answered.last().filter(|index| **index >= count) {
        return Err(anyhow!("the log answers sample {index}, the dataset has {count}"));
    }
    Ok(answered.into_iter().zip(0..).collect())
}

/// The first sample with an answer that differs from an earlier one.
fn contradicted(answers: &[(usize, Vec<u8>)]) -> Option<usize> {
    let mut first_answers: HashMap<usize, &[u8]> = HashMap::with_capacity(answers.len());
    for (index, data) in answers {
        if *first_answers.entry(*index).or_insert(data) != data.as_slice() {
            return Some(*index);
        }
    }
    None
}

fn read<T: for<'de> Deserialize<'de>>(folder: &Path, name: &str) -> Outcome<T> {
    let path = folder.join(name);
    let text = io::read(&path)?;
    of_text(&text).with_context(|| format!("{} is not what a run writes", path.display())).or_exit(Exit::Usage)
}

fn decode(entry: &Entry) -> anyhow::Result<(usize, Vec<u8>)> {
    let data = hex::decode(&entry.data);
    Ok((entry.qsl_idx, data.map_err(|_| anyhow!("the data of sample {} is not hexadecimal", entry.qsl_idx))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_contradicts_an_earlier_one_is_found() {
        let answers = |all: &[(usize, u8)]| all.iter().map(|(index, byte)| (*index, vec![*byte])).collect::<Vec<_>>();
        assert_eq!(contradicted(&answers(&[(0, 1), (1, 2), (0, 1), (2, 1)])), None);
        assert_eq!(contradicted(&answers(&[(0, 1), (1, 2), (0, 1), (1, 3)])), Some(1));
    }
}
