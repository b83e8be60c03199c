//! Round v0.5: traffic, intervals, verdicts, searches, settings and accuracy logs of its LoadGen, and published logs.

use loadgen::v05::vectors::check;
use serde_json::Value;

use crate::jsonl;

/// The kinds of cases, and how many there are of each.
const KINDS: [(&str, usize); 7] = [
    ("traffic", 87),
    ("intervals", 17),
    ("judging", 31),
    ("search", 11),
    ("config", 22),
    ("accuracylog", 4),
    ("official", 9),
];

fn name(case: &str) -> String {
    serde_json::from_str::<Value>(case).unwrap()["name"].as_str().unwrap().to_owned()
}

#[test]
fn all_cases_are_equal() {
    let mut faults = Vec::new();
    for (kind, count) in KINDS {
        let cases = jsonl("v05", kind);
        assert_eq!(cases.len(), count, "{kind}");
        for case in cases {
            match check(&case) {
                Ok(None) => {}
                Ok(Some(difference)) => faults.push(format!("{}: {difference}", name(&case))),
                Err(error) => faults.push(format!("{}: {error}", name(&case))),
            }
        }
    }
    assert!(faults.is_empty(), "{} cases:\n{}", faults.len(), faults.join("\n"));
}

/// The values in a document, as JSON pointers.
fn leaves(value: &Value, pointer: &str, pointers: &mut Vec<String>) {
    match value {
        Value::Object(named) => {
            named.iter().for_each(|(name, value)| leaves(value, &format!("{pointer}/{name}"), pointers));
        }
        Value::Array(row) => {
            row.iter().enumerate().for_each(|(i, value)| leaves(value, &format!("{pointer}/{i}"), pointers));
        }
        _ => pointers.push(pointer.to_owned()),
    }
}

fn altered(value: &Value) -> Value {
    match value {
        Value::Null => 0.into(),
        Value::Bool(flag) => (!flag).into(),
        Value::Number(number) => {
            number.as_u64().map_or_else(|| (number.as_f64().unwrap() + 1.0).into(), |n| (n ^ 1).into())
        }
        _ => Value::from(format!("{}x", value.as_str().unwrap())),
    }
}

#[test]
fn an_altered_value_is_found_where_it_is() {
    for (kind, _) in KINDS {
        for case in jsonl("v05", kind) {
            let document: Value = serde_json::from_str(&case).unwrap();
            let mut pointers = Vec::new();
            // `JSON pointers` escape what the names of these documents do not have.
            for part in ["test_settings", "effective", "measured", "expected"] {
                let is_stated = part != "test_settings" || kind != "official";
                document
                    .get(part)
                    .filter(|_| is_stated)
                    .iter()
                    .for_each(|stated| leaves(stated, &format!("/{part}"), &mut pointers));
            }
            pointers.retain(|pointer| document.pointer(pointer).is_some());
            for pointer in [&pointers[0], &pointers[pointers.len() / 2], &pointers[pointers.len() - 1]] {
                let mut document = document.clone();
                let value = document.pointer_mut(pointer).unwrap();
                *value = altered(value);
                let difference = check(&document.to_string()).unwrap();
                let difference = difference.unwrap_or_else(|| panic!("{}: {pointer} may be anything", name(&case)));
                let part = pointer.split('/').nth(1).unwrap();
                assert!(difference.path.starts_with(part), "{}: {pointer}: {difference}", name(&case));
            }
        }
    }
}
