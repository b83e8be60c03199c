//! Answers that wait to be fetched, for callers that are not called.
//!
//! One thread waits for answers. A thread that issues many samples may fetch, too, without waiting. While it does, the
//! waiting thread sleeps on: in Python, where one thread runs at a time, waking it costs more than the answers do.

use std::collections::{HashMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use bytes::Bytes;
use lon_run::Taker;
use qdl::{Outcome, Reply};

/// So many answers, fetched at once by a thread that does not wait, say that it will come again soon.
const MANY: usize = 16;

/// Longest time that answers are left to such a thread.
const RESERVATION: Duration = Duration::from_millis(1);

/// Kind of responses. All responses of one fetch are of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Kind {
    /// Answers, which end their samples.
    Completed = 0,
    /// First tokens of answers that go on.
    FirstTokens = 1,
}

/// An answer, or the first token of one.
#[derive(Clone, Debug)]
pub(crate) struct Response {
    pub(crate) kind: Kind,
    pub(crate) id: u64,
    pub(crate) data: Bytes,
    pub(crate) n_tokens: i64,
}

impl Response {
    /// Makes the caller's response to a reply. Returns `None` for a failure.
    pub(crate) fn of(reply: Reply) -> Option<Response> {
        let id = reply.id.0;
        match reply.outcome {
            Outcome::FirstToken(data) => Some(Response { kind: Kind::FirstTokens, id, data, n_tokens: 0 }),
            Outcome::Done(answer) => {
                let n_tokens = i64::try_from(answer.n_tokens).unwrap_or(i64::MAX);
                Some(Response { kind: Kind::Completed, id, data: answer.data, n_tokens })
            }
            Outcome::Failed(_) => None,
        }
    }

    /// Makes the response that takes the place of an answer that will not come.
    pub(crate) fn nothing(id: u64) -> Response {
        Response { kind: Kind::Completed, id, data: Bytes::new(), n_tokens: 0 }
    }
}

/// Responses that were not fetched yet: as many as the caller has issued, if it does not fetch.
#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// In order; none where whoever fetches is to be told that something is wrong.
    waiting: VecDeque<Option<Response>>,
    /// Responses that each thread fetched last. Their bytes are the caller's until that thread fetches again.
    fetched: HashMap<ThreadId, Vec<Response>>,
    /// Until then answers are left to a thread that does not wait.
    reservation_end: Option<Instant>,
    /// Nothing more will come.
    has_ended: bool,
    sleepers: usize,
}

impl Queue {
    /// Fetches responses of one kind, `most` at most. `of` sees them in order. Waits for `timeout` at most. False,
    /// once, where [`Queue::interrupt`] stands among them, and always when nothing more will come.
    pub(crate) fn take(&self, most: usize, timeout: Duration, of: impl FnOnce(&[Response])) -> bool {
        let mut state = if timeout.is_zero() { self.state() } else { self.wait(timeout) };
        let State { waiting, fetched, has_ended, .. } = &mut *state;
        let fetched = fetched.entry(thread::current().id()).or_default();
        fetched.clear();
        let kind_of = |response: &Option<Response>| response.as_ref().map(|response| response.kind);
        let first = waiting.front().map(kind_of);
        let same = |response: &&Option<Response>| first.flatten().is_some() && Some(kind_of(response)) == first;
        let count = waiting.iter().take(most).take_while(same).count();
        fetched.extend(waiting.drain(..count).flatten());
        of(fetched);
        let goes_on = match first {
            Some(Some(_)) => true,
            Some(None) => {
                waiting.pop_front();
                false
            }
            None => !*has_ended,
        };
        if timeout.is_zero() && count >= MANY {
            self.leave(&mut state);
        }
        goes_on
    }

    /// Waits until there is something for a thread that waits, or nothing more will come, for `timeout` at most.
    fn wait(&self, timeout: Duration) -> MutexGuard<'_, State> {
        let until = Instant::now() + timeout;
        let mut state = self.state();
        loop {
            let now = Instant::now();
            let reservation_end = state.reservation_end.filter(|end| *end > now && !state.has_ended);
            let is_due = reservation_end.is_none() && (!state.waiting.is_empty() || state.has_ended);
            if is_due || now >= until {
                return state;
            }
            let sleep = reservation_end.map_or(until, |end| end.min(until)) - now;
            state.sleepers += 1;
            state = self.changed.wait_timeout(state, sleep).unwrap_or_else(PoisonError::into_inner).0;
            state.sleepers -= 1;
        }
    }

    /// Leaves the next answers to the thread that has just fetched some without waiting.
    fn leave(&self, state: &mut State) {
        let now = Instant::now();
        let is_new = state.reservation_end.replace(now + RESERVATION).is_none_or(|before| before <= now);
        // Answers do not wake whoever sleeps from now on, and it must not sleep longer than they are left.
        if is_new && state.sleepers > 0 {
            self.changed.notify_all();
        }
    }

    /// Puts these at the end.
    pub(crate) fn extend(&self, responses: impl Iterator<Item = Response>) {
        let mut state = self.state();
        state.waiting.extend(responses.map(Some));
        self.wake(&state);
    }

    /// Adds an interruption behind the responses that are there already. One fetching thread sees it, once.
    pub(crate) fn interrupt(&self) {
        let mut state = self.state();
        state.waiting.push_back(None);
        self.wake(&state);
    }

    /// Nothing more will come.
    pub(crate) fn end(&self) {
        let mut state = self.state();
        state.has_ended = true;
        self.wake(&state);
    }

    fn wake(&self, state: &State) {
        let is_reserved = || state.reservation_end.is_some_and(|end| end > Instant::now());
        if state.sleepers > 0 && (state.has_ended || !is_reserved()) {
            self.changed.notify_all();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taker for Queue {
    fn replies(&self, replies: &mut Vec<Reply>) {
        self.extend(replies.drain(..).filter_map(Response::of));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(kind: Kind, id: u64) -> Response {
        Response { kind, ..Response::nothing(id) }
    }

    fn fetch(queue: &Queue, most: usize) -> (Vec<u64>, bool) {
        let mut ids = Vec::new();
        let more = queue.take(most, Duration::ZERO, |fetched| ids.extend(fetched.iter().map(|one| one.id)));
        (ids, more)
    }

    #[test]
    fn what_is_fetched_together_is_of_one_kind_and_in_order() {
        let queue = Queue::default();
        let kinds = [Kind::FirstTokens, Kind::FirstTokens, Kind::Completed, Kind::Completed, Kind::FirstTokens];
        queue.extend(kinds.into_iter().zip(1..).map(|(kind, id)| response(kind, id)));
        let fetched: Vec<_> = (0..4).map(|_| fetch(&queue, 8)).collect();
        let expected = [vec![1, 2], vec![3, 4], vec![5], vec![]].map(|ids| (ids, true));
        assert_eq!(fetched, expected);
    }

    #[test]
    fn bytes_are_kept_for_each_thread_that_fetches() {
        let queue = Queue::default();
        let long = |id| Response { data: Bytes::from(vec![id as u8; 64]), ..Response::nothing(id) };
        queue.extend((1..=2).map(long));
        let mut first = (std::ptr::null(), 0);
        queue.take(1, Duration::ZERO, |fetched| first = (fetched[0].data.as_ptr(), fetched[0].data.len()));
        thread::scope(|scope| scope.spawn(|| fetch(&queue, 1)).join().unwrap());
        let data = queue.state().fetched[&thread::current().id()][0].data.clone();
        assert_eq!((data.as_ptr(), data.len()), first);
    }

    #[test]
    fn answers_are_left_to_a_thread_that_fetches_many_and_not_for_long() {
        let queue = Queue::default();
        let many = || queue.extend((0..MANY as u64).map(Response::nothing));
        many();
        assert_eq!(fetch(&queue, MANY).0.len(), MANY);
        many();
        let reservation_end = queue.state().reservation_end.unwrap();
        let mut taken = 0;
        assert!(queue.take(MANY, Duration::from_secs(60), |fetched| taken = fetched.len()));
        assert!(taken == MANY && Instant::now() >= reservation_end, "{taken}");
    }

    #[test]
    fn the_end_comes_after_what_waits() {
        let queue = Queue::default();
        queue.extend((1..=3).map(Response::nothing));
        queue.interrupt();
        queue.extend([4].into_iter().map(Response::nothing));
        assert_eq!([fetch(&queue, 2), fetch(&queue, 2)], [(vec![1, 2], true), (vec![3], true)]);
        assert_eq!([fetch(&queue, 2), fetch(&queue, 2)], [(vec![], false), (vec![4], true)], "told once");
        queue.end();
        assert_eq!(fetch(&queue, 2), (vec![], false));
    }
}
