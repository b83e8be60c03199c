//! Counts the replies that arrive in a run that another engine leads, then hands them on.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use lon_shell::panics;
use qdl::{NodeFailure, NodeIndex, Outcome, Reply, SampleId, Sink};

use loadgen::run::Counts;
use loadgen::world::TimeNs;
use lon_world::tally::{Answered, Tally};

/// Takes answers and first tokens for an engine. Called on the threads of the network, so it must not block.
pub trait Taker: Send + Sync + 'static {
    /// Takes these replies, none of them a failure. `replies` is cleared afterwards, and used again.
    fn replies(&self, replies: &mut Vec<Reply>);
}

/// The sink of a run that another engine leads.
pub(super) struct ReplySink {
    taker: Arc<dyn Taker>,
    tally: Mutex<Tally>,
    issued: AtomicU64,
    completed: AtomicU64,
    failed: AtomicU64,
    /// The start of the run's clock, and what follows by it: the first sample issued and the last one answered, ns.
    origin: Instant,
    first_ns: AtomicU64,
    latest_ns: AtomicU64,
    /// The run cannot be used any more, or is over.
    broken: AtomicBool,
    /// The run is over: what fails from now on is no reason of its own.
    closed: AtomicBool,
    /// A thread waits for room.
    waiting: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

/// The part of the state that changes seldom.
#[derive(Default)]
struct State {
    /// Why the run is unusable: the first cause.
    why: Option<String>,
    /// Samples that will not be answered, and that nobody knows about yet.
    lost: Vec<SampleId>,
}

impl ReplySink {
    pub(super) fn new(taker: Arc<dyn Taker>) -> ReplySink {
        ReplySink {
            taker,
            tally: Mutex::default(),
            issued: AtomicU64::new(0),
            completed: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            origin: Instant::now(),
            first_ns: AtomicU64::new(u64::MAX),
            latest_ns: AtomicU64::new(0),
            broken: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            waiting: AtomicBool::new(false),
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// A sample is about to be issued.
    pub(super) fn issued(&self) {
        if self.issued.fetch_add(1, Relaxed) == 0 {
            self.first_ns.fetch_min(self.now_ns(), Relaxed);
        }
    }

    /// A sample is not sent, because the run is unusable.
    pub(super) fn lose(&self, id: SampleId) {
        self.failed.fetch_add(1, Relaxed);
        self.state().lost.push(id);
    }

    /// Returns true when nothing is sent any more.
    pub(super) fn is_broken(&self) -> bool {
        self.broken.load(SeqCst)
    }

    /// Returns true when the run is over.
    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(SeqCst)
    }

    /// Why the run is unusable, once it is.
    pub(super) fn why(&self) -> Option<String> {
        self.state().why.clone()
    }

    /// Samples that have been issued and have not ended.
    pub(super) fn outstanding(&self) -> u64 {
        let ended = self.completed.load(SeqCst) + self.failed.load(SeqCst);
        self.issued.load(SeqCst).saturating_sub(ended)
    }

    /// Waits until something has arrived, for `timeout` at most; not at all when there is room.
    pub(super) fn wait_for_room(&self, timeout: Duration, has_room: impl FnOnce() -> bool) {
        let state = self.state();
        self.waiting.store(true, SeqCst);
        // Room that came before this would wake nobody.
        if !has_room() {
            drop(self.changed.wait_timeout(state, timeout));
        }
    }

    /// Waits until the run is unusable; false when `timeout` passed first.
    pub(super) fn wait_broken(&self, timeout: Duration) -> bool {
        let until = Instant::now() + timeout;
        let mut state = self.state();
        loop {
            if state.why.is_some() {
                return true;
            }
            let remaining = until.saturating_duration_since(Instant::now());
            if remaining.is_zero() || self.closed.load(SeqCst) {
                return false;
            }
            state = self.changed.wait_timeout(state, remaining).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The run is over. Whoever waits is woken.
    pub(super) fn close(&self) {
        self.closed.store(true, SeqCst);
        self.broken.store(true, SeqCst);
        let _state = self.state();
        self.changed.notify_all();
    }

    /// The samples that were lost since this was asked before.
    pub(super) fn take_lost(&self) -> Vec<SampleId> {
        std::mem::take(&mut self.state().lost)
    }

    /// Takes the tally of the replies so far; afterwards it is empty.
    pub(super) fn take_tally(&self) -> Tally {
        std::mem::take(&mut *self.tally())
    }

    pub(super) fn counts(&self) -> Counts {
        let [issued, completed, failed] = [&self.issued, &self.completed, &self.failed].map(|count| count.load(SeqCst));
        Counts { issued, completed, failed, ..Counts::default() }
    }

    /// The start of the run's clock.
    pub(super) fn origin(&self) -> Instant {
        self.origin
    }

    /// When the first sample was issued and the last one answered.
    pub(super) fn span(&self) -> [TimeNs; 2] {
        let latest = self.latest_ns.load(SeqCst);
        [TimeNs(self.first_ns.load(SeqCst).min(latest)), TimeNs(latest)]
    }

    fn now_ns(&self) -> u64 {
        self.origin.elapsed().as_nanos() as u64
    }

    fn breaks(&self, why: impl FnOnce() -> String) {
        if self.closed.load(SeqCst) {
            return;
        }
        let mut state = self.state();
        state.why.get_or_insert_with(why);
        self.broken.store(true, SeqCst);
        self.changed.notify_all();
    }

    /// Counts the replies and keeps those that are no failures.
    fn count(&self, replies: &mut Vec<Reply>) {
        let mut tally = self.tally();
        let (mut completed, mut failures) = (0, Vec::new());
        replies.retain(|reply| {
            match &reply.outcome {
                Outcome::FirstToken(_) => return true,
                Outcome::Done(answer) => {
                    completed += 1;
                    if let Some(node) = reply.node {
                        let took = reply.sent_at.map(|sent_at| reply.at.saturating_duration_since(sent_at));
                        let round_trip_ns = took.map(|took| took.as_nanos() as u64);
                        tally.odd.answered(0, node, answer, round_trip_ns);
                        tally.answered(&Answered::new(node, &answer.stages, round_trip_ns));
                    }
                    return true;
                }
                Outcome::Failed(failure) => {
                    tally.failed(failure);
                    failures.push((reply.id, failure.clone()));
                }
            }
            false
        });
        drop(tally);
        self.completed.fetch_add(completed, SeqCst);
        if let Some((_, first)) = failures.first() {
            self.breaks(|| format!("a sample got no answer: {first}"));
            self.state().lost.extend(failures.iter().map(|(id, _)| *id));
            self.failed.fetch_add(failures.len() as u64, SeqCst);
        }
    }

    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink for ReplySink {
    fn replies(&self, replies: &mut Vec<Reply>) {
        if let Some(last) = replies.last() {
            let at = last.at.saturating_duration_since(self.origin);
            self.latest_ns.fetch_max(at.as_nanos() as u64, Relaxed);
        }
        self.count(replies);
        if !replies.is_empty() {
            self.taker.replies(replies);
        }
        if self.waiting.swap(false, SeqCst) {
            let _state = self.state();
            self.changed.notify_all();
        }
    }

    fn node_lost(&self, _node: NodeIndex, failure: &NodeFailure) {
        self.breaks(|| format!("a node was lost: {failure}"));
    }

    fn room(&self) {
        if self.waiting.swap(false, SeqCst) {
            let _state = self.state();
            self.changed.notify_all();
        }
    }

    fn tick(&self) {
        if let Some(bug) = panics::first() {
            self.breaks(|| format!("this library has a bug: {bug}"));
        }
    }
}
