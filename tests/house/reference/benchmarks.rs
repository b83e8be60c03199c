//! The page of benchmark files.

use std::fmt::Write as _;

use lon_qsl::benchmark::{Benchmark, Membership, ROUNDS, Suite};
use lon_tests::process::{LoadGen, repository};

use super::toml_keys::Types;

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

/// The tasks of a round before those of the table.
const V0_5: &str = "\
Round v0.5 had the five tasks `resnet50`, `mobilenet`, `ssd-mobilenet`, `ssd-resnet34` and `gnmt`. Of these the rounds
above have `resnet50` alone. The Network division has no rule of compression and no bandwidth for the other four.
";

/// The files with the types of benchmark files.
const SOURCES: [&str; 8] = [
    "loadgen-node/qsl/src/accuracy/categories.rs",
    "loadgen-node/qsl/src/benchmark/file.rs",
    "loadgen-node/qsl/src/benchmark/network.rs",
    "loadgen-node/qsl/src/benchmark/published.rs",
    "loadgen-node/qsl/src/benchmark/quality.rs",
    "loadgen-node/qsl/src/benchmark/rounds.rs",
    "loadgen-node/qsl/src/benchmark/suite.rs",
    "loadgen-node/qsl/src/bandwidth.rs",
];

pub(super) fn page() -> String {
    let mut page =
        "`--benchmark NAME.toml` reads a benchmark of your own. The built-in benchmarks are such files too\n\
                    (`loadgen-node/qsl/benchmarks`). An unknown key is an error.\n"
            .to_owned();
    let _ = write!(page, "\n## Benchmarks by round\n\n{}\n{V0_5}", by_round());
    let _ = write!(page, "\n## The smallest file with a score\n\n```toml\n{SMALLEST}```\n");
    let _ = write!(page, "\n## Keys\n\n{}", Types::read(&SOURCES).table("File"));
    let example = std::fs::read_to_string(repository("loadgen-node/qsl/benchmarks/bert.toml")).unwrap();
    let _ = write!(page, "\n## An example\n\nThe built-in `bert`:\n\n```toml\n{example}```\n");
    page
}

/// The suites that have each benchmark, by round.
fn by_round() -> String {
    let mut table = format!("| benchmark | {} | scored by this program |\n", ROUNDS.join(" | "));
    let _ = writeln!(table, "|---|{}---|", "---|".repeat(ROUNDS.len()));
    for benchmark in Benchmark::all() {
        let suites = ROUNDS.map(|round| {
            let suites = [("Datacenter", Suite::Datacenter), ("edge", Suite::Edge)].into_iter();
            let has = |suite: Suite| matches!(benchmark.membership(suite, round), Membership::Scenarios(_));
            suites.filter(|(_, suite)| has(*suite)).map(|(name, _)| name).collect::<Vec<_>>().join(", ")
        });
        let scored = if benchmark.accuracy.is_some() { "yes" } else { "no" };
        let _ = writeln!(table, "| `{}` | {} | {scored} |", benchmark.name, suites.join(" | "));
    }
    table
}

#[test]
fn the_smallest_benchmark_file_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    std::fs::write(&file, SMALLEST).unwrap();
    let flags = ["conf", "--benchmark", file.to_str().unwrap(), "--scenario", "Server"];
    let finished = LoadGen::run(&[&flags[..], &["--dataset", "synthetic:f32[3,4]x64"]].concat());
    assert!(finished.code == Some(0) && finished.stdout.contains("x f32[N,3,4]"), "{finished:?}");
}
