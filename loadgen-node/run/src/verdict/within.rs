//! Limits of the user (`--within`), and the queries that keep all of them. The numbers stand beside the verdict, and
//! nothing is judged by them. Pure.

use std::fmt;
use std::str::FromStr;

use loadgen::plan::Effective;
use loadgen::recorder::{SampleEnd, Timeline};
use lon_proto::figures::length_ns;
use lon_shell::duration::parse_duration;

/// Grammar of the limits, as a user types them.
const GRAMMAR: &str = "write NAME=TIME[,NAME=TIME...] with ttft, tpot or latency, such as ttft=500ms,tpot=50ms";

/// Limits of latencies that one query has to keep together; one at least.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WithinLimits {
    /// Limit of the time to first token, ns.
    pub(crate) ttft_ns: Option<u64>,
    /// Limit of the time per output token after the first, ns.
    pub(crate) tpot_ns: Option<u64>,
    /// Limit of the latency of the whole answer, ns.
    pub(crate) latency_ns: Option<u64>,
}

/// Queries within the limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Within {
    pub(crate) limits: WithinLimits,
    /// Number of queries issued.
    pub(crate) queries: u64,
    /// Number of them that kept all limits.
    pub(crate) queries_within: u64,
    /// Rate of those that kept them, per second until the last query was answered; none where nothing was.
    pub(crate) queries_per_s: Option<f64>,
}

/// Reason why a text gives no limits.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WithinError {
    /// A part has no name or no time.
    #[error("'{0}' is no limit: {grammar}", grammar = GRAMMAR)]
    Form(String),
    /// A name is none of the three.
    #[error("there is no '{0}' to limit: write ttft, tpot or latency")]
    Name(String),
    /// A time is no duration, or 0.
    #[error("{0}='{1}': write a number above 0 and a unit, for example 500us, 20ms, 3s")]
    Time(&'static str, String),
    /// A name is there twice.
    #[error("{0} is there twice: give each limit once")]
    Twice(&'static str),
}

/// Reason why a run cannot be held against the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoLatency {
    /// The mode measures no latencies.
    #[error("mode {0} measures no latencies: leave --within out")]
    NotTimed(&'static str),
    /// The run has no tokens.
    #[error("{0}: token runs alone measure it (use_token_latencies=1); latency is the limit of other runs")]
    NoTokens(&'static str),
    /// The scenario has no such latency.
    #[error("{0}: {1} measures whole answers and no first tokens; latency is its limit")]
    NotInScenario(&'static str, &'static str),
}

impl FromStr for WithinLimits {
    type Err = WithinError;

    fn from_str(text: &str) -> Result<WithinLimits, WithinError> {
        let mut limits = WithinLimits::default();
        for part in text.split(',') {
            let (name, time) = part.split_once('=').ok_or_else(|| WithinError::Form(part.to_owned()))?;
            let (name, limit) = match name.trim() {
                "ttft" => ("ttft", &mut limits.ttft_ns),
                "tpot" => ("tpot", &mut limits.tpot_ns),
                "latency" => ("latency", &mut limits.latency_ns),
                other => return Err(WithinError::Name(other.to_owned())),
            };
            let ns = parse_duration(time.trim()).ok().and_then(|time| u64::try_from(time.as_nanos()).ok());
            let ns = ns.filter(|ns| *ns > 0).ok_or_else(|| WithinError::Time(name, time.to_owned()))?;
            if limit.replace(ns).is_some() {
                return Err(WithinError::Twice(name));
            }
        }
        Ok(limits)
    }
}

impl fmt::Display for WithinLimits {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limits = self.named().into_iter().filter_map(|(name, ns)| Some(format!("{name} {}", length_ns(ns?))));
        out.write_str(&limits.collect::<Vec<_>>().join(", "))
    }
}

impl WithinLimits {
    /// Each limit with its word.
    fn named(&self) -> [(&'static str, Option<u64>); 3] {
        [("ttft", self.ttft_ns), ("tpot", self.tpot_ns), ("latency", self.latency_ns)]
    }

    /// Checks that a run by these settings measures what has a limit.
    ///
    /// # Errors
    /// The run measures no latencies, or no tokens, and the first limit is named that has nothing to hold.
    pub fn check(&self, effective: &Effective) -> Result<(), NoLatency> {
        let judge = effective.scenario.judge();
        let of_tokens = self.named().into_iter().filter(|(name, _)| *name != "latency");
        let of_tokens = of_tokens.filter_map(|(name, limit)| limit.map(|_| name)).next();
        match of_tokens {
            _ if !effective.mode.has_performance() => Err(NoLatency::NotTimed(effective.mode.name())),
            Some(name) if !judge.has_token_latencies() => {
                Err(NoLatency::NotInScenario(name, effective.scenario.name()))
            }
            Some(name) if !effective.settings.use_token_latencies => Err(NoLatency::NoTokens(name)),
            _ => Ok(()),
        }
    }

    /// Counts the queries of a phase that kept all limits. A query with several samples (MultiStream) keeps them when
    /// each of its samples does. In Offline, where one query has all samples, each sample counts as one.
    pub fn count(&self, timeline: &Timeline, effective: &Effective) -> Within {
        let has_window = effective.shape.has_query_latencies();
        let per_query = if has_window { timeline.samples_per_query.max(1) } else { 1 };
        let more = usize::try_from(per_query - 1).unwrap_or(usize::MAX);
        let tokens = timeline.tokens().map(Some).chain(std::iter::repeat(None));
        let mut samples = timeline.samples().zip(tokens).map(|(end, tokens)| self.is_kept(end, tokens));
        let (mut queries, mut queries_within) = (0, 0);
        while let Some(first) = samples.next() {
            let is_kept = samples.by_ref().take(more).fold(first, |all, one| all & one);
            queries += 1;
            queries_within += u64::from(is_kept);
        }
        let per_s = seconds(timeline).map(|seconds| queries_within as f64 / seconds);
        Within { limits: *self, queries, queries_within, queries_per_s: per_s.filter(|_| queries > 0) }
    }

    /// Returns true when a sample was answered within all limits. An answer without usable token information is not
    /// within a limit of tokens. `tokens`: latency of the first one, and number of all; 0 where it is not known.
    fn is_kept(&self, end: SampleEnd, tokens: Option<(Option<u64>, u32)>) -> bool {
        let SampleEnd::Done { latency_ns } = end else { return false };
        let (first_ns, count) = tokens.unwrap_or_default();
        let tail_ns = first_ns.and_then(|first_ns| latency_ns.checked_sub(first_ns));
        let per_token_ns = tail_ns.filter(|_| count > 1).map(|tail_ns| tail_ns / (u64::from(count) - 1));
        let is_within =
            |limit: Option<u64>, ns: Option<u64>| limit.is_none_or(|limit| ns.is_some_and(|ns| ns <= limit));
        is_within(self.ttft_ns, first_ns)
            && is_within(self.tpot_ns, per_token_ns)
            && is_within(self.latency_ns, Some(latency_ns))
    }
}

impl Within {
    /// Share of the queries that kept the limits, from 0 to 1; none where no query was issued.
    pub(crate) fn share(&self) -> Option<f64> {
        (self.queries > 0).then(|| self.queries_within as f64 / self.queries as f64)
    }
}

/// The time until the last query was answered, s, as the official rates have it. Without an answer to it: until the
/// phase was closed. None where no time passed.
fn seconds(timeline: &Timeline) -> Option<f64> {
    let last = timeline.final_query?;
    let first = usize::try_from(last.first_position).unwrap_or(usize::MAX);
    let latency_ns = |end| if let SampleEnd::Done { latency_ns } = end { Some(latency_ns) } else { None };
    let slowest = timeline.samples().skip(first).map(latency_ns).reduce(|one, other| Some(one?.max(other?)));
    let done_ns = slowest.flatten().map_or(timeline.end_ns, |ns| last.scheduled_ns.saturating_add(ns));
    (done_ns > 0).then(|| done_ns as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use loadgen::plan::Plan;
    use loadgen::run::{RunOptions, run};
    use loadgen::settings::{Mode, Qsl, Scenario, TestSettings};
    use loadgen::sim::{SimOptions, SimWorld};

    use super::*;

    fn limits(text: &str) -> Result<WithinLimits, String> {
        text.parse().map_err(|error: WithinError| error.to_string())
    }

    #[test]
    fn limits_are_read_once_each_with_a_unit() {
        let all = limits("ttft=500ms, tpot=50ms,latency=1s").unwrap();
        let expectation =
            WithinLimits { ttft_ns: Some(500_000_000), tpot_ns: Some(50_000_000), latency_ns: Some(1_000_000_000) };
        assert_eq!((all, all.to_string().as_str()), (expectation, "ttft 500.0ms, tpot 50.0ms, latency 1.0s"));
        for (text, part) in [
            ("", "'' is no limit: write NAME=TIME"),
            ("500ms", "'500ms' is no limit: write NAME=TIME"),
            ("latency=1s,", "'' is no limit"),
            ("p99=1s", "there is no 'p99' to limit: write ttft, tpot or latency"),
            ("latency=1", "latency='1': write a number above 0 and a unit"),
            ("latency=0s", "a number above 0"),
            ("ttft=1s,ttft=2s", "ttft is there twice"),
        ] {
            let error = limits(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    fn plan(scenario: Scenario, change: impl Fn(&mut TestSettings)) -> Plan {
        let mut settings =
            TestSettings { scenario, min_duration_ms: 0, min_query_count: 100, ..TestSettings::default() };
        change(&mut settings);
        Plan::new(settings, Qsl { total: 64, performance: 64 }).unwrap()
    }

    #[test]
    fn a_limit_needs_what_it_is_about() {
        let outcome_of =
            |text: &str, plan: &Plan| limits(text).unwrap().check(plan.effective()).map_err(|e| e.to_string());
        let plain = plan(Scenario::SERVER, |_| {});
        let tokens = |scenario| plan(scenario, |settings| settings.use_token_latencies = true);
        assert_eq!(outcome_of("latency=1s", &plain), Ok(()));
        assert_eq!(outcome_of("ttft=1s,tpot=1s,latency=1s", &tokens(Scenario::SERVER)), Ok(()));
        assert!(outcome_of("latency=1s,tpot=1s", &plain).unwrap_err().starts_with("tpot: token runs alone"));
        let offline = outcome_of("ttft=1s", &tokens(Scenario::OFFLINE)).unwrap_err();
        assert!(offline.starts_with("ttft: Offline measures whole answers"), "{offline}");
        let accuracy = plan(Scenario::SERVER, |settings| settings.mode = Mode::AccuracyOnly);
        assert!(outcome_of("latency=1s", &accuracy).unwrap_err().contains("mode AccuracyOnly measures no latencies"));
    }

    /// The queries of a run in virtual time within a limit, and the latency of its answers.
    fn counted(plan: &Plan, sut: SimOptions, text: &str) -> Within {
        let outcome = run(plan, &mut SimWorld::new(sut), &mut (), RunOptions::default());
        let timeline = outcome.performance().unwrap().timeline.as_ref().unwrap();
        limits(text).unwrap().count(timeline, plan.effective())
    }

    #[test]
    fn failed_samples_are_not_within_and_the_rate_has_the_same_samples() {
        let server = plan(Scenario::SERVER, |settings| settings.server_target_qps = 1_000.0);
        let all = counted(&server, SimOptions::default(), "latency=1h");
        assert!(all.queries >= 100 && all.queries_within == all.queries && all.share() == Some(1.0), "{all:?}");
        let none = counted(&server, SimOptions::default(), "latency=1ns");
        assert_eq!((none.queries, none.queries_within, none.queries_per_s), (all.queries, 0, Some(0.0)));
        let half = counted(&server, SimOptions { failing: 0.5, ..SimOptions::default() }, "latency=1h");
        assert!(half.queries_within > 0 && half.queries_within < half.queries, "{half:?}");
    }

    #[test]
    fn a_query_of_several_samples_is_within_when_all_of_them_are() {
        let multi = plan(Scenario::MULTI_STREAM, |settings| settings.multi_stream_samples_per_query = 8);
        let failing = SimOptions { failing: 0.2, ..SimOptions::default() };
        let counted = counted(&multi, failing, "latency=1h");
        assert!(counted.queries >= 100, "{counted:?}");
        // Of eight samples one at least fails in five queries of six.
        assert!(counted.queries_within > 0 && counted.queries_within < counted.queries / 2, "{counted:?}");
    }

    #[test]
    fn tokens_have_limits_of_their_own() {
        let limits = limits("ttft=10ns,tpot=5ns").unwrap();
        let done = |latency_ns| SampleEnd::Done { latency_ns };
        assert!(limits.is_kept(done(30), Some((Some(10), 5))), "20 ns for four tokens");
        assert!(!limits.is_kept(done(30), Some((Some(11), 5))) && !limits.is_kept(done(40), Some((Some(10), 5))));
        for unusable in [None, Some((None, 5)), Some((Some(10), 1))] {
            assert!(!limits.is_kept(done(30), unusable), "{unusable:?}");
        }
        assert!(!limits.is_kept(SampleEnd::Failed { scheduled_ns: 0 }, Some((Some(1), 5))));
    }
}
