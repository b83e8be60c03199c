//! The lines of a text that somebody else may have made: each within a limit, the whole within another.

use std::io::{BufRead, Read as _};

use super::error::LineFault;

/// The longest line. Prompts and hashes of a request may stand in it.
pub(super) const MAX_LINE_BYTES: usize = 16 << 20;

/// The longest text, after unpacking. A week of Azure's traces has 2 GB.
pub(super) const MAX_TEXT_BYTES: u64 = 16 << 30;

/// Empty lines at the end at most.
const MAX_EMPTY_LINES: u64 = 1_000;

/// Lines of a text, one after the other in the same buffer.
pub(super) struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    /// The number of the last line, counted from 1.
    number: u64,
    /// The numbers of empty lines that no text follows yet: the first one, and how many.
    empty: Option<(u64, u64)>,
    /// Bytes that may still be read.
    bytes_left: u64,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn of(reader: R) -> Self {
        Lines { reader, buffer: Vec::new(), number: 0, empty: None, bytes_left: MAX_TEXT_BYTES }
    }

    /// The next line with text, without its end, and its number. Empty lines may stand at the end alone.
    ///
    /// # Errors
    /// The line cannot be read, is too long, is no UTF-8, or follows an empty line.
    pub(super) fn next(&mut self) -> Result<Option<(u64, &str)>, LineFault> {
        loop {
            if !self.fill()? {
                return Ok(None);
            }
            if self.buffer.iter().any(|byte| !byte.is_ascii_whitespace()) {
                break;
            }
            let (first, count) = self.empty.unwrap_or((self.number, 0));
            self.empty = Some((first, count + 1));
            if count >= MAX_EMPTY_LINES {
                return self.fault(format!("more than {MAX_EMPTY_LINES} empty lines follow each other"));
            }
        }
        if let Some((line, _)) = self.empty {
            return Err(LineFault { line, reason: "it is empty, and rows follow: remove it".to_owned() });
        }
        match std::str::from_utf8(&self.buffer) {
            Ok(line) => Ok(Some((self.number, line.trim_ascii()))),
            Err(_) => self.fault("it is no UTF-8 text: a trace is text, plain or gzip".to_owned()),
        }
    }

    /// Reads the next line into the buffer. False at the end of the text.
    fn fill(&mut self) -> Result<bool, LineFault> {
        self.buffer.clear();
        self.number += 1;
        let mut limited = self.reader.by_ref().take(MAX_LINE_BYTES as u64 + 1);
        if let Err(error) = limited.read_until(b'\n', &mut self.buffer) {
            return self.fault(format!("cannot read on: {error}"));
        }
        let bytes_left = self.bytes_left.checked_sub(self.buffer.len() as u64);
        self.bytes_left = bytes_left.unwrap_or(0);
        match () {
            () if self.buffer.len() > MAX_LINE_BYTES => {
                self.fault(format!("it has more than {MAX_LINE_BYTES} bytes, the most that are read of a line"))
            }
            () if bytes_left.is_none() => {
                self.fault(format!("the text has more than {MAX_TEXT_BYTES} bytes, the most that are read: cut it"))
            }
            () if self.number == 1 => self.without_mark(),
            () => Ok(!self.buffer.is_empty()),
        }
    }

    /// Takes the mark of UTF-8 off the first line.
    fn without_mark(&mut self) -> Result<bool, LineFault> {
        match self.buffer.as_slice() {
            [0xef, 0xbb, 0xbf, ..] => drop(self.buffer.drain(..3)),
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => return self.fault("it is UTF-16: save it as UTF-8".to_owned()),
            _ => {}
        }
        Ok(!self.buffer.is_empty())
    }

    fn fault<T>(&self, reason: String) -> Result<T, LineFault> {
        Err(LineFault { line: self.number, reason })
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, repeat};

    use super::*;

    fn all(text: &[u8]) -> Result<Vec<(u64, String)>, LineFault> {
        let (mut lines, mut rows) = (Lines::of(text), Vec::new());
        while let Some((number, line)) = lines.next()? {
            rows.push((number, line.to_owned()));
        }
        Ok(rows)
    }

    fn fault_text(text: &[u8]) -> String {
        let LineFault { line, reason } = all(text).unwrap_err();
        format!("{line}: {reason}")
    }

    #[test]
    fn ends_marks_and_last_lines_of_all_kinds_are_read() {
        let expected = vec![(1, "a,b".to_owned()), (2, "1,2".to_owned())];
        for text in ["a,b\n1,2\n", "a,b\n1,2", "a,b\r\n1,2\r\n", "\u{feff}a,b\r\n1,2", "a,b\n1,2\n\n \r\n\n"] {
            assert_eq!(all(text.as_bytes()).unwrap(), expected, "{text:?}");
        }
        for text in ["", "\n", "\u{feff}", "\u{feff}\r\n\r\n"] {
            assert_eq!(all(text.as_bytes()).unwrap(), [], "{text:?}");
        }
    }

    #[test]
    fn lines_that_are_none_are_named() {
        assert_eq!(fault_text(b"a\n\n\nb\n"), "2: it is empty, and rows follow: remove it");
        assert_eq!(fault_text(b"a\n\xff\n"), "2: it is no UTF-8 text: a trace is text, plain or gzip");
        assert_eq!(fault_text(b"\xff\xfea\0\n\0"), "1: it is UTF-16: save it as UTF-8");
        assert_eq!(fault_text(&[b'\n'; 2_000]), "1001: more than 1000 empty lines follow each other");
    }

    #[test]
    fn a_line_without_an_end_has_a_limit() {
        let mut lines = Lines::of(BufReader::new(repeat(b'7')));
        let LineFault { line, reason } = lines.next().unwrap_err();
        assert_eq!((line, reason), (1, "it has more than 16777216 bytes, the most that are read of a line".to_owned()));
        assert!(lines.buffer.capacity() <= 4 * MAX_LINE_BYTES);
    }

    #[test]
    fn a_text_has_a_limit() {
        let mut lines = Lines { bytes_left: 8, ..Lines::of(&b"123\n567\n9\n"[..]) };
        assert_eq!(lines.next().unwrap(), Some((1, "123")));
        assert_eq!(lines.next().unwrap(), Some((2, "567")));
        let reason = lines.next().unwrap_err().reason;
        assert_eq!(reason, "the text has more than 17179869184 bytes, the most that are read: cut it");
    }
}
