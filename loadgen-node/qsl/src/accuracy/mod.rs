//! Answers against what is right.
//!
//! - classification: see [`Metric::Top1`];
//! - [`squad`]: texts against texts;
//! - [`Rows`]: what a SUT says of its answers;
//! - [`Target`]: what a score is compared with, in five significant digits.
//!
//! Start and end logits of a reading model (BERT's on SQuAD) are not scored here: making them a text takes the
//! reference's features and its tokenizer. The accuracy log has them as that script reads them (raw bytes in hex, in
//! the order of the model's outputs). A SUT that answers with the text itself is scored.

mod round;
mod rows;
pub mod squad;

pub use rows::Rows;

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
    /// Mean over samples, in percent, of SQuAD's F1; an answer is UTF-8.
    F1,
    /// Share of samples, in percent, whose text is right, as SQuAD compares texts.
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

/// A score and what it was reached on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// In the metric's unit.
    pub value: f64,
    /// Distinct samples that were scored.
    pub samples: usize,
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
        "the answer to sample {0} is not UTF-8: texts are scored here; start and end logits are for the reference's \
         script, which reads the same log"
    )]
    Text(usize),
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

    /// Whether it can compare with this.
    pub fn takes(self, truth: &Truth) -> bool {
        match self {
            Metric::Top1 | Metric::Top5 => matches!(truth, Truth::Class(_)),
            Metric::F1 | Metric::ExactMatch => matches!(truth, Truth::Texts(_)),
        }
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
        truths: &[Option<Truth>],
        rows: Option<Rows>,
    ) -> Result<Score, ScoreError> {
        let count = truths.len();
        let mut points: Vec<Option<f64>> = vec![None; count];
        for (index, answer) in answers {
            let truth = truths.get(index).ok_or(ScoreError::NoSample { index, count })?;
            if points[index].is_none() {
                points[index] = Some(self.points(index, answer, truth.as_ref(), rows)?);
            }
        }
        if let Some(index) = points.iter().position(Option::is_none) {
            let answered = points.iter().flatten().count();
            return Err(ScoreError::Missing { index, answered, count });
        }
        // Whole points add up exactly; the mean is taken once.
        let sum: f64 = points.iter().flatten().sum();
        Ok(Score { value: 100.0 * sum / count as f64, samples: count })
    }

    /// 0 to 1.
    fn points(
        &self,
        index: usize,
        answer: &[u8],
        truth: Option<&Truth>,
        rows: Option<Rows>,
    ) -> Result<f64, ScoreError> {
        let metric = self.metric;
        let text = || std::str::from_utf8(answer).map_err(|_| ScoreError::Text(index));
        match (metric, truth) {
            (Metric::Top1, Some(Truth::Class(label))) => {
                Ok(f64::from(self.likeliest(index, answer, 1, rows)?.contains(label)))
            }
            (Metric::Top5, Some(Truth::Class(label))) => {
                Ok(f64::from(self.likeliest(index, answer, 5, rows)?.contains(label)))
            }
            (Metric::F1, Some(Truth::Texts(texts))) => Ok(squad::f1(text()?, texts)),
            (Metric::ExactMatch, Some(Truth::Texts(texts))) => Ok(f64::from(squad::is_exact_match(text()?, texts))),
            _ => Err(ScoreError::Label { index, metric: metric.name() }),
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

#[cfg(test)]
mod tests;
