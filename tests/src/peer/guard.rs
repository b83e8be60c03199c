//! Which run has a scripted peer that serves one at a time.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use lon_proto::limits::SECRET_BYTES;
use lon_proto::run_identity::RunPass;
use tonic::Status;

/// The run that has the peer, if one has.
#[derive(Debug, Default)]
pub(super) struct Guard {
    run: Mutex<Option<Taken>>,
    claims: AtomicU64,
}

/// A run that has the peer. Its claim ends with its last stream.
#[derive(Debug)]
struct Taken {
    pass: RunPass,
    streams: u64,
    had_stream: bool,
}

impl Guard {
    /// Gives the peer to a run; the run's secret.
    pub(super) fn take(&self, run_id: Bytes) -> Result<Bytes, Status> {
        let mut run = self.lock();
        if run.as_ref().is_some_and(|taken| taken.streams > 0 || !taken.had_stream) {
            return Err(Status::resource_exhausted("another run has this node"));
        }
        let number = self.claims.fetch_add(1, SeqCst);
        let secret: Bytes = number.to_le_bytes().repeat(SECRET_BYTES / 8).into();
        *run = Some(Taken { pass: RunPass::new(run_id, secret.clone()), streams: 0, had_stream: false });
        Ok(secret)
    }

    /// Checks that this is the run that has claimed the peer.
    pub(super) fn admit(&self, run_id: &[u8], secret: &[u8]) -> Result<(), Status> {
        let admits = self.lock().as_ref().is_some_and(|taken| taken.pass.admits(run_id, secret));
        admits.then_some(()).ok_or_else(|| Status::not_found("no such run"))
    }

    /// A stream of the run begins.
    pub(super) fn join(&self) {
        if let Some(taken) = self.lock().as_mut() {
            taken.streams += 1;
            taken.had_stream = true;
        }
    }

    /// A stream of the run has ended.
    pub(super) fn leave(&self) {
        if let Some(taken) = self.lock().as_mut() {
            taken.streams = taken.streams.saturating_sub(1);
        }
    }

    /// The run is over.
    pub(super) fn free(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> MutexGuard<'_, Option<Taken>> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
