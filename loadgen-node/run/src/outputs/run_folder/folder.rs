//! The run folder. It is made before the run, so that a bad path is found early. A file in it is complete or absent: it
//! is written under another name, brought to the disk, and only then given its own.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use lon_proto::files::{self, Limit};
use lon_qsl::benchmark::Benchmark;
use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

use super::faults::Faults;

/// Why a run folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// There is something at the path already, other than an empty folder.
    #[error("{0} exists already and is not empty: results are never overwritten; give another --out, or move it away")]
    Exists(PathBuf),
    /// A path above the run folder names something other than a folder.
    #[error("cannot make the run folder {path}: {above} is no folder")]
    Below {
        /// The path of the run folder.
        path: PathBuf,
        /// Path of the entry that is there instead of a folder.
        above: PathBuf,
    },
    /// A page would replace something else.
    #[error("{0} exists already and is no page of this program: it is not overwritten; give another path")]
    Other(PathBuf),
    /// The folder cannot be made.
    #[error("cannot make the run folder {path}: {source}")]
    Create {
        /// The path of the folder.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A file in it cannot be written.
    #[error("cannot write {path}: {source}")]
    Write {
        /// The path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// There is no thread to write it with. The file is all right.
    #[error("cannot start the thread that writes {path}: {source}")]
    Thread {
        /// The path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
}

/// Where a run folder is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Here. Nothing may be there yet, or an empty folder.
    At(PathBuf),
    /// Here, or with a number behind the name if that is taken.
    Numbered(PathBuf),
}

impl Place {
    /// `<UTC>-<benchmark>-<what>` in the folder `above`, with a number behind it if that is taken.
    pub fn usual(above: &Path, benchmark: &Benchmark, what: &str) -> Place {
        let time = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
        Place::Numbered(above.join(format!("{time}-{}-{what}", benchmark.name)))
    }

    /// The folder of a mix, `<UTC>-mix` in the folder `above`.
    pub fn of_mix(above: &Path) -> PathBuf {
        above.join(format!("{}-mix", jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ")))
    }

    /// Checks what is known before the folder is made.
    ///
    /// # Errors
    /// It cannot be made there.
    pub fn check(&self) -> Result<(), FolderError> {
        let (Place::At(path) | Place::Numbered(path)) = self;
        if let Some(above) = path.ancestors().skip(1).find(|above| above.exists()).filter(|above| !above.is_dir()) {
            return Err(FolderError::Below { path: path.clone(), above: above.to_owned() });
        }
        match self {
            Place::At(path) if RunFolder::is_taken(path) => Err(FolderError::Exists(path.clone())),
            _ => Ok(()),
        }
    }
}

/// Writes a file that is no part of a run's own. It takes its name when it is whole, and may be there already.
///
/// # Errors
/// The path has no name of a file, or cannot be written to.
pub fn write_file(path: &Path, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), FolderError> {
    let unusable = |why: &str| {
        let source = io::Error::new(io::ErrorKind::InvalidFilename, why);
        FolderError::Write { path: path.to_owned(), source }
    };
    let name = path.file_name().ok_or_else(|| unusable("it is not the name of a file"))?;
    let name = name.to_str().ok_or_else(|| unusable("its name is not UTF-8"))?;
    let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = RunFolder::of_earlier_run(above);
    folder.keep(folder.stage(name, content)?).map(drop)
}

/// First characters of a page or a picture that this program wrote. A page may only replace files that begin so.
const OWN_PAGES: [&str; 2] = [PAGE_HEAD, PICTURE_HEAD];

/// The first words of every page.
pub(crate) const PAGE_HEAD: &str =
    "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"generator\" content=\"loadgen-node\">";
/// The first words of every picture.
pub(crate) const PICTURE_HEAD: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"loadgen-node\"";

/// Writes a page or a picture. One that is there already is replaced, any other file is not.
///
/// # Errors
/// There is another file, or it cannot be written.
pub fn write_page(path: &Path, text: &str) -> Result<(), FolderError> {
    let mut head = Vec::new();
    match files::open(path, Limit::DATA) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        opened => {
            let length = opened.and_then(|file| file.take(PAGE_HEAD.len() as u64).read_to_end(&mut head));
            length.map_err(|source| FolderError::Write { path: path.to_owned(), source })?;
            if !OWN_PAGES.iter().any(|page| head.starts_with(page.as_bytes())) {
                return Err(FolderError::Other(path.to_owned()));
            }
        }
    }
    write_file(path, |out| out.write_all(text.as_bytes()))
}

/// Folders above which what a run folder does not take may find room.
pub(crate) fn fallbacks() -> Vec<PathBuf> {
    let mut above = vec![std::env::temp_dir(), PathBuf::from("/var/tmp"), PathBuf::from("/dev/shm")];
    above.dedup();
    above
}

/// Where run folders are that nobody has named.
pub const RESULTS: &str = "results";

/// The folder of one run.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    /// The folder was there before, empty.
    was_there: bool,
    faults: Faults,
}

impl RunFolder {
    /// Makes the folder, and the folders above it where they are missing.
    pub(crate) fn create(place: &Place) -> Result<RunFolder, FolderError> {
        let (path, numbers) = match place {
            Place::At(path) => (path, 1..=1),
            // Several runs may begin within a second.
            Place::Numbered(path) => (path, 1..=1000),
        };
        let fail = |source: io::Error| FolderError::Create { path: path.clone(), source };
        if let Some(above) = path.parent().filter(|above| !above.as_os_str().is_empty()) {
            fs::create_dir_all(above).map_err(fail)?;
        }
        for number in numbers {
            let path = if number == 1 { path.clone() } else { behind(path, &format!("-{number}")) };
            match fs::create_dir(&path) {
                Ok(()) => return Ok(RunFolder { path, was_there: false, faults: Faults::default() }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    if matches!(place, Place::At(_)) && !RunFolder::is_taken(&path) {
                        return Ok(RunFolder { path, was_there: true, faults: Faults::default() });
                    }
                }
                Err(error) => return Err(fail(error)),
            }
        }
        Err(FolderError::Exists(path.clone()))
    }

    /// The folder of a run that was made before.
    pub(crate) fn of_earlier_run(path: &Path) -> RunFolder {
        RunFolder { path: path.to_owned(), was_there: true, faults: Faults::default() }
    }

    /// A folder with a name of its own in `above`, for what another folder does not take.
    ///
    /// # Errors
    /// What the operating system says.
    pub(crate) fn elsewhere(above: &Path) -> io::Result<RunFolder> {
        let path = tempfile::Builder::new().prefix("loadgen-node-").tempdir_in(above)?.keep();
        Ok(RunFolder { path, was_there: false, faults: Faults::default() })
    }

    /// There is something at the path, other than an empty folder, or one that cannot be read: what it has is seen when
    /// it is written to.
    fn is_taken(path: &Path) -> bool {
        match fs::read_dir(path) {
            Ok(mut entries) => entries.next().is_some(),
            Err(_) => path.symlink_metadata().is_ok_and(|metadata| !metadata.is_dir()),
        }
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file of any size, without holding it in memory. It has no name in the folder yet.
    pub(crate) fn stage(
        &self,
        name: &str,
        content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<Staged, FolderError> {
        let mut spool = self.spool(name)?;
        let outcome = || -> io::Result<()> {
            let mut out = BufWriter::with_capacity(1 << 20, &mut spool.file);
            content(&mut out)?;
            out.flush()
        }();
        outcome.map_err(|source| self.failed(name, source))?;
        spool.finish()
    }

    /// A file that grows during the run, and has no name in the folder until it is kept.
    pub(crate) fn spool(&self, name: &str) -> Result<Spool, FolderError> {
        let file = self.part(name)?;
        let file = Summing { file, sum: Sha256::new(), bytes: 0, faults: self.faults.clone() };
        Ok(Spool { file, name: name.to_owned(), path: self.path.join(name) })
    }

    /// A new file for what will be `name`. It is gone when it is dropped; of a program that is killed it is what is
    /// found.
    pub(crate) fn part(&self, name: &str) -> Result<NamedTempFile, FolderError> {
        let (prefix, suffix) = part_name(name);
        let file = tempfile::Builder::new().prefix(&prefix).suffix(suffix).tempfile_in(&self.path);
        self.faults.next().and(file).map_err(|source| self.failed(name, source))
    }

    /// The files that a program which was killed has left of `name`, and did not give that name.
    pub(crate) fn parts(&self, name: &str) -> io::Result<Vec<PathBuf>> {
        let (prefix, _) = part_name(name);
        let is_of_it = |path: &PathBuf| file_name(path).starts_with(&prefix);
        Ok(self.all_parts()?.into_iter().filter(is_of_it).collect())
    }

    /// All files that a program which was killed has left without their names.
    pub(crate) fn all_parts(&self) -> io::Result<Vec<PathBuf>> {
        let paths: io::Result<Vec<PathBuf>> =
            fs::read_dir(&self.path)?.map(|entry| entry.map(|entry| entry.path())).collect();
        let (begin, end) = part_name("");
        let is_part = |path: &PathBuf| file_name(path).starts_with(&begin[..1]) && file_name(path).ends_with(end);
        Ok(paths?.into_iter().filter(is_part).collect())
    }

    /// Gives a staged file its name.
    pub(crate) fn keep(&self, staged: Staged) -> Result<FileEntry, FolderError> {
        let Staged { file, entry } = staged;
        let path = self.path.join(&entry.name);
        let outcome = self.faults.next().and_then(|()| file.persist(&path).map_err(|error| error.error));
        outcome.map_err(|source| self.failed(&entry.name, source))?;
        Ok(entry)
    }

    /// Gives a staged file its name, which no other run may have taken before.
    ///
    /// # Errors
    /// [`FolderError::Exists`] where one has; or it cannot be written.
    pub(crate) fn claim(&self, staged: Staged) -> Result<FileEntry, FolderError> {
        let name = staged.entry.name.clone();
        // Of two that do this, one succeeds, on every file system. What it makes is replaced at once.
        match File::create_new(self.path.join(&name)) {
            Ok(_) => self.keep(staged).inspect_err(|_| self.remove(&name)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(FolderError::Exists(self.path.clone())),
            Err(error) => Err(self.failed(&name, error)),
        }
    }

    /// Removes a file, if it is there.
    pub(crate) fn remove(&self, name: &str) {
        match fs::remove_file(self.path.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::error!(file = %self.path.join(name).display(), %error, "a file cannot be removed");
            }
            _ => {}
        }
    }

    /// Removes the folder, if there is nothing in it and it was made here.
    pub(crate) fn discard(self) {
        if !self.was_there {
            // An empty folder that stays does no harm.
            let _ = fs::remove_dir(&self.path);
        }
    }

    /// Returns when the names of all files are on the disk.
    pub(crate) fn sync(&self) -> Result<(), FolderError> {
        let synced = self.faults.next().and_then(|()| File::open(&self.path)?.sync_all());
        synced.map_err(|source| FolderError::Write { path: self.path.clone(), source })
    }

    fn failed(&self, name: &str, source: io::Error) -> FolderError {
        FolderError::Write { path: self.path.join(name), source }
    }

    /// Lets what is done here from now on fail.
    #[cfg(test)]
    pub(crate) fn fail(&mut self, faults: Faults) {
        self.faults = faults;
    }
}

/// The path with this behind its last name.
pub fn behind(path: &Path, end: &str) -> PathBuf {
    let mut longer = path.as_os_str().to_owned();
    longer.push(end);
    longer.into()
}

fn file_name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// Returns the beginning and the end of the name that a file has until it gets the name `name`.
fn part_name(name: &str) -> (String, &'static str) {
    (format!(".{name}."), ".part")
}

/// A file that is whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileEntry {
    pub(crate) name: String,
    pub(crate) bytes: u64,
    /// SHA-256 of the content, in hexadecimal digits.
    pub(crate) sha256: String,
}

/// A file that is whole and on the disk, and has no name in the folder yet. Dropped, it leaves nothing behind.
#[derive(Debug)]
pub(crate) struct Staged {
    file: tempfile::TempPath,
    entry: FileEntry,
}

impl Staged {
    /// Returns the name, length and sum of the file that will be in the folder.
    pub(crate) fn entry(&self) -> &FileEntry {
        &self.entry
    }
}

/// A file that is being written. Dropped before it is finished, it leaves nothing behind.
#[derive(Debug)]
pub(crate) struct Spool {
    file: Summing,
    name: String,
    path: PathBuf,
}

impl Spool {
    /// Appends these bytes, or nothing that counts.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), FolderError> {
        self.file.write_all(bytes).map_err(|source| FolderError::Write { path: self.path.clone(), source })
    }

    /// The file, for another thread that brings it to the disk.
    pub(crate) fn shared_file(&self) -> Option<File> {
        self.file.file.as_file().try_clone().ok()
    }

    /// Returns the number of bytes that have been written.
    pub(crate) fn bytes(&self) -> u64 {
        self.file.bytes
    }

    /// The same file in another folder, with the first `bytes` bytes of this one.
    pub(crate) fn moved_to(&self, folder: &RunFolder, bytes: u64) -> Result<Spool, FolderError> {
        let mut other = folder.spool(&self.name)?;
        let copied = self.file.file.reopen().and_then(|begin| io::copy(&mut begin.take(bytes), &mut other.file));
        match copied {
            Ok(copied) if copied == bytes => Ok(other),
            Ok(_) => Err(folder.failed(&self.name, io::ErrorKind::UnexpectedEof.into())),
            Err(source) => Err(folder.failed(&self.name, source)),
        }
    }

    /// Brings the file to the disk.
    pub(crate) fn finish(self) -> Result<Staged, FolderError> {
        let Spool { file: Summing { file, sum, bytes, faults }, name, path } = self;
        let done = faults.next().and_then(|()| readable(file.as_file())).and_then(|()| file.as_file().sync_all());
        done.map_err(|source| FolderError::Write { path, source })?;
        let entry = FileEntry { name, bytes, sha256: hex::encode(sum.finalize()) };
        Ok(Staged { file: file.into_temp_path(), entry })
    }
}

/// A file whose bytes are counted and summed as they are written.
#[derive(Debug)]
struct Summing {
    file: NamedTempFile,
    sum: Sha256,
    bytes: u64,
    faults: Faults,
}

impl Write for Summing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.faults.next()?;
        let count = self.file.write(bytes)?;
        self.sum.update(&bytes[..count]);
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Temporary files are private to their maker; results are for everybody who may enter the folder.
fn readable(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(above: &Path) -> RunFolder {
        RunFolder::create(&Place::At(above.join("a/run"))).unwrap()
    }

    fn write(folder: &RunFolder, name: &str, content: &[u8]) -> FileEntry {
        folder.keep(folder.stage(name, |out| out.write_all(content)).unwrap()).unwrap()
    }

    #[test]
    fn a_folder_that_exists_is_left_alone() {
        let above = tempfile::tempdir().unwrap();
        let run = folder(above.path());
        write(&run, "x.txt", b"x");
        let error = RunFolder::create(&Place::At(run.path().to_owned())).unwrap_err().to_string();
        assert!(error.contains("exists already"), "{error}");
        assert_eq!(fs::read(run.path().join("x.txt")).unwrap(), b"x");
    }

    #[test]
    fn a_path_that_cannot_be_a_folder_is_refused_with_the_reason() {
        let above = tempfile::tempdir().unwrap();
        let file = above.path().join("file");
        fs::write(&file, "x").unwrap();
        let message_of = |place: Place| place.check().unwrap_err().to_string();
        for below in [file.join("run"), file.join("a/b/run")] {
            let why = format!("cannot make the run folder {}: {} is no folder", below.display(), file.display());
            assert_eq!(message_of(Place::At(below.clone())), why);
            assert_eq!(message_of(Place::Numbered(below)), why);
        }
        assert!(message_of(Place::At(file)).contains("exists already"));
        let link = above.path().join("link");
        std::os::unix::fs::symlink("/nowhere", &link).unwrap();
        assert!(message_of(Place::At(link)).contains("exists already"));
        Place::At(above.path().join("not/yet/there")).check().unwrap();
    }

    #[test]
    fn a_path_may_have_any_bytes() {
        use std::os::unix::ffi::OsStrExt as _;
        let above = tempfile::tempdir().unwrap();
        let place = Place::Numbered(above.path().join(std::ffi::OsStr::from_bytes(b"r\xffn")));
        let [first, second] = [(); 2].map(|()| RunFolder::create(&place).unwrap().path().to_owned());
        assert_eq!(
            (first.file_name().unwrap().as_bytes(), second.file_name().unwrap().as_bytes()),
            (&b"r\xffn"[..], &b"r\xffn-2"[..])
        );
        let message = write_file(&first, |_| Ok(())).unwrap_err().to_string();
        assert!(message.ends_with("its name is not UTF-8"), "{message}");
    }

    /// Both see that it is empty, and the first file of either would overwrite that of the other.
    #[test]
    fn of_two_runs_in_one_empty_folder_one_has_it() {
        let above = tempfile::tempdir().unwrap();
        let [first, second] = [(); 2].map(|()| RunFolder::create(&Place::At(above.path().to_owned())).unwrap());
        let staged = |run: &RunFolder, text: &str| run.stage("x.json", |out| out.write_all(text.as_bytes())).unwrap();
        let [one, other] = [staged(&first, "first"), staged(&second, "second")];
        first.claim(one).unwrap();
        assert!(matches!(second.claim(other), Err(FolderError::Exists(path)) if path == above.path()));
        second.discard();
        assert_eq!(fs::read(above.path().join("x.json")).unwrap(), b"first");
        assert_eq!(fs::read_dir(above.path()).unwrap().count(), 1);
    }

    #[test]
    fn runs_that_begin_together_have_folders_of_their_own() {
        let above = tempfile::tempdir().unwrap();
        let place = Place::Numbered(above.path().join("run"));
        let threads: Vec<_> = (0..8)
            .map(|_| {
                let place = place.clone();
                std::thread::spawn(move || RunFolder::create(&place).unwrap().path().to_owned())
            })
            .collect();
        let mut paths: Vec<PathBuf> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        paths.sort();
        paths.dedup();
        assert_eq!((paths.len(), &paths[0]), (8, &above.path().join("run")), "{paths:?}");
    }

    #[test]
    fn an_unfinished_file_leaves_nothing() {
        let above = tempfile::tempdir().unwrap();
        let run = folder(above.path());
        let mut spool = run.spool("log.json").unwrap();
        spool.write(b"half").unwrap();
        drop(spool);
        assert_eq!(fs::read_dir(run.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_is_summed_while_it_is_written() {
        let above = tempfile::tempdir().unwrap();
        let entry = write(&folder(above.path()), "x.txt", b"abc");
        // `printf abc | sha256sum`.
        let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(entry, FileEntry { name: "x.txt".to_owned(), bytes: 3, sha256: sha256.to_owned() });
    }

    #[test]
    fn a_file_that_one_folder_does_not_take_goes_on_in_another() {
        let above = tempfile::tempdir().unwrap();
        let run = folder(above.path());
        let mut spool = run.spool("log.json").unwrap();
        spool.write(b"began half").unwrap();
        let other = RunFolder::elsewhere(above.path()).unwrap();
        let mut moved = spool.moved_to(&other, 5).unwrap();
        moved.write(b" anew").unwrap();
        let entry = other.keep(moved.finish().unwrap()).unwrap();
        assert_eq!((entry.bytes, fs::read(other.path().join("log.json")).unwrap()), (10, b"began anew".to_vec()));
    }
}
