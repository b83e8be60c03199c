//! The detail log: one JSON object a line, with the official keys in the official order.
//!
//! Unlike in the official log, every line is valid JSON, with any strings and numbers in it. Version keys name this
//! product and borrow nothing: no checksums, no source positions.

use std::fmt::Write;

use super::datetime;
use super::result_keys::{extra_keys, result_keys};
use super::settings_keys::settings_keys;
use super::summary_text::Trailer;
use crate::plan::Plan;
use crate::run::{RunOutcome, Severity};
use crate::value::{Value, quoted};
use crate::world::TimeNs;

/// Surroundings of a run as the log describes them, which the engine cannot know.
#[derive(Clone, Debug)]
pub struct DetailContext<'a> {
    /// Version of this product, for example `0.1.0`.
    pub version: &'a str,
    /// Name of the SUT.
    pub sut_name: &'a str,
    /// Time that it took to ask for the SUT's name, ns.
    pub sut_name_duration_ns: u64,
    /// Name of the query sample library.
    pub qsl_name: &'a str,
    /// The world's time when logging began; times of lines count from here.
    pub start: TimeNs,
    /// The wall clock at that moment, ns since 1970 UTC.
    pub start_unix_ns: i64,
    /// Id of the process that ran the test.
    pub pid: u32,
    /// Id of the thread that drove the engine.
    pub tid: u64,
}

/// The text of the whole detail log.
pub fn render(plan: &Plan, outcome: &RunOutcome, context: &DetailContext<'_>) -> String {
    let mut log = Log { text: String::with_capacity(64 * 1024), context };
    let start = context.start;
    log.version();
    log.names(plan);
    for warning in plan.warnings() {
        log.line(start, "warning_generic_message", &Value::from(warning), Severity::Warning);
    }
    for fault in plan.faults() {
        log.line(start, "error_invalid_test_settings", &Value::from(fault.as_str()), Severity::Error);
    }
    for (key, value) in settings_keys(plan) {
        log.info(start, &key, &value);
    }
    for event in outcome.events.iter() {
        log.line(event.at, &event.key, &event.value, event.severity);
    }
    log.results(plan, outcome);
    log.text
}

/// Counts the warnings and errors of the detail log, those that are counted and not repeated included.
pub fn trailer(plan: &Plan, outcome: &RunOutcome) -> Trailer {
    Trailer {
        warnings: outcome.events.warnings() + plan.warnings().len() as u64,
        errors: outcome.events.errors() + plan.faults().len() as u64,
    }
}

/// Lines that the official log does not have: what a caller says of the whole run.
pub fn marks(outcome: &RunOutcome, context: &DetailContext<'_>, marks: &[String]) -> String {
    let mut log = Log { text: String::new(), context };
    marks.iter().for_each(|mark| log.info(outcome.ended, "lon_mark", &mark.as_str().into()));
    log.text
}

struct Log<'a> {
    text: String,
    context: &'a DetailContext<'a>,
}

impl Log<'_> {
    fn version(&mut self) {
        let start = self.context.start;
        let version = format!("lon {}, unofficial", self.context.version);
        self.info(start, "loadgen_version", &Value::Text(version));
        let unknown = [
            "loadgen_build_date_local",
            "loadgen_build_date_utc",
            "loadgen_git_commit_date",
            "loadgen_git_log_message",
            "loadgen_git_status_message",
        ];
        for key in unknown {
            self.info(start, key, &Value::from("NA"));
        }
        self.raw(start, "loadgen_file_sha1", "{}", Severity::Info);
    }

    fn names(&mut self, plan: &Plan) {
        let context = self.context;
        let entries: [(&str, Value); 6] = [
            ("test_datetime", Value::Text(datetime::iso(context.start_unix_ns))),
            ("sut_name", context.sut_name.into()),
            ("get_sut_name_duration_ns", context.sut_name_duration_ns.into()),
            ("qsl_name", context.qsl_name.into()),
            ("qsl_reported_total_count", plan.qsl().total.into()),
            ("qsl_reported_performance_count", plan.qsl().performance.into()),
        ];
        for (key, value) in entries {
            self.info(context.start, key, &value);
        }
    }

    fn results(&mut self, plan: &Plan, outcome: &RunOutcome) {
        let at = outcome.ended;
        if let Some(summary) = &outcome.summary {
            let Trailer { errors, .. } = trailer(plan, outcome);
            let scenario = plan.effective().scenario;
            for (key, value) in
                result_keys(scenario, summary, &outcome.verdict, errors).into_iter().chain(extra_keys(summary))
            {
                self.info(at, &key, &value);
            }
        }
        let verdict = if outcome.verdict.is_valid() { "VALID" } else { "INVALID" };
        self.info(at, "lon_result", &verdict.into());
        for reason in outcome.verdict.reasons() {
            self.info(at, "lon_reason", &Value::Text(format!("{}: {}", reason.code, reason.text)));
        }
    }

    fn info(&mut self, at: TimeNs, key: &str, value: &Value) {
        self.line(at, key, value, Severity::Info);
    }

    fn line(&mut self, at: TimeNs, key: &str, value: &Value, severity: Severity) {
        let text = match value {
            Value::Wall(moment) => quoted(&datetime::power(self.wall_unix_ns(*moment))),
            other => other.json(),
        };
        self.raw(at, key, &text, severity);
    }

    fn raw(&mut self, at: TimeNs, key: &str, value: &str, severity: Severity) {
        let since_ns = at.since(self.context.start);
        let (ms, ns) = (since_ns / 1_000_000, since_ns % 1_000_000);
        // Writing to a String cannot fail.
        let _ = writeln!(
            self.text,
            ":::MLLOG {{\"key\": {}, \"value\": {value}, \"time_ms\": {ms}.{ns:06}, \"namespace\": \
             \"mlperf::logging\", \"event_type\": \"POINT_IN_TIME\", \"metadata\": {{\"is_error\": {}, \
             \"is_warning\": {}, \"file\": \"\", \"line_no\": 0, \"pid\": {}, \"tid\": {}}}}}",
            quoted(key),
            severity == Severity::Error,
            severity == Severity::Warning,
            self.context.pid,
            self.context.tid,
        );
    }

    fn wall_unix_ns(&self, moment: TimeNs) -> i64 {
        self.context.start_unix_ns.saturating_add(moment - self.context.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mode::Qsl;
    use crate::report::summary_text;
    use crate::run::{RunOptions, run};
    use crate::scenarios::{Scenario, TestSettings};
    use crate::sim::{SimOptions, SimWorld};

    fn rendered(settings: TestSettings, audited: bool) -> (String, String) {
        let plan = Plan::new(settings, Qsl { total: 20, performance: 10 }).unwrap();
        let plan = if audited { plan.audited() } else { plan };
        let outcome = run(&plan, &mut SimWorld::new(SimOptions::default()), &mut (), RunOptions::default());
        let context = DetailContext {
            version: "1",
            sut_name: "a",
            sut_name_duration_ns: 1,
            qsl_name: "b",
            start: TimeNs(0),
            start_unix_ns: 0,
            pid: 1,
            tid: 1,
        };
        let summary = outcome.summary.as_ref().unwrap();
        let summary = summary_text(&plan, summary, &outcome.verdict, "a", trailer(&plan, &outcome));
        (render(&plan, &outcome, &context), summary)
    }

    /// Warnings and errors of the head, each with the line's number among all lines.
    fn remarks(detail: &str) -> Vec<(usize, &str)> {
        let is_one = |line: &str| line.contains("\"is_warning\": true") || line.contains("\"is_error\": true");
        detail.lines().enumerate().filter(|(_, line)| is_one(line)).collect()
    }

    #[test]
    fn an_audit_is_warned_of_between_the_names_and_the_settings() {
        let settings = TestSettings {
            scenario: Scenario::SERVER,
            test05: true,
            server_target_qps: -3.0,
            min_duration_ms: 0,
            ..TestSettings::default()
        };
        let (detail, summary) = rendered(settings.clone(), true);
        let warnings = remarks(&detail);
        let expected = [
            (13, "\"warning_generic_message\", \"value\": \"Found Audit Config file (audit.config). Overriding"),
            (14, "\"warning_generic_message\", \"value\": \"Test05 flag detected Overriding random seeds\""),
            (15, "\"error_invalid_test_settings\""),
        ];
        assert_eq!(warnings.len(), expected.len(), "{warnings:?}");
        for ((line, text), (at, part)) in warnings.iter().zip(expected) {
            assert!(*line == at && text.contains(part), "{line}: {text}");
        }
        assert!(detail.lines().nth(16).is_some_and(|line| line.contains("\"requested_scenario\"")));
        assert!(detail.contains("{\"key\": \"num_errors\", \"value\": 1,"));
        assert!(
            summary
                .ends_with("\n2 warnings encountered. See detailed log.\n\n1 ERROR encountered. See detailed log.\n")
        );
        let (detail, summary) = rendered(TestSettings { test05: false, server_target_qps: 3.0, ..settings }, false);
        assert!(remarks(&detail).is_empty() && summary.contains("\nNo warnings encountered during test.\n"));
    }
}
