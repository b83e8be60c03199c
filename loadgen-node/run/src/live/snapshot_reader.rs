//! The reader: from counters and records to a [`Snapshot`], some times a second.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use qdl::{NodeNow, NodeRoom};

use super::live_checks::{Facts, Standing};
use super::phase::Phase;
use super::recent_latencies::Course;
use super::recent_rates::{Growth, Mark, Marks, NodeMark};
use super::run_facts::About;
use super::snapshot::{Node, Snapshot, Totals};
use crate::network::cause::{Cause, Evidence, HostTime, Route};
use loadgen::recorder::{Ends, Live};
use loadgen::run::LagStats;
use lon_world::counts::{Counts, PhaseNow};
use lon_world::stall::LOADGEN;
use lon_world::threads::{ThreadTime, Threads};

/// Samples that one look reads at most: 10 ms, so that whoever measures is not kept from a core for longer.
const MOST: usize = 2 << 20;

/// Reads a run. It holds the records of a phase until it has read them to their end.
pub(crate) struct SnapshotReader {
    about: Arc<About>,
    counts: Arc<Counts>,
    /// Returns the facts of each node that are known now.
    nodes: Box<dyn Fn() -> Vec<NodeNow> + Send>,
    /// Those of the thread that made this, which issues, and of those that carry.
    threads: Threads,
    began: Instant,
    reading: Option<Reading>,
    marks: Marks,
    totals: Totals,
}

/// A phase that is being read.
struct Reading {
    phase: PhaseNow,
    /// Records of the phase. `None` when everything of a phase that is over was read, because records take memory.
    ends: Option<Ends>,
    values: PhaseValues,
    /// Schedule lag so far, and the largest since the look before, ns.
    lag: LagStats,
    recent_lag_ns: u64,
    /// Counters, at the start of the phase, of everything that can hold samples back.
    before: PhaseCounters,
}

/// Counters, up to some moment, of everything that can hold samples back.
#[derive(Clone, Debug, Default)]
struct PhaseCounters {
    rooms: Vec<NodeRoom>,
    threads: Vec<ThreadTime>,
}

/// Values that were read of a phase.
#[derive(Default)]
struct PhaseValues {
    latency: Course,
    first_token: Course,
    per_token: Course,
    tokens: u64,
    /// Samples beyond the limit of the latency, of the first token, and of the time per token.
    late: [u64; 3],
    limits_ns: [u64; 3],
}

impl SnapshotReader {
    /// A reader of a run that is about to begin, made by the thread that issues. `nodes` says what is known of each
    /// node now.
    pub(crate) fn new(
        about: About,
        counts: Arc<Counts>,
        nodes: impl Fn() -> Vec<NodeNow> + Send + 'static,
    ) -> SnapshotReader {
        counts.watch();
        SnapshotReader {
            about: Arc::new(about),
            counts,
            nodes: Box::new(nodes),
            threads: Threads::of_this_one(),
            began: Instant::now(),
            reading: None,
            marks: Marks::default(),
            totals: Totals::default(),
        }
    }

    /// Returns the facts of the run that are known beforehand.
    pub(crate) fn about(&self) -> Arc<About> {
        Arc::clone(&self.about)
    }

    /// Reads what has happened up to `now`, which is not before the look before.
    pub(crate) fn look(&mut self, now: Instant) -> Snapshot {
        // As many phases as have ended since, one after the other.
        while self.read_phase(now) {}
        if let Some(reading) = &mut self.reading {
            // Of a phase that is over nothing is read any more.
            reading.values.turn(now);
        }
        let nodes = (self.nodes)();
        // The issued are read after the ended, so that no more have ended than were issued.
        let ended = self.counts.ended.load(Relaxed);
        let issued = self.counts.issued.load(Relaxed);
        let failures = self.counts.failures.read();
        let growth = self.growth(now, ended, &nodes);
        let phase = self.reading.as_ref().map(|reading| phase_at(&reading.phase, now, ended));
        let loading = self.counts.loading.load(Relaxed);
        let mut snapshot = Snapshot {
            elapsed: now.saturating_duration_since(self.began),
            phase,
            loading: (loading > 0).then(|| (self.counts.loaded.load(Relaxed), loading)),
            queries: self.counts.queries.load(Relaxed),
            issued,
            ended,
            failures,
            rate_per_s: growth.ended_per_s,
            totals: Arc::new(self.totals()),
            ..Snapshot::default()
        };
        let threads = self.threads.look().threads;
        if let (Some(reading), Some(phase)) = (&self.reading, &phase) {
            let evidence = evidence(reading, phase, &nodes, &threads);
            self.tell(&mut snapshot, reading, phase, &nodes, &growth, evidence.of_lateness());
        }
        snapshot.nodes = shares(nodes, &growth);
        snapshot
    }

    /// The last look at a run that is over: everything is read, however much it is.
    pub(crate) fn finish(&mut self, now: Instant) -> Snapshot {
        // A phase that was never told to be over goes on for ever.
        for _ in 0..(u32::MAX as usize).div_ceil(MOST) {
            self.read_phase(now);
            if self.reading.as_ref().is_none_or(|reading| reading.ends.is_none()) {
                break;
            }
        }
        self.look(now)
    }

    /// Reads the phase that is first in line; whether there may be another one to be read.
    fn read_phase(&mut self, now: Instant) -> bool {
        let done = self.reading.as_ref().filter(|reading| reading.ends.is_none()).map(|reading| reading.phase.number);
        let Some((phase, live)) = self.counts.read(done) else { return false };
        if self.reading.as_ref().is_none_or(|reading| reading.phase.number != phase.number) {
            self.begin(phase.clone(), live.clone());
        }
        let Some(reading) = &mut self.reading else { return false };
        reading.phase = phase;
        reading.lag = live.lag();
        reading.recent_lag_ns = live.take_recent_lag_ns();
        let is_all = reading.ends.as_mut().is_none_or(|ends| reading.values.on(ends, now));
        // A sample that has not ended when its phase is over never ends.
        if is_all && reading.phase.took.is_some() {
            reading.ends = None;
        }
        reading.ends.is_none()
    }

    fn begin(&mut self, phase: PhaseNow, live: Live) {
        self.totals = self.totals();
        self.marks.clear();
        let terms = &self.about.terms;
        let [ttft_ns, tpot_ns] = terms.tokens.map_or([u64::MAX; 2], |limits| [limits.ttft_ns, limits.tpot_ns]);
        let values = PhaseValues { limits_ns: [terms.target_latency_ns, ttft_ns, tpot_ns], ..PhaseValues::default() };
        let (ends, lag) = (Some(Ends::new(live)), LagStats::default());
        let rooms = (self.nodes)().iter().map(|node| node.room).collect();
        let before = PhaseCounters { rooms, threads: self.threads.look().threads };
        self.reading = Some(Reading { phase, ends, values, lag, recent_lag_ns: 0, before });
    }

    fn growth(&mut self, at: Instant, ended: u64, nodes: &[NodeNow]) -> Growth {
        let node = |node: &NodeNow| NodeMark {
            samples: node.counts.samples_sent,
            ingress_bytes: node.traffic.socket_bytes_out,
            egress_bytes: node.traffic.socket_bytes_in,
        };
        let tokens = self.reading.as_ref().map_or(0, |reading| reading.values.tokens);
        self.marks.growth(&Mark { at, ended, tokens, nodes: nodes.iter().map(node).collect() })
    }

    /// Adds what was read of the phase.
    fn tell(
        &self,
        into: &mut Snapshot,
        reading: &Reading,
        phase: &Phase,
        nodes: &[NodeNow],
        growth: &Growth,
        why_late: Cause,
    ) {
        let Reading { phase: now, values, .. } = reading;
        let judged = self.about.terms.target_percentile;
        let spreads = [&values.latency, &values.first_token, &values.per_token].map(|course| course.spread(judged));
        into.lag = reading.lag;
        into.recent_lag_ns = reading.recent_lag_ns;
        into.tokens_per_s = self.about.terms.tokens.map(|_| growth.tokens_per_s);
        into.standing = Standing::of(&Facts {
            about: &self.about,
            phase,
            samples_per_query: now.samples_per_query,
            spreads,
            late: values.late,
            lag: into.lag,
            why_late,
            failures: &into.failures,
            nodes,
            longest_stall: longest_stall(now, nodes, self.counts.longest_stall_ns.load(Relaxed)),
        });
        [into.latency, into.first_token, into.per_token] = spreads;
    }

    /// Returns the measurements of all phases until now.
    fn totals(&self) -> Totals {
        let mut totals = self.totals.clone();
        if let Some(Reading { values, .. }) = &self.reading {
            totals.latency.add(&values.latency.so_far());
            totals.first_token.add(&values.first_token.so_far());
            totals.per_token.add(&values.per_token.so_far());
            totals.tokens += values.tokens;
        }
        totals
    }
}

impl PhaseValues {
    /// Reads on. Whether all that was issued was looked at.
    fn on(&mut self, ends: &mut Ends, now: Instant) -> bool {
        self.turn(now);
        // One look-up of these places serves all samples of a look.
        let (latency, late) = (self.latency.now(), &mut self.late);
        let (first_token, per_token) = (self.first_token.now(), self.per_token.now());
        let ([limit_ns, ttft_ns, tpot_ns], tokens) = (self.limits_ns, &mut self.tokens);
        ends.read(MOST, |ended| {
            let Some(latency_ns) = ended.latency_ns else {
                // Beyond every limit.
                return late.iter_mut().for_each(|late| *late += 1);
            };
            latency.record(latency_ns);
            late[0] += u64::from(latency_ns > limit_ns);
            *tokens += u64::from(ended.tokens);
            if let Some(first_ns) = ended.first_token_ns {
                let after_first = u64::from(ended.tokens).saturating_sub(1).max(1);
                let per_token_ns = latency_ns.saturating_sub(first_ns) / after_first;
                first_token.record(first_ns);
                per_token.record(per_token_ns);
                late[1] += u64::from(first_ns > ttft_ns);
                late[2] += u64::from(per_token_ns > tpot_ns);
            }
        })
    }

    fn turn(&mut self, now: Instant) {
        [&mut self.latency, &mut self.first_token, &mut self.per_token].into_iter().for_each(|course| course.turn(now));
    }
}

/// Returns the evidence of what held back the samples of the phase so far.
fn evidence(reading: &Reading, phase: &Phase, nodes: &[NodeNow], threads: &[ThreadTime]) -> Evidence {
    let PhaseCounters { rooms, threads: before } = &reading.before;
    let new = |(node, before): (&NodeNow, &NodeRoom)| Route::new(&node.room.since(*before), phase.elapsed, None);
    let times: Vec<ThreadTime> = threads.iter().zip(before).map(|(now, before)| now.since(*before)).collect();
    // It is not asked here whether the issuing thread rests, so the thread counts as one that spins.
    let host = HostTime::new(&times, phase.elapsed, true);
    Evidence { routes: nodes.iter().zip(rooms).map(new).collect(), host, ..Evidence::default() }
}

fn phase_at(phase: &PhaseNow, now: Instant, ended: u64) -> Phase {
    Phase {
        number: phase.number,
        is_accuracy: phase.is_accuracy,
        trial: phase.trial,
        elapsed: phase.took.unwrap_or_else(|| now.saturating_duration_since(phase.began)),
        planned: phase.planned,
        planned_samples: phase.planned_samples,
        ended: ended.saturating_sub(phase.before),
        is_over: phase.took.is_some(),
    }
}

/// The longest stall that touches the phase, and whose it was.
fn longest_stall(phase: &PhaseNow, nodes: &[NodeNow], own_ns: u64) -> Option<(String, u64)> {
    let of_nodes = nodes.iter().flat_map(|node| {
        let touching = node.stalls.iter().filter(|stall| stall.since + stall.length > phase.began);
        touching.map(|stall| (node.name.clone(), stall.length.as_nanos() as u64))
    });
    let own = (own_ns > 0).then(|| (LOADGEN.to_owned(), own_ns));
    own.into_iter().chain(of_nodes).max_by_key(|(_, ns)| *ns)
}

fn shares(nodes: Vec<NodeNow>, growth: &Growth) -> Vec<Node> {
    let all: u64 = nodes.iter().map(|node| node.counts.samples_sent).sum();
    let rates = growth.nodes_per_s.iter().copied().chain(std::iter::repeat([0.0; 3]));
    let node = |(now, [samples_per_s, ingress_per_s, egress_per_s]): (NodeNow, [f64; 3])| Node {
        share: now.counts.samples_sent as f64 / all.max(1) as f64,
        now,
        samples_per_s,
        ingress_per_s,
        egress_per_s,
    };
    nodes.into_iter().zip(rates).map(node).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use loadgen::plan::{PhasePlan, Plan};
    use loadgen::run::{AccuracyEntry, Observer, PhaseOutcome, RunOptions, run};
    use loadgen::settings::{Mode, Qsl, Scenario, TestSettings};
    use loadgen::sim::{SimOptions, SimWorld};
    use loadgen::world::TimeNs;

    use super::*;
    use crate::examples::about;

    /// Reports phases as a test does, and looks in the middle of one.
    struct RunObserver {
        counts: Arc<Counts>,
        watch: SnapshotReader,
        looks: Vec<Snapshot>,
    }

    impl Observer for RunObserver {
        fn accuracy(&mut self, _entry: &AccuracyEntry<'_>) {}

        fn phase_started(&mut self, phase: &PhasePlan, _start: TimeNs, live: &Live) {
            let now = PhaseNow {
                number: 0,
                is_accuracy: phase.is_accuracy(),
                planned_samples: Some(phase.generated.samples()),
                planned: None,
                samples_per_query: phase.generated.samples_per_query,
                trial: None,
                before: self.counts.ended.load(Relaxed),
                began: Instant::now(),
                took: None,
            };
            self.counts.begin_phase(now, live.clone());
        }

        fn phase_ended(&mut self, outcome: &PhaseOutcome) {
            self.counts.issued.fetch_add(outcome.counts.issued, Relaxed);
            self.counts.ended.fetch_add(outcome.counts.completed + outcome.counts.failed, Relaxed);
            self.looks.push(self.watch.look(Instant::now()));
            self.counts.end_phase();
        }
    }

    fn observer_of(sut: SimOptions) -> RunObserver {
        let settings = TestSettings {
            scenario: Scenario::SERVER,
            mode: Mode::SubmissionRun,
            min_duration_ms: 0,
            min_query_count: 500,
            server_target_qps: 100.0,
            ..TestSettings::default()
        };
        let plan = Plan::new(settings, Qsl { total: 50, performance: 50 }).unwrap();
        let counts: Arc<Counts> = Arc::default();
        let node = || {
            let mut node = NodeNow { name: "N1".to_owned(), ..NodeNow::default() };
            (node.counts.samples_sent, node.traffic.socket_bytes_out) = (30, 900);
            vec![node.clone(), NodeNow { name: "N2".to_owned(), ..node }]
        };
        let watch = SnapshotReader::new(about(false), Arc::clone(&counts), node);
        let mut observer = RunObserver { counts, watch, looks: Vec::new() };
        run(&plan, &mut SimWorld::new(sut), &mut observer, RunOptions::default());
        observer
    }

    #[test]
    fn every_answer_of_every_phase_is_read_once() {
        let mut observer = observer_of(SimOptions::default());
        let [accuracy, performance] = &observer.looks[..] else { panic!("{} phases", observer.looks.len()) };
        assert_eq!(accuracy.latency.so_far.unwrap().count, 50);
        assert!(accuracy.phase.unwrap().is_accuracy && accuracy.standing.timed().count() == 0);
        // Those of the phase alone.
        assert_eq!((performance.latency.so_far.unwrap().count, performance.ended), (500, 550));
        assert_eq!((performance.phase.unwrap().number, performance.phase.unwrap().ended), (2, 500));
        assert!(performance.latency.so_far.unwrap().p50_ns >= 1_000_000);
        assert_eq!(performance.standing.timed().count(), 2, "latency and lag");
        let shares: Vec<_> = performance.nodes.iter().map(|node| (node.now.name.as_str(), node.share)).collect();
        assert_eq!(shares, [("N1", 0.5), ("N2", 0.5)]);
        let last = observer.watch.finish(Instant::now());
        assert_eq!((last.totals.latency.count(), last.phase.unwrap().is_over), (550, true));
        assert!(observer.watch.reading.as_ref().is_some_and(|reading| reading.ends.is_none()), "records are let go");
        assert!(observer.counts.read(None).is_none());
        let later = observer.watch.look(Instant::now() + Duration::from_secs(60));
        assert_eq!((later.latency.recent, later.latency.so_far.unwrap().count), (None, 500));
    }

    #[test]
    fn samples_without_an_answer_are_late_ones() {
        let observer = observer_of(SimOptions { failing: 0.5, ..SimOptions::default() });
        let reading = observer.watch.reading.as_ref().unwrap();
        let answered = observer.looks[1].latency.so_far.unwrap().count;
        assert!(answered > 100 && reading.values.late[0] == 500 - answered, "{answered} {:?}", reading.values.late);
        let state = observer.looks[1].standing.checks.iter().find(|check| check.name == "p99 latency").unwrap().state;
        assert_eq!(state, super::super::live_checks::State::Broken);
    }

    #[test]
    fn phases_that_nobody_reads_are_not_kept() {
        let counts = Counts::default();
        assert!(counts.read(None).is_none());
        counts.end_phase();
        assert!(counts.read(None).is_none());
    }
}
