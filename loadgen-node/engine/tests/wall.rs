//! The wall around the engine: it cannot touch the world except through its `World`.
//!
//! Three things hold it. The crate has only the dependencies listed here, none of which is there for a clock, a socket,
//! a file or a thread. What `std` and `jiff` have of these is forbidden by name in `clippy.toml`, and CI runs clippy
//! with warnings as errors. This test holds both lists, and that nothing in `src` switches the lint off.
#![allow(clippy::unwrap_used, reason = "a test that cannot read its data has failed")]
#![allow(clippy::disallowed_methods, reason = "manifest, lint file and sources are files")]

use std::path::{Path, PathBuf};

use toml::{Table, Value};

/// The only crates that the engine may depend on, and what for.
const DEPENDENCIES: [(&str, &str); 10] = [
    ("hex", "digests of long lists as text"),
    ("jiff", "moments that were handed in, as text in the logs; its clocks are forbidden below"),
    ("rand_mt", "the Mersenne Twister from which the official LoadGen draws"),
    ("schemars", "the JSON Schemas of settings and documents; in tests alone"),
    ("serde", "settings and documents as JSON"),
    ("serde_json", "the same"),
    ("sha2", "checksums of stored timelines, digests of long lists"),
    ("statrs", "exact factorials and the normal distribution, for early stopping"),
    ("strsim", "the known key that a misspelt one probably is"),
    ("thiserror", "typed errors"),
];

/// Items that no file of the engine may use; the reasons stand in `clippy.toml`.
const FORBIDDEN: [&str; 42] = [
    "std::time::Instant",
    "std::time::Instant::now",
    "std::time::SystemTime",
    "std::time::SystemTime::now",
    "jiff::Timestamp::now",
    "jiff::Zoned::now",
    "jiff::tz::TimeZone::system",
    "std::thread::spawn",
    "std::thread::scope",
    "std::thread::sleep",
    "std::thread::park",
    "std::thread::Builder",
    "std::thread::JoinHandle",
    "std::sync::Mutex",
    "std::sync::Condvar",
    "std::fs::read",
    "std::fs::read_to_string",
    "std::fs::read_dir",
    "std::fs::write",
    "std::fs::metadata",
    "std::fs::create_dir_all",
    "std::fs::remove_file",
    "std::fs::rename",
    "std::fs::File",
    "std::fs::OpenOptions",
    "std::path::Path::exists",
    "std::net::TcpStream",
    "std::net::TcpListener",
    "std::net::UdpSocket",
    "std::os::unix::net::UnixStream",
    "std::os::unix::net::UnixListener",
    "std::env::var",
    "std::env::vars",
    "std::env::args",
    "std::env::current_dir",
    "std::process::exit",
    "std::process::abort",
    "std::process::id",
    "std::process::Command",
    "std::io::stdin",
    "std::io::stdout",
    "std::io::stderr",
];

fn crate_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn table(path: &Path) -> Table {
    std::fs::read_to_string(path).unwrap().parse().unwrap()
}

#[test]
fn dependencies_are_the_allowed_ones() {
    let manifest = table(&crate_folder().join("Cargo.toml"));
    let used: Vec<&str> = manifest["dependencies"].as_table().unwrap().keys().map(String::as_str).collect();
    let allowed = DEPENDENCIES.map(|(name, _)| name);
    assert_eq!(used, allowed, "a new dependency needs a line and a reason here");
    for section in ["build-dependencies", "target"] {
        assert!(!manifest.contains_key(section), "[{section}] would be a gap in the wall");
    }
    let features: Table = "schema = ['dep:schemars']".parse().unwrap();
    assert_eq!(manifest["features"].as_table(), Some(&features), "another feature would be a gap in the wall");
}

#[test]
fn the_lint_file_forbids_each_thing_with_a_reason() {
    let lints = table(&crate_folder().join("clippy.toml"));
    let listed = ["disallowed-methods", "disallowed-types"].map(|key| lints[key].as_array().unwrap());
    let listed: Vec<(&str, &str)> = listed.into_iter().flatten().map(entry).collect();
    for name in FORBIDDEN {
        assert!(listed.iter().any(|(path, _)| *path == name), "clippy.toml no longer forbids {name}");
    }
    for (path, reason) in &listed {
        assert!(!reason.is_empty(), "{path} is forbidden without a reason");
    }
}

/// Path and reason of a forbidden thing.
fn entry(entry: &Value) -> (&str, &str) {
    (entry["path"].as_str().unwrap(), entry.get("reason").and_then(Value::as_str).unwrap_or_default())
}

#[test]
fn the_lint_file_repeats_that_of_the_workspace() {
    let own = table(&crate_folder().join("clippy.toml"));
    for (key, value) in table(&crate_folder().join("../../clippy.toml")) {
        // The nearest lint file is the only one that clippy reads.
        if value.is_bool() {
            assert_eq!(own.get(&key), Some(&value), "{key}");
        }
    }
}

#[test]
fn no_source_switches_the_lint_off() {
    let files = sources(&crate_folder().join("src"));
    assert!(files.len() > 60, "found only {} files", files.len());
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        for lint in ["disallowed_methods", "disallowed_types", "clippy::all)", "clippy::style)", "unsafe_code"] {
            assert!(!text.contains(lint), "{} names {lint}", file.display());
        }
    }
}

/// All files below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            files.push(path);
        }
    }
    files
}
