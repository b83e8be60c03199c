//! The caller's side of a test run: samples to issue, and a sink that keeps replies.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use qdl::{Driver, Layer, NodeFailure, NodeIndex, NodeReport, Reply, Run, Sample, SampleId, Sink, Wait, reconcile};

/// Bytes of each sample.
pub(crate) const SAMPLE_BYTES: usize = 3_000;

#[derive(Default)]
pub(crate) struct ReplySink(pub(crate) Mutex<Vec<Reply>>);

impl Sink for ReplySink {
    fn replies(&self, replies: &mut Vec<Reply>) {
        self.0.lock().unwrap().append(replies);
    }
    fn node_lost(&self, node: NodeIndex, failure: &NodeFailure) {
        panic!("{node:?} was lost: {failure}");
    }
}

impl ReplySink {
    /// Drives the run until so many samples have ended.
    pub(crate) fn wait(&self, run: &Run, count: usize) {
        let wait = Wait { until: None, on_delivery: true, spin: Duration::ZERO, linger: Duration::ZERO };
        while self.0.lock().unwrap().len() < count {
            run.pump(&wait);
            std::thread::yield_now();
        }
    }
}

pub(crate) fn sample(id: u64, first: u8) -> Sample {
    let payload = Bytes::from([vec![first], vec![id as u8; SAMPLE_BYTES - 1]].concat());
    Sample { id: SampleId(id), tensor_bytes: payload.len() as u64, payload }
}

pub(crate) fn drivers() -> [Driver; 2] {
    [Driver::Inline, Driver::Threads(NonZeroUsize::MIN)]
}

/// Where the two ends differ, sockets aside: the peer does not count those.
pub(crate) fn differences(report: &NodeReport) -> Vec<String> {
    let differences = reconcile(report).into_iter().filter(|difference| difference.layer != Layer::Socket);
    differences.map(|difference| difference.to_string()).collect()
}
