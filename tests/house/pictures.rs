//! The pictures of arrivals in the guide are those that the program draws. `LON_BLESS=1` draws them anew.

use std::fs;
use std::process::Command;

use lon_tests::process::{binary, repository};
use tempfile::TempDir;

const FOLDER: &str = "docs/pictures";

/// Name of each picture, and the flags of `trace` that draw it.
const PICTURES: [(&str, &[&str]); 9] = [
    ("single-stream", &["--scenario", "SingleStream", "--set", "min_duration=1s,min_query_count=1"]),
    ("multi-stream", &["--scenario", "MultiStream", "--set", "min_duration=1s,min_query_count=1"]),
    ("server", &["--scenario", "Server", "--set", "target_qps=150,min_duration=2s,min_query_count=1"]),
    ("offline", &["--scenario", "Offline", "--set", "target_qps=400,min_duration=1s,min_query_count=1"]),
    (
        "burst",
        &["--scenario", "Burst", "--set", "burst_size=40,burst_interval=250ms,min_duration=2s,min_query_count=1"],
    ),
    (
        "closed",
        &[
            "--scenario",
            "Closed",
            "--set",
            "concurrency=8,think_time=30ms,min_duration=1s,min_query_count=1,most_qps=500",
        ],
    ),
    (
        "server-gamma",
        &[
            "--scenario",
            "Server",
            "--set",
            "target_qps=150,min_duration=2s,min_query_count=1",
            "--arrivals",
            "gamma:cv=3",
        ],
    ),
    (
        "server-onoff",
        &[
            "--scenario",
            "Server",
            "--set",
            "min_duration=3s,min_query_count=1",
            "--arrivals",
            "onoff:high=500,low=20,mean-high=200ms,mean-low=500ms",
        ],
    ),
    (
        "server-sine",
        &[
            "--scenario",
            "Server",
            "--set",
            "min_duration=4s,min_query_count=1",
            "--arrivals",
            "sine:mean=150,amplitude=140,period=2s",
        ],
    ),
];

#[test]
fn pictures_of_the_guide_are_drawn_by_the_program() {
    let folder = TempDir::new().unwrap();
    let picture = folder.path().join("drawn.svg");
    let mut faults = Vec::new();
    for (name, flags) in PICTURES {
        let output = Command::new(binary("loadgen-node"))
            .args(["trace", "--benchmark", "digits", "--picture"])
            .arg(&picture)
            .args(flags)
            .output()
            .unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let svg = fs::read_to_string(&picture).unwrap();
        let path = repository(FOLDER).join(format!("{name}.svg"));
        if std::env::var_os("LON_BLESS").is_some() {
            fs::write(&path, &svg).unwrap();
        }
        if fs::read_to_string(&path).unwrap_or_default() != svg {
            faults.push(format!("{FOLDER}/{name}.svg is another picture (LON_BLESS=1 draws it)"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
