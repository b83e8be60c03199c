//! A sample that waits for another thread: for a decode thread, for a worker, or for both one after the other.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use lon_proto::stages::duration_ns;

use super::answer_queue::{AnswerQueue, SampleAnswer};
use super::coder::Coder;
use super::decode::pool::{Decodable, Place};
use super::ticket::Ticket;
use crate::backend::BackendSample;
use crate::run::failure::SampleFailure;

/// One admitted sample on its way from thread to thread.
pub(crate) struct Job {
    /// Where its answer goes.
    pub(crate) answer_queue: Arc<AnswerQueue>,
    /// Data of the sample besides its content.
    pub(crate) ticket: Ticket,
    /// Its content: the bytes as they came, until they are decoded.
    pub(crate) sample: BackendSample,
    /// When it began to wait for the thread that it waits for now.
    pub(crate) queued_at: Instant,
    /// Its place among the decoded samples, if it is one of them.
    pub(crate) place: Option<Place<Job>>,
}

impl Job {
    /// Answers the sample: with bytes, which are encoded if the run has a codec, or with the reason why there are none.
    /// `n_tokens` is 0 when it is not known. The stage `encode` begins at `since`.
    pub(crate) fn answer(
        mut self,
        coder: &mut Coder,
        result: Result<Bytes, SampleFailure>,
        n_tokens: u64,
        since: Instant,
    ) {
        let answer = self.encode(coder, result, n_tokens, since);
        self.answer_queue.answer(std::iter::once(answer));
    }

    /// The same, for a caller that puts several answers into the answer queue at once. Only that queue is left
    /// of the job.
    pub(crate) fn encode(
        &mut self,
        coder: &mut Coder,
        result: Result<Bytes, SampleFailure>,
        n_tokens: u64,
        since: Instant,
    ) -> SampleAnswer {
        // Another sample may be inflated while this answer is encoded.
        self.place = None;
        let result = coder.encode(&self.answer_queue.run, result, since, &mut self.ticket.stages);
        SampleAnswer { ticket: self.ticket, result, n_tokens }
    }

    /// Answers the sample with the reason why it failed.
    pub(crate) fn fail(mut self, failure: SampleFailure) {
        self.place = None;
        self.answer_queue.answer(std::iter::once(SampleAnswer {
            ticket: self.ticket,
            result: Err(failure),
            n_tokens: 0,
        }));
    }

    /// Ends a sample whose answer nobody waits for any more. It must still leave the counts.
    pub(crate) fn give_up(self) {
        self.answer_queue.answer(std::iter::once(SampleAnswer::of_a_run_that_is_over(self.ticket)));
    }

    /// The bytes that its content has now, beside those that came.
    pub(crate) fn decoded_bytes(&self) -> u64 {
        // Of tensors that share the sample's bytes none is longer than these.
        let tensors = self.sample.tensors.iter().map(|tensor| tensor.data().len() as u64).sum();
        (self.sample.bytes.len() as u64).max(tensors)
    }

    /// Adds to the stage `queue` the time from when the job began to wait until `until`.
    pub(crate) fn waited_until(&mut self, until: Instant) {
        self.ticket.stages.queue_ns += duration_ns(until.saturating_duration_since(self.queued_at));
    }
}

impl Decodable for Job {
    fn goes_with(&self, other: &Job) -> bool {
        Arc::ptr_eq(&self.answer_queue, &other.answer_queue)
    }

    fn is_over(&self) -> bool {
        self.answer_queue.run.has_ended()
    }

    fn take_place(&mut self, place: Place<Job>) {
        self.place = Some(place);
    }
}
