//! The flags of `audit`.

use std::path::PathBuf;

use clap::Args;

use super::format::FormatArgs;
use lon_run::audit::{AuditTest, LabelType};

#[derive(Args, Debug)]
pub(crate) struct AuditArgs {
    /// The compliance test: TEST01, TEST04, TEST05, TEST06, TEST07, TEST08, TEST09 or CUSTOM.
    #[arg(value_name = "TEST")]
    pub(crate) name: AuditTest,
    /// Folder of the performance run that is audited; TEST06, TEST07 and TEST09 have none.
    #[arg(long, value_name = "DIR")]
    pub(crate) reference: Option<PathBuf>,
    /// Folder of the run with the settings of the audit.
    #[arg(long, value_name = "DIR", required_unless_present_any = ["explain", "print_conf"])]
    pub(crate) test: Option<PathBuf>,
    /// Folder of the accuracy run, where the reference has none (TEST01, TEST08).
    #[arg(long, value_name = "DIR")]
    pub(crate) accuracy_run: Option<PathBuf>,
    /// Type of the answers: byte, int16, int32, int64 or float32. Unless given, that of the model (TEST01, TEST06,
    /// TEST09).
    #[arg(long, hide_short_help = true)]
    pub(crate) dtype: Option<LabelType>,
    /// Take the official verdict on whole answers, as the script does with this flag (TEST01).
    #[arg(long, hide_short_help = true)]
    pub(crate) unixmode: bool,
    /// The SUT is not deterministic: where answers differ, the scores of both runs over the same samples decide
    /// (TEST01).
    #[arg(long)]
    pub(crate) nondeterministic: bool,
    /// The token that ends answers; 2 unless given (TEST06).
    #[arg(long, value_name = "ID", hide_short_help = true)]
    pub(crate) eos_token_id: Option<i64>,
    /// Command that scores an accuracy log, whose path stands behind it: it prints {"exact_match": 61.2} (TEST07). For
    /// TEST01 with --nondeterministic: it scores the answers of both runs.
    #[arg(long, value_name = "CMD")]
    pub(crate) scorer: Option<String>,
    /// Least score; unless given, that of --benchmark (TEST07).
    #[arg(long, value_name = "NUMBER", value_parser = number, hide_short_help = true)]
    pub(crate) min_accuracy: Option<f64>,
    /// Least mean number of tokens; unless given, that of --benchmark (TEST09).
    #[arg(long, value_name = "NUMBER", requires = "max_output_tokens", value_parser = number,
          hide_short_help = true)]
    pub(crate) min_output_tokens: Option<f64>,
    /// Largest mean number of tokens; unless given, that of --benchmark (TEST09).
    #[arg(long, value_name = "NUMBER", requires = "min_output_tokens", value_parser = number,
          hide_short_help = true)]
    pub(crate) max_output_tokens: Option<f64>,
    /// Write what a submission needs into DIR/TEST, and audit_result.json.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) form: FormatArgs,
    /// Print the config file for the test run, and nothing else.
    #[arg(long, conflicts_with_all = ["reference", "test", "out", "format", "json"])]
    pub(crate) print_conf: bool,
    /// The benchmark, for values that depend on it: in the config file, and the bounds of TEST07 and TEST09. For TEST01
    /// its official name: bert-99.9 asks for closer scores.
    #[arg(long)]
    pub(crate) benchmark: Option<String>,
    /// Print the purpose of the test, its steps and criteria, and what it does not cover.
    #[arg(long, conflicts_with_all = ["reference", "test", "out", "format", "json", "print_conf"])]
    pub(crate) explain: bool,
}

/// A bound: a score or a mean number of tokens.
fn number(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "a number that is not negative, for example 1150.38".to_owned())
}

impl AuditArgs {
    /// Checks that flags are those of the test, and fit together.
    ///
    /// # Errors
    /// A flag is of other tests, or the bounds are the wrong way round; the text says which.
    pub(crate) fn check(&self) -> Result<(), String> {
        use AuditTest::{Custom, Test01, Test04, Test05, Test06, Test07, Test08, Test09};
        let flags: [(&str, bool, &[AuditTest]); 11] = [
            ("--reference", self.reference.is_some(), &[Test01, Test04, Test05, Test08, Custom]),
            ("--accuracy-run", self.accuracy_run.is_some(), &[Test01, Test08]),
            ("--dtype", self.dtype.is_some(), &[Test01, Test06, Test09]),
            ("--unixmode", self.unixmode, &[Test01]),
            ("--nondeterministic", self.nondeterministic, &[Test01]),
            ("--eos-token-id", self.eos_token_id.is_some(), &[Test06]),
            ("--scorer", self.scorer.is_some(), &[Test01, Test07]),
            ("--min-accuracy", self.min_accuracy.is_some(), &[Test07]),
            ("--benchmark", self.benchmark.is_some() && !self.print_conf, &[Test01, Test07, Test09]),
            ("--min-output-tokens", self.min_output_tokens.is_some(), &[Test09]),
            ("--max-output-tokens", self.max_output_tokens.is_some(), &[Test09]),
        ];
        if let Some((flag, _, tests)) =
            flags.iter().find(|(_, is_given, tests)| *is_given && !tests.contains(&self.name))
        {
            let names: Vec<&str> = tests.iter().map(|test| test.name()).collect();
            return Err(format!("{flag} is not of {}, but of {}", self.name, names.join(", ")));
        }
        match (self.min_output_tokens, self.max_output_tokens) {
            (Some(least), Some(most)) if least > most => {
                Err(format!("--min-output-tokens {least} is more than --max-output-tokens {most}"))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        audit: AuditArgs,
    }

    fn checked(line: &str) -> Result<(), String> {
        let arguments = std::iter::once("audit").chain(line.split(' '));
        Line::try_parse_from(arguments).map_err(|error| error.to_string())?.audit.check()
    }

    #[test]
    fn bounds_are_finite_and_the_right_way_round() {
        let bounds = |least: &str, most: &str| {
            checked(&format!("TEST09 --test a --min-output-tokens={least} --max-output-tokens={most}"))
        };
        assert_eq!([bounds("0", "1.5"), bounds("4", "4")], [Ok(()), Ok(())]);
        for (least, most) in [("-inf", "inf"), ("1", "inf"), ("nan", "2"), ("-1", "2"), ("1", "NaN"), ("1", "1e999")] {
            assert!(bounds(least, most).unwrap_err().contains("not negative"), "{least} {most}");
        }
        assert!(bounds("5", "4").unwrap_err().contains("more than"));
    }

    #[test]
    fn flags_of_other_tests_are_refused() {
        for line in [
            "TEST06 --test a --unixmode",
            "TEST06 --test a --reference b",
            "TEST09 --test a --accuracy-run b",
            "TEST04 --test a --reference b --dtype int32",
            "TEST05 --test a --reference b --accuracy-run c",
            "TEST08 --test a --reference b --eos-token-id 2",
            "TEST01 --test a --reference b --min-output-tokens 1 --max-output-tokens 2",
        ] {
            assert!(checked(line).is_err_and(|message| message.contains("but of TEST")), "{line}");
        }
        assert_eq!(checked("TEST01 --test a --reference b --accuracy-run c --dtype byte --unixmode"), Ok(()));
        assert_eq!(checked("TEST06 --test a --dtype int64 --eos-token-id 2"), Ok(()));
    }
}
