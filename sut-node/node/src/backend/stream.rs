//! A backend that answers token by token: it holds several samples at one time, and reports the first token and the
//! end of each.
//!
//! The other contract, [`super::Worker`], takes a batch and answers it as a whole. Here samples come and go in slots
//! while others go on, which is what a decoder with a cache does, and a request to another server too.
//!
//! A streamer that only waits for moments that it knows says so ([`Streamer::idle_until`]): its thread then waits where
//! new samples wake it, so that waiting for one sample delays no other.

use std::time::Instant;

use bytes::Bytes;

use super::error::InferError;
use super::sample::BackendSample;

/// One thread's half of a backend that streams. Its thread fills free slots from the queue, calls
/// [`Streamer::step`], hands out what happened, and so on; while no slot is taken it sleeps.
pub trait Streamer: Send {
    /// The most samples that it holds at one time: at least 1, and always the same number.
    fn slots(&self) -> usize;

    /// Takes a sample into a slot that is free, from 0 to [`Streamer::slots`] - 1. What it costs may be paid here or in
    /// the next step.
    ///
    /// # Errors
    /// The sample cannot be answered. The slot stays free.
    fn begin(&mut self, slot: usize, sample: &BackendSample) -> Result<(), InferError>;

    /// Goes on with every sample that is held, and adds what happened to `events`. Blocks until something has happened
    /// or a while is over, but not longer than one token takes: nothing new is begun meanwhile. An event that ends a
    /// sample frees its slot.
    fn step(&mut self, events: &mut Vec<Event>);

    /// Until when nothing will happen to what is held, if that is known: its thread then waits for new samples rather
    /// than in [`Streamer::step`], and begins them as they come.
    fn idle_until(&self) -> Option<Instant> {
        None
    }

    /// Drops the sample in this slot, which is free then: its answer is not wanted any more. After a panic in any of
    /// these calls it is called for each slot that was held, or was to be.
    fn cancel(&mut self, slot: usize);
}

/// Event of the sample in a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The slot of the sample.
    pub slot: usize,
    /// Kind of the event.
    pub what: What,
}

/// Kind of an event of a sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The first token is there, with its bytes. Comes at most once for a sample, and before its end.
    First(Bytes),
    /// The whole answer is there. Ends the sample.
    Done(Output),
    /// There will be no answer. Ends the sample.
    Failed(InferError),
}

/// The whole answer to one sample.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// All tokens, the first among them: i64 little-endian where they have numbers, else UTF-8 text.
    pub bytes: Bytes,
    /// Number of tokens of the answer; 0 when it is not known.
    pub n_tokens: u64,
}
