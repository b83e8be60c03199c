//! Answers against labels.

/// A way to score answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Share of samples, in percent, whose largest output (f32 logits) is at the label's position. Of several largest
    /// the first counts, as numpy's `argmax` has it.
    Top1,
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
    /// An answer that is not f32 logits.
    #[error("the answer to sample {index} has {bytes} bytes: not a row of f32")]
    Answer {
        /// The sample.
        index: usize,
        /// Its answer's length.
        bytes: usize,
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
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Top1 => "top1",
        }
    }

    /// Its unit in results.
    pub fn unit(self) -> &'static str {
        match self {
            Metric::Top1 => "%",
        }
    }

    /// Scores answers (sample index and bytes) against labels. Every sample must be answered; of several answers to
    /// one sample the first counts.
    ///
    /// # Errors
    /// See [`ScoreError`].
    pub fn score<'a>(
        self,
        answers: impl Iterator<Item = (usize, &'a [u8])>,
        labels: &[i64],
    ) -> Result<Score, ScoreError> {
        let count = labels.len();
        let mut correct: Vec<Option<bool>> = vec![None; count];
        for (index, answer) in answers {
            let label = *labels.get(index).ok_or(ScoreError::NoSample { index, count })?;
            let class = argmax(answer).ok_or(ScoreError::Answer { index, bytes: answer.len() })?;
            correct[index].get_or_insert(class as i64 == label);
        }
        if let Some(index) = correct.iter().position(Option::is_none) {
            let answered = correct.iter().flatten().count();
            return Err(ScoreError::Missing { index, answered, count });
        }
        let right = correct.iter().flatten().filter(|&&right| right).count();
        Ok(Score { value: 100.0 * right as f64 / count as f64, samples: count })
    }
}

/// Position of the first largest f32; none when the bytes are no row of f32.
fn argmax(bytes: &[u8]) -> Option<usize> {
    let (values, rest) = bytes.as_chunks::<4>();
    if values.is_empty() || !rest.is_empty() {
        return None;
    }
    let values = values.iter().map(|bytes| f32::from_le_bytes(*bytes)).enumerate();
    let best = values.reduce(|best, next| if next.1 > best.1 || best.1.is_nan() { next } else { best });
    best.map(|(position, _)| position)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    #[test]
    fn top1_by_hand() {
        let answers = [row(&[0.0, 2.0, 1.0]), row(&[3.0, 3.0, 1.0]), row(&[-1.0, -2.0, -0.5]), row(&[9.0, 1.0, 1.0])];
        let numbered = answers.iter().enumerate().map(|(index, answer)| (index, answer.as_slice()));
        let score = Metric::Top1.score(numbered, &[1, 0, 2, 2]).unwrap();
        assert_eq!(score, Score { value: 75.0, samples: 4 });
    }

    #[test]
    fn what_cannot_be_scored_is_said() {
        let answer = row(&[0.0, 1.0]);
        let score = |index, bytes: &[u8]| Metric::Top1.score([(index, bytes)].into_iter(), &[1, 1]);
        assert_eq!(score(2, &answer), Err(ScoreError::NoSample { index: 2, count: 2 }));
        assert_eq!(score(0, &answer[..7]), Err(ScoreError::Answer { index: 0, bytes: 7 }));
        assert_eq!(score(0, &answer), Err(ScoreError::Missing { index: 1, answered: 1, count: 2 }));
    }
}
