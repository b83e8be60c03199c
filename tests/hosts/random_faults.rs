//! Two minutes of everything at once; see [`lon_tests::nemesis`]. `LON_NEMESIS_SECONDS`, `LON_NEMESIS_SEED` and
//! `LON_NEMESIS_FOLDER` (which is kept) say how long, from which seed, and where.

use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lon_tests::nemesis::disturb;
use lon_tests::process::binary;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

#[test]
#[ignore = ".ci/run nemesis"]
fn whatever_happens_no_result_is_valid_that_should_not_be() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let seed = number("LON_NEMESIS_SEED").unwrap_or(now.as_secs());
    let lasts = Duration::from_secs(number("LON_NEMESIS_SECONDS").unwrap_or(120));
    println!("LON_NEMESIS_SEED={seed}, {lasts:?}");
    let tempdir = tempfile::tempdir().unwrap();
    let folder_variable = std::env::var_os("LON_NEMESIS_FOLDER");
    let folder = folder_variable.map_or_else(|| tempdir.path().join("nemesis"), std::path::PathBuf::from);
    disturb(&folder, seed, lasts);
    let checked = Command::new(binary("nemesis-check")).arg(&folder).output().unwrap();
    let output = String::from_utf8_lossy(&checked.stdout);
    println!("{output}");
    assert!(checked.status.success(), "LON_NEMESIS_SEED={seed}: {output}");
}
