//! The accuracy table of DLI: a row for each metric of an accuracy run.

use std::path::Path;

use anyhow::Result;
use lon_shell::dli::terms::{NONE, device, infrastructure, stated};

use super::planned::Planned;
use super::row::topology;
use lon_run::outputs::documents::accuracy::AccuracyDocument;
use lon_run::outputs::documents::campaign_run::{CampaignRun, CellOutcome};
use lon_run::outputs::documents::result_summary::ResultSummary;
use lon_run::outputs::documents::sut_setup::SutNode;
use lon_run::outputs::logs::own_result;
use lon_shell::dli::facts::Facts;

/// The heads of the columns, as DLI has them.
pub(super) const HEADS: [&str; 11] = [
    "Status",
    "Task type",
    "Topology name",
    "Framework",
    "Inference Framework",
    "Device",
    "Infrastructure",
    "Dataset",
    "Accuracy type",
    "Precision",
    "Accuracy",
];

/// Metrics that DLI has a name for, by the names that they have here.
const NAMES: [(&str, &str); 2] = [("top1", "accuracy@top_k_1"), ("top5", "accuracy@top_k_5")];

/// A score in one metric.
struct Score<'a> {
    metric: &'a str,
    /// The score in its unit. None: it could not be computed.
    value: Option<f64>,
    unit: &'a str,
}

/// The rows of a run. One without a score has a row that says so.
///
/// # Errors
/// Its result cannot be read.
pub(super) fn rows(
    out: &Path,
    run: &CampaignRun,
    facts: &Facts,
    planned: &Planned,
) -> Result<Vec<[String; HEADS.len()]>> {
    if run.outcome != CellOutcome::Result {
        return Ok(vec![failed(facts, planned)]);
    }
    Ok(with_result(&own_result::read(&out.join(&run.folder))?, facts))
}

fn with_result(result: &ResultSummary, facts: &Facts) -> Vec<[String; HEADS.len()]> {
    let SutNode { setup, host } = result.sut.first().cloned().unwrap_or_default();
    let is_answered = result.counts.unanswered() == 0;
    let row = |score: Score<'_>| {
        let is_whole = is_answered && score.value.is_some();
        [
            if is_whole { "Success" } else { "Failed" }.to_owned(),
            stated(facts.task.as_deref()),
            topology(facts, &setup, &result.benchmark),
            stated(facts.framework.as_deref()),
            stated(Some(&setup.engine)),
            device(&setup.settings),
            infrastructure(&host),
            facts.dataset.clone().unwrap_or_else(|| result.dataset.clone()),
            kind(score.metric),
            stated(facts.precision.as_deref()),
            stated(score.value.map(|value| percent(value, score.unit)).as_deref()),
        ]
    };
    let none = Score { metric: NONE, value: None, unit: "" };
    result.accuracy.as_ref().map_or_else(|| vec![none], scores).into_iter().map(row).collect()
}

/// The scores of a run: the first metric, then the others.
fn scores(document: &AccuracyDocument) -> Vec<Score<'_>> {
    let first = Score { metric: &document.metric, value: Some(document.value), unit: &document.unit };
    let others =
        document.others.iter().map(|other| Score { metric: &other.metric, value: other.value, unit: &other.unit });
    std::iter::once(first).chain(others).collect()
}

/// The row of a run without a result.
fn failed(facts: &Facts, planned: &Planned) -> [String; HEADS.len()] {
    [
        "Failed".to_owned(),
        stated(facts.task.as_deref()),
        stated(facts.topology.as_deref().or(planned.model.as_deref())),
        stated(facts.framework.as_deref()),
        NONE.to_owned(),
        stated(planned.device.as_deref()),
        NONE.to_owned(),
        stated(facts.dataset.as_deref().or(planned.dataset.as_deref())),
        NONE.to_owned(),
        stated(facts.precision.as_deref()),
        NONE.to_owned(),
    ]
}

/// The metric's name in DLI, else the one that it has here.
fn kind(metric: &str) -> String {
    NAMES.iter().find(|(own, _)| *own == metric).map_or(metric, |(_, name)| name).to_owned()
}

/// The score as DLI writes it: `55.00%`. A number from 0 to 1 is a share. Counts keep their unit.
fn percent(value: f64, unit: &str) -> String {
    match unit {
        "%" => format!("{value:.2}%"),
        "1" => format!("{:.2}%", value * 100.0),
        other => format!("{value:.2} {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lon_run::outputs::documents::other_score::OtherScore;
    use lon_run::outputs::documents::sut_setup::SutSetup;

    fn result() -> ResultSummary {
        let other = |metric: &str, value, unit: &str| OtherScore {
            metric: metric.to_owned(),
            official: None,
            value,
            unit: unit.to_owned(),
            target: None,
            at_most: None,
            passed: true,
            why: None,
        };
        let accuracy = AccuracyDocument {
            metric: "top1".to_owned(),
            name: "top1".to_owned(),
            value: 55.0,
            unit: "%".to_owned(),
            target: Some(97.0),
            at_most: None,
            passed: false,
            samples: 20,
            questions: None,
            others: vec![other("dice", Some(0.8625), "1"), other("gen_len", Some(12.0), "characters")],
        };
        let setup = SutSetup { engine: "tract".to_owned(), model: "d.onnx".to_owned(), ..SutSetup::default() };
        let mut result = ResultSummary {
            benchmark: "digits".to_owned(),
            dataset: "/d".to_owned(),
            sut: vec![SutNode { setup, ..SutNode::default() }],
            accuracy: Some(accuracy),
            ..ResultSummary::default()
        };
        (result.counts.issued, result.counts.completed) = (20, 20);
        result
    }

    /// 11 of 20 right are 55 %. A score below its target is a success all the same: DLI has no targets.
    #[test]
    fn each_metric_is_a_row() {
        let facts = Facts { task: Some("classification".to_owned()), ..Facts::default() };
        let rows = with_result(&result(), &facts);
        let ends: Vec<_> = rows.iter().map(|row| [&row[0], &row[8], &row[10]].map(String::as_str)).collect();
        let right = [
            ["Success", "accuracy@top_k_1", "55.00%"],
            ["Success", "dice", "86.25%"],
            ["Success", "gen_len", "12.00 characters"],
        ];
        assert_eq!(ends, right);
        let begin: Vec<&str> = rows[0][1..6].iter().map(String::as_str).collect();
        assert_eq!(begin, ["classification", "d.onnx", "N/A", "tract", "CPU"]);
        assert_eq!((rows[0][7].as_str(), rows[0][9].as_str()), ("/d", "N/A"));
    }

    #[test]
    fn a_run_without_a_score_or_with_lost_samples_has_failed() {
        let mut lost = result();
        lost.counts.completed = 19;
        assert!(with_result(&lost, &Facts::default()).iter().all(|row| row[0] == "Failed"));
        let none = with_result(&ResultSummary { accuracy: None, ..result() }, &Facts::default());
        let [row] = &none[..] else { panic!("{none:?}") };
        assert_eq!([&row[0], &row[4], &row[8], &row[10]], ["Failed", "tract", NONE, NONE]);
        let planned = Planned { model: Some("a.onnx".to_owned()), ..Planned::default() };
        let row = failed(&Facts { precision: Some("INT8".to_owned()), ..Facts::default() }, &planned);
        assert_eq!([&row[0], &row[2], &row[9], &row[10]], ["Failed", "a.onnx", "INT8", NONE]);
    }
}
