//! The keys of a JSON Schema as dotted paths.
//!
//! `nodes[].name` is the key `name` of each element of the list `nodes`; `sut.{name}` is a key of an object whose keys
//! are data.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// A table of all keys.
pub(super) fn table(schema: &Value) -> String {
    let mut text = "| key | type | meaning |\n|---|---|---|\n".to_owned();
    Walk { root: schema, rows: &mut text }.keys(schema, "");
    text
}

struct Walk<'a> {
    root: &'a Value,
    rows: &'a mut String,
}

impl Walk<'_> {
    /// The schema that a reference stands for, with the texts beside the reference left out.
    fn followed<'s>(&'s self, schema: &'s Value) -> &'s Value {
        let name = schema.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix("#/$defs/"));
        name.map_or(schema, |name| self.followed(&self.root["$defs"][name]))
    }

    /// The schemas that a value may have, `null` left out, and whether it may be null.
    fn choices(&self, schema: &Value) -> (Vec<Value>, bool) {
        let schema = self.followed(schema);
        let Some(any) = schema.get("anyOf").and_then(Value::as_array) else {
            let types = schema.get("type").and_then(Value::as_array);
            return (vec![schema.clone()], types.is_some_and(|types| types.contains(&"null".into())));
        };
        let (mut choices, mut may_be_null) = (Vec::new(), false);
        for each in any {
            if each.get("type") == Some(&"null".into()) {
                may_be_null = true;
            } else {
                let (more, null) = self.choices(each);
                choices.extend(more);
                may_be_null |= null;
            }
        }
        (choices, may_be_null)
    }

    /// A row for each key below `path`.
    fn keys(&mut self, schema: &Value, path: &str) {
        for choice in self.choices(schema).0 {
            if let Some(properties) = choice.get("properties").and_then(Value::as_object) {
                self.properties(&choice, properties, path);
            }
            if let Some(each) = choice.get("items").filter(|items| items.is_object()) {
                self.keys(each, &format!("{path}[]"));
            }
            if let Some(each) = choice.get("additionalProperties").filter(|each| each.is_object()) {
                self.keys(each, &joined(path, "{name}"));
            }
        }
    }

    fn properties(&mut self, schema: &Value, properties: &Map<String, Value>, path: &str) {
        let required = |key: &str| schema["required"].as_array().is_some_and(|keys| keys.contains(&key.into()));
        for (key, of) in properties {
            let path = joined(path, key);
            let kind = self.kind(of);
            let kind = if required(key) { kind } else { format!("{kind}; may be absent") };
            let text = of.get("description").or_else(|| self.followed(of).get("description"));
            let text = text.and_then(Value::as_str).unwrap_or_default().replace('|', "\\|").replace('\n', " ");
            let _ = writeln!(self.rows, "| `{path}` | {kind} | {text}{} |", self.values(of));
            self.keys(of, &path);
        }
    }

    /// The type of a value in words.
    fn kind(&self, schema: &Value) -> String {
        let (choices, may_be_null) = self.choices(schema);
        let mut kinds: Vec<String> = Vec::new();
        for choice in &choices {
            let kind = self.kind_of_one(choice);
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        let kind = kinds.join(" or ");
        if may_be_null { format!("{kind} or null") } else { kind }
    }

    fn kind_of_one(&self, schema: &Value) -> String {
        let named = match schema.get("type") {
            Some(Value::Array(types)) => types.iter().find(|kind| *kind != "null").and_then(Value::as_str),
            Some(Value::String(kind)) => Some(kind.as_str()),
            _ => schema.get("oneOf").map(|_| "string"),
        };
        match named {
            Some("string") => "text".to_owned(),
            Some("integer") => "whole number".to_owned(),
            Some("number") => "number".to_owned(),
            Some("boolean") => "true or false".to_owned(),
            Some("object") if schema.get("additionalProperties").is_some_and(Value::is_object) => {
                format!("object: {} by name", self.kind(&schema["additionalProperties"]))
            }
            Some("object") => "object".to_owned(),
            Some("array") if schema.get("prefixItems").is_some() => {
                let each = schema["prefixItems"].as_array().into_iter().flatten();
                each.map(|each| self.kind(each)).collect::<Vec<_>>().join(" and ")
            }
            Some("array") => format!("list of {}", self.kind(&schema["items"])),
            _ => "any".to_owned(),
        }
    }

    /// The values that a text may have, each with its meaning.
    fn values(&self, schema: &Value) -> String {
        let (choices, _) = self.choices(schema);
        let mut values = Vec::new();
        for choice in &choices {
            let items = choice.get("items").map(|items| self.values(items)).unwrap_or_default();
            if !items.is_empty() {
                return items;
            }
            for one in choice.get("oneOf").and_then(Value::as_array).into_iter().flatten() {
                let Some(value) = one.get("const").and_then(Value::as_str) else { continue };
                let text = one.get("description").and_then(Value::as_str).unwrap_or_default();
                values.push(format!("`{value}`: {}", text.trim_end_matches('.')));
            }
            for value in choice.get("enum").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
                values.push(format!("`{value}`"));
            }
        }
        if values.is_empty() { String::new() } else { format!(" Values: {}.", values.join("; ")) }
    }
}

fn joined(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

#[test]
fn keys_become_dotted_paths() {
    let schema = serde_json::json!({
        "type": "object", "required": ["nodes"],
        "properties": {
            "nodes": {"description": "The nodes.", "type": "array", "items": {"$ref": "#/$defs/Node"}},
            "by_name": {"type": ["object", "null"], "additionalProperties": {"$ref": "#/$defs/Node"}},
        },
        "$defs": {
            "Node": {"type": "object", "required": ["state"], "properties": {
                "state": {"description": "Its state.", "anyOf": [{"$ref": "#/$defs/State"}, {"type": "null"}]},
            }},
            "State": {"oneOf": [
                {"type": "string", "const": "up", "description": "It answers."},
                {"type": "string", "const": "down", "description": "It is gone."},
            ]},
        },
    });
    let state = "text or null | Its state. Values: `up`: It answers; `down`: It is gone. |";
    let rows = [
        "| `nodes` | list of object | The nodes. |".to_owned(),
        format!("| `nodes[].state` | {state}"),
        "| `by_name` | object: object by name or null; may be absent |  |".to_owned(),
        format!("| `by_name.{{name}}.state` | {state}"),
    ];
    let page = table(&schema);
    // Keys of an object have no order here.
    for row in &rows {
        assert!(page.lines().any(|line| line == row), "no '{row}' in:\n{page}");
    }
    assert_eq!(page.lines().count(), 6, "{page}");
}
