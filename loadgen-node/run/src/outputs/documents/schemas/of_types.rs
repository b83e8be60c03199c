//! Schemas made of the types that write the documents. `LON_BLESS=1` writes the files; a new kind of document begins
//! with an empty one.

use std::path::Path;

use loadgen::run::SearchRecord;
use loadgen::vectors::{ConfigCase, ReplayedReport, TrafficTrace};
use lon_shell::documents::{BenchReport, DescribeDocument};
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::Value;

use super::KINDS;
use crate::outputs::documents::accuracy::AccuracyDocument;
use crate::outputs::documents::accuracy_subset::AccuracySubset;
use crate::outputs::documents::audit_result::AuditResult;
use crate::outputs::documents::campaign::CampaignPlan;
use crate::outputs::documents::campaign_doctor::CampaignDoctor;
use crate::outputs::documents::campaign_run::CampaignRun;
use crate::outputs::documents::campaign_table::CampaignTable;
use crate::outputs::documents::codec_advice::CodecAdvice;
use crate::outputs::documents::comparison::Comparison;
use crate::outputs::documents::conf::ConfDocument;
use crate::outputs::documents::conformance::ConformanceDocument;
use crate::outputs::documents::dataset_verified::DatasetVerified;
use crate::outputs::documents::fleet::FleetReport;
use crate::outputs::documents::inferred::InferredResults;
use crate::outputs::documents::mix_result::MixResult;
use crate::outputs::documents::network_report::NetworkReport;
use crate::outputs::documents::official_replay::OfficialReplay;
use crate::outputs::documents::probe::ProbeDocument;
use crate::outputs::documents::probe::watch::{WatchDocument, WatchSum};
use crate::outputs::documents::qdl_result::QdlResult;
use crate::outputs::documents::repeats::Repeats;
use crate::outputs::documents::result_summary::ResultSummary;
use crate::outputs::documents::run_list::RunList;
use crate::outputs::documents::schema_list::SchemaList;
use crate::outputs::documents::scores::ScoresDocument;
use crate::outputs::documents::submission_check::SubmissionCheck;
use crate::outputs::documents::submission_plan::SubmissionPlan;
use crate::outputs::documents::submission_step::StepRecord;
use crate::outputs::documents::system_desc::SystemDesc;

/// Makes the schema of a type.
type Make = fn() -> Schema;

/// Functions that make the schema of each kind, in the order of [`KINDS`].
const MADE: [(&str, Make); KINDS.len()] = [
    ("result_summary", schema_of::<ResultSummary>),
    ("network_report", schema_of::<NetworkReport>),
    ("system_desc", schema_of::<SystemDesc>),
    ("find_peak", schema_of::<SearchRecord>),
    ("qdl_result", schema_of::<QdlResult>),
    ("submission_step", schema_of::<StepRecord>),
    ("audit_result", schema_of::<AuditResult>),
    ("repeats", schema_of::<Repeats>),
    ("mix_result", schema_of::<MixResult>),
    ("campaign", schema_of::<CampaignPlan>),
    ("campaign_run", schema_of::<CampaignRun>),
    ("campaign_table", schema_of::<CampaignTable>),
    ("campaign_doctor", schema_of::<CampaignDoctor>),
    ("codec_advice", schema_of::<CodecAdvice>),
    ("conf", schema_of::<ConfDocument>),
    ("config_cases", schema_of::<Vec<ConfigCase>>),
    ("probe", schema_of::<ProbeDocument>),
    ("probe_watch", schema_of::<WatchDocument>),
    ("probe_watch_sum", schema_of::<WatchSum>),
    ("conformance", schema_of::<ConformanceDocument>),
    ("fleet", schema_of::<FleetReport>),
    ("accuracy", schema_of::<AccuracyDocument>),
    ("accuracy_subset", schema_of::<AccuracySubset>),
    ("scores", schema_of::<ScoresDocument>),
    ("dataset_verified", schema_of::<DatasetVerified>),
    ("trace", schema_of::<TrafficTrace>),
    ("replay", schema_of::<ReplayedReport>),
    ("official_replay", schema_of::<OfficialReplay>),
    ("comparison", schema_of::<Comparison>),
    ("run_list", schema_of::<RunList>),
    ("inferred", schema_of::<InferredResults>),
    ("schema_list", schema_of::<SchemaList>),
    ("submission_plan", schema_of::<SubmissionPlan>),
    ("submission_check", schema_of::<SubmissionCheck>),
    ("describe", schema_of::<DescribeDocument>),
    ("bench", schema_of::<BenchReport>),
];

/// The schema of what is written of this type.
fn schema_of<T: JsonSchema>() -> Schema {
    let transform = RecursiveTransform(|schema: &mut Schema| {
        if let Some(Value::String(text)) = schema.get_mut("description") {
            *text = without_links(text);
        }
    });
    let settings = SchemaSettings::draft2020_12().for_serialize().with_transform(transform);
    settings.into_generator().into_root_schema_for::<T>()
}

/// The text without the links of Rust's docs, on one line.
fn without_links(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut remainder = text;
    while let Some((before, link)) = remainder.split_once("[`") {
        let Some((name, after)) = link.split_once("`]") else { break };
        plain.push_str(before);
        plain.push_str(&format!("`{name}`"));
        let target = after.strip_prefix('(').and_then(|target| target.split_once(')'));
        remainder = target.map_or(after, |(_, after)| after);
    }
    plain.push_str(remainder);
    plain.replace('\n', " ")
}

#[test]
fn the_schemas_are_what_the_types_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../schemas");
    let is_blessing = std::env::var_os("LON_BLESS").is_some();
    for (kind, (name, make)) in KINDS.into_iter().zip(MADE) {
        assert_eq!(kind.name, name, "both lists have one order");
        let mut schema = make();
        schema.insert("title".to_owned(), kind.name.into());
        schema.insert("description".to_owned(), kind.about.into());
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        let path = folder.join(format!("{}.json", kind.name));
        if is_blessing {
            std::fs::write(&path, &text).unwrap();
        }
        let there = std::fs::read_to_string(&path).unwrap_or_default();
        let differs = there.lines().zip(text.lines()).find(|(there, line)| there != line);
        assert!(there == text, "{} is another (LON_BLESS=1 writes it): {differs:?}", path.display());
        assert_eq!(schema.get("$schema").unwrap(), "https://json-schema.org/draft/2020-12/schema");
    }
}

#[test]
fn keys_that_are_always_written_are_required_and_the_version_is_fixed() {
    let schema = schema_of::<ResultSummary>();
    let schema = schema.as_value();
    let required = schema["required"].as_array().unwrap();
    assert!(required.contains(&"metric".into()), "null is written, too: {required:?}");
    assert!(!required.contains(&"ttft_ns".into()), "only token runs have it");
    assert_eq!(schema["properties"]["schema"]["const"], 1);
}

#[test]
fn links_become_names() {
    let text = "One [`Unit`], [`a`](b::c) and\n[two] of [`open";
    assert_eq!(without_links(text), "One `Unit`, `a` and [two] of [`open");
}
