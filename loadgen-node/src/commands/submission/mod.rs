//! The command `submission`: from one file to the runs of a submission and the folders for the official checker.
//!
//! - `plan`: what is needed; `make`: the runs and their audits, each a command of its own; `check`: a tree, by our
//!   check and the official one; here: the file to fill in, and the folders.

mod check;
mod make;
mod plan;

use std::path::Path;

use anyhow::{Context as _, anyhow};
use lon_proto::files::{self, Limit};
use lon_qsl::benchmark::Benchmark;
use lon_shell::documents::of_text;

use super::io::print_text;
use crate::cli::{DialArgs, InitArgs, KserveArgs, SubmissionArgs, SubmissionCommand};
use crate::submission::checked::{Engine, Submission};
use crate::submission::{template, tree};
use lon_run::exit::{Exit, OrExit as _, Outcome};
use lon_run::outputs::documents::result_summary::ResultSummary;
use lon_run::outputs::documents::system_desc::{self, SystemDesc};
use lon_run::outputs::logs::own_result;

/// Does what the command asks for.
pub(crate) fn submission(args: &SubmissionArgs) -> Outcome {
    match &args.what {
        SubmissionCommand::Init(args) => init(args),
        SubmissionCommand::Plan { file, form } => plan::plan(&read(file)?, form.check()),
        SubmissionCommand::Run { file } => make::make(&read(file)?),
        SubmissionCommand::Check { tree, rules, file, mlcommons, form } => {
            let tree_check = check::TreeCheck::new(tree, rules.as_deref(), mlcommons.as_deref())?;
            check::check(&tree_check, file.as_deref().map(read).transpose()?.as_ref(), form.check())
        }
        SubmissionCommand::Build { file, out } => {
            // From where the command was typed.
            let out = std::path::absolute(out).with_context(|| out.display().to_string()).or_exit(Exit::Usage)?;
            build(&read(file)?, &out)
        }
    }
}

/// Reads the file, and goes to its folder: all paths in it, and those of the runs, are from there, so that a run counts
/// from wherever the command is typed.
fn read(file: &Path) -> Outcome<Submission> {
    let submission = Submission::read(file).or_exit(Exit::Usage)?;
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        let message = || format!("cannot go to {}", folder.display());
        std::env::set_current_dir(folder).with_context(message).or_exit(Exit::Usage)?;
    }
    Ok(submission)
}

fn init(args: &InitArgs) -> Outcome {
    let file = &args.file;
    let mut doubt = String::new();
    let text = match (&args.run, args.dial()) {
        (Some(run), _) => {
            let (text, run) = of_run(run).or_exit(Exit::Usage)?;
            doubt = not_submitted(&run).unwrap_or_default();
            text
        }
        (None, Some(dial)) => template::text(None, Some(&system_of_nodes(&dial)?), &args.connection.typed()),
        (None, None) => template::text(None, None, &args.connection.typed()),
    };
    let cannot = || format!("cannot write {}", file.display());
    match std::fs::File::create_new(file) {
        Ok(mut new_file) => std::io::Write::write_all(&mut new_file, text.as_bytes()).with_context(cannot),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            Err(anyhow!("{} is there already: it is never overwritten", file.display()))
        }
        Err(error) => Err(error).with_context(cannot),
    }
    .or_exit(Exit::Usage)?;
    print_text(&format!("{} is written: fill in what is marked FILL IN\n{doubt}", file.display()))
}

/// A line on a run whose benchmark its round does not have.
fn not_submitted(run: &ResultSummary) -> Option<String> {
    let (name, round) = (&run.benchmark, &run.rules);
    let is_there = Benchmark::find(name).is_ok_and(|benchmark| !benchmark.official(round).is_empty());
    let message = "nothing of this run can be submitted. Write another name, dataset and round into the file";
    (!is_there).then(|| format!("round {round} has no benchmark {name}: {message}\n"))
}

/// Returns the text of the file with what a run was, and has found of the system; and the run.
fn of_run(folder: &Path) -> anyhow::Result<(String, ResultSummary)> {
    let path = folder.join(system_desc::FILE);
    let message = || format!("--run {}: give the folder that a run wrote (`run --out FOLDER`)", path.display());
    let system: SystemDesc =
        of_text(&files::text(&path, Limit::DOCUMENT).with_context(message)?).with_context(message)?;
    let run = own_result::read(folder).with_context(|| format!("--run {}", folder.display()))?;
    Ok((template::text(Some(&run), Some(&system), &template::node_flags(&run)), run))
}

/// Returns the description of the system that nodes give of themselves.
fn system_of_nodes(dial: &DialArgs) -> Outcome<SystemDesc> {
    let qdl = dial.target(&KserveArgs::default())?.connect()?;
    Ok(SystemDesc::of_nodes(&qdl.here(), qdl.nodes()))
}

fn build(submission: &Submission, out: &Path) -> Outcome {
    submission.refuse_placeholders().or_exit(Exit::Usage)?;
    let summary = tree::build(submission, out).or_exit(Exit::Usage)?;
    let tree::TreeCounts { files, results } = summary;
    let rehearsal = if submission.rehearsal.is_some() { "A rehearsal: it is not to be submitted.\n" } else { "" };
    let engine = match submission.engine {
        Engine::Own => ", and not official: the rules ask for logs of the official LoadGen (engine = \"official\")",
        Engine::Official(_) => "",
    };
    print_text(&format!(
        "{} has {results} results in {files} files.\n{rehearsal}Look at it before anybody else does, and let the \
         official checker look:\n  loadgen-node submission check {} --file FILE --mlcommons \
         CLONE_OF_MLCOMMONS_INFERENCE\nResults are unverified{engine}.\n",
        out.display(),
        out.display()
    ))
}
