use std::collections::BTreeSet;
use std::path::Path;

use super::catalog::FILES;
use super::kind::DatasetKind;
use super::*;
use crate::accuracy::{Categories, Metric};
use crate::dataset::formats::synthetic;

#[test]
fn every_file_of_the_folder_is_built_in_and_no_other() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("benchmarks");
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let file_names: BTreeSet<String> =
        paths.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect();
    let listed: Vec<String> = FILES.iter().map(|(name, _)| format!("{name}.toml")).collect();
    assert_eq!(listed.iter().cloned().collect::<BTreeSet<_>>(), file_names);
    assert!(FILES.iter().is_sorted_by_key(|(name, _)| name), "{listed:?}");
}

#[test]
fn every_file_can_be_read_and_names_are_unique() {
    for (name, text) in FILES {
        file::read(name, text).unwrap_or_else(|reason| panic!("{name}.toml: {reason}"));
    }
    let mut names = BTreeSet::new();
    for benchmark in Benchmark::all() {
        for name in [benchmark.name].iter().chain(&benchmark.aliases) {
            assert!(names.insert(*name), "{name} twice");
            assert_eq!(Benchmark::find(name).unwrap().name, benchmark.name);
        }
    }
    assert!(names.len() > 25, "{names:?}");
}

/// All but the one that takes anything; the synthetic samples that messages speak of are like that.
#[test]
fn every_benchmark_says_what_its_model_takes() {
    for benchmark in Benchmark::all().iter().filter(|benchmark| benchmark.name != "synthetic") {
        let inputs = benchmark.inputs().unwrap_or_else(|| panic!("{}", benchmark.name));
        let example = match benchmark.dataset {
            DatasetKind::Digits => None,
            DatasetKind::Synthetic { example } | DatasetKind::Files { example, .. } => Some(example),
        };
        let dataset = benchmark.open(example).unwrap();
        let first = dataset.first_sample().unwrap();
        assert!(inputs.fits(first.tensors()), "{}: {inputs} does not take {}", benchmark.name, first.shapes());
    }
    for (name, text) in FILES.iter().filter(|(_, text)| text.contains("[[suites]]")) {
        assert!(text.contains("\ninputs_source = \""), "{name}");
    }
}

#[test]
fn an_unknown_name_has_the_nearest_or_the_known() {
    let error = Benchmark::find("resnet").unwrap_err().to_string();
    assert_eq!(error, "'resnet' is not a benchmark; did you mean resnet50?");
    let error = Benchmark::find("anything-else").unwrap_err().to_string();
    assert!(error.contains("'anything-else'") && error.contains("digits") && error.contains("resnet50"), "{error}");
}

#[test]
fn a_file_of_the_users_is_a_benchmark() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    let open = |text: &str| {
        std::fs::write(&path, text).unwrap();
        Benchmark::named(path.to_str().unwrap()).map_err(|error| error.to_string())
    };
    let dataset = "dataset = { kind = \"synthetic\", example = \"synthetic:u8[4]x2\" }";
    let mine = open(&format!("name = \"mine\"\nabout = \"ours\"\n{dataset}\n")).unwrap();
    assert_eq!((mine.name, mine.file.as_deref()), ("mine", Some(path.as_path())));
    for (text, part) in [
        (format!("name = \"other\"\nabout = \"ours\"\n{dataset}\n"), "name = 'other' in it"),
        (format!("name = \"mine\"\nabuot = \"ours\"\n{dataset}\n"), "abuot"),
    ] {
        let error = open(&text).unwrap_err();
        assert!(error.contains("mine.toml") && error.contains(part), "{error}");
    }
    let error = Benchmark::named("/no/such.toml").unwrap_err().to_string();
    assert!(error.contains("/no/such.toml: cannot be read"), "{error}");
    assert_eq!(Benchmark::named("digits").unwrap().file, None);
}

#[test]
fn what_answers_must_be_worth_is_known_of_every_official_benchmark() {
    for benchmark in Benchmark::all().iter().filter(|benchmark| !["digits", "synthetic"].contains(&benchmark.name)) {
        assert!(!benchmark.quality.is_empty(), "{}", benchmark.name);
        // Where it is scored here, by the same number.
        if let Some(target) = benchmark.accuracy {
            let Quality { reference, shares, .. } = &benchmark.quality[0];
            assert!((reference * shares[0] - target.at_least.unwrap()).abs() < 1e-9, "{}", benchmark.name);
        }
    }
}

/// Every metric that is scored has the bounds of the official checker, of the lowest variant, in all rounds.
#[test]
fn scores_in_several_metrics_have_the_official_bounds() {
    let benchmarks = Benchmark::all().iter().filter(|benchmark| !benchmark.other_accuracy.is_empty());
    for (benchmark, round) in benchmarks.flat_map(|benchmark| ROUNDS.map(|round| (benchmark, round))) {
        let official = benchmark.official(round);
        let Some(official) = official.iter().find(|official| !official.checker.ends_with("99.9")) else { continue };
        let own = benchmark.accuracy.iter().chain(&benchmark.other_accuracy);
        // Programs are not run here: that score is named, and lacks.
        let name = |target: &Target| target.metric.checker_name_with_sentences().unwrap_or("mbxp_accuracy");
        let has_bounds = |target: &&Target| target.at_least.or(target.at_most).is_some();
        let own: Vec<_> =
            own.filter(has_bounds).map(|target| (name(target), target.at_least, target.at_most)).collect();
        let bounds = official.bounds.iter().map(|bound| (bound.metric.as_str(), bound.at_least, bound.at_most));
        assert_eq!(own, bounds.collect::<Vec<_>>(), "{} {round}", benchmark.name);
    }
}

#[test]
fn synthetic_asks_for_a_dataset() {
    let error = Benchmark::find("synthetic").unwrap().open(None).unwrap_err().to_string();
    assert!(error.contains("--dataset synthetic:u8[64]x1024"), "{error}");
}

#[test]
fn every_benchmark_takes_synthetic_samples_and_those_of_its_own_message() {
    for benchmark in Benchmark::all() {
        let dataset = benchmark.open(Some("synthetic:u8[16]x4")).unwrap();
        assert_eq!(dataset.total_count(), 4, "{}", benchmark.name);
        match benchmark.open(None) {
            Ok(_) => assert!(benchmark.has_dataset(), "{}", benchmark.name),
            Err(error) => {
                assert!(!benchmark.has_dataset(), "{error}");
                let text = error.to_string();
                let example = text.split_whitespace().rfind(|word| synthetic::is_named_by(word)).unwrap();
                assert!(text.contains(benchmark.name) && text.contains("--dataset"), "{text}");
                benchmark.open(Some(example)).unwrap();
            }
        }
    }
}

#[test]
fn data_that_are_not_given_or_not_there_are_asked_for() {
    let resnet50 = Benchmark::find("resnet50").unwrap();
    let error = resnet50.open(None).unwrap_err().to_string();
    assert!(error.contains("resnet50") && error.contains("val_map.txt") && error.contains("synthetic:"), "{error}");
    let error = resnet50.open(Some("/no/such/imagenet")).unwrap_err().to_string();
    assert!(error.contains("/no/such/imagenet"), "{error}");
}

#[test]
fn official_numbers_of_samples_agree_with_the_examples() {
    for benchmark in Benchmark::all() {
        if let (Some(total), Some(used)) = (benchmark.qsl.total_samples, benchmark.qsl.performance_samples) {
            // A performance run of GNMT draws from a file that has each sentence 1300 times.
            let copies = if benchmark.name == "gnmt" { 1_300 } else { 1 };
            assert!(used <= copies * total, "{}", benchmark.name);
        }
    }
    let resnet50 = Benchmark::find("resnet50").unwrap();
    assert_eq!(resnet50.qsl, QslSize { total_samples: Some(50_000), performance_samples: Some(1_024) });
    let (_, dims) = resnet50.preprocess().unwrap().output();
    assert_eq!(resnet50.inputs().unwrap().to_string(), "input_tensor:0 f32|f16|i8|u8[N,3,224,224]");
    assert_eq!(dims, [3, 224, 224]);
}

/// Source: mlperf.conf of branch r0.5 of mlcommons/inference (413dbabc), the rules of the round (inference_policies
/// c5f3151), and ACCURAY_TARGET of its submission checker (675557a5).
#[test]
fn the_tasks_of_round_v0_5_have_its_numbers() {
    for (name, performance, metric, least) in [
        ("resnet50", 1_024, Metric::Top1, 76.46 * 0.99),
        ("mobilenet", 1_024, Metric::Top1, 71.68 * 0.98),
        ("ssd-mobilenet", 256, Metric::Map, 22.0 * 0.99),
        ("ssd-resnet34", 64, Metric::Map, 20.0 * 0.99),
        ("gnmt", 3_903_900, Metric::Bleu, 23.9 * 0.99),
    ] {
        let task = Benchmark::find(name).unwrap();
        let target = task.accuracy.unwrap();
        assert_eq!((task.qsl.performance_samples, target.metric), (Some(performance), metric), "{name}");
        assert!((target.at_least.unwrap() - least).abs() < 1e-9, "{name}");
    }
    let [small, large] = ["ssd-small", "ssd-large"].map(|name| Benchmark::find(name).unwrap().accuracy.unwrap());
    assert_eq!((small.categories, large.categories), (Categories::Ids, Categories::Places));
    // The rounds that are known do not have four of them, and nothing is said of round v0.5.
    for name in ["mobilenet", "ssd-mobilenet", "ssd-resnet34", "gnmt"] {
        let task = Benchmark::find(name).unwrap();
        assert!(task.network().is_none() && task.bandwidth().is_none(), "{name}");
        assert_eq!(task.membership(Suite::Datacenter, "v6.1"), Membership::Absent, "{name}");
        assert_eq!(task.membership(Suite::Datacenter, "v0.5"), Membership::Unknown, "{name}");
        assert!(ROUNDS.iter().all(|round| task.official(round).is_empty()), "{name}");
    }
}

#[test]
fn variants_differ_in_name_and_suites_alone() {
    let [plain, interactive] = ["llama2-70b", "llama2-70b-interactive"].map(|name| Benchmark::find(name).unwrap());
    assert_eq!((plain.network(), plain.bandwidth()), (interactive.network(), interactive.bandwidth()));
    assert_ne!(plain.about, interactive.about);
    assert_eq!(Benchmark::find("llama3.1-405b").unwrap().name, "llama3_1-405b");
}

#[test]
fn benchmarks_of_the_datacenter_suite_have_rules_and_a_formula() {
    for benchmark in Benchmark::all() {
        let member = ROUNDS
            .iter()
            .any(|round| matches!(benchmark.membership(Suite::Datacenter, round), Membership::Scenarios(_)));
        let facts = (benchmark.network().is_some(), benchmark.bandwidth().is_some());
        // BERT left the suite before v5.0; the rules still speak of it.
        let has_rules = member || benchmark.name == "bert";
        // Appendix B does not speak of these.
        let has_formula = has_rules && !benchmark.name.starts_with("e2e-rag");
        assert_eq!(facts, (has_rules, has_formula), "{}", benchmark.name);
    }
}
