//! The summary file, `mlperf_log_summary.txt`.

use std::fmt::{Display, Write};

use crate::effective::Effective;
use crate::judge::early_stopping::Rule;
use crate::judge::{EarlyStopping, LatencyStats, PERCENTILES, Summary, TokenSummary, Verdict};
use crate::plan::Plan;
use crate::scenarios::Scenario;
use crate::value::{Line, Value};

/// The numbers of warnings and errors, which end the summary file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trailer {
    /// Number of warnings in the detail log.
    pub warnings: u64,
    /// Number of errors in the detail log.
    pub errors: u64,
}

/// The text of the summary file, for a test with a performance phase.
pub fn summary_text(plan: &Plan, summary: &Summary, verdict: &Verdict, sut_name: &str, trailer: Trailer) -> String {
    let effective = plan.effective();
    let scenario = effective.scenario;
    let mut text = Text(String::with_capacity(4096));
    text.title("MLPerf Results Summary");
    text.line("SUT name : ", sut_name);
    text.line("Scenario : ", scenario.name());
    text.line("Mode     : ", effective.mode.name());
    headlines(&mut text, scenario, summary);
    result(&mut text, summary, verdict);
    early_stopping(&mut text, scenario, summary);
    text.line("", "");
    text.title("Additional Stats");
    statistics(&mut text, scenario, summary);
    text.line("", "");
    text.title("Test Parameters Used");
    parameters(&mut text, effective);
    text.line("", "");
    text.trailer(trailer);
    text.0
}

/// The text of the summary file, for a test without a performance phase. The official one has no verdict then; this
/// one says INVALID where samples are missing.
pub fn accuracy_only_text(verdict: &Verdict, trailer: Trailer) -> String {
    let mut text = Text(String::new());
    if !verdict.is_whole() {
        text.line("Result is : ", "INVALID");
        faults(&mut text, verdict);
    }
    text.line("", "");
    text.trailer(trailer);
    text.0
}

struct Text(String);

impl Text {
    fn line(&mut self, label: &str, value: impl Display) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.0, "{label}{value}");
    }

    fn value(&mut self, line: &Line) {
        self.line(&line.0, line.1.summary());
    }

    fn title(&mut self, title: &str) {
        let rule = "=".repeat(48);
        self.line("", &rule);
        self.line("", title);
        self.line("", &rule);
    }

    fn trailer(&mut self, trailer: Trailer) {
        match trailer.warnings {
            0 => self.line("", "No warnings encountered during test."),
            1 => self.line("", "1 warning encountered. See detailed log."),
            n => self.line("", format_args!("{n} warnings encountered. See detailed log.")),
        }
        self.line("", "");
        match trailer.errors {
            0 => self.line("", "No errors encountered during test."),
            1 => self.line("", "1 ERROR encountered. See detailed log."),
            n => self.line("", format_args!("{n} ERRORS encountered. See detailed log.")),
        }
    }
}

fn headlines(text: &mut Text, scenario: Scenario, summary: &Summary) {
    let rules = scenario.headlines();
    text.value(&rules.headline(summary));
    if summary.tokens.is_some() {
        text.value(&rules.token_headline(summary));
    }
    if let Some(line) = rules.inferred_headline(summary) {
        text.value(&line);
    }
}

fn result(text: &mut Text, summary: &Summary, verdict: &Verdict) {
    let yes = |met: bool| if met { "Yes" } else { "NO" };
    let checks = summary.checks;
    let valid = verdict.official() == Some(true);
    text.line("Result is : ", if valid { "VALID" } else { "INVALID" });
    if let Some(met) = checks.performance_constraints {
        text.line("  Performance constraints satisfied : ", yes(met));
    }
    text.line("  Min duration satisfied : ", yes(checks.min_duration));
    text.line("  Min queries satisfied : ", yes(checks.min_queries));
    text.line("  Early stopping satisfied: ", yes(checks.early_stopping));
    faults(text, verdict);
    // Of a measurement that is not whole the advice says nothing on what was wrong.
    if !summary.meets_rules() && verdict.is_whole() {
        text.line("Recommendations:", "");
        for advice in &summary.advice {
            text.line(" * ", &advice.summary);
        }
    }
}

/// Writes the reasons against the measurement itself: lines that the official file does not have.
fn faults(text: &mut Text, verdict: &Verdict) {
    for fault in verdict.faults() {
        text.line("  Not valid, because: ", &fault.text);
    }
}

fn early_stopping(text: &mut Text, scenario: Scenario, summary: &Summary) {
    if scenario.judge().early_stopping() == Rule::None {
        return;
    }
    match &summary.early_stopping {
        EarlyStopping::Latency(judgement) => {
            text.line("Early Stopping Result:", "");
            text.line("", &judgement.text);
        }
        EarlyStopping::Tokens { first_token, per_token } => {
            text.line("TTFT Early Stopping Result:", "");
            text.line("", &first_token.text);
            text.line("TPOT Early Stopping Result:", "");
            text.line("", &per_token.text);
        }
    }
}

fn statistics(text: &mut Text, scenario: Scenario, summary: &Summary) {
    let rules = scenario.headlines();
    for line in rules.leading_stats(summary) {
        text.value(&line);
    }
    let latency = summary.judged_latency();
    text.line("Min latency (ns)                : ", latency.min_ns);
    text.line("Max latency (ns)                : ", latency.max_ns);
    text.line("Mean latency (ns)               : ", latency.mean_ns);
    percentiles(text, "percentile latency (ns)   : ", latency);
    if let Some(tokens) = &summary.tokens {
        text.line("", "");
        for line in rules.leading_token_stats(summary) {
            text.value(&line);
        }
        if scenario.judge().has_token_latencies() {
            token_statistics(text, tokens);
        }
    }
}

fn token_statistics(text: &mut Text, tokens: &TokenSummary) {
    text.line("Min First Token latency (ns)                : ", tokens.first_token.min_ns);
    text.line("Max First Token latency (ns)                : ", tokens.first_token.max_ns);
    text.line("Mean First Token latency (ns)               : ", tokens.first_token.mean_ns);
    percentiles(text, "percentile first token latency (ns)   : ", &tokens.first_token);
    text.line("", "");
    text.line("Min Time per Output Token (ns)                : ", tokens.per_token.min_ns);
    text.line("Max Time per Output Token (ns)                : ", tokens.per_token.max_ns);
    text.line("Mean Time per Output Token (ns)               : ", tokens.per_token.mean_ns);
    percentiles(text, "percentile time to output token (ns)   : ", &tokens.per_token);
}

fn percentiles(text: &mut Text, label: &str, stats: &LatencyStats) {
    for (fraction, ns) in PERCENTILES.iter().zip(stats.percentiles_ns) {
        text.line(&format!("{:.2} {label}", fraction * 100.0), ns);
    }
}

fn parameters(text: &mut Text, e: &Effective) {
    let mut named = |name: &str, value: Value| text.line(&format!("{name} : "), value.summary());
    named("samples_per_query", e.samples_per_query.into());
    named("target_qps", e.target_qps.into());
    if e.settings.use_token_latencies {
        text.line("ttft_latency (ns): ", e.settings.server_ttft_latency);
        text.line("tpot_latency (ns): ", e.settings.server_tpot_latency);
    } else {
        text.line("target_latency (ns): ", e.target_latency_ns);
    }
    text.line("max_async_queries : ", e.max_async_queries);
    text.line("min_duration (ms): ", e.settings.min_duration_ms);
    text.line("max_duration (ms): ", e.settings.max_duration_ms);
    let mut named = |name: &str, value: Value| text.line(&format!("{name} : "), value.summary());
    named("min_query_count", e.min_query_count.into());
    named("max_query_count", e.settings.max_query_count.into());
    named("qsl_rng_seed", e.settings.qsl_rng_seed.into());
    named("sample_index_rng_seed", e.settings.sample_index_rng_seed.into());
    named("schedule_rng_seed", e.settings.schedule_rng_seed.into());
    named("accuracy_log_rng_seed", e.settings.accuracy_log_rng_seed.into());
    named("accuracy_log_probability", e.settings.accuracy_log_probability.into());
    named("accuracy_log_sampling_target", e.settings.accuracy_log_sampling_target.into());
    named("print_timestamps", e.settings.print_timestamps.into());
    named("performance_issue_unique", e.settings.performance_issue_unique.into());
    named("performance_issue_same", e.settings.performance_issue_same.into());
    named("performance_issue_same_index", e.settings.performance_issue_same_index.into());
    named("performance_sample_count", e.performance_sample_count.into());
    named("accuracy_sample_count", e.accuracy_sample_count.into());
    if e.settings.sample_concatenate_permutation {
        text.line("", EQUAL_ISSUE_WARNING);
    }
}

const EQUAL_ISSUE_WARNING: &str = "WARNING: sample_concatenate_permutation was set to true. \n\
    Generated samples per query might be different as the one in the setting.\n\
    Check the generated_samples_per_query line in the detailed log for the real\n\
    samples_per_query value";
