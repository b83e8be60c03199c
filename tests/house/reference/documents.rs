//! The pages of documents: those of the run folder, and what commands print.

use std::fmt::Write as _;
use std::fs;

use lon_run::documents::schemas::{KINDS, Kind};
use lon_tests::process::repository;
use lon_tests::schemas::faults;
use serde_json::Value;

use super::paths;

/// The folder of example documents, below that of the pages. The programs wrote them in runs.
const EXAMPLES: &str = "examples";
/// The files without an example.
const WITHOUT_EXAMPLE: [&str; 2] = ["submission_step.json", "audit_result.json"];

const RUN_FOLDER: &str = "`loadgen-node run` writes these files into its run folder. Keys are dotted paths: \
`nodes[].name` is the key `name` of each\nelement of the list `nodes`, and `{name}` stands for a key that is data.

The number under `schema` is the version of a document's form, and 1 everywhere. It stays when keys are added, so
readers must ignore keys that they do not know. It grows when a key is removed or gets another meaning. Each document
has a JSON Schema: `loadgen-node schema` lists them, `loadgen-node schema NAME` prints one.

| file | content |
|---|---|
";

const OF_COMMANDS: &str = "The commands print these documents with `--json`. [The run folder](run-folder.md) explains \
paths and the key `schema`.\nDocuments without this key are parts of others, or have a form that is not this program's.

| document | command |
|---|---|
";

/// The JSON documents of a run folder.
const DOCUMENTS: [(&str, &str); 7] = [
    (
        "result_summary.json",
        "the verdict and its reasons, and all numbers; `run`, `show` and `recover` with `--json` print it",
    ),
    ("network_report.json", "bytes by layer, direction, node and second; codecs, interfaces, the probe"),
    ("system_desc.json", "both ends in the form of the submission rules"),
    ("find_peak.json", "the trials of a search in the mode FindPeakPerformance"),
    ("qdl_result.json", "beside the logs of another engine that led the run: its use, counts, nodes"),
    ("submission_step.json", "in runs of a submission: the settings and runs that it was made of"),
    ("audit_result.json", "of a compliance test, in the folder of `audit --out`; `audit --json` prints it"),
];

/// The other files of a run folder.
const OTHER_FILES: [(&str, &str); 10] = [
    ("mlperf_log_summary.txt", "the summary in the official form"),
    ("mlperf_log_detail.txt", "the detail log in the official form, a `:::MLLOG` line each"),
    ("mlperf_log_accuracy.json", "the answers in the official form, in hexadecimal; an empty list where none are kept"),
    ("mlperf_log_trace.json", "with `--trace-log`: the times of each sample, for a trace viewer"),
    (
        "timeline.bin",
        "of performance runs: the times at which each sample was due, sent and answered; `loadgen-node replay \
         --timeline` reads it",
    ),
    (
        "stages.bin",
        "with `--record-stages`: the node and the duration of each stage of each sample, for `loadgen-node export`",
    ),
    ("system_diagram.svg", "the machines and the network between them"),
    ("result.txt", "the text of the screen; `loadgen-node show` prints it again"),
    ("report.html", "the run as one page; `loadgen-node report` makes it again"),
    (".*.part", "during the run, or after a kill: data from which `loadgen-node recover` makes a result"),
];

/// The kind of a document of the run folder.
fn kind(file: &str) -> Kind {
    Kind::find(file.trim_end_matches(".json")).unwrap_or_else(|| panic!("no schema for {file}"))
}

pub(super) fn run_folder() -> String {
    let mut page = RUN_FOLDER.to_owned();
    for (file, content) in DOCUMENTS {
        let _ = writeln!(page, "| [`{file}`](#{}) | {content} |", file.replace('.', ""));
    }
    OTHER_FILES.iter().for_each(|(file, content)| writeln!(page, "| `{file}` | {content} |").unwrap());
    for (file, _) in DOCUMENTS {
        let kind = kind(file);
        let _ = write!(page, "\n## {file}\n\n{}{}", example(file, &kind), paths::table(&schema(&kind)));
    }
    page
}

pub(super) fn of_commands() -> String {
    let mut page = OF_COMMANDS.to_owned();
    let kinds =
        || KINDS.iter().filter(|kind| DOCUMENTS.iter().all(|(file, _)| file.trim_end_matches(".json") != kind.name));
    for kind in kinds() {
        let _ = writeln!(page, "| [{}](#{}) | `{}` |", kind.name, kind.name, kind.about);
    }
    for kind in kinds() {
        let _ = write!(page, "\n## {}\n\n`{}`\n\n{}", kind.name, kind.about, paths::table(&schema(kind)));
    }
    page
}

fn schema(kind: &Kind) -> Value {
    serde_json::from_str(kind.schema).unwrap()
}

/// A link to the example of a file. The example fits the schema.
fn example(file: &str, kind: &Kind) -> String {
    if WITHOUT_EXAMPLE.contains(&file) {
        return String::new();
    }
    let path = repository("docs/reference").join(EXAMPLES).join(file);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let faults = faults(&schema(kind), &serde_json::from_str(&text).unwrap());
    assert!(faults.is_empty(), "{}: {}", path.display(), faults.join("\n"));
    format!("[An example]({EXAMPLES}/{file}).\n\n")
}
