//! A lane whose samples are calls of their own instead of messages of one stream: taken, sent and answered one by one.
//! The transport that does so is in `carry/kserve`.

use std::time::Instant;

use bytes::Bytes;

use super::{InFlight, Lane, Queued};
use crate::account::counters::Burst;
use crate::dispatch::slots::Ended;
use crate::types::{Outcome, Reply};

/// A sample that is to be sent as a call.
pub(crate) struct Taken {
    pub(crate) wire_id: u64,
    pub(crate) payload: Bytes,
}

impl Lane {
    /// The next sample that waits to be sent, as a message of its payload and `overhead_bytes` more. It counts as sent,
    /// until [`Lane::departed_call`] says when it was.
    pub(crate) fn take_call(&self, now: Instant, overhead_bytes: u64) -> Option<Taken> {
        let mut state = self.state();
        if state.unsent.is_empty() {
            std::mem::swap(&mut state.unsent, &mut self.inlet().samples);
        }
        let Queued { sample, since } = state.unsent.pop_front()?;
        let bytes = sample.payload.len() as u64;
        let wire_id = state.open(InFlight { sent_at: Some(now), ..InFlight::new(sample.id, bytes, since) });
        let mut burst = Burst::default();
        burst.message(bytes + overhead_bytes, sample.payload.len());
        burst.sample(sample.tensor_bytes);
        // Still under the lock: a thread that finds nothing left to send must find all of it counted.
        self.counters.add_burst(&burst);
        Some(Taken { wire_id, payload: sample.payload })
    }

    /// The sample of this call is still in flight.
    pub(crate) fn waits_for_call(&self, wire_id: u64) -> bool {
        self.state().slots.get_mut(wire_id).is_ok()
    }

    /// The last byte of the call was given to the kernel, in a system call that began at `at`.
    pub(crate) fn departed_call(&self, wire_id: u64, at: Instant) {
        if let Ok(in_flight) = self.state().slots.get_mut(wire_id) {
            in_flight.sent_at = Some(at);
        }
    }

    /// The node has ended the call with `outcome`, in a message of `message_bytes` (0: without a message). Adds the
    /// reply to `replies`, unless the sample has ended before.
    pub(crate) fn answered_call(
        &self,
        wire_id: u64,
        now: Instant,
        outcome: Outcome,
        message_bytes: u64,
        replies: &mut Vec<Reply>,
    ) {
        let answer_bytes = match &outcome {
            Outcome::Done(answer) => answer.data.len(),
            Outcome::FirstToken(_) | Outcome::Failed(_) => 0,
        };
        let mut burst = Burst::default();
        burst.message(message_bytes, answer_bytes);
        let mut state = self.state();
        state.heard_at = now;
        self.counters.received(&burst);
        if let Err(unmatched) = state.slots.get_mut(wire_id).map(|_| ()) {
            return self.count_unmatched(&mut state, unmatched, true);
        }
        replies.extend(self.end(&mut state, wire_id, now, Ended::Answered, outcome));
    }
}
