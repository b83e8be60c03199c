//! Errors of the command line that variables of the environment have made: `LON_CONNECTIONS` stands for
//! `--connections`, and who set it long ago does not think of it. And of arguments that are no text.

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};

/// The error, with a tip for each flag it names that was not typed: the variable that stands for it. Where an argument
/// should be text, the tips name those that are none.
pub fn with_tips_on_variables(error: Error, command: &Command, args: &[OsString]) -> Error {
    if error.kind() == ErrorKind::InvalidUtf8 {
        return with_tips(error, not_text(command, args));
    }
    let subcommand = command_of(command, args);
    let flags = [ContextKind::InvalidArg, ContextKind::PriorArg].map(|kind| named(&error, kind)).concat();
    let tips: Vec<StyledStr> = flags
        .iter()
        .filter(|flag| !is_typed(flag, args))
        .filter_map(|flag| {
            let arg = subcommand.get_arguments().find(|arg| arg.get_long() == Some(flag))?;
            let variable = arg.get_env().filter(|variable| std::env::var_os(variable).is_some())?;
            Some(StyledStr::from(format!("{} in the environment stands for --{flag}", variable.display())))
        })
        .collect();
    with_tips(error, tips)
}

/// Of the words of an error: the variables that stand for the flags which it names, or have values that it names, as a
/// clause behind it. Flags that were typed are left out. Empty: there is none.
pub fn behind(error: &str, command: &Command, args: &[OsString]) -> String {
    let clauses = command_of(command, args).get_arguments().filter_map(|arg| {
        let (flag, variable) = (arg.get_long()?, arg.get_env()?);
        let value = std::env::var_os(variable)?;
        let has_value = || value.to_str().is_some_and(|value| is_telling(value) && has_word(error, value));
        let is_named = !is_typed(flag, args) && (has_word(error, &format!("--{flag}")) || has_value());
        is_named.then(|| format!("; {} in the environment stands for --{flag}", variable.display()))
    });
    clauses.collect()
}

/// The command that was asked for.
fn command_of<'a>(command: &'a Command, args: &[OsString]) -> &'a Command {
    args.iter().fold(command, |subcommand, arg| subcommand.find_subcommand(arg).unwrap_or(subcommand))
}

fn with_tips(mut error: Error, tips: Vec<StyledStr>) -> Error {
    if !tips.is_empty() {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
    error
}

/// Arguments and variables that are no UTF-8.
fn not_text(command: &Command, args: &[OsString]) -> Vec<StyledStr> {
    let typed = args.iter().filter(|arg| arg.to_str().is_none()).map(|arg| format!("not UTF-8: {}", arg.display()));
    let variables = command_of(command, args).get_arguments().filter_map(|arg| {
        let value = std::env::var_os(arg.get_env()?).filter(|value| value.to_str().is_none())?;
        Some(format!("not UTF-8: {} in the environment, {}", arg.get_env()?.display(), value.display()))
    });
    typed.chain(variables).map(StyledStr::from).collect()
}

/// Returns true when a text that has this value speaks of this value. Short values and these words are everywhere.
fn is_telling(value: &str) -> bool {
    value.len() >= 4 && !["true", "false", "none", "auto"].contains(&value)
}

/// Returns true when a text has this word as it is, with no letter, digit or hyphen beside it.
fn has_word(text: &str, word: &str) -> bool {
    let goes_on = |letter: char| letter.is_alphanumeric() || letter == '-';
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(goes_on) && !text[at + word.len()..].starts_with(goes_on))
}

/// The long names of flags, from `--name <VALUE>`.
fn named(error: &Error, kind: ContextKind) -> Vec<String> {
    let flags = match error.get(kind) {
        Some(ContextValue::String(flag)) => std::slice::from_ref(flag),
        Some(ContextValue::Strings(flags)) => flags,
        _ => &[],
    };
    let name = |flag: &String| {
        let end = flag.find([' ', '=', '[']).unwrap_or(flag.len());
        flag[..end].strip_prefix("--").map(str::to_owned)
    };
    flags.iter().filter_map(name).collect()
}

fn is_typed(flag: &str, args: &[OsString]) -> bool {
    let long = format!("--{flag}");
    args.iter().any(|arg| {
        let after = arg.to_str().and_then(|arg| arg.strip_prefix(&long));
        after.is_some_and(|after| after.is_empty() || after.starts_with('='))
    })
}

#[cfg(test)]
mod tests {
    use clap::Arg;

    use super::*;

    /// Cargo sets this variable for tests.
    const SET: &str = "CARGO_PKG_NAME";

    fn error_of(args: &[&str]) -> String {
        let flags = [
            Arg::new("long").long("long").env(SET).value_parser(clap::value_parser!(u8)).conflicts_with("other"),
            Arg::new("other").long("other").env("LON_NOT_SET"),
        ];
        let command = Command::new("program").subcommand(Command::new("do").subcommand(Command::new("it").args(flags)));
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        let error = command.clone().try_get_matches_from(&args).unwrap_err();
        with_tips_on_variables(error, &command, &args).render().to_string()
    }

    #[test]
    fn a_value_of_a_variable_is_told_as_such() {
        let message = error_of(&["program", "do", "it"]);
        assert!(message.contains("tip: CARGO_PKG_NAME in the environment stands for --long"), "{message}");
        let message = error_of(&["program", "do", "it", "--other=5"]);
        assert!(message.contains("tip: CARGO_PKG_NAME in the environment stands for --long"), "{message}");
    }

    /// The variable says `lon-shell`.
    #[test]
    fn errors_that_come_later_name_the_variable_too() {
        let flag = Arg::new("long").long("long").env(SET);
        let command = Command::new("program").subcommand(Command::new("do").arg(flag));
        let of = |error: &str, args: &[&str]| {
            behind(error, &command, &args.iter().map(OsString::from).collect::<Vec<OsString>>())
        };
        let clause = "; CARGO_PKG_NAME in the environment stands for --long";
        for error in ["--long x: no such file", "cannot read lon-shell/x", "lon-shell: unknown", "no 'lon-shell'"] {
            assert_eq!(of(error, &["program", "do"]), clause, "{error}");
            assert_eq!(of(error, &["program", "do", "--long=y"]), "", "it was typed: {error}");
        }
        for other in ["--longer", "no--long", "lon-shells", "a lon-shell-x", "another"] {
            assert_eq!(of(other, &["program", "do"]), "", "{other}");
        }
    }

    #[test]
    fn arguments_that_are_no_text_are_named() {
        use std::os::unix::ffi::OsStringExt as _;
        let command = Command::new("program").arg(Arg::new("data").long("data"));
        let args = [OsString::from("program"), OsString::from_vec(b"--data=a\xffb".to_vec())];
        let error = command.clone().try_get_matches_from(&args).unwrap_err();
        let message = with_tips_on_variables(error, &command, &args).render().to_string();
        assert!(message.contains("not UTF-8: --data=a\u{fffd}b"), "{message}");
    }

    #[test]
    fn a_value_that_was_typed_is_not() {
        for typed in [&["program", "do", "it", "--long", "x"][..], &["program", "do", "it", "--long=300"]] {
            let message = error_of(typed);
            assert!(message.contains("--long") && !message.contains("environment"), "{message}");
        }
    }
}
