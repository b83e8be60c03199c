//! Names of cells, made of what varies. They are names of folders.

use sha2::{Digest as _, Sha256};
use toml::Value;

use crate::keys::key::{Key, text};

/// The name of a cell where nothing varies.
const ALONE: &str = "cell";
/// The longest name, in bytes. Of a longer one the begin is kept, and a checksum of the whole.
const LONGEST: usize = 120;
/// Digits of the checksum.
const SUM_DIGITS: usize = 8;

/// The names of cells, in order: `two-nodes+transport=tcp+max-batch=8`. Names that would be equal have checksums.
pub(super) fn names<'a>(cells: impl Iterator<Item = (Option<&'a str>, &'a [(Key, Value)])>) -> Vec<String> {
    let all: Vec<(String, String)> = cells.map(|(case, varied)| (whole(case, varied), plain(case, varied))).collect();
    let is_unique = |at: usize| all.iter().filter(|(_, plain)| *plain == all[at].1).count() == 1;
    let name = |at: usize| {
        let (whole, plain) = &all[at];
        match plain.len() <= LONGEST && is_unique(at) {
            true => plain.clone(),
            false => {
                let sum = hex::encode(Sha256::digest(whole));
                let begin: String = plain.chars().take(LONGEST - SUM_DIGITS - 1).collect();
                format!("{begin}~{}", &sum[..SUM_DIGITS])
            }
        }
    };
    (0..all.len()).map(name).collect()
}

/// All keys and values without a loss.
fn whole(case: Option<&str>, varied: &[(Key, Value)]) -> String {
    let pairs: Vec<String> = varied.iter().map(|(key, value)| format!("{key}={}", text(value))).collect();
    format!("{case:?} {}", pairs.join("\n"))
}

fn plain(case: Option<&str>, varied: &[(Key, Value)]) -> String {
    let is_ambiguous = |key: &Key| varied.iter().filter(|(other, _)| other.short() == key.short()).count() > 1;
    let part = |(key, value): &(Key, Value)| {
        let key = if is_ambiguous(key) { key.to_string() } else { key.short().to_owned() };
        format!("{}={}", file_name(&key), file_name(&text(value)))
    };
    let parts: Vec<String> = case.map(file_name).into_iter().chain(varied.iter().map(part)).collect();
    if parts.is_empty() { ALONE.to_owned() } else { parts.join("+") }
}

/// Letters, digits and `-_.` stay; everything else becomes `-`. No name begins with a dot.
fn file_name(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let name: String = text.chars().map(|c| if is_plain(c) { c } else { '-' }).collect();
    name.strip_prefix('.').map_or(name.clone(), |end| format!("-{end}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The name of a case, and the keys that vary with their values.
    type Cell<'a, K> = (Option<&'a str>, Vec<(K, Value)>);
    type Typed<'a> = (Option<&'a str>, &'a [(&'a str, Value)]);

    fn named(cells: &[Typed<'_>]) -> Vec<String> {
        let cells: Vec<Cell<'_, Key>> = cells
            .iter()
            .map(|(case, varied)| {
                let varied = varied.iter().map(|(key, value)| (Key::read(key).unwrap(), value.clone()));
                (*case, varied.collect())
            })
            .collect();
        names(cells.iter().map(|(case, varied)| (*case, varied.as_slice())))
    }

    #[test]
    fn names_are_made_of_what_varies() {
        let varied = [("transport", Value::from("tcp")), ("node.max-batch", Value::from(8))];
        assert_eq!(named(&[(Some("two nodes"), &varied)]), ["two-nodes+transport=tcp+max-batch=8"]);
        assert_eq!(named(&[(None, &[])]), ["cell"]);
        let both = [("priority", Value::from("normal")), ("node.priority", Value::from("auto"))];
        assert_eq!(named(&[(None, &both)]), ["priority=normal+node.priority=auto"]);
        assert_eq!(named(&[(Some("../x"), &[])]), ["-.-x"]);
    }

    #[test]
    fn names_that_would_be_equal_or_long_have_checksums() {
        let [one, other] = ["zstd:3", "zstd-3"].map(|codec| [("compression", Value::from(codec))]);
        let names = named(&[(None, &one), (None, &other)]);
        assert!(names.iter().all(|name| name.starts_with("compression=zstd-3~")), "{names:?}");
        assert_ne!(names[0], names[1]);
        let long = [("note", Value::from("a".repeat(300)))];
        assert_eq!(named(&[(None, &long)])[0].len(), LONGEST);
    }
}
