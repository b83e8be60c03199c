//! The result of a performance run as the scripts read it: TEST01 from the detail log, the others from the summary.

use super::detail::Detail;
use super::script::{Script, python_float};

/// The scripts allow this difference.
const USUAL: f64 = 0.10;
/// The difference that the scripts allow where latencies are so short that one disturbance counts.
const SHORT: f64 = 0.20;

/// The difference that TEST05 allows.
const SEEDS: f64 = 0.05;

/// The place of a scenario's result in the detail log and in the summary.
struct ResultOf {
    scenario: &'static str,
    /// Its key in the detail log.
    key: &'static str,
    /// The beginnings of its line in the summary.
    lines: &'static [&'static str],
    /// Up to this result, scripts allow the larger difference; none: never.
    short: Option<f64>,
    /// True when the result is a latency, ns.
    is_latency: bool,
    /// True when the latency has a limit, which both runs must share. The rate is printed with two decimals then.
    is_limited: bool,
}

const RESULTS: [ResultOf; 4] = [
    ResultOf {
        scenario: "Offline",
        key: "result_samples_per_second",
        lines: &["Samples per second"],
        short: None,
        is_latency: false,
        is_limited: false,
    },
    ResultOf {
        scenario: "Server",
        key: "result_completed_samples_per_sec",
        lines: &["Completed samples per second"],
        short: None,
        is_latency: false,
        is_limited: true,
    },
    ResultOf {
        scenario: "SingleStream",
        key: "early_stopping_latency_ss",
        lines: &[
            "Early stopping 90th percentile estimate",
            "Early stopping 90.0th percentile estimate",
            "Early stopping 99.9th percentile estimate",
        ],
        short: Some(200_000.0),
        is_latency: true,
        is_limited: false,
    },
    ResultOf {
        scenario: "MultiStream",
        key: "early_stopping_latency_ms",
        lines: &["Early stopping 99th percentile estimate", "Early stopping 99.0th percentile estimate"],
        short: Some(1_600_000.0),
        is_latency: true,
        is_limited: false,
    },
];

/// The comparison of two summaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Against {
    /// TEST04: the test must not be faster by more than 10 %.
    Caching,
    /// TEST05: the test must not be slower by more than 5 %.
    OtherSeeds,
}

fn result_of(scenario: &str) -> Option<&'static ResultOf> {
    RESULTS.iter().find(|result| result.scenario == scenario)
}

/// Holds the results of two detail logs against each other, both ways (`compliance/TEST01/verify_performance.py`).
pub(super) fn by_detail(reference: &Detail, test: &Detail) -> Script {
    let mut script = Script::begin("Verifying performance.");
    let mut results = Vec::new();
    for (name, log) in [("reference", reference), ("test", test)] {
        let scenario = log.text("effective_scenario").unwrap_or_default();
        let result = result_of(scenario).and_then(|result| Some((result, log.number(result.key)?)));
        let Some(result) = result else {
            let why = format!("the {name} has no result of scenario '{scenario}'");
            return script.fail(&why, why.clone());
        };
        if !log.is_valid() {
            return script.fail(&format!("Invalid results in the {name}"), format!("the {name} is not VALID"));
        }
        if log.has_errors() {
            let why = format!("the {name} has errors");
            return script.fail(&why, why.clone());
        }
        results.push((result.0, result.1, log.number("effective_target_latency_ns")));
    }
    let [(kind, before, limit), (other, after, other_limit)] = results[..] else { return script.fail("", "") };
    if kind.scenario != other.scenario {
        let finding = format!("{} and {}", kind.scenario, other.scenario);
        return script.fail("Test and reference scenarios do not match!", finding);
    }
    if kind.is_limited && limit != other_limit {
        return script.fail("Server target latency mismatch", "the latency limits differ");
    }
    script.line(format!("Reference score = {}", python_float(before)));
    script.line(format!("Test score = {}", python_float(after)));
    let threshold = kind.share(before, USUAL);
    let finding = change(before, after);
    let passed = before * (1.0 - threshold) <= after && after <= before * (1.0 + threshold);
    if passed { script.pass(finding) } else { script.fail("Test score invalid", finding) }
}

/// The facts that a script finds in a summary.
struct Scored {
    scenario: String,
    /// The result as it is printed; `0` where there is none.
    text: String,
    score: f64,
}

/// Holds the results of two summaries against each other in one direction (`verify_performance.py` of TEST04, and of
/// TEST05 up to v5.0).
pub(super) fn by_summary(reference: &str, test: &str, against: Against) -> Script {
    let mut script = Script::begin("Verifying performance.");
    let mut scored = Vec::new();
    for (name, text) in [("Reference", reference), ("Test", test)] {
        match scored_of(text, against) {
            Ok(one) => scored.push(one),
            Err(why) => return script.fail(&format!("{name} {why}"), format!("{} {why}", name.to_lowercase())),
        }
    }
    let [before, after] = &scored[..] else { return script.fail("", "") };
    if before.scenario != after.scenario {
        let why = "Test and reference scenarios do not match!";
        script.line(why);
        return Script { finding: format!("{} and {}", before.scenario, after.scenario), ..script };
    }
    script.line(format!("reference score = {}", before.text));
    script.line(format!("test score = {}", after.text));
    let threshold = before.share(against);
    let passed = match (against, result_of(&before.scenario)) {
        (Against::OtherSeeds, Some(result)) if !result.is_latency => after.score > before.score * (1.0 - threshold),
        (Against::OtherSeeds, _) if !before.scenario.contains("Stream") => false,
        _ => after.score < before.score * (1.0 + threshold),
    };
    let finding = change(before.score, after.score);
    if passed { script.pass(finding) } else { script.fail("Test score invalid", finding) }
}

/// The difference that [`by_detail`] allows for this reference, as it is printed.
pub(super) fn allowed_of(reference: &Detail) -> String {
    let result = result_of(reference.text("effective_scenario").unwrap_or_default());
    let share = result.and_then(|result| Some(result.share(reference.number(result.key)?, USUAL)));
    percent(share.unwrap_or(USUAL))
}

/// The difference that [`by_summary`] allows for this reference, as it is printed.
pub(super) fn allowed_by_summary(reference: &str, against: Against) -> String {
    percent(scored_of(reference, against).map_or(against.usual(), |scored| scored.share(against)))
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// Checks that the result in a summary is that of the detail log, up to the two decimals that a summary has.
///
/// # Errors
/// It is another one, or one of both is not there; the text says which.
pub(super) fn same_result(summary: &str, detail: &Detail) -> Result<String, String> {
    let scored = scored_of(summary, Against::OtherSeeds)?;
    let scenario = detail.text("effective_scenario").unwrap_or_default();
    let result = result_of(scenario).and_then(|result| Some((result, detail.number(result.key)?)));
    let (result, logged) = result.ok_or_else(|| format!("the detail log has no result of scenario '{scenario}'"))?;
    // The summary has six digits at least.
    let of_decimals = if result.is_limited { 0.011 } else { 0.0 };
    let slack = (logged.abs() * 1e-5).max(of_decimals);
    let finding = format!("{} and {} in the detail log", scored.text, python_float(logged));
    let is_same = scored.scenario == scenario && (scored.score - logged).abs() <= slack;
    if is_same { Ok(finding) } else { Err(finding) }
}

/// The result in a summary. TEST04 turns a latency into a rate.
fn scored_of(summary: &str, against: Against) -> Result<Scored, String> {
    let mut scored = Scored { scenario: String::new(), text: "0".to_owned(), score: 0.0 };
    for line in summary.lines() {
        let value =
            || line.split_once(": ").map(|(_, value)| value.trim().to_owned()).ok_or("has a line without value");
        if line.starts_with("Scenario") {
            scored.scenario = value()?;
        } else if let Some(result) = result_of(&scored.scenario).filter(|result| result.is_in(line)) {
            scored.text = value()?;
            scored.score =
                scored.text.parse().map_err(|_| format!("has a result that is no number: {}", scored.text))?;
            if result.is_latency && against == Against::Caching {
                if scored.score == 0.0 {
                    return Err("has a latency of 0".to_owned());
                }
                scored.score = 1e9 / scored.score;
                scored.text = python_float(scored.score);
            }
        } else if line.starts_with("Result is") && value()? == "INVALID" {
            return Err("results are invalid".to_owned());
        }
    }
    Ok(scored)
}

impl Against {
    /// The share that is allowed unless latencies are short.
    fn usual(self) -> f64 {
        match self {
            Against::Caching => USUAL,
            Against::OtherSeeds => SEEDS,
        }
    }
}

impl Scored {
    /// The share by which a test may differ from this reference.
    fn share(&self, against: Against) -> f64 {
        let usual = against.usual();
        result_of(&self.scenario).map_or(usual, |result| result.share(self.score, usual))
    }
}

impl ResultOf {
    /// The share by which a test may differ from a reference with this result.
    fn share(&self, reference: f64, usual: f64) -> f64 {
        if self.short.is_some_and(|short| reference <= short) { SHORT } else { usual }
    }

    fn is_in(&self, line: &str) -> bool {
        // Latencies stand behind a mark, rates at the start of the line.
        self.lines.iter().any(|label| if self.is_latency { line.contains(label) } else { line.starts_with(label) })
    }
}

/// Two results and their ratio, for the table.
fn change(before: f64, after: f64) -> String {
    let percent = if before == 0.0 { f64::NAN } else { 100.0 * (after / before - 1.0) };
    format!("{} against {} ({percent:+.1} %)", python_float(after), python_float(before))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(scenario: &str, line: &str, verdict: &str) -> String {
        format!("SUT name : S\nScenario : {scenario}\n{line}\nResult is : {verdict}\n")
    }

    fn offline(rate: &str) -> String {
        summary("Offline", &format!("Samples per second: {rate}"), "VALID")
    }

    fn detail(rate: f64, more: &str) -> Detail {
        let line = |key: &str, value: &str| format!(":::MLLOG {{\"key\": \"{key}\", \"value\": {value}}}\n");
        let rate = line("result_completed_samples_per_sec", &rate.to_string());
        Detail::read(
            &(more.to_owned()
                + &line("effective_scenario", "\"Server\"")
                + &rate
                + &line("result_validity", "\"VALID\"")),
        )
        .unwrap()
    }

    #[test]
    fn caching_is_a_test_that_is_faster_by_ten_percent() {
        for (rate, passes) in [("109.9", true), ("110.1", false), ("50", true)] {
            let script = by_summary(&offline("100"), &offline(rate), Against::Caching);
            assert_eq!(script.passed, passes, "{rate}: {script:?}");
        }
        let text = by_summary(&offline("100"), &offline("100"), Against::Caching).text;
        assert_eq!(text, "Verifying performance.\nreference score = 100\ntest score = 100\nTEST PASS\n");
    }

    #[test]
    fn latencies_become_rates_for_caching_and_stay_for_other_seeds() {
        let stream = |ns: &str| {
            summary("SingleStream", &format!("    - Early stopping 90th percentile estimate: {ns}"), "VALID")
        };
        // The script holds the rate, not the latency, to its limit for short latencies: 20 % nearly always.
        assert!(by_summary(&stream("1000000"), &stream("840000"), Against::Caching).passed);
        assert!(!by_summary(&stream("1000000"), &stream("820000"), Against::Caching).passed);
        assert!(by_summary(&stream("1000000"), &stream("1040000"), Against::OtherSeeds).passed);
        assert!(!by_summary(&stream("1000000"), &stream("1060000"), Against::OtherSeeds).passed);
        assert!(by_summary(&stream("100000"), &stream("119000"), Against::OtherSeeds).passed);
        let allowed = |ns: &str, against| allowed_by_summary(&stream(ns), against);
        assert_eq!(allowed("1000000", Against::Caching), "20 %");
        assert_eq!(["1000000", "100000"].map(|ns| allowed(ns, Against::OtherSeeds)), ["5 %", "20 %"]);
        assert_eq!(allowed_by_summary(&offline("100"), Against::Caching), "10 %");
    }

    #[test]
    fn other_seeds_may_be_faster_and_not_slower_by_five_percent() {
        for (rate, passes) in [("95.1", true), ("94.9", false), ("300", true)] {
            assert_eq!(by_summary(&offline("100"), &offline(rate), Against::OtherSeeds).passed, passes, "{rate}");
        }
    }

    #[test]
    fn invalid_results_and_other_scenarios_fail() {
        let invalid = summary("Offline", "Samples per second: 100", "INVALID");
        assert!(!by_summary(&invalid, &offline("100"), Against::Caching).passed);
        assert!(!by_summary(&offline("100"), &invalid, Against::Caching).passed);
        let server = summary("Server", "Completed samples per second    : 100", "VALID");
        let script = by_summary(&offline("100"), &server, Against::Caching);
        assert!(!script.passed && script.text.ends_with("do not match!\n"), "{script:?}");
    }

    #[test]
    fn rates_of_detail_logs_are_held_both_ways() {
        for (rate, passes) in [(91.0, true), (89.0, false), (109.0, true), (111.0, false)] {
            assert_eq!(by_detail(&detail(100.0, ""), &detail(rate, "")).passed, passes, "{rate}");
        }
        let limit = ":::MLLOG {\"key\": \"effective_target_latency_ns\", \"value\": 5}\n";
        assert!(!by_detail(&detail(100.0, limit), &detail(100.0, "")).passed);
        let errors = ":::MLLOG {\"key\": \"num_errors\", \"value\": 1}\n";
        assert!(!by_detail(&detail(100.0, ""), &detail(100.0, errors)).passed);
        let invalid = ":::MLLOG {\"key\": \"result_validity\", \"value\": \"INVALID\"}\n";
        assert!(!by_detail(&detail(100.0, invalid), &detail(100.0, "")).passed);
    }
}
