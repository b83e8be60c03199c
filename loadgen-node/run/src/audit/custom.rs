//! The custom dataset test: a dataset that the submitter has never seen is answered as well and as fast as the official
//! one. It is one of the audits that the MLPerf Inference paper names (Reddi et al., 2020, section V-B); there is no
//! script for it, so the thresholds are those of this program.

use super::AuditTest;
use super::check::AuditCheck;
use super::findings::Findings;
use super::pair;
use super::rates::{self, Against};
use super::run::{AuditedRun, OwnFacts, RunScore};

/// The share of the reference's score that has to be reached: that of the usual accuracy target.
const SHARE: f64 = 0.99;
/// Keys that datasets of other sizes change.
const CHANGED: [&str; 6] = [
    "qsl_reported_total_count",
    "qsl_reported_performance_count",
    "performance_sample_count",
    "accuracy_sample_count",
    "test_mode",
    "samples_per_query",
];
const NO_FACTS: &str = "only folders of this program say it";

/// Judges two runs of both modes, the test over a dataset of somebody else's.
pub fn judge(reference: &AuditedRun, test: &AuditedRun) -> Findings {
    let rates = rates::by_summary(&reference.summary, &test.summary, Against::OtherSeeds);
    let allowed = rates::allowed_by_summary(&reference.summary, Against::OtherSeeds);
    let requirement = format!("not INVALID, the test not slower than the reference by {allowed} or more");
    let mut checks = vec![
        AuditCheck::ours("rates", rates.passed, requirement, &*rates.finding),
        score_row(reference.own.as_ref(), test.own.as_ref()),
        dataset_row(reference.own.as_ref(), test.own.as_ref()),
    ];
    checks.extend(pair::by_summary(reference, test, &CHANGED));
    Findings::new(AuditTest::Custom, test.scenario(), checks, Vec::new())
}

fn score_row(reference: Option<&OwnFacts>, test: Option<&OwnFacts>) -> AuditCheck {
    let (name, requirement) = ("scores", format!("{SHARE} of the reference's, by the same metric"));
    let (Some(reference), Some(test)) = (reference, test) else {
        return AuditCheck::ours(name, false, requirement, NO_FACTS);
    };
    let (Some(before), Some(after)) = (&reference.score, &test.score) else {
        return AuditCheck::ours(
            name,
            false,
            requirement,
            "a run was not scored: both need labels, and mode SubmissionRun",
        );
    };
    let score_text = |score: &RunScore| format!("{} {:.4} of {} samples", score.metric, score.value, score.samples);
    let is_reached = match before.is_error {
        true => after.value * SHARE <= before.value,
        false => after.value >= before.value * SHARE,
    };
    let passed = before.metric == after.metric && is_reached;
    AuditCheck::ours(name, passed, requirement, format!("reference {}, test {}", score_text(before), score_text(after)))
}

fn dataset_row(reference: Option<&OwnFacts>, test: Option<&OwnFacts>) -> AuditCheck {
    let (name, requirement) = ("datasets", "another one in the test");
    let (Some(reference), Some(test)) = (reference, test) else {
        return AuditCheck::ours(name, false, requirement, NO_FACTS);
    };
    let is_other = reference.dataset != test.dataset && (test.sums.is_none() || reference.sums != test.sums);
    AuditCheck::ours(name, is_other, requirement, format!("{} and {}", reference.dataset, test.dataset))
}

#[cfg(test)]
mod tests {
    use super::super::check::CheckOutcome::{Failed, Passed};
    use super::*;

    fn facts(dataset: &str, metric: &str, value: f64, is_error: bool) -> OwnFacts {
        let score = Some(RunScore { metric: metric.to_owned(), value, samples: 10, is_error });
        OwnFacts { dataset: dataset.to_owned(), sums: Some(dataset.to_owned()), score, ..OwnFacts::default() }
    }

    #[test]
    fn a_score_may_be_one_percent_worse() {
        let row = |value, is_error| {
            let [one, other] = [facts("a", "top1", 50.0, is_error), facts("b", "top1", value, is_error)];
            score_row(Some(&one), Some(&other)).outcome
        };
        assert_eq!([row(49.5, false), row(49.4, false), row(80.0, false)], [Passed, Failed, Passed]);
        assert_eq!([row(50.4, true), row(51.0, true), row(f64::NAN, false)], [Passed, Failed, Failed]);
        let other = facts("b", "wer", 50.0, false);
        assert_eq!(score_row(Some(&facts("a", "top1", 50.0, false)), Some(&other)).outcome, Failed);
        assert_eq!(score_row(Some(&other), None).outcome, Failed);
    }

    #[test]
    fn the_same_dataset_is_no_other_one() {
        let [one, other] = [facts("a", "top1", 1.0, false), facts("b", "top1", 1.0, false)];
        let renamed = OwnFacts { dataset: "b".to_owned(), ..one.clone() };
        let row = |test: &OwnFacts| dataset_row(Some(&one), Some(test)).outcome;
        assert_eq!([row(&other), row(&renamed), row(&one)], [Passed, Failed, Failed]);
    }
}
