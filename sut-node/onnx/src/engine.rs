//! What an engine is: the one contract that ONNX Runtime and tract fulfil for the rest of this backend.
//!
//! Tensors cross this boundary as bytes: the parts of a batch go in as they lie in the samples, so that each engine
//! copies them once, straight into a tensor of its own.

use std::num::NonZeroUsize;
use std::sync::Arc;

use lon_sut::tensor::DType;

use super::footprint::Footprint;

/// A model, loaded and shared by the workers.
pub(super) trait Engine: Send + Sync {
    /// Its name, with its version.
    fn name(&self) -> &str;

    /// What else to try when a model does not run; a clause to be appended to an error.
    fn hint(&self) -> &'static str;

    /// Threads that one run of a session computes with, the caller's among them.
    fn threads(&self) -> usize {
        1
    }

    /// How much memory runs of a model with free sizes take. Only asked for once there is a session.
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
    }
}
