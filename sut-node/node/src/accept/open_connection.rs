//! One connection as the node's door sees it: whether it is a stranger's, and how much it may ask for.
//!
//! What a stranger can make a node hold is bounded: a few calls at one time, and for each call a few kilobytes that are
//! read. A connection that carries the run is not.

use std::fmt;
use std::future::Future;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use lon_net::clock;
use tokio::sync::Notify;

use crate::run::state::ClaimedRun;

/// Time limit for a client's first call, from its first byte on.
const FIRST_CALL: Duration = Duration::from_secs(10);

/// The most calls of one stranger at one time.
pub(crate) const STRANGERS_CALLS: usize = 4;

/// Bytes that are read from a stranger until its first call has begun, and from each call to the next.
const STRANGERS_RATION_BYTES: usize = 16 << 10;

/// Bytes that are read from a connection of a run until it is looked at again whether the run goes on.
const RATION_BYTES: usize = 1 << 20;

/// Why a connection is closed that its client would have kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Dismissal {
    /// There are too many strangers.
    #[error("it made room for others")]
    ForOthers,
    /// The client has not asked for anything.
    #[error("it asked for nothing within {} s", FIRST_CALL.as_secs())]
    Silent,
}

/// A connection of a node. Clones are the same connection; when the last is gone, its place is free.
#[derive(Clone)]
pub(crate) struct OpenConnection(Arc<Inner>);

struct Inner {
    seat: Arc<Seat>,
    /// When it must have asked for something.
    call_due: Instant,
    gone: Box<dyn Fn() + Send + Sync>,
}

/// State of one connection in the list of all connections.
#[derive(Debug)]
pub(crate) struct Seat {
    pub(crate) address: IpAddr,
    /// When it came.
    pub(crate) since: Instant,
    standing: Mutex<Standing>,
    leave: Notify,
}

#[derive(Debug, Default)]
struct Standing {
    /// Runs that it has to do with: the tenants of one claim.
    runs: Vec<Weak<ClaimedRun>>,
    /// Calls under way.
    calls: usize,
    /// Calls that were ever begun.
    call_count: u64,
    /// Number of calls that must have begun before the node reads a stranger's next bytes.
    next_ration_at: u64,
    /// Whom to wake when more may be read.
    reader: Option<Waker>,
}

/// Number of bytes that the node may read from a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ration {
    /// So many, and not one more.
    Exactly(usize),
    /// About so many.
    About(usize),
}

impl Seat {
    pub(crate) fn new(address: IpAddr) -> Seat {
        Seat { address, since: clock::now(), standing: Mutex::default(), leave: Notify::new() }
    }

    /// Returns true when the connection belongs to no current run.
    pub(crate) fn is_stranger(&self) -> bool {
        self.lock().is_stranger()
    }

    /// Tells the connection to leave.
    pub(crate) fn have_leave(&self) {
        self.leave.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Standing> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Standing {
    fn is_stranger(&self) -> bool {
        self.runs.iter().all(|run| run.upgrade().is_none_or(|run| run.has_ended()))
    }

    fn wake_reader(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }
}

impl OpenConnection {
    /// A connection that begins now. `gone` is called when it is over.
    pub(crate) fn new(seat: Arc<Seat>, gone: impl Fn() + Send + Sync + 'static) -> OpenConnection {
        OpenConnection(Arc::new(Inner { seat, call_due: clock::now() + FIRST_CALL, gone: Box::new(gone) }))
    }

    /// Serves the connection until that ends or the connection has to leave.
    ///
    /// # Errors
    /// It had to leave. What served it was dropped.
    pub(crate) async fn serve<T>(&self, serving: impl Future<Output = T>) -> Result<T, Dismissal> {
        tokio::select! {
            biased;
            served = serving => Ok(served),
            () = self.leave_signal() => Err(Dismissal::ForOthers),
            () = self.silent() => Err(Dismissal::Silent),
        }
    }

    /// Resolves when the connection is to leave, so that others have room.
    pub(crate) async fn leave_signal(&self) {
        self.0.seat.leave.notified().await;
    }

    /// Resolves when the client should have asked for something and has not.
    async fn silent(&self) {
        tokio::time::sleep_until(self.0.call_due.into()).await;
        if self.0.seat.lock().call_count > 0 {
            std::future::pending::<()>().await;
        }
    }

    /// The connection has to do with these tenants of a claim from here on.
    pub(crate) fn belongs_to(&self, tenants: &[Arc<ClaimedRun>]) {
        let mut standing = self.0.seat.lock();
        standing.runs = tenants.iter().map(Arc::downgrade).collect();
        standing.call_count += 1;
        standing.wake_reader();
    }

    /// Returns true when the connection belongs to no current run.
    pub(crate) fn is_stranger(&self) -> bool {
        self.0.seat.is_stranger()
    }

    /// Begins a call. `None` when it is one too many for a stranger.
    pub(crate) fn call(&self) -> Option<Call> {
        let mut standing = self.0.seat.lock();
        standing.call_count += 1;
        standing.wake_reader();
        if standing.calls >= STRANGERS_CALLS && standing.is_stranger() {
            return None;
        }
        standing.calls += 1;
        Some(Call(self.clone()))
    }

    /// Returns the number of bytes that the node may read next. Pending while a stranger has used up the bytes of one
    /// call.
    pub(crate) fn poll_ration(&self, cx: &Context<'_>) -> Poll<Ration> {
        let mut standing = self.0.seat.lock();
        if !standing.is_stranger() {
            return Poll::Ready(Ration::About(RATION_BYTES));
        }
        if standing.call_count < standing.next_ration_at {
            standing.reader = Some(cx.waker().clone());
            return Poll::Pending;
        }
        standing.next_ration_at = standing.call_count + 1;
        Poll::Ready(Ration::Exactly(STRANGERS_RATION_BYTES))
    }
}

impl fmt::Debug for OpenConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OpenConnection").field(&self.0.seat).finish()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        (self.gone)();
    }
}

/// A call under way. It is over when this is dropped.
#[derive(Debug)]
pub(crate) struct Call(OpenConnection);

impl Drop for Call {
    fn drop(&mut self) {
        self.0.0.seat.lock().calls -= 1;
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::net::Ipv4Addr;

    use lon_proto::run_identity::RunPass;

    use super::*;
    use crate::config::Limits;
    use crate::run::codecs::Codecs;
    use crate::run::state::Purpose;

    /// A run that nobody has claimed.
    pub(crate) fn run() -> Arc<ClaimedRun> {
        let purpose = Purpose::Run(Codecs::NONE);
        let pass = RunPass::new(vec![1; 16].into(), vec![2; 32].into());
        Arc::new(ClaimedRun::new(pass, "a test".to_owned(), Limits::default(), purpose, None))
    }

    fn entry() -> OpenConnection {
        OpenConnection::new(Arc::new(Seat::new(Ipv4Addr::LOCALHOST.into())), || {})
    }

    #[test]
    fn a_stranger_has_few_calls_and_a_run_many() {
        let entry = entry();
        let mut calls: Vec<Call> = (0..STRANGERS_CALLS).map(|_| entry.call().unwrap()).collect();
        assert!(entry.call().is_none());
        calls.pop();
        calls.push(entry.call().unwrap());
        let run = run();
        entry.belongs_to(std::slice::from_ref(&run));
        calls.extend((0..100).map(|_| entry.call().unwrap()));
        run.end();
        assert!(entry.call().is_none());
    }

    #[test]
    fn what_a_stranger_sends_is_read_call_by_call() {
        let entry = entry();
        let cx = Context::from_waker(Waker::noop());
        let few = Poll::Ready(Ration::Exactly(STRANGERS_RATION_BYTES));
        assert_eq!((entry.poll_ration(&cx), entry.poll_ration(&cx)), (few, Poll::Pending));
        // However many calls came meanwhile, there is one ration for them.
        let calls = [entry.call(), entry.call(), entry.call()];
        assert_eq!((entry.poll_ration(&cx), entry.poll_ration(&cx)), (few, Poll::Pending));
        drop(calls);
        let run = run();
        entry.belongs_to(std::slice::from_ref(&run));
        assert_eq!(entry.poll_ration(&cx), Poll::Ready(Ration::About(RATION_BYTES)));
        run.end();
        assert_eq!((entry.poll_ration(&cx), entry.poll_ration(&cx)), (few, Poll::Pending));
    }

    #[tokio::test]
    async fn who_asks_for_nothing_has_to_leave_and_who_does_may_stay() {
        let soon = |entry: OpenConnection| {
            let Inner { seat, .. } = &*entry.0;
            OpenConnection(Arc::new(Inner { seat: Arc::clone(seat), call_due: clock::now(), gone: Box::new(|| {}) }))
        };
        let (silent, asking) = (soon(entry()), soon(entry()));
        assert_eq!(silent.serve(std::future::pending::<()>()).await, Err(Dismissal::Silent));
        drop(asking.call());
        let long = asking.serve(tokio::time::sleep(Duration::from_millis(20)));
        assert_eq!(long.await, Ok(()));
        asking.0.seat.have_leave();
        assert_eq!(asking.serve(std::future::pending::<()>()).await, Err(Dismissal::ForOthers));
    }
}
