//! The command `report`: the folder of a run or of a mix as one page.

use anyhow::anyhow;

use super::io::{path_text, print_text};
use crate::cli::ReportArgs;
use crate::mix;
use lon_run::exit::{Exit, OrExit as _, Outcome};
use lon_run::outputs::logs::own_result;
use lon_run::outputs::report::{self, Source};
use lon_run::outputs::run_folder::folder;

/// Writes the page of a run folder. It takes its name when it is whole, and may be made again.
pub(crate) fn report(args: &ReportArgs) -> Outcome {
    if let Some(result) = own_result::read_mix(&args.folder).or_exit(Exit::Usage)? {
        return write(args, &mix::page(&result, &args.folder), None);
    }
    let source = Source::read(&args.folder).or_exit(Exit::Usage)?;
    write(args, &report::page(&source), Some(&source))
}

/// Writes a page, and the picture of a run if that is wanted.
fn write(args: &ReportArgs, page: &str, source: Option<&Source>) -> Outcome {
    if args.picture.is_some() && source.is_none() {
        return Err(anyhow!("--picture is for a run, and this is the folder of a mix: give the one of a tenant"))
            .or_exit(Exit::Usage);
    }
    let path = args.out.clone().unwrap_or_else(|| args.folder.join(report::FILE));
    match args.out {
        // Pages of earlier versions do not say whose they are.
        None => folder::write_file(&path, |out| out.write_all(page.as_bytes())),
        Some(_) => folder::write_page(&path, page),
    }
    .or_exit(Exit::Usage)?;
    if let Some((path, source)) = args.picture.as_ref().zip(source) {
        folder::write_page(path, &report::picture(source)).or_exit(Exit::Usage)?;
    }
    print_text(&format!("{}\n", path_text(&path)))
}
