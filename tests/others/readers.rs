//! Readers of others: pyarrow reads the Parquet of an export. `LON_TEST_READERS` is a python3 that has what
//! `tests/readers/requirements.txt` names.

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
        let made = LoadGen::run(&["export", folder.arg(), "--to", form, "--out", &at(form)]);
        assert_eq!(made.code, Some(0), "{made:?}");
    }
    let script = repository("tests/readers/parquet.py");
    let compared = Command::new(python).arg(script).args([at("parquet"), at("csv")]).output().unwrap();
    let said = String::from_utf8_lossy(&compared.stdout).into_owned();
    assert!(compared.status.success(), "{said}{}", String::from_utf8_lossy(&compared.stderr));
    print!("{said}");
    let head = std::fs::read_to_string(at("csv")).unwrap().lines().next().unwrap().split(',').count();
    let columns = format!("groups, {head} columns");
    assert!(said.contains(&columns) && !said.contains("in 1 groups"), "{said}");
}
