//! When the next query is issued, and when issuing ends: a state machine over (now, outstanding).
//!
//! It neither waits nor sends; `driver` does what it decides. The order of the termination tests is the official
//! one and can be seen in results: the first that applies names the reason.

use std::collections::VecDeque;

use crate::effective::Effective;
use crate::trace::{PhasePlan, Query};
use crate::traffic::{Trigger, first_tick_ns};
use crate::world::TimeNs;

/// Next action of the issuer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Issue the upcoming query now.
    Issue,
    /// Issue nothing before this time.
    WaitUntil(TimeNs),
    /// Issue nothing before a sample ends.
    AwaitReply,
    /// Issue nothing any more.
    Stop(Stop),
}

/// Why issuing ended in a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Every generated query was issued.
    AllIssued,
    /// Minimum query count and duration are met.
    Naturally,
    /// Every generated query was issued before the minimum duration was over, in a scenario that goes on until then.
    RanOut,
    /// More queries were outstanding than allowed.
    TooManyOutstanding {
        /// Number of queries issued.
        issued: u64,
        /// Number of samples outstanding.
        outstanding: u64,
    },
    /// As many queries were issued as `max_query_count` allows.
    MaxQueryCount {
        /// Number of queries issued.
        issued: u64,
    },
    /// The phase lasted longer than `max_duration` allows.
    MaxDuration {
        /// Time from the start of the phase, ns.
        duration_ns: u64,
    },
    /// Nothing could have made the phase pass any more; only in a search for the peak, and only when asked.
    GivenUp {
        /// Number of late samples.
        late: u64,
    },
    /// The world was told to stop.
    Interrupted,
    /// The world broke: the SUT can no longer be used.
    Broken,
}

impl Stop {
    /// The entry it makes in the log: whether it is an error, and its text.
    pub(crate) fn message(self) -> Option<(bool, String)> {
        match self {
            Self::AllIssued | Self::Interrupted | Self::Broken => None,
            Self::Naturally => Some((false, "Ending naturally: Minimum query count and test duration met.".to_owned())),
            Self::RanOut => Some((
                true,
                "Ending early: Ran out of generated queries to issue before the minimum query count and test \
                 duration were reached. Please update the relevant expected latency or target qps in the \
                 TestSettings so they are more accurate."
                    .to_owned(),
            )),
            Self::GivenUp { late } => Some((false, format!("Giving up: {late} late samples are beyond repair."))),
            Self::TooManyOutstanding { issued, outstanding } => {
                Some(early(&format!("Too many outstanding queries. issued {issued} outstanding {outstanding}")))
            }
            Self::MaxQueryCount { issued } => Some(early(&format!("Max query count reached. query_count {issued}"))),
            Self::MaxDuration { duration_ns } => {
                Some(early(&format!("Max test duration reached. duration_ns {duration_ns}")))
            }
        }
    }
}

fn early(reason: &str) -> (bool, String) {
    (true, format!("IssueQueryThread 0 Ending early: {reason}"))
}

/// The state machine that decides when a phase issues.
#[derive(Clone, Debug)]
pub(crate) struct Issuer {
    trigger: Trigger,
    start: TimeNs,
    /// `None` in accuracy phases, which issue everything.
    limits: Option<Limits>,
    issued: u64,
    stop: Option<Stop>,
    /// Moments at which users that think are free, in order.
    free: VecDeque<TimeNs>,
    ticks: Ticks,
}

/// Where a phase stands among its ticks, ns from its start.
#[derive(Clone, Copy, Debug, Default)]
struct Ticks {
    /// The earliest tick for the upcoming query.
    next_ns: u64,
    /// The moment at which few enough samples were outstanding.
    free_ns: u64,
}

#[derive(Clone, Copy, Debug)]
struct Limits {
    /// Most queries that may be outstanding; 0 = no limit.
    outstanding: u64,
    /// Count and duration with which the phase ends naturally; `None` where the schedule alone decides.
    natural: Option<(u64, u64)>,
    /// A natural end comes after whole groups of so many queries.
    group: u64,
    max_queries: u64,
    max_duration_ns: u64,
}

impl Issuer {
    /// The state machine of a phase that starts at `start`.
    pub(crate) fn new(effective: &Effective, phase: &PhasePlan, start: TimeNs) -> Self {
        let scheduled = effective.shape.has_schedule();
        let limits = (!phase.is_accuracy()).then(|| Limits {
            outstanding: if scheduled { effective.max_async_queries } else { 0 },
            natural: (!scheduled).then_some((effective.min_query_count, effective.target_duration_ms * 1_000_000)),
            group: effective.shape.group.max(1),
            max_queries: effective.settings.max_query_count,
            max_duration_ns: effective.settings.max_duration_ms * 1_000_000,
        });
        let trigger = effective.shape.trigger;
        let next_ns = if let Trigger::Ticks { interval_ns, .. } = trigger { interval_ns } else { 0 };
        let ticks = Ticks { next_ns, free_ns: 0 };
        Self { trigger, start, limits, issued: 0, stop: None, free: VecDeque::new(), ticks }
    }

    /// Decides about `upcoming`, the next query, if one is left.
    #[inline]
    pub(crate) fn decide(&self, now: TimeNs, outstanding: u64, upcoming: Option<&Query>) -> Decision {
        if let Some(stop) = self.stop {
            return Decision::Stop(stop);
        }
        let Some(query) = upcoming else {
            return Decision::Stop(self.exhausted());
        };
        match self.trigger {
            Trigger::Room => Decision::Issue,
            Trigger::Reply { below } if outstanding < below => Decision::Issue,
            Trigger::Reply { .. } => Decision::AwaitReply,
            Trigger::Bursts { size } if outstanding == 0 || !self.issued.is_multiple_of(size) => Decision::Issue,
            Trigger::Bursts { .. } => Decision::AwaitReply,
            Trigger::Users { count, .. } => self.by_user(now, outstanding, count),
            Trigger::Ticks { below, .. } if outstanding >= below => Decision::AwaitReply,
            Trigger::Ticks { .. } | Trigger::Schedule => {
                let due = self.start + self.due_ns(query);
                if now >= due { Decision::Issue } else { Decision::WaitUntil(due) }
            }
        }
    }

    /// The moment at which the upcoming query is due, ns from the start of the phase: as planned, or at the first tick
    /// that is not skipped.
    #[inline]
    pub(crate) fn due_ns(&self, query: &Query) -> u64 {
        match self.trigger {
            Trigger::Ticks { interval_ns, .. } => first_tick_ns(self.ticks.next_ns, self.ticks.free_ns, interval_ns),
            _ => query.due_ns,
        }
    }

    fn by_user(&self, now: TimeNs, outstanding: u64, count: u64) -> Decision {
        let first_free = self.free.front().copied();
        let has_more = outstanding + (self.free.len() as u64) < count;
        match first_free {
            _ if has_more => Decision::Issue,
            Some(free) if free <= now => Decision::Issue,
            Some(free) => Decision::WaitUntil(free),
            None => Decision::AwaitReply,
        }
    }

    /// Notes that a sample ended, and the number that is outstanding still. A user thinks, and is free then.
    #[inline]
    pub(crate) fn ended(&mut self, at: TimeNs, outstanding: u64) {
        match self.trigger {
            Trigger::Users { think_ns: think_ns @ 1.., .. } => {
                let free = at + think_ns;
                let position = self.free.iter().rposition(|other| *other <= free).map_or(0, |position| position + 1);
                self.free.insert(position, free);
            }
            Trigger::Ticks { below, .. } if outstanding + 1 == below => {
                self.ticks.free_ns = self.ticks.free_ns.max(at.since(self.start));
            }
            _ => {}
        }
    }

    /// Returns true when so many outstanding queries would end the phase. Answers that have arrived must be counted
    /// first.
    #[inline]
    pub(crate) fn exceeds(&self, outstanding: u64) -> bool {
        self.limits.is_some_and(|limits| limits.outstanding > 0 && outstanding > limits.outstanding)
    }

    /// Notes that `queries` were issued at `at` (several when merged), and tests whether that was the last.
    #[inline]
    pub(crate) fn issued(&mut self, queries: u64, at: TimeNs, outstanding: u64) {
        self.issued += queries;
        if self.free.front().is_some_and(|free| *free <= at) {
            self.free.pop_front();
        }
        if let Trigger::Ticks { interval_ns, .. } = self.trigger {
            let Ticks { next_ns, free_ns } = self.ticks;
            self.ticks.next_ns = first_tick_ns(next_ns, free_ns, interval_ns).saturating_add(interval_ns);
        }
        if let Some(limits) = self.limits {
            self.stop = self.test(limits, at.since(self.start), outstanding);
        }
    }

    fn test(&self, limits: Limits, elapsed_ns: u64, outstanding: u64) -> Option<Stop> {
        let issued = self.issued;
        if self.exceeds(outstanding) {
            return Some(Stop::TooManyOutstanding { issued, outstanding });
        }
        let is_whole = issued.is_multiple_of(limits.group);
        if limits.natural.is_some_and(|(queries, ns)| is_whole && issued >= queries && elapsed_ns >= ns) {
            return Some(Stop::Naturally);
        }
        if limits.max_queries != 0 && issued >= limits.max_queries {
            return Some(Stop::MaxQueryCount { issued });
        }
        (limits.max_duration_ns != 0 && elapsed_ns > limits.max_duration_ns)
            .then_some(Stop::MaxDuration { duration_ns: elapsed_ns })
    }

    fn exhausted(&self) -> Stop {
        if self.limits.is_some_and(|limits| limits.natural.is_some()) { Stop::RanOut } else { Stop::AllIssued }
    }

    /// Why issuing ends, if it does.
    pub(crate) fn stop(&self) -> Option<Stop> {
        self.stop
    }

    /// Goes on where issuing would have ended.
    pub(crate) fn go_on(&mut self) {
        self.stop = None;
    }

    /// Queries issued so far.
    pub(crate) fn count(&self) -> u64 {
        self.issued
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;
    use crate::settings::{Mode, Qsl, Scenario, TestSettings};
    use crate::trace::Trace;

    fn plan(change: impl FnOnce(&mut TestSettings)) -> Plan {
        let mut settings = TestSettings { min_duration_ms: 0, min_query_count: 5, ..TestSettings::default() };
        change(&mut settings);
        Plan::new(settings, Qsl { total: 9, performance: 9 }).unwrap()
    }

    fn issuer(plan: &Plan) -> Issuer {
        Issuer::new(plan.effective(), &plan.phases()[0], TimeNs(100))
    }

    #[test]
    fn single_stream_waits_for_the_reply_and_ends_naturally() {
        let plan = plan(|s| s.max_query_count = 5);
        let mut issuer = issuer(&plan);
        let query = Trace::new(&plan.phases()[0]).next();
        assert_eq!(issuer.decide(TimeNs(100), 1, query.as_ref()), Decision::AwaitReply);
        for _ in 0..5 {
            assert_eq!(issuer.decide(TimeNs(100), 0, query.as_ref()), Decision::Issue);
            issuer.issued(1, TimeNs(100), 1);
        }
        assert_eq!(issuer.decide(TimeNs(100), 0, query.as_ref()), Decision::Stop(Stop::Naturally), "before max count");
    }

    #[test]
    fn server_waits_for_due_times_and_ends_at_limits() {
        let plan = plan(|s| {
            s.scenario = Scenario::SERVER;
            s.server_max_async_queries = 2;
        });
        let mut issuer = issuer(&plan);
        let query = Trace::new(&plan.phases()[0]).nth(1).unwrap();
        let due = TimeNs(100 + query.due_ns);
        assert_eq!(issuer.decide(TimeNs(100), 0, Some(&query)), Decision::WaitUntil(due));
        assert_eq!(issuer.decide(due, 9, Some(&query)), Decision::Issue);
        issuer.issued(1, due, 2);
        assert_eq!(issuer.decide(due, 2, Some(&query)), Decision::Issue, "as many as allowed");
        issuer.issued(1, due, 3);
        let stop = Stop::TooManyOutstanding { issued: 2, outstanding: 3 };
        assert_eq!(issuer.decide(due, 3, Some(&query)), Decision::Stop(stop));
    }

    fn with_further(scenario: Scenario, further: &[&str]) -> Plan {
        plan(|s| {
            s.scenario = scenario;
            for setting in further {
                s.set(setting).unwrap();
            }
        })
    }

    #[test]
    fn a_burst_is_issued_whole_and_the_next_one_waits_for_all_answers() {
        let plan = with_further(Scenario::BURST, &["burst_size=3", "burst_interval=0"]);
        let mut issuer = issuer(&plan);
        let query = Trace::new(&plan.phases()[0]).next();
        let decide = |issuer: &Issuer, outstanding| issuer.decide(TimeNs(100), outstanding, query.as_ref());
        for outstanding in 0..3 {
            assert_eq!(decide(&issuer, outstanding), Decision::Issue);
            issuer.issued(1, TimeNs(100), outstanding + 1);
        }
        assert_eq!(decide(&issuer, 1), Decision::AwaitReply);
        assert_eq!(decide(&issuer, 0), Decision::Issue);
        for outstanding in 1..3 {
            issuer.issued(1, TimeNs(100), outstanding);
            assert_eq!(issuer.stop(), None, "five queries are enough, but no whole bursts");
        }
        issuer.issued(1, TimeNs(100), 3);
        assert_eq!(issuer.stop(), Some(Stop::Naturally));
    }

    #[test]
    fn users_ask_again_when_they_have_thought() {
        let plan = with_further(Scenario::CLOSED, &["concurrency=2", "think_time=50ns", "min_query_count=9"]);
        let mut issuer = issuer(&plan);
        let query = Trace::new(&plan.phases()[0]).next();
        let decide = |issuer: &Issuer, now, outstanding| issuer.decide(TimeNs(now), outstanding, query.as_ref());
        for outstanding in 0..2 {
            assert_eq!(decide(&issuer, 100, outstanding), Decision::Issue);
            issuer.issued(1, TimeNs(100), outstanding + 1);
        }
        assert_eq!(decide(&issuer, 100, 2), Decision::AwaitReply);
        issuer.ended(TimeNs(130), 1);
        issuer.ended(TimeNs(120), 0);
        assert_eq!(decide(&issuer, 131, 0), Decision::WaitUntil(TimeNs(170)));
        assert_eq!(decide(&issuer, 170, 0), Decision::Issue);
        issuer.issued(1, TimeNs(170), 1);
        assert_eq!(decide(&issuer, 171, 1), Decision::WaitUntil(TimeNs(180)));
    }

    #[test]
    fn accuracy_phases_know_no_limits() {
        let plan = plan(|s| {
            s.mode = Mode::AccuracyOnly;
            s.max_query_count = 1;
            s.max_duration_ms = 1;
        });
        let mut issuer = issuer(&plan);
        issuer.issued(5, TimeNs(u64::MAX / 2), 0);
        let query = Trace::new(&plan.phases()[0]).next();
        assert_eq!(issuer.decide(TimeNs(u64::MAX / 2), 0, query.as_ref()), Decision::Issue);
        assert_eq!(issuer.decide(TimeNs(u64::MAX / 2), 0, None), Decision::Stop(Stop::AllIssued));
    }
}
