//! The files of a dataset, held against what a benchmark promises of its own: how many samples, of which types and
//! shapes, with which right answers, and each file as its sum says.

use std::fmt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use lon_proto::sample::Tensor;
use serde::{Deserialize, Serialize};

use super::definition::Benchmark;
use super::published::Published;
use crate::accuracy::{Metric, ScoreError, Target, Truth, Truths};
use crate::dataset::Dataset;
use crate::dataset::faults::Faults;
use crate::files::folder::split;
use crate::files::sums::{self, SUMS_FILE, SumError, Sums};

/// The result of a check of a dataset.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verified {
    /// Number of samples in the dataset; null when the dataset cannot be opened.
    pub samples: Option<usize>,
    /// Types and shapes of the first sample, with the words `and other sizes` where samples differ; null when it cannot
    /// be read.
    pub first_sample: Option<String>,
    /// Number of files that were compared with a sum, one by one. Small files are compared when the dataset is opened.
    pub files: usize,
    /// Faults of the dataset. Of many faults of one kind the first 100, and one that counts the others.
    pub faults: Vec<Fault>,
    /// Parts that could not be checked: a clause each, with the reason.
    pub unchecked: Vec<String>,
}

/// A fault of a dataset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// Part of the dataset that has the fault.
    pub about: About,
    /// Description of the fault: a clause that names the thing, and what is wrong with it.
    pub what: String,
}

/// The parts of a dataset that can be at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum About {
    /// The form of the dataset: it cannot be opened, or its first sample is none of the benchmark's.
    Form,
    /// The number of samples.
    Count,
    /// A file of the dataset.
    File,
    /// A sample of the dataset.
    Sample,
    /// The right answers.
    Answer,
}

impl fmt::Display for About {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl Benchmark {
    /// Holds the file or folder against what this benchmark promises. Every sample is read. `round` is the round whose
    /// number of samples is promised. Calls `progress` with how many files or samples are done, and of how many.
    pub fn verify(&self, path: &Path, round: &str, progress: &dyn Fn(usize, usize)) -> Verified {
        let mut report = Verified::default();
        self.compare_published(path, &mut report);
        look_at_list(path, &mut report);
        let dataset = match self.open(Some(&path.to_string_lossy())) {
            Ok(dataset) => dataset,
            Err(error) => {
                report.fault(About::Form, error.to_string());
                return report;
            }
        };
        report.samples = Some(dataset.total_count());
        report.first_sample = dataset.first_sample().ok().map(|first| first.shapes());
        self.count(&dataset, round, &mut report);
        report.files += dataset.listed_files();
        report.all(About::File, "files", dataset.faults_of_files(progress));
        // The shapes of any sample, and whether another one has others.
        let shapes = Mutex::new((None, false));
        let odd = |tensors: &[Tensor]| {
            let mut shapes = shapes.lock().unwrap_or_else(PoisonError::into_inner);
            let own: Vec<String> = tensors.iter().map(ToString::to_string).collect();
            shapes.1 |= shapes.0.get_or_insert_with(|| own.clone()) != &own;
            drop(shapes);
            self.is_odd(tensors)
        };
        report.all(About::Sample, "samples", dataset.faults_of_samples(&odd, progress));
        let varies = shapes.into_inner().unwrap_or_else(PoisonError::into_inner).1;
        if let Some(first) = report.first_sample.as_mut().filter(|_| varies) {
            first.push_str(" and other sizes");
        }
        self.answers(&dataset, &mut report);
        report
    }

    /// Files whose sum is published, wherever they lie in the folder.
    fn compare_published(&self, path: &Path, report: &mut Verified) {
        for Published { file, sha256, .. } in self.published.iter().filter(|it| path.join(&it.file).exists()) {
            report.files += 1;
            match sums::verify_file(&path.join(file), sha256) {
                Ok(()) => {}
                Err(SumError::Mismatch { file, actual_sum, bytes, expected }) => {
                    let file = file.display();
                    let what =
                        format!("{file} has the SHA-256 {actual_sum} ({bytes} bytes), as published it has {expected}");
                    report.fault(About::File, what);
                }
                Err(error) => report.fault(About::File, error.to_string()),
            }
        }
    }

    fn count(&self, dataset: &Dataset, round: &str, report: &mut Verified) {
        let official = if self.file.is_none() { self.official(round) } else { Vec::new() };
        // An accuracy run may have a dataset of its own.
        let official = official.iter().flat_map(|it| [it.dataset_samples, it.accuracy_samples]).flatten();
        let mut whole: Vec<usize> = official.filter_map(|count| usize::try_from(count).ok()).collect();
        if whole.is_empty() {
            whole.extend(self.qsl.total_samples);
        }
        whole.dedup();
        let (count, listed) = (dataset.total_count(), whole.iter().map(usize::to_string).collect::<Vec<_>>());
        match whole.contains(&count) {
            true => {}
            false if whole.is_empty() => {
                report.unchecked.push("number of samples: the benchmark does not say how many there are".to_owned());
            }
            false => {
                let what = format!("{count} samples, the whole dataset has {} (round {round})", listed.join(" or "));
                report.fault(About::Count, what);
            }
        }
    }

    /// Says that a sample does not have the inputs of the benchmark.
    fn is_odd(&self, tensors: &[Tensor]) -> Option<String> {
        let inputs = self.inputs()?;
        let fits = inputs.fits(tensors) || (self.takes_texts() && inputs.fits_text(tensors));
        let shapes = || tensors.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        (!fits).then(|| format!("{} is not {inputs} (without N)", shapes()))
    }

    fn answers(&self, dataset: &Dataset, report: &mut Verified) {
        let Some(truths) = dataset.truths() else {
            if let Some(ScoreError::NoTruths { target, lacks }) = self.no_truths(dataset) {
                report.fault(About::Answer, format!("{lacks}, which the accuracy target {target} needs"));
            }
            return;
        };
        let mut gaps = Vec::new();
        for target in self.accuracy.iter().chain(&self.other_accuracy) {
            let lacking = (target.first_lacking(truths), target.parts);
            if let Err(error) = dataset.fits_metric(*target)
                && !gaps.contains(&lacking)
            {
                report.fault(About::Answer, error.to_string());
                gaps.push(lacking);
            }
        }
        let of_classes =
            |target: &Target| target.classes.filter(|_| matches!(target.metric, Metric::Top1 | Metric::Top5));
        if let (Some(classes), Truths::Samples(all)) = (self.accuracy.as_ref().and_then(of_classes), truths) {
            report.all(About::Answer, "labels", beyond(all, classes));
        }
    }
}

/// Labels that are none of the model's classes.
fn beyond(all: &[Option<Truth>], classes: usize) -> Faults {
    let is_beyond = |class: i64| !usize::try_from(class).is_ok_and(|class| class < classes);
    let label = |(index, truth): (usize, &Option<Truth>)| match truth {
        Some(Truth::Class(class)) if is_beyond(*class) => {
            Some(format!("the label of sample {index} is {class}, the classes are 0 to {}", classes.saturating_sub(1)))
        }
        _ => None,
    };
    let mut labels = all.iter().enumerate().filter_map(label);
    let first: Vec<String> = labels.by_ref().take(crate::dataset::faults::MOST).collect();
    let count = first.len() + labels.count();
    Faults { first, count }
}

/// The list of sums in the folder, and the files that it names. What is missed of the dataset itself is found
/// otherwise, as is what is wrong with the list.
fn look_at_list(path: &Path, report: &mut Verified) {
    let folder = if path.is_dir() { path.to_owned() } else { split(path).0 };
    match Sums::of_folder(&folder) {
        Err(_) => {}
        Ok(None) => report.unchecked.push(format!("sums: there is no {SUMS_FILE} beside the samples")),
        Ok(Some(sums)) => {
            let missing = sums.missing().into_iter();
            report
                .unchecked
                .extend(missing.map(|name| format!("files: {name} is in {SUMS_FILE} and not in the folder")));
        }
    }
}

impl Verified {
    fn fault(&mut self, about: About, what: String) {
        self.faults.push(Fault { about, what });
    }

    fn all(&mut self, about: About, of: &str, Faults { first, count }: Faults) {
        let more = count - first.len();
        first.into_iter().for_each(|what| self.fault(about, what));
        if more > 0 {
            self.fault(about, format!("{more} more {of} have a fault"));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn verify(benchmark: &str, path: &Path) -> Verified {
        Benchmark::find(benchmark).unwrap().verify(path, "v6.0", &|_, _| {})
    }

    fn faults(report: &Verified) -> Vec<(About, &str)> {
        report.faults.iter().map(|fault| (fault.about, fault.what.as_str())).collect()
    }

    #[test]
    fn the_digits_are_as_they_should_be_until_they_are_altered() {
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("digits");
        let good = verify("digits", &own);
        assert_eq!((good.samples, good.first_sample.as_deref(), faults(&good)), (Some(450), Some("u8[1,8,8]"), vec![]));
        assert_eq!(good.unchecked, ["number of samples: the benchmark does not say how many there are"]);
        let folder = tempfile::tempdir().unwrap();
        for name in ["images.npy", "labels.npy", SUMS_FILE] {
            fs::copy(own.join(name), folder.path().join(name)).unwrap();
        }
        let mut images = fs::read(own.join("images.npy")).unwrap();
        *images.last_mut().unwrap() ^= 1;
        fs::write(folder.path().join("images.npy"), images).unwrap();
        let report = verify("digits", folder.path());
        assert_eq!(report.unchecked, ["files: digits.onnx is in SHA256SUMS and not in the folder"]);
        let [(About::Form, altered)] = faults(&report)[..] else { panic!("{report:?}") };
        assert!(altered.contains("images.npy") && altered.contains("is truncated or altered"), "{altered}");
    }

    /// Source: `accuracy-target` and `dataset-size` of the official submission checker: 15000 samples.
    #[test]
    fn every_fault_of_lines_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mixtral.jsonl");
        let good = "{\"input_ids\": [1], \"part\": \"GSM8K\", \"answers\": [\"7\"]}\n";
        fs::write(&file, good.repeat(2) + "{\"input_ids\": [1], \"part\": \"OpenOrca\"}\n").unwrap();
        let report = verify("mixtral-8x7b", &file);
        let all = faults(&report);
        assert_eq!(all[0], (About::Count, "3 samples, the whole dataset has 15000 (round v6.0)"));
        assert!(all[1].0 == About::Answer && all[1].1.contains("sample 2 ") && all[1].1.contains("rouge1"), "{all:?}");
        assert_eq!((all.len(), report.files, report.samples), (2, 0, Some(3)));
        assert_eq!(report.unchecked, ["sums: there is no SHA256SUMS beside the samples"]);
    }

    fn npy(shape: &str, bytes: usize) -> Vec<u8> {
        let header = format!("{{'descr': '<i8', 'fortran_order': False, 'shape': {shape}, }}");
        let header = format!("{header:<117}\n");
        [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), &vec![0; bytes]].concat()
    }

    #[test]
    fn every_sample_is_read_and_every_file_is_compared() {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in [("0.npy", npy("(1,)", 8)), ("1.npy", npy("(2,)", 16)), ("2.npy", npy("(1,)", 8))] {
            fs::write(folder.path().join(name), content).unwrap();
        }
        fs::write(folder.path().join("labels.txt"), "7\n2982\n2983\n").unwrap();
        let sum = |name: &str| {
            use sha2::Digest as _;
            let content = fs::read(folder.path().join(name)).unwrap();
            format!("{}  {name}\n", hex::encode(sha2::Sha256::digest(content)))
        };
        let sums = ["0.npy", "1.npy", "labels.txt"].map(sum).concat();
        fs::write(folder.path().join(SUMS_FILE), format!("{sums}{}  2.npy\n", "0".repeat(64))).unwrap();
        let report = verify("rgat", folder.path());
        let all = faults(&report);
        assert_eq!(all[0], (About::Count, "3 samples, the whole dataset has 788379 (round v6.0)"));
        assert!(all[1].0 == About::File && all[1].1.contains("2.npy is truncated or altered"), "{all:?}");
        assert_eq!(all[2], (About::Sample, "sample 1 (1.npy): i64[2] is not paper i64|i32[N] (without N)"));
        assert_eq!(all[3], (About::Answer, "the label of sample 2 is 2983, the classes are 0 to 2982"));
        assert_eq!((all.len(), report.files), (4, 3));
    }

    #[test]
    fn right_answers_that_a_target_needs_are_a_fault_when_they_are_missing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mixtral.jsonl");
        fs::write(&file, "{\"input_ids\": [1]}\n").unwrap();
        let missing = |benchmark: &str, path: &Path| {
            let report = verify(benchmark, path);
            let answers = faults(&report).into_iter().filter(|(about, _)| *about == About::Answer);
            answers.map(|(_, what)| what.replace(&path.display().to_string(), "IT")).collect::<Vec<_>>()
        };
        let start = "IT has no right answers (\"answers\" in each line), which the accuracy target rouge1 >= ";
        let [lines] = &missing("mixtral-8x7b", &file)[..] else { panic!("one fault") };
        assert!(lines.starts_with(start), "{lines}");
        fs::write(folder.path().join("0.npy"), npy("(1,)", 8)).unwrap();
        let [arrays] = &missing("rgat", folder.path())[..] else { panic!("one fault") };
        assert!(
            arrays.starts_with("IT has no labels (labels.txt or labels.npy in this folder: a whole number"),
            "{arrays}"
        );
        assert_eq!(missing("synthetic", &file), [""; 0], "nothing is scored");
        let dataset = Dataset::open("synthetic:u8[4]x4", &Default::default()).unwrap();
        let message = Benchmark::find("resnet50").unwrap().no_truths(&dataset).unwrap().to_string();
        assert!(
            message.ends_with("x4 has no labels (the program made it up)") && ScoreError::is_no_truths(&message),
            "{message}"
        );
        assert!(!ScoreError::is_no_truths(&ScoreError::OneClass.to_string()));
    }

    /// Source: the sum of `dev-v1.1.json` at rajpurkar.github.io/SQuAD-explorer, as Hugging Face's `squad` has it.
    #[test]
    fn a_file_that_is_published_has_the_published_sum() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("dev-v1.1.json"), "{}").unwrap();
        let report = verify("bert", folder.path());
        let [(About::File, fault), (About::Form, _)] = faults(&report)[..] else { panic!("{report:?}") };
        let published = "as published it has 95aa6a52d5d6a735563366753ca50492a658031da74f301ac5238b03966972c9";
        assert!(fault.contains("dev-v1.1.json has the SHA-256 ") && fault.contains(published), "{fault}");
    }

    #[test]
    fn what_cannot_be_opened_is_one_fault() {
        let folder = tempfile::tempdir().unwrap();
        let report = verify("resnet50", folder.path());
        let [(About::Form, fault)] = faults(&report)[..] else { panic!("{report:?}") };
        assert!(
            fault.contains("this is no dataset of resnet50") || fault.contains("the folder is no dataset"),
            "{fault}"
        );
        assert_eq!(report.samples, None);
    }
}
