//! The files that LoadGen was built of, whose sums its logs have: whether each of them is one of an official commit.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde_json::{Map, Value};

use lon_run::audit::Detail;

/// Sums with the files that have had them.
const SUMS: &str = include_str!("loadgen_files.txt");
/// The file that each release changes. A sum of it that is not known is that of a release that is not known.
const RELEASE: &str = "/VERSION.txt";
/// A file that the build makes.
const GENERATED: &str = "/mlperf_conf.h";
/// Ends of names of files that become part of LoadGen.
const SOURCES: [&str; 3] = [".cc", ".h", "/mlperf.conf"];
/// The version in logs of this program begins with it.
const OWN: &str = "lon ";
/// The status in the log of a LoadGen that was built outside a clone.
const NO_CLONE: &str = "NA";

/// The LoadGen that wrote a log, as far as the log shows it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Built {
    /// Every file is one of an official commit.
    Unmodified,
    /// It is this program, as the log says.
    Own,
    /// Why it is not the official one.
    Modified(Vec<String>),
    /// Why the log does not show which it is.
    Unchecked(String),
}

static KNOWN: LazyLock<BTreeSet<(&str, &str)>> = LazyLock::new(|| {
    let of_line = |line: &'static str| line.split_once(' ').map(|(sum, path)| (path, sum));
    SUMS.lines().filter(|line| !line.starts_with('#')).filter_map(of_line).collect()
});

/// Looks at the sums and the status of the clone in a log.
pub(super) fn built(detail: &Detail) -> Built {
    if detail.text("loadgen_version").is_some_and(|version| version.starts_with(OWN)) {
        return Built::Own;
    }
    let status = detail.text("loadgen_git_status_message").unwrap_or_default().trim();
    let is_changed = !status.is_empty() && status != NO_CLONE;
    let mut faults: Vec<String> =
        is_changed.then(|| format!("LoadGen was built with changes in its clone: {status}")).into_iter().collect();
    match detail.value("loadgen_file_sha1").and_then(Value::as_object).map(unlike) {
        Some(Ok(unlike)) => {
            let fault = |path| format!("LoadGen is modified: {path} is in no commit of the official one");
            faults.extend(unlike.into_iter().map(fault));
        }
        Some(Err(why)) if !is_changed => return Built::Unchecked(why),
        None if !is_changed => return Built::Unchecked("the log has no sums of them".to_owned()),
        Some(Err(_)) | None => {}
    }
    if faults.is_empty() { Built::Unmodified } else { Built::Modified(faults) }
}

/// The files that no official commit has; as an error, why that cannot be said.
fn unlike(sums: &Map<String, Value>) -> Result<Vec<&str>, String> {
    let is_known = |path: &str, sum: &Value| sum.as_str().is_some_and(|sum| KNOWN.contains(&(path, sum)));
    match sums.get(RELEASE) {
        Some(sum) if is_known(RELEASE, sum) => {}
        Some(_) => return Err("sums of this release are not known".to_owned()),
        None => return Err(format!("the log has no sum of {RELEASE}")),
    }
    let lacking = KNOWN.iter().find(|(path, _)| path.ends_with(".cc") && !sums.contains_key(*path));
    if let Some((path, _)) = lacking {
        return Err(format!("the log has no sum of {path}"));
    }
    let is_source = |path: &str| path != GENERATED && SOURCES.iter().any(|end| path.ends_with(end));
    let sources = sums.iter().filter(|(path, _)| is_source(path));
    Ok(sources.filter(|(path, sum)| !is_known(path, sum)).map(|(path, _)| path.as_str()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The log of a LoadGen with the newest files, of which some have other sums, and this status.
    fn log(changed: &[(&str, Option<&str>)], status: &str) -> Detail {
        let mut sums: Map<String, Value> = SUMS
            .lines()
            .filter_map(|line| line.split_once(" /"))
            .map(|(sum, path)| (format!("/{path}"), sum.into()))
            .collect();
        for (path, sum) in changed {
            match sum {
                Some(sum) => drop(sums.insert((*path).to_owned(), (*sum).into())),
                None => drop(sums.remove(*path)),
            }
        }
        let line =
            |key: &str, value: Value| format!(":::MLLOG {}\n", serde_json::json!({ "key": key, "value": value }));
        let text = line("loadgen_git_status_message", status.into()) + &line("loadgen_file_sha1", sums.into());
        Detail::read(&text).unwrap()
    }

    /// Sources: `loadgen/` of mlcommons/inference at 9142ef0e (release 6.0.5) and b66003e1 (6.0.17), and its
    /// `version_generator.py`, which says where the status is from and when it is NA.
    #[test]
    fn each_file_is_one_of_an_official_commit_or_named() {
        let other = Some("0123456789012345678901234567890123456789");
        for (changed, status, part) in [
            (&[][..], "", "Unmodified"),
            (&[], "NA", "Unmodified"),
            (&[("/mlperf_conf.h", other), ("/README.md", other)], "", "Unmodified"),
            (&[("/VERSION.txt", Some(OF_6_0_5))], "", "Unmodified"),
            (&[("/loadgen.cc", other)], "", "/loadgen.cc is in no commit"),
            (&[("/mlperf.conf", other)], "NA", "/mlperf.conf is in no commit"),
            (&[("/mine.h", other)], "", "/mine.h is in no commit"),
            (&[], " M loadgen/results.cc", "changes in its clone: M loadgen/results.cc"),
            (&[("/VERSION.txt", other), ("/loadgen.cc", other)], "", "Unchecked(\"sums of this release"),
            (&[("/VERSION.txt", None)], "", "Unchecked(\"the log has no sum of /VERSION.txt"),
            (&[("/results.cc", None)], "", "Unchecked(\"the log has no sum of /results.cc"),
            (&[("/results.cc", None)], "M x", "Modified([\"LoadGen was built with changes in its clone: M x\"])"),
        ] {
            let text = format!("{:?}", built(&log(changed, status)));
            assert!(text.contains(part), "{changed:?} {status}: {text}");
        }
        let own = ":::MLLOG {\"key\": \"loadgen_version\", \"value\": \"lon 0.1.0, unofficial\"}\n";
        assert_eq!(built(&Detail::read(own).unwrap()), Built::Own);
        let silent = Detail::read(":::MLLOG {\"key\": \"sut_name\", \"value\": \"a\"}\n").unwrap();
        assert_eq!(built(&silent), Built::Unchecked("the log has no sums of them".to_owned()));
        let empty = Detail::read(":::MLLOG {\"key\": \"loadgen_file_sha1\", \"value\": {}}\n").unwrap();
        assert_eq!(built(&empty), Built::Unchecked("the log has no sum of /VERSION.txt".to_owned()));
    }

    /// The SHA-1 of `6.0.5` and a newline, as the file has it.
    const OF_6_0_5: &str = "86e821c08e56102e513233f18ee4287aaa0e0449";
}
