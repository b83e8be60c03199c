//! The order in which a run folder is filled, so that nothing in it says VALID unless all of it is there.
//!
//! First come the facts, which say nothing of the verdict; then the files that name it; last `result_summary.json`,
//! with the sum of every other file. No file that names the verdict gets its name before all of them are on the disk. A
//! file that cannot be written is a reason against the result, and every file that names the verdict is then written
//! again. What the folder does not take is saved in another one, if there is any.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::PathBuf;

use super::folder::{FileEntry, FolderError, RunFolder, Staged};
use crate::outputs::documents::result_summary::FILE as RESULT;

/// Files that a run leaves behind, by their names.
pub(crate) trait Contents {
    /// Files that are the same whatever the verdict is.
    fn facts(&self) -> Vec<&'static str>;

    /// Files that name the verdict, or from which it can be found again, beside the last one.
    fn verdict_files(&self) -> Vec<&'static str>;

    /// Writes the content of one of these files.
    fn write(&self, name: &str, out: &mut dyn Write) -> io::Result<()>;

    /// Writes the last file, which lists all others.
    fn write_result(&self, files: &[FileEntry], out: &mut dyn Write) -> io::Result<()>;

    /// From now on the verdict is INVALID, because this file could not be written.
    fn not_written(&mut self, name: &str, failure: &FolderError);
}

/// A file that was begun during the run.
#[derive(Debug)]
pub(crate) struct LogFile {
    pub(crate) name: &'static str,
    /// The file, if it is whole.
    pub(crate) staged: Option<Staged>,
    /// Why the run folder does not have it, or not all of it.
    pub(crate) failure: Option<FolderError>,
    /// The other folder in which it is.
    pub(crate) elsewhere: Option<RunFolder>,
}

/// Files that another folder has because the run folder does not.
#[derive(Debug)]
pub struct Saved {
    /// The other folder.
    pub folder: PathBuf,
    /// The names of the files.
    pub files: Vec<String>,
}

/// Not everything of a run could be written.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.text())]
pub struct NotWritten {
    /// Failures, file by file.
    pub failures: Vec<FolderError>,
    /// Files that were saved elsewhere.
    pub saved: Vec<Saved>,
    /// Files that are nowhere.
    pub missing: Vec<String>,
}

impl NotWritten {
    fn text(&self) -> String {
        let failures: Vec<String> = self.failures.iter().map(ToString::to_string).collect();
        let mut text = failures.join("; ");
        for Saved { folder, files } in &self.saved {
            // Writing to a String cannot fail.
            let _ = write!(text, "; saved in {}: {}", folder.display(), files.join(", "));
        }
        if !self.missing.is_empty() {
            let _ = write!(text, "; lost: {}", self.missing.join(", "));
        }
        text
    }
}

/// Fills the run folder. `fallbacks`: folders above which what it does not take is saved, the first that can.
///
/// # Errors
/// Something could not be written. Nothing in the folder says VALID then.
pub(crate) fn keep(
    contents: &mut impl Contents,
    log: LogFile,
    folder: &RunFolder,
    fallbacks: &[PathBuf],
) -> Result<(), NotWritten> {
    let mut fill = FolderFill {
        contents,
        folder,
        facts: Vec::new(),
        present: Vec::new(),
        failed: BTreeMap::new(),
        has_result: false,
    };
    let other = fill.keep_log(log);
    fill.facts();
    while fill.verdict_files() {}
    fill.elsewhere(other, fallbacks)
}

struct FolderFill<'a, C> {
    contents: &'a mut C,
    folder: &'a RunFolder,
    facts: Vec<FileEntry>,
    /// All files that are in the folder, after the last attempt.
    present: Vec<FileEntry>,
    failed: BTreeMap<String, FolderError>,
    /// The last file has been written with a verdict, which may not hold any more.
    has_result: bool,
}

impl<C: Contents> FolderFill<'_, C> {
    /// Keeps the file that was begun during the run. What is of it in another folder is returned.
    fn keep_log(&mut self, log: LogFile) -> Option<(RunFolder, Option<Staged>)> {
        let LogFile { name, staged, failure, elsewhere } = log;
        if let Some(failure) = failure {
            self.fails(name, failure);
        }
        if let Some(other) = elsewhere {
            return Some((other, staged));
        }
        if let Some(staged) = staged {
            self.keep_fact(name, staged);
        }
        None
    }

    fn facts(&mut self) {
        for name in self.contents.facts() {
            match self.folder.stage(name, |out| self.contents.write(name, out)) {
                Ok(staged) => self.keep_fact(name, staged),
                Err(failure) => self.fails(name, failure),
            }
        }
    }

    fn keep_fact(&mut self, name: &str, staged: Staged) {
        match self.folder.keep(staged) {
            Ok(entry) => self.facts.push(entry),
            Err(failure) => self.fails(name, failure),
        }
    }

    /// Writes everything that names the verdict. Returns whether that has to be done again, because a file failed that
    /// had not failed before.
    fn verdict_files(&mut self) -> bool {
        let before = self.failed.len();
        let mut staged = Vec::new();
        for name in self.contents.verdict_files() {
            match self.folder.stage(name, |out| self.contents.write(name, out)) {
                Ok(file) => staged.push((name, file)),
                Err(failure) => self.fails(name, failure),
            }
        }
        if self.failed.len() > before {
            return true;
        }
        let entries = staged.iter().map(|(_, file)| file.entry().clone());
        self.present = self.facts.iter().cloned().chain(entries).collect();
        let staged_result = self.folder.stage(RESULT, |out| self.contents.write_result(&self.present, out));
        let result = staged_result.map_err(|failure| self.fails(RESULT, failure)).ok();
        if self.failed.len() > before {
            return true;
        }
        // From here on everything is on the disk. Whoever is killed now leaves it to the command `recover` to go on.
        for (name, file) in staged {
            if let Err(failure) = self.folder.keep(file) {
                self.present.retain(|entry| entry.name != name);
                self.fails(name, failure);
            }
        }
        if self.failed.len() > before {
            return true;
        }
        // Where the folder has no room for it, the others are there all the same.
        if let Some(Err(failure)) = result.map(|result| self.result(result)) {
            self.fails(RESULT, failure);
        }
        self.failed.len() > before
    }

    /// Gives the last file its name, when the names of all others are on the disk.
    fn result(&mut self, staged: Staged) -> Result<(), FolderError> {
        self.folder.sync()?;
        let entry = self.folder.keep(staged)?;
        self.has_result = true;
        self.folder.sync()?;
        self.present.push(entry);
        Ok(())
    }

    /// Notes that a file could not be written. Removes what an earlier attempt has left under this name, because it may
    /// say VALID.
    fn fails(&mut self, name: &str, failure: FolderError) {
        // Before the first attempt the last file says that the run has not ended, which it may go on saying.
        if name != RESULT || self.has_result {
            self.folder.remove(name);
        }
        if !self.failed.contains_key(name) {
            self.contents.not_written(name, &failure);
            self.failed.insert(name.to_owned(), failure);
        }
    }

    /// Saves what the folder does not have in another one.
    fn elsewhere(
        self,
        mut other: Option<(RunFolder, Option<Staged>)>,
        fallbacks: &[PathBuf],
    ) -> Result<(), NotWritten> {
        if self.failed.is_empty() {
            return Ok(());
        }
        let is_here = |name: &String| self.present.iter().any(|entry| entry.name == *name);
        let mut missing: Vec<String> = self.failed.keys().filter(|name| !is_here(name)).cloned().collect();
        let mut saved = Vec::new();
        for above in fallbacks {
            if missing.is_empty() {
                break;
            }
            let Some((folder, log)) = other.take().or_else(|| Some((RunFolder::elsewhere(above).ok()?, None))) else {
                continue;
            };
            let files = self.save(&folder, log, &missing);
            if files.is_empty() {
                folder.discard();
                continue;
            }
            missing.retain(|name| !files.contains(name));
            saved.push(Saved { folder: folder.path().to_owned(), files });
        }
        Err(NotWritten { failures: self.failed.into_values().collect(), saved, missing })
    }

    /// Writes into `folder` what it takes of the missing files; their names.
    fn save(&self, folder: &RunFolder, log: Option<Staged>, missing: &[String]) -> Vec<String> {
        let mut entries: Vec<FileEntry> = log.and_then(|log| folder.keep(log).ok()).into_iter().collect();
        let (facts, verdict_files) = (self.contents.facts(), self.contents.verdict_files());
        for name in facts.into_iter().chain(verdict_files).filter(|name| missing.iter().any(|other| other == name)) {
            let staged = folder.stage(name, |out| self.contents.write(name, out));
            entries.extend(staged.and_then(|staged| folder.keep(staged)).ok());
        }
        // Where none of them finds room, the result alone is of no use.
        if entries.is_empty() && !missing.iter().any(|name| name == RESULT) {
            return Vec::new();
        }
        let result = folder.stage(RESULT, |out| self.contents.write_result(&entries, out));
        entries.extend(result.and_then(|staged| folder.keep(staged)).ok());
        entries.into_iter().map(|entry| entry.name).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::super::faults::Faults;
    use super::super::folder::Place;
    use super::*;

    /// A run that is VALID as long as all of it can be written.
    #[derive(Default)]
    struct TestContents {
        reasons: Vec<String>,
        has_no_room_for_the_result: bool,
    }

    const VALID: &[u8] = b"it is VALID";

    impl Contents for TestContents {
        fn facts(&self) -> Vec<&'static str> {
            vec!["fact-1", "fact-2"]
        }

        fn verdict_files(&self) -> Vec<&'static str> {
            vec!["word-1", "word-2", "word-3"]
        }

        fn write(&self, name: &str, out: &mut dyn Write) -> io::Result<()> {
            match name.starts_with("word") {
                true if self.reasons.is_empty() => out.write_all(VALID),
                true => out.write_all(b"it is not"),
                false => out.write_all(b"a fact"),
            }
        }

        fn write_result(&self, files: &[FileEntry], out: &mut dyn Write) -> io::Result<()> {
            if self.has_no_room_for_the_result {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.write("word", out)?;
            files.iter().try_for_each(|file| write!(out, "\n{} {}", file.name, file.sha256))
        }

        fn not_written(&mut self, name: &str, failure: &FolderError) {
            self.reasons.push(format!("{name}: {failure}"));
        }
    }

    struct Case {
        above: tempfile::TempDir,
        folder: RunFolder,
        faults: Faults,
    }

    impl Case {
        fn new(faults: Faults) -> Case {
            // In memory, where there is such a place: a disk takes its time for each of a thousand files.
            let above = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
            let mut folder = RunFolder::create(&Place::At(above.path().join("run"))).unwrap();
            fs::create_dir(above.path().join("other")).unwrap();
            fs::write(folder.path().join(RESULT), "the run has not ended").unwrap();
            folder.fail(faults.clone());
            Case { above, folder, faults }
        }

        fn keep(&self, contents: &mut TestContents, fallbacks: &[PathBuf]) -> Result<(), NotWritten> {
            let log = self.folder.stage("log", |out| out.write_all(b"answers"));
            let (staged, failure) = log.map_or_else(|failure| (None, Some(failure)), |log| (Some(log), None));
            keep(contents, LogFile { name: "log", staged, failure, elsewhere: None }, &self.folder, fallbacks)
        }

        fn other(&self) -> PathBuf {
            self.above.path().join("other")
        }
    }

    /// The files below a folder, with their content.
    fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
        let mut contents = Vec::new();
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            match entry.file_type().unwrap().is_dir() {
                true => contents.extend(files(&entry.path())),
                false => {
                    contents.push((entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()));
                }
            }
        }
        contents.sort();
        contents
    }

    fn says_valid(files: &[(String, Vec<u8>)]) -> bool {
        files.iter().any(|(_, content)| content.windows(VALID.len()).any(|part| part == VALID))
    }

    #[test]
    fn what_is_whole_has_the_sum_of_every_file() {
        let case = Case::new(Faults::default());
        let mut contents = TestContents::default();
        case.keep(&mut contents, &[]).unwrap();
        let files = files(case.folder.path());
        let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["fact-1", "fact-2", "log", RESULT, "word-1", "word-2", "word-3"]);
        let result = String::from_utf8(files[3].1.clone()).unwrap();
        assert!(result.starts_with("it is VALID\nlog ") && result.lines().count() == 7, "{result}");
    }

    #[test]
    fn wherever_writing_fails_no_file_says_valid() {
        let operations = {
            let case = Case::new(Faults::at(0..0));
            case.keep(&mut TestContents::default(), &[]).unwrap();
            case.faults.operations()
        };
        assert!(operations > 7 * 3, "{operations}");
        for first in 0..operations {
            // Once, a few times, and from there on.
            for failing in [first..first + 1, first..first + 5, first..usize::MAX] {
                let label = format!("operations {failing:?} of {operations}");
                let case = Case::new(Faults::at(failing));
                let mut contents = TestContents::default();
                let failed = case.keep(&mut contents, &[case.other()]).unwrap_err();
                assert!(!contents.reasons.is_empty() && !failed.failures.is_empty(), "{label}");
                let files = files(case.above.path());
                assert!(!says_valid(&files), "{label}: {files:?}");
                // All but the log can be made again.
                let has = |name: &str| files.iter().any(|(file, _)| file == name);
                for name in ["fact-1", "fact-2", "word-1", "word-2", "word-3", RESULT] {
                    assert!(has(name), "{label}: {name} is nowhere: {failed}");
                }
                assert_eq!(failed.missing.is_empty(), has("log"), "{label}: {failed}");
            }
        }
    }

    #[test]
    fn without_room_for_the_result_the_other_files_are_kept() {
        let case = Case::new(Faults::default());
        let mut contents = TestContents { has_no_room_for_the_result: true, ..TestContents::default() };
        let failed = case.keep(&mut contents, &[]).unwrap_err();
        assert_eq!(failed.missing, [RESULT]);
        let files = files(case.folder.path());
        for name in ["fact-1", "fact-2", "log", "word-1", "word-2", "word-3"] {
            assert!(files.iter().any(|(file, _)| file == name), "{name} is not in {files:?}");
        }
        assert!(!says_valid(&files));
    }

    #[test]
    fn what_is_nowhere_is_named() {
        let case = Case::new(Faults::at(0..usize::MAX));
        let failed = case.keep(&mut TestContents::default(), &[]).unwrap_err();
        assert_eq!(failed.missing, ["fact-1", "fact-2", "log", RESULT, "word-1", "word-2", "word-3"]);
        assert_eq!(files(case.folder.path()), [(RESULT.to_owned(), b"the run has not ended".to_vec())]);
        assert!(failed.to_string().contains("; lost: fact-1, fact-2, log"), "{failed}");
    }
}
