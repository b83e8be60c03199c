//! A simulated world: virtual time, a service-time model, and faults by seed. Whole runs take microseconds.
//!
//! For tests of the engine and of whoever drives it; it models queues and lateness, not networks or hardware. Time
//! passes only in [`World::wait`], and by [`SimOptions::issue_cost_ns`] for each call of [`World::issue`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::trace::Rng;
use crate::world::{Arrival, ArrivalKind, Issued, QuerySeq, SampleIndex, SampleSeq, TimeNs, Wake, World};

/// Time for which a server works on a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Service {
    /// Always the same time.
    Constant {
        /// Time per sample, ns.
        ns: u64,
    },
    /// An exponentially distributed time.
    Exponential {
        /// Mean time per sample, ns.
        mean_ns: f64,
    },
}

/// Properties and faults of the simulated SUT.
#[derive(Clone, Debug)]
pub struct SimOptions {
    /// Seed of everything random below.
    pub seed: u64,
    /// Time for which a server works on a sample.
    pub service: Service,
    /// Samples worked on at the same time; more of them queue, first come first served.
    pub servers: usize,
    /// Time that one call of `issue` takes.
    pub issue_cost_ns: u64,
    /// Samples accepted at the same time, for scenarios that ask; 0 = no bound.
    pub window: usize,
    /// Share of samples that fail.
    pub failing: f64,
    /// Share of samples that are answered twice.
    pub duplicated: f64,
    /// Share of samples that are never heard of again.
    pub swallowed: f64,
    /// When the user interrupts.
    pub interrupt_at: Option<TimeNs>,
    /// When the SUT breaks; nothing is answered from then on.
    pub break_at: Option<TimeNs>,
    /// Token counts of answers; with `Some`, a first token precedes each answer.
    pub tokens: Option<i64>,
}

impl Default for SimOptions {
    fn default() -> Self {
        Self {
            seed: 1,
            service: Service::Constant { ns: 1_000_000 },
            servers: 1,
            issue_cost_ns: 0,
            window: 0,
            failing: 0.0,
            duplicated: 0.0,
            swallowed: 0.0,
            interrupt_at: None,
            break_at: None,
            tokens: None,
        }
    }
}

/// A call of [`World::issue`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IssueCall {
    /// When the call was made.
    pub at: TimeNs,
    /// The query that the samples belong to.
    pub query: QuerySeq,
    /// Number of samples in the call.
    pub samples: usize,
}

/// The simulated world: a clock, a SUT and what is on the way.
#[derive(Debug)]
pub struct SimWorld {
    options: SimOptions,
    rng: Rng,
    now: TimeNs,
    /// When each server is free.
    servers: BinaryHeap<Reverse<TimeNs>>,
    events: BinaryHeap<Reverse<Event>>,
    /// Makes simultaneous events come in the order of their making.
    pushes: u64,
    in_flight: usize,
    stopped: Wake,
    /// Every call of `issue`, in order.
    pub calls: Vec<IssueCall>,
    /// Most samples in flight at any time.
    pub max_in_flight: usize,
    /// Number of calls of `flush`.
    pub flushes: usize,
    /// Number of `issue` calls before each piece of long work.
    pub works: Vec<usize>,
    /// The set that is loaded now.
    pub loaded: Option<Vec<SampleIndex>>,
    /// Text with which the next `load` fails.
    pub fail_load: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    at: TimeNs,
    order: u64,
    seq: SampleSeq,
    sent_at: TimeNs,
    kind: EventKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum EventKind {
    FirstToken,
    Done { index: SampleIndex, again: bool },
    Failed,
}

impl SimWorld {
    /// A world at time 0 with idle servers.
    pub fn new(options: SimOptions) -> Self {
        Self {
            rng: Rng::new(options.seed),
            now: TimeNs(0),
            servers: (0..options.servers.max(1)).map(|_| Reverse(TimeNs(0))).collect(),
            events: BinaryHeap::new(),
            pushes: 0,
            in_flight: 0,
            stopped: Wake::Ready,
            calls: Vec::new(),
            max_in_flight: 0,
            flushes: 0,
            works: Vec::new(),
            loaded: None,
            fail_load: None,
            options,
        }
    }

    /// When a wait of this kind would end, for a caller that has several worlds take turns; `None` where nothing is
    /// under way and nothing will come.
    pub fn next_wake(&self, until: Option<TimeNs>, wake_on_arrival: bool) -> Option<TimeNs> {
        let arrival = self.next_event().filter(|_| wake_on_arrival);
        let stop = self.next_stop().map(|(at, _)| at);
        [until, arrival, stop].into_iter().flatten().min().map(|at| at.max(self.now))
    }

    fn accept(&mut self, issued: &Issued) {
        self.in_flight += 1;
        let Reverse(free_at) = self.servers.pop().unwrap_or(Reverse(self.now));
        let begin = free_at.max(self.now);
        let service_ns = match self.options.service {
            Service::Constant { ns } => ns,
            Service::Exponential { mean_ns } => (-(1.0 - self.rng.real()).ln() * mean_ns) as u64,
        };
        let end = begin + service_ns;
        self.servers.push(Reverse(end));
        if self.chance(self.options.swallowed) {
            return;
        }
        if self.chance(self.options.failing) {
            self.push(end, issued.seq, EventKind::Failed);
            return;
        }
        if self.options.tokens.is_some() {
            self.push(begin + service_ns / 4, issued.seq, EventKind::FirstToken);
        }
        let index = issued.index;
        self.push(end, issued.seq, EventKind::Done { index, again: false });
        if self.chance(self.options.duplicated) {
            self.push(end + service_ns / 2, issued.seq, EventKind::Done { index, again: true });
        }
    }

    fn chance(&mut self, share: f64) -> bool {
        share > 0.0 && self.rng.real() < share
    }

    fn push(&mut self, at: TimeNs, seq: SampleSeq, kind: EventKind) {
        self.pushes += 1;
        self.events.push(Reverse(Event { at, order: self.pushes, seq, sent_at: self.now, kind }));
    }

    fn next_event(&self) -> Option<TimeNs> {
        self.events.peek().map(|Reverse(event)| event.at)
    }

    /// The next moment at which the world stops, if it has not.
    fn next_stop(&self) -> Option<(TimeNs, Wake)> {
        let interrupt = self.options.interrupt_at.map(|at| (at, Wake::Interrupted));
        let broken = self.options.break_at.map(|at| (at, Wake::Broken));
        let stop = [interrupt, broken].into_iter().flatten().min_by_key(|(at, _)| *at);
        stop.filter(|_| self.stopped == Wake::Ready)
    }

    fn deliver(&mut self, arrivals: &mut Vec<Arrival<Vec<u8>>>) {
        while let Some(Reverse(event)) = self.events.peek().copied() {
            if event.at > self.now {
                break;
            }
            self.events.pop();
            let kind = match event.kind {
                EventKind::FirstToken => ArrivalKind::FirstToken(vec![0xf1]),
                EventKind::Done { index, .. } => ArrivalKind::Done {
                    data: index.0.to_le_bytes().to_vec(),
                    n_tokens: self.options.tokens.unwrap_or(0),
                },
                EventKind::Failed => ArrivalKind::Failed,
            };
            let ends = matches!(event.kind, EventKind::Failed | EventKind::Done { again: false, .. });
            self.in_flight -= usize::from(ends);
            arrivals.push(Arrival { seq: event.seq, at: event.at, sent_at: Some(event.sent_at), kind });
        }
    }
}

impl World for SimWorld {
    type Data = Vec<u8>;

    fn now(&mut self) -> TimeNs {
        self.now
    }

    fn load(&mut self, set: &[SampleIndex]) -> Result<(), String> {
        match self.fail_load.take() {
            Some(text) => Err(text),
            None => {
                self.loaded = Some(set.to_vec());
                Ok(())
            }
        }
    }

    fn unload(&mut self, set: &[SampleIndex]) {
        if self.loaded.as_deref() == Some(set) {
            self.loaded = None;
        }
    }

    fn room(&mut self) -> usize {
        match self.options.window {
            0 => usize::MAX,
            window => window.saturating_sub(self.in_flight),
        }
    }

    fn issue(&mut self, query: QuerySeq, samples: &[Issued]) {
        self.calls.push(IssueCall { at: self.now, query, samples: samples.len() });
        self.now = self.now + self.options.issue_cost_ns;
        for issued in samples {
            self.accept(issued);
        }
        self.max_in_flight = self.max_in_flight.max(self.in_flight);
    }

    fn flush(&mut self) {
        self.flushes += 1;
    }

    fn meanwhile<T: Send>(&mut self, work: impl FnOnce() -> T + Send) -> T {
        self.works.push(self.calls.len());
        work()
    }

    fn wait(&mut self, until: Option<TimeNs>, wake_on_arrival: bool, arrivals: &mut Vec<Arrival<Vec<u8>>>) -> Wake {
        let arrival = self.next_event().filter(|_| wake_on_arrival);
        let target = [until, arrival].into_iter().flatten().min();
        match (self.next_stop(), target) {
            (Some((at, wake)), target) if target.is_none_or(|target| at <= target.max(self.now)) => {
                self.now = self.now.max(at);
                self.stopped = wake;
                if wake == Wake::Broken {
                    self.events.retain(|Reverse(event)| event.at <= at);
                }
            }
            (_, Some(target)) => self.now = self.now.max(target),
            // Nothing is under way and nothing will come: the wait would never end.
            (_, None) => self.stopped = Wake::Broken,
        }
        self.deliver(arrivals);
        self.stopped
    }
}
