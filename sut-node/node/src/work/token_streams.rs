//! A worker thread whose backend answers token by token: fills free slots from the queue, goes on with the samples in
//! its slots, and puts first tokens and answers into their answer queues. Samples come and go while others go on.
//!
//! The stages of such a sample: *queue* until its slot was free, *inference* from then until its whole answer was
//! there, also while other samples were in the slots. A sample whose run is over is cancelled before the next step.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use lon_net::clock;
use lon_proto::stages::duration_ns;

use super::coder::Coder;
use super::job::Job;
use super::queue::JobQueue;
use crate::backend::BackendSample;
use crate::backend::Streamer;
use crate::backend::stream::{Event, Output, What};
use crate::run::failure::{FailureKind, SampleFailure};

/// Interval at which the thread looks for samples whose answers are not wanted any more.
const LOOK_INTERVAL: Duration = Duration::from_millis(10);

/// Runs until the queue is closed and everything is answered.
pub(crate) fn work(streamer: Box<dyn Streamer>, queue: &JobQueue) {
    let mut slots = Slots::new(streamer);
    let mut jobs = Vec::new();
    loop {
        let free = slots.samples.len() - slots.taken;
        let open = free == 0 || queue.take(free, slots.may_wait_until(), &mut jobs);
        jobs.drain(..).for_each(|job| slots.begin(job));
        slots.cancel_unwanted();
        // Samples that were begun a moment ago may be due earlier than those that the thread waited for. With no slot
        // free or no sample to wait for, the streamer waits by itself.
        let waits = open
            && slots.taken < slots.samples.len()
            && slots.may_wait_until().is_some_and(|until| until > clock::now());
        if slots.taken > 0 && !waits {
            slots.step();
        } else if slots.taken == 0 && !open {
            return;
        }
    }
}

/// A streamer and the samples in its slots.
struct Slots {
    streamer: Box<dyn Streamer>,
    samples: Vec<Option<SlotSample>>,
    /// Number of slots that hold a sample.
    taken: usize,
    coder: Coder,
    events: Vec<Event>,
}

/// A sample in a slot. Its job has no content any more: the streamer has taken what it needs. The job's place counts
/// for as long as the streamer may use that.
struct SlotSample {
    job: Job,
    begun_at: Instant,
    has_first: bool,
}

impl Slots {
    fn new(streamer: Box<dyn Streamer>) -> Slots {
        let slots = streamer.slots().max(1);
        let samples = std::iter::repeat_with(|| None).take(slots).collect();
        Slots { streamer, samples, taken: 0, coder: Coder::default(), events: Vec::new() }
    }

    /// Returns the time until which the thread may wait for samples: for ever when there is nothing else to do, not at
    /// all when there is.
    fn may_wait_until(&self) -> Option<Instant> {
        let now = clock::now();
        let idle_until = || self.streamer.idle_until().map_or(now, |until| until.min(now + LOOK_INTERVAL));
        (self.taken > 0).then(idle_until)
    }

    /// Puts a sample into a free slot. One that cannot be begun is answered with the reason.
    fn begin(&mut self, mut job: Job) {
        if job.answer_queue.is_over() {
            return job.give_up();
        }
        let Some(slot) = self.samples.iter().position(Option::is_none) else { return job.give_up() };
        let begun_at = clock::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| self.streamer.begin(slot, &job.sample)));
        job.waited_until(begun_at);
        job.sample = BackendSample::default();
        let sample = SlotSample { job, begun_at, has_first: false };
        match outcome {
            Ok(Ok(())) => {
                self.samples[slot] = Some(sample);
                self.taken += 1;
            }
            Ok(Err(error)) => sample.end(&mut self.coder, Err(refused(error.to_string()))),
            Err(panic) => {
                let failure = SampleFailure::panicked("the backend", panic.as_ref());
                self.clear(slot);
                sample.end(&mut self.coder, Err(failure));
            }
        }
    }

    /// Lets the streamer go on with all that it holds, and hands out what happened.
    fn step(&mut self) {
        let (streamer, events) = (&mut self.streamer, &mut self.events);
        let stepped = catch_unwind(AssertUnwindSafe(|| streamer.step(events)));
        // The events from before a panic still hold.
        let mut events = std::mem::take(&mut self.events);
        events.drain(..).for_each(|event| self.happened(event));
        self.events = events;
        if let Err(panic) = stepped {
            // After a panic the state of the slots is unknown: all of them are given up.
            let failure = SampleFailure::panicked("the backend", panic.as_ref());
            for slot in 0..self.samples.len() {
                if let Some(sample) = self.take(slot) {
                    self.clear(slot);
                    sample.end(&mut self.coder, Err(failure.clone()));
                }
            }
        }
    }

    /// Hands out one event. An event of an empty slot is a mistake of the streamer and answers nothing.
    fn happened(&mut self, Event { slot, what }: Event) {
        match what {
            What::First(token) => {
                let sample = self.samples.get_mut(slot).and_then(Option::as_mut);
                if let Some(sample) = sample.filter(|sample| !sample.has_first) {
                    sample.has_first = true;
                    sample.job.answer_queue.first_token(sample.job.ticket.id, token);
                }
            }
            What::Done(output) => {
                if let Some(sample) = self.take(slot) {
                    sample.end(&mut self.coder, Ok(output));
                }
            }
            What::Failed(error) => {
                if let Some(sample) = self.take(slot) {
                    sample.end(&mut self.coder, Err(refused(error.to_string())));
                }
            }
        }
    }

    /// Frees the slots of samples whose client is gone. They must still leave the counts.
    fn cancel_unwanted(&mut self) {
        for slot in 0..self.samples.len() {
            if self.samples[slot].as_ref().is_some_and(|sample| sample.job.answer_queue.is_over())
                && let Some(sample) = self.take(slot)
            {
                self.clear(slot);
                sample.job.give_up();
            }
        }
    }

    /// Takes the sample out of a slot at this end; the streamer has freed it, or [`Slots::clear`] does.
    fn take(&mut self, slot: usize) -> Option<SlotSample> {
        let sample = self.samples.get_mut(slot).and_then(Option::take);
        self.taken -= usize::from(sample.is_some());
        sample
    }

    /// Frees a slot at the streamer's end.
    fn clear(&mut self, slot: usize) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.streamer.cancel(slot))) {
            SampleFailure::panicked("the backend", panic.as_ref());
        }
    }
}

fn refused(reason: String) -> SampleFailure {
    SampleFailure::new(FailureKind::Backend, reason)
}

impl SlotSample {
    fn end(mut self, coder: &mut Coder, result: Result<Output, SampleFailure>) {
        let done_at = clock::now();
        self.job.ticket.stages.inference_ns = duration_ns(done_at - self.begun_at);
        let n_tokens = result.as_ref().map_or(0, |output| output.n_tokens);
        self.job.answer(coder, result.map(|output| output.bytes), n_tokens, done_at);
    }
}
