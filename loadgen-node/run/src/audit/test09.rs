//! TEST09: answers of a measured run are as long as those of the reference model (`compliance/TEST09` of
//! mlcommons/inference): the mean number of tokens is between two bounds.

use super::AuditTest;
use super::check::AuditCheck;
use super::detail::Detail;
use super::findings::{Findings, TestFile};
use super::label::{LabelType, type_row};
use super::run::AuditedRun;
use super::settings::{every_sample, in_force, untouched, valid};
use super::{sampled, script::python_float};
use loadgen::settings::TEST01_ACCURACY_LOG_SEED;

/// The bytes of a token, as the script counts them, whatever the model's type is.
const TOKEN_BYTES: usize = 4;
/// More answers than any dataset has: all are logged.
pub(super) const TARGET: u64 = 10_000;

/// The values that the official files have for a benchmark.
struct Values {
    /// The benchmark's name.
    benchmark: &'static str,
    /// Samples of its dataset.
    samples: u64,
    /// 10 % around the mean of the reference model.
    bounds: Bounds,
}

/// The benchmarks that have official files.
static VALUES: [Values; 2] = [
    Values { benchmark: "gpt-oss-120b", samples: 6_396, bounds: Bounds { least: 1150.38, most: 1406.02 } },
    Values { benchmark: "e2e-rag-qna", samples: 824, bounds: Bounds { least: 246.43, most: 301.19 } },
];

/// The least and the largest mean that pass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// The number that `--min-output-tokens` gave.
    pub least: f64,
    /// The number that `--max-output-tokens` gave.
    pub most: f64,
}

impl Bounds {
    /// The bounds of a benchmark that has official ones.
    pub fn of(benchmark: &str) -> Option<Bounds> {
        values_of(benchmark).map(|values| values.bounds)
    }
}

fn values_of(benchmark: &str) -> Option<&'static Values> {
    VALUES.iter().find(|values| values.benchmark == benchmark)
}

/// Returns the number of samples in the dataset of a benchmark that has an official file.
pub(super) fn samples_of(benchmark: &str) -> Option<u64> {
    values_of(benchmark).map(|values| values.samples)
}

/// Judges one run by TEST09.
pub fn judge(test: &AuditedRun, bounds: Bounds, dtype: Option<LabelType>) -> Findings {
    let answers = test.answers.as_ref().map(|log| log.answers.as_slice()).unwrap_or_default();
    // An answer that cannot be read has no tokens, as in the script.
    let bytes: Vec<usize> = answers.iter().map(|answer| answer.bytes().map_or(0, |bytes| bytes.len())).collect();
    let by_script = Lengths::of(&bytes, TOKEN_BYTES);
    let is_within = |lengths: &Lengths| bounds.least <= lengths.mean && lengths.mean <= bounds.most;
    let requirement = format!("from {} to {}", python_float(bounds.least), python_float(bounds.most));
    // Without an answer the script ends before it has a verdict.
    let passed = !answers.is_empty() && is_within(&by_script);
    let signature = test.own.as_ref().and_then(|own| own.dtype);
    let model_label = signature.and_then(LabelType::of);
    let label = dtype.or(model_label);
    let own_row = match label {
        Some(label) => {
            let own = Lengths::of(&bytes, label.size());
            let finding = format!("{:.2}, tokens of type {}", own.mean, label.name());
            AuditCheck::ours(
                "mean number of tokens, by their type",
                !answers.is_empty() && is_within(&own),
                &*requirement,
                finding,
            )
        }
        None => AuditCheck::unchecked(
            "mean number of tokens, by their type",
            &*requirement,
            "the type is not known; give --dtype",
        ),
    };
    let finding = format!("{:.2} of {} answers", by_script.mean, answers.len());
    let mut checks = vec![
        AuditCheck::official("mean number of tokens, of 4 bytes", passed, requirement, finding),
        own_row,
        every_sample(test),
    ];
    checks.extend(of_detail(&test.detail));
    checks.extend(label.map(|label| type_row(label, model_label, signature.map(|dtype| dtype.to_string()))));
    checks.extend(sampled::checks(test));
    checks.push(untouched("test", test.own.as_ref()));
    let text = text(&by_script, bounds, passed);
    Findings::new(AuditTest::Test09, test.scenario(), checks, vec![TestFile::new("verify_output_len.txt", &text)])
}

/// The rows that follow from the detail log alone.
pub fn of_detail(test: &Detail) -> [AuditCheck; 2] {
    let settings: [(&str, serde_json::Value); 5] = [
        ("test_mode", "PerformanceOnly".into()),
        ("accuracy_log_rng_seed", TEST01_ACCURACY_LOG_SEED.into()),
        ("accuracy_log_sampling_target", TARGET.into()),
        ("min_duration_ms", 0.into()),
        ("sample_concatenate_permutation", false.into()),
    ];
    [in_force(test, &settings), valid(test)]
}

/// Numbers of tokens.
struct Lengths {
    count: usize,
    mean: f64,
    least: usize,
    most: usize,
    deviation: f64,
}

impl Lengths {
    fn of(bytes: &[usize], token_bytes: usize) -> Lengths {
        let lengths: Vec<usize> = bytes.iter().map(|bytes| bytes / token_bytes).collect();
        let count = lengths.len();
        let per = |sum: f64| if count == 0 { 0.0 } else { sum / count as f64 };
        let mean = per(lengths.iter().sum::<usize>() as f64);
        let deviation = per(lengths.iter().map(|length| (*length as f64 - mean).powi(2)).sum()).sqrt();
        let (least, most) = (lengths.iter().min().copied(), lengths.iter().max().copied());
        Lengths { count, mean, least: least.unwrap_or(0), most: most.unwrap_or(0), deviation }
    }
}

/// The text of the script.
fn text(lengths: &Lengths, bounds: Bounds, passed: bool) -> String {
    let Lengths { count, mean, least, most, deviation } = lengths;
    let (wide, narrow) = ("=".repeat(80), "-".repeat(40));
    let [minimum, maximum] = [bounds.least, bounds.most].map(python_float);
    let word = |passed: bool| if passed { "True" } else { "False" };
    let [above, below] = [*mean >= bounds.least, *mean <= bounds.most].map(word);
    format!(
        "{wide}\nTEST09: Verify Output Token Length in Performance Mode\n{wide}\n\n\
         Output Token Length Statistics\n{narrow}\nTotal samples: {count}\nMean output tokens: {mean:.2}\n\
         Min output tokens: {least}\nMax output tokens: {most}\nStd deviation: {deviation:.2}\n\n{wide}\n\
         Verification Results\n{wide}\nMean output tokens: {mean:.2}\n\
         Min threshold: {minimum}\nMax threshold: {maximum}\nMin check pass: {above}\n\
         Max check pass: {below}\n\nTEST {}\n",
        if passed { "PASS" } else { "FAIL" }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_have_the_bytes_of_their_type() {
        let by = |token_bytes| Lengths::of(&[16, 32, 0], token_bytes);
        assert_eq!((by(4).mean, by(8).mean, by(4).least, by(4).most), (4.0, 2.0, 0, 8));
        assert!((by(4).deviation - (32.0f64 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!(Lengths::of(&[], 4).mean, 0.0);
    }

    #[test]
    fn two_benchmarks_have_official_bounds() {
        assert_eq!(Bounds::of("gpt-oss-120b"), Some(Bounds { least: 1150.38, most: 1406.02 }));
        assert_eq!(Bounds::of("llama2-70b"), None);
    }

    #[test]
    fn the_text_has_both_bounds() {
        let output = text(&Lengths::of(&[16, 32], 4), Bounds { least: 5.0, most: 6.5 }, true);
        for line in ["Mean output tokens: 6.00", "Min threshold: 5.0", "Max threshold: 6.5", "Max check pass: True"] {
            assert!(output.contains(&format!("\n{line}\n")), "no '{line}' in {output}");
        }
        assert!(output.ends_with("\nTEST PASS\n"));
    }
}
