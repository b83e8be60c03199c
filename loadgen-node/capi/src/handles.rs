//! Numbers that stand for what is open. A number is never given out twice, so that one that was closed is known to be.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, LazyLock, OnceLock, PoisonError, RwLock};

use crate::run::Run;
use crate::samples::Samples;
use crate::status::{Code, Error};

/// Object that a handle stands for.
#[derive(Clone)]
pub(crate) enum Open {
    /// A run with its dataset.
    Run(Arc<Run>),
    /// A dataset alone.
    Samples(Arc<Samples>),
}

/// The process that opened the first of them.
static PROCESS: OnceLock<u32> = OnceLock::new();
static NEXT: AtomicU64 = AtomicU64::new(1);
static ALL: LazyLock<RwLock<HashMap<u64, Open>>> = LazyLock::new(RwLock::default);

/// Gives it a handle, which is not 0.
pub(crate) fn keep(open: Open) -> u64 {
    PROCESS.get_or_init(std::process::id);
    let handle = NEXT.fetch_add(1, Relaxed);
    ALL.write().unwrap_or_else(PoisonError::into_inner).insert(handle, open);
    handle
}

/// Returns the object that the handle stands for.
pub(crate) fn get(handle: u64) -> Result<Open, Error> {
    ALL.read().unwrap_or_else(PoisonError::into_inner).get(&handle).cloned().ok_or_else(|| none(handle))
}

/// The run that the handle stands for.
pub(crate) fn run(handle: u64) -> Result<Arc<Run>, Error> {
    match get(handle)? {
        Open::Run(run) => Ok(run),
        Open::Samples(_) => Err(Error::new(Code::Handle, format!("handle {handle} is a dataset without nodes"))),
    }
}

/// The dataset of what the handle stands for.
pub(crate) fn samples(handle: u64) -> Result<Arc<Samples>, Error> {
    match get(handle)? {
        Open::Run(run) => Ok(Arc::clone(run.samples())),
        Open::Samples(samples) => Ok(samples),
    }
}

/// Refuses a process that was forked from the one in which something was opened: the threads that would do the work are
/// there, and locks may be held by them for ever.
pub(crate) fn not_forked() -> Result<(), Error> {
    match PROCESS.get().copied().filter(|opened_in| *opened_in != std::process::id()) {
        None => Ok(()),
        Some(opened_in) => {
            let text = format!("this process was forked from {opened_in}, in which the library has its threads: ");
            Err(Error::new(Code::Fork, text + "open runs and datasets after the fork, or start another program"))
        }
    }
}

/// From here on nothing has this handle.
pub(crate) fn forget(handle: u64) -> Result<Open, Error> {
    ALL.write().unwrap_or_else(PoisonError::into_inner).remove(&handle).ok_or_else(|| none(handle))
}

fn none(handle: u64) -> Error {
    Error::new(Code::Handle, format!("{handle} is no handle, or was closed"))
}
