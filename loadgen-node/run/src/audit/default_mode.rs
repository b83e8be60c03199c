//! TEST01's comparison of answers by their first element (`compliance/TEST01/verify_accuracy.py` without `--unixmode`).

use std::collections::HashMap;

use super::answers::{Answer, AnswerLog};
use super::label::LabelType;
use super::script::Script;

/// The counts of the comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    duplicates: usize,
    contradictions: usize,
    matches: usize,
    mismatches: usize,
    missing: usize,
}

/// Compares as the script does: an answer of the test with that of the accuracy run, or with the last one that the test
/// gave to the same sample.
pub(super) fn compare(reference: &AnswerLog, test: &AnswerLog, label: LabelType) -> Script {
    let mut script = Script::begin("Verifying accuracy. This might take a while...");
    script.line("Reading accuracy mode results...");
    script.line("Reading performance mode results...");
    let Some(counts) = count(&reference.answers, &test.answers, label) else {
        let why = format!("an answer is not hexadecimal, or no whole number of elements of {}", label.name());
        return script.fail(&why, why.clone());
    };
    for (name, number) in [
        ("acc_log_entries", reference.answers.len()),
        ("acc_log_duplicate_keys", counts.duplicates),
        ("acc_log_data_mismatch", counts.contradictions),
        ("perf_log_entries", test.answers.len()),
        ("perf_log_qsl_idx_match", counts.matches),
        ("perf_log_data_mismatch", counts.mismatches),
    ] {
        script.line(format!("num_{name} = {number}"));
    }
    script.line(format!("num_missing_qsl_idxs = {}", counts.missing));
    let finding = format!("{} compared, {} differ, {} missing", counts.matches, counts.mismatches, counts.missing);
    let passed = counts.mismatches == 0 && counts.matches > 0;
    let mut script = if passed { script.pass(finding) } else { script.fail("", finding) };
    script.line("");
    script
}

/// Counts the differences. Returns `None` when the script would end with an error.
fn count(reference: &[Answer], test: &[Answer], label: LabelType) -> Option<Counts> {
    let mut counts = Counts::default();
    let mut reference_data: HashMap<u64, &str> = HashMap::with_capacity(reference.len());
    for answer in reference {
        match reference_data.get(&answer.qsl_idx) {
            Some(earlier) => {
                counts.duplicates += 1;
                counts.contradictions += usize::from(*earlier != answer.data);
            }
            None => {
                reference_data.insert(answer.qsl_idx, &answer.data);
            }
        }
    }
    for answer in test {
        let own = label.first(&answer.bytes()?)?;
        match reference_data.insert(answer.qsl_idx, &answer.data) {
            None => counts.missing += 1,
            Some(earlier) => {
                counts.matches += 1;
                let earlier = label.first(&hex::decode(earlier).ok()?)?;
                counts.mismatches += usize::from(earlier != own);
            }
        }
    }
    Some(counts)
}

#[cfg(test)]
mod tests {
    use super::super::answers::AnswerLog;
    use super::*;

    fn log(entries: &[(u64, &str)]) -> AnswerLog {
        let entries: Vec<String> =
            entries.iter().map(|(index, data)| format!("{{\"qsl_idx\":{index},\"data\":\"{data}\"}}")).collect();
        AnswerLog::read(format!("[{}]", entries.join(","))).unwrap()
    }

    #[test]
    fn one_other_label_fails_and_a_byte_can_hide_it() {
        let reference = log(&[(1, "00000040"), (2, "00000041")]);
        let same = log(&[(2, "00000041")]);
        let other = log(&[(2, "00000042"), (1, "00000040")]);
        assert!(compare(&reference, &same, LabelType::Float32).passed);
        let script = compare(&reference, &other, LabelType::Float32);
        assert!(!script.passed && script.text.contains("num_perf_log_data_mismatch = 1\n"), "{}", script.text);
        assert!(compare(&reference, &other, LabelType::Byte).passed, "the script is blind here");
    }

    #[test]
    fn nothing_in_common_fails_and_missing_samples_do_not() {
        let reference = log(&[(1, "01")]);
        assert!(!compare(&reference, &log(&[(7, "01")]), LabelType::Byte).passed);
        let script = compare(&reference, &log(&[(7, "01"), (1, "01"), (7, "01")]), LabelType::Byte);
        assert!(script.passed && script.text.contains("num_missing_qsl_idxs = 1\n"), "{}", script.text);
        assert!(!compare(&reference, &log(&[]), LabelType::Byte).passed);
    }

    #[test]
    fn answers_of_a_broken_size_fail() {
        let script = compare(&log(&[(1, "0102")]), &log(&[(1, "0102")]), LabelType::Int32);
        assert!(!script.passed && script.finding.contains("int32"), "{script:?}");
    }
}
