//! The reference of files and grammars, `loadgen-node/REFERENCE.md`, is what the code says: keys, their types and what
//! they mean come from the types that read and write the files, grammars from `--help`. `LON_BLESS=1` writes it anew.

mod types;

use std::fmt::Write as _;
use std::process::Command;

use lon_tests::process::{LoadGen, binary, repository};

use types::Types;

const FILE: &str = "loadgen-node/REFERENCE.md";

const HEAD: &str = "# Files and grammars

What stands in files that the two programs read and write, key by key, and what flags take that have a grammar of their
own. This page is made of the code: the test `reference` compares it, and `LON_BLESS=1 cargo test --test it reference`
writes it.

- [The run folder](#the-run-folder)
- [Documents of commands](#documents-of-commands)
- [Benchmark files](#benchmark-files)
- [Grammars](#grammars)

Types are named as in the code. `ByDirection of X` is an object whose keys `ingress` and `egress` have an X each; the
same holds for other types that are of something. *The keys of* X stand beside the others, in the same object.

Readers ignore keys of JSON documents that they do not know: later versions add some. In benchmark files an unknown key
is an error.
";

/// The documents of a run folder: file and type.
const RUN_FOLDER: [(&str, &str); 6] = [
    ("result_summary.json", "ResultSummary"),
    ("network_report.json", "NetworkReport"),
    ("system_desc.json", "SystemDesc"),
    ("find_peak.json", "SearchRecord"),
    ("qdl_result.json", "QdlResult"),
    ("submission_step.json", "StepRecord"),
];

/// The other files of a run folder.
const OTHER_FILES: [(&str, &str); 9] = [
    ("mlperf_log_summary.txt", "the summary in the official form"),
    ("mlperf_log_detail.txt", "the detail log in the official form, a `:::MLLOG` line each"),
    ("mlperf_log_accuracy.json", "the answers in the official form, in hexadecimal; an empty list where none are kept"),
    ("mlperf_log_trace.json", "with `--trace-log`: what was issued and answered, for a trace viewer"),
    (
        "timeline.bin",
        "of performance runs: when each sample was due, sent and answered; `loadgen-node replay --timeline` reads it",
    ),
    ("system_diagram.svg", "the machines and the network between them"),
    ("result.txt", "what the screen showed; `loadgen-node show` prints it again"),
    ("report.html", "the run as one page; `loadgen-node report` makes it again"),
    (".*.part", "while the run goes on, or after it was killed: what `loadgen-node recover` makes a result of"),
];

/// What commands print with `--json`: command and type.
const COMMANDS: [(&str, &str); 12] = [
    ("conf", "ConfDocument"),
    ("probe", "ProbeDocument"),
    ("conformance", "ConformanceDocument"),
    ("accuracy", "AccuracyDocument"),
    ("accuracy PERFORMANCE_RUN", "AccuracySubset"),
    ("accuracy --scorer CMD RUN", "ScoresDocument"),
    ("replay --official DIR", "OfficialReplay"),
    ("compare FOLDER FOLDER", "Comparison"),
    ("list", "RunList"),
    ("audit", "AuditResult"),
    ("submission plan FILE", "SubmissionPlan"),
    ("submission check TREE", "SubmissionCheck"),
];

/// The smallest benchmark file of one's own that is scored. A test reads it.
const SMALLEST: &str = r#"# mine.toml: the name has to be the file's
name = "mine"
about = "my model"
settings = ["Server.target_qps=100", "Server.target_latency=20"]  # ms
[dataset]
kind = "tensors"
inputs = ["x f32[N,3,4]"]              # NAME TYPE[DIMS]; N: the batch
example = "synthetic:f32[3,4]x64"
[accuracy]
metric = "top1"                        # or another one of those below
target = 90.0                          # percent
"#;

/// Where the types of benchmark files are.
const BENCHMARK_SOURCES: [&str; 6] = [
    "loadgen-node/qsl/src/benchmark/file.rs",
    "loadgen-node/qsl/src/benchmark/network.rs",
    "loadgen-node/qsl/src/benchmark/quality.rs",
    "loadgen-node/qsl/src/benchmark/rounds.rs",
    "loadgen-node/qsl/src/benchmark/suite.rs",
    "loadgen-node/qsl/src/bandwidth.rs",
];

/// Flags with a grammar: of which command, and what comes before the paragraph of its help.
const FLAGS: [(&str, &str, &str); 7] = [
    ("loadgen-node", "run", "--sut"),
    ("loadgen-node", "run", "--set"),
    ("loadgen-node", "run", "--dataset"),
    ("loadgen-node", "run", "--preprocess"),
    ("loadgen-node", "run", "--compression"),
    ("loadgen-node", "run", "--max-lag"),
    ("sut-node", "serve", "--backend"),
];

#[test]
fn the_reference_is_what_the_code_says() {
    let text = page();
    let path = repository(FILE);
    if std::env::var_os("LON_BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = there.lines().zip(text.lines()).find(|(there, said)| there != said);
    assert!(there == text, "{FILE} is not what the code says (LON_BLESS=1 writes it): {differs:?}");
}

#[test]
fn the_smallest_benchmark_file_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    std::fs::write(&file, SMALLEST).unwrap();
    let flags = ["conf", "--benchmark", file.to_str().unwrap(), "--scenario", "Server"];
    let shown = LoadGen::run(&[&flags[..], &["--dataset", "synthetic:f32[3,4]x64"]].concat());
    assert!(shown.code == Some(0) && shown.stdout.contains("x f32[N,3,4]"), "{shown:?}");
}

fn page() -> String {
    let documents = Types::read(&[
        "loadgen-node/src/outputs/documents",
        "proto/shell/src/documents",
        "loadgen-node/engine/src",
        "loadgen-node/src/audit",
    ]);
    let benchmarks = Types::read(&BENCHMARK_SOURCES);
    let mut page = HEAD.to_owned();
    page.push_str("\n## The run folder\n\n| file | what it is |\n|---|---|\n");
    for (file, root) in RUN_FOLDER {
        let _ = writeln!(page, "| `{file}` | [{root}](#{}) |", root.to_lowercase());
    }
    OTHER_FILES.iter().for_each(|(file, what)| writeln!(page, "| `{file}` | {what} |").unwrap());
    let mut told = std::collections::BTreeSet::new();
    RUN_FOLDER.iter().for_each(|(_, root)| documents.tell(root, &mut told, &mut page));
    page.push_str("\n## Documents of commands\n\n| command | what it prints |\n|---|---|\n");
    for (command, root) in COMMANDS {
        let _ = writeln!(page, "| `loadgen-node {command} --json` | [{root}](#{}) |", root.to_lowercase());
    }
    COMMANDS.iter().for_each(|(_, root)| documents.tell(root, &mut told, &mut page));
    page.push_str(
        "\n## Benchmark files\n\n`--benchmark NAME.toml` reads a benchmark of one's own; those that are built in are \
         such files, too\n(`loadgen-node/qsl/benchmarks`).\n",
    );
    let _ = write!(page, "\nThe smallest one that is scored:\n\n```toml\n{SMALLEST}```\n");
    benchmarks.tell("File", &mut std::collections::BTreeSet::new(), &mut page);
    let example = std::fs::read_to_string(repository("loadgen-node/qsl/benchmarks/bert.toml")).unwrap();
    let _ = write!(page, "\nA whole example, the built-in `bert`:\n\n```toml\n{example}```\n");
    page.push_str("\n## Grammars\n");
    for (program, command, flag) in FLAGS {
        let _ =
            write!(page, "\n`{flag}` of `{program} {command}`:\n\n```text\n{}```\n", of_flag(program, command, flag));
    }
    let run = help("loadgen-node", "run");
    let datasets = block(&run, "Datasets (--dataset)", "Settings have");
    let _ = write!(page, "\nDatasets:\n\n```text\n{datasets}```\n");
    let serve = help("sut-node", "serve");
    let synthetic = block(&serve, "SPEC of synthetic", "\u{0}");
    let _ = write!(page, "\nThe synthetic backend:\n\n```text\n{synthetic}```\n");
    page
}

fn help(program: &str, command: &str) -> String {
    let mut command_line = Command::new(binary(program));
    let output = command_line.args([command, "--help"]).env_clear().env("COLUMNS", "100").output().unwrap();
    // What a variable holds here is of no use to a reader.
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().filter(|line| !line.trim_start().starts_with("[env: ")).map(|line| format!("{line}\n")).collect()
}

/// The lines from the one that begins so to the one before that which begins with `end`.
fn block(text: &str, begin: &str, end: &str) -> String {
    let lines = text.lines().skip_while(|line| !line.starts_with(begin)).take_while(|line| !line.starts_with(end));
    let block: String = lines.map(|line| format!("{}\n", line.trim_end())).collect();
    assert!(!block.is_empty(), "no '{begin}' in: {text}");
    format!("{}\n", block.trim_end())
}

/// What the help of a command says of a flag.
fn of_flag(program: &str, command: &str, flag: &str) -> String {
    let text = help(program, command);
    let is_head = |line: &&str| line.trim_start().split([' ', ',']).any(|word| word == flag) && line.starts_with("  ");
    let mut lines = text.lines().skip_while(|line| !is_head(line));
    let head = lines.next().unwrap_or_else(|| panic!("no {flag} in: {text}"));
    let further = lines.take_while(|line| line.is_empty() || line.starts_with("          "));
    let all: String = std::iter::once(head).chain(further).map(|line| format!("{}\n", line.trim())).collect();
    // Two empty lines stand where a line was left out.
    format!("{}\n", all.trim_end().replace("\n\n\n", "\n\n"))
}
