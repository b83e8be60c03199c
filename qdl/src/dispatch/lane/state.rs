//! What a lane holds: samples to send, samples in flight, and how a sample becomes parts and parts an answer. Pure; the
//! lane locks.

use std::collections::VecDeque;
use std::time::Instant;

use bytes::Bytes;
use lon_net::framing::Outbound;
use lon_proto::assembly::{Assembly, Part, Parts};

use super::super::slots::Slots;
use super::super::warm;
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

/// What the stream's own thread works on.
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
    pub(super) has_first_token: bool,
    /// The parts of its answer that have come, when it has several.
    pub(super) assembly: Option<Box<Assembly>>,
}

impl Inlet {
    /// An empty inlet with room for a burst.
    pub(super) fn new(now: Instant) -> Inlet {
        Inlet { samples: warm::queue(|| Queued::filler(now)), dead: false }
    }
}

impl Queued {
    /// Fills queues that are warmed up.
    fn filler(now: Instant) -> Queued {
        Queued { sample: Sample { id: SampleId(0), payload: Bytes::new(), tensor_bytes: 0 }, since: now }
    }
}

impl State {
    /// An empty state with room for a burst.
    pub(super) fn new(now: Instant) -> State {
        let mut slots = Slots::new();
        slots.warm(warm::SAMPLES, || InFlight::new(SampleId(0), 0, now));
        State {
            unsent: warm::queue(|| Queued::filler(now)),
            sending: None,
            leaving: warm::queue(|| Leaving { wire_id: 0, end: 0 }),
            slots,
            oldest: None,
            stalls: 0,
        }
    }

    /// Puts a sample into a slot; the id by which its answer will name it.
    pub(super) fn open(&mut self, in_flight: InFlight) -> u64 {
        self.oldest.get_or_insert(in_flight.since);
        self.slots.insert(in_flight)
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
        InFlight { id, bytes, since, sent_at: None, has_first_token: false, assembly: None }
    }

    /// Takes one part of the answer; the whole answer comes back with its last part. An answer of a single part is not
    /// copied.
    ///
    /// # Errors
    /// The parts do not fit together, or the answer is larger than `max_bytes`.
    pub(super) fn assemble(&mut self, part: Part, max_bytes: u64) -> Result<Option<Bytes>, String> {
        if part.number == 0 && part.last && self.assembly.is_none() {
            return Assembly::default().push(part, max_bytes).map_err(|error| error.to_string());
        }
        let whole = self.assembly.get_or_insert_default().push(part, max_bytes).map_err(|error| error.to_string())?;
        if whole.is_some() {
            self.assembly = None;
        }
        Ok(whole)
    }
}
