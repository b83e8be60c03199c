//! Pages of runs and of campaigns in a browser: chromium opens them, wide and narrow, light and dark
//! (`tests/pages/look.py`).

use std::path::PathBuf;
use std::process::Command;

use lon_tests::process::{LoadGen, repository};
use lon_tests::unusual_runs::UnusualRuns;

#[test]
#[ignore = ".ci/run programs"]
fn pages_of_unusual_runs_open_in_a_browser() {
    let runs = UnusualRuns::make();
    look(runs.whole().iter().map(|folder| folder.join("report.html")).collect());
}

#[test]
#[ignore = ".ci/run programs"]
fn the_page_of_a_campaign_opens_in_a_browser() {
    let folder = tempfile::tempdir().unwrap();
    let [file, page] = ["c.toml", "table.html"].map(|name| folder.path().join(name));
    let text = "out = \"out\"\n[run]\nbenchmark = \"digits\"\nscenario = \"MultiStream\"\nmax-lag = \"3600s\"\n\
                settings = { min_duration = \"100ms\", min_query_count = 1 }\n[node]\nbackend = \"null\"\n[axes]\n\
                transport = [\"grpc\", \"tcp\"]\nsettings.samples_per_query = \"1..8 x2\"\n";
    std::fs::write(&file, text).unwrap();
    let [file, page_arg] = [file, page.clone()].map(|path| path.to_str().unwrap().to_owned());
    let finished = LoadGen::run(&["campaign", "run", &file]);
    assert!(matches!(finished.code, Some(0 | 3)), "{finished:?}");
    let table = LoadGen::run(&["campaign", "table", &file, "--html", &page_arg]);
    assert_eq!(table.code, Some(0), "{table:?}");
    look(vec![page]);
}

/// Opens pages by `look.py`, which has to find nothing.
fn look(pages: Vec<PathBuf>) {
    let mut look = Command::new("python3");
    look.arg(repository("tests/pages/look.py")).args(pages);
    if let Some(pictures) = std::env::var_os("LON_TEST_PICTURES") {
        look.arg("--pictures").arg(pictures);
    }
    let looked = look.output().unwrap();
    let output = String::from_utf8_lossy(&looked.stdout).into_owned();
    assert!(looked.status.success(), "{output}{}", String::from_utf8_lossy(&looked.stderr));
    print!("{output}");
}
