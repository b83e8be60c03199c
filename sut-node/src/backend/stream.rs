//! What answers token by token: several samples held at once, each told of its first token and of its end.
//!
//! The other contract, [`super::Worker`], takes a batch and gives it back whole. Here samples come and go in slots
//! while others go on, which is what a decoder with a cache does, and a request to another server too.
//!
//! Who only waits for moments that it knows says so ([`Streamer::idle_until`]): its thread then waits where new samples
//! wake it, so that waiting for one sample delays no other.

use std::time::Instant;

use bytes::Bytes;

use super::{InferError, Sample};

/// One thread's half of a backend that streams. Its thread fills free slots from the queue, calls
/// [`Streamer::step`], hands out what happened, and so on; while no slot is taken it sleeps.
pub trait Streamer: Send {
    /// Samples it holds at one time at most; at least 1, and always the same.
    fn slots(&self) -> usize;

    /// Takes a sample into a slot that is free, from 0 to [`Streamer::slots`] - 1. What it costs may be paid here or in
    /// the next step.
    ///
    /// # Errors
    /// The sample cannot be answered. The slot stays free.
    fn begin(&mut self, slot: usize, sample: &Sample) -> Result<(), InferError>;

    /// Goes on with every sample that is held, and adds what happened to `events`. Blocks until something has happened or
    /// a while is over, but not longer than one token takes: nothing new is begun meanwhile. An event that ends a
    /// sample frees its slot.
    fn step(&mut self, events: &mut Vec<Event>);

    /// Until when nothing will happen to what is held, if that is known: its thread then waits for new samples rather than
    /// in [`Streamer::step`], and begins them as they come.
    fn idle_until(&self) -> Option<Instant> {
        None
    }

    /// Nobody waits for the sample in this slot any more; the slot is free. After a panic in any of these calls it is
    /// called for each slot that was held, or was to be.
    fn cancel(&mut self, slot: usize);
}

/// What happened to the sample in a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Which slot.
    pub slot: usize,
    /// What happened.
    pub what: What,
}

/// The kinds of [`Event`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The first token is there: at most once for a sample, and before its end. The bytes are those of that token.
    First(Bytes),
    /// The whole answer. Ends the sample.
    Done(Output),
    /// There will be no answer. Ends the sample.
    Failed(InferError),
}

/// A whole answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// All tokens, the first among them: i64 little-endian where they have numbers, else UTF-8 text.
    pub bytes: Bytes,
    /// How many tokens; 0 when that is not known.
    pub n_tokens: u64,
}
