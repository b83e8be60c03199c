//! TEST06: token runs report the tokens that they give (`compliance/TEST06` of mlcommons/inference): the first token is
//! that of the answer, the answer ends once, and its length is the number of tokens that was reported.

use super::AuditTest;
use super::answers::{Answer, AnswerLog};
use super::check::AuditCheck;
use super::findings::{Findings, TestFile};
use super::label::{Element, LabelType, type_row};
use super::run::AuditedRun;
use super::sampled;
use super::settings::{in_force, untouched, valid};
use loadgen::settings::TEST01_ACCURACY_LOG_SEED;

/// The token that ends answers, unless another is given.
pub(crate) const USUAL_END: i64 = 2;
/// The benchmarks whose model is known to end its answers with this token.
const ENDS: [(&str, i64); 3] = [("llama2-70b", 2), ("llama2-70b-interactive", 2), ("mixtral-8x7b", 2)];
/// Answers that are logged, and queries of the run.
pub(super) const TARGET: u64 = 100;

/// The run that is audited, and how its answers are read.
pub struct Inputs<'a> {
    /// The run with the audit's settings.
    pub test: &'a AuditedRun,
    /// The type that `--dtype` gave.
    pub dtype: Option<LabelType>,
    /// The token that `--eos-token-id` gave.
    pub end: Option<i64>,
}

/// Judges one run by TEST06.
pub fn judge(inputs: &Inputs<'_>) -> Findings {
    let Inputs { test, dtype, end } = inputs;
    let answers = test.answers.as_ref().map(|log| log.answers.as_slice()).unwrap_or_default();
    let signature = test.own.as_ref().and_then(|own| own.dtype);
    let model_label = signature.and_then(LabelType::of);
    let label = dtype.or(model_label).unwrap_or(LabelType::Int32);
    let has_first = !test.is_one_query();
    let ends = |answer: &Answer| ends_once(answer, label, end.unwrap_or(USUAL_END));
    // The script takes an id from its command line as a text, which no number is equal to.
    let ends_pass = if end.is_some() { elements_of(answers, label) } else { answers.iter().all(ends) };
    let first_pass = !has_first || answers.iter().all(|answer| begins_as_reported(answer, label) == Some(true));
    let length_pass = answers.iter().all(|answer| is_as_long_as_reported(answer, label));
    let wrong = |holds: &dyn Fn(&Answer) -> bool| {
        format!("wrong: {} of {}", answers.iter().filter(|answer| !holds(answer)).count(), answers.len())
    };
    let first_fault = if has_first {
        wrong(&|answer| begins_as_reported(answer, label) == Some(true))
    } else {
        "skipped, as the script does in Offline".to_owned()
    };
    let end_faults = wrong(&ends);
    let script_ends =
        if end.is_some() { "the script does not compare an id that is given".to_owned() } else { end_faults.clone() };
    let checks = vec![
        AuditCheck::official("first tokens", first_pass, "answers begin with them", first_fault),
        AuditCheck::official("ends", ends_pass, "answers end with one end token at most", script_ends),
        AuditCheck::official(
            "lengths",
            length_pass,
            "answers have as many tokens as reported",
            wrong(&|answer| is_as_long_as_reported(answer, label)),
        ),
        AuditCheck::ours("ends, by the given token", answers.iter().all(ends), "one end token at most", end_faults),
        AuditCheck::ours("answers", !answers.is_empty(), "at least one", format!("{}", answers.len())),
        type_row(label, model_label, signature.map(|dtype| dtype.to_string())),
        in_force(&test.detail, &settings()),
        size_row(test),
        valid(&test.detail),
    ];
    let text = text(has_first.then_some(first_pass), ends_pass, length_pass);
    let rows = sampled::checks(test).into_iter().chain([untouched("test", test.own.as_ref())]);
    let checks = checks.into_iter().chain(rows).collect();
    Findings::new(AuditTest::Test06, test.scenario(), checks, vec![TestFile::new("verify_accuracy.txt", &text)])
}

/// The token that ends answers of a benchmark's model, where it is known.
pub fn end_of(benchmark: &str) -> Option<i64> {
    ENDS.iter().find(|(name, _)| *name == benchmark).map(|(_, end)| *end)
}

/// Applies the checks of the script to a log alone. Tokens are of the type by which every answer is as long as was
/// reported. Without `end`, the token that ends answers, the ends are not looked at.
///
/// # Errors
/// There is no answer, or there is no such type.
pub fn log_text(log: &AnswerLog, has_first: bool, end: Option<i64>) -> Result<String, String> {
    let answers = log.answers.as_slice();
    if answers.is_empty() {
        return Err("has no answers".to_owned());
    }
    let is_whole = |label: &LabelType| answers.iter().all(|answer| is_as_long_as_reported(answer, *label));
    let label = [LabelType::Int32, LabelType::Int64, LabelType::Int16, LabelType::Float32].into_iter().find(is_whole);
    let label = label.ok_or("has answers that are not as long as was reported, by any type of tokens")?;
    let first = answers.iter().all(|answer| begins_as_reported(answer, label) == Some(true));
    let ends = end.is_none_or(|end| answers.iter().all(|answer| ends_once(answer, label, end)));
    Ok(text(has_first.then_some(first), ends, true))
}

fn settings() -> Vec<(&'static str, serde_json::Value)> {
    vec![
        ("test_mode", "PerformanceOnly".into()),
        ("accuracy_log_rng_seed", TEST01_ACCURACY_LOG_SEED.into()),
        ("accuracy_log_sampling_target", TARGET.into()),
        ("min_duration_ms", 0.into()),
        ("sample_concatenate_permutation", false.into()),
    ]
}

/// The run was to have the queries of the audit, or the samples where these are one query.
fn size_row(test: &AuditedRun) -> AuditCheck {
    let key = if test.is_one_query() { "min_sample_count" } else { "min_query_count" };
    let count = test.detail.whole(&format!("effective_{key}"));
    let text = count.map_or_else(|| "not logged".to_owned(), |count| count.to_string());
    let is_enough = count.is_some_and(|count| count >= TARGET);
    AuditCheck::ours("size of the test", is_enough, format!("{key} of {TARGET} or more"), format!("{key} {text}"))
}

/// The text of the script; `first` is none where the check is skipped.
fn text(first: Option<bool>, ends: bool, lengths: bool) -> String {
    let word = |passed: bool| if passed { "True" } else { "False" };
    let passed = first.unwrap_or(true) && ends && lengths;
    format!(
        "First token check pass: {}\nEOS check pass: {}\nSample length check pass: {}\nTEST06 verification {}\n",
        first.map_or("Skipped", word),
        word(ends),
        word(lengths),
        if passed { "complete" } else { "failed" }
    )
}

fn elements(answer: &Answer, label: LabelType) -> Option<Vec<Element>> {
    label.elements(&answer.bytes()?)
}

fn elements_of(answers: &[Answer], label: LabelType) -> bool {
    answers.iter().all(|answer| elements(answer, label).is_some())
}

/// Returns true when an answer has one end token at its end at most. The script never looks at the first token.
fn ends_once(answer: &Answer, label: LabelType, end: i64) -> bool {
    let Some(tokens) = elements(answer, label) else { return false };
    tokens.iter().skip(1).rev().take_while(|token| token.is(end)).count() < 2
}

/// Returns true when an answer begins with the tokens that were reported first. `None` when there are none to compare.
fn begins_as_reported(answer: &Answer, label: LabelType) -> Option<bool> {
    let reported = label.elements(&hex::decode(answer.token_data.as_ref()?).ok()?)?;
    Some(elements(answer, label)?.iter().zip(&reported).all(|(own, first)| own == first))
}

fn is_as_long_as_reported(answer: &Answer, label: LabelType) -> bool {
    let count = elements(answer, label).and_then(|tokens| i64::try_from(tokens.len()).ok());
    count.is_some() && count == answer.token_count
}

#[cfg(test)]
mod tests {
    use super::super::check::CheckOutcome;
    use super::super::detail::Detail;
    use super::*;

    fn answer(tokens: &[i32], first: Option<i32>, count: Option<i64>) -> Answer {
        let hex = |tokens: &[i32]| tokens.iter().map(|token| hex::encode(token.to_le_bytes())).collect::<String>();
        let token_data = first.map(|token| hex(&[token]));
        Answer { seq_id: Some(0), qsl_idx: 0, data: hex(tokens), token_data, token_count: count }
    }

    #[test]
    fn an_answer_ends_once() {
        let cases: [(&[i32], bool); 6] = [
            (&[5, 6, 2], true),
            (&[5, 2, 2], false),
            (&[2, 2], true),
            (&[5, 2, 6, 2], true),
            (&[], true),
            (&[2, 2, 2], false),
        ];
        for (tokens, once) in cases {
            assert_eq!(ends_once(&answer(tokens, None, None), LabelType::Int32, 2), once, "{tokens:?}");
        }
    }

    #[test]
    fn first_tokens_and_lengths_are_those_that_were_reported() {
        let good = answer(&[5, 6], Some(5), Some(2));
        assert_eq!(begins_as_reported(&good, LabelType::Int32), Some(true));
        assert!(is_as_long_as_reported(&good, LabelType::Int32));
        assert_eq!(begins_as_reported(&answer(&[5, 6], Some(6), None), LabelType::Int32), Some(false));
        assert_eq!(begins_as_reported(&answer(&[5, 6], None, None), LabelType::Int32), None);
        assert!(!is_as_long_as_reported(&answer(&[5, 6], None, Some(3)), LabelType::Int32));
        assert!(!is_as_long_as_reported(&answer(&[5, 6], None, None), LabelType::Int32));
        assert!(!is_as_long_as_reported(&good, LabelType::Int64), "one token of 8 bytes");
    }

    #[test]
    fn offline_runs_have_their_samples_in_one_query() {
        let sized = |scenario: &str, queries: u64, samples: u64| {
            let line =
                |key: &str, value: &str| format!(":::MLLOG {{\"key\": \"effective_{key}\", \"value\": {value}}}\n");
            let counts =
                line("min_query_count", &queries.to_string()) + &line("min_sample_count", &samples.to_string());
            let detail = Detail::read(&(line("scenario", &format!("\"{scenario}\"")) + &counts)).unwrap();
            size_row(&AuditedRun { detail, summary: String::new(), answers: None, own: None }).outcome
        };
        assert_eq!([sized("Offline", 1, 100), sized("Server", 100, 1)], [CheckOutcome::Passed; 2]);
        assert_eq!([sized("Offline", 1, 99), sized("Server", 99, 100)], [CheckOutcome::Failed; 2]);
    }

    #[test]
    fn a_log_alone_is_judged_again() {
        let log = |answers: Vec<Answer>| AnswerLog { text: String::new(), answers };
        let good = || answer(&[5, 6, 2], Some(5), Some(3));
        let all = log_text(&log(vec![good(), good()]), true, Some(2)).unwrap();
        assert_eq!(all, text(Some(true), true, true));
        assert!(log_text(&log(vec![good()]), false, None).unwrap().contains("Skipped"));
        let twice = log_text(&log(vec![answer(&[5, 2, 2], Some(5), Some(3))]), true, Some(2)).unwrap();
        assert!(twice.contains("EOS check pass: False") && twice.ends_with("failed\n"), "{twice}");
        let other = log_text(&log(vec![good(), answer(&[5, 6], Some(6), Some(2))]), true, Some(2)).unwrap();
        assert!(other.contains("First token check pass: False"), "{other}");
        assert!(
            log_text(&log(vec![answer(&[5, 6], Some(5), Some(3))]), true, Some(2)).unwrap_err().contains("as long")
        );
        assert!(log_text(&log(vec![]), true, Some(2)).is_err());
        // Tokens of eight bytes.
        assert!(log_text(&log(vec![answer(&[5, 0, 6, 0], Some(5), Some(2))]), false, Some(2)).is_ok());
    }

    #[test]
    fn the_text_says_what_was_skipped() {
        assert!(text(None, true, true).starts_with("First token check pass: Skipped\n"));
        assert!(
            text(Some(true), true, false).ends_with("\nSample length check pass: False\nTEST06 verification failed\n")
        );
    }
}
