//! Calling a backend so that its failures, panics among them, stay those of its samples.

use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;

use crate::backend::{BackendSample, Worker};
use crate::run::failure::{FailureKind, SampleFailure};

/// Runs the backend on a batch and returns one result for each sample, in order. A panic in the backend fails this
/// batch and leaves the node standing.
pub(crate) fn infer(worker: &mut dyn Worker, samples: &[BackendSample]) -> Vec<Result<Bytes, SampleFailure>> {
    let outcome = catch_unwind(AssertUnwindSafe(|| worker.infer(samples)));
    match outcome {
        Ok(results) => {
            let failed = |reason: String| SampleFailure::new(FailureKind::Backend, reason);
            let missing = || Err(failed("the backend returned fewer answers than samples".to_owned()));
            let results = results.into_iter().map(|result| result.map_err(|error| failed(error.to_string())));
            results.chain(std::iter::repeat_with(missing)).take(samples.len()).collect()
        }
        Err(panic) => vec![Err(SampleFailure::panicked("the backend", panic.as_ref())); samples.len()],
    }
}
