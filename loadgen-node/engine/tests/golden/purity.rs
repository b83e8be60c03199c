//! The engine cannot touch the world except through its `World`: its sources name no clock, socket, file or thread.

use std::path::{Path, PathBuf};

/// What no file of the engine may name.
const FORBIDDEN: [&str; 13] = [
    "std::time",
    "std::net",
    "std::fs",
    "std::thread",
    "std::process",
    "std::env",
    "tokio",
    "tonic",
    "clap",
    "println!",
    "print!",
    "async ",
    "unsafe ",
];

#[test]
fn the_engine_is_pure() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = engine_files(&src);
    assert!(files.len() > 30, "found only {} files", files.len());
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let code: String =
            text.lines().filter(|line| !line.trim_start().starts_with("//")).flat_map(|line| [line, "\n"]).collect();
        for word in FORBIDDEN {
            assert!(!code.contains(word), "{} names {word}", file.display());
        }
    }
}

/// Everything below `folder` but the node.
fn engine_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("src/node") {
            files.extend(engine_files(&path));
        } else if path.extension().is_some_and(|ext| ext == "rs") && !path.ends_with("src/main.rs") {
            files.push(path);
        }
    }
    files
}
