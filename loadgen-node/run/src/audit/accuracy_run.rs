//! Rules of this program on the accuracy run with which TEST01 and TEST08 compare.

use std::collections::BTreeSet;

use loadgen::settings::TEST01_ACCURACY_LOG_SEED;

use super::check::AuditCheck;
use super::detail::Detail;
use super::run::{AccuracyRunFacts, AuditedRun};
use super::settings::untouched;

/// The modes whose logs have the answers of an accuracy run.
const MODES: [&str; 2] = ["AccuracyOnly", "SubmissionRun"];
const NO_LOG: &str = "its detail log is not there";

/// Every row on the accuracy run, and on how it and the other two runs belong together.
pub(super) fn checks(reference: &AuditedRun, accuracy: &AccuracyRunFacts, test: &AuditedRun) -> Vec<AuditCheck> {
    vec![
        mode_row(accuracy),
        covered_row(accuracy),
        sut_row(reference, accuracy),
        models_row(accuracy, test),
        seed_row(reference),
        runs_row(reference, accuracy, test),
    ]
}

/// The folders of all three runs are as the runs left them.
pub(super) fn untouched_rows(
    reference: &AuditedRun,
    accuracy: &AccuracyRunFacts,
    test: &AuditedRun,
) -> [AuditCheck; 3] {
    [
        untouched("reference", reference.own.as_ref()),
        untouched("accuracy run", accuracy.own.as_ref()),
        untouched("test", test.own.as_ref()),
    ]
}

/// The answers are compared with those of an accuracy run, and of no other.
fn mode_row(accuracy: &AccuracyRunFacts) -> AuditCheck {
    let (name, requirement) = ("mode of the accuracy run", MODES.join(" or "));
    let Some(detail) = &accuracy.detail else { return AuditCheck::unchecked(name, requirement, NO_LOG) };
    let finding = detail.text("effective_test_mode").unwrap_or("not logged");
    AuditCheck::ours(name, MODES.contains(&finding), requirement, finding)
}

/// The accuracy run went over the whole dataset.
fn covered_row(accuracy: &AccuracyRunFacts) -> AuditCheck {
    let (name, requirement) = ("samples of the accuracy run", "the whole dataset");
    let Some(detail) = &accuracy.detail else { return AuditCheck::unchecked(name, requirement, NO_LOG) };
    let Some(whole) = detail.whole("qsl_reported_total_count") else {
        return AuditCheck::ours(name, false, requirement, "its detail log does not say how many the dataset has");
    };
    // A smaller number in force is a part of the dataset that was chosen.
    let is_asked = detail.whole("effective_accuracy_sample_count").is_none_or(|count| count == whole);
    let samples: BTreeSet<u64> = accuracy.answers.answers.iter().map(|answer| answer.qsl_idx).collect();
    AuditCheck::ours(
        name,
        is_asked && samples.len() as u64 == whole,
        requirement,
        format!("{} of {whole}", samples.len()),
    )
}

fn sut_row(reference: &AuditedRun, accuracy: &AccuracyRunFacts) -> AuditCheck {
    let name = "name of the SUT, in the accuracy run";
    let requirement = reference.detail.text("sut_name").unwrap_or_default();
    let Some(detail) = &accuracy.detail else { return AuditCheck::unchecked(name, requirement, NO_LOG) };
    let finding = detail.text("sut_name").unwrap_or_default();
    AuditCheck::ours(name, !finding.is_empty() && finding == requirement, requirement, finding)
}

/// Answers of another model say nothing of those of the test.
fn models_row(accuracy: &AccuracyRunFacts, test: &AuditedRun) -> AuditCheck {
    let name = "models of the nodes, in the accuracy run";
    match (&accuracy.own, &test.own) {
        (Some(accuracy), Some(test)) => {
            let [finding, requirement] = [accuracy, test].map(|own| own.models.join(", "));
            AuditCheck::ours(name, finding == requirement, requirement, finding)
        }
        _ => AuditCheck::unchecked(name, "those of the test", "only run folders of this program say what they were"),
    }
}

/// A reference with the seed of the audit is a run of the audit itself.
fn seed_row(reference: &AuditedRun) -> AuditCheck {
    let seed = reference.detail.value("effective_accuracy_log_rng_seed");
    let passed = seed.is_some_and(|seed| seed.as_u64() != Some(TEST01_ACCURACY_LOG_SEED));
    let finding = seed.map_or_else(|| "not logged".to_owned(), ToString::to_string);
    AuditCheck::ours("seed of logged answers, in the reference", passed, "not that of the audit", finding)
}

/// The test is a run of its own. One run of both modes may be the reference and the accuracy run together.
fn runs_row(reference: &AuditedRun, accuracy: &AccuracyRunFacts, test: &AuditedRun) -> AuditCheck {
    let of_test = |detail: &Detail| detail.is_of_same_run(&test.detail);
    let is_reference = of_test(&reference.detail);
    let is_accuracy = accuracy.detail.as_ref().is_some_and(of_test);
    let finding = match (is_reference, is_accuracy) {
        (false, false) => "a run of its own",
        (true, false) => "the reference",
        (false, true) => "the accuracy run",
        (true, true) => "the reference and the accuracy run",
    };
    AuditCheck::ours("run of the test", !is_reference && !is_accuracy, "a run of its own", finding)
}

#[cfg(test)]
mod tests {
    use super::super::answers::AnswerLog;
    use super::super::check::CheckOutcome;
    use super::super::run::OwnFacts;
    use super::*;

    fn detail(mode: &str, seed: u64, samples: &str) -> Detail {
        let line = |key: &str, value: &str| format!(":::MLLOG {{\"key\": \"{key}\", \"value\": {value}}}\n");
        let text = line("effective_test_mode", &format!("\"{mode}\""))
            + &line("effective_accuracy_log_rng_seed", &seed.to_string())
            + &line("sut_name", "\"S\"")
            + samples;
        Detail::read(&text).unwrap()
    }

    fn run(detail: Detail) -> AuditedRun {
        AuditedRun { detail, summary: String::new(), answers: None, own: None }
    }

    fn accuracy(detail: Option<Detail>) -> AccuracyRunFacts {
        let answers = AnswerLog::read("[{\"qsl_idx\": 0, \"data\": \"00\"}]".to_owned()).unwrap();
        AccuracyRunFacts { answers, detail, own: None }
    }

    fn failed(reference: &AuditedRun, accuracy: &AccuracyRunFacts, test: &AuditedRun) -> Vec<String> {
        let rows = checks(reference, accuracy, test).into_iter();
        rows.filter(|row| row.outcome == CheckOutcome::Failed).map(|row| row.name).collect()
    }

    const WHOLE: &str = ":::MLLOG {\"key\": \"qsl_reported_total_count\", \"value\": 1}\n";

    #[test]
    fn one_run_of_both_modes_and_a_test_pass() {
        let submission = detail("SubmissionRun", 0, WHOLE);
        let test = run(detail("PerformanceOnly", TEST01_ACCURACY_LOG_SEED, WHOLE));
        assert_eq!(failed(&run(submission.clone()), &accuracy(Some(submission)), &test), [""; 0]);
    }

    #[test]
    fn a_test_in_place_of_the_other_runs_is_named() {
        let test = detail("PerformanceOnly", TEST01_ACCURACY_LOG_SEED, WHOLE);
        let reference = detail("SubmissionRun", 0, WHOLE);
        let [mode, seed, own] =
            ["mode of the accuracy run", "seed of logged answers, in the reference", "run of the test"];
        let all = failed(&run(test.clone()), &accuracy(Some(test.clone())), &run(test.clone()));
        assert_eq!(all, [mode, seed, own]);
        let as_reference = failed(&run(test.clone()), &accuracy(Some(reference.clone())), &run(test.clone()));
        assert_eq!(as_reference, [seed, own]);
        let as_accuracy = failed(&run(reference), &accuracy(Some(test.clone())), &run(test));
        assert_eq!(as_accuracy, [mode, own]);
    }

    #[test]
    fn a_log_without_its_lines_fails_and_no_log_is_unchecked() {
        let reference = run(detail("PerformanceOnly", 0, WHOLE));
        let test = run(detail("PerformanceOnly", TEST01_ACCURACY_LOG_SEED, WHOLE));
        let bare = detail("AccuracyOnly", 0, "");
        assert_eq!(failed(&reference, &accuracy(Some(bare)), &test), ["samples of the accuracy run"]);
        let rows = checks(&reference, &accuracy(None), &test);
        let unchecked = rows.iter().filter(|row| row.outcome == CheckOutcome::Unchecked).count();
        assert_eq!(unchecked, 4, "{rows:?}");
    }

    #[test]
    fn a_part_of_the_dataset_is_not_all_of_it() {
        let part = ":::MLLOG {\"key\": \"effective_accuracy_sample_count\", \"value\": 1}\n\
                    :::MLLOG {\"key\": \"qsl_reported_total_count\", \"value\": 2}\n";
        let reference = run(detail("PerformanceOnly", 0, part));
        let test = run(detail("PerformanceOnly", TEST01_ACCURACY_LOG_SEED, part));
        let chosen = detail("AccuracyOnly", 0, part);
        assert_eq!(failed(&reference, &accuracy(Some(chosen)), &test), ["samples of the accuracy run"]);
    }

    #[test]
    fn an_accuracy_run_of_another_model_is_named() {
        let facts = |model: &str| OwnFacts { models: vec![model.to_owned()], ..OwnFacts::default() };
        let of = |model: &str| AccuracyRunFacts {
            own: Some(facts(model)),
            ..accuracy(Some(detail("AccuracyOnly", 0, WHOLE)))
        };
        let reference = run(detail("PerformanceOnly", 0, WHOLE));
        let test =
            AuditedRun { own: Some(facts("a 1")), ..run(detail("PerformanceOnly", TEST01_ACCURACY_LOG_SEED, WHOLE)) };
        assert_eq!(failed(&reference, &of("a 1"), &test), [""; 0]);
        assert_eq!(failed(&reference, &of("a 2"), &test), ["models of the nodes, in the accuracy run"]);
    }
}
