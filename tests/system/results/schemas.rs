//! The JSON Schemas in `loadgen-node/schemas` are printed, and documents fit them. That they are what the types say is
//! tested beside the types. Documents that other tests let the programs write are held against them where these are
//! started: see `lon_tests::schemas`.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use lon_run::documents::schema_list::SchemaList;
use lon_run::documents::schemas::KINDS;
use lon_tests::process::{LoadGen, binary, repository};
use lon_tests::schemas::assert_fits;

const FOLDER: &str = "loadgen-node/schemas";

#[test]
fn each_schema_is_printed_as_it_lies_in_the_repository() {
    let folder = repository(FOLDER);
    for kind in KINDS {
        let printed = LoadGen::run(&["schema", kind.name]);
        assert_eq!(printed.code, Some(0), "{printed:?}");
        assert_eq!(printed.stdout, fs::read_to_string(folder.join(format!("{}.json", kind.name))).unwrap());
    }
    let files = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let names: BTreeSet<String> = KINDS.iter().map(|kind| format!("{}.json", kind.name)).collect();
    assert_eq!(files.collect::<BTreeSet<_>>(), names);
}

#[test]
fn all_documents_are_listed_and_an_unknown_one_is_named() {
    let listed = LoadGen::run(&["schema"]);
    for kind in KINDS {
        assert!(listed.stdout.contains(&format!("  {} ", kind.name)), "{} in {}", kind.name, listed.stdout);
    }
    let json: SchemaList = serde_json::from_str(&LoadGen::run(&["schema", "--json"]).stdout).unwrap();
    let names: Vec<&str> = json.documents.iter().map(|kind| kind.name.as_str()).collect();
    assert_eq!(names, KINDS.map(|kind| kind.name));
    let csv = LoadGen::run(&["schema", "--format", "csv"]).stdout;
    assert!(csv.starts_with("name,document\n") && csv.lines().count() == KINDS.len() + 1, "{csv}");
    let refused = LoadGen::run(&["schema", "probe", "--format", "csv"]);
    assert!(refused.code == Some(2) && refused.stderr.contains("cannot be used with"), "{refused:?}");
    let unknown = LoadGen::run(&["schema", "result_sumary"]);
    assert!(unknown.code == Some(2) && unknown.stderr.contains("result_summary"), "{unknown:?}");
}

#[test]
fn advice_on_codecs_fits() {
    let data = ["--sut=192.0.2.1:1", "--benchmark=synthetic", "--scenario=Offline", "--dataset=synthetic:u8[64]x8"];
    let printed = LoadGen::run(&[&["run", "--compression=auto", "--json"], &data[..]].concat());
    assert!(printed.code == Some(0) && printed.stdout.contains("delta-zstd"), "{printed:?}");
}

#[test]
fn what_a_sut_node_prints_fits() {
    let printed = |args: &[&str]| {
        let output = Command::new(binary("sut-node")).args(args).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let model = format!("onnx:{}", repository("loadgen-node/qsl/digits/digits.onnx").display());
    assert_fits(&["describe"], &printed(&["describe", "--backend", &model]));
    assert_fits(&["bench"], &printed(&["bench", "--backend", &model, "--seconds", "200ms", "--json"]));
}
