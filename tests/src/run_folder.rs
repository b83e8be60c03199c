//! A run folder as tests read it.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use loadgen::run::SearchRecord;
use lon_run::documents::find_peak;
use lon_run::documents::network_report::{self, NetworkReport};
use lon_run::documents::result_summary::{self, ResultSummary};
use lon_run::documents::system_desc::{self, SystemDesc};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use crate::json::Json;
use crate::schemas;

/// Longest time for a busy machine to write.
const PATIENCE: Duration = Duration::from_secs(300);

/// A place for a run folder; removed when dropped.
pub struct RunFolder {
    // Before the folder that it is mounted on.
    _disk: Option<SmallDisk>,
    _above: TempDir,
    /// Where the run is told to write.
    pub path: PathBuf,
}

impl Default for RunFolder {
    fn default() -> RunFolder {
        RunFolder::new()
    }
}

impl RunFolder {
    /// A path that does not exist yet.
    pub fn new() -> RunFolder {
        let above = tempfile::tempdir().expect("a temporary folder");
        let path = above.path().join("run");
        RunFolder { _disk: None, _above: above, path }
    }

    /// The same on a disk of this size of its own. It takes root.
    ///
    /// # Panics
    /// The disk cannot be mounted.
    pub fn on_small_disk(bytes: u64) -> RunFolder {
        let folder = RunFolder::new();
        RunFolder { _disk: Some(SmallDisk::mount(folder._above.path(), bytes)), ..folder }
    }

    /// As an argument.
    pub fn arg(&self) -> &str {
        self.path.to_str().expect("temporary paths are UTF-8")
    }

    /// The result in JSON.
    pub fn result(&self) -> Value {
        let text = std::fs::read_to_string(self.path.join("result_summary.json")).expect("result_summary.json");
        serde_json::from_str(&text).expect("result_summary.json is JSON")
    }

    /// Reads the report of the bytes that crossed the network, `network_report.json`.
    pub fn network_report(&self) -> Json {
        Json::read(&self.path.join("network_report.json"))
    }

    /// The text of every file in it that is one.
    pub fn texts(&self) -> Vec<String> {
        let files = std::fs::read_dir(&self.path).expect("the run folder");
        files.filter_map(|file| std::fs::read_to_string(file.ok()?.path()).ok()).collect()
    }

    /// Waits until a file of a run that goes on was brought up to date twice. The second time began after this call, so
    /// that the file then has all that there was to write.
    ///
    /// # Panics
    /// The file stays as it is.
    pub fn wait_until_written(&self, file: &str) {
        let start = Instant::now();
        let (mut last, mut updates) = (self.progress(file), 0);
        while updates < 2 {
            assert!(start.elapsed() < PATIENCE, "{file} stays at {last:?}");
            std::thread::sleep(Duration::from_millis(20));
            let now = self.progress(file);
            updates += u32::from(now > last);
            last = now;
        }
    }

    /// Progress of a file that has not been given its name yet: the time at which the timeline was last brought up to
    /// date, which is written last, and the size of other files, which are appended to. None while it is not there.
    fn progress(&self, file: &str) -> Option<u64> {
        let begin = format!(".{file}.");
        let entries = std::fs::read_dir(&self.path).ok()?;
        let mut parts = entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(&begin));
        let part = parts.next()?;
        if file == "timeline.bin" { elapsed_ns(&part.path()) } else { Some(part.metadata().ok()?.len()) }
    }

    /// The official log files are there, whole, and every line of the detail log is JSON. The documents are what their
    /// types say, to the byte.
    pub fn assert_complete(&self) {
        let read = |name: &str| {
            let path = self.path.join(name);
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        };
        assert!(read("mlperf_log_summary.txt").contains("encountered"), "the summary is cut off");
        for line in read("mlperf_log_detail.txt").lines() {
            let json = line.strip_prefix(":::MLLOG ").unwrap_or_else(|| panic!("odd line: {line}"));
            serde_json::from_str::<Value>(json).unwrap_or_else(|error| panic!("{error}: {line}"));
        }
        serde_json::from_str::<Value>(&read("mlperf_log_accuracy.json")).expect("the accuracy log is JSON");
        assert_read_back::<ResultSummary>(&read(result_summary::FILE), "\n");
        assert_read_back::<NetworkReport>(&read(network_report::FILE), "\n");
        assert_read_back::<SystemDesc>(&read(system_desc::FILE), "\n");
        if self.path.join(find_peak::FILE).exists() {
            assert_read_back::<SearchRecord>(&read(find_peak::FILE), "");
        }
        schemas::assert_folder(&self.path);
        assert_no_leftovers(&self.path);
        assert_sums(&self.path);
    }
}

/// A file system in memory that is full soon. Unmounted when dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(at: &Path, bytes: u64) -> SmallDisk {
        let size = format!("size={bytes}");
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(at).output().expect("mount");
        assert!(mount.status.success(), "{}", String::from_utf8_lossy(&mount.stderr));
        SmallDisk(at.to_owned())
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: a program that is still there may have a file open.
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

/// A document that is read by its type and written again is the same text, to the byte; `end`: what follows it.
pub fn assert_read_back<T: Serialize + DeserializeOwned>(text: &str, end: &str) {
    let document: T = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let again = serde_json::to_string_pretty(&document).expect("documents can be written");
    assert_eq!(again + end, text);
}

/// Every file of a run folder is what `result_summary.json` lists, and every file is listed.
///
/// # Panics
/// One is not.
pub fn assert_sums(folder: &Path) {
    let text = std::fs::read(folder.join(result_summary::FILE)).expect("result_summary.json");
    let result: ResultSummary = serde_json::from_slice(&text).expect("result_summary.json is JSON");
    for entry in std::fs::read_dir(folder).expect("the run folder") {
        let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
        if name == result_summary::FILE {
            continue;
        }
        let content = std::fs::read(folder.join(&name)).expect("a file that is there");
        let listed = result.files.get(&name).unwrap_or_else(|| panic!("{name} is not listed"));
        let sum = hex::encode(Sha256::digest(&content));
        assert_eq!((listed.bytes, &listed.sha256), (content.len() as u64, &sum), "{name}");
    }
    let gone = result.files.keys().find(|name| !folder.join(name).exists());
    assert_eq!(gone, None, "listed and not there");
}

/// Every file has its final name.
fn assert_no_leftovers(folder: &Path) {
    for entry in std::fs::read_dir(folder).expect("the run folder") {
        let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
        assert!(!name.starts_with('.'), "{name} was left behind");
    }
}

/// The time of the last look that a journal has: eight bytes after its magic and its header.
fn elapsed_ns(journal: &Path) -> Option<u64> {
    let mut file = File::open(journal).ok()?;
    let (mut magic, mut length, mut elapsed) = ([0; 8], [0; 4], [0; 8]);
    file.read_exact(&mut magic).ok()?;
    file.read_exact(&mut length).ok()?;
    file.seek(SeekFrom::Current(i64::from(u32::from_le_bytes(length)))).ok()?;
    file.read_exact(&mut elapsed).ok()?;
    Some(u64::from_le_bytes(elapsed))
}
