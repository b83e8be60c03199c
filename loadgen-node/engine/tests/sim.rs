//! Ten thousand seeded runs of each scenario in a world of random delays and faults. Rules check each run. A second
//! verdict, worked out here from scratch in the simplest way that can be right, checks it too.
#![allow(clippy::unwrap_used, reason = "a test that cannot set up has failed")]

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use loadgen::plan::Plan;
use loadgen::run::{End, RunOptions, RunOutcome, Stop, run};
use loadgen::settings::{Qsl, Scenario, TestSettings};
use loadgen::trace::{Query, Trace};
use loadgen::world::{Arrival, ArrivalKind, Issued, QuerySeq, SampleIndex, SampleSeq, TimeNs, Wake, World};

const RUNS_PER_SCENARIO: u64 = 10_000;
const GRACE_NS: u64 = 20_000_000;

/// A small generator of its own: the engine's would agree with itself.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.roll() % n
    }

    fn one_in(&mut self, n: u64) -> bool {
        n > 0 && self.below(n) == 0
    }
}

/// Faults of a SUT; one in so many samples, 0 = never.
#[derive(Clone, Copy, Debug, Default)]
struct Faults {
    fails: u64,
    doubled: u64,
    lost: u64,
    foreign: u64,
    break_at: Option<u64>,
    interrupt_at: Option<u64>,
}

/// History of a sample, as the world saw it.
#[derive(Clone, Debug, Default)]
struct Record {
    query: u64,
    issued_ns: u64,
    /// First end that reached the engine: when, and whether it was an answer.
    end: Option<(u64, bool)>,
    further_ends: u64,
}

/// Independent service times: answers overtake each other freely.
struct Chaos {
    dice: Dice,
    faults: Faults,
    now: u64,
    most_ns: u64,
    issue_cost_ns: u64,
    window: usize,
    in_flight: usize,
    /// By time and order.
    coming: BTreeMap<(u64, u64), (u64, bool)>,
    pushes: u64,
    stopped: Wake,
    records: BTreeMap<u64, Record>,
    foreign: u64,
    loaded: bool,
}

impl Chaos {
    fn come(&mut self, at: u64, seq: u64, answered: bool) {
        self.pushes += 1;
        self.coming.insert((at, self.pushes), (seq, answered));
    }

    fn stops_by(&self, time: u64) -> Option<(u64, Wake)> {
        let stops = [(self.faults.break_at, Wake::Broken), (self.faults.interrupt_at, Wake::Interrupted)];
        let stops = stops.into_iter().filter_map(|(at, wake)| at.map(|at| (at, wake)));
        stops.min_by_key(|(at, _)| *at).filter(|(at, _)| *at <= time && self.stopped == Wake::Ready)
    }

    fn deliver(&mut self, arrivals: &mut Vec<Arrival<[u8; 1]>>) {
        while let Some(first) = self.coming.first_entry().filter(|first| first.key().0 <= self.now) {
            let at = first.key().0;
            let (seq, answered) = first.remove();
            let kind = if answered { ArrivalKind::Done { data: [0], n_tokens: 0 } } else { ArrivalKind::Failed };
            arrivals.push(Arrival { seq: SampleSeq(seq), at: TimeNs(at), sent_at: None, kind });
            match self.records.entry(seq) {
                Entry::Occupied(mut record) => match record.get().end {
                    None => {
                        record.get_mut().end = Some((at, answered));
                        self.in_flight -= 1;
                    }
                    Some(_) => record.get_mut().further_ends += 1,
                },
                Entry::Vacant(_) => self.foreign += 1,
            }
        }
    }
}

impl World for Chaos {
    type Data = [u8; 1];

    fn now(&mut self) -> TimeNs {
        TimeNs(self.now)
    }

    fn load(&mut self, _set: &[SampleIndex]) -> Result<(), String> {
        self.loaded = true;
        Ok(())
    }

    fn unload(&mut self, _set: &[SampleIndex]) {
        assert!(std::mem::take(&mut self.loaded));
    }

    fn room(&mut self) -> usize {
        self.window.saturating_sub(self.in_flight)
    }

    fn issue(&mut self, query: QuerySeq, samples: &[Issued]) {
        assert!(self.loaded && self.stopped == Wake::Ready, "nothing is issued after a stop");
        for sample in samples {
            let record = Record { query: query.0, issued_ns: self.now, ..Record::default() };
            assert!(self.records.insert(sample.seq.0, record).is_none(), "each sample is issued once");
            self.in_flight += 1;
            if self.dice.one_in(self.faults.lost) {
                continue;
            }
            let at = self.now + 1 + self.dice.below(self.most_ns);
            let answered = !self.dice.one_in(self.faults.fails);
            self.come(at, sample.seq.0, answered);
            if self.dice.one_in(self.faults.doubled) {
                let again = at + self.dice.below(self.most_ns);
                self.come(again, sample.seq.0, true);
            }
            if self.dice.one_in(self.faults.foreign) {
                self.come(at, u64::MAX - sample.seq.0, true);
            }
        }
        self.now += self.issue_cost_ns;
    }

    fn flush(&mut self) {}

    fn wait(&mut self, until: Option<TimeNs>, wake_on_arrival: bool, arrivals: &mut Vec<Arrival<[u8; 1]>>) -> Wake {
        let arrival = self.coming.first_key_value().map(|((at, _), _)| *at).filter(|_| wake_on_arrival);
        let target = until.map(|until| until.0).into_iter().chain(arrival).min();
        // An arrival that will never come means a broken SUT, and a world must report that.
        let target = target.unwrap_or_else(|| {
            self.stopped = Wake::Broken;
            self.now
        });
        let target = target.max(self.now);
        match self.stops_by(target) {
            Some((at, wake)) => {
                self.now = self.now.max(at);
                self.stopped = wake;
                if wake == Wake::Broken {
                    self.coming.clear();
                }
            }
            None => self.now = target,
        }
        self.deliver(arrivals);
        self.stopped
    }
}

struct Case {
    settings: TestSettings,
    own: Own,
    plan: Plan,
    world: Chaos,
    outcome: RunOutcome,
}

/// Settings that the scenarios of our own declare.
#[derive(Clone, Copy, Debug)]
struct Own {
    /// Queries in a burst, and the time between two; 0: each burst waits for the answers to the one before.
    size: u64,
    interval_ns: u64,
    users: u64,
    think_ns: u64,
    /// Limit of the latency; 0: none.
    limit_ns: u64,
}

impl Own {
    fn of(scenario: Scenario, dice: &mut Dice) -> Own {
        let mut some = |n: u64, most: u64| if dice.one_in(n) { 0 } else { 1 + dice.below(most) };
        let (interval_ns, think_ns, limit_ns) = (some(3, 5_000_000), some(2, 1_000_000), some(2, 1_500_000));
        let has_limit = scenario == Scenario::BURST;
        let limit_ns = if has_limit { limit_ns.max(1) } else { limit_ns };
        Own { size: 1 + dice.below(6), interval_ns, users: 1 + dice.below(8), think_ns, limit_ns }
    }

    fn set(self, settings: &mut TestSettings, percentile: f64) {
        let Own { size, interval_ns, users, think_ns, limit_ns } = self;
        let percentile = format!("target_latency_percentile={}", percentile * 100.0);
        let limit = format!("target_latency={limit_ns}ns");
        let texts = if settings.scenario == Scenario::BURST {
            vec![format!("burst_size={size}"), format!("burst_interval={interval_ns}ns"), limit, percentile]
        } else if settings.scenario == Scenario::CLOSED {
            let most = "most_qps=20000".to_owned();
            vec![format!("concurrency={users}"), format!("think_time={think_ns}ns"), limit, percentile, most]
        } else {
            Vec::new()
        };
        for text in texts {
            settings.set(&text).unwrap();
        }
    }
}

impl Case {
    /// Queries have due times, and wait for nothing else.
    fn is_scheduled(&self) -> bool {
        let scenario = self.settings.scenario;
        scenario == Scenario::SERVER || (scenario == Scenario::BURST && self.own.interval_ns > 0)
    }

    /// Queries of a burst; 1 in scenarios without.
    fn group(&self) -> u64 {
        if self.settings.scenario == Scenario::BURST { self.own.size } else { 1 }
    }
}

fn settings(scenario: Scenario, dice: &mut Dice) -> TestSettings {
    let percentiles = [0.5, 0.9, 0.95, 0.99];
    let percentile = percentiles[dice.below(4) as usize];
    TestSettings {
        scenario,
        min_duration_ms: dice.below(40),
        min_query_count: 1 + dice.below(120),
        max_query_count: if dice.one_in(6) { 1 + dice.below(60) } else { 0 },
        max_duration_ms: if dice.one_in(6) { 1 + dice.below(20) } else { 0 },
        server_target_qps: (500 + dice.below(5_000)) as f64,
        server_target_latency_ns: 200_000 + dice.below(1_500_000),
        server_target_latency_percentile: percentile,
        server_max_async_queries: if dice.one_in(5) { 1 + dice.below(6) } else { 0 },
        single_stream_target_latency_percentile: percentile,
        multi_stream_target_latency_percentile: percentile,
        single_stream_expected_latency_ns: (50_000 + dice.below(900_000)) as f64,
        multi_stream_expected_latency_ns: (100_000 + dice.below(900_000)) as f64,
        multi_stream_samples_per_query: 1 + dice.below(5),
        offline_expected_qps: (500 + dice.below(5_000)) as f64,
        sample_concatenate_permutation: dice.one_in(7),
        qsl_rng_seed: dice.roll(),
        sample_index_rng_seed: dice.roll(),
        schedule_rng_seed: dice.roll(),
        ..TestSettings::default()
    }
}

fn faults(dice: &mut Dice) -> Faults {
    let mut some = |n: u64, rate: u64| if dice.one_in(n) { 2 + dice.below(rate) } else { 0 };
    let (fails, doubled, lost, foreign) = (some(5, 60), some(6, 40), some(12, 60), some(12, 60));
    let mut at = |n: u64| dice.one_in(n).then(|| dice.below(30_000_000));
    Faults { fails, doubled, lost, foreign, break_at: at(15), interrupt_at: at(15) }
}

/// Position among the scenarios.
fn number(scenario: Scenario) -> u64 {
    Scenario::ALL.iter().position(|other| *other == scenario).unwrap() as u64
}

fn case(scenario: Scenario, seed: u64) -> Case {
    let mut dice = Dice(seed * 6 + number(scenario));
    let mut settings = settings(scenario, &mut dice);
    let own = Own::of(scenario, &mut dice);
    let percentile = settings.server_target_latency_percentile;
    own.set(&mut settings, percentile);
    let faults = faults(&mut dice);
    let plan = Plan::new(settings.clone(), Qsl { total: 40, performance: 1 + dice.below(40) }).unwrap();
    let mut world = Chaos {
        faults,
        now: 0,
        most_ns: 1 + dice.below(1_000_000),
        issue_cost_ns: if dice.one_in(3) { dice.below(200_000) } else { 0 },
        window: 1 + dice.below(100) as usize,
        in_flight: 0,
        coming: BTreeMap::new(),
        pushes: 0,
        stopped: Wake::Ready,
        records: BTreeMap::new(),
        foreign: 0,
        loaded: false,
        dice,
    };
    let options = RunOptions { drain_grace_ns: GRACE_NS, ..RunOptions::default() };
    let outcome = run(&plan, &mut world, &mut (), options);
    Case { settings, own, plan, world, outcome }
}

#[test]
fn rules_hold_and_verdicts_are_those_worked_out_by_hand() {
    let mut endings = BTreeMap::<String, u64>::new();
    for scenario in Scenario::ALL {
        for seed in 0..RUNS_PER_SCENARIO {
            let case = case(scenario, seed);
            let name = format!("{scenario:?}, seed {seed}");
            ends(&case, &name);
            issues(&case, &name);
            termination(&case, &name);
            verdict(&case, &name);
            let stop = format!("{:?}", case.outcome.phases[0].stop);
            *endings.entry(stop.split([' ', '{']).next().unwrap_or_default().to_owned()).or_default() += 1;
            *endings.entry(format!("official {:?}", case.outcome.verdict.official())).or_default() += 1;
        }
    }
    let variety = ["AllIssued", "Naturally", "RanOut", "TooManyOutstanding", "MaxQueryCount", "MaxDuration"];
    let variety = variety.into_iter().chain(["Interrupted", "Broken", "official Some(true)", "official Some(false)"]);
    for what in variety {
        assert!(endings.get(what).is_some_and(|count| *count > 100), "{what} hardly happened: {endings:?}");
    }
}

/// Every issued sample ended once, and is counted as what it ended as.
fn ends(case: &Case, name: &str) {
    let counts = case.outcome.counts();
    let records = &case.world.records;
    let ended =
        |is_done: bool| records.values().filter(|r| r.end.is_some_and(|(_, done)| done == is_done)).count() as u64;
    assert_eq!(counts.issued, records.len() as u64, "{name}");
    assert_eq!((counts.completed, counts.failed), (ended(true), ended(false)), "{name}");
    assert_eq!(counts.lost, records.values().filter(|r| r.end.is_none()).count() as u64, "{name}");
    assert_eq!(counts.ended(), counts.issued, "{name}");
    let after =
        |done: bool| records.values().filter(move |r| r.end.is_some_and(|(_, d)| d == done)).map(|r| r.further_ends);
    assert_eq!((counts.duplicate, counts.late), (after(true).sum(), after(false).sum()), "{name}");
    assert_eq!(counts.unknown, case.world.foreign, "{name}");
    let clean = faultless(case);
    let fine = case.outcome.end == End::Completed && case.outcome.verdict.official() == Some(true);
    assert_eq!(case.outcome.verdict.is_valid(), clean && fine, "{name}: {:?}", case.outcome.verdict);
    assert!(!case.world.loaded, "{name}");
}

/// Every issued sample was answered, and once.
fn faultless(case: &Case) -> bool {
    let counts = case.outcome.counts();
    counts.issued == counts.completed && counts.duplicate + counts.late + counts.unknown == 0
}

/// Nothing was issued before its time.
fn issues(case: &Case, name: &str) {
    let phase = &case.outcome.phases[0];
    let queries: Vec<Query> = Trace::new(&case.plan.phases()[0]).collect();
    let mut before: Option<u64> = None;
    for query in queries.iter().take(phase.queries_issued as usize) {
        let samples = || (0..query.samples).filter_map(|i| case.world.records.get(&(query.first_sample.0 + i)));
        assert!(samples().all(|record| record.query == query.seq.0), "{name}");
        let Some(first) = samples().map(|record| record.issued_ns).min() else { continue };
        let earlier = || case.world.records.values().filter(|record| record.query < query.seq.0);
        match case.settings.scenario {
            _ if case.is_scheduled() => {
                assert!(first >= phase.started.0 + query.due_ns, "{name}: before it was due");
            }
            offline if offline == Scenario::OFFLINE => {}
            burst if burst == Scenario::BURST => {
                let has_ended = |record: &Record| record.end.is_some_and(|(at, _)| at <= first);
                let begins = query.seq.0.is_multiple_of(case.own.size);
                assert!(!begins || earlier().all(has_ended), "{name}: before the burst before it was answered");
            }
            closed if closed == Scenario::CLOSED => {
                let is_free = |record: &&Record| record.end.is_some_and(|(at, _)| at + case.own.think_ns <= first);
                let busy = earlier().count() - earlier().filter(is_free).count();
                assert!((busy as u64) < case.own.users, "{name}: no user was free");
            }
            _ => assert!(before.is_none_or(|end| first >= end), "{name}: before the answer to the query before it"),
        }
        before = samples().map(|record| record.end.map_or(u64::MAX, |(at, _)| at)).max();
    }
}

/// When a query was issued, from the start of the phase.
fn query_issued_ns(case: &Case, query: u64) -> u64 {
    let started = case.outcome.phases[0].started.0;
    let at = case.world.records.values().filter(|r| r.query == query).map(|r| r.issued_ns).min();
    at.unwrap_or(started) - started
}

/// The phase went on as long as the rules say, and no longer.
fn termination(case: &Case, name: &str) {
    let (phase, e) = (&case.outcome.phases[0], case.plan.effective());
    let (issued, generated) = (phase.queries_issued, case.plan.phases()[0].generated.queries);
    if matches!(phase.stop, Stop::Interrupted | Stop::Broken) {
        assert!(case.world.stopped != Wake::Ready, "{name}");
        assert!(case.outcome.ended.0 <= case.world.now + GRACE_NS, "{name}");
        return;
    }
    let elapsed = query_issued_ns(case, issued - 1);
    let natural = |queries: u64, at: u64| {
        let is_whole = queries.is_multiple_of(case.group());
        !case.is_scheduled() && is_whole && queries >= e.min_query_count && at >= e.target_duration_ms * 1_000_000
    };
    let limits = |queries: u64, at: u64| {
        let by_count = e.settings.max_query_count != 0 && queries >= e.settings.max_query_count;
        by_count || (e.settings.max_duration_ms != 0 && at > e.settings.max_duration_ms * 1_000_000)
    };
    match phase.stop {
        Stop::Naturally => assert!(natural(issued, elapsed), "{name}"),
        Stop::MaxQueryCount { .. } => {
            assert!(issued >= e.settings.max_query_count && !natural(issued, elapsed), "{name}");
        }
        Stop::MaxDuration { duration_ns } => assert!(duration_ns > e.settings.max_duration_ms * 1_000_000, "{name}"),
        Stop::TooManyOutstanding { outstanding, .. } => assert!(outstanding > e.max_async_queries, "{name}"),
        Stop::AllIssued | Stop::RanOut => assert_eq!(issued, generated, "{name}"),
        other => panic!("{name}: {other:?}"),
    }
    assert!(generated.is_multiple_of(case.group()), "{name}");
    if issued > 1 && !case.is_scheduled() {
        let earlier = query_issued_ns(case, issued - 2);
        assert!(!natural(issued - 1, earlier) && !limits(issued - 1, earlier), "{name}: it should have ended before");
    }
    if phase.stop == Stop::AllIssued {
        assert!(case.is_scheduled() && !limits(issued - 1, query_issued_ns(case, issued.max(2) - 2)), "{name}");
    }
}

/// The four official conditions, from the world's own records.
fn verdict(case: &Case, name: &str) {
    let (outcome, e) = (&case.outcome, case.plan.effective());
    let phase = &outcome.phases[0];
    let queries: Vec<Query> = Trace::new(&case.plan.phases()[0]).take(phase.queries_issued as usize).collect();
    let latencies = latencies(case, &queries);
    let summary = outcome.summary.as_ref().unwrap();
    let mut sorted: Vec<i64> = latencies.iter().map(|(_, ns)| *ns).collect();
    sorted.sort_unstable();
    let n = sorted.len();
    let at = |list: &[i64], p: f64| list.get(((list.len() as f64 * p) as usize).min(list.len().max(1) - 1)).copied();
    assert_eq!(summary.latency.count, n as u64, "{name}");
    if n > 0 {
        assert_eq!(summary.latency.percentiles_ns[4], at(&sorted, 0.99).unwrap(), "{name}");
        assert_eq!(summary.latency.mean_ns as i128, sorted.iter().map(|ns| i128::from(*ns)).sum::<i128>() / n as i128);
    }
    let mut by_query = BTreeMap::<u64, i64>::new();
    for (query, ns) in &latencies {
        let most = by_query.entry(*query).or_insert(*ns);
        *most = (*most).max(*ns);
    }
    let q = phase.queries_issued;
    let p = e.target_latency_percentile;
    let mut judged: Vec<i64> =
        if e.scenario == Scenario::MULTI_STREAM { by_query.into_values().collect() } else { sorted.clone() };
    judged.sort_unstable();
    let limit = e.target_latency_ns as i64;
    let over = sorted.iter().filter(|ns| **ns > limit).count() as u64;
    let has_limit = e.scenario == Scenario::SERVER
        || ([Scenario::BURST, Scenario::CLOSED].contains(&e.scenario) && case.own.limit_ns > 0);
    let constraints = has_limit.then(|| at(&sorted, p).unwrap_or(0) <= limit);
    let early_stopping = match e.scenario {
        other if [Scenario::OFFLINE, Scenario::BURST, Scenario::CLOSED].contains(&other) => true,
        server if server == Scenario::SERVER => q >= over + fewest_under(over, p),
        _ => q > fewest_under(1, p),
    };
    let duration_ns = match (e.scenario, queries.last()) {
        (offline, _) if offline == Scenario::OFFLINE => sorted.last().copied().unwrap_or(0) as u64,
        (_, None) => 0,
        (server, Some(last)) if server == Scenario::SERVER => last.due_ns,
        (_, Some(last)) => query_issued_ns(case, last.seq.0),
    };
    let checks = summary.checks;
    assert_eq!(checks.performance_constraints, constraints, "{name}");
    assert_eq!(checks.early_stopping, early_stopping, "{name}: {q} queries, {over} over, p {p}");
    assert_eq!(checks.min_duration, duration_ns >= e.settings.min_duration_ms * 1_000_000, "{name}: {duration_ns}");
    let enough = q >= e.min_query_count && outcome.counts().completed >= e.min_query_count * e.samples_per_query;
    assert_eq!(checks.min_queries, enough, "{name}");
    let all = constraints.unwrap_or(true) && early_stopping && checks.min_duration && enough;
    let answered = outcome.counts().completed;
    let whole = outcome.end == End::Completed && faultless(case);
    assert_eq!(outcome.verdict.official(), Some(all && whole), "{name}");
    if answered == 0 {
        let rates = summary.rates;
        assert_eq!((summary.metric.value, rates.samples_per_s, rates.qps_without_overhead), (None, 0.0, 0.0), "{name}");
    }
}

/// Query and latency of every issued sample; one without an answer is above the limit and above every answered one.
fn latencies(case: &Case, queries: &[Query]) -> Vec<(u64, i64)> {
    let start = case.outcome.phases[0].started.0;
    let due: BTreeMap<u64, u64> = queries.iter().map(|query| (query.seq.0, query.due_ns)).collect();
    let scheduled = |record: &Record| match case.settings.scenario {
        _ if case.is_scheduled() => start + due[&record.query],
        burst if burst == Scenario::BURST => {
            let first = record.query - record.query % case.own.size;
            start + query_issued_ns(case, first)
        }
        offline if offline == Scenario::OFFLINE => start,
        _ => record.issued_ns,
    };
    let answered =
        |record: &Record| record.end.filter(|(_, done)| *done).map(|(at, _)| at.saturating_sub(scheduled(record)));
    let largest = case.world.records.values().filter_map(answered).max().unwrap_or(0);
    let least = (largest + 1).max(case.plan.effective().target_latency_ns + 1);
    let end = case.outcome.ended.0;
    let latency = |r: &Record| answered(r).unwrap_or_else(|| end.saturating_sub(scheduled(r)).max(least));
    case.world.records.values().map(|record| (record.query, latency(record) as i64)).collect()
}

/// Fewest queries under the limit that, with `over` above it, show with 99 % confidence that a share `p` is under it:
/// the smallest h with P(Binomial(h + over, 1 - p) <= over) < 0.01, term by term.
fn fewest_under(over: u64, p: f64) -> u64 {
    if over > 200 {
        // Beyond what any run here can show: it has at most a few hundred queries.
        return u64::MAX / 2;
    }
    let mut h = 1;
    loop {
        let n = h + over;
        // P(X = 0), then each term from the one before it.
        let mut term = p.powi(n as i32);
        let mut sum = term;
        for k in 0..over {
            term *= (n - k) as f64 / (k + 1) as f64 * ((1.0 - p) / p);
            sum += term;
        }
        if sum < 1.0 - 0.99 {
            return h;
        }
        h += 1;
    }
}
