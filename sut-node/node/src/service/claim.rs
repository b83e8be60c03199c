//! Which run has the node, with all its tenants. A claim is a lease: it lapses when the client that made it has gone
//! without saying so. A tenant whose own streams are gone ends alone.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lon_proto::limits::CLIENT_SILENCE;
use tonic::Status;

use crate::run::presence::LOOK_INTERVAL;
use crate::run::state::ClaimedRun;

/// A claim lapses when no stream was opened for this long,
const WITHOUT_STREAM: Duration = Duration::from_secs(10);
/// or when the last stream has been gone for this long without `EndRun`,
const AFTER_STREAMS: Duration = Duration::from_secs(1);
// or when nothing came on any stream for a while: see `run::presence`.

/// The tenants that have the node and have not ended; none: the node is free. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Claim(Arc<Mutex<Vec<Arc<ClaimedRun>>>>);

impl Claim {
    /// A tenant that has the node.
    pub(crate) fn current(&self) -> Option<Arc<ClaimedRun>> {
        self.lock().first().cloned()
    }

    /// The tenants that have the node, all of one client.
    pub(crate) fn tenants(&self) -> Vec<Arc<ClaimedRun>> {
        self.lock().clone()
    }

    /// The tenant of a caller who shows this id and this secret.
    pub(crate) fn admitted(&self, id: &[u8], secret: &[u8]) -> Option<Arc<ClaimedRun>> {
        self.lock().iter().find(|run| run.pass.admits(id, secret)).cloned()
    }

    /// Gives the node to these tenants.
    ///
    /// # Errors
    /// A tenant that has the node already.
    pub(crate) fn take(&self, tenants: &[Arc<ClaimedRun>]) -> Result<(), Arc<ClaimedRun>> {
        let mut current = self.lock();
        if let Some(other) = current.first() {
            return Err(Arc::clone(other));
        }
        current.extend_from_slice(tenants);
        Ok(())
    }

    /// Takes the node from a tenant; it is free when that was the last. False when `run` does not have it any more.
    pub(crate) fn release(&self, run: &Arc<ClaimedRun>) -> bool {
        let mut current = self.lock();
        let before = current.len();
        current.retain(|tenant| !Arc::ptr_eq(tenant, run));
        current.len() < before
    }

    /// Returns true when a tenant has open streams, which are to be answered.
    pub(crate) fn is_at_work(&self) -> bool {
        self.lock().iter().any(|run| run.streams() > 0)
    }

    /// Takes the node from a tenant when the client that claimed it has gone, and calls `lapsed`, which is to end it.
    /// Returns when `run` does not have the node any more. A tenant that has not begun waits for as long as others of
    /// its client are at work.
    pub(crate) async fn watch(self, run: Arc<ClaimedRun>, lapsed: impl FnOnce(&ClaimedRun)) {
        while self.is_held_by(&run) {
            let has_streams = run.streams() > 0;
            let patience = match run.had_stream() {
                _ if has_streams => LOOK_INTERVAL,
                true => AFTER_STREAMS,
                false => WITHOUT_STREAM,
            };
            let why = match tokio::time::timeout(patience, run.streams_changed.notified()).await {
                Ok(()) => continue,
                Err(_) if !run.had_stream() && self.is_at_work() => continue,
                Err(_) if run.streams() == 0 => "its streams are gone".to_owned(),
                Err(_) if has_streams && run.presence.is_silent() => {
                    format!("nothing came from its client for {CLIENT_SILENCE:?}, not even a heartbeat")
                }
                Err(_) => continue,
            };
            if self.release(&run) {
                tracing::warn!(run = run.title(), why, "lapsed");
                run.take_back(Status::aborted(format!("the claim lapsed: {why}")));
                return lapsed(&run);
            }
        }
    }

    /// Returns true when this tenant has the node.
    pub(crate) fn is_held_by(&self, run: &Arc<ClaimedRun>) -> bool {
        self.lock().iter().any(|tenant| Arc::ptr_eq(tenant, run))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<ClaimedRun>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
