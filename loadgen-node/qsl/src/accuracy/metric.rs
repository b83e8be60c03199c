//! The ways to score answers.

use super::truth::{Truth, Truths};

/// A way to score answers. All of them are in percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// The share of samples whose class is the label.
    ///
    /// An answer is a row of f32 (logits or scores), whose largest value gives the class. Or it is whole numbers, i32
    /// or i64, of which the first is the class, as an argmax or top-k at the SUT leaves them. Of several largest values
    /// the first counts, as in numpy's `argmax`. A row with a NaN is wrong. [`Rows`](super::Rows) tell which layout an
    /// answer has. When they are not known, a row has as many f32 as there are
    /// [`Target::classes`](super::Target::classes); when those are not known either, every answer is a row of f32.
    Top1,
    /// The share of samples whose label is among the first five classes.
    Top5,
    /// The mean of SQuAD's F1 over questions. An answer is UTF-8, or start and end logits of a window.
    F1,
    /// The share of questions whose text is right, as SQuAD compares texts.
    ExactMatch,
}

impl Metric {
    /// All metrics, in the order in which messages list them.
    pub const ALL: [Metric; 4] = [Metric::Top1, Metric::Top5, Metric::F1, Metric::ExactMatch];

    /// Returns its name in results and in benchmarks' files.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Top1 => "top1",
            Metric::Top5 => "top5",
            Metric::F1 => "f1",
            Metric::ExactMatch => "exact_match",
        }
    }

    /// Returns its unit in results.
    pub fn unit(self) -> &'static str {
        "%"
    }

    /// Returns the index of the first sample without a right answer that this metric can use; none when all have one.
    pub fn first_lacking(self, truths: &Truths) -> Option<usize> {
        match truths {
            Truths::Samples(samples) => samples.iter().position(|truth| !truth.as_ref().is_some_and(|t| self.takes(t))),
            Truths::Questions(_) => (!self.compares_texts()).then_some(0),
        }
    }

    fn takes(self, truth: &Truth) -> bool {
        self.compares_texts() == matches!(truth, Truth::Texts(_))
    }

    /// Tells whether it compares texts, and not classes.
    pub(super) fn compares_texts(self) -> bool {
        matches!(self, Metric::F1 | Metric::ExactMatch)
    }
}
