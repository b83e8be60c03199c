//! The detail log: one JSON object a line, with the official keys in the official order.
//!
//! Unlike in the official log, every line is valid JSON, with any strings and numbers in it. Version keys name this
//! product and borrow nothing: no checksums, no source positions.

use std::fmt::Write;

use super::datetime;
use super::result_keys::{extra_keys, result_keys};
use super::settings_keys::settings_keys;
use crate::plan::Plan;
use crate::run::{RunOutcome, Severity};
use crate::value::{Value, quoted};
use crate::world::TimeNs;

/// What the log says about its surroundings, which the engine cannot know.
#[derive(Clone, Debug)]
pub struct DetailContext<'a> {
    /// Version of this product, for example `0.1.0`.
    pub version: &'a str,
    /// Name of the SUT.
    pub sut_name: &'a str,
    /// How long asking for it took.
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
            let errors = outcome.events.errors() + plan.faults().len() as u64;
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
