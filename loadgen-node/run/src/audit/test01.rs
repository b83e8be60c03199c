//! TEST01: the answers of a measured run are those of the accuracy run (`compliance/TEST01` of mlcommons/inference).

use std::collections::{BTreeMap, BTreeSet};

use super::check::{AuditCheck, CheckOutcome};
use super::findings::{Findings, TestFile};
use super::label::LabelType;
use super::run::{AccuracyRunFacts, AuditedRun};
use super::second_chance::{BASELINE_FILE, COMPLIANCE_FILE, Near, SecondChance};
use super::settings::in_force;
use super::{AuditTest, accuracy_run, default_mode, pair, rates, sampled, unix_mode};
use loadgen::settings::TEST01_ACCURACY_LOG_SEED;

/// Keys that the audit's config file changes.
pub(super) const CHANGED: [&str; 4] =
    ["test_mode", "accuracy_log_rng_seed", "accuracy_log_sampling_target", "accuracy_log_probability"];
/// The sampling target of models whose answers are large (`compliance/TEST01/*/audit.config`); the others have
/// [`USUAL_TARGET`].
const TARGETS: [(&str, u64); 6] = [
    ("pointpainting", 256),
    ("retinanet", 256),
    ("yolo", 64),
    ("stable-diffusion-xl", 128),
    ("wan-2.2-t2v-a14b", 50),
    ("3d-unet", 64),
];
/// The sampling target of all other models.
pub(super) const USUAL_TARGET: u64 = 4_096;
/// Names of the rows, which tests look for.
const FIRST: &str = "first elements of answers";
const WHOLE: &str = "whole answers (--unixmode)";

/// The runs that are compared.
pub struct Inputs<'a> {
    /// The performance run of the reference.
    pub reference: &'a AuditedRun,
    /// Its accuracy run.
    pub accuracy: &'a AccuracyRunFacts,
    /// The run with the audit's settings.
    pub test: &'a AuditedRun,
    /// The type that `--dtype` gave.
    pub dtype: Option<LabelType>,
    /// True when the official verdict is that of `--unixmode`.
    pub unix_mode: bool,
    /// Where answers differ: the scores of both over the same samples, and in what they are compared. Otherwise none,
    /// or why there are none.
    pub second: Option<Result<(SecondChance, Vec<Near>), String>>,
}

/// The sampling target for a benchmark.
pub(super) fn target_of(benchmark: &str) -> u64 {
    TARGETS.iter().find(|(name, _)| *name == benchmark).map_or(USUAL_TARGET, |(_, target)| *target)
}

/// Judges three runs by TEST01.
pub fn judge(inputs: &Inputs<'_>) -> Findings {
    let Inputs { reference, accuracy, test, .. } = inputs;
    let none = super::answers::AnswerLog { text: "[\n]\n".to_owned(), answers: Vec::new() };
    let answers = test.answers.as_ref().unwrap_or(&none);
    let (label, type_row) = type_of(inputs);
    let (name, official) = match inputs.unix_mode {
        true => (WHOLE, unix_mode::compare(&accuracy.answers, answers)),
        false => (FIRST, default_mode::compare(&accuracy.answers, answers, label)),
    };
    let rates = rates::by_detail(&reference.detail, &test.detail);
    let near = format!("both VALID, the test within {} of the reference", rates::allowed_of(&reference.detail));
    let chance = inputs.second.as_ref().filter(|_| !official.passed);
    let (passed, finding) = second(official.passed, &official.finding, chance);
    let mut checks = vec![
        AuditCheck::official(name, passed, "at least one compared, none differs; or the scores are near", finding),
        AuditCheck::official("rates", rates.passed, near, &*rates.finding),
        type_row,
        answers_row(accuracy, answers, passed && !official.passed),
        missing_row(accuracy, answers),
        in_force(&test.detail, &audit_settings(wanted_target(test))),
    ];
    checks.extend(pair::alike(reference, test, &CHANGED));
    checks.extend(accuracy_run::checks(reference, accuracy, test));
    checks.extend(sampled::checks(test));
    checks.extend(accuracy_run::untouched_rows(reference, accuracy, test));
    let mut files = vec![
        TestFile::new("verify_accuracy.txt", &official.text),
        TestFile::new("verify_performance.txt", &rates.text),
    ];
    if let Some(Ok((chance, _))) = chance {
        files.push(TestFile::new(BASELINE_FILE, &chance.baseline));
        files.push(TestFile::new(COMPLIANCE_FILE, &chance.compliance));
    }
    Findings::new(AuditTest::Test01, test.scenario(), checks, files)
}

/// Returns true when answers differ by the script's comparison, so that the scores decide.
pub fn differs(findings: &Findings) -> bool {
    findings.checks.iter().any(|check| [FIRST, WHOLE].contains(&&*check.name) && check.outcome == CheckOutcome::Failed)
}

/// Returns the outcome of the answers, and of the scores where answers differ.
fn second(is_same: bool, finding: &str, chance: Option<&Result<(SecondChance, Vec<Near>), String>>) -> (bool, String) {
    match chance {
        None => (is_same, finding.to_owned()),
        Some(Err(why)) => (false, format!("{finding}; the scores of both are not compared: {why}")),
        Some(Ok((chance, nears))) => match chance.judge(nears) {
            Ok(near) => (true, format!("{finding}; the scores are near: {near}")),
            Err(far) => (false, format!("{finding}; the scores are not near: {far}")),
        },
    }
}

/// Judges two runs as far as their logs are enough for: submissions have not all answers.
pub fn of_logs(reference: &AuditedRun, test: &AuditedRun, benchmark: &str) -> Findings {
    let rates = rates::by_detail(&reference.detail, &test.detail);
    let near = format!("both VALID, the test within {} of the reference", rates::allowed_of(&reference.detail));
    let mut checks = vec![
        AuditCheck::official("rates", rates.passed, near, &*rates.finding),
        in_force(&test.detail, &audit_settings(target_of(benchmark))),
        sampled::loaded_row(test),
    ];
    checks.extend(pair::by_summary(reference, test, &CHANGED));
    let files = vec![TestFile::new("verify_performance.txt", &rates.text)];
    Findings::new(AuditTest::Test01, test.scenario(), checks, files)
}

/// The type of the answers: that of the model's signature, else that of `--dtype`, else the script's own.
fn type_of(inputs: &Inputs<'_>) -> (LabelType, AuditCheck) {
    let name = "type of the answers";
    let dtypes = [inputs.test.own.as_ref(), inputs.accuracy.own.as_ref()].map(|own| own?.dtype);
    let signature = dtypes[0].or(dtypes[1]);
    let requirement = signature.map_or_else(|| "that of the model".to_owned(), |dtype| dtype.to_string());
    let label = signature.and_then(LabelType::of);
    if let [Some(test), Some(accuracy)] = dtypes
        && test != accuracy
    {
        let finding = format!("{accuracy} in the accuracy run, {test} in the test");
        return (label.unwrap_or(LabelType::Byte), AuditCheck::ours(name, false, requirement, finding));
    }
    match (inputs.dtype, label) {
        (Some(flag_label), Some(label)) => {
            (flag_label, AuditCheck::ours(name, flag_label == label, requirement, flag_label.name()))
        }
        (None, Some(label)) => (label, AuditCheck::ours(name, true, requirement, label.name())),
        (Some(flag_label), None) => {
            (flag_label, AuditCheck::unchecked(name, requirement, format!("{}, as --dtype says", flag_label.name())))
        }
        (None, None) => {
            let why = "byte, the script's own: it compares one byte of each answer; give --dtype";
            (LabelType::Byte, AuditCheck::unchecked(name, requirement, why))
        }
    }
}

/// Every answer is that of the accuracy run, to the last byte; where the scores have decided, answers may differ.
fn answers_row(accuracy: &AccuracyRunFacts, test: &super::answers::AnswerLog, has_scores: bool) -> AuditCheck {
    let mut references: BTreeMap<u64, BTreeSet<Vec<u8>>> = BTreeMap::new();
    for answer in &accuracy.answers.answers {
        references.entry(answer.qsl_idx).or_default().insert(answer.bytes().unwrap_or_default());
    }
    let twice = references.values().filter(|answers| answers.len() > 1).count();
    let compared = test.answers.iter().filter_map(|answer| Some((references.get(&answer.qsl_idx)?, answer)));
    let (mut count, mut other, mut first) = (0, 0, None);
    for (reference, answer) in compared {
        count += 1;
        if answer.bytes().is_none_or(|bytes| !reference.contains(&bytes)) {
            other += 1;
            first = first.or(Some(answer.qsl_idx));
        }
    }
    let at = first.map(|index| format!(", first of sample {index}")).unwrap_or_default();
    let finding = format!("{count} compared, {other} differ{at}; {twice} samples with two answers in the accuracy run");
    let is_same = count > 0 && other == 0 && twice == 0;
    let requirement = "all the same, unless the scores are near";
    AuditCheck::ours("whole answers, all bytes", is_same || (has_scores && count > 0), requirement, finding)
}

/// The script counts answers without a partner, and passes them.
fn missing_row(accuracy: &AccuracyRunFacts, test: &super::answers::AnswerLog) -> AuditCheck {
    let samples: BTreeSet<u64> = accuracy.answers.answers.iter().map(|answer| answer.qsl_idx).collect();
    let missing = test.answers.iter().filter(|answer| !samples.contains(&answer.qsl_idx)).count();
    let finding = format!("missing: {missing} of {}", test.answers.len());
    AuditCheck::ours("samples of the test, in the accuracy run", missing == 0, "none missing", finding)
}

/// The sampling target that has to be in force. Of foreign logs the benchmark is not known, and one of the official
/// targets will do.
fn wanted_target(test: &AuditedRun) -> u64 {
    let own_target = test.detail.whole("effective_accuracy_log_sampling_target").unwrap_or(0);
    match &test.own {
        Some(own) => target_of(&own.benchmark),
        None if TARGETS.iter().any(|(_, target)| *target == own_target) => own_target,
        None => USUAL_TARGET,
    }
}

/// Returns the settings that have to be in force.
fn audit_settings(target: u64) -> Vec<(&'static str, serde_json::Value)> {
    vec![
        ("test_mode", "PerformanceOnly".into()),
        ("accuracy_log_rng_seed", TEST01_ACCURACY_LOG_SEED.into()),
        ("accuracy_log_sampling_target", target.into()),
    ]
}

#[cfg(test)]
mod tests {
    use lon_qsl::benchmark::Benchmark;

    use super::*;

    #[test]
    fn every_name_with_a_target_is_a_benchmark() {
        for (name, target) in TARGETS {
            assert_eq!(Benchmark::find(name).map(|benchmark| benchmark.name), Ok(name));
            assert_eq!(target_of(name), target);
        }
        assert_eq!([target_of("3d-unet"), target_of("resnet50")], [64, USUAL_TARGET]);
    }
}
