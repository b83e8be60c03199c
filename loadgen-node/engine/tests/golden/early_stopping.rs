//! The early-stopping bounds of the official LoadGen.

use loadgen::judge::early_stopping::min_passing;
use serde_json::Value;

use crate::vectors;

#[test]
fn bounds_are_those_of_the_official_loadgen() {
    let (_, text) = vectors("early_stopping").remove(0);
    let vector: Value = serde_json::from_str(&text).unwrap();
    let entries = vector["entries"].as_array().unwrap();
    assert!(entries.len() >= 29, "{}", entries.len());
    for entry in entries {
        let real = |key: &str| entry[key].as_f64().unwrap();
        let h = min_passing(entry["t"].as_u64().unwrap(), real("p"), real("d"), real("c"));
        assert_eq!(h, entry["h"].as_u64().unwrap(), "{entry}");
    }
}
