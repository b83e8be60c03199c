//! Which run has the node. A claim is a lease: it lapses when the client that made it has gone without saying so.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lon_proto::limits::CLIENT_SILENCE;
use tonic::Status;

use crate::run::presence::LOOK_INTERVAL;
use crate::run::state::Run;
use crate::work::threads::Queues;

/// A claim lapses when no stream was opened for this long,
const WITHOUT_STREAM: Duration = Duration::from_secs(10);
/// or when the last stream has been gone for this long without `EndRun`,
const AFTER_STREAMS: Duration = Duration::from_secs(1);
// or when nothing came on any stream for a while: see `run::presence`.

/// The run that has the node, if one has. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Claim(Arc<Mutex<Option<Arc<Run>>>>);

impl Claim {
    /// The run that has the node.
    pub(crate) fn current(&self) -> Option<Arc<Run>> {
        self.lock().clone()
    }

    /// Gives the node to `run`.
    ///
    /// # Errors
    /// The run that has the node already.
    pub(crate) fn take(&self, run: &Arc<Run>) -> Result<(), Arc<Run>> {
        let mut current = self.lock();
        if let Some(other) = current.as_ref() {
            return Err(Arc::clone(other));
        }
        *current = Some(Arc::clone(run));
        Ok(())
    }

    /// Frees the node. False when `run` does not have it any more.
    pub(crate) fn release(&self, run: &Arc<Run>) -> bool {
        self.lock().take_if(|current| Arc::ptr_eq(current, run)).is_some()
    }

    /// Returns true when a run has open streams, which are to be answered.
    pub(crate) fn is_at_work(&self) -> bool {
        self.lock().as_ref().is_some_and(|run| run.streams() > 0)
    }

    /// Frees the node when the client that claimed it has gone. Returns when `run` does not have the node any more.
    pub(crate) async fn watch(self, run: Arc<Run>, queues: Queues) {
        while self.is_held_by(&run) {
            let has_streams = run.streams() > 0;
            let patience = match run.had_stream() {
                _ if has_streams => LOOK_INTERVAL,
                true => AFTER_STREAMS,
                false => WITHOUT_STREAM,
            };
            let why = match tokio::time::timeout(patience, run.streams_changed.notified()).await {
                Ok(()) => continue,
                Err(_) if run.streams() == 0 => "its streams are gone".to_owned(),
                Err(_) if has_streams && run.presence.is_silent() => {
                    format!("nothing came from its client for {CLIENT_SILENCE:?}, not even a heartbeat")
                }
                Err(_) => continue,
            };
            if self.release(&run) {
                tracing::warn!(run = run.title(), why, "lapsed");
                run.take_back(Status::aborted(format!("the claim lapsed: {why}")));
                queues.end(&run);
            }
        }
    }

    /// Returns true when this run has the node.
    pub(crate) fn is_held_by(&self, run: &Arc<Run>) -> bool {
        self.lock().as_ref().is_some_and(|current| Arc::ptr_eq(current, run))
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Run>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
