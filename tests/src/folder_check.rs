//! Check of a run folder against itself. The check reads only its files and the output of the command `replay`, so that
//! the same rules hold for every run, whatever happened to it.
//!
//! No file says VALID unless every sample was issued once and answered once, by nodes that stayed; the counts add up;
//! verdict, reasons and exit code agree; files are whole or absent.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::process::Command;

use loadgen::recorder::{SampleEnd, Timeline};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::process::binary;

/// The files of every run that was begun and could be written.
const FILES: [&str; 6] = [
    "mlperf_log_accuracy.json",
    "mlperf_log_detail.txt",
    "mlperf_log_summary.txt",
    "network_report.json",
    "result_summary.json",
    "system_desc.json",
];

/// Findings in a run folder.
#[derive(Debug, Default)]
pub struct FolderCheck {
    /// Faults of the folder, in words.
    pub faults: Vec<String>,
    /// `result_summary.json`; null where there is none.
    pub result: Value,
}

impl FolderCheck {
    /// Of the folder of a run that ended with this code; none: by a signal.
    pub fn of(folder: &Path, code: Option<i32>) -> FolderCheck {
        let mut check = FolderCheck::default();
        if let Ok(text) = std::fs::read_to_string(folder.join("result_summary.json")) {
            match serde_json::from_str(&text) {
                Ok(result) => check.result = result,
                Err(error) => check.faults.push(format!("result_summary.json is no JSON: {error}")),
            }
        }
        check.files(folder, code);
        check.sums(folder);
        check.verdict(code);
        check.counts();
        let claims = check.timeline(folder, is_whole(code)) || !claims_in(folder, &mut check.faults).is_empty();
        let blemishes = check.blemishes();
        if claims && !blemishes.is_empty() {
            let who = claims_in(folder, &mut check.faults);
            check.faults.push(format!("{who:?} or replay say VALID though {}", blemishes.join(", ")));
        }
        check
    }

    /// The verdict and its reasons, marks included.
    pub fn verdict_text(&self) -> String {
        let list = |name: &str| self.result[name].as_array().cloned().unwrap_or_default();
        let texts = [list("reasons"), list("marks")].concat();
        texts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
    }

    /// The strict verdict; empty without a result.
    pub fn verdict_word(&self) -> &str {
        self.result["result"].as_str().unwrap_or_default()
    }

    /// One of the counts; 0 without a result.
    pub fn count(&self, name: &str) -> u64 {
        self.result["counts"][name].as_u64().unwrap_or_default()
    }

    fn fault(&mut self, is_fault: bool, text: String) {
        if is_fault {
            self.faults.push(text);
        }
    }

    /// Files are whole or absent, and absent only when the exit code says that something went wrong with them.
    fn files(&mut self, folder: &Path, code: Option<i32>) {
        let Ok(entries) = std::fs::read_dir(folder) else { return };
        let there: BTreeSet<String> =
            entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        let missing: Vec<&str> = FILES.into_iter().filter(|name| !there.contains(*name)).collect();
        self.fault(is_whole(code) && !missing.is_empty(), format!("exit code {code:?} though {missing:?} are missing"));
        let leftovers: Vec<&String> = there.iter().filter(|name| name.starts_with('.')).collect();
        // A program that was killed cannot clear up.
        self.fault(code.is_some() && !leftovers.is_empty(), format!("{leftovers:?} were left behind"));
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
        for line in read("mlperf_log_detail.txt").unwrap_or_default().lines() {
            let is_json = line.strip_prefix(":::MLLOG ").is_some_and(is_json);
            self.fault(!is_json, format!("mlperf_log_detail.txt has the line {line}"));
        }
        for name in there.iter().filter(|name| name.ends_with(".json")) {
            self.fault(read(name).is_none_or(|text| !is_json(&text)), format!("{name} is no JSON"));
        }
    }

    /// The other files are those that the result was written with.
    fn sums(&mut self, folder: &Path) {
        let Some(listed) = self.result["files"].as_object().cloned() else { return };
        for (name, file) in listed {
            let Ok(bytes) = std::fs::read(folder.join(&name)) else {
                self.faults.push(format!("{name} is listed and missing"));
                continue;
            };
            let sum: String = hex::encode(Sha256::digest(&bytes));
            let is_it = file["sha256"] == sum.as_str() && file["bytes"] == bytes.len();
            self.fault(
                !is_it,
                format!("{name} is not what the result says: {file}, and it has {} bytes, {sum}", bytes.len()),
            );
        }
    }

    /// Verdict, reasons and exit code are one.
    fn verdict(&mut self, code: Option<i32>) {
        let is_valid = self.verdict_word() == "VALID";
        let has_reasons = self.result["reasons"].as_array().is_some_and(|reasons| !reasons.is_empty());
        self.fault(code == Some(0) && !is_valid, "exit code 0 without a VALID result".to_owned());
        self.fault(is_valid && code != Some(0), format!("a VALID result with exit code {code:?}"));
        self.fault(is_valid && has_reasons, format!("VALID with reasons: {}", self.result["reasons"]));
        let is_bare = !self.result.is_null() && !is_valid && !has_reasons;
        self.fault(is_bare, "INVALID without a reason".to_owned());
        let metric = self.result["metric"]["value"].clone();
        self.fault(
            self.count("completed") == 0 && metric.is_number(),
            format!("the metric is {metric} though nothing was answered"),
        );
    }

    /// Every sample ended once, and what was answered had been sent.
    fn counts(&mut self) {
        if self.result.is_null() {
            return;
        }
        let [issued, completed, failed] = ["issued", "completed", "failed"].map(|name| self.count(name));
        let nodes = self.result["network"]["nodes"].as_array().cloned().unwrap_or_default();
        let sent: u64 = nodes.iter().filter_map(|node| node["samples"].as_u64()).sum();
        self.fault(
            issued != completed + failed,
            format!("{issued} samples were issued, {completed} answered and {failed} failed"),
        );
        self.fault(completed > sent, format!("{completed} samples were answered and {sent} sent"));
        self.fault(sent > issued, format!("{sent} samples were sent and {issued} issued"));
    }

    /// Why nothing of this may be called VALID.
    fn blemishes(&self) -> Vec<String> {
        if self.result.is_null() {
            return vec!["there is no result_summary.json".to_owned()];
        }
        // A search for the peak goes on after a rate that was too high, and reports another.
        let counted: &[&str] = match self.result["mode"].as_str() {
            Some("FindPeakPerformance") => &["duplicate", "foreign"],
            _ => &["failed", "duplicate", "late", "foreign"],
        };
        let counted = counted.iter().filter(|name| self.count(name) > 0);
        let mut blemishes: Vec<String> =
            counted.map(|name| format!("{} samples are {name}", self.count(name))).collect();
        if self.result["interrupted"] == true {
            blemishes.push("it was interrupted".to_owned());
        }
        for node in self.result["network"]["nodes"].as_array().into_iter().flatten() {
            if !node["lost"].is_null() {
                blemishes.push(format!("node {} was lost", node["name"]));
            }
        }
        blemishes
    }

    /// The timeline has the same counts as the result; whether the command `replay` says VALID.
    fn timeline(&mut self, folder: &Path, is_whole: bool) -> bool {
        let path = folder.join("timeline.bin");
        let Ok(file) = File::open(&path) else { return false };
        match Timeline::read_from(&mut BufReader::new(file)) {
            Ok(stored) => {
                let done = stored.timeline.samples().filter(|end| matches!(end, SampleEnd::Done { .. })).count() as u64;
                let (issued, completed) = (self.count("issued"), self.count("completed"));
                let is_all = self.result["mode"] == "PerformanceOnly";
                let differs = done > completed || is_all && (stored.timeline.len() as u64, done) != (issued, completed);
                self.fault(
                    differs && is_whole,
                    format!(
                        "the timeline has {done} answers of {}, not {completed} of {issued}",
                        stored.timeline.len()
                    ),
                );
            }
            Err(error) => self.faults.push(format!("timeline.bin: {error}")),
        }
        let replayed = Command::new(binary("loadgen-node")).args(["replay", "--timeline"]).arg(&path).output();
        has_word(&String::from_utf8_lossy(&replayed.expect("replay starts").stdout))
    }
}

/// No file below says VALID, in whatever form.
pub fn assert_nothing_says_valid(folder: &Path, label: &str) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            assert_nothing_says_valid(&path, label);
        } else if path.file_name().unwrap() == "timeline.bin" {
            let replay = crate::process::LoadGen::run(&["replay", "--timeline", path.to_str().unwrap()]);
            // `replay` refuses the timeline of a run that has not ended.
            let is_refused = replay.code == Some(2) && replay.stderr.contains("has not ended");
            let is_judged = matches!(replay.code, Some(1 | 3..=5));
            assert!(is_refused || is_judged && replay.stdout.contains("Result is : INVALID\n"), "{label}: {replay:?}");
        } else {
            let text = std::fs::read_to_string(&path).unwrap();
            for valid in ["Result is : VALID", "\"VALID\""] {
                assert!(!text.contains(valid), "{label}: {} says {valid}", path.display());
            }
        }
    }
}

/// Returns true when a run with this exit code has written all its files. Until it has, its result says that it has not
/// ended.
fn is_whole(code: Option<i32>) -> bool {
    matches!(code, Some(0 | 3 | 4 | 5))
}

/// The files that say VALID.
fn claims_in(folder: &Path, faults: &mut Vec<String>) -> Vec<String> {
    let mut claims = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        match std::fs::read(entry.path()) {
            Ok(bytes) if has_word(&String::from_utf8_lossy(&bytes)) => claims.push(name),
            Ok(_) => {}
            Err(error) => faults.push(format!("{name}: {error}")),
        }
    }
    claims
}

/// Returns true when a text has the word VALID.
fn has_word(text: &str) -> bool {
    let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let mut places = text.match_indices("VALID");
    places.any(|(at, word)| {
        !is_letter(text[..at].chars().next_back()) && !is_letter(text[at + word.len()..].chars().next())
    })
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{"result":"VALID","mode":"PerformanceOnly","interrupted":false,"reasons":[],
        "counts":{"issued":4,"completed":4,"failed":0,"duplicate":0,"late":0,"foreign":0},
        "network":{"nodes":[{"name":"a","samples":4,"lost":null}]}}"#;

    fn faults(result: &str, code: Option<i32>) -> String {
        let folder = tempfile::tempdir().unwrap();
        for name in FILES {
            let text = if name.ends_with(".json") { "{}" } else { "" };
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        std::fs::write(folder.path().join("result_summary.json"), result).unwrap();
        std::fs::write(folder.path().join("mlperf_log_summary.txt"), "Result is : VALID\n").unwrap();
        FolderCheck::of(folder.path(), code).faults.join("; ")
    }

    #[test]
    fn books_that_agree_have_no_fault_and_each_lie_has_one() {
        assert_eq!(faults(GOOD, Some(0)), "");
        let with = |from: &str, to: &str, code| faults(&GOOD.replace(from, to), code);
        assert!(with("\"failed\":0", "\"failed\":1", Some(0)).contains("1 failed"));
        assert!(
            with("\"duplicate\":0", "\"duplicate\":1", Some(0)).contains("say VALID though 1 samples are duplicate")
        );
        assert!(with("null", "\"gone\"", Some(0)).contains("node \"a\" was lost"));
        assert!(with("\"VALID\"", "\"INVALID\"", Some(3)).contains("without a reason"));
        assert!(with("\"samples\":4", "\"samples\":3", Some(0)).contains("3 sent"));
        assert!(faults(GOOD, Some(3)).contains("a VALID result with exit code Some(3)"));
        assert!(faults(GOOD, None).contains("a VALID result with exit code None"));
        assert!(faults("", Some(1)).contains("no JSON"));
    }

    #[test]
    fn only_the_whole_word_counts() {
        assert!(has_word("Result is : VALID") && has_word("\"VALID\""));
        assert!(!has_word("INVALID") && !has_word("VALIDITY") && !has_word("valid"));
    }
}
