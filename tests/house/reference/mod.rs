//! The reference in `docs/reference`, one page a subject, is what the code says: keys of documents come from their
//! schemas, keys of benchmark files from the types that read them, flags and grammars from `--help`, metrics from the
//! programs themselves. `LON_BLESS=1` writes it anew.
//!
//! - `paths`: the keys of a JSON Schema as dotted paths;
//! - `documents`: the pages of the run folder and of what commands print;
//! - `toml_keys`: the keys of TOML files, by the types that read them;
//! - `benchmarks`: the page of benchmark files;
//! - `help`: the pages of commands, grammars and exit codes;
//! - `settings`: the page of LoadGen's settings;
//! - `metrics`: the page of metrics.

mod benchmarks;
mod documents;
mod help;
mod metrics;
mod paths;
mod settings;
mod toml_keys;

use std::fs;

use lon_tests::process::repository;

const FOLDER: &str = "docs/reference";

/// A line below the title of each page.
const MADE: &str = "*Generated from the code.*";

/// The pages: file, title and text.
fn pages() -> Vec<(&'static str, &'static str, String)> {
    vec![
        ("commands.md", "Commands and flags", help::commands()),
        ("settings.md", "Settings of LoadGen", settings::page()),
        ("run-folder.md", "The run folder", documents::run_folder()),
        ("command-output.md", "JSON output of commands", documents::of_commands()),
        ("benchmark-files.md", "Benchmark files", benchmarks::page()),
        ("grammars.md", "Grammars", help::grammars()),
        ("metrics.md", "Metrics", metrics::page()),
        ("exit-codes.md", "Exit codes", help::exit_codes()),
    ]
}

#[test]
fn the_reference_is_what_the_code_says() {
    let mut faults = Vec::new();
    for (name, title, text) in pages() {
        let text = format!("# {title}\n\n{MADE}\n\n{}\n", text.trim());
        let path = repository(FOLDER).join(name);
        if std::env::var_os("LON_BLESS").is_some() {
            fs::write(&path, &text).unwrap();
        }
        let there = fs::read_to_string(&path).unwrap_or_default();
        let differs = there.lines().zip(text.lines()).find(|(there, line)| there != line);
        if there != text {
            faults.push(format!("{FOLDER}/{name} is not what the code says (LON_BLESS=1 writes it): {differs:?}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
