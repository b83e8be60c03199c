//! The JSON Schemas of the repository, and documents held against them.
//!
//! What a schema may say is what [`schemars`] makes of our types; a word that is not known here fails the test, so that
//! nothing passes because it was not looked at. CI holds the same documents against the schemas with another
//! implementation (`tests/readers/schemas.py`), which `LON_TEST_DOCUMENTS` collects them for.
//!
//! [`schemars`]: https://graham.cool/schemars

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use lon_run::documents::schemas::KINDS;
use serde_json::{Map, Value};

/// Files of run folders and the names of their schemas.
const FILES: [(&str, &str); 8] = [
    ("result_summary.json", "result_summary"),
    ("network_report.json", "network_report"),
    ("system_desc.json", "system_desc"),
    ("find_peak.json", "find_peak"),
    ("qdl_result.json", "qdl_result"),
    ("submission_step.json", "submission_step"),
    ("audit_result.json", "audit_result"),
    ("mix_result.json", "mix_result"),
];

/// Words that say nothing of whether a document fits.
const WORDS: [&str; 6] = ["$schema", "title", "description", "default", "format", "$defs"];

/// The schema of the repository with this name.
fn schema(name: &str) -> &'static Value {
    static ALL: OnceLock<BTreeMap<&'static str, Value>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let read = |name: &str| {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../loadgen-node/schemas/{name}.json"));
            let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        };
        KINDS.iter().map(|kind| (kind.name, read(kind.name))).collect()
    });
    all.get(name).unwrap_or_else(|| panic!("there is no schema {name}"))
}

/// A document fits one of these schemas.
///
/// # Panics
/// It does not, or is no JSON.
pub fn assert_fits(names: &[&str], text: &str) {
    let document: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{names:?}: {error}: {text}"));
    let faults: Vec<Vec<String>> = names.iter().map(|name| faults(schema(name), &document)).collect();
    let Some(fitting) = faults.iter().position(Vec::is_empty) else {
        panic!("a document fits none of {names:?}: {faults:#?}\n{document:#}");
    };
    collect(names[fitting], text);
}

/// Every document of a run folder fits its schema.
///
/// # Panics
/// One does not.
pub fn assert_folder(folder: &Path) {
    for (file, name) in FILES {
        if let Ok(text) = std::fs::read_to_string(folder.join(file)) {
            assert_fits(&[name], &text);
        }
    }
}

/// The schemas of what a command prints with these arguments; empty where it prints no document.
pub fn printed(args: &[&str]) -> &'static [&'static str] {
    let has = |flag: &str| args.contains(&flag);
    let command: Vec<&str> = args.iter().copied().filter(|arg| !arg.starts_with('-')).take(2).collect();
    match (command.as_slice(), has("--json") || has("--format=json")) {
        // A line for each file.
        (["trace", ..], _) if has("--vector") => &[],
        (["trace", ..], _) => &["trace"],
        (["conf", ..], _) if has("--config-vector") => &["config_cases"],
        (["replay", ..], _) if has("--report-vector") => &["replay"],
        (_, false) => &[],
        (["run", ..], _) if has("--compression=auto") => &["codec_advice"],
        (["run", ..], _) if has("--mix") => &["mix_result"],
        (["run", ..], _) if args.iter().any(|arg| arg.starts_with("--repeat")) => &["repeats"],
        (["demo" | "run" | "show" | "recover", ..], _) => &["result_summary"],
        (["conf", ..], _) => &["conf"],
        // Lines, each a document.
        (["probe", ..], _) if has("--watch") => &[],
        (["probe", ..], _) => &["probe"],
        (["conformance", ..], _) => &["conformance"],
        (["fleet", ..], _) => &["fleet"],
        (["accuracy", ..], _) if has("--scorer") => &["scores"],
        (["accuracy", ..], _) => &["accuracy", "accuracy_subset"],
        (["replay", ..], _) if has("--official") => &["official_replay"],
        (["replay", ..], _) => &["replay"],
        (["compare", ..], _) => &["comparison"],
        (["list", ..], _) => &["run_list"],
        (["infer", ..], _) => &["inferred"],
        (["schema"], _) => &["schema_list"],
        (["audit", ..], _) => &["audit_result"],
        (["dataset", "verify"], _) => &["dataset_verified"],
        (["campaign", "plan"], _) => &["campaign"],
        // Lines, each a document.
        (["campaign", "run"], _) => &[],
        (["campaign", "table"], _) => &["campaign_table"],
        (["campaign", "doctor"], _) => &["campaign_doctor"],
        (["submission", "plan"], _) => &["submission_plan"],
        (["submission", "check"], _) => &["submission_check"],
        (other, true) => panic!("no schema is known of what {other:?} prints"),
    }
}

/// Keeps a document for the other implementation.
fn collect(name: &str, text: &str) {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let Some(folder) = std::env::var_os("LON_TEST_DOCUMENTS") else { return };
    let folder = Path::new(&folder).join(name);
    std::fs::create_dir_all(&folder).expect("LON_TEST_DOCUMENTS can be written to");
    let file = format!("{}-{}.json", std::process::id(), NUMBER.fetch_add(1, Relaxed));
    std::fs::write(folder.join(file), text).expect("LON_TEST_DOCUMENTS can be written to");
}

/// Returns the faults of a document against its schema.
pub fn faults(schema: &Value, document: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    Check { root: schema }.value(schema, document, "", &mut faults);
    faults
}

struct Check<'a> {
    root: &'a Value,
}

impl Check<'_> {
    fn value(&self, schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
        let rules = match schema {
            Value::Bool(true) => return,
            Value::Object(rules) => rules,
            other => return faults.push(format!("{at}: {other} allows nothing")),
        };
        for (rule, rule_value) in rules {
            match rule.as_str() {
                word if WORDS.contains(&word) => {}
                "type" => self.kind(rule_value, value, at, faults),
                "const" if rule_value != value => faults.push(format!("{at}: {value} is not {rule_value}")),
                "enum" if !list(rule_value).contains(value) => {
                    faults.push(format!("{at}: {value} is none of {rule_value}"));
                }
                "const" | "enum" => {}
                "minimum" if value.is_number() && value.as_f64() < rule_value.as_f64() => {
                    faults.push(format!("{at}: {value} is below {rule_value}"));
                }
                "maximum" if value.is_number() && value.as_f64() > rule_value.as_f64() => {
                    faults.push(format!("{at}: {value} is above {rule_value}"));
                }
                "minimum" | "maximum" => {}
                "$ref" => self.value(self.definition(rule_value), value, at, faults),
                "allOf" => list(rule_value).iter().for_each(|schema| self.value(schema, value, at, faults)),
                "anyOf" | "oneOf" => self.choice(rule, list(rule_value), value, at, faults),
                "required" => {
                    let lacks = |key: &&Value| value.is_object() && value.get(key.as_str().unwrap()).is_none();
                    faults.extend(list(rule_value).iter().filter(lacks).map(|key| format!("{at}: no {key}")));
                }
                "properties" | "additionalProperties" => {}
                "items" | "prefixItems" | "minItems" | "maxItems" => {}
                other => panic!("{at}: the word {other} of a schema is not known here"),
            }
        }
        match value {
            Value::Object(keys) => self.keys(rules, keys, at, faults),
            Value::Array(items) => self.items(rules, items, at, faults),
            _ => {}
        }
    }

    fn definition(&self, path: &Value) -> &Value {
        let pointer = path.as_str().and_then(|path| path.strip_prefix('#')).expect("a place in the same schema");
        self.root.pointer(pointer).unwrap_or_else(|| panic!("there is no {path}"))
    }

    fn kind(&self, rule_value: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
        let is = |kind: &Value| match kind.as_str().expect("the name of a type") {
            "null" => value.is_null(),
            "boolean" => value.is_boolean(),
            "string" => value.is_string(),
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            other => panic!("{at}: there is no type {other}"),
        };
        let fits = rule_value.as_array().map_or_else(|| is(rule_value), |kinds| kinds.iter().any(is));
        if !fits {
            faults.push(format!("{at}: {value} is no {rule_value}"));
        }
    }

    fn choice(&self, rule: &str, choices: &[Value], value: &Value, at: &str, faults: &mut Vec<String>) {
        let of = |schema: &Value| {
            let mut faults = Vec::new();
            self.value(schema, value, at, &mut faults);
            faults
        };
        let tried: Vec<Vec<String>> = choices.iter().map(of).collect();
        let fitting = tried.iter().filter(|faults| faults.is_empty()).count();
        if fitting == 0 || (rule == "oneOf" && fitting > 1) {
            faults.push(format!("{at}: {fitting} of {} choices fit: {tried:?}", choices.len()));
        }
    }

    fn keys(&self, rules: &Map<String, Value>, keys: &Map<String, Value>, at: &str, faults: &mut Vec<String>) {
        let properties = rules.get("properties").and_then(Value::as_object);
        for (key, value) in keys {
            let place = format!("{at}/{key}");
            match (properties.and_then(|properties| properties.get(key)), rules.get("additionalProperties")) {
                (Some(schema), _) | (None, Some(schema)) => self.value(schema, value, &place, faults),
                (None, None) => {}
            }
        }
    }

    fn items(&self, rules: &Map<String, Value>, items: &[Value], at: &str, faults: &mut Vec<String>) {
        let first = rules.get("prefixItems").map(list).unwrap_or_default();
        let length = items.len() as u64;
        let bound = |rule: &str| rules.get(rule).and_then(Value::as_u64);
        if bound("minItems").is_some_and(|least| length < least) || bound("maxItems").is_some_and(|most| length > most)
        {
            faults.push(format!("{at}: {length} items"));
        }
        for (number, item) in items.iter().enumerate() {
            if let Some(schema) = first.get(number).or_else(|| rules.get("items")) {
                self.value(schema, item, &format!("{at}/{number}"), faults);
            }
        }
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_does_not_fit_is_found() {
        let schema = json!({
            "$defs": { "Word": { "type": "string", "enum": ["a", "b"] } },
            "type": "object",
            "properties": {
                "schema": { "type": "integer", "const": 1, "minimum": 0 },
                "word": { "anyOf": [{ "$ref": "#/$defs/Word" }, { "type": "null" }] },
                "pair": { "type": "array", "prefixItems": [{ "type": "string" }], "items": { "type": "number" },
                          "minItems": 2, "maxItems": 2 },
            },
            "required": ["schema"],
            "additionalProperties": false,
        });
        let good = json!({ "schema": 1, "word": null, "pair": ["x", 2.5] });
        assert_eq!(faults(&schema, &good), [""; 0]);
        for (bad, word) in [
            (json!({}), "no \"schema\""),
            (json!({ "schema": 2 }), "/schema: 2 is not 1"),
            (json!({ "schema": "1" }), "no \"integer\""),
            (json!({ "schema": -1 }), "below"),
            (json!({ "schema": 1, "word": "c" }), "/word: 0 of 2 choices"),
            (json!({ "schema": 1, "pair": ["x"] }), "/pair: 1 items"),
            (json!({ "schema": 1, "pair": [1, 2] }), "/pair/0"),
            (json!({ "schema": 1, "more": 1 }), "allows nothing"),
            (json!([]), "no \"object\""),
        ] {
            let problems = faults(&schema, &bad);
            assert!(problems.iter().any(|fault| fault.contains(word)), "{bad}: {problems:?}");
        }
    }

    #[test]
    #[should_panic(expected = "the word pattern")]
    fn a_word_that_is_not_known_is_no_pass() {
        faults(&json!({ "pattern": "a" }), &json!("b"));
    }
}
