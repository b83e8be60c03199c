//! Pages of runs in a browser: chromium opens them, wide and narrow, light and dark (`tests/pages/look.py`).

use std::process::Command;

use lon_tests::process::repository;
use lon_tests::unusual_runs::UnusualRuns;

#[test]
#[ignore = ".ci/run programs"]
fn pages_of_unusual_runs_open_in_a_browser() {
    let runs = UnusualRuns::make();
    let mut look = Command::new("python3");
    look.arg(repository("tests/pages/look.py")).args(runs.whole().iter().map(|folder| folder.join("report.html")));
    if let Some(pictures) = std::env::var_os("LON_TEST_PICTURES") {
        look.arg("--pictures").arg(pictures);
    }
    let looked = look.output().unwrap();
    let said = String::from_utf8_lossy(&looked.stdout).into_owned();
    assert!(looked.status.success(), "{said}{}", String::from_utf8_lossy(&looked.stderr));
    print!("{said}");
}
