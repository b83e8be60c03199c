//! The texts of a test's summary and detail files.
//!
//! The summary has the lines of the round. Lines of the detail log have its form: process, thread, time, then a text
//! with names and values; the texts are this program's own, which the first line says.

use std::fmt::{Display, Write as _};

use super::assign;
use super::scenario::Pacing;
use super::summary::{Lines, Summary, errors_line, recommendations, verdict};
use super::test::{SeriesOutcome, TestInput, TestOutcome};
use crate::judge::Verdict;
use crate::report::datetime;
use crate::report::detail::DetailContext;
use crate::run::{PhaseOutcome, RunOutcome, Severity};
use crate::value::quoted;
use crate::world::TimeNs;

/// Columns of a label in the statistics.
const LABEL: usize = 32;

/// The text of `mlperf_log_summary.txt`. Reasons against the measurement itself, which the round has not, are lines of
/// their own.
pub fn summary_text(test: &TestOutcome, outcome: &RunOutcome, sut_name: &str) -> String {
    let official = &outcome.verdict;
    let mut text = Text(String::with_capacity(4096));
    let reported = test.reported.as_ref().and_then(|it| Some((it, test.series.get(it.series)?)));
    match reported {
        Some((reported, series)) => {
            let summary = Summary::new(sut_name, &series.effective, &reported.measured, reported.judgement);
            text.title("MLPerf Results Summary");
            result(&mut text, &summary.result, series, official);
            let shape = series.effective.shape;
            if !reported.judgement.is_valid() {
                text.line("Recommendations:");
                recommendations(shape, reported.judgement).iter().for_each(|advice| text.line(format!(" * {advice}")));
            }
            text.line("");
            text.title("Additional Stats");
            statistics(&mut text, &summary);
            text.line("");
            text.title("Test Parameters Used");
            summary.parameters.iter().for_each(|(label, value)| text.line(format!("{}{value}", parameter(label))));
        }
        None if official.is_whole() => {}
        None => {
            text.line("Result is : INVALID");
            faults(&mut text, official);
        }
    }
    text.line("");
    text.line("No warnings encountered during test.");
    text.line("");
    text.line(errors_line(usize::try_from(outcome.events.errors()).unwrap_or(usize::MAX)));
    text.0
}

struct Text(String);

impl Text {
    fn line(&mut self, line: impl Display) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.0, "{line}");
    }

    fn title(&mut self, title: &str) {
        let rule = "=".repeat(48);
        [&rule, title, &rule].into_iter().for_each(|line| self.line(line));
    }
}

fn result(text: &mut Text, lines: &Lines, series: &SeriesOutcome, official: &Verdict) {
    for (label, value) in lines {
        match label.as_str() {
            "Mode" => text.line(format!("Mode     : {value}")),
            "Result is" => text.line(format!("Result is : {}", verdict(official.official() == Some(true)))),
            // Offline's line has no blank there.
            "Samples per second" if series.effective.shape.pacing == Pacing::AtOnce => {
                text.line(format!("{label}: {value}"));
            }
            rule if rule.ends_with("satisfied") => text.line(format!("  {label} : {value}")),
            _ => text.line(format!("{label} : {value}")),
        }
    }
    faults(text, official);
}

/// Writes the reasons against the measurement itself.
fn faults(text: &mut Text, verdict: &Verdict) {
    verdict.faults().for_each(|fault| text.line(format!("  Not valid, because: {}", fault.text)));
}

fn statistics(text: &mut Text, summary: &Summary) {
    for (number, (section, lines)) in summary.stats.iter().enumerate() {
        if number > 0 {
            text.line("");
        }
        if *section == "stats per sample" {
            text.line("Per-sample latency:");
        }
        for (label, value) in lines {
            match label.as_str() {
                "Intervals between each IssueQuery" | "Per-query latency" => text.line(format!("{label}:  {value}")),
                interval if interval.ends_with("percentile") => text.line(format!("{label} : {value}")),
                "Min latency (ns)" if lines.first().is_some_and(|(first, _)| first != label) => {
                    text.line("");
                    text.line(format!("{label:<LABEL$}: {value}"));
                }
                _ => text.line(format!("{label:<LABEL$}: {value}")),
            }
        }
    }
}

/// The label of a parameter with what stands between it and its value.
fn parameter(label: &str) -> String {
    if label.ends_with(')') { format!("{label}: ") } else { format!("{label} : ") }
}

/// The text of `mlperf_log_detail.txt`, with the reasons and marks of the caller at its end.
pub fn detail_text(
    input: &TestInput,
    test: &TestOutcome,
    outcome: &RunOutcome,
    context: &DetailContext<'_>,
    marks: &[String],
) -> String {
    let mut log = Log { text: String::with_capacity(64 * 1024), context };
    let (start, ended) = (context.start, outcome.ended);
    let version = format!("lon {}, unofficial", context.version);
    log.line(start, "", &format!("lines in the form of round v0.5, with texts of {version}"));
    for (name, value) in [
        ("loadgen_version", quoted(&version)),
        ("test_datetime", quoted(&datetime::iso(context.start_unix_ns))),
        ("sut_name", quoted(context.sut_name)),
        ("qsl_name", quoted(context.qsl_name)),
        ("qsl_reported_total_count", input.qsl.total.to_string()),
        ("qsl_reported_performance_count", input.qsl.performance.to_string()),
        ("integers", quoted(input.integers.name())),
    ] {
        log.line(start, "", &format!("{} : {value}", quoted(name)));
    }
    for (name, value) in assign::fields(&input.settings) {
        log.line(start, "", &format!("\"requested_{name}\" : {value}"));
    }
    for (series, phase) in test.series.iter().zip(&outcome.phases) {
        log.series(series, phase);
    }
    for event in outcome.events.iter().filter(|event| event.severity == Severity::Error) {
        log.line(event.at, "ERROR : ", event.value.summary().trim());
    }
    let result = if outcome.verdict.is_valid() { "VALID" } else { "INVALID" };
    log.line(ended, "", &format!("\"lon_result\" : {}", quoted(result)));
    for reason in outcome.verdict.reasons() {
        let text = format!("{}: {}", reason.code, reason.text);
        log.line(ended, "", &format!("\"lon_reason\" : {}", quoted(&text)));
    }
    marks.iter().for_each(|mark| log.line(ended, "", &format!("\"lon_mark\" : {}", quoted(mark))));
    log.text
}

struct Log<'a> {
    text: String,
    context: &'a DetailContext<'a>,
}

impl Log<'_> {
    fn series(&mut self, series: &SeriesOutcome, phase: &PhaseOutcome) {
        let (generated, at) = (series.phase.generated, phase.started);
        let set: Vec<String> = series.phase.set.indices.iter().map(|index| index.0.to_string()).collect();
        self.line(at, "", &format!("Loading QSL : \"set\" : \"[{}]\"", set.join(",")));
        let n = series.effective.samples_per_query;
        let (queries, duration_ns) = (generated.queries, generated.duration_ns);
        self.line(
            at,
            "",
            &format!(
                "GeneratedQueries: \"queries\" : {queries}, \"samples per query\" : {n}, \"duration\" : {duration_ns}"
            ),
        );
        self.power("POWER_BEGIN", phase, phase.started);
        self.power("POWER_END", phase, phase.latest_end);
        let issued = phase.queries_issued;
        self.line(
            phase.ended,
            "",
            &format!("\"queries_issued\" : {issued}, \"end\" : {}", quoted(&format!("{:?}", series.run.stop))),
        );
    }

    fn power(&mut self, name: &str, phase: &PhaseOutcome, at: TimeNs) {
        let unix_ns = self.context.start_unix_ns.saturating_add(at - self.context.start);
        let (mode, time) = (phase.mode.name(), datetime::power(unix_ns));
        self.line(at, "", &format!("{name} : \"mode\" : {}, \"time\" : {}", quoted(mode), quoted(&time)));
    }

    fn line(&mut self, at: TimeNs, severity: &str, text: &str) {
        let DetailContext { pid, tid, start, .. } = *self.context;
        let ns = at.since(start);
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "\"pid\": {pid}, \"tid\": {tid}, \"ts\": {ns}ns : {severity}{text}");
    }
}

#[cfg(test)]
mod tests {
    use super::super::scenario::Scenario;
    use super::super::script::{Script, ScriptedWorld};
    use super::super::settings::Settings;
    use super::super::{adapter, later_records};
    use super::*;
    use crate::run::RunOptions;
    use crate::settings::{IntegerRule, Mode, Qsl};

    fn texts(scenario: Scenario, latency_ns: u64, mode: Mode) -> (String, String) {
        let settings = Settings {
            scenario,
            mode,
            min_duration_ms: 500,
            min_query_count: 11,
            multi_stream_target_qps: 20.0,
            offline_expected_qps: 20.0,
            server_target_qps: 20.0,
            ..Settings::default()
        };
        let input = TestInput { settings, qsl: Qsl { total: 9, performance: 5 }, integers: IntegerRule::Division };
        let script: Script = serde_json::from_str(&format!(r#"{{"latency_ns": {latency_ns}}}"#)).unwrap();
        let plan = later_records::plan(&input).unwrap();
        let mut world = ScriptedWorld::new(script);
        let (outcome, test) = adapter::run(&input, &plan, &RunOptions::default(), &mut world, &mut ());
        let context = DetailContext {
            version: "1",
            sut_name: "a",
            sut_name_duration_ns: 1,
            qsl_name: "b",
            start: TimeNs(0),
            start_unix_ns: 0,
            pid: 1,
            tid: 2,
        };
        (summary_text(&test, &outcome, "a"), detail_text(&input, &test, &outcome, &context, &["m".to_owned()]))
    }

    #[test]
    fn the_summary_of_multi_stream_has_three_lists() {
        let (summary, _) = texts(Scenario::MultiStream, 70_000_000, Mode::PerformanceOnly);
        let rule = "=".repeat(48);
        let head = format!(
            "{rule}\nMLPerf Results Summary\n{rule}\nSUT name : a\nScenario : Multi Stream\nMode     : Performance\n\
             Samples per query : 4\nResult is : INVALID\n  Performance constraints satisfied : NO\n  \
             Min duration satisfied : Yes\n  Min queries satisfied : Yes\nRecommendations:\n * \
             Reduce samples per query to improve latency.\n\n{rule}\nAdditional Stats\n{rule}\n\
             Intervals between each IssueQuery:  \"qps\" : 20, \"ms\" : 50\n50.00 percentile : 2\n"
        );
        assert!(summary.starts_with(&head), "{summary}");
        for part in [
            "99.90 percentile : 2\n\nPer-query latency:  \"target_ns\" : 50000000, \"target_ms\" : 50\n\
             50.00 percentile latency (ns)   : 70000000\n",
            "\n\nPer-sample latency:\nMin latency (ns)                : 70000000\n",
            "\nsamples_per_query : 4\ntarget_qps : 20\ntarget_latency (ns): 50000000\nmax_async_queries : 1\n\
             min_duration (ms): 500\n",
        ] {
            assert!(summary.contains(part), "{part}: {summary}");
        }
        let tail = "performance_sample_count : 5\n\nNo warnings encountered during test.\n\n\
                    No errors encountered during test.\n";
        assert!(summary.ends_with(tail), "{summary}");
    }

    #[test]
    fn other_scenarios_have_their_lines() {
        let summary = |scenario| texts(scenario, 1_000_000, Mode::PerformanceOnly).0;
        let single = summary(Scenario::SingleStream);
        for part in [
            "Mode     : Performance\n90th percentile latency (ns) : 1000000\nResult is : VALID\n  Min duration",
            "\nQPS w/ loadgen overhead         : 1000.00\nQPS w/o loadgen overhead        : 1000.00\n\nMin latency",
        ] {
            assert!(single.contains(part), "{part}: {single}");
        }
        let offline = summary(Scenario::Offline);
        assert!(offline.contains("\nSamples per second: 11000\nResult is : INVALID\n  Min duration satisfied : NO\n"));
        assert!(offline.contains("Additional Stats\n================================================\nMin latency"));
        let server = summary(Scenario::Server);
        assert!(
            server.contains("\nScheduled samples per second : ")
                && server.contains("\nCompleted samples per second    : ")
        );
    }

    #[test]
    fn accuracy_has_the_closing_lines_alone() {
        let (summary, detail) = texts(Scenario::Server, 1_000_000, Mode::AccuracyOnly);
        assert_eq!(summary, "\nNo warnings encountered during test.\n\nNo errors encountered during test.\n");
        assert_eq!(detail.lines().filter(|line| line.contains("Loading QSL : \"set\" : \"[")).count(), 2);
    }

    #[test]
    fn the_detail_log_has_lines_of_the_round_and_says_whose_texts_they_are() {
        let (_, detail) = texts(Scenario::Offline, 1_000_000, Mode::PerformanceOnly);
        let lines: Vec<&str> = detail.lines().collect();
        assert!(lines.iter().all(|line| line.starts_with("\"pid\": 1, \"tid\": 2, \"ts\": ")), "{detail}");
        assert!(lines[0].ends_with("lines in the form of round v0.5, with texts of lon 1, unofficial"));
        for part in [
            " : \"requested_offline_expected_qps\" : 20.0",
            " : GeneratedQueries: \"queries\" : 1, \"samples per query\" : 11, \"duration\" : ",
            " : ERROR : Ending early: Ran out of generated queries to issue.",
            " : \"lon_result\" : \"INVALID\"",
            " : \"lon_mark\" : \"m\"",
        ] {
            assert!(detail.contains(part), "{part}: {detail}");
        }
    }
}
