//! One row of a trace, and the fields of a line.

/// A row as a format has it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Row<'a> {
    /// The time as it is written.
    pub time: &'a str,
    pub time_ns: u64,
    pub sample: Option<u32>,
    pub tokens_in: Option<u32>,
    pub tokens_out: Option<u32>,
    /// True where the source says that this query failed.
    pub has_failed: bool,
}

/// The fields of a line of CSV, without their quotes. Doubled quotes in a field stay doubled.
pub(super) fn fields(line: &str) -> impl Iterator<Item = &str> {
    let mut tail = Some(line);
    std::iter::from_fn(move || {
        let line = tail?.trim_ascii_start();
        let quoted = line.strip_prefix('"').and_then(|inner| Some((inner, closing(inner)?)));
        let (field, after) = quoted.map_or(("", line), |(inner, end)| (&inner[..end], &inner[end + 1..]));
        let comma = after.bytes().position(|byte| byte == b',');
        tail = comma.map(|at| &after[at + 1..]);
        Some(if quoted.is_some() { field } else { after[..comma.unwrap_or(after.len())].trim_ascii_end() })
    })
}

/// The place of the quote that ends a field; two in a row stand for one of the field.
fn closing(inner: &str) -> Option<usize> {
    let bytes = inner.as_bytes();
    let mut at = 0;
    loop {
        at += inner.get(at..)?.find('"')?;
        match bytes.get(at + 1) {
            Some(b'"') => at += 2,
            _ => return Some(at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_stand_between_commas_that_are_not_quoted() {
        let of = |line| fields(line).collect::<Vec<&str>>();
        assert_eq!(of("a,b,c"), ["a", "b", "c"]);
        assert_eq!(of(" a , ,"), ["a", "", ""]);
        assert_eq!(of(""), [""]);
        assert_eq!(of(r#""a,b",c,"d""#), ["a,b", "c", "d"]);
        assert_eq!(of(r#""say ""a, b""",c"#), [r#"say ""a, b"""#, "c"]);
        assert_eq!(of(r#" " a " , b "#), [" a ", "b"]);
        assert_eq!(of(r#""no end,c"#), [r#""no end"#, "c"]);
    }
}
