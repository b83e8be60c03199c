//! Calling a backend so that its failures, panics among them, stay those of its samples.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;

use crate::backend::{Sample, Worker};
use crate::tensor::SampleError;

/// Runs the backend on a batch and returns one result for each sample, in order. A panic in the backend fails this
/// batch and leaves the node standing.
pub(crate) fn infer(worker: &mut dyn Worker, samples: &[Sample]) -> Vec<Result<Bytes, String>> {
    let outcome = catch_unwind(AssertUnwindSafe(|| worker.infer(samples)));
    match outcome {
        Ok(results) => {
            let missing = || Err("the backend returned fewer answers than samples".to_owned());
            let results = results.into_iter().map(|result| result.map_err(|error| error.to_string()));
            results.chain(std::iter::repeat_with(missing)).take(samples.len()).collect()
        }
        Err(panic) => vec![Err(panicked("the backend", panic.as_ref())); samples.len()],
    }
}

/// Logs that `who` panicked, and returns the reason why the samples concerned have no answer.
pub(crate) fn panicked(who: &str, panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
    tracing::error!(who, text, "panicked");
    format!("{who} panicked: {text}")
}

/// The reason why a sample fails whose bytes are no tensors.
pub(crate) fn unreadable(error: &SampleError) -> String {
    format!("the sample cannot be read: {error}")
}
