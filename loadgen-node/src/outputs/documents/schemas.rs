//! JSON Schemas of the documents that the two programs write, made of the types that write them.

use loadgen::run::SearchRecord;
use loadgen::vectors::{ConfigCase, ReplayedReport, TrafficTrace};
use lon_shell::documents::{BenchReport, DescribeDocument};
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::Value;

use super::accuracy::AccuracyDocument;
use super::accuracy_subset::AccuracySubset;
use super::audit_result::AuditResult;
use super::codec_advice::CodecAdvice;
use super::comparison::Comparison;
use super::conf::ConfDocument;
use super::conformance::ConformanceDocument;
use super::fleet::FleetReport;
use super::network_report::NetworkReport;
use super::official_replay::OfficialReplay;
use super::probe::ProbeDocument;
use super::qdl_result::QdlResult;
use super::result_summary::ResultSummary;
use super::run_list::RunList;
use super::schema_list::SchemaList;
use super::scores::ScoresDocument;
use super::submission_check::SubmissionCheck;
use super::submission_plan::SubmissionPlan;
use super::submission_step::StepRecord;
use super::system_desc::SystemDesc;
use super::watch::{WatchDocument, WatchSum};

/// A kind of document.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Its name. Its schema is `loadgen-node/schemas/NAME.json`.
    pub name: &'static str,
    /// Which file it is, or which command prints it.
    pub about: &'static str,
    make: fn() -> Schema,
}

/// Every kind of document: files of the run folder first, then what commands print.
pub const KINDS: [Kind; 28] = [
    Kind::of::<ResultSummary>(
        "result_summary",
        "result_summary.json; run, show and recover with --json print the same",
    ),
    Kind::of::<NetworkReport>("network_report", "network_report.json"),
    Kind::of::<SystemDesc>("system_desc", "system_desc.json"),
    Kind::of::<SearchRecord>("find_peak", "find_peak.json of a search for the peak"),
    Kind::of::<QdlResult>("qdl_result", "qdl_result.json beside the logs of another engine"),
    Kind::of::<StepRecord>("submission_step", "submission_step.json of a run of a submission"),
    Kind::of::<AuditResult>("audit_result", "audit_result.json; audit --json prints the same"),
    Kind::of::<CodecAdvice>("codec_advice", "run --compression auto with --json"),
    Kind::of::<ConfDocument>("conf", "conf --json"),
    Kind::of::<Vec<ConfigCase>>("config_cases", "conf --config-vector FILE.json"),
    Kind::of::<ProbeDocument>("probe", "probe --json"),
    Kind::of::<WatchDocument>("probe_watch", "probe --watch with --json, a line for each interval"),
    Kind::of::<WatchSum>("probe_watch_sum", "probe --watch with --json, the last line"),
    Kind::of::<ConformanceDocument>("conformance", "conformance --json"),
    Kind::of::<FleetReport>("fleet", "fleet check, start, stop, status, logs and nodes with --json"),
    Kind::of::<AccuracyDocument>("accuracy", "accuracy --json of an accuracy run"),
    Kind::of::<AccuracySubset>("accuracy_subset", "accuracy --json of a performance run"),
    Kind::of::<ScoresDocument>("scores", "accuracy --json with --scorer"),
    Kind::of::<TrafficTrace>("trace", "trace"),
    Kind::of::<ReplayedReport>("replay", "replay --report-vector, and replay --timeline with --json"),
    Kind::of::<OfficialReplay>("official_replay", "replay --official with --json"),
    Kind::of::<Comparison>("comparison", "compare --json"),
    Kind::of::<RunList>("run_list", "list --json"),
    Kind::of::<SchemaList>("schema_list", "schema --json"),
    Kind::of::<SubmissionPlan>("submission_plan", "submission plan --json"),
    Kind::of::<SubmissionCheck>("submission_check", "submission check --json"),
    Kind::of::<DescribeDocument>("describe", "sut-node describe"),
    Kind::of::<BenchReport>("bench", "sut-node bench --json; run --baseline reads it"),
];

impl Kind {
    const fn of<T: JsonSchema>(name: &'static str, about: &'static str) -> Kind {
        Kind { name, about, make: written::<T> }
    }

    /// The kind with this name.
    pub fn find(name: &str) -> Option<Kind> {
        KINDS.into_iter().find(|kind| kind.name == name)
    }

    /// The schema, draft 2020-12 of JSON Schema. It is about what this version writes: later ones may add keys.
    pub fn schema(self) -> Schema {
        let mut schema = (self.make)();
        schema.insert("title".to_owned(), self.name.into());
        schema.insert("description".to_owned(), self.about.into());
        schema
    }
}

/// The schema of what is written of this type.
fn written<T: JsonSchema>() -> Schema {
    let words = RecursiveTransform(|schema: &mut Schema| {
        if let Some(Value::String(text)) = schema.get_mut("description") {
            *text = without_links(text);
        }
    });
    let settings = SchemaSettings::draft2020_12().for_serialize().with_transform(words);
    settings.into_generator().into_root_schema_for::<T>()
}

/// The text without the links of Rust's docs, on one line.
fn without_links(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, link)) = rest.split_once("[`") {
        let Some((name, after)) = link.split_once("`]") else { break };
        plain.push_str(before);
        plain.push_str(&format!("`{name}`"));
        let target = after.strip_prefix('(').and_then(|target| target.split_once(')'));
        rest = target.map_or(after, |(_, after)| after);
    }
    plain.push_str(rest);
    plain.replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_become_names() {
        let text = "One [`Unit`], [`a`](b::c) and\n[two] of [`open";
        assert_eq!(without_links(text), "One `Unit`, `a` and [two] of [`open");
    }

    #[test]
    fn names_are_told_apart_and_found() {
        let mut names = KINDS.map(|kind| kind.name);
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
        assert_eq!(Kind::find("probe").map(|kind| kind.about), Some("probe --json"));
        assert!(Kind::find("nothing").is_none());
    }

    #[test]
    fn keys_that_are_always_written_are_required_and_the_version_is_fixed() {
        let schema = Kind::find("result_summary").unwrap().schema();
        let schema = schema.as_value();
        let required = schema["required"].as_array().unwrap();
        assert!(required.contains(&"metric".into()), "null is written, too: {required:?}");
        assert!(!required.contains(&"ttft_ns".into()), "only token runs have it");
        assert_eq!(schema["properties"]["schema"]["const"], 1);
    }
}
