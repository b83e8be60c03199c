//! Readers of others: pyarrow reads the Parquet of an export, and Python computes DLI's numbers from exported samples.
//! `LON_TEST_READERS` is a python3 that has what `tests/readers/requirements.txt` names.

use std::process::Command;

use lon_tests::export::recorded;
use lon_tests::process::{LoadGen, repository};

#[test]
#[ignore = ".ci/run programs"]
fn others_read_the_same_of_parquet_as_of_csv() {
    let python = std::env::var_os("LON_TEST_READERS").expect("LON_TEST_READERS is a python3 with pyarrow");
    let (folder, _) = recorded("Offline", "min_duration=1000,min_query_count=1,target_qps=300000");
    let at = |name: &str| folder.path.join(name).to_str().unwrap().to_owned();
    for form in ["csv", "parquet"] {
        let finished = LoadGen::run(&["export", folder.arg(), "--to", form, "--out", &at(form)]);
        assert_eq!(finished.code, Some(0), "{finished:?}");
    }
    let script = repository("tests/readers/parquet.py");
    let compared = Command::new(python).arg(script).args([at("parquet"), at("csv")]).output().unwrap();
    let output = String::from_utf8_lossy(&compared.stdout).into_owned();
    assert!(compared.status.success(), "{output}{}", String::from_utf8_lossy(&compared.stderr));
    print!("{output}");
    let head = std::fs::read_to_string(at("csv")).unwrap().lines().next().unwrap().split(',').count();
    let columns = format!("groups, {head} columns");
    assert!(output.contains(&columns) && !output.contains("in 1 groups"), "{output}");
}

#[test]
#[ignore = ".ci/run programs"]
fn the_table_of_dli_is_what_python_computes_from_exported_samples() {
    let python = std::env::var_os("LON_TEST_READERS").expect("LON_TEST_READERS is a python3");
    let above = tempfile::tempdir().unwrap();
    let file = above.path().join("dli.toml");
    let text = "out = \"out\"\n[run]\nbenchmark = \"digits\"\nmax-lag = \"3600s\"\n\
                settings = { min_duration = \"500ms\", min_query_count = 200 }\n[node]\n\
                backend = \"synthetic:base=300us,per_sample=100us\"\nmax-batch = 4\n[axes]\n\
                scenario = [\"SingleStream\", \"MultiStream\", \"Offline\"]\n";
    std::fs::write(&file, text).unwrap();
    let call = |args: &[&str]| LoadGen::run(&[&["campaign"], args, &[file.to_str().unwrap()]].concat());
    let finished = call(&["run"]);
    assert!(matches!(finished.code, Some(0 | 3)), "{finished:?}");
    let table = call(&["table", "--dli"]);
    assert_eq!(table.stdout.lines().filter(|line| line.starts_with("Success;")).count(), 3, "{table:?}");
    let at = |name: &str| above.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(at("table.csv"), &table.stdout).unwrap();
    let samples = ["SingleStream", "MultiStream", "Offline"].map(|scenario| {
        let out = at(&format!("{scenario}.csv"));
        let folder = at(&format!("out/scenario={scenario}/1"));
        let finished = LoadGen::run(&["export", &folder, "--to", "csv", "--out", &out]);
        assert_eq!(finished.code, Some(0), "{finished:?}");
        out
    });
    let script = repository("tests/readers/dli.py");
    let compared = Command::new(python).arg(script).arg(at("table.csv")).args(samples).output().unwrap();
    let output = String::from_utf8_lossy(&compared.stdout).into_owned();
    assert!(compared.status.success(), "{output}{}", String::from_utf8_lossy(&compared.stderr));
    assert_eq!(output, "3 rows: the same\n");
}
