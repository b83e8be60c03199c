//! Where the answers of one Dispatch stream are put: by workers, by decode threads, or by the reader of the stream.
//!
//! An answer queue never blocks who answers: an admitted sample has room for its answer here (see
//! [`crate::run::admission`]), so an answer can always be added. The stream empties the answer queue: see `output`.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use tonic::{Code, Status};

use super::ticket::Ticket;
use crate::run::failure::{FailureCounts, FailureKind, SampleFailure};
use crate::run::state::ClaimedRun;

/// The answer to one sample.
pub(crate) struct SampleAnswer {
    /// The ticket of the sample, all its stages filled in.
    pub(crate) ticket: Ticket,
    /// The bytes of the answer, or the reason why there are none.
    pub(crate) result: Result<Bytes, SampleFailure>,
    /// Number of tokens of the answer; 0 when it is not known.
    pub(crate) n_tokens: u64,
}

impl SampleAnswer {
    /// The answer to a sample that nobody waits for any more.
    pub(crate) fn of_a_run_that_is_over(ticket: Ticket) -> SampleAnswer {
        SampleAnswer { ticket, result: Err(SampleFailure::new(FailureKind::RunOver, "the run is over")), n_tokens: 0 }
    }
}

/// Item that leaves on a stream, in the order in which it was put into the answer queue.
pub(super) enum QueueItem {
    /// The first token of an answer that follows. It is no answer: only its bytes are counted, and nothing is released.
    First { id: u64, token: Bytes },
    /// A whole answer, or the reason why there is none.
    Final(SampleAnswer),
}

impl QueueItem {
    /// The bytes of the sample that ends with this, if one does.
    pub(super) fn sample_bytes(&self) -> Option<u64> {
        match self {
            QueueItem::First { .. } => None,
            QueueItem::Final(answer) => Some(answer.ticket.sample_bytes),
        }
    }

    fn failure(&self) -> Option<FailureKind> {
        match self {
            QueueItem::Final(SampleAnswer { result: Err(failure), .. }) => Some(failure.kind),
            _ => None,
        }
    }
}

/// Shared by the reader of a stream, those who answer its samples, and the stream's output.
pub(crate) struct AnswerQueue {
    /// The run that the stream belongs to.
    pub(crate) run: Arc<ClaimedRun>,
    state: Mutex<State>,
    /// Wakes the connection that empties the answer queue.
    waker: AtomicWaker,
    /// The client is gone: answers to it are of no use to anybody.
    is_closed: AtomicBool,
}

#[derive(Default)]
struct State {
    ready: VecDeque<QueueItem>,
    /// Samples read from this stream that have no answer yet.
    pending: u64,
    /// Set when no more samples will be read: how the stream ends once all is answered.
    input: Option<Result<(), Status>>,
}

impl AnswerQueue {
    /// The answer queue of a stream that was just opened.
    pub(crate) fn new(run: Arc<ClaimedRun>) -> Arc<AnswerQueue> {
        run.stream_opened();
        let is_closed = AtomicBool::new(false);
        Arc::new(AnswerQueue { run, state: Mutex::default(), waker: AtomicWaker::new(), is_closed })
    }

    /// Says that so many samples were read and admitted: as many answers will follow.
    pub(crate) fn expect_answers(&self, count: u64) {
        self.lock().pending += count;
    }

    /// Adds answers, and wakes the connection if it may be asleep.
    pub(crate) fn answer(&self, answers: impl Iterator<Item = SampleAnswer>) {
        let mut state = self.lock();
        let before = state.ready.len();
        state.ready.extend(answers.map(QueueItem::Final));
        let new = state.ready.range(before..);
        let count = new.len() as u64;
        let mut failed = FailureCounts::default();
        new.filter_map(QueueItem::failure).for_each(|kind| failed[kind as usize] += 1);
        state.pending -= count;
        // After its client is gone no stream empties the answer queue: the items in it are released here.
        let unwanted = if self.is_closed() { std::mem::take(&mut state.ready) } else { VecDeque::new() };
        drop(state);
        self.run.count_answers(count, &failed);
        self.run.admission.release_all(unwanted.iter().filter_map(QueueItem::sample_bytes));
        // A connection that was woken for the first of them takes them all.
        if before == 0 {
            self.waker.wake();
        }
    }

    /// Adds the first token of a sample whose answer will follow. It is never encoded.
    pub(crate) fn first_token(&self, id: u64, token: Bytes) {
        let mut state = self.lock();
        if self.is_closed() {
            return;
        }
        if !self.run.codecs.answers.is_none() {
            self.run.counters.raw_bytes_out.fetch_add(token.len() as u64, Relaxed);
        }
        state.ready.push_back(QueueItem::First { id, token });
        let is_first = state.ready.len() == 1;
        drop(state);
        if is_first {
            self.waker.wake();
        }
    }

    /// For a caller inside this process: moves the answers that are ready into `answers`, and has later ones wake
    /// `waker`. First tokens are left out. Returns how many tokens these answers have.
    pub(crate) fn take_answers(&self, waker: &Waker, answers: &mut Vec<SampleAnswer>) -> u64 {
        self.waker.register(waker);
        let mut tokens = 0;
        answers.extend(self.lock().ready.drain(..).filter_map(|outgoing| match outgoing {
            QueueItem::First { .. } => None,
            QueueItem::Final(answer) => {
                tokens += answer.n_tokens;
                Some(answer)
            }
        }));
        tokens
    }

    /// Says that nothing more is read. The stream ends with `how` after the last answer; an error does not wait for
    /// answers.
    pub(crate) fn end_input(&self, how: Result<(), Status>) {
        self.lock().input.get_or_insert(how);
        self.waker.wake();
    }

    /// Returns true when the client is gone.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(SeqCst)
    }

    /// Returns true when the client is gone or the run has ended: the answers to its samples are not wanted any more.
    pub(crate) fn is_over(&self) -> bool {
        self.is_closed() || self.run.has_ended()
    }

    /// Has answers that are added from now on wake `waker`.
    pub(super) fn register(&self, waker: &Waker) {
        self.waker.register(waker);
    }

    /// Moves everything that is ready into `ready`, which is empty.
    pub(super) fn swap_ready(&self, ready: &mut VecDeque<QueueItem>) {
        std::mem::swap(ready, &mut self.lock().ready);
    }

    /// Returns the result that the stream ends with, once it ends: everything is read, and answered where that is still
    /// worth it.
    pub(super) fn poll_end(&self) -> Poll<Result<(), Status>> {
        let mut state = self.lock();
        if !state.ready.is_empty() {
            return Poll::Pending;
        }
        match state.input.take() {
            Some(Ok(())) if state.pending > 0 => {
                state.input = Some(Ok(()));
                Poll::Pending
            }
            // A node that shuts down still answers what it has.
            Some(Err(status)) if state.pending > 0 && status.code() == Code::Unavailable => {
                state.input = Some(Err(status));
                Poll::Pending
            }
            Some(how) => Poll::Ready(how),
            None => Poll::Pending,
        }
    }

    /// Closes the answer queue: the client is gone. Adds what was ready to `unsent`.
    pub(super) fn close(&self, unsent: &mut VecDeque<QueueItem>) {
        // Under the lock: who answers either sees the answer queue closed, or its answer is found here.
        let mut state = self.lock();
        self.is_closed.store(true, SeqCst);
        unsent.append(&mut state.ready);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
