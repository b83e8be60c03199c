//! A search for the highest load, as lines for people.

use loadgen::run::{Bracket, Trial};
use loadgen::settings::TestSettings;
use lon_proto::figures::{duration_ns as human, number};

/// A trial of a search: its load, and the limit that it kept or missed.
pub(crate) fn trial(trial: &Trial) -> String {
    let is = match (trial.passed, trial.is_verification) {
        (true, false) => "keeps the limit",
        (false, false) => "misses the limit",
        (true, true) => "verified by a whole run",
        (false, true) => "failed in a whole run",
    };
    let (load, p99, queries) = (number(trial.load), human(trial.p99_ns), trial.queries);
    let note = if trial.known { ", known before" } else { "" };
    format!("{load}: {is} (p99 {p99}, {queries} queries{note})")
}

/// The highest load that keeps its limit. A load that kept it in a trial alone is named as such: the search ended
/// before a whole run verified it.
pub(crate) fn peak(settings: &TestSettings, bracket: Bracket, trials: &[Trial]) -> String {
    let load = settings.scenario.traffic().load(settings);
    let (setting, unit) = load.map_or(("load", ""), |load| (load.setting, load.unit));
    let failed = |load: f64| trials.iter().any(|trial| !trial.passed && trial.load <= load);
    let in_trials = trials.iter().filter(|trial| trial.passed && !trial.is_verification).map(|trial| trial.load);
    let in_trials = in_trials.filter(|load| !failed(*load)).reduce(f64::max);
    let highest = match (bracket.low, in_trials) {
        (Some(low), _) => format!("{} {unit} keeps the limit", number(low)),
        (None, Some(load)) => {
            format!("{} {unit} keeps the limit in a trial, which no whole run verified", number(load))
        }
        (None, None) => {
            return format!("no {setting} tried keeps the limit{}; trials: {}", lowest(trials), trials.len());
        }
    };
    let above = match bracket.high {
        Some(high) => format!("{} does not", number(high)),
        None => "no load failed yet (--find-peak-resume continues)".to_owned(),
    };
    let spread = bracket.low.or(in_trials).and_then(|load| spread(load, trials)).unwrap_or_default();
    format!("{setting} {highest}, {above}; trials: {}{spread}", trials.len())
}

/// Runs with a load this near to the one that was found show how far their latencies differ.
const NEAR: f64 = 0.05;

/// The spread of the judged latency over the runs near this load; none for fewer than two.
pub(crate) fn spread(load: f64, trials: &[Trial]) -> Option<String> {
    let near = trials.iter().filter(|trial| (trial.load - load).abs() <= NEAR * load);
    let mut latencies_ns: Vec<i64> = near.map(|trial| trial.target_percentile_ns).filter(|ns| *ns > 0).collect();
    latencies_ns.sort_unstable();
    let [least, .., most] = latencies_ns[..] else { return None };
    let (count, least, most) = (latencies_ns.len(), human(least), human(most));
    Some(format!("; judged latency of the {count} runs within 5 % of {}: {least} to {most}", number(load)))
}

/// The lowest load that was tried, which is the one to begin below.
fn lowest(trials: &[Trial]) -> String {
    let lowest = trials.iter().map(|trial| trial.load).reduce(f64::min);
    lowest.map_or(String::new(), |load| format!(": {} does not, so begin with a lower one", number(load)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(load: f64, passed: bool, is_verification: bool) -> Trial {
        Trial {
            load,
            passed,
            is_verification,
            official_valid: passed,
            reason: String::new(),
            queries: 100,
            p99_ns: 1_000_000,
            target_percentile_ns: 1_000_000,
            lag_p99_ns: 0,
            known: false,
        }
    }

    #[test]
    fn a_load_that_no_whole_run_verified_is_named_as_such() {
        let settings = TestSettings { scenario: loadgen::settings::Scenario::SERVER, ..TestSettings::default() };
        let peak = |low, trials: &[Trial]| super::peak(&settings, Bracket { low, high: Some(2_883.0) }, trials);
        let trials = [of(1_500.0, true, false), of(2_859.0, true, false), of(2_883.0, false, false)];
        let text = peak(None, &trials);
        assert!(text.starts_with("target_qps 2859 "), "{text}");
        assert!(text.contains(" in a trial, which no whole run verified, 2883 does not"), "{text}");
        assert!(peak(Some(2_859.0), &trials).contains(" keeps the limit, 2883 does not; trials: 3"));
        let spread = "; judged latency of the 2 runs within 5 % of 2859: 1.0ms to 1.0ms";
        assert!(peak(Some(2_859.0), &trials).ends_with(spread));
        let none = peak(None, &trials[2..]);
        assert_eq!(none, "no target_qps tried keeps the limit: 2883 does not, so begin with a lower one; trials: 1");
        let refuted = [trials[0].clone(), trials[1].clone(), of(2_859.0, false, true)];
        let text = peak(None, &refuted);
        assert!(text.starts_with("target_qps 1500 "), "a whole run refuted 2859: {text}");
    }
}
