//! JSON that a program wrote, read so that what is missing is named together with what is there.

use std::path::Path;

use serde_json::Value;

/// A document, or a part of one.
#[derive(Clone, Debug)]
pub struct Json {
    what: String,
    value: Value,
}

impl Json {
    /// A document with a name.
    ///
    /// # Panics
    /// It is no JSON.
    pub fn parse(what: &str, text: &str) -> Json {
        let value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{what} is no JSON: {error}: {text}"));
        Json { what: what.to_owned(), value }
    }

    /// A file.
    ///
    /// # Panics
    /// It cannot be read, or is no JSON.
    pub fn read(path: &Path) -> Json {
        let what = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Json::parse(&what, &text)
    }

    /// The part at `pointer`, as in `/nodes/0/name`.
    ///
    /// # Panics
    /// There is none.
    pub fn at(&self, pointer: &str) -> Json {
        let value = self.value.pointer(pointer).unwrap_or_else(|| panic!("{}", self.lacks(pointer)));
        Json { what: format!("{}{pointer}", self.what), value: value.clone() }
    }

    /// Nothing is there, or null.
    pub fn is_null(&self, pointer: &str) -> bool {
        self.value.pointer(pointer).is_none_or(Value::is_null)
    }

    /// A count.
    ///
    /// # Panics
    /// There is none.
    pub fn count(&self, pointer: &str) -> u64 {
        self.typed(pointer, "count", Value::as_u64)
    }

    /// A number.
    ///
    /// # Panics
    /// There is none.
    pub fn number(&self, pointer: &str) -> f64 {
        self.typed(pointer, "number", Value::as_f64)
    }

    /// Yes or no.
    ///
    /// # Panics
    /// There is neither.
    pub fn flag(&self, pointer: &str) -> bool {
        self.typed(pointer, "flag", Value::as_bool)
    }

    /// A text.
    ///
    /// # Panics
    /// There is none.
    pub fn text(&self, pointer: &str) -> String {
        self.typed(pointer, "text", |value| value.as_str().map(str::to_owned))
    }

    /// The elements of a list.
    ///
    /// # Panics
    /// There is no list.
    pub fn items(&self, pointer: &str) -> Vec<Json> {
        let count = self.typed(pointer, "list", |value| value.as_array().map(Vec::len));
        (0..count).map(|index| self.at(&format!("{pointer}/{index}"))).collect()
    }

    fn typed<T>(&self, pointer: &str, kind: &str, read: impl Fn(&Value) -> Option<T>) -> T {
        let part = self.at(pointer);
        read(&part.value).unwrap_or_else(|| panic!("{} is no {kind} but {}", part.what, part.value))
    }

    /// Returns an error text: how far `pointer` leads, and the value at that place.
    fn lacks(&self, pointer: &str) -> String {
        let mut ends = pointer.rmatch_indices('/').map(|(end, _)| &pointer[..end]);
        let there = ends.find(|end| self.value.pointer(end).is_some()).unwrap_or("");
        let content = match self.value.pointer(there) {
            Some(Value::Object(object)) => {
                format!("the keys {}", object.keys().cloned().collect::<Vec<_>>().join(", "))
            }
            Some(Value::Array(list)) => format!("{} elements", list.len()),
            other => other.unwrap_or(&Value::Null).to_string(),
        };
        format!("{} has no {pointer}; at '{there}' there is {content}", self.what)
    }
}

impl std::fmt::Display for Json {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.what, self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_what_is_there() {
        let json = Json::parse("report", r#"{"nodes":[{"name":"a","bytes":{"in":1,"out":2.5}}],"none":null}"#);
        assert_eq!((json.count("/nodes/0/bytes/in"), json.number("/nodes/0/bytes/out")), (1, 2.5));
        assert_eq!(json.items("/nodes")[0].text("/name"), "a");
        assert!(json.is_null("/none") && json.is_null("/absent") && !json.is_null("/nodes"));
        assert_eq!(
            json.lacks("/nodes/0/bytes/both"),
            "report has no /nodes/0/bytes/both; at '/nodes/0/bytes' there is the keys in, out"
        );
        assert_eq!(json.lacks("/nodes/1"), "report has no /nodes/1; at '/nodes' there is 1 elements");
    }

    #[test]
    #[should_panic(expected = "report/a is no count but \"x\"")]
    fn what_is_of_another_kind_is_shown() {
        Json::parse("report", r#"{"a":"x"}"#).count("/a");
    }
}
