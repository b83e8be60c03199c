//! `dataset verify`: what is wrong with the files of a dataset, and with which exit code.

use std::fs;

use lon_tests::process::{Finished, LoadGen, repository};
use serde_json::Value;

fn verify(path: &str, benchmark: &str, more: &[&str]) -> Finished {
    LoadGen::run(&[&["dataset", "verify", path, "--benchmark", benchmark], more].concat())
}

#[test]
fn a_good_dataset_ends_with_0_one_at_fault_with_3_and_none_with_2() {
    let digits = repository("loadgen-node/qsl/digits");
    let good = verify(digits.to_str().unwrap(), "digits", &[]);
    assert_eq!(good.code, Some(0), "{good:?}");
    assert!(good.stdout.contains("450 samples of u8[1,8,8]") && good.stdout.contains("No fault found"), "{good:?}");
    let folder = tempfile::tempdir().unwrap();
    let lines = folder.path().join("lines.jsonl");
    fs::write(&lines, "{\"input_ids\": [1, 2]}\n").unwrap();
    let path = lines.to_str().unwrap();
    let odd = verify(path, "llama2-70b", &["--rules", "v6.0"]);
    assert_eq!(odd.code, Some(3), "{odd:?}");
    let fault = "1 samples, the whole dataset has 24576 (round v6.0)";
    assert!(odd.stdout.contains(&format!("WRONG      count   {fault}\n")), "{}", odd.stdout);
    let document: Value = serde_json::from_str(&verify(path, "llama2-70b", &["--json"]).stdout).unwrap();
    assert_eq!((&document["faults"][0]["about"], &document["round"]), (&"count".into(), &"v6.1".into()));
    for (path, benchmark, message) in
        [("/no/such/file", "bert", "no such file or folder"), (path, "brt", "did you mean")]
    {
        let refused = verify(path, benchmark, &[]);
        assert!(refused.code == Some(2) && refused.stderr.contains(message), "{refused:?}");
    }
}
