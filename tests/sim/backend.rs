//! Backend of the simulated nodes: it answers with a sum over each sample, after a time that the seed decides.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use lon_sut::backend::{Backend, BackendError, BackendInfo, BackendSample, Execution, Half, InferError, Input, Worker};
use lon_sut::tensor::Signature;

use crate::record::{Happened, Record};
use crate::rng::Rng;

/// The backend of one node.
#[derive(Debug)]
pub(crate) struct SimBackend {
    info: BackendInfo,
    /// Answers on the thread that reads samples, at once.
    is_inline: bool,
    /// The longest time for a batch, ms.
    most_ms: u64,
    /// Length of an answer, bytes.
    answer_bytes: usize,
    rng: Mutex<Rng>,
    record: Record,
}

impl SimBackend {
    pub(crate) fn new(rng: Rng, is_inline: bool, most_ms: u64, answer_bytes: usize, record: Record) -> SimBackend {
        let info = BackendInfo {
            engine: "simulated".to_owned(),
            model: String::new(),
            model_sha256: None,
            model_bytes: None,
            settings: Vec::new(),
            inputs: Signature::default(),
            outputs: Signature::default(),
        };
        SimBackend { info, is_inline, most_ms, answer_bytes, rng: Mutex::new(rng), record }
    }
}

/// The answer to a sample: a sum over its bytes, again and again until it is long enough.
pub(crate) fn answer_to(sample: &[u8], answer_bytes: usize) -> Bytes {
    let sum = sample
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3));
    let mut answer = Vec::with_capacity(answer_bytes + 8);
    while answer.len() < answer_bytes.max(8) {
        answer.extend_from_slice(&sum.to_le_bytes());
    }
    answer.truncate(answer_bytes.max(8));
    answer.into()
}

impl Backend for SimBackend {
    fn info(&self) -> &BackendInfo {
        &self.info
    }

    fn execution(&self) -> Execution {
        if self.is_inline { Execution::Inline } else { Execution::Workers }
    }

    fn input(&self) -> Input {
        Input::Opaque
    }

    fn cores_per_inference(&self) -> usize {
        0
    }

    fn pretends(&self) -> bool {
        !self.is_inline
    }

    fn slots(&self) -> Option<NonZeroUsize> {
        None
    }

    fn worker(&self) -> Result<Half, BackendError> {
        let rng = self.rng.lock().unwrap().split();
        let (most_ms, answer_bytes, record) = (self.most_ms, self.answer_bytes, self.record.clone());
        Ok(Half::Batch(Box::new(SimWorker { rng, most_ms, answer_bytes, record, last: Duration::ZERO })))
    }
}

struct SimWorker {
    rng: Rng,
    most_ms: u64,
    answer_bytes: usize,
    record: Record,
    last: Duration,
}

impl Worker for SimWorker {
    fn infer(&mut self, batch: &[BackendSample]) -> Vec<Result<Bytes, InferError>> {
        self.record.note(Happened::Batch, 0, batch.len() as u64);
        self.last = match self.rng.chance(5) {
            true => self.rng.millis(100..1500),
            false => self.rng.millis(0..self.most_ms + 1),
        };
        batch.iter().map(|sample| Ok(answer_to(&sample.bytes, self.answer_bytes))).collect()
    }

    fn pretended(&self) -> Duration {
        self.last
    }
}
