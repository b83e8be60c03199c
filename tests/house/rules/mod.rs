//! Rules of the sources, checked on them.
//!
//! Each rule has a test here, and in its own file one on made-up sources that shows that it can fail. A rule that does
//! not hold yet has a number: how many faults are left. The number must only become smaller.
//!
//! - `sources`: the sources and their syntax;
//! - `modules`: modules and names of a crate; `arrows`: which file uses which;
//! - `table`: the table of ARCHITECTURE.md; `rooms`: what may use what in a crate; `crates`: the same among crates;
//! - `places`: what may stand where;
//! - `lengths`: of functions, files and lines; `docs`: of what the documentation says;
//! - `openers`: first words of comments, and the length of their sentences;
//! - `long_tests`: which tests `cargo test` leaves out, and what runs them.

use self::places::Pattern;
use self::sources::House;

mod arrows;
mod crates;
mod docs;
mod lengths;
mod long_tests;
mod modules;
mod openers;
mod places;
mod rooms;
mod sources;
mod table;

/// Fails when there are more faults than `limit`, and shows them.
#[track_caller]
fn no_more_than(limit: usize, rule: &str, faults: &[String]) {
    println!("{rule}: {} faults, {limit} allowed for now", faults.len());
    assert!(faults.len() <= limit, "{rule}: {} faults, {limit} allowed:\n{}", faults.len(), faults.join("\n"));
}

/// Files and folders that may lie at the top: the agreed folders, and the files that are usual there. Build outputs and
/// folders of runs are not checked in.
const TOP: [&str; 19] = [
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "README.md",
    "SECURITY.md",
    "clippy.toml",
    "deny.toml",
    "deploy",
    "docs",
    "loadgen-node",
    "proto",
    "qdl",
    "rust-toolchain.toml",
    "rustfmt.toml",
    "sut-node",
    "tests",
];

#[test]
fn nothing_else_lies_at_the_top() {
    let top = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let names = std::fs::read_dir(top).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let is_meant = |name: &str| name.starts_with('.') || ["target", "results"].contains(&name) || TOP.contains(&name);
    let others: Vec<String> = names.filter(|name| !is_meant(name)).collect();
    no_more_than(0, "files and folders at the top", &others);
}

#[test]
fn no_files_use_each_other_in_a_circle() {
    no_more_than(0, "circles of files", &arrows::circle_faults(&House::here(), false));
}

/// Stricter: the head of a folder counts as a file like any other.
#[test]
fn few_folders_and_their_heads_use_each_other() {
    no_more_than(1, "circles with heads of folders", &arrows::circle_faults(&House::here(), true));
}

/// The table of ARCHITECTURE.md is the list of rooms, and of what a crate may use.
#[test]
fn rooms_and_crates_use_only_what_the_architecture_says() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../ARCHITECTURE.md")).unwrap();
    let (house, rows) = (House::here(), table::rows(&page));
    no_more_than(0, "arrows between rooms", &rooms::upward(&house, &rows));
    no_more_than(0, "dependencies", &crates::wrong_dependencies(&house, &rows));
}

#[test]
fn functions_fit_on_a_screen() {
    let functions = lengths::functions(&House::here());
    let p95 = lengths::p95(&functions);
    let longest = &functions[functions.len().saturating_sub(5)..];
    println!("{} functions, p95 {p95} lines, longest {longest:?}", functions.len());
    assert!(p95 <= 40, "p95 of functions is {p95} lines");
}

#[test]
fn no_file_is_a_warehouse() {
    let files = lengths::files(&House::here());
    let p95 = lengths::p95(&files);
    println!("{} files, p95 {p95} lines, longest {:?}", files.len(), &files[files.len().saturating_sub(5)..]);
    assert!(p95 <= 320, "p95 of files is {p95} lines");
    let long: Vec<String> =
        files.into_iter().filter(|(lines, _)| *lines > 450).map(|(lines, path)| format!("{path}: {lines}")).collect();
    no_more_than(0, "files of more than 450 lines", &long);
}

#[test]
fn lines_have_120_columns() {
    no_more_than(0, "lines of more than 120 columns", &lengths::wide_lines(&House::here()));
}

#[test]
fn module_lists_match_the_modules() {
    no_more_than(0, "module lists", &docs::wrong_module_lists(&House::here()));
}

/// `cargo test` prints the reason of each test that it leaves out, which says how to run it.
#[test]
fn what_is_ignored_names_the_check_that_runs_it() {
    no_more_than(0, "ignored tests", &long_tests::faults(&House::here(), &long_tests::checks()));
}

#[test]
fn words_are_plain() {
    no_more_than(0, "words that are not plain", &docs::banned_words(&House::here()));
}

/// A comment names the thing first. The number goes down, never up.
#[test]
fn comments_begin_with_the_thing() {
    no_more_than(0, "comments that leave the thing unnamed", &openers::unnamed(&House::here()));
}

/// The number goes down, never up.
#[test]
fn sentences_of_comments_are_short() {
    no_more_than(0, "comments with a long sentence", &openers::long_sentences(&House::here()));
}

#[test]
fn docs_are_sentences() {
    no_more_than(0, "docs of one or two words", &docs::short_docs(&House::here()));
}

/// A scenario is known by what it does: the engine's rooms for scenarios and the command line alone choose among them.
#[test]
fn scenarios_are_chosen_in_their_rooms() {
    let allowed = [
        "loadgen-node/engine/src/traffic/",
        // Which of LoadGen's keys belong to which scenario.
        "loadgen-node/engine/src/settings/keys.rs",
        "loadgen-node/engine/src/judge/",
        // Round v0.5 has scenarios of its own: what they are made of, and their values in force and lines.
        "loadgen-node/engine/src/v05/scenario.rs",
        "loadgen-node/engine/src/v05/effective.rs",
        "loadgen-node/engine/src/v05/summary.rs",
        // The demonstration runs Server.
        "loadgen-node/src/commands/demo/",
        // Interactive is Server with other limits, and no scenario of the engine.
        "loadgen-node/src/submission/suites.rs",
        // Offline measures the rate that nodes can answer at once.
        "loadgen-node/run/src/test_run/auto_tune.rs",
    ];
    let faults = places::outside(&House::here(), &Pattern::ChoiceOf("Scenario"), &allowed);
    no_more_than(0, "choices of a scenario", &faults);
}

/// The name of a scenario in the sources is a choice of it, too. These files have the rules that name scenarios.
#[test]
fn scenarios_are_named_in_their_rooms() {
    let allowed = [
        "loadgen-node/engine/src/scenarios.rs",
        // Round v0.5 has scenarios of its own.
        "loadgen-node/engine/src/v05/",
        // Suites of the rounds, in the crate of datasets, which knows no engine.
        "loadgen-node/qsl/src/benchmark/suite.rs",
        // The keys and lines of official logs that an audit compares, by scenario.
        "loadgen-node/run/src/audit/rates.rs",
        // Section 6.2 of the rules: the scenarios of the Network division, and of the suites.
        "loadgen-node/run/src/division/suite.rs",
        "loadgen-node/src/submission/suites.rs",
        // Section 4.1.1: results that follow from the run of another scenario.
        "loadgen-node/src/submission/inferred.rs",
        // Loads of DLI, as scenarios.
        "loadgen-node/src/campaign/import/case.rs",
        // A table of Server over Offline.
        "loadgen-node/src/commands/list_related.rs",
        // A made-up result for tests.
        "loadgen-node/run/src/examples.rs",
        // Calls of the programs.
        "tests/perf/",
    ];
    let names = &["SingleStream", "MultiStream", "Server", "Offline", "Burst", "Closed"];
    assert_eq!(loadgen::settings::Scenario::ALL.map(loadgen::settings::Scenario::name), *names);
    no_more_than(0, "names of scenarios", &places::outside(&House::here(), &Pattern::TextOf(names), &allowed));
}

/// A transport is known by what it does: its file alone knows which it is.
#[test]
fn transports_are_chosen_in_their_rooms() {
    let allowed = [
        "qdl/src/carry/",
        // KServe servers are reached by KServe's transport.
        "qdl/src/control/peers.rs",
        "sut-node/node/src/accept/",
        // The transport where none is named.
        "loadgen-node/src/cli/nodes.rs",
        "loadgen-node/run/src/json_options.rs",
        // The demonstration sends over gRPC.
        "loadgen-node/src/commands/demo/",
        // Each transport has rows of its own.
        "tests/perf/",
    ];
    let faults = places::outside(&House::here(), &Pattern::ChoiceOf("Transport"), &allowed);
    no_more_than(0, "choices of a transport", &faults);
}

/// The same for names of transports and of backends.
#[test]
fn transports_and_backends_are_named_in_their_rooms() {
    let allowed = [
        "qdl/src/carry/",
        "sut-node/node/src/backend/",
        "sut-node/onnx/src/lib.rs",
        // Frameworks of DLI, as backends.
        "loadgen-node/src/campaign/import/case.rs",
        // Flags of nodes: the model as a column of DLI, and as a file that goes to a host.
        "loadgen-node/src/campaign/dli/planned.rs",
        "loadgen-node/src/commands/campaign/fleet_nodes.rs",
        // A made-up result for tests.
        "loadgen-node/run/src/examples.rs",
        // Calls of the programs.
        "tests/perf/",
    ];
    let names = &["grpc", "tcp", "quic", "kserve", "onnx", "openai"];
    let faults = places::outside(&House::here(), &Pattern::TextOf(names), &allowed);
    no_more_than(0, "names of transports and backends", &faults);
}

#[test]
fn kserve_is_told_apart_in_its_rooms() {
    let allowed = [
        // Messages and names of the protocol, the bytes of its requests, and its connections.
        "proto/src/kserve.rs",
        "proto/src/lib.rs",
        "qdl/src/carry/",
        "qdl/src/control/",
        "loadgen-node/qsl/src/encode/kserve.rs",
        // The flags that such servers need, and those that they have no use for.
        "loadgen-node/run/src/test_run/kserve.rs",
        "loadgen-node/run/src/nodes/target_spec.rs",
        "loadgen-node/src/cli/",
    ];
    no_more_than(0, "choices by kserve", &places::outside(&House::here(), &Pattern::BranchOn("kserve"), &allowed));
}

/// Documents are written and read by structs; JSON by hand is for what has no struct.
#[test]
fn json_is_made_by_structs() {
    let allowed = ["loadgen-node/engine/src/report/", "tests/perf/"];
    no_more_than(0, "json! by hand", &places::outside(&House::here(), &Pattern::Macro("json"), &allowed));
}

/// Files of others are read by the one reader that knows limits and pipes; the kernel's own are no files of others.
#[test]
fn files_are_read_in_one_place() {
    let allowed = [
        "proto/src/files.rs",
        // These files read the kernel's figures.
        "proto/machine/src/accelerator.rs",
        "proto/machine/src/host.rs",
        "proto/machine/src/memory.rs",
        "proto/machine/src/nic.rs",
        "proto/machine/src/processor.rs",
        "proto/machine/src/storage.rs",
        "proto/net/src/thread_time.rs",
        "proto/net/src/link_errors.rs",
        "sut-node/src/cli/host_load.rs",
        "sut-node/src/cli/ptr.rs",
        "sut-node/node/src/host/ecc.rs",
        "sut-node/node/src/memory.rs",
        "loadgen-node/src/campaign/condition.rs",
        "loadgen-node/world/src/counts.rs",
        "loadgen-node/world/src/threads.rs",
        // It looks at the mode of what it has opened, and reads on with the one reader.
        "proto/net/src/key_file.rs",
        // A folder, to bring its names to the disk.
        "loadgen-node/run/src/outputs/run_folder/folder.rs",
        // They only start programs, and read what those wrote.
        "tests/perf/",
    ];
    let reads = Pattern::PathOf(&[("fs", "read"), ("fs", "read_to_string"), ("fs", "copy"), ("File", "open")]);
    no_more_than(0, "files read elsewhere", &places::outside(&House::here(), &reads, &allowed));
}

/// Programs read the log, too: what an event is stands in a message that is always the same, what it is about in
/// fields.
#[test]
fn events_of_the_log_have_fields() {
    no_more_than(0, "log messages with values in them", &places::outside(&House::here(), &Pattern::LogText, &[]));
}

#[test]
fn a_backend_knows_nothing_of_the_network() {
    let is_backend =
        |path: &str| ["sut-node/node/src/backend/", "sut-node/onnx/src/"].iter().any(|f| path.starts_with(f));
    for (path, source) in House::here().sources.iter().filter(|(path, _)| is_backend(path)) {
        for word in ["tonic", "lon_proto", "tokio"] {
            assert!(!source.text.contains(word), "{path} names {word}");
        }
    }
}

/// Both ends run in virtual time as well, so what moves samples reads the clock in one place only.
#[test]
fn samples_are_moved_by_one_clock() {
    let read_it = [
        "qdl/src/",
        "proto/net/src/",
        "sut-node/node/src/accept/",
        "sut-node/node/src/service/",
        "sut-node/node/src/work",
    ];
    let others = ["proto/net/src/clock.rs", "proto/net/src/quic/tests.rs"];
    for (path, source) in House::here().sources.iter().filter(|(path, _)| !others.contains(&path.as_str())) {
        let is_bound = read_it.iter().any(|place| path.starts_with(place));
        let reads_clock = is_bound && (source.text.contains("Instant::now()") || source.text.contains(".elapsed()"));
        assert!(!reads_clock, "{path} reads the clock past lon_net::clock");
    }
}

/// A simulation is to be the same each time, so no `select!` may look at its branches in an order by chance.
#[test]
fn no_choice_is_left_to_chance() {
    for (path, source) in House::here().sources.iter().filter(|(path, _)| {
        ["qdl/src/", "proto/net/src/", "sut-node/node/src/accept/", "sut-node/node/src/work"]
            .iter()
            .any(|f| path.starts_with(f))
    }) {
        let (all, ordered) = (source.text.matches("select! {").count(), source.text.matches("biased;").count());
        assert!(all <= ordered, "{path} has a select! without `biased;`");
    }
}

#[test]
fn generated_types_stay_inside() {
    let house = House::here();
    let sources =
        house.of_crates().filter(|(path, _)| path.starts_with("qdl/src") || path.starts_with("sut-node/node/src"));
    for (path, source) in sources {
        let leaks = source.text.lines().find(|line| line.trim_start().starts_with("pub fn") && line.contains("v1::"));
        assert_eq!(leaks, None, "{path} shows a generated type");
    }
}
