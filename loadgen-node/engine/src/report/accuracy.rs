//! The accuracy log, one entry at a time, so that it can be written while the run goes on.
//!
//! A file is [`OPEN`], the entries, [`CLOSE`].

use std::fmt::Write;

use crate::run::AccuracyEntry;

/// The text with which the accuracy log begins.
pub const OPEN: &str = "[";

/// The text with which the accuracy log ends, with or without entries.
pub const CLOSE: &str = "\n]\n";

/// Appends an entry to `out`, with the separator before it; `first` is true for the first entry of the file.
pub fn push_entry(out: &mut String, first: bool, entry: &AccuracyEntry<'_>) {
    let separator = if first { "\n" } else { ",\n" };
    // Writing to a String cannot fail.
    let _ = write!(out, "{separator}{{ \"seq_id\" : {}, \"qsl_idx\" : {}, \"data\" : \"", entry.seq.0, entry.index.0);
    push_hex(out, entry.data);
    out.push('"');
    if let Some(token_data) = entry.token_data {
        out.push_str(", \"token_data\" : \"");
        push_hex(out, token_data);
        out.push('"');
    }
    if let Some(count) = entry.token_count {
        let _ = write!(out, ", \"token_count\" : {count}");
    }
    out.push_str(" }");
}

/// Appends bytes as hexadecimal digits. The crate `hex` would need a text of its own for each answer, and this is
/// called while queries are due.
fn push_hex(out: &mut String, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.reserve(2 * bytes.len());
    for byte in bytes {
        out.push(char::from(DIGITS[usize::from(byte >> 4)]));
        out.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::{SampleIndex, SampleSeq};

    fn entry<'a>(seq: u64, data: &'a [u8]) -> AccuracyEntry<'a> {
        AccuracyEntry { seq: SampleSeq(seq), index: SampleIndex(2), data, token_data: None, token_count: None }
    }

    #[test]
    fn entries_have_the_official_form() {
        let mut text = OPEN.to_owned();
        push_entry(&mut text, true, &entry(0, &[0x0e, 0x00]));
        let tokens = AccuracyEntry { token_data: Some(&[0xf2, 0xab]), token_count: Some(5), ..entry(1, &[]) };
        push_entry(&mut text, false, &tokens);
        text.push_str(CLOSE);
        assert_eq!(
            text,
            "[\n{ \"seq_id\" : 0, \"qsl_idx\" : 2, \"data\" : \"0E00\" },\n{ \"seq_id\" : 1, \"qsl_idx\" : 2, \
             \"data\" : \"\", \"token_data\" : \"F2AB\", \"token_count\" : 5 }\n]\n"
        );
        assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok());
    }
}
