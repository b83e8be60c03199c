//! Lines to a table of keys and values, by the rules of the official reader.
//!
//! A line is `KEY = VALUE` in words between blanks. The official reader passes over some lines without a word and
//! takes others for something else than they look like; each of these leaves a remark here.

use std::collections::BTreeMap;

use thiserror::Error;

use super::number;

/// The assignments of one config file.
#[derive(Clone, Debug, Default)]
pub struct Table {
    entries: BTreeMap<String, Entry>,
    faults: Vec<Fault>,
    remarks: Vec<Remark>,
}

/// The value that a key has in the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) value: String,
    pub(super) line: usize,
}

/// A line that makes the official reader reject the whole file.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Fault {
    /// The second word is not `=`.
    #[error("expected 'KEY = VALUE' with blanks around '=', found '{word}' in place of '='")]
    NoEquals {
        /// Number of the line, from 1.
        line: usize,
        /// The word that was found.
        word: String,
    },
    /// A value that is no number.
    #[error("the value needs to be an integer or a real number, '{word}' is not{hint}", hint = comment_hint(word))]
    NoNumber {
        /// Number of the line, from 1.
        line: usize,
        /// The word that was found.
        word: String,
    },
}

/// Something in a line that has another effect than its looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// Number of the line, from 1.
    pub line: usize,
    /// Effect of the line, and why the user may not intend it.
    pub text: String,
}

impl Fault {
    /// Number of the faulty line, from 1.
    pub fn line(&self) -> usize {
        match self {
            Self::NoEquals { line, .. } | Self::NoNumber { line, .. } => *line,
        }
    }
}

impl Table {
    /// Reads a file. Check [`Table::faults`]: with any, the official reader applies nothing of it.
    pub fn parse(text: &str) -> Table {
        let mut table = Table::default();
        if text.starts_with('\u{feff}') {
            // It is a part of the first word then, which no key begins with.
            let advice = "the file begins with a byte order mark (BOM), so this line is never read: save it without";
            table.remark(1, advice.to_owned());
        }
        for (number, line) in (1..).zip(text.split('\n')) {
            table.read_line(number, line);
        }
        table
    }

    /// Why the file is rejected, if it is.
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// Remarks on the form of lines. Whether keys exist is not checked here.
    pub fn remarks(&self) -> &[Remark] {
        &self.remarks
    }

    pub(super) fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.get(key)
    }

    /// All keys with their values.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.entries.iter().map(|(key, entry)| (key.as_str(), entry))
    }

    fn read_line(&mut self, line: usize, text: &str) {
        let mut words = text.split(is_blank).filter(|word| !word.is_empty());
        let key = match words.next() {
            None | Some("#") => return,
            Some(key) => key,
        };
        match words.next() {
            None | Some("#") => return self.remark_ignored(line, key),
            Some("=") => {}
            Some(word) => return self.faults.push(Fault::NoEquals { line, word: word.to_owned() }),
        }
        let values: Vec<&str> = words.collect();
        if let Some(word) = values.iter().find(|word| !number::is_number(word)) {
            return self.faults.push(Fault::NoNumber { line, word: (*word).to_owned() });
        }
        match values.last() {
            None => self.remark(line, format!("'{key} =' has no value and is ignored")),
            Some(last) => self.insert(line, key, last, values.len()),
        }
    }

    fn insert(&mut self, line: usize, key: &str, value: &str, values: usize) {
        if values > 1 {
            self.remark(line, format!("{key} has {values} values, the last one ({value}) is used"));
        }
        let entry = Entry { value: value.to_owned(), line };
        if let Some(earlier) = self.entries.insert(key.to_owned(), entry) {
            self.remark(line, format!("{key} was set in line {} already, this line is used", earlier.line));
        }
    }

    /// A key alone. Commented-out text is what it looks like.
    fn remark_ignored(&mut self, line: usize, key: &str) {
        if key.starts_with('#') {
            return;
        }
        let why = if key.contains('=') { ": it needs blanks around '='" } else { ": it has no value" };
        self.remark(line, format!("'{key}' is ignored{why}"));
    }

    fn remark(&mut self, line: usize, text: String) {
        self.remarks.push(Remark { line, text });
    }
}

/// Returns true when the character separates words in C. Carriage returns do, so files with CRLF are fine.
fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\x0b' | '\x0c')
}

fn comment_hint(word: &str) -> &'static str {
    if word.starts_with('#') { " (a comment cannot follow a value)" } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(table: &Table) -> Vec<(&str, &str)> {
        table.entries().map(|(key, entry)| (key, entry.value.as_str())).collect()
    }

    /// One line: its assignments, and whether it was a fault or worth a remark.
    fn outcome(line: &str) -> (Vec<(String, String)>, bool, bool) {
        let table = Table::parse(line);
        let pairs = pairs(&table).into_iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
        (pairs, !table.faults().is_empty(), !table.remarks().is_empty())
    }

    #[test]
    fn every_kind_of_line() {
        const FAULT: bool = true;
        const REMARK: bool = true;
        let set = |key: &str, value: &str| vec![(key.to_owned(), value.to_owned())];
        for (line, pairs, fault, remark) in [
            ("a.b.c = 5", set("a.b.c", "5"), false, false),
            ("\t a.b.c\t=  5 \r", set("a.b.c", "5"), false, false),
            ("a.b.c\x0b=\x0c5", set("a.b.c", "5"), false, false),
            ("a.b.c = 5 # note", vec![], FAULT, false),
            ("a.b.c = # 5", vec![], FAULT, false),
            ("#a.b.c = 5", set("#a.b.c", "5"), false, false),
            ("#two words", vec![], FAULT, false),
            ("#word", vec![], false, false),
            ("# a.b.c = 5", vec![], false, false),
            ("", vec![], false, false),
            ("a.b.c=5", vec![], false, REMARK),
            ("a.b.c # = 5", vec![], false, REMARK),
            ("a.b.c =5", vec![], FAULT, false),
            ("a.b.c= 5", vec![], FAULT, false),
            ("a.b.c =", vec![], false, REMARK),
            ("a.b.c = 5 6", set("a.b.c", "6"), false, REMARK),
            ("a.b.c = 5 six 7", vec![], FAULT, false),
            ("\u{feff}a.b.c = 5", set("\u{feff}a.b.c", "5"), false, REMARK),
            ("a.b.c = = 5", vec![], FAULT, false),
            ("a.b.c = 5\na.b.c = 6", set("a.b.c", "6"), false, REMARK),
            ("a.b.c\u{a0}= 5", vec![], FAULT, false),
        ] {
            assert_eq!(outcome(line), (pairs, fault, remark), "{line:?}");
        }
    }

    #[test]
    fn faults_and_remarks_know_their_lines() {
        let table = Table::parse("a.b.c = 1\r\n\r\na.b.d=1\na.b.e = x\na.b.f 3\n");
        assert_eq!(table.faults().iter().map(Fault::line).collect::<Vec<_>>(), [4, 5]);
        assert_eq!(table.remarks().iter().map(|remark| remark.line).collect::<Vec<_>>(), [3]);
        assert_eq!(pairs(&table), [("a.b.c", "1")]);
    }

    #[test]
    fn a_comment_behind_a_value_is_explained() {
        let table = Table::parse("a.b.c = 5 # note");
        let text = table.faults()[0].to_string();
        assert!(text.contains("'#'") && text.contains("comment"), "{text}");
    }
}
