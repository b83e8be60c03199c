//! Tests with the loaded sets, queries, schedules and logged samples of the official LoadGen.

use loadgen::vectors::trace;

use crate::{as_json, expected, vectors};

#[test]
fn traffic_is_that_of_the_official_loadgen() {
    let vectors = vectors("v");
    assert_eq!(vectors.len(), 16);
    for (name, text) in vectors {
        let expected = expected(&text);
        let actual = as_json(&trace(&text, true).unwrap_or_else(|error| panic!("{name}: {error}")));
        for (number, (ours, theirs)) in
            actual["phases"].as_array().unwrap().iter().zip(expected["phases"].as_array().unwrap()).enumerate()
        {
            for (key, value) in theirs.as_object().unwrap() {
                assert_eq!(&ours[key], value, "{name}, phase {number}, {key}");
            }
        }
        assert_eq!(actual, expected, "{name}");
    }
}

#[test]
fn full_lists_are_what_the_digests_are_of() {
    let (_, text) = vectors("v13").remove(0);
    let full = as_json(&trace(&text, false).unwrap());
    let digest = &expected(&text)["phases"][0]["sample_indices"];
    let list = full["phases"][0]["sample_indices"].as_array().unwrap();
    assert_eq!(list.len() as u64, digest["count"].as_u64().unwrap());
    assert_eq!(list[..16], digest["first16"].as_array().unwrap()[..]);
}
