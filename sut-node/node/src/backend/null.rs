//! A backend that answers eight zero bytes at once. What is measured with it is the network and the node itself.

use bytes::Bytes;

use super::{Backend, BackendError, BackendInfo, BackendSample, Execution, Half, InferError, Input, Worker};
use crate::tensor::DType;

/// The answer to every sample.
const ANSWER: Bytes = Bytes::from_static(&[0; 8]);

/// The backend that answers at once.
#[derive(Debug)]
pub struct Null {
    info: BackendInfo,
}

impl Null {
    /// The backend. It has no options.
    pub fn new() -> Null {
        Null { info: BackendInfo::without_model("null".to_owned(), "zero", DType::I64, &[]) }
    }
}

impl Default for Null {
    fn default() -> Null {
        Null::new()
    }
}

impl Backend for Null {
    fn info(&self) -> &BackendInfo {
        &self.info
    }

    fn execution(&self) -> Execution {
        Execution::Inline
    }

    fn input(&self) -> Input {
        Input::Opaque
    }

    fn cores_per_inference(&self) -> usize {
        0
    }

    fn worker(&self) -> Result<Half, BackendError> {
        Ok(Half::Batch(Box::new(NullWorker)))
    }
}

struct NullWorker;

impl Worker for NullWorker {
    fn infer(&mut self, batch: &[BackendSample]) -> Vec<Result<Bytes, InferError>> {
        vec![Ok(ANSWER); batch.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sample_gets_eight_bytes() {
        let mut worker = Null::new().worker().unwrap().batch().unwrap();
        assert_eq!(worker.infer(&vec![BackendSample::default(); 3]), vec![Ok(ANSWER); 3]);
        assert_eq!(worker.infer(&[]), []);
    }
}
