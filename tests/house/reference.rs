//! The reference of files and grammars, `loadgen-node/REFERENCE.md`, is what the code says: keys, their types and what
//! they mean come from the types that read and write the files, grammars from `--help`, metrics from the programs
//! themselves. `LON_BLESS=1` writes it anew.
//!
//! - `types`: the types of documents, as their source has them.

mod types;

use std::fmt::Write as _;
use std::process::Command;

use lon_tests::metrics::{Page, free_address};
use lon_tests::process::{LoadGen, SutNode, binary, repository};
use lon_tests::test_run::TestRun;

use types::Types;

const FILE: &str = "loadgen-node/REFERENCE.md";

const HEAD: &str = "# Files and grammars

What stands in files that the two programs read and write, key by key, and what flags take that have a grammar of their
own. This page is made of the code: the test `reference` compares it, and
`LON_BLESS=1 cargo test --test house reference` writes it.

- [The run folder](#the-run-folder)
- [Documents of commands](#documents-of-commands)
- [Benchmark files](#benchmark-files)
- [Grammars](#grammars)
- [Metrics](#metrics)

Types are named as in the code. `ByDirection of X` is an object whose keys `ingress` and `egress` have an X each; the
same holds for other types that are of something. *The keys of* X stand beside the others, in the same object.

Each document has a JSON Schema, in [schemas](schemas): `loadgen-node schema` lists them, `loadgen-node schema NAME`
prints one. A schema says what this version writes, with the keys that are always there as required ones.

The number under `schema` is the version of a document's form, and 1 everywhere. It stays when keys are added, so
readers have to ignore keys that they do not know; it grows when a key is taken away or means something else. Documents
without the number are parts of others (`accuracy`), or have a form that others gave them (`trace`, `replay`,
`conf --config-vector`). In benchmark files an unknown key is an error.
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
const OTHER_FILES: [(&str, &str); 10] = [
    ("mlperf_log_summary.txt", "the summary in the official form"),
    ("mlperf_log_detail.txt", "the detail log in the official form, a `:::MLLOG` line each"),
    ("mlperf_log_accuracy.json", "the answers in the official form, in hexadecimal; an empty list where none are kept"),
    ("mlperf_log_trace.json", "with `--trace-log`: what was issued and answered, for a trace viewer"),
    (
        "timeline.bin",
        "of performance runs: when each sample was due, sent and answered; `loadgen-node replay --timeline` reads it",
    ),
    (
        "stages.bin",
        "with `--record-stages`: which node answered each sample, and how long each stage took; `loadgen-node export` \
         reads it",
    ),
    ("system_diagram.svg", "the machines and the network between them"),
    ("result.txt", "what the screen showed; `loadgen-node show` prints it again"),
    ("report.html", "the run as one page; `loadgen-node report` makes it again"),
    (".*.part", "while the run goes on, or after it was killed: what `loadgen-node recover` makes a result of"),
];

/// What commands print with `--json`: command and type.
const COMMANDS: [(&str, &str); 17] = [
    ("run --compression auto", "CodecAdvice"),
    ("conf", "ConfDocument"),
    ("probe", "ProbeDocument"),
    ("probe --watch INTERVAL", "WatchDocument"),
    ("probe --watch INTERVAL, the last line", "WatchSum"),
    ("conformance", "ConformanceDocument"),
    ("fleet check FILE", "FleetReport"),
    ("accuracy", "AccuracyDocument"),
    ("accuracy PERFORMANCE_RUN", "AccuracySubset"),
    ("accuracy --scorer CMD RUN", "ScoresDocument"),
    ("replay --official DIR", "OfficialReplay"),
    ("compare FOLDER FOLDER", "Comparison"),
    ("list", "RunList"),
    ("schema", "SchemaList"),
    ("audit", "AuditResult"),
    ("submission plan FILE", "SubmissionPlan"),
    ("submission check TREE", "SubmissionCheck"),
];

const METRICS: &str = "
## Metrics

What `GET /metrics` tells with `--metrics-listen HOST:PORT`: OpenMetrics 1.0, or the older text of Prometheus for
clients that name `text/plain` alone. Counters begin with the program, and all series are there from its start.
Histograms have classic buckets, those of seconds from 1 us to 100 s in steps of 1, 2 and 5, and `_sum` and `_count`
beside `_bucket`. Clients that name Prometheus's protobuf format first are told in that: there histograms of durations
have native buckets, too, eight for each doubling (schema 3).

`purpose` is `run` or `probe` (`--probe`); `layer` and `direction` are those of `network_report.json`. `end` is
`client`, or `lapsed` where the client went without ending its run. `queue` is `decode` or `worker`. `reason` of failed
samples: `unreadable` (no tensors), `decode` (not inflated or not pre-processed), `backend` (refused by it), `panic`,
`encode` (the answer could not be encoded), `run_over` (nobody waited for the answer any more).
";

const METRICS_OF_A_RUN: &str = "
`loadgen-node run`, with `--metrics-listen` and in the file of `--metrics-file`; those of tokens are there in token runs
alone. `reason` of failed samples: `refused`, `unusable`, `timed_out`, `node_lost`, `overload`, `no_node`,
`not_inflated`, `run_ended`. `kind` of bad answers: `duplicate`, `late`, `foreign`. `statistic`: `p50`, `p99`, `max`.
`lon_loadgen_valid` is there when the run is judged; `lon_loadgen_retransmits` has the nodes of which it is known. Ends
of the buckets of latencies hold to within 0.8 %:

";

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
    page.push_str(METRICS);
    page.push_str(&metrics_of_sut_node());
    page.push_str(&metrics_of_loadgen_node());
    page
}

/// What a SUT node exports, as a table.
fn metrics_of_sut_node() -> String {
    let address = free_address();
    let _node = SutNode::start("n", "null", &["--metrics-listen", &address]);
    let table = table(&Page::at(&address), &["node"]);
    format!("\n`sut-node serve`; every metric has the label `node`, the node's name:\n\n{table}")
}

/// What a run exports, as a table. It is one with tokens, which has all metrics.
fn metrics_of_loadgen_node() -> String {
    let node = SutNode::start("n", "synthetic:ttft=1ms,tpot=0ms,tokens=4", &[]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.prom");
    let settings = "use_token_latencies=1,ttft_latency=60000,tpot_latency=60000,min_duration=0,min_query_count=10";
    let run = TestRun::new("Server").on(&node.address).dataset("synthetic:tokens-i64[16]x8").set(settings);
    let (finished, _) = run.args(&["--max-lag", "60s", "--metrics-file", file.to_str().unwrap()]).finish();
    assert!(matches!(finished.code, Some(0 | 3)), "{finished:?}");
    let page = Page::read(&std::fs::read_to_string(file).unwrap());
    format!("{METRICS_OF_A_RUN}{}", table(&page, &[]))
}

/// A line for each metric of a program. Labels that all of them have are left out.
fn table(page: &Page, left_out: &[&str]) -> String {
    let mut text = String::from("| metric | type | unit | labels | what |\n|---|---|---|---|---|\n");
    for family in &page.families {
        let end = match family.kind.as_str() {
            "counter" => "_total",
            "info" => "_info",
            _ => "",
        };
        let labels: Vec<String> = family
            .labels
            .iter()
            .filter(|label| !left_out.contains(&label.as_str()))
            .map(|it| format!("`{it}`"))
            .collect();
        let (name, kind, unit, help) = (&family.name, &family.kind, &family.unit, &family.help);
        let _ = writeln!(text, "| `{name}{end}` | {kind} | {unit} | {} | {help} |", labels.join(", "));
    }
    text
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
