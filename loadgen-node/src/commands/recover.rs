//! The command `recover`: a result of what a run left behind whose program was killed.

use anyhow::Context as _;

use super::io::{print_json_pretty, print_text, read};
use crate::cli::RecoverArgs;
use lon_run::exit::{Exit, OrExit as _, Outcome};
use lon_run::outputs::run_folder::recover::{self, RecoverError};
use lon_run::outputs::screen;

/// Completes a run folder and prints its result. The exit code says that it could be done, not that it is VALID.
pub(crate) fn recover(args: &RecoverArgs) -> Outcome {
    let folder = args.folder.as_path();
    let result = match recover::recover(folder) {
        Ok(result) => result,
        Err(error @ RecoverError::Write(_)) => return Err(error).context("recover").or_exit(Exit::Bug),
        Err(error) => return Err(error).or_exit(Exit::Usage),
    };
    if args.json {
        return print_json_pretty(&result);
    }
    match result.files.contains_key(screen::FILE) {
        true => print_text(&read(&folder.join(screen::FILE))?),
        false => print_text(&screen::of_document(&result, folder)),
    }
}
