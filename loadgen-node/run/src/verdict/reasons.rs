//! The node's own reasons against a result: schedule lag, lost nodes, byte counts that differ, failures, the SUT's
//! name, accuracy. Pure.

use std::collections::BTreeMap;

use lon_proto::figures::length_ns;
use lon_qsl::accuracy::{Score, ScoreError};
use lon_qsl::benchmark::Benchmark;
use qdl::{Failure, NodeFailure, NodeReport, SutName};

use super::lag_limit::LagLimit;
use super::limiting_cause::LimitingFacts;
use super::{lateness, stalls};
use crate::division::Findings;
use loadgen::judge::{Against, Reason, Verdict};
use loadgen::plan::Plan;
use loadgen::run::{End, PhaseOutcome, RunOutcome};
use loadgen::trace::PhaseMode;
use loadgen::world::TimeNs;
use lon_world::stall::Stall;
use lon_world::tally::{OTHER_FAILURES, Tally};

/// The code of the reason that speaks of a panic.
pub(crate) const BUG: &str = "bug";

/// The code of the reason that an accuracy target was not judged, because the dataset has no right answers.
pub(crate) const NO_TRUTHS: &str = "accuracy_not_judged";

/// The code of the reasons that speak of samples without an answer.
const FAILED: &str = "failed_samples";

/// The words of a SUT's name that is in doubt since no node could be asked.
const NOT_ASKED: &str = "the nodes could not be asked";

/// Codes of the reasons that a run has because a lost node has ended it early.
const OF_A_BREAK: [&str; 6] =
    ["broken", "lost_samples", "performance_constraints", "min_duration", "min_queries", "early_stopping"];

/// Evidence from which the reasons are found.
pub(crate) struct Evidence<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) benchmark: &'a Benchmark,
    /// The largest schedule lag (p99) of a valid result.
    pub(crate) lag_limit: LagLimit,
    pub(crate) reports: &'a [NodeReport],
    /// Counts that differ between the two ends of the network, in words.
    pub(crate) differences: &'a [String],
    pub(crate) tally: &'a Tally,
    /// The SUT's name before the run and after it.
    pub(crate) names: [&'a SutName; 2],
    pub(crate) score: Option<&'a Result<Score, ScoreError>>,
    /// When either end stood still while a phase was timed.
    pub(crate) stalls: &'a [Stall],
    /// Message of the first panic of this program, if there was one.
    pub(crate) bug: Option<&'a str>,
    /// Findings on the rules of the Network division, where the run is for it.
    pub(crate) findings: Option<&'a Findings>,
    /// Facts from which the cause that held the run back is found.
    pub(crate) limiting: LimitingFacts<'a>,
}

/// Adds the node's reasons to those of the engine.
pub(crate) fn add(outcome: &mut RunOutcome, evidence: &Evidence<'_>) {
    let Evidence { plan, benchmark, lag_limit, reports, differences, tally, names, score, stalls, bug, .. } = *evidence;
    let limiting = evidence.limiting;
    let (lag, searched) = (outcome.lag(), outcome.find_peak.is_some());
    let counted = stalls::of_judged_phases(stalls, outcome);
    let (phases, broken) = (&outcome.phases, outcome.end == End::Broken);
    let engine_faults: Vec<Reason> = outcome.verdict.faults().cloned().collect();
    let verdict = &mut outcome.verdict;
    let limit_ns = lag_limit.ns();
    if verdict.official().is_some() {
        lateness::add(verdict, lag, plan, limit_ns, limiting);
    }
    stalls::add(verdict, &counted, limit_ns);
    if let Some(bug) = bug {
        verdict.add(BUG, format!("this program has a bug: {bug}"));
    }
    let lost: Vec<&NodeReport> = reports.iter().filter(|report| report.lost.is_some()).collect();
    let unanswered = if lost.len() == 1 && !searched { because_lost(tally) } else { 0 };
    let phase = phases.last().filter(|_| broken && !searched);
    let lost_after = phase.zip(tally.lost_at).map(|(phase, at)| lost_after(phase, at));
    add_nodes(verdict, reports, &Since { lost_after, unanswered });
    // When a run is broken off, one end has counted samples under way that the other has not.
    if outcome.end == End::Completed {
        for difference in differences {
            verdict.add("bytes", difference.clone());
        }
    }
    // In a search for the peak the failures are those of all trials, which are no fault of the reported one.
    if !searched {
        add_failures(verdict, tally, limiting, &lost);
    }
    for answers in tally.odd.empty_phases() {
        verdict.add("empty_answers", format!("all {answers} answers of a phase have not a byte"));
    }
    // A node that is gone cannot say its name, and has a reason of its own above.
    let is_gone =
        |report: &&NodeReport| report.lost.is_some() || (report.sut.is_err() && report.peer_kind.no_counters.is_none());
    let gone: Vec<&NodeReport> = reports.iter().filter(is_gone).collect();
    let is_of_a_loss = |doubt: &str| {
        let of_node = |node: &&NodeReport| doubt.contains(&format!("node {} did not say", node.name));
        gone.iter().any(of_node) || (!lost.is_empty() && doubt.contains(NOT_ASKED))
    };
    for doubt in names.iter().filter_map(|name| name.doubt.as_ref()).filter(|doubt| !is_of_a_loss(doubt)) {
        verdict.add("sut_name", doubt.clone());
    }
    if !lost.is_empty() && broken {
        verdict.explain(&OF_A_BREAK);
    }
    add_accuracy(verdict, benchmark, score);
    // When a run is broken off, what is wrong with it is said above.
    for broken in
        evidence.findings.iter().filter(|_| outcome.end == End::Completed).flat_map(|all| all.broken_afterwards())
    {
        outcome.verdict.add_own_rule("division", broken);
    }
    log_faults(outcome, &engine_faults);
}

/// Makes an error of the detail log of every fault that the engine did not know of. Checkers that count errors refuse
/// such a log, that of an accuracy run included, which has no verdict. Samples that failed are in the log already. That
/// a run was interrupted the engine knows, and an accuracy log that was cut off has no other sign of it.
fn log_faults(outcome: &mut RunOutcome, engine_faults: &[Reason]) {
    let at = outcome.ended;
    if outcome.end == End::Interrupted {
        outcome.events.error(at, "the run was interrupted before its end".to_owned());
    }
    let new = outcome.verdict.faults().filter(|fault| fault.code != FAILED && !engine_faults.contains(fault));
    new.for_each(|fault| outcome.events.error(at, fault.text.clone()));
}

/// Samples that failed since a node was lost: its own, and those that had no node any more.
fn because_lost(tally: &Tally) -> u64 {
    let texts = [Failure::NodeLost, Failure::NoNode, Failure::RunEnded].map(|failure| failure.to_string());
    texts.iter().filter_map(|text| tally.failures().get(text)).sum()
}

/// When a node was lost, and what followed from it.
struct Since {
    /// The phase that the loss broke off, and for how long it had been measured.
    lost_after: Option<String>,
    /// The samples that got no answer because of the one that was lost.
    unanswered: u64,
}

/// The time from the beginning of a phase to a loss, in words.
fn lost_after(phase: &PhaseOutcome, lost_at: TimeNs) -> String {
    let what = if phase.mode == PhaseMode::AccuracyOnly { "accuracy" } else { "performance" };
    let ns = lost_at.0.saturating_sub(phase.started.0);
    format!("it was lost {} after the {what} phase had begun, which ended the measurement", length_ns(ns))
}

/// Adds what speaks against single nodes.
fn add_nodes(verdict: &mut Verdict, reports: &[NodeReport], since: &Since) {
    let failure_text = |failure: &NodeFailure| {
        let unanswered = Some(since.unanswered).filter(|count| *count > 0);
        let unanswered = unanswered.map(|count| format!("{} got no answer since", samples(count)));
        let parts = [Some(failure.to_string()), since.lost_after.clone(), unanswered];
        parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    };
    for report in reports {
        let NodeReport { name, counts, sut, lost, flushed, .. } = report;
        match (lost, sut) {
            (Some(failure), _) => verdict.add("node_lost", format!("node {name} was lost: {}", failure_text(failure))),
            // Servers of other protocols have no counters. Reports say so; it is no reason against the result.
            (None, Err(_)) if report.peer_kind.no_counters.is_some() => {}
            (None, Err(reason)) => verdict.add("counters", format!("node {name} gave no counters: {reason}")),
            (None, Ok(_)) => {}
        }
        if let (None, Err(why)) = (lost, flushed) {
            verdict.add("flush", format!("node {name} failed Flush: {why}"));
        }
        for (count, code, what) in [
            (counts.duplicate, "duplicate_answers", "to samples that it had answered"),
            (counts.late, "late_answers", "to samples that had been given up"),
            (counts.foreign, "foreign_answers", "to samples that it was never sent"),
        ] {
            if count > 0 {
                let answers = if count == 1 { "answer" } else { "answers" };
                verdict.add(code, format!("node {name} sent {count} {answers} {what}"));
            }
        }
    }
}

/// A number of samples in words.
fn samples(count: u64) -> String {
    if count == 1 { "1 sample".to_owned() } else { format!("{count} samples") }
}

/// Adds why samples failed. Those that failed since one of the `lost` nodes was lost are told with that node, or, of
/// several, together.
fn add_failures(verdict: &mut Verdict, tally: &Tally, limiting: LimitingFacts<'_>, lost: &[&NodeReport]) {
    let mut failures = tally.failures().clone();
    let followed = if lost.is_empty() { 0 } else { because_lost(tally) };
    if followed > 0 {
        for failure in [Failure::NodeLost, Failure::NoNode, Failure::RunEnded] {
            failures.remove(&failure.to_string());
        }
    }
    let (causes, others) = most_frequent(&failures);
    let overload = Failure::Overload.to_string();
    let cause_text = |(failure, count): &(&str, u64)| match *failure == overload {
        false => format!("{} failed: {failure}", samples(*count)),
        true => {
            let because = limiting.by(limiting.evidence.of_overload()).because();
            format!("{} failed: {failure}, {because}", samples(*count))
        }
    };
    let mut texts: Vec<String> = causes.iter().map(cause_text).collect();
    if others > 0 {
        texts.push(format!("{} failed for other reasons", samples(others)));
    }
    if followed > 0 && lost.len() > 1 {
        texts.push(format!("{} got no answer since nodes were lost", samples(followed)));
    }
    if texts.is_empty() && followed > 0 {
        verdict.explain(&[FAILED]);
    }
    // The causes take the place of the engine's bare number.
    let reason = |text| Reason { code: FAILED.to_owned(), text, against: Against::Measurement };
    verdict.carry(texts.into_iter().map(reason));
}

/// Reasons for failures, the most frequent first, and how many samples failed for others: a text that has a sample's
/// own numbers in it comes in any number of kinds.
fn most_frequent(failures: &BTreeMap<String, u64>) -> (Vec<(&str, u64)>, u64) {
    const SHOWN: usize = 5;
    let mut counts: Vec<(&str, u64)> = failures.iter().map(|(text, count)| (text.as_str(), *count)).collect();
    let others: u64 = counts.extract_if(.., |(text, _)| *text == OTHER_FAILURES).map(|(_, count)| count).sum();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let tail = counts.split_off(counts.len().min(SHOWN));
    (counts, others + tail.iter().map(|(_, count)| count).sum::<u64>())
}

fn add_accuracy(verdict: &mut Verdict, benchmark: &Benchmark, accuracy: Option<&Result<Score, ScoreError>>) {
    match (accuracy, benchmark.accuracy) {
        (Some(Err(error @ ScoreError::NoTruths { .. })), _) => verdict.add_own_rule(NO_TRUTHS, error.to_string()),
        (Some(Err(error)), _) => verdict.add_own_rule("accuracy_unknown", error.to_string()),
        (Some(Ok(score)), Some(target)) => {
            let first = (!target.is_between(score.value)).then_some((&target, score.value));
            for (target, value) in first.into_iter().chain(score.missed()) {
                let (metric, unit, target_text) = (target.metric.name(), target.metric.behind(), target.bounds());
                verdict.add_own_rule("accuracy", format!("{metric} is {value:.3}{unit}, the target is {target_text}"));
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use loadgen::report::detail;
    use loadgen::run::{RunOptions, Severity, run};
    use loadgen::settings::{Qsl, Scenario, TestSettings};
    use loadgen::sim::{SimOptions, SimWorld};
    use qdl::{NodeCounts, NodeRoom, NodeTraffic, PeerKind, SutCounts};

    use super::*;
    use crate::network::cause::Evidence as CauseEvidence;

    #[test]
    fn a_lost_node_is_an_error_of_the_log_and_failed_samples_are_not_told_twice() {
        let settings = TestSettings { scenario: Scenario::OFFLINE, min_duration_ms: 0, ..TestSettings::default() };
        let plan = Plan::new(settings, Qsl { total: 20, performance: 20 }).unwrap();
        let sut = SimOptions { failing: 0.5, ..SimOptions::default() };
        let mut outcome = run(&plan, &mut SimWorld::new(sut), &mut (), RunOptions::default());
        let engine_faults: Vec<Reason> = outcome.verdict.faults().cloned().collect();
        let before = outcome.events.errors();
        assert_eq!((engine_faults.len(), before), (1, 1), "samples failed, and the log says so");
        outcome.verdict.add("node_lost", "node a was lost: it closed the connection");
        outcome.verdict.add_own_rule("schedule_lag", "x");
        let failed = Reason { text: "9 samples failed: no answer".to_owned(), ..engine_faults[0].clone() };
        outcome.verdict.carry([failed]);
        log_faults(&mut outcome, &engine_faults);
        let last = outcome.events.iter().last().unwrap();
        assert_eq!((last.key.as_ref(), last.severity), ("error_runtime", Severity::Error));
        assert_eq!(last.value, "node a was lost: it closed the connection".into());
        assert_eq!(detail::trailer(&plan, &outcome).errors, before + 1);
    }

    fn report(name: &str, lost: Option<NodeFailure>) -> NodeReport {
        NodeReport {
            name: name.to_owned(),
            peer_kind: PeerKind::SUT_NODE,
            counts_resends: false,
            flushed: Ok(()),
            counts: NodeCounts::default(),
            traffic: NodeTraffic::default(),
            room: NodeRoom::default(),
            sut: lost.as_ref().map_or_else(|| Ok(SutCounts::default()), |failure| Err(failure.to_string())),
            lost,
            stalls: Vec::new(),
            local: None,
        }
    }

    /// The reasons against a run of which the SUT broke, with these nodes and these failures.
    fn reasons_of(reports: &[NodeReport], failures: &[Failure]) -> Vec<String> {
        let settings = TestSettings { scenario: Scenario::SERVER, server_target_qps: 1e3, ..TestSettings::default() };
        let plan = Plan::new(settings, Qsl { total: 20, performance: 20 }).unwrap();
        let sut = SimOptions { break_at: Some(TimeNs(500_000_000)), ..SimOptions::default() };
        let mut outcome = run(&plan, &mut SimWorld::new(sut), &mut (), RunOptions::default());
        assert_eq!(outcome.end, End::Broken);
        let codes: Vec<&str> = outcome.verdict.reasons().iter().map(|reason| reason.code.as_str()).collect();
        assert!(codes.contains(&"broken") && codes.contains(&"min_duration"), "{codes:?}");
        let mut tally = Tally::default();
        failures.iter().for_each(|failure| tally.failed(failure));
        tally.lost_at = Some(TimeNs(outcome.phases[0].started.0 + 500_000_000));
        let good = SutName { text: "Network SUT: a, b".to_owned(), trips: Vec::new(), doubt: None };
        let doubt = Some("SUT in doubt: node b did not say its name again: gone".to_owned());
        let after = SutName { doubt, ..good.clone() };
        let evidence = CauseEvidence::default();
        let limiting = LimitingFacts { evidence: &evidence, effective: plan.effective(), is_smaller: false };
        add(
            &mut outcome,
            &Evidence {
                plan: &plan,
                benchmark: Benchmark::find("synthetic").unwrap(),
                lag_limit: LagLimit::new(Some(Duration::from_secs(9)), plan.effective()),
                reports,
                differences: &[],
                tally: &tally,
                names: [&good, &after],
                score: None,
                stalls: &[],
                bug: None,
                findings: None,
                limiting,
            },
        );
        assert!(!outcome.verdict.is_valid() && outcome.verdict.official() == Some(false));
        outcome.verdict.reasons().iter().map(|reason| reason.text.clone()).collect()
    }

    #[test]
    fn a_lost_node_is_one_reason() {
        let gone = || Some(NodeFailure::Connection("gone".to_owned()));
        let failures = [Failure::NodeLost, Failure::NodeLost, Failure::NoNode, Failure::RunEnded];
        let reason = "node b was lost: the connection failed: gone; it was lost 500.0ms after the performance phase \
                      had begun, which ended the measurement; 4 samples got no answer since";
        assert_eq!(reasons_of(&[report("a", None), report("b", gone())], &failures), [reason]);
        // A failure with another cause is reported beside the lost node.
        let refused = [&failures[..], &[Failure::Refused("no".to_owned())]].concat();
        let of_both = reasons_of(&[report("a", None), report("b", gone())], &refused);
        assert_eq!(of_both, [reason, "1 sample failed: refused by the node: no"]);
        // Of several nodes nobody knows which of them a sample would have gone to.
        let of_two = reasons_of(&[report("a", gone()), report("b", gone())], &failures);
        let [a, b, last] = &of_two[..] else { panic!("{of_two:?}") };
        assert!(a.starts_with("node a was lost") && b.starts_with("node b was lost"), "{of_two:?}");
        assert_eq!(last, "4 samples got no answer since nodes were lost");
    }

    #[test]
    fn a_few_reasons_stand_for_many() {
        let failures = |all: &[(&str, u64)]| all.iter().map(|(text, count)| ((*text).to_owned(), *count)).collect();
        assert_eq!(most_frequent(&failures(&[("a", 1), ("b", 9)])), (vec![("b", 9), ("a", 1)], 0));
        let many = [("a", 1), ("b", 1), ("c", 7), ("d", 1), ("e", 1), ("f", 1), (OTHER_FAILURES, 40)];
        assert_eq!(most_frequent(&failures(&many)), (vec![("c", 7), ("a", 1), ("b", 1), ("d", 1), ("e", 1)], 41));
    }
}
