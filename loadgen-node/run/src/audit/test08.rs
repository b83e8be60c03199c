//! TEST08: predictions of a measured run are as good as those of the accuracy run (`compliance/TEST08` of
//! mlcommons/inference, for dlrm-v3): their normalized entropy, sample by sample, within 0.1 %.

use std::collections::{BTreeMap, BTreeSet};

use super::answers::{Answer, AnswerLog};
use super::check::AuditCheck;
use super::findings::{Findings, TestFile};
use super::run::{AccuracyRunFacts, AuditedRun};
use super::script::Script;
use super::settings::in_force;
use super::{AuditTest, accuracy_run, pair, sampled, test01};
use loadgen::settings::TEST01_ACCURACY_LOG_SEED;

/// The difference that the script allows, as a share of the entropy in the accuracy run.
const TOLERANCE: f64 = 0.001;
/// Predictions and labels are kept this far from 0 and 1.
const MARGIN: f32 = 1e-7;

/// Judges three runs by TEST08.
pub fn judge(reference: &AuditedRun, accuracy: &AccuracyRunFacts, test: &AuditedRun) -> Findings {
    let none = AnswerLog { text: String::new(), answers: Vec::new() };
    let answers = test.answers.as_ref().unwrap_or(&none);
    let script = compare(&accuracy.answers, answers);
    let requirement = "all samples in the accuracy run, each entropy within 0.1 %";
    let mut checks = vec![
        AuditCheck::official("normalized entropies", script.passed, requirement, &*script.finding),
        once_row(&accuracy.answers),
        scored_row(&accuracy.answers, answers),
        in_force(&test.detail, &settings()),
    ];
    checks.extend(pair::alike(reference, test, &test01::CHANGED));
    checks.extend(accuracy_run::checks(reference, accuracy, test));
    checks.extend(sampled::checks(test));
    checks.extend(accuracy_run::untouched_rows(reference, accuracy, test));
    Findings::new(AuditTest::Test08, test.scenario(), checks, vec![TestFile::new("verify_accuracy.txt", &script.text)])
}

/// Judges a test as far as the logs of a submission are enough for: of the accuracy run they have some answers alone.
pub fn of_logs(reference: Option<&AuditedRun>, some: Option<&AnswerLog>, test: &AuditedRun) -> Vec<AuditCheck> {
    let none = AnswerLog { text: String::new(), answers: Vec::new() };
    let mut checks = vec![
        near_row(some.unwrap_or(&none), test.answers.as_ref().unwrap_or(&none)),
        in_force(&test.detail, &settings()),
    ];
    checks.extend(reference.into_iter().flat_map(|reference| pair::alike(reference, test, &test01::CHANGED)));
    checks.extend(sampled::checks(test));
    checks
}

fn settings() -> [(&'static str, serde_json::Value); 3] {
    [
        ("test_mode", "PerformanceOnly".into()),
        ("accuracy_log_rng_seed", TEST01_ACCURACY_LOG_SEED.into()),
        ("accuracy_log_sampling_target", test01::USUAL_TARGET.into()),
    ]
}

/// The entropies of those samples whose answers both logs have.
fn near_row(some: &AnswerLog, test: &AnswerLog) -> AuditCheck {
    let (name, requirement) = ("normalized entropies of samples in both logs", "each within 0.1 %");
    let all = some.answers.iter().filter_map(|answer| reference_sample(&floats(&answer.bytes()?)?));
    let samples: BTreeMap<(i64, i64), ReferenceSample> = all.collect();
    let (mut matched, mut different) = (0, 0);
    for answer in &test.answers {
        let data = answer.bytes().and_then(|bytes| floats(&bytes)).filter(|data| data.len() >= 2);
        let sample = data.as_ref().and_then(|data| samples.get(&(data[0] as i64, data[1] as i64)));
        if let (Some(data), Some(sample)) = (&data, sample) {
            let own = entropy(&data[2..], &sample.labels, &sample.weights);
            matched += 1;
            different += u32::from(own.is_none_or(|own| !is_near(sample.entropy, own)));
        }
    }
    let finding = format!("{matched} compared, {different} differ");
    match matched {
        0 => AuditCheck::unchecked(name, requirement, finding),
        _ => AuditCheck::ours(name, different == 0, requirement, finding),
    }
}

/// Of two entries with the same numbers the script takes the last, so that one could be put there for the test.
fn once_row(reference: &AnswerLog) -> AuditCheck {
    let mut pairs = BTreeSet::new();
    let twice = reference.answers.iter().filter(|answer| numbers(answer).is_some_and(|own| !pairs.insert(own))).count();
    let finding = format!("a second time: {twice} of {}", reference.answers.len());
    AuditCheck::ours("numbers of samples in the accuracy run", twice == 0, "each once", finding)
}

/// An entropy of 0 says nothing of predictions: it is what the script takes where all weights are 0.
fn scored_row(reference: &AnswerLog, test: &AnswerLog) -> AuditCheck {
    let test_samples: BTreeSet<(i64, i64)> = test.answers.iter().filter_map(numbers).collect();
    let all = reference.answers.iter().filter_map(|answer| reference_sample(&floats(&answer.bytes()?)?));
    let zero = all.filter(|(own, sample)| test_samples.contains(own) && sample.entropy == 0.0).count();
    let finding = format!("0: {zero} of {}", test_samples.len());
    AuditCheck::ours("entropies that say something", zero == 0, "none is 0", finding)
}

/// The two numbers by which samples belong together.
fn numbers(answer: &Answer) -> Option<(i64, i64)> {
    let data = floats(&answer.bytes()?)?;
    Some((*data.first()? as i64, *data.get(1)? as i64))
}

/// A sample of the accuracy run: its entropy, and what that of other predictions needs.
struct ReferenceSample {
    entropy: f32,
    labels: Vec<f32>,
    weights: Vec<f32>,
}

/// Compares as the script does: samples by their two numbers, entropies by their relative difference.
fn compare(reference: &AnswerLog, test: &AnswerLog) -> Script {
    let mut script = Script::begin("Verifying accuracy. This might take a while...");
    script.line("Reading accuracy mode results...");
    let samples: Option<BTreeMap<(i64, i64), ReferenceSample>> =
        reference.answers.iter().map(|answer| reference_sample(&floats(&answer.bytes()?)?)).collect();
    let Some(samples) = samples else {
        let why = "an answer of the accuracy run does not have predictions, labels and weights";
        return script.fail(why, why);
    };
    script.line("Reading performance mode results...");
    let (mut matched, mut unmatched, mut different) = (0, 0, 0);
    for answer in &test.answers {
        let Some(data) = answer.bytes().and_then(|bytes| floats(&bytes)).filter(|data| data.len() >= 2) else {
            let why = "an answer of the test does not have two numbers and predictions";
            return script.fail(why, why);
        };
        let Some(sample) = samples.get(&(data[0] as i64, data[1] as i64)) else {
            unmatched += 1;
            continue;
        };
        matched += 1;
        let Some(own) = entropy(&data[2..], &sample.labels, &sample.weights) else {
            let why = "an answer of the test has another number of predictions";
            return script.fail(why, why);
        };
        different += u32::from(!is_near(sample.entropy, own));
    }
    script.line(format!("\nnum_acc_log_entries = {}", reference.answers.len()));
    script.line(format!("num_perf_log_entries = {}", test.answers.len()));
    script.line(format!("num_matched = {matched}\nnum_unmatched = {unmatched}\nnum_ne_mismatch = {different}"));
    script.line(format!("tolerance = {:.2}%\n", TOLERANCE * 100.0));
    let finding = format!("{matched} compared, {different} differ, {unmatched} missing");
    let passed = different == 0 && matched > 0 && unmatched == 0;
    if passed { script.pass(finding) } else { script.fail("", finding) }
}

fn floats(bytes: &[u8]) -> Option<Vec<f32>> {
    let whole = bytes.len().is_multiple_of(4);
    whole.then(|| bytes.chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]])).collect())
}

/// An answer of the accuracy run: two numbers, predictions, labels, weights, and how many of each there are.
fn reference_sample(data: &[f32]) -> Option<((i64, i64), ReferenceSample)> {
    let count = data.last().filter(|count| (0.0..1e9).contains(*count)).map(|count| *count as usize)?;
    if data.len() != 3 + 3 * count {
        return None;
    }
    let part = |number: usize| &data[2 + number * count..2 + (number + 1) * count];
    let [predictions, labels, weights] = [part(0), part(1), part(2)];
    let entropy = entropy(predictions, labels, weights)?;
    Some((
        (data[0] as i64, data[1] as i64),
        ReferenceSample { entropy, labels: labels.to_vec(), weights: weights.to_vec() },
    ))
}

/// The normalized entropy: cross entropy through that of the weighted mean of the labels. None when counts differ.
fn entropy(predictions: &[f32], labels: &[f32], weights: &[f32]) -> Option<f32> {
    if predictions.len() != labels.len() {
        return None;
    }
    let inside = |number: f32| number.clamp(MARGIN, 1.0 - MARGIN);
    let bits = |share: f32, of: f32| share * of.ln() + (1.0 - share) * (1.0 - of).ln();
    let total: f32 = weights.iter().sum();
    if total == 0.0 {
        return Some(0.0);
    }
    let all = predictions.iter().zip(labels).zip(weights);
    let cross: f32 = -all.map(|((own, label), weight)| weight * bits(inside(*label), inside(*own))).sum::<f32>();
    let mean = labels.iter().zip(weights).map(|(label, weight)| weight * inside(*label)).sum::<f32>() / total;
    let base = -bits(inside(mean), inside(mean));
    Some(if base == 0.0 { 0.0 } else { cross / (base * total) })
}

/// Returns true when an entropy is that of the accuracy run, within the tolerance.
fn is_near(before: f32, after: f32) -> bool {
    if before == 0.0 || after == 0.0 {
        return before == after;
    }
    // The script asks whether it is more, which a NaN never is.
    let is_far = f64::from((after - before).abs() / before.abs()) > TOLERANCE;
    !is_far
}

#[cfg(test)]
mod tests {
    use super::super::check::CheckOutcome;
    use super::*;

    fn log(answers: &[&[f32]]) -> AnswerLog {
        let entry = |data: &&[f32]| {
            let hex: String = data.iter().map(|number| hex::encode(number.to_le_bytes())).collect();
            format!("{{\"qsl_idx\":0,\"data\":\"{hex}\"}}")
        };
        let entries: Vec<String> = answers.iter().map(entry).collect();
        AnswerLog::read(format!("[{}]", entries.join(","))).unwrap()
    }

    /// Two candidates: predictions, labels, weights.
    const KNOWN: &[f32] = &[7.0, 3.0, 0.8, 0.3, 1.0, 0.0, 1.0, 1.0, 2.0];

    #[test]
    fn an_entropy_is_relative_to_that_of_the_mean_label() {
        let ratio = entropy(&[0.5, 0.5], &[1.0, 0.0], &[1.0, 1.0]).unwrap();
        assert!((ratio - 1.0).abs() < 1e-4, "{ratio}");
        assert_eq!(entropy(&[0.5], &[1.0], &[0.0]), Some(0.0));
        assert_eq!(entropy(&[0.5], &[1.0, 0.0], &[1.0, 1.0]), None);
    }

    #[test]
    fn predictions_may_differ_by_a_thousandth_of_the_entropy() {
        let reference = log(&[KNOWN]);
        for (prediction, passes) in [(0.8, true), (0.8001, true), (0.78, false)] {
            let script = compare(&reference, &log(&[&[7.0, 3.0, prediction, 0.3]]));
            assert_eq!(script.passed, passes, "{prediction}: {script:?}");
        }
    }

    #[test]
    fn samples_of_both_logs_are_compared_again() {
        let row = |prediction: f32| near_row(&log(&[KNOWN]), &log(&[&[7.0, 3.0, prediction, 0.3], &[9.0, 9.0, 0.5]]));
        assert_eq!([row(0.8).outcome, row(0.78).outcome], [CheckOutcome::Passed, CheckOutcome::Failed]);
        assert_eq!(row(0.78).found, "1 compared, 1 differ");
        assert_eq!(near_row(&log(&[]), &log(&[&[7.0, 3.0, 0.8, 0.3]])).outcome, CheckOutcome::Unchecked);
    }

    #[test]
    fn samples_that_come_twice_and_entropies_of_0_are_faults_beyond_the_script() {
        let test = log(&[&[7.0, 3.0, 0.8, 0.3]]);
        let other: &[f32] = &[7.0, 3.0, 0.1, 0.3, 1.0, 0.0, 1.0, 1.0, 2.0];
        assert!(compare(&log(&[other, KNOWN]), &test).passed, "the script takes the last");
        assert_eq!(once_row(&log(&[other, KNOWN])).outcome, CheckOutcome::Failed);
        assert_eq!(once_row(&log(&[KNOWN])).outcome, CheckOutcome::Passed);
        let weightless = log(&[&[7.0, 3.0, 0.8, 0.3, 1.0, 0.0, 0.0, 0.0, 2.0]]);
        assert!(compare(&weightless, &log(&[&[7.0, 3.0, 0.1, 0.9]])).passed, "the script compares 0 with 0");
        assert_eq!(scored_row(&weightless, &test).outcome, CheckOutcome::Failed);
        assert_eq!(scored_row(&log(&[KNOWN]), &test).outcome, CheckOutcome::Passed);
    }

    #[test]
    fn samples_that_are_not_known_and_broken_answers_fail() {
        let reference = log(&[KNOWN]);
        let unknown = compare(&reference, &log(&[&[7.0, 3.0, 0.8, 0.3], &[7.0, 4.0, 0.8, 0.3]]));
        assert!(!unknown.passed && unknown.finding.ends_with("1 missing"), "{unknown:?}");
        assert!(!compare(&reference, &log(&[&[7.0, 3.0, 0.8]])).passed);
        assert!(!compare(&log(&[&[7.0, 3.0, 0.8, 1.0]]), &log(&[])).passed);
        assert!(!compare(&reference, &log(&[])).passed);
    }
}
