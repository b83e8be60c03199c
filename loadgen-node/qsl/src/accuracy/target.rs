//! Scores the answers of a run, and compares the score with what it must reach.

use super::logits::Layout;
use super::metric::Metric;
use super::round;
use super::rows::{self, Rows};
use super::spans::{self, Span};
use super::squad;
use super::truth::{Truth, Truths};
use crate::encode::passages::Reading;

/// A metric, and the score that it must reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// The metric by which answers are scored.
    pub metric: Metric,
    /// The required score, in the metric's unit.
    pub value: f64,
    /// The number of classes that a model tells apart, when it is known.
    pub classes: Option<usize>,
}

/// A score, and the number of samples behind it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// The score in the metric's unit.
    pub value: f64,
    /// The number of distinct samples that were scored.
    pub samples: usize,
    /// The number of questions that they answer; none when each sample is a question of its own.
    pub questions: Option<usize>,
}

/// The reasons why answers cannot be scored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScoreError {
    /// The dataset does not have the sample.
    #[error("the log answers sample {index}, the dataset has {count}")]
    NoSample {
        /// The index of the sample in the log.
        index: usize,
        /// The number of samples in the dataset.
        count: usize,
    },
    /// The answer does not name a class.
    #[error("the answer to sample {index} has {bytes} bytes: not a row of {rows}")]
    Answer {
        /// The index of the sample.
        index: usize,
        /// The length of the answer in bytes.
        bytes: usize,
        /// The layouts that an answer could have.
        rows: String,
    },
    /// The answer is not a text. The number is the sample's index.
    #[error(
        "the answer to sample {0} is not UTF-8: on this dataset texts are scored; start and end logits are on a folder \
         with dev-v1.1.json and vocab.txt"
    )]
    Text(usize),
    /// The answer is not start and end logits.
    #[error(
        "the answer to sample {index} has {bytes} bytes: no start and end logits of {least} to {places} places; {told}"
    )]
    Logits {
        /// The index of the sample.
        index: usize,
        /// The length of the answer in bytes.
        bytes: usize,
        /// The number of places of the sample that are not padding.
        least: usize,
        /// The number of places of the sample.
        places: usize,
        /// A clause that says where the expected layout comes from.
        told: String,
    },
    /// The sample has no right answer that the metric can use.
    #[error("sample {index} has no label for {metric}")]
    Label {
        /// The index of the sample.
        index: usize,
        /// The name of the metric.
        metric: &'static str,
    },
    /// The sample has no answer.
    #[error("sample {index} has no answer: {answered} of {count} samples were answered")]
    Missing {
        /// The index of the first sample without an answer.
        index: usize,
        /// The number of samples with an answer.
        answered: usize,
        /// The number of samples in the dataset.
        count: usize,
    },
}

impl Target {
    /// Tells whether a score reaches the target. Both are rounded to five significant digits (half to even), by the
    /// rules.
    pub fn is_reached_by(&self, score: Score) -> bool {
        round::to_five_digits(score.value) >= round::to_five_digits(self.value)
    }

    /// Scores answers (sample index and bytes) against the right ones. `rows` is the layout of the answers, when it is
    /// known. Every sample must have an answer. Of several answers to one sample the first counts.
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

    /// Returns the points for one answer, from 0 to 1.
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

    /// Returns the points for a text, from 0 to 1.
    fn points_of_text(&self, text: &str, right: &[String]) -> f64 {
        match self.metric {
            Metric::ExactMatch => f64::from(squad::is_exact_match(text, right)),
            _ => squad::f1(text, right),
        }
    }

    /// Returns the first `most` classes that an answer names, the likeliest first.
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

/// Returns the results of `judge` on the first answer to each sample, by sample index.
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

/// Returns the mean of points from 0 to 1, in percent. It divides once, so that whole points add up exactly.
fn mean(points: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = points.len();
    100.0 * points.sum::<f64>() / count as f64
}

/// Returns the likeliest span of one window, by its logits. None when the window has no spans.
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
