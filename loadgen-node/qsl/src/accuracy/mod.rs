//! Answers against what is right.
//!
//! - classification: see [`Metric::Top1`];
//! - [`squad`]: texts against texts;
//! - `logits`, `spans`: start and end logits of a reading model (BERT's on SQuAD), and the texts they point at;
//! - [`Rows`]: what a SUT says of its answers;
//! - [`Truths`]: what is right, for each sample or for each question;
//! - [`Target`]: what a score is compared with, in five significant digits.
//!
//! Logits are scored on the folder that SQuAD is published as: there a sample is a window of a passage, and several
//! answer one question. What they look like, the SUT's outputs say: two of one length, the start's first unless their
//! names say otherwise; or one, `[L,2]` or `[2,L]` without the batch; f32 or f16; with the window's padding or without. Where
//! no node says it, or two differ, an answer is two outputs of f32, one after the other. A window with a NaN among its
//! logits answers nothing. On other datasets of questions the SUT answers with the text itself. Either way the accuracy
//! log has the raw bytes in hex, as the reference's script reads them.

use std::sync::Arc;

mod logits;
mod round;
mod rows;
mod spans;
pub mod squad;

use logits::Layout;
pub use rows::Rows;
use spans::Span;

use crate::encode::passages::Reading;

/// A way to score answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Share of samples, in percent, whose class is the label.
    ///
    /// An answer is a row of f32 (logits, scores), whose largest is the class, or whole numbers, of which the first is:
    /// i32 or i64, what an argmax or top-k at the SUT leaves. Of several largest the first counts, as numpy's `argmax`
    /// has it. A row with a NaN is wrong. Which of these it is, [`Rows`] say; where they are not known, a row has as
    /// many f32 as there are [`Target::classes`], and where those are not known either, every answer is one.
    Top1,
    /// The same, with the label among the first five.
    Top5,
    /// Mean over questions, in percent, of SQuAD's F1; an answer is UTF-8, or start and end logits of a window.
    F1,
    /// Share of questions, in percent, whose text is right, as SQuAD compares texts.
    ExactMatch,
}

/// An accuracy metric and what it must reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// The metric.
    pub metric: Metric,
    /// In the metric's unit.
    pub value: f64,
    /// Classes that a model tells apart, where that is known.
    pub classes: Option<usize>,
}

/// What is right for one sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Truth {
    /// This class.
    Class(i64),
    /// Any of these texts.
    Texts(Vec<String>),
}

/// What is right for a dataset's samples.
#[derive(Clone, Debug)]
pub enum Truths {
    /// For each sample, or for some.
    Samples(Vec<Option<Truth>>),
    /// For each question, which has one sample or more.
    Questions(Arc<Reading>),
}

impl Truths {
    /// By sample index; empty when it is questions that have answers.
    #[cfg(test)]
    pub(crate) fn samples(&self) -> &[Option<Truth>] {
        match self {
            Truths::Samples(samples) => samples,
            Truths::Questions(_) => &[],
        }
    }
}

impl Truths {
    /// What keeps answers like these from being scored, whatever is in them.
    pub fn fault(&self, rows: Rows) -> Option<String> {
        let needs_logits = matches!(self, Truths::Questions(_)) && rows.logits().is_none();
        needs_logits.then(|| format!("questions are answered by start and end logits, not by {rows}"))
    }
}

/// A score and what it was reached on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// In the metric's unit.
    pub value: f64,
    /// Distinct samples that were scored.
    pub samples: usize,
    /// Questions that they are of, where several may be of one.
    pub questions: Option<usize>,
}

/// Why answers cannot be scored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScoreError {
    /// A sample that the dataset does not have.
    #[error("the log answers sample {index}, the dataset has {count}")]
    NoSample {
        /// The index in the log.
        index: usize,
        /// Samples in the dataset.
        count: usize,
    },
    /// An answer that is no class.
    #[error("the answer to sample {index} has {bytes} bytes: not a row of {rows}")]
    Answer {
        /// The sample.
        index: usize,
        /// Its answer's length.
        bytes: usize,
        /// What could be.
        rows: String,
    },
    /// An answer that is no text.
    #[error(
        "the answer to sample {0} is not UTF-8: on this dataset texts are scored; start and end logits are on a folder \
         with dev-v1.1.json and vocab.txt"
    )]
    Text(usize),
    /// An answer that is no start and end logits.
    #[error(
        "the answer to sample {index} has {bytes} bytes: no start and end logits of {least} to {places} places; {told}"
    )]
    Logits {
        /// The sample.
        index: usize,
        /// Its answer's length.
        bytes: usize,
        /// Places of the sample that are not padding.
        least: usize,
        /// Places of a sample.
        places: usize,
        /// Who says what the answer is.
        told: String,
    },
    /// Nobody knows what is right.
    #[error("sample {index} has no label for {metric}")]
    Label {
        /// The sample.
        index: usize,
        /// The metric.
        metric: &'static str,
    },
    /// A sample without an answer.
    #[error("sample {index} has no answer: {answered} of {count} samples were answered")]
    Missing {
        /// The first without an answer.
        index: usize,
        /// Samples with an answer.
        answered: usize,
        /// Samples in the dataset.
        count: usize,
    },
}

impl Metric {
    /// All there are.
    pub const ALL: [Metric; 4] = [Metric::Top1, Metric::Top5, Metric::F1, Metric::ExactMatch];

    /// Its name in results and in benchmarks' files.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Top1 => "top1",
            Metric::Top5 => "top5",
            Metric::F1 => "f1",
            Metric::ExactMatch => "exact_match",
        }
    }

    /// Its unit in results.
    pub fn unit(self) -> &'static str {
        "%"
    }

    /// The first sample without anything that it can compare with.
    pub fn first_lacking(self, truths: &Truths) -> Option<usize> {
        match truths {
            Truths::Samples(samples) => samples.iter().position(|truth| !truth.as_ref().is_some_and(|t| self.takes(t))),
            Truths::Questions(_) => (!self.compares_texts()).then_some(0),
        }
    }

    fn takes(self, truth: &Truth) -> bool {
        self.compares_texts() == matches!(truth, Truth::Texts(_))
    }

    fn compares_texts(self) -> bool {
        matches!(self, Metric::F1 | Metric::ExactMatch)
    }
}

impl Target {
    /// Whether a score reaches the target, both rounded to five significant digits (half to even), as the rules have it.
    pub fn is_reached_by(&self, score: Score) -> bool {
        round::to_five_digits(score.value) >= round::to_five_digits(self.value)
    }

    /// Scores answers (sample index and bytes) against what is right. `rows`: what answers are, where that is known.
    /// Every sample must be answered; of several answers to one sample the first counts.
    ///
    /// # Errors
    /// See [`ScoreError`].
    pub fn score<'a>(
        &self,
        answers: impl Iterator<Item = (usize, &'a [u8])>,
        truths: &Truths,
        rows: Option<Rows>,
    ) -> Result<Score, ScoreError> {
        match truths {
            Truths::Samples(truths) => {
                let judge = |index: usize, answer: &[u8]| self.points(index, answer, truths[index].as_ref(), rows);
                let points = of_each(answers, truths.len(), judge)?;
                Ok(Score { value: mean(points.into_iter()), samples: truths.len(), questions: None })
            }
            Truths::Questions(reading) => {
                if let Some(index) = self.metric.first_lacking(truths) {
                    return Err(ScoreError::Label { index, metric: self.metric.name() });
                }
                let samples = reading.samples();
                let spans = of_each(answers, samples, |index, answer| span(reading, index, answer, rows))?;
                let questions = reading.questions();
                let points = questions.iter().map(|question| {
                    let text = spans::answer(reading, question, &spans);
                    self.points_of_text(text, &question.answers)
                });
                Ok(Score { value: mean(points), samples, questions: Some(questions.len()) })
            }
        }
    }

    /// 0 to 1.
    fn points(
        &self,
        index: usize,
        answer: &[u8],
        truth: Option<&Truth>,
        rows: Option<Rows>,
    ) -> Result<f64, ScoreError> {
        match (self.metric, truth) {
            (Metric::Top1, Some(Truth::Class(label))) => {
                Ok(f64::from(self.likeliest(index, answer, 1, rows)?.contains(label)))
            }
            (Metric::Top5, Some(Truth::Class(label))) => {
                Ok(f64::from(self.likeliest(index, answer, 5, rows)?.contains(label)))
            }
            (metric, Some(Truth::Texts(texts))) if metric.compares_texts() => {
                let text = std::str::from_utf8(answer).map_err(|_| ScoreError::Text(index))?;
                Ok(self.points_of_text(text, texts))
            }
            (metric, _) => Err(ScoreError::Label { index, metric: metric.name() }),
        }
    }

    fn points_of_text(&self, text: &str, right: &[String]) -> f64 {
        match self.metric {
            Metric::ExactMatch => f64::from(squad::is_exact_match(text, right)),
            _ => squad::f1(text, right),
        }
    }

    /// The first `most` classes that an answer names, the likeliest first.
    fn likeliest(&self, index: usize, answer: &[u8], most: usize, rows: Option<Rows>) -> Result<Vec<i64>, ScoreError> {
        let classes = match rows {
            Some(rows) => rows.classes(answer, most, self.classes),
            None => rows::guessed(answer, most, self.classes),
        };
        classes.ok_or_else(|| {
            let rows = match (rows, self.classes) {
                (Some(rows), Some(classes)) if rows.is_floats() => format!("{classes} f32"),
                (Some(rows), _) => rows.to_string(),
                (None, Some(classes)) => format!("{classes} f32, and not 1 to 5 i32 or i64"),
                (None, None) => "f32".to_owned(),
            };
            ScoreError::Answer { index, bytes: answer.len(), rows }
        })
    }
}

/// What `judge` makes of the first answer to each sample.
fn of_each<'a, T: Clone>(
    answers: impl Iterator<Item = (usize, &'a [u8])>,
    count: usize,
    judge: impl Fn(usize, &[u8]) -> Result<T, ScoreError>,
) -> Result<Vec<T>, ScoreError> {
    let mut judged: Vec<Option<T>> = vec![None; count];
    for (index, answer) in answers {
        let slot = judged.get_mut(index).ok_or(ScoreError::NoSample { index, count })?;
        if slot.is_none() {
            *slot = Some(judge(index, answer)?);
        }
    }
    if let Some(index) = judged.iter().position(Option::is_none) {
        let answered = judged.iter().flatten().count();
        return Err(ScoreError::Missing { index, answered, count });
    }
    Ok(judged.into_iter().flatten().collect())
}

/// Of points from 0 to 1, in percent. Whole points add up exactly; the mean is taken once.
fn mean(points: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = points.len();
    100.0 * points.sum::<f64>() / count as f64
}

/// What the logits of one window point at.
fn span(reading: &Reading, index: usize, answer: &[u8], rows: Option<Rows>) -> Result<Option<Span>, ScoreError> {
    let (bytes, least, places) = (answer.len(), reading.len(index), reading.places());
    let (layout, told) = match rows.map(|rows| (rows.logits(), rows)) {
        Some((Some(layout), _)) => (Some(layout), format!("the SUT's outputs are {layout}")),
        Some((None, rows)) => (None, format!("the SUT's first output is {rows}")),
        None => (Some(Layout::UNTOLD), format!("taken for {}, since the SUT does not say what it is", Layout::UNTOLD)),
    };
    let logits = layout.and_then(|layout| layout.read(answer, least, places));
    let logits = logits.ok_or(ScoreError::Logits { index, bytes, least, places, told })?;
    Ok(spans::likeliest(reading, index, &logits))
}

#[cfg(test)]
mod tests;
