//! The loop of a phase: issue, wait, record, drain.
//!
//! It is the same for all scenarios; `issuer` decides, this file carries out. Issuing comes before recording,
//! but after a bounded burst of due queries the answers that have arrived are taken.

use std::collections::HashMap;

use super::events::EventLog;
use super::issuer::{Decision, Stop};
use super::observer::{AccuracyEntry, Observer, Progress};
use super::outcome::PhaseOutcome;
use super::phase::PhaseRun;
use crate::recorder::{Refused, TokenFault};
use crate::world::{Arrival, ArrivalKind, Issued, SampleSeq, TimeNs, Wake, World};

/// Queries issued in a row before arrivals are taken.
const BURST: u32 = 128;
/// Samples of a large query handed over at once.
const PIECE: usize = 1_024;
/// Arrivals that there is room for from the start; growing takes time that is not there while queries are due.
const ARRIVALS: usize = 4_096;
/// Waits without progress of any kind after which a broken world is given up.
const IDLE_WAITS: u32 = 1_000;

/// Runs a phase whose set is loaded.
pub(super) fn run<W: World, O: Observer + ?Sized>(
    mut phase: PhaseRun<'_>,
    world: &mut W,
    observer: &mut O,
    events: &mut EventLog,
) -> PhaseOutcome {
    phase.announce(world.now(), events);
    let mut driver = Driver::new(world, observer, events);
    phase.begin(driver.world.now());
    driver.observer.phase_started(phase.phase, phase.start, &phase.recorder.live());
    let mut stop = driver.issue_all(&mut phase);
    driver.log_stop(stop);
    driver.world.flush();
    driver.drain(&mut phase);
    match driver.wake {
        Wake::Ready => {}
        Wake::Interrupted => stop = Stop::Interrupted,
        Wake::Broken => stop = Stop::Broken,
    }
    phase.close(driver.world.now(), stop, driver.events)
}

/// The world, the observer, and buffers for what goes out and comes in.
struct Driver<'a, W: World, O: ?Sized> {
    world: &'a mut W,
    observer: &'a mut O,
    events: &'a mut EventLog,
    arrivals: Vec<Arrival<W::Data>>,
    buffer: Vec<Issued>,
    /// First tokens of unanswered samples whose answers will be logged.
    first_tokens: HashMap<SampleSeq, Vec<u8>>,
    wake: Wake,
}

impl<'a, W: World, O: Observer + ?Sized> Driver<'a, W, O> {
    fn new(world: &'a mut W, observer: &'a mut O, events: &'a mut EventLog) -> Self {
        Self {
            world,
            observer,
            events,
            arrivals: Vec::with_capacity(ARRIVALS),
            buffer: Vec::new(),
            first_tokens: HashMap::new(),
            wake: Wake::Ready,
        }
    }

    /// Issues until the issuer, or the world, says stop.
    fn issue_all(&mut self, phase: &mut PhaseRun<'_>) -> Stop {
        let mut burst = 0;
        loop {
            let now = self.world.now();
            if let Some(stop) = phase.hopeless(now).or_else(|| phase.finished(now, || self.world.may_end())) {
                return stop;
            }
            match phase.issuer.decide(now, phase.recorder.pending(), phase.upcoming.as_ref()) {
                Decision::Issue => {
                    self.issue(phase, now);
                    burst += 1;
                    if burst == BURST {
                        burst = 0;
                        self.wait(phase, Some(now), false);
                    }
                }
                Decision::WaitUntil(due) => {
                    burst = 0;
                    self.wait(phase, Some(due), false);
                }
                Decision::AwaitReply => {
                    burst = 0;
                    self.wait(phase, None, true);
                }
                Decision::Stop(stop) => return stop,
            }
            match self.wake {
                Wake::Ready => {}
                Wake::Interrupted => return Stop::Interrupted,
                Wake::Broken => return Stop::Broken,
            }
        }
    }

    /// Issues the upcoming query, or as much of it as there is room for.
    fn issue(&mut self, phase: &mut PhaseRun<'_>, now: TimeNs) {
        let Some(query) = phase.upcoming else { return };
        let max = if phase.shape.is_pulled() { self.world.room().min(PIECE) } else { usize::MAX };
        if max == 0 {
            self.wait(phase, None, true);
            return;
        }
        self.buffer.clear();
        let complete = phase.take_samples(&query, now, max, &mut self.buffer);
        let mut queries = u64::from(complete);
        while phase.coalesces
            && let Some(next) = phase.upcoming
            && phase.start + next.due_ns <= now
        {
            queries += u64::from(phase.take_samples(&next, now, usize::MAX, &mut self.buffer));
        }
        self.world.issue(query.seq, &self.buffer);
        if queries > 0 {
            if phase.issuer.exceeds(phase.recorder.pending()) {
                self.wait(phase, Some(now), false);
            }
            phase.issuer.issued(queries, now, phase.recorder.pending());
        }
    }

    /// Waits until every issued sample has ended; after the world broke, for the grace time only.
    fn drain(&mut self, phase: &mut PhaseRun<'_>) {
        while phase.recorder.pending() > 0 && self.wake == Wake::Ready {
            self.wait(phase, None, true);
        }
        let mut now = self.world.now();
        let deadline = now + phase.drain_grace_ns;
        let mut idle = 0;
        while phase.recorder.pending() > 0 && now < deadline && idle < IDLE_WAITS {
            let pending = phase.recorder.pending();
            self.wait(phase, Some(deadline), true);
            let later = self.world.now();
            idle = if later == now && phase.recorder.pending() == pending { idle + 1 } else { 0 };
            now = later;
        }
    }

    fn log_stop(&mut self, stop: Stop) {
        let now = self.world.now();
        match stop.message() {
            Some((true, text)) => self.events.error(now, text),
            Some((false, text)) => self.events.info(now, "generic_message", text.as_str()),
            None => {}
        }
    }

    #[inline]
    fn wait(&mut self, phase: &mut PhaseRun<'_>, until: Option<TimeNs>, wake_on_arrival: bool) {
        let wake = self.world.wait(until, wake_on_arrival, &mut self.arrivals);
        if self.wake == Wake::Ready {
            self.wake = wake;
        }
        let mut arrivals = std::mem::take(&mut self.arrivals);
        for arrival in arrivals.drain(..) {
            self.record(phase, arrival);
        }
        self.arrivals = arrivals;
        let counts = &phase.recorder.counts;
        let (samples_issued, samples_ended) = (counts.issued, counts.ended());
        let queries_issued = phase.issuer.count();
        self.observer.progress(Progress { queries_issued, samples_issued, samples_ended });
    }

    fn record(&mut self, phase: &mut PhaseRun<'_>, arrival: Arrival<W::Data>) {
        let Arrival { seq, at, sent_at, kind } = arrival;
        if let Some(sent_at) = sent_at {
            phase.recorder.mark_sent(seq, sent_at);
        }
        let refused = match kind {
            ArrivalKind::Done { data, n_tokens } => self.complete(phase, seq, at, data.as_ref(), n_tokens),
            ArrivalKind::Failed => phase.recorder.fail(seq).map(|()| phase.issuer.ended(at, phase.recorder.pending())),
            ArrivalKind::FirstToken(data) => {
                self.first_token(phase, seq, at, data.as_ref());
                Ok(())
            }
        };
        if let Err(refused) = refused {
            phase.recorder.refuse(refused);
            if refused == Refused::Duplicate {
                self.events.error(at, "Attempted to complete a sample twice.");
            }
        }
    }

    #[inline]
    fn complete(
        &mut self,
        phase: &mut PhaseRun<'_>,
        seq: SampleSeq,
        at: TimeNs,
        data: &[u8],
        n_tokens: i64,
    ) -> Result<(), Refused> {
        let accepted = phase.recorder.complete(seq, at)?;
        self.world.answered(seq, accepted.latency_ns);
        phase.issuer.ended(at, phase.recorder.pending());
        let token_run = phase.recorder.tokens.is_some();
        if token_run {
            self.count_tokens(phase, seq, at, n_tokens);
        }
        if let Some(index) = accepted.logged {
            let token_data = self.first_tokens.remove(&seq);
            let token_data = phase.first_tokens_expected.then(|| token_data.unwrap_or_default());
            self.observer.accuracy(&AccuracyEntry {
                seq,
                index,
                data,
                token_data: token_data.as_deref(),
                token_count: token_run.then_some(n_tokens),
            });
        }
        Ok(())
    }

    fn count_tokens(&mut self, phase: &mut PhaseRun<'_>, seq: SampleSeq, at: TimeNs, n_tokens: i64) {
        let expected = phase.first_tokens_expected;
        if let (Ok(position), Some(tokens)) = (phase.recorder.position(seq), &mut phase.recorder.tokens)
            && let Err(fault) = tokens.answer(position, n_tokens, expected)
        {
            self.token_fault(phase, at, fault);
        }
    }

    fn first_token(&mut self, phase: &mut PhaseRun<'_>, seq: SampleSeq, at: TimeNs, data: &[u8]) {
        if phase.recorder.tokens.is_none() {
            return;
        }
        match phase.recorder.pending_since(seq) {
            Ok((position, since)) => {
                let tokens = phase.recorder.tokens.as_mut();
                match tokens.map_or(Ok(()), |tokens| tokens.first_token(position, at.since(since))) {
                    Ok(()) if phase.recorder.is_logged(seq) => {
                        self.first_tokens.insert(seq, data.to_vec());
                    }
                    Ok(()) => {}
                    Err(fault) => self.token_fault(phase, at, fault),
                }
            }
            Err(Refused::Duplicate) => self.token_fault(phase, at, TokenFault::FirstTokenAfterEnd),
            Err(refused) => phase.recorder.refuse(refused),
        }
    }

    fn token_fault(&mut self, phase: &mut PhaseRun<'_>, at: TimeNs, fault: TokenFault) {
        phase.recorder.counts.token_faults += 1;
        self.events.error(at, fault.message());
    }
}
