//! The command `report`: a run folder as one page.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::Context as _;

use super::io::{print_text, shown};
use crate::cli::ReportArgs;
use crate::exit::{Exit, OrExit as _, Outcome};
use crate::report::{self, Source};

/// Writes the page of a run folder.
pub(crate) fn report(args: &ReportArgs) -> Outcome {
    let source = Source::read(&args.folder).or_exit(Exit::Usage)?;
    let path = args.out.clone().unwrap_or_else(|| args.folder.join(report::FILE));
    let told = || format!("cannot write {}", shown(&path));
    // It takes the name when it is whole, and may be made again.
    let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let readable = fs::Permissions::from_mode(0o644);
    let begun =
        tempfile::Builder::new().permissions(readable).tempfile_in(above).with_context(told).or_exit(Exit::Usage)?;
    fs::write(begun.path(), report::page(&source)).with_context(told).or_exit(Exit::Usage)?;
    begun.persist(&path).with_context(told).or_exit(Exit::Usage)?;
    print_text(&format!("{}\n", shown(&path)))
}
