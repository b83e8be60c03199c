//! A whole pass of the Network division between two machines: an accuracy run and a performance run of Server and of
//! Offline, with pictures of ImageNet's form and a small model that is right about them. The machines are network
//! namespaces with a host name, machine id and boot id of their own.
//!
//! `LON_TEST_IMAGENET` is the folder that `tests/models/imagenet.py` wrote. With its 50,000 pictures the runs are as
//! long as the round asks for, half an hour in all, and every rule that can be seen is kept. With fewer the runs take
//! seconds, and the rules about length and number are those that are broken.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lon_tests::fabric::{Fabric, FabricSpec, Host};
use lon_tests::process::SutNode;
use lon_tests::run_folder::RunFolder;
use lon_tests::test_run::TestRun;

/// Pictures of ImageNet's validation set.
const ALL: usize = 50_000;

/// Longest that one run takes.
const PATIENCE: Duration = Duration::from_secs(1_500);

/// Rules of which only the submitter can say that they are kept.
const BY_WORD: [&str; 4] = ["data_path", "model_equivalence", "no_caching", "official_loadgen"];

struct Scene {
    images: PathBuf,
    is_whole: bool,
    loadgen: Host,
    node: SutNode,
}

impl Scene {
    /// A run of this scenario, and the rules it leaves broken and not seen.
    fn run(&self, scenario: &str, more: &[&str]) -> (RunFolder, [BTreeSet<String>; 2]) {
        let (under, division) = (self.loadgen.own_machine(), if self.is_whole { "network" } else { "none" });
        let test = TestRun::of("resnet50", scenario).inside(&self.loadgen).on(&self.node.address);
        let test = test.under(&under.each_ref().map(String::as_str)).args(&["--rules", "v5.0", "--division", division]);
        let test = test.args(&["--dataset", self.images.to_str().unwrap(), "--max-lag", "15ms"]).args(more);
        let (run, folder) = test.start();
        let finished = run.finish_within(PATIENCE);
        println!("{}", finished.stdout);
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let result = folder.result();
        let rules = result["division"]["rules"].as_array().unwrap();
        // Some machines do not say what their memories do about errors.
        let of_program = || rules.iter().filter(|rule| rule["id"] != "ecc");
        let of = |verdict: &str| {
            let those = of_program().filter(|rule| rule["verdict"] == verdict);
            those.map(|rule| rule["id"].as_str().unwrap().to_owned()).collect()
        };
        (folder, [of("broken"), of("not checked")])
    }
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(ToString::to_string).collect()
}

#[test]
#[ignore = ".ci/run division"]
fn what_can_be_seen_of_the_rules_is_kept_between_two_machines() {
    let folder = PathBuf::from(std::env::var_os("LON_TEST_IMAGENET").expect("LON_TEST_IMAGENET"));
    let images = folder.join("images");
    let pictures = std::fs::read_to_string(images.join("val_map.txt")).unwrap().lines().count();
    let fabric = Fabric::new(FabricSpec { hosts: 2, rate_mbit_s: None });
    let under = fabric.host(1).own_machine();
    let model = format!("onnx:{}", Path::new(&folder).join("model.onnx").display());
    let node = SutNode::start_in_under(fabric.host(1), 8_000, &under.each_ref().map(String::as_str), "sut", &model);
    let scene = Scene { images, is_whole: pictures == ALL, loadgen: fabric.host(0).clone(), node };
    let expected = |in_short: &[&str]| if scene.is_whole { BTreeSet::new() } else { set(in_short) };

    // So long that Server may have some samples over its limit: the machine is shared.
    for (scenario, rate, short) in [("Server", "target_qps=200", "10s"), ("Offline", "target_qps=2600", "5s")] {
        // An accuracy run of Server has a schedule, too: a sample a second unless told otherwise.
        let (accuracy, rules) = scene.run(scenario, &["--mode", "AccuracyOnly", "--set", "target_qps=1000"]);
        let not_seen = set(&[&BY_WORD[..], &["bandwidth"]].concat());
        assert_eq!(rules, [expected(&["whole_dataset"]), not_seen], "{scenario}, accuracy");
        let score = accuracy.result()["accuracy"]["value"].as_f64().unwrap();
        // Labels are what Pillow and ONNX Runtime make of the pictures; another decoder sees some of them otherwise.
        assert!(score > 95.0, "the model is right about its own labels: {score}");

        let short = if scene.is_whole { String::new() } else { format!(",min_duration={short}") };
        let settings = format!("{rate}{short}");
        let more = ["--probe", "--set", settings.as_str(), "--accuracy-run", accuracy.arg()];
        let (_, rules) = scene.run(scenario, &more);
        let in_short = ["accuracy_run", "run_duration", "whole_dataset"];
        assert_eq!(rules, [expected(&in_short), set(&BY_WORD)], "{scenario}");
    }
}
