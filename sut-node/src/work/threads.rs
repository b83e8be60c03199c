//! The threads of a node that compute: workers with their queue, decode threads with theirs.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::JoinHandle;

use crate::backend::{Backend, BackendError, Execution, Half, Worker};
use crate::config::ServeConfig;
use crate::pipeline::{images, varies};
use crate::run::state::Run;
use crate::service::calls::busy_samples;
use crate::work::batches as workers;
use crate::work::decode::pool::{self, DecodePool, Next, Window};
use crate::work::queue::JobQueue;
use crate::{ServeError, os};

/// Where samples wait for a thread.
#[derive(Clone)]
pub(crate) struct Work {
    pub(crate) queue: Arc<JobQueue>,
    pub(crate) decode: Arc<DecodePool>,
}

impl Work {
    /// Ends a run and whatever of it still waits here.
    pub(crate) fn let_go(&self, run: &Run) {
        run.end();
        self.decode.discard_ended();
        self.queue.discard_ended().iter().for_each(workers::give_up);
    }
}

/// The threads themselves. When it is dropped they finish what there is and end, without being waited for.
pub(crate) struct Crew {
    pub(crate) work: Work,
    workers: Vec<JoinHandle<()>>,
    decoders: Vec<JoinHandle<()>>,
}

impl Crew {
    /// Brings the backend's workers up, warm, and starts all threads.
    pub(crate) fn start(config: &ServeConfig, backend: &dyn Backend) -> Result<Crew, ServeError> {
        let inputs = &backend.info().inputs;
        if let Some(preprocess) = &config.preprocess {
            images::check(preprocess, inputs)?;
        }
        let yields = takes_every_core(config, backend);
        if yields {
            tracing::info!(
                "{} inferences of {} threads would take every core: I/O threads go first",
                config.workers,
                backend.cores_per_inference()
            );
        }
        let prepare = if yields { yield_to_others } else { || {} };
        let (workers, nexts) = warm_up(config, backend, prepare)?;
        let window =
            Window::new(busy_samples(config, backend), config.decode_threads, config.limits.max_bytes_in_flight);
        let is_by_shape = backend.slots().is_none() && varies(inputs);
        let queue = Arc::new(JobQueue::new(config.max_batch.get(), config.max_delay, is_by_shape));
        let decode = DecodePool::new(config.decode_threads, window, config.preprocess.clone());
        let mut crew = Crew { work: Work { queue, decode }, workers: Vec::new(), decoders: Vec::new() };
        let Work { queue, decode } = &crew.work;
        crew.workers = workers::start(workers, queue, prepare).map_err(os("cannot start a worker thread"))?;
        let nexts = nexts.into_iter().map(|next| next.map_or_else(|| Next::Queue(Arc::clone(queue)), Next::Inline));
        let decoders = decode::start(decode, nexts.collect(), backend.input(), prepare);
        crew.decoders = decoders.map_err(os("cannot start a decode thread"))?;
        Ok(crew)
    }

    /// Has everything that waits answered, and waits for the threads to end.
    pub(crate) fn finish(mut self) {
        self.work.decode.close();
        join(&mut self.decoders);
        // Nobody adds to it any more.
        self.work.queue.close();
        join(&mut self.workers);
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.work.decode.close();
        self.work.queue.close();
    }
}

fn join(threads: &mut Vec<JoinHandle<()>>) {
    for thread in threads.drain(..) {
        let name = thread.thread().name().unwrap_or_default().to_owned();
        if thread.join().is_err() {
            tracing::error!("thread {name} panicked");
        }
    }
}

/// The backend's halves for the workers, and those for the decode threads where they run an inline backend.
///
/// An engine's own threads take over the weight of the thread that makes them, and a weight that was lowered cannot be
/// raised again: where they are to yield, a thread that is gone afterwards makes them.
type Halves = (Vec<Half>, Vec<Option<Box<dyn Worker>>>);

fn warm_up(config: &ServeConfig, backend: &dyn Backend, prepare: fn()) -> Result<Halves, ServeError> {
    let make = || {
        prepare();
        let decoders = config.decode_threads.get();
        let halves: Result<Halves, BackendError> = match backend.execution() {
            Execution::Workers => {
                let workers: Result<_, _> = (0..config.workers.get()).map(|_| backend.worker()).collect();
                workers.map(|workers| (workers, (0..decoders).map(|_| None).collect()))
            }
            Execution::Inline => {
                let inline: Result<_, _> = (0..decoders).map(|_| inline_half(backend).map(Some)).collect();
                inline.map(|inline| (Vec::new(), inline))
            }
        };
        halves
    };
    let halves = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("warm-up".to_owned()).spawn_scoped(scope, make);
        let thread = thread.map_err(os("cannot start a thread"))?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).map_err(ServeError::from)
    })?;
    Ok(halves)
}

/// A half that runs where samples are read or decoded.
pub(crate) fn inline_half(backend: &dyn Backend) -> Result<Box<dyn Worker>, BackendError> {
    backend.worker()?.batch().ok_or_else(|| BackendError::NotInline(backend.info().engine.clone()))
}

/// Whether inference alone could keep every core busy, so that reading and answering would wait for it.
fn takes_every_core(config: &ServeConfig, backend: &dyn Backend) -> bool {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let busy = config.workers.get().saturating_mul(backend.cores_per_inference());
    backend.execution() == Execution::Workers && busy >= cores
}

fn yield_to_others() {
    if let Err(error) = lon_net::slice::yield_to_others() {
        tracing::debug!("a computing thread keeps its weight: {error}");
    }
}
