//! The examples of `--help` that take a generated model (`LON_TEST_MODELS`), or python3.

use lon_tests::examples::{NEED_MODELS, NEED_PYTHON, paste_all};

#[test]
#[ignore = ".ci/run models"]
fn examples_with_models_run_when_they_are_pasted() {
    assert_eq!(paste_all("sut-node", |example| example.contains(NEED_MODELS)), 1);
}

#[test]
#[ignore = ".ci/run programs"]
fn examples_with_python_run_when_they_are_pasted() {
    assert_eq!(paste_all("loadgen-node", |example| example.contains(NEED_PYTHON)), 1);
}
