//! TEST07: the answers of a measured run reach a score (`compliance/TEST07` of mlcommons/inference). For benchmarks
//! whose accuracy run asks another dataset than the performance run; the score comes from a command of the user's, as
//! in the script.

use super::AuditTest;
use super::check::AuditCheck;
use super::detail::Detail;
use super::findings::{Findings, TestFile};
use super::run::AuditedRun;
use super::settings::{every_sample, in_force, untouched, valid};
use super::{sampled, script::python_float};
use loadgen::settings::TEST01_ACCURACY_LOG_SEED;

/// The metric that the script looks for in what its command prints.
pub const METRIC: &str = "exact_match";

/// The values that the official file has for a benchmark.
struct Values {
    /// The benchmark's name.
    benchmark: &'static str,
    /// Samples of the dataset for this test: all are logged.
    samples: u64,
    /// The least score that passes.
    at_least: f64,
}

/// The benchmarks that have an official file.
static VALUES: [Values; 1] = [Values { benchmark: "gpt-oss-120b", samples: 990, at_least: 60.698 }];

fn values_of(benchmark: &str) -> Option<&'static Values> {
    VALUES.iter().find(|values| values.benchmark == benchmark)
}

/// The least score of a benchmark that has an official file.
pub fn least_of(benchmark: &str) -> Option<f64> {
    values_of(benchmark).map(|values| values.at_least)
}

/// Returns the number of samples in the dataset of the test.
pub(super) fn samples_of(benchmark: &str) -> Option<u64> {
    values_of(benchmark).map(|values| values.samples)
}

/// Judges one run by TEST07. `score` is that of all its answers.
pub fn judge(test: &AuditedRun, score: f64, at_least: f64) -> Findings {
    let has_answers = test.answers.as_ref().is_some_and(|log| !log.is_empty());
    // Never true of a score that is no number.
    let passed = score >= at_least;
    let (requirement, finding) = (format!("at least {}", python_float(at_least)), python_float(score));
    let mut checks = vec![
        AuditCheck::official("score of the answers", passed, requirement, finding),
        AuditCheck::ours("answers", has_answers, "at least one", if has_answers { "they are there" } else { "none" }),
        every_sample(test),
    ];
    checks.extend(of_detail(&test.detail, true));
    checks.extend(sampled::checks(test));
    checks.push(untouched("test", test.own.as_ref()));
    let file = TestFile::new("verify_accuracy.txt", &text(score, at_least, passed));
    Findings::new(AuditTest::Test07, test.scenario(), checks, vec![file])
}

/// The rows that follow from the detail log alone. `asks_once`: the official file asks every sample once, as from v6.1
/// on (mlcommons/inference d8230cdd).
pub fn of_detail(test: &Detail, asks_once: bool) -> [AuditCheck; 2] {
    let mut settings: Vec<(&str, serde_json::Value)> = vec![
        ("test_mode", "PerformanceOnly".into()),
        ("accuracy_log_rng_seed", TEST01_ACCURACY_LOG_SEED.into()),
        ("min_duration_ms", 0.into()),
        ("sample_concatenate_permutation", false.into()),
    ];
    settings.extend(asks_once.then(|| ("performance_issue_unique", true.into())));
    [in_force(test, &settings), valid(test)]
}

/// The text of the script, behind a line of a command that prints nothing but its score.
fn text(score: f64, at_least: f64, passed: bool) -> String {
    let (line, score) = ("=".repeat(80), python_float(score));
    let (word, verdict) = if passed { ("True", "PASS") } else { ("False", "FAIL") };
    format!(
        "'{METRIC}': {score}\n\n{line}\nTEST07 Verification Summary\n{line}\nAccuracy score: {score}\n\
         Accuracy threshold: {}\nAccuracy check pass: {word}\nTEST {verdict}\n",
        python_float(at_least)
    )
}

#[cfg(test)]
mod tests {
    use super::super::check::CheckOutcome;
    use super::super::detail::Detail;
    use super::*;

    #[test]
    fn a_score_has_to_reach_the_least_one() {
        let detail = Detail::read(":::MLLOG {\"key\": \"a\", \"value\": 1}\n").unwrap();
        let run = AuditedRun { detail, summary: String::new(), answers: None, own: None };
        let official = |score: f64| judge(&run, score, 60.698).official();
        assert_eq!(
            [official(60.698), official(60.697), official(f64::NAN)].map(|one| one == CheckOutcome::Passed),
            [true, false, false]
        );
        assert_eq!(judge(&run, 99.0, 60.698).verdict(), CheckOutcome::Failed, "nothing was answered");
    }

    #[test]
    fn the_text_ends_in_the_verdict_that_the_checker_looks_for() {
        let output = text(61.0, 60.698, true);
        assert!(output.starts_with("'exact_match': 61.0\n\n====") && output.ends_with("check pass: True\nTEST PASS\n"));
        assert!(text(1.0, 60.698, false).ends_with("Accuracy check pass: False\nTEST FAIL\n"));
    }
}
