//! Samples of several parts whose parts are still coming in on one stream.

use std::collections::HashMap;

use bytes::Bytes;
use lon_proto::assembly::{Assembly, AssemblyError, Part};
use tonic::Status;

/// The most samples of several parts that may be incomplete at one time on one stream. A sender finishes one before the
/// next.
const MAX_INCOMPLETE: usize = 64;

/// The incomplete samples of one stream, by id.
#[derive(Default)]
pub(super) struct IncompleteSamples(HashMap<u64, Incomplete>);

/// One sample. Its whole announced size is admitted with its first part, so that incomplete samples count against the
/// node's bounds too.
struct Incomplete {
    assembly: Assembly,
    bytes: u64,
}

impl IncompleteSamples {
    /// Begins a sample that announces `bytes` in all.
    ///
    /// # Errors
    /// It is begun already, or too many are incomplete. Nothing is kept of it.
    pub(super) fn begin(&mut self, id: u64, bytes: u64) -> Result<(), Status> {
        if self.0.len() >= MAX_INCOMPLETE || self.0.contains_key(&id) {
            return Err(Status::invalid_argument(format!(
                "sample {id}: begun twice, or more than {MAX_INCOMPLETE} samples begun and not ended"
            )));
        }
        self.0.insert(id, Incomplete { assembly: Assembly::default(), bytes });
        Ok(())
    }

    /// Adds the next part of a sample that was begun. Returns the sample when it is whole, and keeps nothing of it
    /// then.
    ///
    /// # Errors
    /// The part is not the one that follows, or does not fit the size that was announced (`max_bytes` at most).
    pub(super) fn add(&mut self, id: u64, part: Part, max_bytes: u64) -> Result<Option<Bytes>, Status> {
        let sample = self.0.get_mut(&id);
        let sample =
            sample.ok_or_else(|| breach(id, &AssemblyError::OutOfOrder { expected: 0, actual: part.number }))?;
        let whole = sample.assembly.push(part, max_bytes).map_err(|error| breach(id, &error))?;
        if whole.is_some() {
            self.0.remove(&id);
        }
        Ok(whole)
    }

    /// The bytes that each incomplete sample was admitted with.
    pub(super) fn sizes(&self) -> impl Iterator<Item = u64> {
        self.0.values().map(|sample| sample.bytes)
    }
}

/// Returns the status that ends a stream when the parts of a sample break the contract.
pub(super) fn breach(id: u64, error: &AssemblyError) -> Status {
    Status::invalid_argument(format!("sample {id}: {error}"))
}
