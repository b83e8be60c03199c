//! Summary file and result keys of the official LoadGen for given latencies.

use loadgen::vectors::replay_report;

use crate::{as_json, expected, vectors};

#[test]
fn reports_are_those_of_the_official_loadgen() {
    let vectors = vectors("report_");
    assert_eq!(vectors.len(), 9);
    for (name, text) in vectors {
        let expected = expected(&text);
        let actual = as_json(&replay_report(&text).unwrap_or_else(|error| panic!("{name}: {error}")));
        let lines = |report: &serde_json::Value| {
            report["summary"].as_str().unwrap().split('\n').map(str::to_owned).collect::<Vec<_>>()
        };
        for (ours, theirs) in lines(&actual).iter().zip(&lines(&expected)) {
            assert_eq!(ours, theirs, "{name}");
        }
        assert_eq!(actual, expected, "{name}");
    }
}
