//! The test that words ask for, as if they were typed.

use anyhow::anyhow;
use clap::Parser as _;

use crate::cli::{Cli, Command, RunRequest};
use lon_run::exit::{Exit, OrExit as _, Outcome};
use lon_run::test_run::TestSpec;

/// The test that the words ask for.
pub(crate) fn spec<'a>(arguments: impl IntoIterator<Item = &'a String>) -> Outcome<TestSpec> {
    let all = std::iter::once("loadgen-node").chain(arguments.into_iter().map(String::as_str));
    let cli = Cli::try_parse_from(all).map_err(|error| anyhow!(first_words(&error.to_string())));
    let Command::Run(args) = cli.or_exit(Exit::Usage)?.command else {
        return Err(anyhow!("it is no run")).or_exit(Exit::Bug);
    };
    match args.check()? {
        RunRequest::Test { spec, .. } => Ok(*spec),
        RunRequest::Advice(_) => Err(anyhow!("--compression auto is advice, and no run")).or_exit(Exit::Usage),
    }
}

/// The first paragraph of an error of the command line, and its tip, on one line.
pub(crate) fn first_words(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).take_while(|line| !line.starts_with("Usage")).collect();
    let whole = lines.into_iter().filter(|line| !line.is_empty() && !line.starts_with("For more")).collect::<Vec<_>>();
    whole.join("; ").trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_the_command_line_is_one_line() {
        let text = "error: unexpected argument '--bachend' found\n\n  tip: a similar argument exists: '--backend'\n\n\
                    Usage: sut-node serve\n\nFor more information, try '--help'.\n";
        let line = "unexpected argument '--bachend' found; tip: a similar argument exists: '--backend'";
        assert_eq!(first_words(text), line);
    }
}
