//! A worker thread whose backend answers batches: takes a batch, runs the backend, puts each answer into its
//! answer queue.
//!
//! Threads of backends that answer token by token do it otherwise: see `token_streams`.

use std::time::Instant;

use bytes::Bytes;
use lon_net::clock;
use lon_proto::stages::duration_ns;

use super::coder::Coder;
use super::infer::infer;
use super::job::Job;
use super::queue::JobQueue;
use crate::backend::{BackendSample, Worker};
use crate::run::failure::SampleFailure;

/// Runs until the queue is closed and empty.
pub(crate) fn work(mut worker: Box<dyn Worker>, queue: &JobQueue) {
    let (mut batch, mut samples) = (Vec::new(), Vec::new());
    let mut coder = Coder::default();
    let mut free_since = clock::now();
    while let Some(turn) = queue.next_batch(&mut batch) {
        let taken = clock::now();
        let free_from = free_since + turn.waited;
        // A client that is gone is not worth the work, but its samples must leave the counts.
        batch.extract_if(.., |job| job.answer_queue.is_over()).for_each(Job::give_up);
        if !batch.is_empty() {
            batch.iter_mut().for_each(|job| note_waiting(job, taken, free_from));
            run_batch(worker.as_mut(), &mut coder, &mut batch, &mut samples);
        }
        drop(turn);
        free_since = clock::now();
    }
}

/// Splits the time in which a job waited. Before the worker was free, and while it waited for its turn, the job waited
/// for it (`queue`). In the rest of the time the job waited for its batch to fill (`batch`).
pub(super) fn note_waiting(job: &mut Job, taken: Instant, free_since: Instant) {
    let ready = job.queued_at.max(free_since).min(taken);
    job.waited_until(ready);
    job.ticket.stages.batch_ns = duration_ns(taken - ready);
}

/// Runs one batch, which is not empty, and answers its samples. `samples` is empty before and after.
fn run_batch(worker: &mut dyn Worker, coder: &mut Coder, batch: &mut Vec<Job>, samples: &mut Vec<BackendSample>) {
    let start = clock::now();
    let results = infer_batch(worker, batch, samples);
    answer_batch(worker, coder, batch, results, start);
}

/// Runs the backend on the samples of a batch: one result for each.
pub(super) fn infer_batch(
    worker: &mut dyn Worker,
    batch: &mut [Job],
    samples: &mut Vec<BackendSample>,
) -> Vec<Result<Bytes, SampleFailure>> {
    // The backend takes a slice of samples; their jobs wait for the answers without them.
    samples.extend(batch.iter_mut().map(|job| std::mem::take(&mut job.sample)));
    let results = infer(worker, samples);
    // Memory of the samples is free before their places are given back, and before answers are encoded.
    samples.clear();
    results
}

/// Answers the samples of a batch, on which the backend began to work at `start` and has just ended.
pub(super) fn answer_batch(
    worker: &dyn Worker,
    coder: &mut Coder,
    batch: &mut Vec<Job>,
    results: Vec<Result<Bytes, SampleFailure>>,
    start: Instant,
) {
    let done = clock::now();
    let aside = worker.aside();
    let inference_ns = duration_ns((done - start).saturating_sub(aside.postprocess));
    let postprocess_ns = duration_ns(aside.postprocess);
    // Nearly always all jobs are of one run, but a batch may hold what is left of the run before.
    for job in aside.nan.iter().filter_map(|&number| batch.get(number)) {
        job.answer_queue.run.count_nan();
    }
    for (mut job, result) in batch.drain(..).zip(results) {
        job.ticket.stages.inference_ns = inference_ns;
        job.ticket.stages.postprocess_ns = postprocess_ns;
        job.answer(coder, result, 0, done);
    }
}
