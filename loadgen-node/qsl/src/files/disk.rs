//! Files of users, and nothing but files: a pipe would be waited for, for as long as nobody writes to it.

use std::fs::{self, File};
use std::io::{self, Error, ErrorKind};
use std::path::Path;

/// Opens a file to read it.
///
/// # Errors
/// It cannot be opened, or is no file.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    is_file(path)?;
    File::open(path)
}

/// All of a file.
///
/// # Errors
/// It cannot be read, or is no file.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    is_file(path)?;
    fs::read(path)
}

/// All of a file, which is UTF-8.
///
/// # Errors
/// It cannot be read, is no file, or is something else.
pub(crate) fn read_to_string(path: &Path) -> io::Result<String> {
    is_file(path)?;
    fs::read_to_string(path)
}

fn is_file(path: &Path) -> io::Result<()> {
    match fs::metadata(path)?.is_file() {
        true => Ok(()),
        false => Err(Error::new(ErrorKind::InvalidInput, "it is no file")),
    }
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
