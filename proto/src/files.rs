//! Reads files that somebody else may have made: nothing else reads a file's content, except that of the kernel.
//!
//! What lies in a folder, or is named by another file, is read only where it is a regular file within a limit: a named
//! pipe is waited for without end, a device has no end, and a sparse file is larger than the memory. [`open`] does so,
//! and all that are built on it.
//!
//! A secret or a document that a user names on the command line may be a pipe as well (`--token-file <(...)`,
//! `/dev/stdin`). [`user_file`] reads it, within the limit of a document. It waits for the writer,
//! which the user has started as well.

use std::fs::{self, File, FileType};
use std::io::{self, BufRead, Error, ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::Path;

/// The most bytes that are read of a file, by what it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit(u64);

impl Limit {
    /// Documents of runs, settings, lists, secrets.
    pub const DOCUMENT: Limit = Limit(256 << 20);
    /// Logs, and texts of datasets: as many samples as a run has, with their answers.
    pub const LOG: Limit = Limit(64 << 30);
    /// Lists and arrays that are read whole.
    pub const LIST: Limit = Limit(4 << 30);
    /// Data that is read in pieces, or sample by sample.
    pub const DATA: Limit = Limit(1 << 46);

    /// So many bytes.
    pub const fn bytes(most: u64) -> Limit {
        Limit(most)
    }
}

/// The longest line of a text of which each line has one sample, in bytes.
pub const MAX_LINE_BYTES: usize = 256 << 20;

/// Bytes that are read at once.
const PIECE_BYTES: u64 = 1 << 20;

/// Opens a file.
///
/// # Errors
/// It cannot be opened, is not a regular file, or is larger than the limit.
pub fn open(path: &Path, limit: Limit) -> io::Result<File> {
    // This check comes before opening: to open a device may already do something.
    check(&fs::metadata(path)?, limit)?;
    // Something else may have the name by now. A pipe is opened without waiting, and then seen.
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    check(&file.metadata()?, limit)?;
    Ok(file)
}

/// Reads a whole file.
///
/// # Errors
/// As of [`open`]; or it cannot be read.
pub fn bytes(path: &Path, limit: Limit) -> io::Result<Vec<u8>> {
    whole(&open(path, limit)?, limit, |_, _| Ok(()))
}

/// Reads a whole file of UTF-8 text.
///
/// # Errors
/// As of [`bytes()`]; or it is no text. A zero byte is found before the rest is read: sparse files are all zeros.
pub fn text(path: &Path, limit: Limit) -> io::Result<String> {
    into_text(whole(&open(path, limit)?, limit, no_zero)?)
}

/// Reads what a user has named: a file, or a pipe.
///
/// # Errors
/// It cannot be read, or has more bytes than a document.
pub fn user_file(path: &Path) -> io::Result<Vec<u8>> {
    whole_user_file(&File::open(path)?)
}

/// The same as [`user_file`] for a text.
///
/// # Errors
/// As of [`user_file`]; or it is no UTF-8.
pub fn user_text(path: &Path) -> io::Result<String> {
    into_text(user_file(path)?)
}

/// The same as [`user_file`] for what is open.
///
/// # Errors
/// As of [`user_file`].
pub fn whole_user_file(file: &File) -> io::Result<Vec<u8>> {
    whole(file, Limit::DOCUMENT, no_zero)
}

/// The lines of a text that come from a reader, without their ends. None is longer than `max_bytes`.
pub fn lines(mut reader: impl BufRead, max_bytes: usize) -> impl Iterator<Item = io::Result<String>> {
    // The first line is where a byte order mark stands.
    let mut text_of: fn(Vec<u8>) -> io::Result<String> = into_text;
    std::iter::from_fn(move || line(&mut reader, max_bytes, std::mem::replace(&mut text_of, utf8)).transpose())
}

/// Checks that a text begins with none of the marks that some editors put before it. They are no part of it, and would
/// be read as part of its first word.
///
/// # Errors
/// It begins with one; the error says how to save it.
pub fn check_mark(text: &[u8]) -> io::Result<()> {
    match text {
        [0xef, 0xbb, 0xbf, ..] => {
            Err(invalid("it starts with a byte order mark, which is not part of it: save it without"))
        }
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
            Err(invalid("it is UTF-16, as its byte order mark says: save it as UTF-8"))
        }
        _ => Ok(()),
    }
}

/// The text that a file of UTF-8 has.
///
/// # Errors
/// As of [`check_mark`]; or it is no UTF-8.
pub fn into_text(bytes: Vec<u8>) -> io::Result<String> {
    check_mark(&bytes)?;
    utf8(bytes)
}

fn line(
    reader: &mut impl BufRead,
    max_bytes: usize,
    text_of: fn(Vec<u8>) -> io::Result<String>,
) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    reader.take(max_bytes as u64 + 2).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.pop_if(|last| *last == b'\n').is_some() {
        line.pop_if(|last| *last == b'\r');
    }
    if line.len() > max_bytes {
        return Err(invalid(format!("a line has more than {max_bytes} bytes, which are the most that are read")));
    }
    text_of(line).map(Some)
}

fn check(metadata: &fs::Metadata, Limit(most): Limit) -> io::Result<()> {
    if !metadata.is_file() {
        return Err(invalid(format!("it is {}, not a file", kind(metadata.file_type()))));
    }
    match metadata.len() {
        bytes if bytes > most => Err(invalid(format!("it has {bytes} bytes, of which at most {most} are read"))),
        _ => Ok(()),
    }
}

fn kind(of: FileType) -> &'static str {
    match () {
        () if of.is_dir() => "a folder",
        () if of.is_fifo() => "a named pipe",
        () if of.is_socket() => "a socket",
        () => "a device",
    }
}

/// Reads to the end, and looks at what was read, and where the last piece begins, before the next one is read.
fn whole(file: &File, Limit(most): Limit, look: impl Fn(&[u8], usize) -> io::Result<()>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        let from = bytes.len();
        let count = file.take(PIECE_BYTES).read_to_end(&mut bytes)?;
        look(&bytes, from)?;
        if bytes.len() as u64 > most {
            return Err(invalid(format!("it has more than {most} bytes, which are the most that are read")));
        }
        if (count as u64) < PIECE_BYTES {
            return Ok(bytes);
        }
    }
}

fn no_zero(bytes: &[u8], from: usize) -> io::Result<()> {
    match bytes[from..].contains(&0) {
        true => check_mark(bytes).and(Err(invalid("it is no text: there are zero bytes in it"))),
        false => Ok(()),
    }
}

fn utf8(bytes: Vec<u8>) -> io::Result<String> {
    let failure =
        |error: std::string::FromUtf8Error| invalid(format!("not UTF-8 at byte {}", error.utf8_error().valid_up_to()));
    String::from_utf8(bytes).map_err(failure)
}

fn invalid(why: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidData, why.into())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::fd::AsRawFd as _;

    use super::*;

    fn fifo(folder: &Path) -> std::path::PathBuf {
        let path = folder.join("fifo");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        path
    }

    #[test]
    fn what_is_no_file_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let link = folder.path().join("link");
        let fifo = fifo(folder.path());
        std::os::unix::fs::symlink(&fifo, &link).unwrap();
        for (path, kind) in [
            (folder.path(), "a folder"),
            (&fifo, "a named pipe"),
            (&link, "a named pipe"),
            (&socket, "a socket"),
            (Path::new("/dev/zero"), "a device"),
        ] {
            for error in
                [open(path, Limit::DATA).err(), bytes(path, Limit::DOCUMENT).err(), text(path, Limit::DOCUMENT).err()]
            {
                assert_eq!(error.unwrap().to_string(), format!("it is {kind}, not a file"), "{}", path.display());
            }
        }
        assert_eq!(bytes(&folder.path().join("none"), Limit::DATA).unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn what_is_too_long_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "0123456789").unwrap();
        assert_eq!(text(&path, Limit::bytes(10)).unwrap(), "0123456789");
        for error in [text(&path, Limit::bytes(9)).err(), bytes(&path, Limit::bytes(9)).err()] {
            assert_eq!(error.unwrap().to_string(), "it has 10 bytes, of which at most 9 are read");
        }
        let sparse = File::create(folder.path().join("sparse")).unwrap();
        sparse.set_len(20 << 30).unwrap();
        let message = bytes(&folder.path().join("sparse"), Limit::DOCUMENT).unwrap_err().to_string();
        assert_eq!(message, "it has 21474836480 bytes, of which at most 268435456 are read");
        let message = text(&folder.path().join("sparse"), Limit::LOG).unwrap_err().to_string();
        assert_eq!(message, "it is no text: there are zero bytes in it");
        // The kernel does not say how long it is.
        let message = bytes(Path::new("/proc/self/maps"), Limit::bytes(9)).unwrap_err().to_string();
        assert_eq!(message, "it has more than 9 bytes, which are the most that are read");
    }

    #[test]
    fn a_pipe_that_the_user_names_is_read_and_one_without_an_end_is_not() {
        let (reader, mut writer) = io::pipe().unwrap();
        writer.write_all(b"secret\n").unwrap();
        drop(writer);
        assert_eq!(user_file(Path::new(&format!("/dev/fd/{}", reader.as_raw_fd()))).unwrap(), b"secret\n");
        assert_eq!(
            user_file(Path::new("/dev/zero")).unwrap_err().to_string(),
            "it is no text: there are zero bytes in it"
        );
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), b"a\xff").unwrap();
        assert_eq!(user_file(file.path()).unwrap(), b"a\xff");
        let message = user_text(file.path()).unwrap_err().to_string();
        assert_eq!(message, "not UTF-8 at byte 1");
    }

    #[test]
    fn a_byte_order_mark_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for (content, part) in [
            (&b"\xef\xbb\xbfa"[..], "starts with a byte order mark"),
            (b"\xff\xfea\0", "it is UTF-16"),
            (b"\xfe\xff\0a", "it is UTF-16"),
        ] {
            fs::write(&path, content).unwrap();
            for outcome in [text(&path, Limit::DOCUMENT), user_text(&path), lines(content, 9).collect()] {
                let message = outcome.unwrap_err().to_string();
                assert!(message.contains(part), "{message}");
            }
        }
        let later = lines(&b"a\n\xef\xbb\xbfb"[..], 9).collect::<io::Result<Vec<String>>>().unwrap();
        assert_eq!(later, ["a", "\u{feff}b"], "in the middle of a text it is a letter");
    }

    #[test]
    fn lines_have_an_end() {
        let read = |text: &'static [u8]| lines(text, 4).collect::<io::Result<Vec<String>>>();
        assert_eq!(read(b"abcd\n\nab\r\nabcd\r\nlast").unwrap(), ["abcd", "", "ab", "abcd", "last"]);
        assert_eq!(read(b"").unwrap(), [""; 0]);
        for long in [&b"abcde"[..], b"ok\nabcde\n", b"abcdefghijk\n"] {
            let message = read(long).unwrap_err().to_string();
            assert_eq!(message, "a line has more than 4 bytes, which are the most that are read");
        }
        let endless = io::BufReader::new(io::repeat(b'x'));
        assert!(lines(endless, 1 << 20).next().unwrap().is_err());
    }
}
