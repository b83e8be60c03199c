//! Tells the program which git revision it is built from, where the environment (`LON_REVISION`) does not.
//!
//! Only in release builds: a build for tests would begin anew with every commit.

use std::path::Path;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=LON_REVISION");
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    if !is_release || env::var_os("LON_REVISION").is_some() {
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    if let Some(revision) = revision(&root.join(".git")) {
        println!("cargo::rustc-env=LON_REVISION={revision}");
    }
}

/// The commit that is checked out, by git's own files; none where there is no repository.
fn revision(git: &Path) -> Option<String> {
    let head = watched(&git.join("HEAD"))?;
    let Some(name) = head.strip_prefix("ref: ") else { return short(&head) };
    match watched(&git.join(name)) {
        Some(commit) => short(&commit),
        None => {
            let packed = watched(&git.join("packed-refs"))?;
            short(packed.lines().find(|line| line.ends_with(name))?)
        }
    }
}

/// The text of a file, whose changes make this run again.
fn watched(file: &Path) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    println!("cargo::rerun-if-changed={}", file.display());
    Some(text.trim().to_owned())
}

fn short(commit: &str) -> Option<String> {
    commit.get(..12).filter(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit())).map(str::to_owned)
}
