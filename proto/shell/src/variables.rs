//! Errors of the command line that variables of the environment have made: `LON_CONNECTIONS` stands for
//! `--connections`, and who set it long ago does not think of it.

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue};
use clap::{Command, Error};

/// The error, with a tip for each flag it names that was not typed: the variable that stands for it.
pub fn told(mut error: Error, command: &Command, args: &[OsString]) -> Error {
    let asked = args.iter().fold(command, |asked, arg| asked.find_subcommand(arg).unwrap_or(asked));
    let flags = [ContextKind::InvalidArg, ContextKind::PriorArg].map(|kind| named(&error, kind)).concat();
    let tips: Vec<StyledStr> = flags
        .iter()
        .filter(|flag| !is_typed(flag, args))
        .filter_map(|flag| {
            let arg = asked.get_arguments().find(|arg| arg.get_long() == Some(flag))?;
            let variable = arg.get_env().filter(|variable| std::env::var_os(variable).is_some())?;
            Some(StyledStr::from(format!("{} in the environment stands for --{flag}", variable.display())))
        })
        .collect();
    if !tips.is_empty() {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
    error
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
        told(error, &command, &args).render().to_string()
    }

    #[test]
    fn a_value_of_a_variable_is_told_as_such() {
        let told = error_of(&["program", "do", "it"]);
        assert!(told.contains("tip: CARGO_PKG_NAME in the environment stands for --long"), "{told}");
        let told = error_of(&["program", "do", "it", "--other=5"]);
        assert!(told.contains("tip: CARGO_PKG_NAME in the environment stands for --long"), "{told}");
    }

    #[test]
    fn a_value_that_was_typed_is_not() {
        for typed in [&["program", "do", "it", "--long", "x"][..], &["program", "do", "it", "--long=300"]] {
            let told = error_of(typed);
            assert!(told.contains("--long") && !told.contains("environment"), "{told}");
        }
    }
}
