//! The command `report`: a run folder as one page.

use super::io::{print_text, shown};
use crate::cli::ReportArgs;
use crate::exit::{Exit, OrExit as _, Outcome};
use crate::outputs::folder;
use crate::outputs::report::{self, Source};

/// Writes the page of a run folder. It takes its name when it is whole, and may be made again.
pub(crate) fn report(args: &ReportArgs) -> Outcome {
    let source = Source::read(&args.folder).or_exit(Exit::Usage)?;
    let page = report::page(&source);
    let path = args.out.clone().unwrap_or_else(|| args.folder.join(report::FILE));
    match args.out {
        // Pages of earlier versions do not say whose they are.
        None => folder::write_file(&path, |out| out.write_all(page.as_bytes())),
        Some(_) => folder::write_page(&path, &page),
    }
    .or_exit(Exit::Usage)?;
    if let Some(path) = &args.picture {
        folder::write_page(path, &report::picture(&source)).or_exit(Exit::Usage)?;
    }
    print_text(&format!("{}\n", shown(&path)))
}
