//! The command `report`: a run folder as one page.

use std::path::Path;

use anyhow::anyhow;

use super::io::{print_text, shown};
use crate::cli::ReportArgs;
use crate::exit::{Exit, OrExit as _, Outcome};
use crate::outputs::folder::RunFolder;
use crate::outputs::report::{self, Source};

/// Writes the page of a run folder. It takes its name when it is whole, and may be made again.
pub(crate) fn report(args: &ReportArgs) -> Outcome {
    let source = Source::read(&args.folder).or_exit(Exit::Usage)?;
    let path = args.out.clone().unwrap_or_else(|| args.folder.join(report::FILE));
    let no_file = || anyhow!("--out {}: it is no name of a file", shown(&path));
    let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(no_file).or_exit(Exit::Usage)?;
    let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = RunFolder::of_earlier_run(above);
    let staged = folder.stage(name, |out| out.write_all(report::page(&source).as_bytes())).or_exit(Exit::Usage)?;
    folder.keep(staged).or_exit(Exit::Usage)?;
    print_text(&format!("{}\n", shown(&path)))
}
