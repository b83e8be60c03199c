//! A dataset that several threads use: it is loaded before samples are issued, and read while they are.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};

use bytes::Bytes;
use lon_qsl::dataset::Dataset;

use crate::description::Description;
use crate::status::{Code, Error};

/// A dataset, of which some samples are loaded.
pub(crate) struct Samples {
    dataset: RwLock<Dataset>,
    benchmark: &'static str,
}

impl Samples {
    pub(crate) fn new(dataset: Dataset, benchmark: &'static str) -> Samples {
        Samples { dataset: RwLock::new(dataset), benchmark }
    }

    pub(crate) fn total_count(&self) -> usize {
        self.read().total_count()
    }

    pub(crate) fn performance_count(&self) -> usize {
        self.read().performance_count()
    }

    /// Reads and encodes these samples.
    pub(crate) fn load(&self, indices: &[usize]) -> Result<(), Error> {
        self.write().load(indices.iter().copied()).map_err(|error| Error::new(Code::Argument, error.to_string()))
    }

    /// Drops these samples.
    pub(crate) fn unload(&self, indices: &[usize]) {
        self.write().unload_some(indices.iter().copied());
    }

    /// A loaded sample as it is sent.
    pub(crate) fn payload(&self, index: usize) -> Result<Bytes, Error> {
        payload(&self.read(), index)
    }

    /// The dataset for as long as samples are issued from it.
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Dataset> {
        self.dataset.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same if that needs no waiting.
    pub(crate) fn try_read(&self) -> Option<RwLockReadGuard<'_, Dataset>> {
        match self.dataset.try_read() {
            Ok(dataset) => Some(dataset),
            Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Returns the description of the dataset.
    pub(crate) fn description(&self) -> Description {
        let dataset = self.read();
        Description {
            benchmark: self.benchmark,
            dataset: dataset.name().to_owned(),
            total_count: dataset.total_count(),
            performance_count: dataset.performance_count(),
            codec: dataset.codec().to_string(),
            title: None,
            nodes: Vec::new(),
        }
    }

    fn write(&self) -> RwLockWriteGuard<'_, Dataset> {
        self.dataset.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The bytes of a loaded sample, shared and not copied.
pub(crate) fn payload(dataset: &Dataset, index: usize) -> Result<Bytes, Error> {
    let payload = dataset.payload(index);
    match payload.is_empty() {
        false => Ok(payload),
        true if index >= dataset.total_count() => {
            let count = dataset.total_count();
            Err(Error::new(Code::Argument, format!("there is no sample {index}: the dataset has {count}")))
        }
        true => Err(Error::new(Code::Argument, format!("sample {index} is not loaded: lon_load comes first"))),
    }
}
