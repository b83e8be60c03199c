//! Why a sample has no answer.

use std::any::Any;
use std::fmt;

use strum::{IntoStaticStr, VariantArray};

use crate::tensor::SampleError;

/// Why a sample has no answer: a text for its client, and a kind for the counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SampleFailure {
    pub(crate) kind: FailureKind,
    /// For people at the other end.
    pub(crate) reason: String,
}

/// The kinds of failures, in the order in which they are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub(crate) enum FailureKind {
    /// The bytes of the sample are no tensors.
    Unreadable,
    /// The sample could not be inflated or pre-processed.
    Decode,
    /// The backend refused the sample, or gave no answer to it.
    Backend,
    /// The backend or a codec panicked.
    Panic,
    /// The answer could not be wrapped in the codec of answers.
    Encode,
    /// The run ended, or the client went, before the sample was answered.
    RunOver,
}

impl FailureKind {
    /// The word for it in metrics.
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }
}

/// Number of failed samples, by [`FailureKind`].
pub(crate) type FailureCounts = [u64; FailureKind::VARIANTS.len()];

impl SampleFailure {
    /// The failure of this kind, with the reason for the client.
    pub(crate) fn new(kind: FailureKind, reason: impl Into<String>) -> SampleFailure {
        SampleFailure { kind, reason: reason.into() }
    }

    /// A sample whose bytes are no tensors.
    pub(crate) fn unreadable(error: &SampleError) -> SampleFailure {
        SampleFailure::new(FailureKind::Unreadable, format!("the sample cannot be read: {error}"))
    }

    /// A panic of `who`, which is logged.
    pub(crate) fn panicked(who: &str, panic: &(dyn Any + Send)) -> SampleFailure {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        tracing::error!(who, text, "panicked");
        SampleFailure::new(FailureKind::Panic, format!("{who} panicked: {text}"))
    }
}

impl fmt::Display for SampleFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_counted_in_their_order() {
        for (place, kind) in FailureKind::VARIANTS.iter().enumerate() {
            assert_eq!(*kind as usize, place, "{}", kind.name());
        }
    }
}
