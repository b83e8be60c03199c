//! A worker thread whose backend answers token by token: fills free slots from the queue, goes on with what is held,
//! hands first tokens and answers to their lanes. Samples come and go while others go on.
//!
//! The stages of such a sample: *queue* until its slot was free, *inference* from then until its whole answer was
//! there, whatever else was held meanwhile. A sample whose run is over is cancelled before the next step.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::backend::Streamer;
use crate::backend::stream::{Event, Output, What};
use crate::run::codecs::Coder;
use crate::work::batches as workers;
use crate::work::decode::pool::Inflated;
use crate::work::lane::{Answer, Lane, Stages};
use crate::work::queue::{Job, JobQueue};

/// How often samples are looked after that nobody may wait for any more.
const LOOK_AROUND: Duration = Duration::from_millis(10);

/// Runs until the queue is closed and everything is answered.
pub(crate) fn work(streamer: Box<dyn Streamer>, queue: &JobQueue) {
    let mut desk = Desk::new(streamer);
    let mut jobs = Vec::new();
    loop {
        let free = desk.held.len() - desk.count;
        let open = free == 0 || queue.take(free, desk.may_wait_until(), &mut jobs);
        jobs.drain(..).for_each(|job| desk.begin(job));
        desk.cancel_unwanted();
        // What was begun a moment ago may be due earlier than what was waited for; with no place or nobody to wait for,
        // the streamer waits itself.
        let waits =
            open && desk.count < desk.held.len() && desk.may_wait_until().is_some_and(|until| until > Instant::now());
        if desk.count > 0 && !waits {
            desk.step();
        } else if desk.count == 0 && !open {
            return;
        }
    }
}

/// A streamer and what its slots hold.
struct Desk {
    streamer: Box<dyn Streamer>,
    held: Vec<Option<Held>>,
    /// Slots that are taken.
    count: usize,
    coder: Coder,
    events: Vec<Event>,
}

/// What belongs to the sample in a slot besides its content, which the streamer has what it needs of.
struct Held {
    lane: Arc<Lane>,
    id: u64,
    sample_bytes: u64,
    decode: Duration,
    preprocess: Duration,
    queue: Duration,
    begun_at: Instant,
    has_first: bool,
    /// Counts for as long as the streamer may use it.
    _inflated: Option<Inflated>,
}

impl Desk {
    fn new(streamer: Box<dyn Streamer>) -> Desk {
        let slots = streamer.slots().max(1);
        let held = std::iter::repeat_with(|| None).take(slots).collect();
        Desk { streamer, held, count: 0, coder: Coder::default(), events: Vec::new() }
    }

    /// How long to wait for samples: for ever when there is nothing else to do, not at all when there is.
    fn may_wait_until(&self) -> Option<Instant> {
        let now = Instant::now();
        let idle_until = || self.streamer.idle_until().map_or(now, |until| until.min(now + LOOK_AROUND));
        (self.count > 0).then(idle_until)
    }

    fn begin(&mut self, job: Job) {
        if job.lane.is_over() {
            return workers::give_up(&job);
        }
        let Some(slot) = self.held.iter().position(Option::is_none) else { return workers::give_up(&job) };
        let begun_at = Instant::now();
        let begun = catch_unwind(AssertUnwindSafe(|| self.streamer.begin(slot, &job.sample)));
        let Job { lane, id, sample_bytes, waited, decode, preprocess, queued_at, inflated, .. } = job;
        let queue = waited + begun_at.saturating_duration_since(queued_at);
        let has_first = false;
        let held = Held { lane, id, sample_bytes, decode, preprocess, queue, begun_at, has_first, _inflated: inflated };
        match begun {
            Ok(Ok(())) => {
                self.held[slot] = Some(held);
                self.count += 1;
            }
            Ok(Err(error)) => held.end(&mut self.coder, Err(error.to_string())),
            Err(panic) => {
                self.clear(slot);
                held.end(&mut self.coder, Err(panicked(workers::words(panic.as_ref()))));
            }
        }
    }

    fn step(&mut self) {
        let (streamer, events) = (&mut self.streamer, &mut self.events);
        let stepped = catch_unwind(AssertUnwindSafe(|| streamer.step(events)));
        // What it told before a panic still holds.
        let mut events = std::mem::take(&mut self.events);
        events.drain(..).for_each(|event| self.happened(event));
        self.events = events;
        if let Err(panic) = stepped {
            let reason = panicked(workers::words(panic.as_ref()));
            for slot in 0..self.held.len() {
                if let Some(held) = self.take(slot) {
                    self.clear(slot);
                    held.end(&mut self.coder, Err(reason.clone()));
                }
            }
        }
    }

    /// An event of a slot that holds nothing is a streamer's slip, and nobody's answer.
    fn happened(&mut self, Event { slot, what }: Event) {
        match what {
            What::First(token) => {
                let held = self.held.get_mut(slot).and_then(Option::as_mut);
                if let Some(held) = held.filter(|held| !held.has_first) {
                    held.has_first = true;
                    held.lane.first_token(held.id, token);
                }
            }
            What::Done(output) => {
                if let Some(held) = self.take(slot) {
                    held.end(&mut self.coder, Ok(output));
                }
            }
            What::Failed(error) => {
                if let Some(held) = self.take(slot) {
                    held.end(&mut self.coder, Err(error.to_string()));
                }
            }
        }
    }

    /// A peer that is gone is not worth the work, but its samples must leave the books.
    fn cancel_unwanted(&mut self) {
        for slot in 0..self.held.len() {
            if self.held[slot].as_ref().is_some_and(|held| held.lane.is_over())
                && let Some(held) = self.take(slot)
            {
                self.clear(slot);
                held.lane.answer(std::iter::once(Answer::over(held.id, held.sample_bytes)));
            }
        }
    }

    fn take(&mut self, slot: usize) -> Option<Held> {
        let held = self.held.get_mut(slot).and_then(Option::take);
        self.count -= usize::from(held.is_some());
        held
    }

    /// Frees a slot at the streamer's end.
    fn clear(&mut self, slot: usize) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.streamer.cancel(slot))) {
            panicked(workers::words(panic.as_ref()));
        }
    }
}

impl Held {
    fn end(self, coder: &mut Coder, result: Result<Output, String>) {
        let Held { lane, id, sample_bytes, decode, preprocess, queue, begun_at, .. } = self;
        let done_at = Instant::now();
        let mut stages = Stages { decode, preprocess, queue, inference: done_at - begun_at, ..Stages::default() };
        let (result, n_tokens): (Result<Bytes, String>, u64) = match result {
            Ok(output) => (Ok(output.bytes), output.n_tokens),
            Err(reason) => (Err(reason), 0),
        };
        let result = workers::encode(coder, &lane.run, result, done_at, &mut stages);
        lane.answer_tokens(Answer { id, result, stages, sample_bytes }, n_tokens);
    }
}

/// What is said of a panic, there and here.
fn panicked(words: &str) -> String {
    tracing::error!("the backend panicked: {words}");
    format!("the backend panicked: {words}")
}
