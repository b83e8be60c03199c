//! `campaign import`: the file of a campaign, made of DLI's configuration of a benchmark.

use std::path::Path;

use super::super::io::{input_text, path_text, print, print_text, write_new};
use crate::campaign::import::{About, Imported, Note, import as campaign_of};
use lon_run::exit::{Exit, OrExit as _, Outcome};

/// Prints the file, or writes it to `out`. Elements without a counterpart are warnings.
pub(super) fn import(file: &Path, out: Option<&Path>) -> Outcome {
    let text = input_text(file)?;
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let imported = campaign_of(&text, &path_text(file), &stem).or_exit(Exit::Usage)?;
    imported.notes.iter().for_each(warn);
    let Some(out) = out else { return print_text(&imported.text) };
    write_new(out, &imported.text)?;
    print(&summary(&imported, out))
}

fn warn(note: &Note) {
    let case = note.case.as_deref();
    match &note.about {
        About::LeftOut(left_out) => {
            let (element, value) = (left_out.element.as_str(), left_out.value.as_str());
            tracing::warn!(case, element, value, line = left_out.line, why = left_out.why, "an element is left out");
        }
        About::ToDo(what) => tracing::warn!(case, what = what.as_str(), "a case is a comment until this is done"),
    }
}

fn summary(imported: &Imported, out: &Path) -> String {
    let open = imported.notes.iter().filter(|note| matches!(note.about, About::ToDo(_)));
    let mut cases: Vec<Option<&str>> = open.map(|note| note.case.as_deref()).collect();
    cases.dedup();
    let open = match cases.len() {
        0 => String::new(),
        count => format!(", {count} of them comments until something is done"),
    };
    format!("{0} is written with {1} cases{open}: loadgen-node campaign plan {0}", path_text(out), imported.tests)
}
