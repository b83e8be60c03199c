//! Facts: computed values in the shape in which documents state them, and the first difference between the two.

use std::fmt;
use std::rc::Rc;

use serde_json::{Map, Value};

use super::lists::List;

/// Longest text of a value that a difference shows.
const SHOWN: usize = 200;

/// A computed fact.
#[derive(Clone, Debug)]
pub(super) enum Fact {
    /// A value, which is stated whole.
    Is(Value),
    /// A value that is stated in one of several ways.
    AnyOf(Vec<Value>),
    /// Facts by name; a document may leave some out.
    Some(Vec<(&'static str, Fact)>),
    /// Facts by name, all of them, no others.
    All(Vec<(String, Fact)>),
    /// Facts in a row, all of them.
    Row(Vec<Fact>),
    /// A list, which is stated whole.
    Whole(Rc<List>),
    /// A list, the beginning of which is stated.
    Begins(Rc<List>),
    /// A list, the end of which is stated.
    Ends(Rc<List>),
    /// A log: the number of its entries, the last id, its beginning, its digest. It may have been cut at its end.
    Log(Rc<List>),
    /// One of these words; which one depends on measurements that the document lacks.
    OneOf(&'static [&'static str]),
}

impl Fact {
    pub(super) fn is(value: impl Into<Value>) -> Self {
        Self::Is(value.into())
    }

    /// Lines with labels, all of them.
    pub(super) fn lines(lines: &[(String, String)]) -> Self {
        Self::All(lines.iter().map(|(label, value)| (label.clone(), Self::is(value.as_str()))).collect())
    }

    /// The fields of an object, all of them.
    pub(super) fn fields(fields: Map<String, Value>) -> Self {
        Self::All(fields.into_iter().map(|(name, value)| (name, Self::Is(value))).collect())
    }

    /// The first difference from what is stated, in the order of the document.
    pub(super) fn difference(&self, stated: &Value, path: &str) -> Option<Difference> {
        match (self, stated) {
            (Self::Is(value), _) => {
                (!same(stated, value)).then(|| Difference::new(path, text_of(stated), text_of(value)))
            }
            (Self::AnyOf(values), _) if values.iter().any(|value| same(stated, value)) => None,
            (Self::Some(facts), Value::Object(named)) => named.iter().find_map(|(name, stated)| {
                let fact = facts.iter().find(|(other, _)| other == name).map(|(_, fact)| fact);
                of_name(fact, stated, &format!("{path}.{name}"))
            }),
            (Self::All(facts), Value::Object(named)) => {
                let fact = |name: &str| facts.iter().find(|(other, _)| other == name).map(|(_, fact)| fact);
                let differs = named.iter().find_map(|(name, stated)| of_name(fact(name), stated, &at(path, name)));
                let left_out = || facts.iter().find(|(name, _)| !named.contains_key(name));
                differs.or_else(|| {
                    left_out().map(|(name, fact)| Difference::new(&at(path, name), NOTHING.into(), fact.text()))
                })
            }
            (Self::Row(facts), Value::Array(row)) => {
                let pairs = facts.iter().zip(row).enumerate();
                let differs =
                    { pairs }.find_map(|(i, (fact, stated))| fact.difference(stated, &format!("{path}[{i}]")));
                differs.or_else(|| lengths(path, row.len(), facts.len()))
            }
            (Self::Whole(list), Value::Array(row)) => {
                elements(list, row, 0, path).or_else(|| lengths(path, row.len(), list.len()))
            }
            (Self::Begins(list), Value::Array(row)) => elements(list, row, 0, path),
            (Self::Ends(list), Value::Array(row)) => match list.len().checked_sub(row.len()) {
                Some(from) => elements(list, row, from, path),
                None => lengths(path, row.len(), list.len()),
            },
            (Self::Log(log), Value::Object(named)) => {
                let entries =
                    named.get("entries").and_then(Value::as_u64).and_then(|count| usize::try_from(count).ok());
                of_log(&log.first(entries.unwrap_or(log.len()))).difference(stated, path)
            }
            (Self::OneOf(words), Value::String(word)) if words.contains(&word.as_str()) => None,
            _ => Some(Difference::new(path, text_of(stated), self.text())),
        }
    }

    /// The fact in words, for a difference.
    fn text(&self) -> String {
        match self {
            Self::Is(value) => text_of(value),
            Self::AnyOf(values) => values.iter().map(text_of).collect::<Vec<_>>().join(" or "),
            Self::Some(_) | Self::All(_) | Self::Log(_) => "an object".to_owned(),
            Self::Row(facts) => format!("a list of {} elements", facts.len()),
            Self::Whole(list) | Self::Begins(list) | Self::Ends(list) => format!("a list of {} elements", list.len()),
            Self::OneOf(words) => words.join(" or "),
        }
    }
}

/// The statements on a log.
fn of_log(log: &List) -> Fact {
    let last = log.get(log.len().wrapping_sub(1)).and_then(|pair| pair.get(0).cloned());
    Fact::Some(vec![
        ("entries", Fact::is(log.len())),
        ("last_seq_id", Fact::is(last)),
        ("pairs_first", Fact::Begins(Rc::new(log.clone()))),
        ("pairs_sha256", Fact::is(log.sha256())),
    ])
}

/// The words for a fact or a statement that is missing.
const NOTHING: &str = "nothing";

fn of_name(fact: Option<&Fact>, stated: &Value, path: &str) -> Option<Difference> {
    match fact {
        Some(fact) => fact.difference(stated, path),
        None => Some(Difference::new(path, text_of(stated), NOTHING.to_owned())),
    }
}

/// The path of a name; names that are no single word are in quotation marks.
fn at(path: &str, name: &str) -> String {
    let is_word = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if is_word { format!("{path}.{name}") } else { format!("{path}[{name:?}]") }
}

fn elements(list: &List, row: &[Value], from: usize, path: &str) -> Option<Difference> {
    row.iter().enumerate().find_map(|(i, stated)| {
        let computed = list.get(from + i);
        let is_same = computed.as_ref().is_some_and(|computed| same(stated, computed));
        let computed = || computed.as_ref().map_or_else(|| NOTHING.to_owned(), text_of);
        (!is_same).then(|| Difference::new(&format!("{path}[{i}]"), text_of(stated), computed()))
    })
}

fn lengths(path: &str, stated: usize, computed: usize) -> Option<Difference> {
    let size_text = |count| format!("{count} elements");
    (stated != computed).then(|| Difference::new(path, size_text(stated), size_text(computed)))
}

/// Equality of two values; of numbers by their value, not by their writing.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(a), Value::Number(b)) => match (a.as_u64(), b.as_u64()) {
            (Some(a), Some(b)) => a == b,
            _ => a.as_f64() == b.as_f64(),
        },
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        _ => one == other,
    }
}

fn text_of(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{} ...", &text[..end]),
        None => text,
    }
}

/// The first place at which a document differs from what was computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The place in the document, such as `expected.series[0].issued_queries`.
    pub path: String,
    /// The value there, as JSON, or in words.
    pub stated: String,
    /// The computed value.
    pub computed: String,
}

impl Difference {
    fn new(path: &str, stated: String, computed: String) -> Self {
        Self { path: path.to_owned(), stated, computed }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {} in the file, {} as computed", self.path, self.stated, self.computed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(fact: &Fact, stated: &str) -> Option<(String, String, String)> {
        let stated = serde_json::from_str(stated).unwrap();
        fact.difference(&stated, "e").map(|mismatch| (mismatch.path, mismatch.stated, mismatch.computed))
    }

    fn at(path: &str, stated: &str, computed: &str) -> Option<(String, String, String)> {
        Some((path.to_owned(), stated.to_owned(), computed.to_owned()))
    }

    #[test]
    fn numbers_are_what_they_are() {
        assert_eq!(difference(&Fact::is(100.0), "100"), None);
        assert_eq!(difference(&Fact::is(u64::MAX), "18446744073709551615"), None);
        assert_eq!(difference(&Fact::is(u64::MAX), "18446744073709551614").unwrap().0, "e");
        assert_eq!(difference(&Fact::is(0.1), "0.10000000000000002"), at("e", "0.10000000000000002", "0.1"));
        assert_eq!(difference(&Fact::is("1"), "1"), at("e", "1", "\"1\""));
    }

    #[test]
    fn a_document_may_state_some_facts_but_no_unknown_one() {
        let facts = Fact::Some(vec![("a", Fact::is(1)), ("b", Fact::is(2))]);
        assert_eq!(difference(&facts, r#"{"b": 2}"#), None);
        assert_eq!(difference(&facts, r#"{"b": 3, "a": 9}"#), at("e.b", "3", "2"));
        assert_eq!(difference(&facts, r#"{"c": 3}"#), at("e.c", "3", "nothing"));
        assert_eq!(difference(&facts, "7"), at("e", "7", "an object"));
    }

    #[test]
    fn lines_are_stated_all_or_differ() {
        let lines = Fact::lines(&[("Mode".to_owned(), "x".to_owned()), ("Result is".to_owned(), "y".to_owned())]);
        assert_eq!(difference(&lines, r#"{"Result is": "y", "Mode": "x"}"#), None);
        assert_eq!(difference(&lines, r#"{"Mode": "x"}"#), at("e[\"Result is\"]", "nothing", "\"y\""));
        assert_eq!(difference(&lines, r#"{"Mode": "x", "Q": "y"}"#), at("e.Q", "\"y\"", "nothing"));
    }

    #[test]
    fn lists_differ_at_an_element_or_in_length() {
        let list = Rc::new(List::Numbers(vec![4, 5, 6]));
        assert_eq!(difference(&Fact::Whole(list.clone()), "[4, 5, 6]"), None);
        assert_eq!(difference(&Fact::Whole(list.clone()), "[4, 5]"), at("e", "2 elements", "3 elements"));
        assert_eq!(difference(&Fact::Whole(list.clone()), "[4, 9, 6]"), at("e[1]", "9", "5"));
        assert_eq!(difference(&Fact::Begins(list.clone()), "[4, 5]"), None);
        assert_eq!(difference(&Fact::Begins(list.clone()), "[4, 5, 6, 7]"), at("e[3]", "7", "nothing"));
        assert_eq!(difference(&Fact::Ends(list.clone()), "[5, 6]"), None);
        assert_eq!(difference(&Fact::Ends(list), "[3, 4, 5, 6]"), at("e", "4 elements", "3 elements"));
        let row = Fact::Row(vec![Fact::is(1), Fact::is(2)]);
        assert_eq!(difference(&row, "[1, 3]"), at("e[1]", "3", "2"));
        assert_eq!(difference(&row, "[1]"), at("e", "1 elements", "2 elements"));
    }

    #[test]
    fn a_log_may_be_cut_at_its_end() {
        let log = Fact::Log(Rc::new(List::Log(vec![(4, 1), (7, 2), (9, 3)])));
        let digest = |pairs| List::Numbers(pairs).sha256();
        let cut = format!(r#"{{"entries": 2, "last_seq_id": 7, "pairs_sha256": "{}"}}"#, digest(vec![4, 1, 7, 2]));
        assert_eq!(difference(&log, &cut), None);
        assert_eq!(difference(&log, &cut.replace(": 2", ": 1")).unwrap().0, "e.last_seq_id");
        assert_eq!(difference(&log, &cut.replace(": 2", ": 4")), at("e.entries", "4", "3"));
        assert_eq!(difference(&log, r#"{"pairs_first": [[4, 1], [7, 3]]}"#), at("e.pairs_first[1]", "[7,3]", "[7,2]"));
    }

    #[test]
    fn words_that_depend_on_measurements_are_one_of_some() {
        let words = Fact::OneOf(&["Yes", "NO"]);
        assert_eq!(difference(&words, "\"NO\""), None);
        assert_eq!(difference(&words, "\"No\""), at("e", "\"No\"", "Yes or NO"));
    }
}
