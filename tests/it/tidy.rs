//! The repository's own rules.

use std::fs;
use std::path::{Path, PathBuf};

use lon_tests::process::repository;

fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    collect(&repository(folder), &mut found);
    assert!(!found.is_empty(), "no sources in {folder}");
    found
}

fn collect(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") && !path.ends_with("gen") {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push((path.clone(), fs::read_to_string(&path).unwrap()));
        }
    }
}

/// Which crate may name which, by what its manifest lists.
#[test]
fn arrows_point_one_way() {
    for (manifest, forbidden) in [
        ("proto/image/Cargo.toml", &["lon-net", "qdl", "lon-qsl", "loadgen-node", "sut-node"][..]),
        ("proto/Cargo.toml", &["lon-image", "qdl", "lon-qsl", "loadgen-node", "sut-node"][..]),
        ("proto/net/Cargo.toml", &["qdl", "lon-qsl", "loadgen-node", "sut-node"]),
        ("qdl/Cargo.toml", &["lon-qsl", "loadgen-node", "sut-node"]),
        ("loadgen-node/qsl/Cargo.toml", &["qdl", "loadgen-node", "sut-node"]),
        ("sut-node/Cargo.toml", &["qdl", "lon-qsl", "loadgen-node"]),
    ] {
        let text = fs::read_to_string(repository(manifest)).unwrap();
        for name in forbidden {
            let named =
                text.lines().any(|line| line.starts_with(&format!("{name}.")) || line.starts_with(&format!("{name} ")));
            assert!(!named, "{manifest} must not depend on {name}");
        }
    }
}

#[test]
fn a_backend_knows_nothing_of_the_network() {
    for (path, text) in sources("sut-node/src/backend") {
        for word in ["tonic", "lon_proto", "tokio"] {
            assert!(!text.contains(word), "{} names {word}", path.display());
        }
    }
}

#[test]
fn generated_types_stay_inside() {
    for (path, text) in sources("qdl/src").into_iter().chain(sources("sut-node/src")) {
        let leaks = text.lines().find(|line| line.trim_start().starts_with("pub fn") && line.contains("v1::"));
        assert_eq!(leaks, None, "{} shows a generated type", path.display());
    }
}

#[test]
fn no_file_is_a_warehouse() {
    for folder in [
        "proto/src",
        "proto/image/src",
        "proto/net/src",
        "qdl/src",
        "loadgen-node/src",
        "loadgen-node/qsl/src",
        "sut-node/src",
        "tests",
    ] {
        for (path, text) in sources(folder) {
            let lines = text.lines().count();
            assert!(lines <= 600, "{} has {lines} lines: look for the seam", path.display());
        }
    }
}
