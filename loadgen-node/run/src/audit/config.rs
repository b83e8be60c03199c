//! The config files with which audits are run: the settings of the official `audit.config`, in words of our own.

use loadgen::settings::{Scenario, TEST01_ACCURACY_LOG_SEED};

use super::AuditTest;
use super::{test01, test06, test07, test09};

/// No shortest duration, and no samples that are put together in rounds.
const BARE: &str = "*.*.min_duration = 0\n*.*.sample_concatenate_permutation = 0\n";

/// The text of the file for a test, of a benchmark where its values depend on one.
pub fn config(test: AuditTest, benchmark: Option<&str>) -> String {
    let lines = match test {
        AuditTest::Custom => {
            return "# CUSTOM: no settings. Give the run that is audited another --dataset, and nothing else.\n"
                .to_owned();
        }
        AuditTest::Test01 => sampled(test01::target_of(benchmark.unwrap_or_default())),
        AuditTest::Test04 => same_sample(),
        AuditTest::Test05 => "*.*.test05 = 1\n".to_owned(),
        AuditTest::Test06 => sampled(test06::TARGET) + &all_of(test06::TARGET),
        AuditTest::Test08 => sampled(test01::USUAL_TARGET),
        AuditTest::Test07 => {
            let samples = benchmark.and_then(test07::samples_of);
            sampled(samples.unwrap_or(test09::TARGET)) + &whole_dataset(samples)
        }
        AuditTest::Test09 => sampled(test09::TARGET) + &whole_dataset(benchmark.and_then(test09::samples_of)),
    };
    // LoadGen does nothing with this key in an audit.config, and neither does the official file of TEST05.
    let flag = if test == AuditTest::Test05 { "--mlperf-conf" } else { "--audit-conf" };
    let head = format!("# {test}: settings of the run that is audited. Give this file to it with {flag}.\n");
    head + &lines
}

/// A performance run that logs about this many answers.
fn sampled(target: u64) -> String {
    format!(
        "# 2: PerformanceOnly\n*.*.mode = 2\n# Which answers are logged, and about how many.\n\
         *.*.accuracy_log_rng_seed = {TEST01_ACCURACY_LOG_SEED}\n*.*.accuracy_log_sampling_target = {target}\n"
    )
}

/// At least this many queries, however short they take.
fn all_of(queries: u64) -> String {
    format!("# At least so many queries, however short they take.\n*.*.min_query_count = {queries}\n{BARE}")
}

/// Each sample of the dataset. How many there are is known of the benchmarks that have official files.
fn whole_dataset(samples: Option<u64>) -> String {
    let queries = samples.map(all_of);
    let unknown =
        || "# Give the number of samples of the dataset with --set min_query_count=NUMBER.\n".to_owned() + BARE;
    queries.unwrap_or_else(unknown) + "*.*.performance_issue_unique = 1\n"
}

/// A performance run that asks the sample at position 3 of those in memory, always.
fn same_sample() -> String {
    let lines = Scenario::OFFICIAL.map(|scenario| {
        let scenario = scenario.name();
        format!(
            "*.{scenario}.mode = 2\n*.{scenario}.performance_issue_unique = 0\n\
             *.{scenario}.performance_issue_same = 1\n*.{scenario}.performance_issue_same_index = 3\n"
        )
    });
    format!("# The sample at position 3 of those in memory is asked, always.\n{}", lines.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_the_official_values() {
        let text = config(AuditTest::Test01, Some("retinanet"));
        assert!(text.contains("*.*.accuracy_log_rng_seed = 720381539243781796\n"), "{text}");
        assert!(text.ends_with("*.*.accuracy_log_sampling_target = 256\n"), "{text}");
        assert!(config(AuditTest::Test01, None).ends_with("_target = 4096\n"));
        assert!(config(AuditTest::Test09, Some("e2e-rag-qna")).contains("min_query_count = 824\n"));
        assert!(config(AuditTest::Test09, None).contains("--set min_query_count=NUMBER"));
        let text = config(AuditTest::Test07, Some("gpt-oss-120b"));
        let lines = ["sampling_target = 990\n", "min_query_count = 990\n", "performance_issue_unique = 1\n"];
        assert!(lines.iter().all(|line| text.contains(line)), "{text}");
        assert!(config(AuditTest::Test05, None).contains("with --mlperf-conf"));
        let text = config(AuditTest::Test04, None);
        assert_eq!(text.matches("performance_issue_same_index = 3\n").count(), 4, "{text}");
    }
}
