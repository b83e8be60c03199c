//! State of a lane: samples to send, samples in flight, and the division of a sample into parts and the assembly of
//! parts into an answer. Pure; the lane locks.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hasher as _};
use std::time::Instant;

use bytes::Bytes;
use lon_net::framing::Outbound;
use lon_proto::assembly::{Assembly, Part, Parts};
use lon_proto::limits::LONGEST_SILENCE;

use super::super::budget::Reservation;
use super::super::expected::Expected;
use super::super::prefaulted;
use super::super::slots::Slots;
use crate::account::counters::Burst;
use crate::types::{Sample, SampleId};

/// Samples on their way in from the thread that issues.
pub(super) struct Inlet {
    pub(super) samples: VecDeque<Queued>,
    /// Everything was given up; nothing more is taken.
    pub(super) dead: bool,
}

/// A sample that waits to be sent.
pub(super) struct Queued {
    pub(super) sample: Sample,
    /// When it was issued.
    pub(super) since: Instant,
}

/// State that the stream's own thread works on.
pub(super) struct State {
    /// Samples in the order in which they go out.
    pub(super) unsent: VecDeque<Queued>,
    /// The sample that has been sent in part.
    pub(super) sending: Option<Sending>,
    /// Samples handed to the transport in full and not yet to the kernel.
    pub(super) leaving: VecDeque<Leaving>,
    pub(super) slots: Slots<InFlight>,
    /// When the oldest sample in flight was issued, or an earlier time; `None` when nothing is in flight.
    pub(super) oldest: Option<Instant>,
    /// Timeouts in a row without an answer between them.
    pub(super) stalls: u32,
    /// Ticks of the watch since something was sent.
    pub(super) quiet_ticks: u32,
    /// When something came last.
    pub(super) heard_at: Instant,
    /// Stretches in which nothing came that were longer than heartbeats allow, until the watch takes them.
    pub(super) gaps: Vec<(Instant, Instant)>,
}

/// A sample whose parts are being sent.
pub(super) struct Sending {
    wire_id: u64,
    parts: Parts,
    tensor_bytes: u64,
}

/// A sample whose last part is in the transport.
pub(super) struct Leaving {
    pub(super) wire_id: u64,
    /// Where it ends in the stream, in bytes from the stream's start.
    pub(super) end: u64,
}

/// A sample that was sent, at least in part, and has not ended.
pub(super) struct InFlight {
    pub(super) id: SampleId,
    /// Size of its payload.
    pub(super) bytes: u64,
    /// When it was issued.
    pub(super) since: Instant,
    /// When its last part was handed over: to the transport at first, then to the kernel.
    pub(super) sent_at: Option<Instant>,
    /// The first token, if it has come.
    pub(super) first_token: Option<FirstToken>,
    /// The parts of its answer that have come, when it has several.
    pub(super) assembly: Option<Box<Unfinished>>,
}

/// An answer of which some parts have come.
pub(super) struct Unfinished {
    assembly: Assembly,
    reservation: Reservation,
}

/// Length and hash of a first token, against which the answer is checked. The bytes of the token would keep the whole
/// buffer that they came in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct FirstToken {
    bytes: usize,
    hash: u64,
}

impl FirstToken {
    /// The first token of these bytes.
    pub(super) fn new(token: &[u8]) -> FirstToken {
        let mut hasher = DefaultHasher::new();
        hasher.write(token);
        FirstToken { bytes: token.len(), hash: hasher.finish() }
    }

    /// Returns true when `answer` begins with this token. Nothing begins with a token of no bytes.
    pub(super) fn begins(&self, answer: &[u8]) -> bool {
        let token = answer.get(..self.bytes).filter(|token| !token.is_empty());
        token.is_some_and(|token| FirstToken::new(token) == *self)
    }
}

impl Inlet {
    /// An empty inlet with room for `room` samples.
    pub(super) fn new(now: Instant, room: usize) -> Inlet {
        Inlet { samples: prefaulted::queue(room, || Queued::filler(now)), dead: false }
    }
}

impl Queued {
    /// Fills queues that are warmed up.
    fn filler(now: Instant) -> Queued {
        Queued { sample: Sample { id: SampleId(0), payload: Bytes::new(), tensor_bytes: 0 }, since: now }
    }
}

impl State {
    /// An empty state with room for `room` samples.
    pub(super) fn new(now: Instant, room: usize) -> State {
        let mut slots = Slots::new();
        slots.warm(room, || InFlight::new(SampleId(0), 0, now));
        State {
            unsent: prefaulted::queue(room, || Queued::filler(now)),
            sending: None,
            leaving: prefaulted::queue(room, || Leaving { wire_id: 0, end: 0 }),
            slots,
            oldest: None,
            stalls: 0,
            quiet_ticks: 0,
            heard_at: now,
            gaps: Vec::new(),
        }
    }

    /// Puts a sample into a slot; the id by which its answer will name it.
    pub(super) fn open(&mut self, in_flight: InFlight) -> u64 {
        self.oldest.get_or_insert(in_flight.since);
        self.slots.insert(in_flight)
    }

    /// Something came at `now`.
    pub(super) fn heard(&mut self, now: Instant) {
        if now.saturating_duration_since(self.heard_at) > LONGEST_SILENCE {
            self.gaps.push((self.heard_at, now));
        }
        self.heard_at = now;
    }

    /// Adds the next part of the sample that is being sent, or of the next one; false when there is none.
    pub(super) fn send_part(&mut self, out: &mut Outbound, now: Instant, burst: &mut Burst) -> bool {
        if self.sending.is_none() {
            let Some(Queued { sample, since }) = self.unsent.pop_front() else { return false };
            let Sample { id, payload, tensor_bytes } = sample;
            let wire_id = self.open(InFlight::new(id, payload.len() as u64, since));
            self.sending = Some(Sending { wire_id, parts: Parts::new(payload), tensor_bytes });
        }
        let Some(sending) = self.sending.as_mut() else { return false };
        let wire_id = sending.wire_id;
        let Some(part) = sending.parts.next() else {
            self.sending = None;
            return true;
        };
        let (last, data_len) = (part.last, part.data.len());
        burst.message(out.push_request(wire_id, part), data_len);
        if last {
            burst.sample(sending.tensor_bytes);
            self.leaving.push_back(Leaving { wire_id, end: out.total() });
            self.sending = None;
            // Its slot may be empty: it may have been given up between its parts. The node has all of it even so.
            if let Ok(in_flight) = self.slots.get_mut(wire_id) {
                in_flight.sent_at = Some(now);
            }
        }
        true
    }
}

impl InFlight {
    /// A sample of which nothing has been sent.
    pub(super) fn new(id: SampleId, bytes: u64, since: Instant) -> InFlight {
        InFlight { id, bytes, since, sent_at: None, first_token: None, assembly: None }
    }

    /// Takes one part of the answer; the whole answer comes back with its last part. An answer of a single part is not
    /// copied, and its size is left to the rule.
    ///
    /// # Errors
    /// The parts do not fit together, or take more memory than is expected.
    pub(super) fn assemble(&mut self, part: Part, expected: &Expected) -> Result<Option<Bytes>, String> {
        if part.number == 0 && part.last && self.assembly.is_none() {
            return Assembly::default().push(part, u64::MAX).map_err(|error| error.to_string());
        }
        let max_bytes = expected.max_bytes();
        if part.number == 0 && part.total_len > max_bytes {
            return Err(expected.rule.wrong_size(part.total_len));
        }
        let begin = || Box::new(Unfinished { assembly: Assembly::default(), reservation: expected.budget.hold() });
        let Unfinished { assembly, reservation } = &mut **self.assembly.get_or_insert_with(begin);
        reservation.add(part.data.len()).map_err(|error| error.to_string())?;
        let whole = assembly.push(part, max_bytes).map_err(|error| error.to_string())?;
        if whole.is_some() {
            self.assembly = None;
        }
        Ok(whole)
    }
}
