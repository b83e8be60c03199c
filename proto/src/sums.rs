//! SHA-256 sums of files: the sum of what is read, and lines of lists as the program `sha256sum` writes them.

use std::io::{self, Read};

use sha2::{Digest as _, Sha256};

/// The name of the file that lists the SHA-256 sums of the files beside it.
pub const SUMS_FILE: &str = "SHA256SUMS";

/// The file's name and its sum in lower case, of a line such as `2d71...4881  images.npy`. Whether the sum is one is
/// left to the caller. `None` when the line is not two words.
pub fn entry(line: &str) -> Option<(&str, String)> {
    let (sum, name) = line.trim().split_once(char::is_whitespace)?;
    // A star marks a file that was read as binary.
    let name = name.trim_start().trim_start_matches('*');
    Some((name.strip_prefix("./").unwrap_or(name), sum.to_ascii_lowercase()))
}

/// A reader whose bytes are counted and summed as they are read.
#[derive(Debug)]
pub struct Summing<R> {
    inner: R,
    sum: Sha256,
    bytes: u64,
}

impl<R: Read> Summing<R> {
    /// Begins at the next byte of `inner`.
    pub fn new(inner: R) -> Self {
        Summing { inner, sum: Sha256::new(), bytes: 0 }
    }

    /// The sum of what was read, in hexadecimal digits, and how many bytes that was.
    pub fn finish(self) -> (String, u64) {
        (hex::encode(self.sum.finalize()), self.bytes)
    }
}

impl<R: Read> Read for Summing<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(into)?;
        self.sum.update(&into[..count]);
        self.bytes += count as u64;
        Ok(count)
    }
}

/// The sum of all that a reader has, in hexadecimal digits, and how many bytes that is. It is read in pieces.
///
/// # Errors
/// Reading fails.
pub fn of(reader: impl Read) -> io::Result<(String, u64)> {
    let (mut reader, mut buffer) = (Summing::new(reader), vec![0; 1 << 18]);
    while reader.read(&mut buffer)? > 0 {}
    Ok(reader.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_counted_and_summed() {
        // `printf abc | sha256sum`.
        let sum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(of(&b"abc"[..]).unwrap(), (sum.to_owned(), 3));
        let mut part = Summing::new(&b"abcdef"[..]);
        part.read_exact(&mut [0; 3]).unwrap();
        assert_eq!(part.finish(), (sum.to_owned(), 3));
    }

    #[test]
    fn lines_of_both_kinds_are_read() {
        for line in ["AB12  a b.npy", "ab12 *a b.npy", " ab12\t*./a b.npy \n"] {
            assert_eq!(entry(line), Some(("a b.npy", "ab12".to_owned())), "{line:?}");
        }
        assert_eq!((entry(""), entry("ab12"), entry(" ab12 ")), (None, None, None));
    }
}
