//! Documents that somebody else may have written, read.

use lon_proto::text::on_lines;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads a JSON document. Of its texts and keys is kept what can be seen, and line ends.
///
/// # Errors
/// It is no JSON, or another document.
pub fn of_text<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    serde_json::from_value(clean(serde_json::from_str(text)?))
}

fn clean(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(on_lines(&text)),
        Value::Array(values) => values.into_iter().map(clean).collect(),
        Value::Object(keys) => keys.into_iter().map(|(key, value)| (on_lines(&key), clean(value))).collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_seen_does_not_come_in() {
        let text = r#"{"a\u001b": ["x\u0000\u202e\u2028\n", 18446744073709551615, 0.1, null, {"b": "\u0085\u007f"}]}"#;
        let value: Value = of_text(text).unwrap();
        let x = "x\u{fffd}\u{fffd}\u{fffd}\n";
        let right = serde_json::json!({"a\u{fffd}": [x, u64::MAX, 0.1, null, {"b": "\u{fffd}\u{fffd}"}]});
        assert_eq!(value, right);
        assert!(of_text::<Vec<String>>(text).is_err());
    }
}
