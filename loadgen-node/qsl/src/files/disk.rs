//! Reads files of users, and only regular files: reading a named pipe would wait until another program writes to it.

use std::fs::{self, File};
use std::io::{self, Error, ErrorKind};
use std::path::{Path, PathBuf};

/// Opens a file for reading.
///
/// # Errors
/// It cannot be opened, or is not a regular file.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    check_is_file(path)?;
    File::open(path)
}

/// Reads a whole file.
///
/// # Errors
/// It cannot be read, or is not a regular file.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    check_is_file(path)?;
    fs::read(path)
}

/// Reads a whole file of UTF-8 text.
///
/// # Errors
/// It cannot be read, is not a regular file, or is not UTF-8.
pub(crate) fn read_to_string(path: &Path) -> io::Result<String> {
    check_is_file(path)?;
    fs::read_to_string(path)
}

fn check_is_file(path: &Path) -> io::Result<()> {
    match fs::metadata(path)?.is_file() {
        true => Ok(()),
        false => Err(Error::new(ErrorKind::InvalidInput, "it is no file")),
    }
}

/// Splits the path of a file into its folder and its name. The folder of a bare name is `.`.
pub(crate) fn split(file: &Path) -> (PathBuf, String) {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    (folder.unwrap_or(Path::new(".")).to_owned(), name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_file_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for path in [folder.path(), &socket] {
            for error in [open(path).err(), read(path).err(), read_to_string(path).err()] {
                assert_eq!(error.unwrap().to_string(), "it is no file");
            }
        }
        let file = folder.path().join("file");
        fs::write(&file, "x").unwrap();
        assert_eq!((read(&file).unwrap(), read_to_string(&file).unwrap()), (vec![b'x'], "x".to_owned()));
        assert!(open(&file).is_ok());
        assert_eq!(read(&folder.path().join("none")).unwrap_err().kind(), ErrorKind::NotFound);
    }
}
