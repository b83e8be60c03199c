//! The verdict on lateness: a schedule lag beyond its limit makes a result INVALID. Pure.

use std::time::Duration;

use loadgen::judge::Verdict;
use loadgen::plan::Plan;
use loadgen::run::LagStats;

use super::limiting_cause::LimitingFacts;

/// The code of the reason that samples were sent late.
pub(super) const LATE: &str = "schedule_lag";

/// A generator that was late has measured what made it late, not the SUT. Only scenarios with a schedule can be late.
pub(super) fn add(verdict: &mut Verdict, lag: LagStats, plan: &Plan, limit_ns: u64, limiting: LimitingFacts<'_>) {
    if !plan.effective().shape.has_schedule() || lag.count == 0 || lag.p99_ns <= limit_ns {
        return;
    }
    let [lag, limit] = [lag.p99_ns, limit_ns].map(Duration::from_nanos);
    let because = limiting.by(limiting.evidence.of_lateness()).because();
    let remark = format!("schedule lag p99 {lag:.1?}, {limit:.1?} allowed (--max-lag)");
    verdict.add_own_rule(LATE, format!("samples were sent late, {because}; {remark}"));
}
