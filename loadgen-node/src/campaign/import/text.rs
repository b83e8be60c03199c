//! The file of the campaign: TOML with comments.

use std::fmt::Write as _;

use lon_proto::text::on_one_line;
use toml::Value;

use super::case::{Case, LeftOut};
use crate::keys::key;

/// The lines below the first one.
const CHECK: &str = "\
# `loadgen-node campaign plan FILE` checks it. Paths are those of the configuration; relative ones are from the folder
# of this file.
";
/// The lines between the head and the cases.
const TABLES: &str = "\
# `synthetic` fits any model, and has no scores: a benchmark file of your own has them.
[run]
benchmark = \"synthetic\"
settings.min_duration = 0

# Flags of all nodes. The campaign starts them on this machine, each case with flags of its own.
# DLI takes all physical cores where ThreadCount is not given, a node one thread: node.threads.
[node]
";

/// The text of the file.
pub(super) fn file(file_path: &str, stem: &str, cases: &[Case], others: &[LeftOut]) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(text, "# A campaign that is made of DLI's configuration {}.", on_one_line(file_path));
    text.push_str(CHECK);
    others.iter().for_each(|left_out| text.push_str(&comment(left_out)));
    let _ = write!(text, "out = {}\n\n{TABLES}", quoted(&format!("results/{}", plain(stem))));
    cases.iter().for_each(|case| text.push_str(&table(case)));
    text
}

/// The table of a case. One with work to do is a comment.
fn table(case: &Case) -> String {
    let mark = if case.to_do.is_empty() { "" } else { "# " };
    let mut text = format!("\n# The test in line {}.\n", case.line);
    for what in &case.to_do {
        let _ = writeln!(text, "# To do: {}; then remove the marks of the lines below.", on_one_line(what));
    }
    case.left_out.iter().for_each(|left_out| text.push_str(&comment(left_out)));
    let _ = writeln!(text, "{mark}[[case]]\n{mark}name = {}", quoted(&case.name));
    for (key, value) in &case.keys {
        let value = if let Value::String(text) = value { quoted(text) } else { key::text(value) };
        let _ = writeln!(text, "{mark}{key} = {value}");
    }
    text
}

fn comment(left_out: &LeftOut) -> String {
    let LeftOut { element, value, line, why } = left_out;
    format!("# Left out: {} (line {line}) '{}': {why}.\n", on_one_line(element), on_one_line(value))
}

/// A text of TOML: those of JSON are, too.
fn quoted(text: &str) -> String {
    serde_json::Value::String(on_one_line(text)).to_string()
}

/// The name of a folder: letters, digits and `-_.` stay.
fn plain(stem: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    stem.chars().map(|c| if is_plain(c) { c } else { '-' }).collect()
}
