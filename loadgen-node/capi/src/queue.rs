//! Answers that wait to be fetched, for callers that are not called.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use loadgen_node::Taker;
use qdl::{Outcome, Reply};

/// What was fetched together is of one kind.
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
    /// What the caller is given of a reply; `None` of a failure.
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

    /// What takes the place of an answer that will not come.
    pub(crate) fn nothing(id: u64) -> Response {
        Response { kind: Kind::Completed, id, data: Bytes::new(), n_tokens: 0 }
    }
}

/// What was answered and not fetched yet: as much as the caller has issued, if it does not fetch.
#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// In order; none where whoever fetches is to be told that something is wrong.
    waiting: VecDeque<Option<Response>>,
    /// What was fetched last: its bytes are the caller's until the next time.
    fetched: Vec<Response>,
    /// Nothing more will come.
    has_ended: bool,
    sleepers: usize,
}

impl Queue {
    /// Fetches responses of one kind, `most` at most. `of` sees them in order. Waits for `timeout` at most. False,
    /// once, where [`Queue::interrupt`] stands among them, and always when nothing more will come.
    pub(crate) fn take(&self, most: usize, timeout: Duration, of: impl FnOnce(&[Response])) -> bool {
        let until = Instant::now() + timeout;
        let mut state = self.state();
        while state.waiting.is_empty() && !state.has_ended {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state.sleepers += 1;
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
            state.sleepers -= 1;
        }
        let State { waiting, fetched, has_ended, .. } = &mut *state;
        fetched.clear();
        let kind_of = |response: &Option<Response>| response.as_ref().map(|response| response.kind);
        let first = waiting.front().map(kind_of);
        let same = |response: &&Option<Response>| first.flatten().is_some() && Some(kind_of(response)) == first;
        let count = waiting.iter().take(most).take_while(same).count();
        fetched.extend(waiting.drain(..count).flatten());
        of(fetched);
        match first {
            Some(Some(_)) => true,
            Some(None) => {
                waiting.pop_front();
                false
            }
            None => !*has_ended,
        }
    }

    /// Puts these at the end.
    pub(crate) fn extend(&self, responses: impl Iterator<Item = Response>) {
        let mut state = self.state();
        state.waiting.extend(responses.map(Some));
        self.wake(&state);
    }

    /// Whoever fetches is told once, after what is there already.
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
        if state.sleepers > 0 {
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
