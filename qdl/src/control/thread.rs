//! Where control calls run: on a thread of their own, so that they do not depend on the caller's thread; or on a
//! runtime that the caller brings.

use std::future::Future;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use tokio::runtime::Runtime;
use tokio::sync::oneshot;

use crate::error::ConnectError;

/// Where control calls run.
pub(crate) enum Control {
    Thread(ControlThread),
    /// The caller's thread, while it waits.
    Brought(Arc<Runtime>),
}

impl Control {
    /// # Errors
    /// There is no `runtime`, and the operating system refuses the thread or a runtime for it.
    pub(crate) fn start(runtime: Option<&Arc<Runtime>>) -> Result<Control, ConnectError> {
        match runtime {
            Some(runtime) => Ok(Control::Brought(Arc::clone(runtime))),
            None => ControlThread::start().map(Control::Thread),
        }
    }

    /// Runs a future and waits for its value here; `None` when it panicked on the thread.
    pub(crate) fn wait<T: Send + 'static>(&self, future: impl Future<Output = T> + Send + 'static) -> Option<T> {
        match self {
            Control::Thread(thread) => thread.wait(future),
            Control::Brought(runtime) => Some(runtime.block_on(future)),
        }
    }

    /// Has a future run.
    pub(crate) fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        match self {
            Control::Thread(thread) => thread.spawn(future),
            Control::Brought(runtime) => drop(runtime.spawn(future)),
        }
    }
}

/// A thread with a runtime of its own. Dropping it ends the thread and every call under way.
pub(crate) struct ControlThread {
    handle: tokio::runtime::Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ControlThread {
    /// # Errors
    /// The operating system refuses the thread or its runtime.
    fn start() -> Result<ControlThread, ConnectError> {
        let os = |what| move |error: std::io::Error| ConnectError::Os { what, reason: error.to_string() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(os("cannot build a runtime"))?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        let body = move || {
            // Ends with an error when the sender is dropped, which is how it is told.
            let _ = runtime.block_on(stopped);
        };
        let thread = std::thread::Builder::new().name("qdl-control".to_owned()).spawn(body);
        Ok(ControlThread { handle, stop: Some(stop), thread: Some(thread.map_err(os("cannot start a thread"))?) })
    }

    /// Runs a future on the thread and waits for its value here; `None` when the future panicked.
    fn wait<T: Send + 'static>(&self, future: impl Future<Output = T> + Send + 'static) -> Option<T> {
        let (sender, receiver) = mpsc::sync_channel(1);
        self.spawn(async move {
            let _ = sender.send(future.await);
        });
        receiver.recv().ok()
    }

    /// Runs a future on the thread.
    fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        self.handle.spawn(future);
    }
}

impl Drop for ControlThread {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
