//! Vectors captured from the official LoadGen: traffic, reports and early stopping must be reproduced exactly.
#![allow(clippy::unwrap_used, reason = "a test that cannot read its data has failed")]
#![allow(clippy::disallowed_methods, reason = "the vectors are files")]

mod detail;
mod early_stopping;
mod find_peak;
mod report;
mod trace;
mod v05;

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The vector files whose names begin with `prefix`: name and text.
fn vectors(prefix: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/golden");
    let mut files: Vec<(String, String)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix))
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), std::fs::read_to_string(entry.path()).unwrap()))
        .collect();
    files.sort();
    files
}

/// The lines of a file of vectors, one each.
fn jsonl(folder: &str, name: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(folder).join(format!("{name}.jsonl"));
    std::fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}

/// The part of a vector that says what must come out.
fn expected(text: &str) -> Value {
    serde_json::from_str::<Value>(text).unwrap()["expected"].take()
}

/// A document as it is printed; read back, it must be the same document.
fn as_json<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(document: &T) -> Value {
    let text = serde_json::to_string(document).unwrap();
    assert_eq!(serde_json::from_str::<T>(&text).unwrap(), *document);
    serde_json::from_str(&text).unwrap()
}
