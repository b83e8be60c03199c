//! When the next query is issued, and when a series stops: a state machine over the time and the answers.
//!
//! It neither waits nor sends; whoever drives it does what it decides. All times are ns from the start of the series.

use super::effective::Effective;
use super::scenario::Pacing;

/// The issuer's view of the queries of its series, which are counted from 0.
pub trait Answers {
    /// The moment at which the last sample of a query was answered; `None` before.
    fn answered_ns(&self, query: u64) -> Option<u64>;

    /// Queries that were issued and lack an answer.
    fn outstanding(&self) -> u64;
}

/// The place of a query in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slot {
    /// The moment at which the latency of the query starts.
    pub scheduled_ns: u64,
    /// Ticks that passed since the query before it; 0 in scenarios without ticks.
    pub intervals: u64,
}

/// The next thing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Issue the upcoming query now.
    Issue(Slot),
    /// Issue nothing before this time.
    WaitUntil(u64),
    /// Issue nothing before an answer arrives.
    AwaitAnswer,
    /// Issue nothing any more.
    Stop(Stop),
}

/// The reason of a series' end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Every generated query was issued, which is the end of Server and of accuracy series.
    AllIssued,
    /// The minimum count is met and the minimum duration is over.
    Naturally,
    /// More queries were outstanding than allowed.
    TooManyOutstanding,
    /// As many queries were issued as `max_query_count` allows.
    MaxQueryCount,
    /// The last query was issued after `max_duration`.
    MaxDuration,
    /// Every generated query was issued before the series could end naturally.
    RanOut,
    /// The world was told to stop.
    Interrupted,
    /// The SUT can no longer be used.
    Broken,
}

impl Stop {
    /// The error that it leaves in the log. An error alone makes no result INVALID.
    pub fn error(self) -> Option<&'static str> {
        match self {
            Self::AllIssued | Self::Naturally | Self::Interrupted | Self::Broken => None,
            Self::TooManyOutstanding => Some("Ending early: Too many outstanding queries."),
            Self::MaxQueryCount => Some("Ending early: Max query count reached."),
            Self::MaxDuration => Some("Ending early: Max test duration reached."),
            Self::RanOut => Some("Ending early: Ran out of generated queries to issue."),
        }
    }
}

/// When a performance series stops.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// Most queries that may be outstanding; 0 = no limit.
    outstanding: u64,
    /// Count that is reached, and duration that is exceeded, at a natural end; `None`: the schedule alone decides.
    natural: Option<(u64, u64)>,
    max_queries: u64,
    max_duration_ns: u64,
}

/// The state machine of one series.
#[derive(Clone, Debug)]
pub struct Issuer {
    pacing: Pacing,
    qps: f64,
    /// Queries in flight at most, in scenarios that wait for answers.
    in_flight: u64,
    /// `None` in accuracy series, which issue everything.
    limits: Option<Limits>,
    issued: u64,
    /// Number of the last tick at which a query was issued.
    tick: u64,
    /// The place of the upcoming query, once it is known, and its tick.
    next: Option<(Slot, u64)>,
    stop: Option<Stop>,
}

impl Issuer {
    /// The state machine of a series.
    pub fn new(effective: &Effective, is_accuracy: bool) -> Self {
        let (pacing, settings) = (effective.shape.pacing, &effective.requested);
        let by_schedule = pacing == Pacing::Due;
        let limits = Limits {
            outstanding: if by_schedule { effective.max_async_queries } else { 0 },
            natural: (!by_schedule).then_some((effective.min_query_count, settings.min_duration_ms * 1_000_000)),
            max_queries: settings.max_query_count,
            max_duration_ns: settings.max_duration_ms.saturating_mul(1_000_000),
        };
        Self {
            pacing,
            qps: effective.target_qps,
            in_flight: effective.max_async_queries,
            limits: (!is_accuracy).then_some(limits),
            issued: 0,
            tick: 0,
            next: None,
            stop: None,
        }
    }

    /// Decides about the upcoming query, which is due at `due_ns`; `None`: none is left.
    pub fn decide(&mut self, now_ns: u64, due_ns: Option<u64>, answers: &impl Answers) -> Decision {
        if let Some(stop) = self.stop {
            return Decision::Stop(stop);
        }
        let Some(due_ns) = due_ns else { return Decision::Stop(self.exhausted()) };
        let Some((slot, tick)) = self.next.or_else(|| self.place(now_ns, due_ns, answers)) else {
            return Decision::AwaitAnswer;
        };
        self.next = Some((slot, tick));
        let waits = matches!(self.pacing, Pacing::Ticks | Pacing::Due);
        if waits && now_ns < slot.scheduled_ns { Decision::WaitUntil(slot.scheduled_ns) } else { Decision::Issue(slot) }
    }

    /// True when too many outstanding queries end the series: then answers that have arrived must be counted before
    /// [`Issuer::issued`].
    pub fn counts_outstanding(&self) -> bool {
        self.limits.is_some_and(|limits| limits.outstanding != 0)
    }

    /// Notes that the upcoming query was issued at this time, and tests whether it was the last.
    pub fn issued(&mut self, at_ns: u64, answers: &impl Answers) {
        if let Some((_, tick)) = self.next.take() {
            self.tick = tick;
        }
        self.issued += 1;
        self.stop = self.limits.and_then(|limits| self.test(limits, at_ns, answers.outstanding()));
    }

    /// The place of the upcoming query; `None` while an answer is missing.
    fn place(&self, now_ns: u64, due_ns: u64, answers: &impl Answers) -> Option<(Slot, u64)> {
        let earlier_ns = match self.issued.checked_sub(self.in_flight) {
            Some(earlier) if !matches!(self.pacing, Pacing::Due | Pacing::AtOnce) => answers.answered_ns(earlier)?,
            _ => 0,
        };
        let scheduled_ns = match self.pacing {
            Pacing::AfterAnswer => now_ns,
            Pacing::AtAnswer => earlier_ns,
            Pacing::Due => due_ns,
            Pacing::AtOnce => 0,
            Pacing::Ticks => {
                let tick = self.tick_from(now_ns);
                return Some((Slot { scheduled_ns: self.tick_ns(tick), intervals: tick - self.tick }, tick));
            }
        };
        Some((Slot { scheduled_ns, intervals: 0 }, 0))
    }

    /// The first tick after the last one that is not before `now_ns`.
    fn tick_from(&self, now_ns: u64) -> u64 {
        // Two ticks early, whatever is lost in rounding.
        let near = (now_ns as f64 / 1e9 * self.qps) as u64;
        let mut tick = near.saturating_sub(2).max(self.tick + 1);
        while self.tick_ns(tick) < now_ns {
            tick += 1;
        }
        tick
    }

    /// The time of a tick: its number divided by the rate, not a multiple of a rounded interval.
    fn tick_ns(&self, tick: u64) -> u64 {
        (tick as f64 / self.qps * 1e9) as u64
    }

    fn test(&self, limits: Limits, elapsed_ns: u64, outstanding: u64) -> Option<Stop> {
        if limits.outstanding != 0 && outstanding > limits.outstanding {
            return Some(Stop::TooManyOutstanding);
        }
        if limits.natural.is_some_and(|(queries, ns)| self.issued >= queries && elapsed_ns > ns) {
            return Some(Stop::Naturally);
        }
        if limits.max_queries != 0 && self.issued >= limits.max_queries {
            return Some(Stop::MaxQueryCount);
        }
        (limits.max_duration_ns != 0 && elapsed_ns > limits.max_duration_ns).then_some(Stop::MaxDuration)
    }

    fn exhausted(&self) -> Stop {
        if self.limits.is_some_and(|limits| limits.natural.is_some()) { Stop::RanOut } else { Stop::AllIssued }
    }
}

#[cfg(test)]
mod tests {
    use super::super::scenario::Scenario;
    use super::super::settings::Settings;
    use super::*;
    use crate::settings::Qsl;

    /// Answers by hand: the moment at which each query was answered.
    struct AnswerTimes(Vec<Option<u64>>);

    impl Answers for AnswerTimes {
        fn answered_ns(&self, query: u64) -> Option<u64> {
            self.0.get(query as usize).copied().flatten()
        }

        fn outstanding(&self) -> u64 {
            self.0.iter().filter(|answered| answered.is_none()).count() as u64
        }
    }

    fn issuer(scenario: Scenario, change: impl FnOnce(&mut Settings)) -> Issuer {
        let mut settings = Settings { scenario, min_duration_ms: 0, min_query_count: 3, ..Settings::default() };
        settings.multi_stream_target_qps = 20.0;
        change(&mut settings);
        let effective = Effective::new(&settings, Qsl { total: 9, performance: 9 }, &mut Vec::new()).unwrap();
        Issuer::new(&effective, false)
    }

    const MS: u64 = 1_000_000;

    #[test]
    fn an_answer_on_a_tick_keeps_it_and_one_after_it_loses_it() {
        for (answered, tick, intervals) in
            [(100 * MS, 100 * MS, 1), (100 * MS + 1, 150 * MS, 2), (260 * MS, 300 * MS, 5)]
        {
            let mut issuer = issuer(Scenario::MultiStream, |_| ());
            assert_eq!(
                issuer.decide(0, Some(0), &AnswerTimes(vec![])),
                Decision::WaitUntil(50 * MS),
                "one interval first"
            );
            let first = Slot { scheduled_ns: 50 * MS, intervals: 1 };
            assert_eq!(issuer.decide(50 * MS, Some(0), &AnswerTimes(vec![])), Decision::Issue(first));
            issuer.issued(50 * MS, &AnswerTimes(vec![None]));
            assert_eq!(issuer.decide(50 * MS, Some(0), &AnswerTimes(vec![None])), Decision::AwaitAnswer);
            let ends = AnswerTimes(vec![Some(answered)]);
            let next = Slot { scheduled_ns: tick, intervals };
            if tick > answered {
                assert_eq!(issuer.decide(answered, Some(0), &ends), Decision::WaitUntil(tick));
            }
            assert_eq!(issuer.decide(tick, Some(0), &ends), Decision::Issue(next));
        }
    }

    #[test]
    fn ticks_are_quotients_and_no_multiples() {
        let issuer = issuer(Scenario::MultiStream, |s| s.multi_stream_target_qps = 15.0);
        assert_eq!([1, 2, 3].map(|tick| issuer.tick_ns(tick)), [66_666_666, 133_333_333, 200_000_000]);
        assert_eq!([0, 66_666_667, 133_333_333].map(|now| issuer.tick_from(now)), [1, 2, 2]);
    }

    #[test]
    fn free_running_queries_start_at_an_answer_that_may_be_long_ago() {
        let mut issuer = issuer(Scenario::MultiStreamFree, |s| s.multi_stream_max_async_queries = 2);
        for _ in 0..2 {
            assert_eq!(issuer.decide(0, Some(0), &AnswerTimes(vec![None])), Decision::Issue(Slot::default()));
            issuer.issued(0, &AnswerTimes(vec![None, None]));
        }
        assert_eq!(issuer.decide(30, Some(0), &AnswerTimes(vec![None, Some(30)])), Decision::AwaitAnswer);
        let third = Slot { scheduled_ns: 40, intervals: 0 };
        assert_eq!(issuer.decide(90, Some(0), &AnswerTimes(vec![Some(40), Some(30)])), Decision::Issue(third));
    }

    #[test]
    fn a_series_ends_after_its_minimum_duration_and_not_at_it() {
        let mut issuer = issuer(Scenario::SingleStream, |s| s.min_duration_ms = 5);
        let ends = AnswerTimes(vec![Some(0); 9]);
        for at in [0, 0, 0, 5 * MS, 5 * MS + 1] {
            assert!(matches!(issuer.decide(at, Some(0), &ends), Decision::Issue(_)), "{at}");
            issuer.issued(at, &ends);
        }
        assert_eq!(issuer.decide(9 * MS, Some(0), &ends), Decision::Stop(Stop::Naturally));
    }

    #[test]
    fn limits_are_tested_in_the_order_of_the_round() {
        let all = |s: &mut Settings| (s.max_query_count, s.max_duration_ms) = (1, 1);
        let stop = |mut issuer: Issuer, at: u64, outstanding: usize| {
            let ends = AnswerTimes(vec![None; outstanding]);
            issuer.decide(at, Some(0), &AnswerTimes(vec![]));
            issuer.issued(at, &ends);
            match issuer.decide(at, None, &ends) {
                Decision::Stop(stop) => stop,
                other => panic!("{other:?}"),
            }
        };
        let server = |most| issuer(Scenario::Server, |s| (all(s), s.server_max_async_queries = most).0);
        assert_eq!(stop(server(1), 2 * MS, 2), Stop::TooManyOutstanding);
        assert_eq!(stop(server(2), 2 * MS, 2), Stop::MaxQueryCount);
        assert_eq!(stop(issuer(Scenario::Server, |_| ()), 2 * MS, 2), Stop::AllIssued);
        let duration = |s: &mut Settings| s.max_duration_ms = 1;
        assert_eq!(stop(issuer(Scenario::Server, duration), MS, 0), Stop::AllIssued, "not at the limit");
        assert_eq!(stop(issuer(Scenario::Server, duration), MS + 1, 0), Stop::MaxDuration);
        assert_eq!(stop(issuer(Scenario::Offline, |_| ()), 0, 0), Stop::RanOut, "0 ns are not more than 0 ms");
        assert_eq!(stop(issuer(Scenario::SingleStream, |s| (all(s), s.min_query_count = 1).0), 2, 0), Stop::Naturally);
    }
}
