//! Contract of an engine: ONNX Runtime and tract fulfil it for the rest of this backend.
//!
//! Tensors cross this boundary as bytes: the parts of a batch go in as they lie in the samples, so that each engine
//! copies them once, straight into a tensor of its own.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use lon_sut::tensor::DType;

use super::footprint::Footprint;

/// A model, loaded and shared by the workers.
pub(super) trait Engine: Send + Sync {
    /// Its name, with its version.
    fn name(&self) -> &str;

    /// Returns advice for a model that does not run, as a clause to be appended to an error.
    fn hint(&self) -> &'static str;

    /// Threads that one run of a session computes with, the caller's among them.
    fn threads(&self) -> usize {
        1
    }

    /// Returns the memory that runs of a model with free sizes take. It is called only once there is a session.
    fn footprint(&self) -> Arc<Footprint>;

    /// A session for one worker.
    ///
    /// # Errors
    /// The reason why there is none, in the engine's words.
    fn session(&self) -> Result<Box<dyn Session>, String>;
}

/// One worker's half of an [`Engine`].
pub(super) trait Session: Send {
    /// The batch sizes it runs. Any number of samples is cut into these, largest first, so nothing is ever padded.
    fn sizes(&self) -> Sizes;

    /// Runs one batch: the model's inputs in, its outputs out, both in the order of the model.
    ///
    /// # Errors
    /// The reason why the batch failed, in the engine's words.
    fn run(&mut self, inputs: &[BatchInput<'_>]) -> Result<Vec<BatchOutput>, String>;
}

/// The batch sizes a session runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sizes {
    /// All sizes up to this one.
    UpTo(NonZeroUsize),
    /// Powers of two up to this number.
    PowersOfTwoUpTo(NonZeroUsize),
}

impl Sizes {
    /// The largest batch for `waiting` (at least 1) samples.
    pub(super) fn largest(self, waiting: usize) -> usize {
        match self {
            Sizes::UpTo(most) => waiting.min(most.get()),
            Sizes::PowersOfTwoUpTo(most) => 1 << waiting.min(most.get()).max(1).ilog2(),
        }
    }

    /// The sizes that are run on zeros before the first sample comes.
    pub(super) fn to_warm(self) -> Vec<usize> {
        match self {
            // One plan serves all sizes; the largest makes the memory known.
            Sizes::UpTo(most) if most.get() == 1 => vec![1],
            Sizes::UpTo(most) => vec![1, most.get()],
            Sizes::PowersOfTwoUpTo(most) => (0..=most.ilog2()).map(|power| 1 << power).collect(),
        }
    }

    /// The sizes of several samples for which it is proved that they may share a run: the smallest, the largest, and
    /// two that are as large as a size that tensors have anyway, where a mistake might not show in a shape.
    pub(super) fn to_prove(self, others: impl Iterator<Item = usize>) -> BTreeSet<usize> {
        let runs = |size: &usize| *size > 1 && self.largest(*size) == *size;
        let others: BTreeSet<usize> = others.filter(runs).collect();
        let ends = [2, self.largest(usize::MAX)];
        ends.into_iter().filter(runs).chain(others.into_iter().take(2)).collect()
    }
}

/// The session on which the model was tried, for the first worker.
#[derive(Default)]
pub(super) struct SpareSession(Mutex<Option<Box<dyn Session>>>);

impl SpareSession {
    pub(super) fn put(&self, session: Box<dyn Session>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(session);
    }

    pub(super) fn take(&self) -> Option<Box<dyn Session>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

thread_local! {
    static IS_TRYING: Cell<bool> = const { Cell::new(false) };
}

/// Runs what may fail without anything being wrong: what an engine says of failures in it is not worth a line in the
/// log.
pub(super) fn trying<T>(body: impl FnOnce() -> T) -> T {
    let before = IS_TRYING.replace(true);
    let outcome = body();
    IS_TRYING.set(before);
    outcome
}

/// Returns true when this thread is [`trying`].
pub(super) fn is_trying() -> bool {
    IS_TRYING.get()
}

/// One input of a batch.
pub(super) struct BatchInput<'s> {
    pub(super) dtype: DType,
    /// The dimensions, the batch first when the input has a batch dimension.
    pub(super) dims: Vec<usize>,
    /// Little-endian bytes; joined they are the tensor.
    pub(super) parts: Vec<&'s [u8]>,
}

pub(super) use lon_sut::pipeline::post::Output as BatchOutput;

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(sizes: Sizes, mut waiting: usize) -> Vec<usize> {
        let mut pieces = Vec::new();
        while waiting > 0 {
            pieces.push(sizes.largest(waiting));
            waiting -= pieces.last().unwrap();
        }
        pieces
    }

    #[test]
    fn any_number_is_cut_without_padding() {
        let most = |n| NonZeroUsize::new(n).unwrap();
        assert_eq!(cut(Sizes::UpTo(most(8)), 19), [8, 8, 3]);
        assert_eq!(cut(Sizes::PowersOfTwoUpTo(most(6)), 7), [4, 2, 1]);
        assert_eq!(cut(Sizes::PowersOfTwoUpTo(most(1)), 2), [1, 1]);
        assert_eq!(Sizes::PowersOfTwoUpTo(most(6)).to_warm(), [1, 2, 4]);
        assert_eq!(Sizes::UpTo(most(6)).to_warm(), [1, 6]);
        let proved =
            |sizes: Sizes, others: &[usize]| sizes.to_prove(others.iter().copied()).into_iter().collect::<Vec<_>>();
        assert_eq!(proved(Sizes::UpTo(most(8)), &[224, 5, 1, 4, 3]), [2, 3, 4, 8]);
        assert_eq!(proved(Sizes::PowersOfTwoUpTo(most(9)), &[3, 4]), [2, 4, 8]);
        assert!(proved(Sizes::UpTo(most(1)), &[1]).is_empty());
    }
}
