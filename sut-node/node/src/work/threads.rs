//! The threads of a node that compute: workers with their queue, decode threads with theirs.

use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::JoinHandle;

use super::compute_turns::Turns;
use super::decode::pool::{DecodePool, Window};
use super::decode::{self, Decoding, Next};
use super::job::Job;
use super::queue::JobQueue;
use super::{batches, tasks, token_streams};
use tokio::task::JoinSet;

use crate::backend::{Backend, BackendError, Execution, Half, Worker};
use crate::config::ModelConfig;
use crate::error::{ServeError, os};
use crate::memory;
use crate::pipeline::varies;
use crate::run::state::ClaimedRun;

/// Number of samples that keep a connection busy when its samples are answered where they are read: they cost less than
/// the network.
pub(crate) const INLINE_BUSY_SAMPLES: u64 = 256;

/// Number of shapes that are expected to come mixed, where samples differ in shape.
const SHAPES: u64 = 4;

/// Returns the number of samples that keep the backend busy: for every worker two batches, or all its slots twice. One
/// is at work, one is ready.
pub(crate) fn busy_samples(config: &ModelConfig, backend: &dyn Backend) -> u64 {
    match backend.execution() {
        Execution::Workers => {
            let at_work = config.workers.get().saturating_mul(backend.slots().unwrap_or(config.max_batch).get());
            // Batches of one shape fill from what there is of all shapes.
            let shapes = if backend.slots().is_none() && varies(&backend.info().inputs) { SHAPES } else { 1 };
            (at_work as u64).saturating_mul(2 * shapes)
        }
        Execution::Inline => INLINE_BUSY_SAMPLES,
    }
}

/// Returns the number of cores that inferences of this backend can keep busy on threads of their own.
pub(crate) fn busy_threads(config: &ModelConfig, backend: &dyn Backend) -> usize {
    match backend.execution() {
        Execution::Workers => config.workers.get().saturating_mul(backend.cores_per_inference()),
        Execution::Inline => 0,
    }
}

/// Returns true when the backend's workers take batches, and so may share turns with those of other models. Workers
/// that stream tokens wait for their slots, and backends without workers answer where samples are read.
pub(crate) fn takes_turns(backend: &dyn Backend) -> bool {
    backend.execution() == Execution::Workers && backend.slots().is_none()
}

/// A worker that runs on the thread where samples are read or decoded.
///
/// # Errors
/// The backend cannot be brought up, or answers token by token.
pub(crate) fn inline_worker(backend: &dyn Backend) -> Result<Box<dyn Worker>, BackendError> {
    backend.worker()?.batch().ok_or_else(|| BackendError::NotInline(backend.info().engine.clone()))
}

/// Where samples wait for a thread that computes.
#[derive(Clone)]
pub(crate) struct Queues {
    /// Jobs that wait for a worker.
    pub(crate) workers: Arc<JobQueue>,
    /// Jobs that wait for a decode thread, and go to a worker afterwards.
    pub(crate) decode: Arc<DecodePool<Job>>,
}

impl Queues {
    /// Ends a run, and all of it that still waits here.
    pub(crate) fn end(&self, run: &ClaimedRun) {
        run.end();
        self.decode.discard_ended().into_iter().for_each(Job::give_up);
        self.workers.discard_ended().into_iter().for_each(Job::give_up);
    }
}

/// The threads that compute. When it is dropped they finish what there is and end, without being waited for.
pub(crate) struct ComputeThreads {
    pub(crate) queues: Queues,
    workers: Vec<JoinHandle<()>>,
    /// Workers that only pretend to work.
    tasks: JoinSet<()>,
    decoders: Vec<JoinHandle<()>>,
}

impl ComputeThreads {
    /// Brings the backend's workers up, warm, and starts all threads. Called on the first I/O thread's runtime. All
    /// models of the node together can keep `busy` cores busy: see [`busy_threads`]. `turns` are those that its workers
    /// share with other models.
    ///
    /// # Errors
    /// The backend cannot run, the model does not take what pre-processing makes, or there is no thread to be had.
    pub(crate) fn start(
        config: &ModelConfig,
        backend: &dyn Backend,
        busy: usize,
        turns: Option<Turns>,
    ) -> Result<ComputeThreads, ServeError> {
        let inputs = &backend.info().inputs;
        if let Some(preprocess) = &config.preprocess {
            preprocess.check(inputs)?;
        }
        let prepare = preparation(config, backend, busy);
        // Memory that it took to read the model, and then to warm the workers, is of no use any more.
        memory::give_back();
        let (workers, inline) = warm_workers(config, backend, prepare)?;
        memory::give_back();
        let is_by_shape = backend.slots().is_none() && varies(inputs);
        let max_batch = backend.samples_of_a_run().map_or(config.max_batch, |most| most.min(config.max_batch));
        let queue = JobQueue::new(max_batch.get(), config.max_delay, is_by_shape);
        let queue = queue.with_turns(turns.filter(|_| takes_turns(backend)));
        let queue = Arc::new(if backend.pretends() { queue.of_tasks() } else { queue });
        let decoding = decoding(config, backend);
        let queues = Queues { workers: queue, decode: decode_pool(config, backend, &decoding) };
        // From here on threads that were started end with what is dropped, if one cannot be.
        let mut threads = ComputeThreads { queues, workers: Vec::new(), tasks: JoinSet::new(), decoders: Vec::new() };
        let Queues { workers: queue, decode: pool } = &threads.queues;
        if backend.pretends() {
            for worker in workers.into_iter().filter_map(Half::batch) {
                threads.tasks.spawn(tasks::work(worker, Arc::clone(queue)));
            }
        } else {
            threads.workers = start_workers(workers, queue, prepare).map_err(os("cannot start a worker thread"))?;
        }
        let next = |worker: Option<_>| worker.map_or_else(|| Next::Queue(Arc::clone(queue)), Next::Inline);
        let decoders = decode::start(pool, inline.into_iter().map(next).collect(), &decoding, prepare);
        threads.decoders = decoders.map_err(os("cannot start a decode thread"))?;
        Ok(threads)
    }

    /// Has everything that waits answered, and waits for the threads to end.
    pub(crate) fn finish(mut self) {
        self.queues.decode.close();
        join(&mut self.decoders);
        // Now nobody adds to it any more.
        self.queues.workers.close();
        join(&mut self.workers);
    }
}

impl Drop for ComputeThreads {
    fn drop(&mut self) {
        self.queues.decode.close();
        self.queues.workers.close();
    }
}

/// Returns the settings of the decoding of samples.
fn decoding(config: &ModelConfig, backend: &dyn Backend) -> Decoding {
    // A codec could else make a large sample of a small one, only for the model to refuse it.
    let (preprocess, inputs) = (config.preprocess.clone(), backend.info().inputs.clone());
    let max_raw_bytes = match &preprocess {
        Some(preprocess) => preprocess.max_sample_bytes(&inputs),
        None => inputs.max_sample_bytes(),
    };
    Decoding { preprocess, inputs, input: backend.input(), max_raw_bytes }
}

fn decode_pool(config: &ModelConfig, backend: &dyn Backend, decoding: &Decoding) -> Arc<DecodePool<Job>> {
    let max_bytes = config.memory.decoding_bytes();
    let window = Window::new(busy_samples(config, backend), config.decode_threads, max_bytes);
    let decoding = decoding.clone();
    let measure = Box::new(move |job: &Job| decoding.bytes(&job.answer_queue.run, &job.sample.bytes));
    DecodePool::new(config.decode_threads, window, measure)
}

/// Starts one thread for each worker. They end when the queue is closed and empty. Each calls `prepare` first.
fn start_workers(workers: Vec<Half>, queue: &Arc<JobQueue>, prepare: fn()) -> io::Result<Vec<JoinHandle<()>>> {
    let spawn = |(number, worker)| {
        let queue = Arc::clone(queue);
        std::thread::Builder::new().name(format!("worker-{number}")).spawn(move || {
            prepare();
            match worker {
                Half::Batch(worker) => batches::work(worker, &queue),
                Half::Stream(streamer) => token_streams::work(streamer, &queue),
            }
        })
    };
    workers.into_iter().enumerate().map(spawn).collect()
}

fn join(threads: &mut Vec<JoinHandle<()>>) {
    for thread in threads.drain(..) {
        let name = thread.thread().name().unwrap_or_default().to_owned();
        if thread.join().is_err() {
            tracing::error!(thread = name, "panicked");
        }
    }
}

/// Halves that the backend made for the threads: one for each worker thread; and for each decode thread a worker, where
/// the backend is inline and runs on them.
type WarmWorkers = (Vec<Half>, Vec<Option<Box<dyn Worker>>>);

/// Has the backend make its halves, which may take seconds.
///
/// A thread of its own makes them and is gone afterwards. An engine's threads inherit the scheduling weight of the
/// thread that makes them, `prepare` may lower that weight, and a weight that was lowered cannot be raised again.
///
/// # Errors
/// The backend cannot run, or there is no thread to be had.
fn warm_workers(config: &ModelConfig, backend: &dyn Backend, prepare: fn()) -> Result<WarmWorkers, ServeError> {
    let make = || {
        prepare();
        let decoders = config.decode_threads.get();
        let halves: Result<WarmWorkers, BackendError> = match backend.execution() {
            Execution::Workers => {
                let workers: Result<_, _> = (0..config.workers.get()).map(|_| backend.worker()).collect();
                workers.map(|workers| (workers, (0..decoders).map(|_| None).collect()))
            }
            Execution::Inline => {
                let inline: Result<_, _> = (0..decoders).map(|_| inline_worker(backend).map(Some)).collect();
                inline.map(|inline| (Vec::new(), inline))
            }
        };
        halves
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("warm-up".to_owned()).spawn_scoped(scope, make);
        let thread = thread.map_err(os("cannot start a thread"))?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).map_err(ServeError::from)
    })
}

/// Returns the first step of each thread that computes. Where inference alone, of `busy` threads, could keep every core
/// busy, reading and answering would wait for it: then the thread lowers its own weight.
fn preparation(config: &ModelConfig, backend: &dyn Backend, busy: usize) -> fn() {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    if backend.execution() == Execution::Inline || busy < cores {
        return || {};
    }
    tracing::info!(
        inferences = config.workers,
        threads_each = backend.cores_per_inference(),
        cores,
        "inferences would take every core: I/O threads go first"
    );
    || {
        if let Err(error) = lon_net::slice::yield_to_others() {
            tracing::debug!(%error, "a computing thread keeps its weight");
        }
    }
}
