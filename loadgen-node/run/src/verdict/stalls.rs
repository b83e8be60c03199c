//! Stalls of a run: which of them count, and what is said of them. Pure.

use std::time::{Duration, Instant};

use qdl::NodeReport;

use loadgen::judge::Verdict;
use loadgen::run::{PhaseOutcome, RunOutcome};
use loadgen::trace::PhaseMode;
use lon_world::stall::{LOADGEN, Stall};

/// Number of stalls that a verdict lists one by one.
const SHOWN: usize = 5;

/// The stalls that touch a timed phase, in order. While samples are loaded nothing is measured.
pub(crate) fn of_run(mut stalls: Vec<Stall>, outcome: &RunOutcome) -> Vec<Stall> {
    stalls.retain(|stall| outcome.phases.iter().any(|phase| touches(stall, phase)));
    stalls.sort_by_key(|stall| stall.start_ns);
    stalls
}

/// Those of them that touch a phase that is judged. Nobody asks how long an accuracy phase takes.
pub(super) fn of_judged_phases(stalls: &[Stall], outcome: &RunOutcome) -> Vec<Stall> {
    let is_judged = |phase: &&PhaseOutcome| phase.mode == PhaseMode::PerformanceOnly;
    let judged: Vec<&PhaseOutcome> = outcome.phases.iter().filter(is_judged).collect();
    stalls.iter().filter(|stall| judged.iter().any(|phase| touches(stall, phase))).cloned().collect()
}

fn touches(stall: &Stall, phase: &PhaseOutcome) -> bool {
    let end_ns = stall.start_ns.saturating_add(stall.duration_ns);
    stall.start_ns < phase.ended.0 && end_ns > phase.started.0
}

/// The stalls of nodes, as the streams to them show. The clock of the run starts at `origin`; what was over by then is
/// left out.
pub(crate) fn of_nodes(reports: &[NodeReport], origin: Instant) -> Vec<Stall> {
    let ns = |at: Instant| u64::try_from(at.saturating_duration_since(origin).as_nanos()).unwrap_or(u64::MAX);
    let stall = |end: &String, stall: &qdl::Stall| {
        let start_ns = ns(stall.since);
        Stall { end: end.clone(), start_ns, duration_ns: ns(stall.since + stall.length) - start_ns }
    };
    let of_node = |report: &NodeReport| report.stalls.iter().map(|own| stall(&report.name, own)).collect::<Vec<_>>();
    reports.iter().flat_map(of_node).filter(|stall| stall.duration_ns > 0).collect()
}

/// Codes of the reasons: that an end stood still, and how often it did so beyond those that are listed.
const ONE: &str = "stall";
const MORE: &str = "more_stalls";

/// A stall that is longer than the schedule lag that is allowed makes the result INVALID, in every scenario. LoadGen
/// has no such rule: the stall is in its latencies. So the files in the official formats say nothing of it.
/// `stalls`: those of judged phases.
pub(super) fn add(verdict: &mut Verdict, stalls: &[Stall], limit_ns: u64) {
    let mut over = stalls.iter().filter(|stall| stall.duration_ns > limit_ns);
    for stall in over.by_ref().take(SHOWN) {
        let limit = Duration::from_nanos(limit_ns);
        verdict.add_own_rule(ONE, format!("{}, {limit:.1?} allowed (--max-lag)", text(stall)));
    }
    let more = over.count();
    if more > 0 {
        let stalls = if more == 1 { "stall" } else { "stalls" };
        verdict.add_own_rule(MORE, format!("and {more} more {stalls} (`stalls` in result_summary.json has all)"));
    }
}

/// Describes a stall, for people.
pub(crate) fn text(stall: &Stall) -> String {
    let Stall { end, start_ns, duration_ns } = stall;
    let [start, duration] = [start_ns, duration_ns].map(|ns| Duration::from_nanos(*ns));
    let who = if end == LOADGEN { "the LoadGen node".to_owned() } else { format!("SUT node {end}, or the way to it,") };
    format!("{who} stood still for {duration:.1?}, {start:.1?} after the start")
}

#[cfg(test)]
mod tests {
    use loadgen::plan::Plan;
    use loadgen::run::{RunOptions, run};
    use loadgen::settings::{Qsl, Scenario, TestSettings};
    use loadgen::sim::{SimOptions, SimWorld};

    use super::*;

    const S: u64 = 1_000_000_000;

    fn outcome() -> RunOutcome {
        let settings = TestSettings {
            scenario: Scenario::OFFLINE,
            min_query_count: 1,
            min_duration_ms: 0,
            ..TestSettings::default()
        };
        let plan = Plan::new(settings, Qsl { total: 8, performance: 8 }).unwrap();
        run(&plan, &mut SimWorld::new(SimOptions::default()), &mut (), RunOptions::default())
    }

    fn stall(start_ns: u64, duration_ns: u64) -> Stall {
        Stall { end: LOADGEN.to_owned(), start_ns, duration_ns }
    }

    #[test]
    fn stalls_of_nodes_are_told_by_the_clock_of_the_run() {
        let origin = Instant::now() + Duration::from_secs(10);
        let node_stall = |since_ns, length_ns| qdl::Stall {
            since: origin - Duration::from_secs(5) + Duration::from_nanos(since_ns),
            length: Duration::from_nanos(length_ns),
        };
        let report = NodeReport {
            name: "n".to_owned(),
            peer_kind: qdl::PeerKind::SUT_NODE,
            counts_resends: false,
            flushed: Ok(()),
            counts: qdl::NodeCounts::default(),
            traffic: qdl::NodeTraffic::default(),
            room: Default::default(),
            sut: Err(String::new()),
            lost: None,
            stalls: vec![node_stall(0, 2 * S), node_stall(4 * S, 3 * S), node_stall(8 * S, S)],
            local: None,
        };
        let times: Vec<_> =
            of_nodes(&[report], origin).iter().map(|stall| (stall.start_ns, stall.duration_ns)).collect();
        assert_eq!(times, [(0, 2 * S), (3 * S, S)]);
    }

    #[test]
    fn only_what_touches_a_phase_counts() {
        let mut outcome = outcome();
        (outcome.phases[0].started.0, outcome.phases[0].ended.0) = (1_000, 2_000);
        let all = [(100, 900), (1_999, 1), (100, 901), (2_000, 500)].map(|(start, ns)| stall(start, ns));
        let stalls = of_run(all.to_vec(), &outcome);
        assert_eq!(stalls, [stall(100, 901), stall(1_999, 1)]);
        assert_eq!(of_judged_phases(&stalls, &outcome), stalls);
        outcome.phases[0].mode = PhaseMode::AccuracyOnly;
        assert_eq!(of_judged_phases(&stalls, &outcome), [], "nobody asks how long an accuracy phase takes");
    }

    #[test]
    fn a_stall_is_held_against_the_lag_that_is_allowed() {
        let mut verdict = outcome().verdict;
        assert!(verdict.is_valid(), "{verdict:?}");
        add(&mut verdict, &[stall(3 * S, S / 2)], S / 2);
        assert!(verdict.is_valid(), "as long as allowed");
        add(&mut verdict, &vec![stall(3 * S, 8 * S); 7], S / 2);
        assert!(!verdict.is_valid());
        assert!(verdict.is_whole() && verdict.official() == Some(true), "LoadGen has no rule on stalls: {verdict:?}");
        let texts: Vec<&str> = verdict.reasons().iter().map(|reason| reason.text.as_str()).collect();
        let first = "the LoadGen node stood still for 8.0s, 3.0s after the start, 500.0ms allowed (--max-lag)";
        assert_eq!(
            (texts.len(), texts[0], texts[5]),
            (6, first, "and 2 more stalls (`stalls` in result_summary.json has all)")
        );
    }
}
