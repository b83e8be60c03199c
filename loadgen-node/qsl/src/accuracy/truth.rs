//! The right answers: the labels and texts against which a run's answers are scored.

use std::path::PathBuf;
use std::sync::Arc;

use lon_proto::sample::DType;

use super::boxes::Boxes;
use super::reader::Reader;
use super::rows::Rows;
use crate::encode::passages::Reading;

/// The right answer to one sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Truth {
    /// The number of the right class.
    Class(i64),
    /// The class of each of the items of which the sample consists.
    Classes(Vec<i64>),
    /// The right texts, of which an answer must be one.
    Texts(Vec<String>),
    /// The path of a file with the class of each voxel, a byte each. It is read when the sample is scored.
    Mask(PathBuf),
}

/// The right answers to the samples of a dataset.
#[derive(Clone, Debug)]
pub enum Truths {
    /// For each sample by its index; none where nothing is known.
    Samples(Vec<Option<Truth>>),
    /// The same for answers that are token ids, or texts of sentences, and how these are read.
    Decoded(Vec<Option<Truth>>, Arc<Reader>),
    /// The boxes in each image.
    Boxes(Arc<Boxes>),
    /// For each question, to which one or more samples belong.
    Questions(Arc<Reading>),
}

/// Why token ids cannot be compared with texts.
const NO_TOKENIZER: &str = "the SUT answers with token ids, and there is no tokenizer.json beside the right texts";

impl Truths {
    /// Checks that answers with this layout can be scored.
    ///
    /// # Errors
    /// No answer with this layout can be scored; the error is a clause that says why.
    pub fn fits(&self, rows: Rows) -> Result<(), String> {
        match self {
            Truths::Questions(_) if rows.logits().is_none() => {
                Err(format!("questions are answered by start and end logits, not by {rows}"))
            }
            Truths::Questions(_) => Ok(()),
            Truths::Boxes(_) if !rows.is_floats() => Err(format!("boxes are answered by f32, not by {rows}")),
            Truths::Boxes(_) => Ok(()),
            Truths::Decoded(_, reader) => match rows.dtype() {
                DType::I32 | DType::I64 if reader.tokenizer.is_none() => Err(NO_TOKENIZER.to_owned()),
                DType::U8 | DType::I32 | DType::I64 => Ok(()),
                _ => Err(format!("texts are answered by token ids or u8, not by {rows}")),
            },
            Truths::Samples(samples)
                if matches!(rows.dtype(), DType::I32 | DType::I64)
                    && samples.iter().flatten().any(|truth| matches!(truth, Truth::Texts(_))) =>
            {
                Err(NO_TOKENIZER.to_owned())
            }
            Truths::Samples(samples) => {
                let Some(classes) = rows.scored_classes() else { return Ok(()) };
                match samples.iter().enumerate().find_map(|(index, truth)| beyond(truth.as_ref()?, index, classes)) {
                    Some((index, class)) => Err(format!(
                        "the label of sample {index} is {class}, the model has the classes 0 to {}",
                        classes.saturating_sub(1)
                    )),
                    None => Ok(()),
                }
            }
        }
    }

    /// Returns the right answers to these samples alone, in this order. None: the dataset can only be scored as a
    /// whole.
    pub fn of_samples(&self, indices: &[usize]) -> Option<Truths> {
        let some = |all: &[Option<Truth>]| indices.iter().map(|index| all.get(*index)?.clone()).collect();
        match self {
            Truths::Samples(all) => Some(Truths::Samples(some(all))),
            Truths::Decoded(all, reader) => Some(Truths::Decoded(some(all), Arc::clone(reader))),
            Truths::Boxes(boxes) => Some(Truths::Boxes(Arc::new(boxes.of_images(indices)))),
            Truths::Questions(_) => None,
        }
    }

    /// Returns the right answers by sample index; empty when questions or boxes are the answers.
    #[cfg(test)]
    pub(crate) fn samples(&self) -> &[Option<Truth>] {
        match self {
            Truths::Samples(samples) | Truths::Decoded(samples, _) => samples,
            Truths::Questions(_) | Truths::Boxes(_) => &[],
        }
    }
}

/// The class of a sample, when a model with so many classes cannot answer it.
fn beyond(truth: &Truth, index: usize, classes: u64) -> Option<(usize, i64)> {
    match truth {
        Truth::Class(class) if !u64::try_from(*class).is_ok_and(|class| class < classes) => Some((index, *class)),
        _ => None,
    }
}
