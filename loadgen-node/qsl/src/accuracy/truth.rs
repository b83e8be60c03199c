//! The right answers: the labels and texts against which a run's answers are scored.

use std::path::PathBuf;
use std::sync::Arc;

use super::boxes::Boxes;
use super::reader::Reader;
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
    /// The right texts of a sample of a part of the dataset, where parts are scored apart. There are none where nothing
    /// here scores the part.
    Part {
        /// The name of the part.
        part: String,
        /// The right texts, of which an answer must be one.
        texts: Vec<String>,
    },
    /// The path of a file with the class of each voxel, a byte each. It is read when the sample is scored.
    Mask(PathBuf),
}

impl Truth {
    /// Returns the right texts, of whatever part; none where there are none.
    pub(crate) fn texts(&self) -> Option<&[String]> {
        match self {
            Truth::Texts(texts) | Truth::Part { texts, .. } if !texts.is_empty() => Some(texts),
            _ => None,
        }
    }

    /// Returns the labels of the items of the sample: 1 for those of the class that is looked for, 0 for others. None
    /// where it has no such labels.
    pub(super) fn items(&self) -> Option<&[i64]> {
        let labels = match self {
            Truth::Class(label) => std::slice::from_ref(label),
            Truth::Classes(labels) => labels,
            _ => &[],
        };
        (!labels.is_empty() && labels.iter().all(|label| matches!(label, 0 | 1))).then_some(labels)
    }

    /// Returns the part of the dataset to which the sample belongs.
    pub(super) fn part(&self) -> Option<&str> {
        match self {
            Truth::Part { part, .. } => Some(part),
            _ => None,
        }
    }
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

impl Truths {
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

    /// Returns true when each sample before `index` has a right answer, and no other sample has one: the list of right
    /// answers is shorter than the dataset.
    pub(crate) fn end_at(&self, index: usize) -> bool {
        let (Truths::Samples(all) | Truths::Decoded(all, _)) = self else { return false };
        let Some((before, after)) = all.split_at_checked(index) else { return false };
        index > 0 && before.iter().all(Option::is_some) && after.iter().all(Option::is_none)
    }

    /// Returns true when all items of all samples have the same label, 0 or 1, so that there is nothing to tell apart.
    pub(crate) fn are_one_class(&self) -> bool {
        let (Truths::Samples(all) | Truths::Decoded(all, _)) = self else { return false };
        let mut labels = all.iter().flatten().filter_map(Truth::items).flatten();
        labels.next().is_some_and(|first| labels.all(|label| label == first))
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
