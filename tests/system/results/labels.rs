//! `--label`: words of the user in documents, lists, comparisons and metrics.

use std::fs;

use lon_run::documents::comparison::Comparison;
use lon_run::documents::run_list::RunList;
use lon_tests::process::{LoadGen, SutNode};
use lon_tests::run_folder::RunFolder;
use lon_tests::test_run::{TestRun, went_well};

/// A short run with these labels.
fn run(node: &SutNode, labels: &[&str]) -> RunFolder {
    let test = TestRun::new("Offline").patient().on(&node.address).args(labels);
    went_well(test.set("min_duration=0,min_query_count=1,target_qps=100"), "labels").1
}

#[test]
fn labels_are_in_documents_lists_comparisons_and_metrics() {
    let node = SutNode::start("n1", "null", &[]);
    let above = RunFolder::new();
    fs::create_dir(&above.path).unwrap();
    let at = |name: &str| above.path.join(name).to_str().unwrap().to_owned();
    let metrics = at("run.prom");
    let first = run(&node, &["--label", "rack=7,team-a=x y", "--label", "run.kind=soak", "--metrics-file", &metrics]);
    let second = run(&node, &["--label", "rack=8"]);
    let labels = &first.result()["made"]["labels"];
    assert_eq!((&labels["rack"], &labels["team-a"], &labels["run.kind"]), (&"7".into(), &"x y".into(), &"soak".into()));
    let metrics_text = fs::read_to_string(&metrics).unwrap();
    let info = metrics_text.lines().find(|line| line.starts_with("lon_loadgen_run_info{")).unwrap_or_default();
    for label in ["label_rack=\"7\"", "label_team_a=\"x y\"", "label_run_kind=\"soak\""] {
        assert!(info.contains(label), "{info}");
    }
    assert_eq!(metrics_text.matches("label_rack").count(), 1, "on the info metric alone");
    let page = fs::read_to_string(first.path.join("report.html")).unwrap();
    assert!(page.contains("rack=7,run.kind=soak,team-a=x y"), "no labels on the page");

    fs::rename(&first.path, at("first")).unwrap();
    fs::rename(&second.path, at("second")).unwrap();
    let list = |more: &[&str]| LoadGen::run(&[&["list", above.arg()], more].concat()).stdout;
    for (filter, count) in [("rack=7", 1), ("rack=8", 1), ("rack=9", 0), ("rack=7,run.kind=soak", 1), ("rack=8,a=b", 0)]
    {
        let listing: RunList = serde_json::from_str(&list(&["--label", filter, "--json"])).unwrap();
        assert_eq!(listing.runs.len(), count, "{filter}");
    }
    assert!(list(&[]).contains("labels") && list(&[]).contains("rack=8"), "{}", list(&[]));
    assert!(list(&["--format", "csv"]).contains("\"rack=7,run.kind=soak,team-a=x y\""));

    let compared = LoadGen::run(&["compare", &at("first"), &at("second"), "--json"]);
    let compared: Comparison = serde_json::from_str(&compared.stdout).unwrap();
    assert_eq!(compared.sides[1].runs[0].labels["rack"], "8");
    assert!(compared.different.iter().all(|fact| !fact.what.contains("label")), "{:?}", compared.different);
    let text = LoadGen::run(&["compare", &at("first"), &at("second")]).stdout;
    assert!(text.lines().any(|line| line.starts_with("B  ") && line.contains(", rack=8")), "{text}");
}

#[test]
fn labels_that_cannot_be_kept_are_refused_before_the_run() {
    for (labels, message) in [
        ("rack", "'rack' is no label: write KEY=VALUE"),
        ("r k=7", "is no key of a label"),
        ("rack=\u{1b}[2J", "the value of label rack has 128 characters"),
        ("rack=7,rack=8", "--label: label rack is there twice"),
    ] {
        let data = ["--dataset=synthetic:u8[64]x8", "--benchmark=synthetic", "--scenario=Offline"];
        let refused = LoadGen::run(&[&["run", "--sut=127.0.0.1:1", "--label", labels], &data[..]].concat());
        assert!(refused.code == Some(2) && refused.stderr.contains(message), "{labels}: {refused:?}");
    }
}
