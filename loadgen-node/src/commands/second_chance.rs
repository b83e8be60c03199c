//! The scores for TEST01's second chance: of an accuracy run and of a test, over the samples that the test has logged.

use std::collections::{BTreeMap, HashSet};
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use lon_qsl::benchmark::{Benchmark, Official, official_text};

use super::accuracy::{Answered, subset};
use super::scorer;
use lon_run::audit::second_chance::{Near, SecondChance, baseline_log, near, nears};
use lon_run::audit::{AccuracyRunFacts, AnswerLog};
use lon_run::outputs::documents::other_score::OtherScore;

/// Both runs, and how they are scored.
pub(super) struct Runs<'a> {
    pub(super) accuracy: &'a AccuracyRunFacts,
    /// The folder of the accuracy run.
    pub(super) accuracy_folder: &'a Path,
    pub(super) test: &'a AnswerLog,
    /// The file of the test's answers.
    pub(super) test_log: &'a Path,
    /// The command that scores logs, where they are not scored here.
    pub(super) scorer: Option<&'a str>,
    /// The name of the benchmark in the checker, where it was given; a high target asks for more.
    pub(super) checker: Option<&'a str>,
}

impl Runs<'_> {
    /// Scores both logs.
    ///
    /// # Errors
    /// One cannot be scored; the error says why.
    pub(super) fn scored(&self) -> Result<(SecondChance, Vec<Near>)> {
        let run = Answered::read(self.accuracy_folder).map_err(|failure| failure.error)?;
        let benchmark = Benchmark::named(&run.benchmark)?;
        let officials = if benchmark.file.is_none() { benchmark.official(&run.rules) } else { Vec::new() };
        let named = officials.iter().find(|official| Some(official.checker.as_str()) == self.checker);
        let official: Option<&Official> = named.or(officials.first()).copied();
        let (chance, first) = match self.scorer {
            Some(command) => self.by_command(command)?,
            None => self.here(benchmark, &run)?,
        };
        let nears = official.map(nears).filter(|nears| !nears.is_empty());
        Ok((chance, nears.unwrap_or_else(|| near(&first))))
    }

    /// Both texts, and the name of the first metric.
    fn here(&self, benchmark: &Benchmark, run: &Answered) -> Result<(SecondChance, String)> {
        if let Some(path) = run.missing_dataset() {
            bail!("the dataset of the accuracy run, {path}, is not there any more; --scorer CMD scores without it");
        }
        let tested = decoded(self.test.samples())?;
        let indices: HashSet<usize> = tested.iter().map(|(index, _)| *index).collect();
        let mut baseline = decoded(self.accuracy.answers.samples())?;
        baseline.retain(|(index, _)| indices.contains(index));
        let baseline_indices: HashSet<usize> = baseline.iter().map(|(index, _)| *index).collect();
        ensure!(baseline_indices.len() == indices.len(), "the accuracy run lacks samples of the test");
        let text = |answers: &[(usize, Vec<u8>)]| -> Result<(String, String)> {
            let (score, target, _) =
                subset(benchmark, run, None, answers, run.rows).map_err(|failure| failure.error)?;
            let name = target.metric.checker_name().unwrap_or_else(|| target.metric.name());
            let first = (name.to_owned(), score.value);
            let others = OtherScore::all(&score).into_iter().filter_map(|other| {
                let value = other.value?;
                Some((other.official.unwrap_or(other.metric), value))
            });
            let scores: Vec<(String, f64)> = std::iter::once(first).chain(others).collect();
            let text = official_text(&scores, score.samples);
            Ok((text.ok_or_else(|| anyhow!("{name} is not scored here as the official script does"))?, name.to_owned()))
        };
        let (baseline, name) = text(&baseline)?;
        let (compliance, _) = text(&tested)?;
        Ok((SecondChance { baseline, compliance }, name))
    }

    /// The same by a command of the user's.
    fn by_command(&self, command: &str) -> Result<(SecondChance, String)> {
        let mut log = tempfile::Builder::new().prefix("mlperf_log_accuracy_baseline").suffix(".json").tempfile()?;
        log.write_all(baseline_log(&self.accuracy.answers, self.test).as_bytes())?;
        let [baseline, compliance] = [log.path(), self.test_log].map(|log| -> Result<(String, String)> {
            let scores: BTreeMap<String, f64> =
                scorer::printed(command, log).with_context(|| format!("the scorer '{command}'"))?;
            let scores: Vec<(String, f64)> = scores.into_iter().collect();
            let named = |name: &str| scores.iter().any(|(metric, _)| metric == name);
            let text = official_text(&first_named(scores.clone()), self.test.len());
            let error = || anyhow!("the scorer '{command}' printed scores that have no official form");
            let first = if named("F1") { "F1".to_owned() } else { scores[0].0.clone() };
            Ok((text.ok_or_else(error)?, first))
        });
        let ((baseline, first), (compliance, _)) = (baseline?, compliance?);
        Ok((SecondChance { baseline, compliance }, first))
    }
}

/// With F1 before the exact match, as the script for it has it.
fn first_named(mut scores: Vec<(String, f64)>) -> Vec<(String, f64)> {
    scores.sort_by_key(|(name, _)| name != "F1");
    scores
}

/// Sample indices with the bytes of their answers.
fn decoded(answers: impl Iterator<Item = (u64, Option<Vec<u8>>)>) -> Result<Vec<(usize, Vec<u8>)>> {
    let one = |(index, bytes): (u64, Option<Vec<u8>>)| {
        Ok((usize::try_from(index)?, bytes.ok_or_else(|| anyhow!("an answer is not hexadecimal"))?))
    };
    answers.map(one).collect()
}
