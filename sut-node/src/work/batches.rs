//! Worker threads: take a batch, run the backend, hand each answer to its lane. Those of backends that answer token by
//! token do it their own way: `streamer`.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::JoinHandle;
use std::time::Instant;

use bytes::Bytes;

use crate::backend::{Half, Sample, Worker};
use crate::run::codecs::Coder;
use crate::run::state::Run;
use crate::tensor::SampleError;
use crate::work::lane::{Answer, Stages};
use crate::work::queue::{Job, JobQueue};
use crate::work::token_streams as streamer;

/// Starts one thread per worker; they end when the queue is closed and empty. Each calls `prepare` first.
pub(crate) fn start(workers: Vec<Half>, queue: &Arc<JobQueue>, prepare: fn()) -> io::Result<Vec<JoinHandle<()>>> {
    let spawn = |(number, worker)| {
        let queue = Arc::clone(queue);
        std::thread::Builder::new().name(format!("worker-{number}")).spawn(move || {
            prepare();
            match worker {
                Half::Batch(worker) => work(worker, &queue),
                Half::Stream(streamer) => streamer::work(streamer, &queue),
            }
        })
    };
    workers.into_iter().enumerate().map(spawn).collect()
}

fn work(mut worker: Box<dyn Worker>, queue: &JobQueue) {
    let mut batch = Vec::new();
    let mut coder = Coder::default();
    let mut free_since = Instant::now();
    while queue.next_batch(&mut batch) {
        let taken = Instant::now();
        // A peer that is gone is not worth the work, but its samples must leave the books.
        let is_gone = |job: &Job| job.lane.is_over();
        let (gone, wanted): (Vec<Job>, Vec<Job>) = batch.drain(..).partition(is_gone);
        gone.iter().for_each(give_up);
        run_batch(worker.as_mut(), &mut coder, wanted, taken, free_since);
        free_since = Instant::now();
    }
}

/// Ends a sample that nobody waits for any more.
pub(crate) fn give_up(job: &Job) {
    job.lane.answer(std::iter::once(Answer::over(job.id, job.sample_bytes)));
}

fn run_batch(worker: &mut dyn Worker, coder: &mut Coder, batch: Vec<Job>, taken: Instant, free_since: Instant) {
    if batch.is_empty() {
        return;
    }
    let mut samples = Vec::with_capacity(batch.len());
    let mut tickets = Vec::with_capacity(batch.len());
    for Job { lane, id, sample, sample_bytes, waited, decode, preprocess, queued_at, inflated, .. } in batch {
        // Before the worker was free the sample waited for it; after that, for its batch to fill.
        let ready = queued_at.max(free_since).min(taken);
        let stages = Stages {
            decode,
            preprocess,
            queue: waited + (ready - queued_at),
            batch: taken - ready,
            ..Stages::default()
        };
        tickets.push((lane, id, stages, sample_bytes, inflated));
        samples.push(sample);
    }
    let start = Instant::now();
    let results = infer(worker, &samples);
    let done = Instant::now();
    let postprocess = worker.aside().postprocess;
    let inference = (done - start).saturating_sub(postprocess);
    // All of one run, nearly always; but a batch may hold what is left of the one before.
    for (lane, ..) in worker.aside().nan.iter().filter_map(|&number| tickets.get(number)) {
        lane.run.count_nan();
    }
    // Before their places are given back, and before answers are encoded.
    drop(samples);
    for ((lane, id, mut stages, sample_bytes, inflated), result) in tickets.into_iter().zip(results) {
        drop(inflated);
        stages.inference = inference;
        stages.postprocess = postprocess;
        let result = encode(coder, &lane.run, result, done, &mut stages);
        lane.answer(std::iter::once(Answer { id, result, stages, sample_bytes }));
    }
}

/// An answer in the run's codec. Its stage begins with the end of the inference, so it holds the time in which others
/// of its batch were encoded.
pub(crate) fn encode(
    coder: &mut Coder,
    run: &Run,
    result: Result<Bytes, String>,
    since: Instant,
    stages: &mut Stages,
) -> Result<Bytes, String> {
    if run.codecs.answers.is_none() {
        return result;
    }
    let raw = result?;
    let wrapped = coder.wrap(&run.codecs, &raw)?;
    run.counters.raw_bytes_out.fetch_add(raw.len() as u64, Relaxed);
    stages.encode = since.elapsed();
    Ok(wrapped)
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
            let text = words(panic.as_ref());
            tracing::error!("the backend panicked: {text}");
            vec![Err(format!("the backend panicked: {text}")); samples.len()]
        }
    }
}

/// What a panic said.
pub(crate) fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

/// Why a sample that is no sample fails.
pub(crate) fn unreadable(error: &SampleError) -> String {
    format!("the sample cannot be read: {error}")
}
