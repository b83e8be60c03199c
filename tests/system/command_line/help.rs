//! Every example in `--help` of both programs runs when it is pasted, and no terminal of 80 columns breaks one in two:
//! see [`lon_tests::examples`].

use std::fs;

use lon_tests::examples::{NEED_MODELS, NEED_PYTHON, commands, help, paste_all};
use lon_tests::process::repository;

#[test]
fn every_example_of_the_loadgen_node_runs_when_it_is_pasted() {
    let pasted = paste_all("loadgen-node", |example| !example.contains(NEED_PYTHON));
    assert!(pasted > 20, "only {pasted} examples were found");
}

#[test]
fn every_example_of_the_sut_node_runs_when_it_is_pasted() {
    let pasted = paste_all("sut-node", |example| !example.contains(NEED_MODELS));
    assert!(pasted > 8, "only {pasted} examples were found");
}

/// Percentiles and shares are percent wherever a person reads or types them.
#[test]
fn no_text_says_fraction_where_percent_is_meant() {
    let mut texts: Vec<(String, String)> = Vec::new();
    for program in ["loadgen-node", "sut-node"] {
        texts.extend(
            commands(program).into_iter().map(|name| (format!("{program} {name}"), help(program, &[&name, "--help"]))),
        );
    }
    // Files have LoadGen's own fields, whose percentiles are parts of 1.
    let others = ["README.md", "docs/reference/commands.md", "docs/reference/benchmark-files.md"].map(repository);
    let guide = fs::read_dir(repository("docs/guide")).unwrap().map(|entry| entry.unwrap().path());
    for page in guide.chain(others) {
        texts.push((page.display().to_string(), fs::read_to_string(page).unwrap()));
    }
    let lines: Vec<String> = texts
        .iter()
        .flat_map(|(name, text)| text.lines().map(move |line| (name, line)))
        .filter(|(_, line)| line.contains("fraction"))
        .map(|(name, line)| format!("{name}: {line}"))
        .collect();
    assert!(lines.is_empty(), "{}", lines.join("\n"));
}
