//! `-h`: the help that fits on a screen.

use std::ffi::OsString;

use clap::Command;

/// The command line for these arguments. With `-h`, help leaves out the variables of the environment, which `--help`
/// has.
pub fn fitted(command: Command, args: &[OsString]) -> Command {
    if args.iter().any(|arg| arg == "-h") { without_variables(command) } else { command }
}

fn without_variables(command: Command) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    let command = command.mut_args(|arg| arg.hide_env(true));
    names.into_iter().fold(command, |command, name| command.mut_subcommand(name, without_variables))
}
