//! Worker threads: take a batch, run the backend, hand each answer to its lane.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::thread::JoinHandle;
use std::time::Instant;

use bytes::Bytes;

use crate::backend::{Sample, Worker};
use crate::lane::{Answer, Stages};
use crate::queue::{Job, JobQueue};

/// Starts one thread per worker; they end when the queue is closed and empty.
pub(crate) fn start(workers: Vec<Box<dyn Worker>>, queue: &Arc<JobQueue>) -> io::Result<Vec<JoinHandle<()>>> {
    let spawn = |(number, worker)| {
        let queue = Arc::clone(queue);
        std::thread::Builder::new().name(format!("worker-{number}")).spawn(move || work(worker, &queue))
    };
    workers.into_iter().enumerate().map(spawn).collect()
}

fn work(mut worker: Box<dyn Worker>, queue: &JobQueue) {
    let mut batch = Vec::new();
    let mut free_since = Instant::now();
    while queue.next_batch(&mut batch) {
        let taken = Instant::now();
        // A peer that is gone is not worth the work, but its samples must leave the books.
        let is_gone = |job: &Job| job.lane.closed.load(SeqCst) || job.lane.run.has_ended();
        let (gone, wanted): (Vec<Job>, Vec<Job>) = batch.drain(..).partition(is_gone);
        gone.iter().for_each(give_up);
        run_batch(worker.as_mut(), wanted, taken, free_since);
        free_since = Instant::now();
    }
}

/// Ends a sample that nobody waits for any more.
pub(crate) fn give_up(job: &Job) {
    let sample_bytes = job.sample.bytes.len() as u64;
    let result = Err("the run is over".to_owned());
    job.lane.answer(std::iter::once(Answer { id: job.id, result, stages: Stages::default(), sample_bytes }));
}

fn run_batch(worker: &mut dyn Worker, batch: Vec<Job>, taken: Instant, free_since: Instant) {
    if batch.is_empty() {
        return;
    }
    let mut samples = Vec::with_capacity(batch.len());
    let mut tickets = Vec::with_capacity(batch.len());
    for Job { lane, id, sample, decode, queued_at } in batch {
        // Before the worker was free the sample waited for it; after that, for its batch to fill.
        let ready = queued_at.max(free_since).min(taken);
        let stages = Stages { decode, queue: ready - queued_at, batch: taken - ready, ..Stages::default() };
        tickets.push((lane, id, stages, sample.bytes.len() as u64));
        samples.push(sample);
    }
    let start = Instant::now();
    let results = infer(worker, &samples);
    let inference = start.elapsed();
    for ((lane, id, mut stages, sample_bytes), result) in tickets.into_iter().zip(results) {
        stages.inference = inference;
        lane.answer(std::iter::once(Answer { id, result, stages, sample_bytes }));
    }
}

/// Runs the backend: one result a sample, whatever it does. A panic in it fails this batch and leaves the node standing.
pub(crate) fn infer(worker: &mut dyn Worker, samples: &[Sample]) -> Vec<Result<Bytes, String>> {
    let outcome = catch_unwind(AssertUnwindSafe(|| worker.infer(samples)));
    match outcome {
        Ok(results) => {
            let missing = || Err("the backend returned fewer answers than samples".to_owned());
            let results = results.into_iter().map(|result| result.map_err(|error| error.to_string()));
            results.chain(std::iter::repeat_with(missing)).take(samples.len()).collect()
        }
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
            tracing::error!("the backend panicked: {text}");
            vec![Err(format!("the backend panicked: {text}")); samples.len()]
        }
    }
}
