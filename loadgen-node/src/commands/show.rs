//! The command `show`: the result of a run again, as its folder has it.

use std::path::Path;

use anyhow::{Context as _, anyhow};
use lon_proto::files::{self, Limit};
use lon_proto::text::on_lines;

use super::io::{path_text, print_json_pretty, print_text, print_verdict};
use crate::cli::ShowArgs;
use lon_run::exit::{Exit, OrExit as _, Outcome};
use lon_run::outputs::documents::result_summary::{FILE as RESULT, FileDocument, ResultSummary};
use lon_run::outputs::logs::own_result;
use lon_run::outputs::screen::{self, conf_text};

/// Prints the result that a run folder has. Whether it is VALID stands in the text; the exit code says that it could be
/// shown.
pub(crate) fn show(args: &ShowArgs) -> Outcome {
    let folder = args.folder.as_path();
    if let Some(mix) = own_result::read_mix(folder).or_exit(Exit::Usage)? {
        return if args.json { print_json_pretty(&mix) } else { print_verdict(&on_lines(&mix.text())) };
    }
    let (result, text) = ResultSummary::with_text(folder).or_exit(Exit::Usage)?;
    own_result::check(folder, &result).or_exit(Exit::Usage)?;
    if args.json {
        return print_text(&on_lines(&text));
    }
    if args.division {
        let rules = &result.division.rules;
        if rules.is_empty() {
            let message = "has no verdicts on the rules of the Network division: the run did not come to its end";
            return Err(anyhow!("{} {message}", path_text(folder))).or_exit(Exit::Usage);
        }
        return print_verdict(&on_lines(&conf_text::rules_text(rules)));
    }
    match result.files.get(screen::FILE) {
        Some(listed) => print_verdict(&checked(folder, listed)?),
        None => print_verdict(&screen::of_document(&result, folder)),
    }
}

/// The text of the folder, which must be the one that its result lists.
fn checked(folder: &Path, listed: &FileDocument) -> Outcome<String> {
    let path = folder.join(screen::FILE);
    let text = files::text(&path, Limit::DOCUMENT).with_context(|| format!("cannot read {}", path_text(&path)));
    let text = text.or_exit(Exit::Usage)?;
    if listed.holds(&text) {
        return Ok(on_lines(&text));
    }
    Err(anyhow!("{} is not the file that the run wrote: its SHA-256 in {RESULT} is another", path_text(&path)))
        .or_exit(Exit::Usage)
}
