//! The command `export`: the timeline of a run as CSV, a row for each sample.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::{Context as _, anyhow};
use loadgen::plan::Plan;
use loadgen::recorder::{SampleEnd, StoredTimeline};

use super::io::{read, shown};
use crate::cli::ExportArgs;
use crate::exit::{Exit, OrExit as _, Outcome};
use crate::outputs::documents::result_summary::{FILE as RESULT, ResultSummary};
use crate::outputs::{folder, logs, stored_timeline};

/// Writes the rows to a file or to standard output, one after the other.
pub(crate) fn export(args: &ExportArgs) -> Outcome {
    let path = args.folder.join(RESULT);
    let result: ResultSummary =
        serde_json::from_str(&read(&path)?).with_context(|| shown(&path)).or_exit(Exit::Usage)?;
    let stored = stored_timeline::read(&args.folder.join(logs::TIMELINE)).or_exit(Exit::Usage)?;
    let plan = stored_timeline::plan(&stored, &result).or_exit(Exit::Usage)?;
    match &args.out {
        Some(path) => to_file(&stored, &plan, path),
        None => match rows(&stored, &plan, &mut BufWriter::new(io::stdout().lock())) {
            // Whoever reads has seen enough.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Exit::Ok),
            written => written.map(|()| Exit::Ok).or_exit(Exit::Bug),
        },
    }
}

/// Into a file, which takes its name when it is whole.
fn to_file(stored: &StoredTimeline, plan: &Plan, path: &Path) -> Outcome {
    if path.exists() {
        return Err(anyhow!("--out {}: it is there already", shown(path))).or_exit(Exit::Usage);
    }
    folder::write_file(path, |out| rows(stored, plan, out)).or_exit(Exit::Bug)?;
    Ok(Exit::Ok)
}

/// Heads, then the samples in the order in which they were issued.
fn rows(stored: &StoredTimeline, plan: &Plan, out: &mut dyn Write) -> io::Result<()> {
    let StoredTimeline { about, timeline } = stored;
    let phase = plan.phases().iter().find(|phase| !phase.is_accuracy());
    let phase = phase.ok_or_else(|| io::Error::other("the plan measures nothing"))?;
    let mut tokens = timeline.tokens();
    let has_tokens = timeline.tokens().next().is_some();
    let more = if has_tokens { ",first_token_ns,tokens" } else { "" };
    writeln!(out, "sample,query,start_ns,latency_ns,end{more}")?;
    let starts_ns = timeline.starts(phase, about.settings.scenario.pacing());
    for ((position, end), start_ns) in (0u64..).zip(timeline.samples()).zip(starts_ns) {
        let query = position / timeline.samples_per_query.max(1);
        let (latency, word) = match end {
            SampleEnd::Done { latency_ns } => (latency_ns.to_string(), "answered"),
            SampleEnd::Failed { .. } => (String::new(), "failed"),
            SampleEnd::Pending { .. } => (String::new(), "lost"),
            SampleEnd::Unissued => (String::new(), "not issued"),
        };
        write!(out, "{position},{query},{start_ns},{latency},{word}")?;
        if has_tokens {
            let (first_ns, count) = tokens.next().unwrap_or_default();
            write!(out, ",{},{count}", first_ns.map_or_else(String::new, |ns| ns.to_string()))?;
        }
        writeln!(out)?;
    }
    out.flush()
}
