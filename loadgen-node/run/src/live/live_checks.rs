//! Judgement of a run while it goes on: each rule with what was found so far. Pure.
//!
//! It is a forecast for whoever looks on. Nothing here says VALID: that is known when every sample was answered and
//! everything was written.

use lon_proto::figures::length_ns as time;
use qdl::NodeNow;

use super::latencies::{Percentiles, Spread};
use super::phase::Phase;
use super::run_facts::About;
use crate::network::cause::Cause;
use loadgen::judge::TokenLimits;
use loadgen::judge::early_stopping::{Bound, CONFIDENCE, Rule, percent};
use loadgen::run::LagStats;
use lon_world::failures::Failed;

/// The rules that a run is held to, as they stand.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Standing {
    /// Each rule with its state.
    pub checks: Vec<Check>,
}

/// One rule, as it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// Name of the quantity that is compared with a limit.
    pub name: String,
    /// Value found so far.
    pub value: String,
    /// Value that the rule wants.
    pub requirement: String,
    /// The state of the rule now.
    pub state: State,
    /// It is a percentile of durations.
    pub is_timed: bool,
}

/// State of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// It is kept so far.
    Holds,
    /// It cannot be kept yet: the run is too short so far.
    Open,
    /// It is not kept so far, and may be in the end.
    Fails,
    /// It is broken for good.
    Broken,
}

/// Facts from which a standing is found.
pub(super) struct Facts<'a> {
    pub about: &'a About,
    pub phase: &'a Phase,
    pub samples_per_query: u64,
    /// Latencies of samples, of first tokens, and times per token.
    pub spreads: [Spread; 3],
    /// Number of samples beyond the limit of each of `spreads`, or failed.
    pub late: [u64; 3],
    pub lag: LagStats,
    /// Cause of late samples, where there are some.
    pub why_late: Cause,
    pub failures: &'a [Failed],
    pub nodes: &'a [NodeNow],
    /// The longest stall of the phase, ns, and of which end it was; none when there was none.
    pub longest_stall: Option<(String, u64)>,
}

impl Standing {
    /// The rule that speaks most against the run; none when none does so far.
    pub fn against(&self) -> Option<&Check> {
        let worst = self.checks.iter().map(|check| check.state).max().filter(|state| *state >= State::Fails)?;
        self.checks.iter().find(|check| check.state == worst)
    }

    /// The same in a few words.
    pub fn text(&self) -> String {
        match self.against() {
            None => "nothing against it so far".to_owned(),
            Some(check) => {
                let head = if check.state == State::Broken { "INVALID" } else { "not VALID so far" };
                format!("{head}: {}", check.text())
            }
        }
    }

    /// Rules that are held against a limit of time, for a display with little room.
    pub fn timed(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(|check| check.is_timed)
    }

    pub(super) fn of(facts: &Facts<'_>) -> Standing {
        let mut checks = vec![answers(facts), nodes(facts.nodes)];
        checks.extend(facts.longest_stall.as_ref().and_then(|stall| stall_check(stall, facts.about.lag_limit_ns)));
        if !facts.phase.is_accuracy {
            checks.extend(latencies(facts));
            checks.extend(lag(facts));
            checks.extend(early_stopping(facts));
            checks.extend(sizes(facts));
        }
        Standing { checks }
    }
}

impl Check {
    fn new(name: impl Into<String>, value: impl Into<String>, requirement: impl Into<String>, state: State) -> Check {
        Check { name: name.into(), value: value.into(), requirement: requirement.into(), state, is_timed: false }
    }

    fn timed(name: String, value: String, limit_ns: u64, state: State) -> Check {
        Check { is_timed: true, ..Check::new(name, value, format!("{} at most", time(limit_ns)), state) }
    }

    /// The rule as one text.
    pub fn text(&self) -> String {
        format!("{} {} ({})", self.name, self.value, self.requirement)
    }
}

fn holds(is_kept: bool, otherwise: State) -> State {
    if is_kept { State::Holds } else { otherwise }
}

/// Every sample is to be answered once.
fn answers(facts: &Facts<'_>) -> Check {
    let failed: u64 = facts.failures.iter().map(|failed| failed.samples).sum();
    let of = |count: fn(&NodeNow) -> u64| facts.nodes.iter().map(count).sum::<u64>();
    let (twice, late, foreign) = (of(|n| n.counts.duplicate), of(|n| n.counts.late), of(|n| n.counts.foreign));
    let most = facts.failures.iter().max_by_key(|failed| failed.samples);
    let why = most.map(|failed| format!(": {}", failed.first)).unwrap_or_default();
    let counted = [(failed, "failed"), (twice, "answered twice"), (late, "answered late"), (foreign, "never sent")];
    let parts: Vec<String> =
        counted.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    // A failure in one trial of a search is no fault of the other trials.
    let bad = if facts.about.is_search { State::Fails } else { State::Broken };
    match parts.is_empty() {
        true => Check::new("answers", "none failed", "one for each sample", State::Holds),
        false => Check::new("answers", parts.join(", ") + &why, "one for each sample", bad),
    }
}

fn nodes(nodes: &[NodeNow]) -> Check {
    let lost: Vec<&NodeNow> = nodes.iter().filter(|node| node.lost.is_some()).collect();
    let value = match lost.first().and_then(|node| Some((node, node.lost.as_ref()?))) {
        None => format!("{} of {}", nodes.len(), nodes.len()),
        Some((node, why)) => format!("{} lost, {}: {why}", lost.len(), node.name),
    };
    Check::new("nodes", value, "none may be lost", holds(lost.is_empty(), State::Broken))
}

fn stall_check((end, ns): &(String, u64), limit_ns: u64) -> Option<Check> {
    let value = format!("{end} stood still for {}", time(*ns));
    (*ns > limit_ns).then(|| Check::new("stalls", value, format!("{} at most", time(limit_ns)), State::Broken))
}

/// The judged percentiles against their limits.
fn latencies(facts: &Facts<'_>) -> Vec<Check> {
    let About { terms, has_latency_limit, may_extend, .. } = facts.about;
    if !has_latency_limit {
        return Vec::new();
    }
    let [whole, first, per_token] = facts.spreads;
    let [late, late_first, late_per_token] = facts.late;
    let limits = match terms.tokens {
        None => vec![("latency", whole, late, terms.target_latency_ns)],
        Some(TokenLimits { ttft_ns, tpot_ns }) => {
            vec![("TTFT", first, late_first, ttft_ns), ("TPOT", per_token, late_per_token, tpot_ns)]
        }
    };
    // With this many late ones of all that are planned, the percentile is beyond its limit.
    let planned = facts.phase.planned_samples.unwrap_or(u64::MAX);
    let hopeless = planned.saturating_sub((planned as f64 * terms.target_percentile) as u64).max(1);
    let check = |(what, spread, late, limit_ns): (&str, Spread, u64, u64)| {
        let judged_ns = spread.so_far.as_ref().map(|percentiles: &Percentiles| percentiles.judged_ns);
        let state = match judged_ns {
            _ if late >= hopeless && !may_extend => State::Broken,
            Some(ns) if ns > limit_ns => State::Fails,
            Some(_) => State::Holds,
            None => State::Open,
        };
        let name = format!("p{} {what}", percent(terms.target_percentile));
        let value = judged_ns.map_or_else(|| "not known yet".to_owned(), time);
        Check::timed(name, value, limit_ns, state)
    };
    limits.into_iter().map(check).collect()
}

/// Only where there is a schedule can the LoadGen node be late.
fn lag(facts: &Facts<'_>) -> Option<Check> {
    let (lag, limit_ns) = (facts.lag, facts.about.lag_limit_ns);
    let state = holds(lag.p99_ns <= limit_ns, State::Fails);
    let why = match (state, facts.why_late) {
        (State::Holds, _) => String::new(),
        (_, Cause::Unknown) => ", why is not known".to_owned(),
        (_, cause) => format!(", because of {}", cause.text()),
    };
    let check = || Check::timed("p99 lag".to_owned(), time(lag.p99_ns) + &why, limit_ns, state);
    (facts.about.has_schedule && lag.count > 0).then(check)
}

/// Checks the number of queries against the number that early stopping asks for.
fn early_stopping(facts: &Facts<'_>) -> Option<Check> {
    let About { terms, early_stopping, may_extend, .. } = facts.about;
    let done = facts.phase.ended / facts.samples_per_query;
    let planned = facts.phase.planned_samples.map(|samples| samples / facts.samples_per_query);
    let needed = match early_stopping {
        Rule::None => return None,
        rule @ Rule::Estimate { .. } => rule.least_queries(terms.target_percentile),
        Rule::Limit => {
            let late = if terms.tokens.is_some() { facts.late[1].max(facts.late[2]) } else { facts.late[0] };
            let bound = Bound::new(terms.target_percentile, 0.0, CONFIDENCE);
            bound.min_passing(late).saturating_add(late)
        }
    };
    let state = match planned {
        _ if needed <= done => State::Holds,
        Some(planned) if needed > planned && !may_extend => State::Broken,
        _ => State::Open,
    };
    Some(Check::new("early stopping", format!("{done} queries"), format!("{needed} at least"), state))
}

/// Checks the duration of the phase and its number of queries against the least that it must have.
fn sizes(facts: &Facts<'_>) -> Vec<Check> {
    let terms = &facts.about.terms;
    let done = facts.phase.ended / facts.samples_per_query;
    let elapsed_ms = facts.phase.elapsed.as_millis() as u64;
    let ms = |ms: u64| time(ms.saturating_mul(1_000_000));
    let duration = (terms.min_duration_ms > 0).then(|| {
        let state = holds(elapsed_ms >= terms.min_duration_ms, State::Open);
        Check::new("duration", ms(elapsed_ms), format!("{} at least", ms(terms.min_duration_ms)), state)
    });
    let queries = (terms.min_query_count > 1).then(|| {
        let state = holds(done >= terms.min_query_count, State::Open);
        Check::new("queries", done.to_string(), format!("{} at least", terms.min_query_count), state)
    });
    duration.into_iter().chain(queries).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn about() -> About {
        crate::examples::about(false)
    }

    fn phase(ended: u64) -> Phase {
        Phase {
            number: 1,
            is_accuracy: false,
            trial: None,
            elapsed: Duration::from_secs(ended / 100),
            planned: Some(Duration::from_secs(100)),
            planned_samples: Some(10_000),
            ended,
            is_over: false,
        }
    }

    fn facts<'a>(about: &'a About, phase: &'a Phase, judged_ns: u64, late: u64) -> Facts<'a> {
        let so_far = Some(Percentiles { count: phase.ended, judged_ns, ..Percentiles::default() });
        Facts {
            about,
            phase,
            samples_per_query: 1,
            spreads: [Spread { recent: None, so_far }, Spread::default(), Spread::default()],
            late: [late, 0, 0],
            lag: LagStats { count: phase.ended, p50_ns: 10, p99_ns: 20_000, max_ns: 70_000 },
            why_late: Cause::Link,
            failures: &[],
            nodes: &[],
            longest_stall: None,
        }
    }

    fn states(standing: &Standing) -> Vec<(&str, State)> {
        standing.checks.iter().map(|check| (check.name.as_str(), check.state)).collect()
    }

    #[test]
    fn a_run_that_is_too_short_so_far_has_nothing_against_it() {
        let (about, phase) = (about(), phase(100));
        let standing = Standing::of(&facts(&about, &phase, 50_000_000, 0));
        let open = [("early stopping", State::Open), ("duration", State::Open), ("queries", State::Open)];
        let limits = [("p99 latency", State::Holds), ("p99 lag", State::Holds)];
        assert_eq!(states(&standing)[2..], [limits.as_slice(), &open].concat());
        assert_eq!((standing.against(), standing.text().as_str()), (None, "nothing against it so far"));
    }

    #[test]
    fn a_percentile_beyond_its_limit_may_recover_until_too_many_are_late() {
        let (about, phase) = (about(), phase(2_000));
        let standing = Standing::of(&facts(&about, &phase, 150_000_000, 40));
        let text = "not VALID so far: p99 latency 150.0ms (100.0ms at most)";
        assert_eq!(standing.text(), text);
        // One in a hundred of 10,000 may be late.
        let broken = Standing::of(&facts(&about, &phase, 150_000_000, 100));
        assert_eq!(broken.against().map(|check| check.state), Some(State::Broken));
        let extended = About { may_extend: true, ..about };
        let standing = Standing::of(&facts(&extended, &phase, 150_000_000, 100));
        assert_eq!(standing.against().map(|check| check.state), Some(State::Fails));
    }

    #[test]
    fn lateness_is_told_with_its_cause() {
        let (about, phase) = (about(), phase(2_000));
        let late = LagStats { p99_ns: 1_600_000_000, ..facts(&about, &phase, 1, 0).lag };
        let text_of = |why_late| Standing::of(&Facts { lag: late, why_late, ..facts(&about, &phase, 1, 0) }).text();
        assert_eq!(text_of(Cause::Link), "not VALID so far: p99 lag 1.6s, because of the link (1.0ms at most)");
        assert!(text_of(Cause::Unknown).contains("why is not known"));
    }

    #[test]
    fn what_is_lost_is_lost_for_good_unless_it_was_a_trial() {
        let (mut about, phase) = (about(), phase(2_000));
        let failed = [Failed { reason: "timed_out", first: "no answer within 60s".to_owned(), samples: 3 }];
        let lost = Some(qdl::NodeFailure::Connection("reset".to_owned()));
        let nodes = [NodeNow { name: "N1".to_owned(), lost, ..NodeNow::default() }];
        let verdict_of = |about: &About| {
            let standing = Standing::of(&Facts { failures: &failed, ..facts(about, &phase, 1, 0) });
            (standing.text(), standing.against().map(|check| check.state))
        };
        let text = "INVALID: answers 3 failed: no answer within 60s (one for each sample)";
        assert_eq!(verdict_of(&about), (text.to_owned(), Some(State::Broken)));
        let standing = Standing::of(&Facts { nodes: &nodes, ..facts(&about, &phase, 1, 0) });
        assert!(standing.text().contains("1 lost, N1: the connection failed: reset"), "{}", standing.text());
        let stall = |ns| Some(("N2".to_owned(), ns));
        let standing = |ns| Standing::of(&Facts { longest_stall: stall(ns), ..facts(&about, &phase, 1, 0) });
        assert!(standing(500_000).against().is_none() && standing(2_000_000_000).text().contains("N2 stood still"));
        about.is_search = true;
        assert_eq!(verdict_of(&about).1, Some(State::Fails));
    }

    #[test]
    fn token_runs_are_judged_by_their_tokens_and_accuracy_runs_by_their_answers() {
        let mut about = about();
        about.terms.tokens = Some(TokenLimits { ttft_ns: 2_000, tpot_ns: 100 });
        let mut phase = phase(2_000);
        let mut inputs = facts(&about, &phase, 1, 0);
        inputs.spreads[1].so_far = Some(Percentiles { judged_ns: 3_000, ..Percentiles::default() });
        let standing = Standing::of(&inputs);
        let timed: Vec<_> = standing.timed().map(Check::text).collect();
        assert_eq!(timed[..2], ["p99 TTFT 3.0µs (2.0µs at most)", "p99 TPOT not known yet (100.0ns at most)"]);
        phase.is_accuracy = true;
        let standing = Standing::of(&facts(&about, &phase, 1, 0));
        assert_eq!(states(&standing), [("answers", State::Holds), ("nodes", State::Holds)]);
    }

    #[test]
    fn late_queries_ask_for_more_than_is_planned() {
        let (mut about, phase) = (about(), phase(2_000));
        about.terms.target_latency_ns = u64::MAX;
        let state = |late| {
            let standing = Standing::of(&facts(&about, &phase, 1, late));
            standing.checks.iter().find(|check| check.name == "early stopping").unwrap().state
        };
        assert_eq!([state(0), state(20), state(90)], [State::Holds, State::Open, State::Broken]);
    }
}
