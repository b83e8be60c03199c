//! The benchmarks that are known, as data: one TOML file each in `benchmarks/`, built in.
//!
//! - [`network`]: which codecs the Network division allows, by direction and round;
//! - [`suite`]: which scenarios a benchmark has in which suite and round;
//! - [`crate::bandwidth`]: what a rate takes of a fabric;
//! - [`crate::encode::inputs`]: what its model takes;
//! - `file`: what a file may say.
//!
//! A file of the user's takes the place of one of these, or adds one for a run ([`Benchmark::named`]); for good,
//! adding a benchmark is adding a file, and its name to `FILES`. Settings that the official rounds prescribe are not
//! here: names are those of official config files, by which whoever reads those finds them.

mod file;
pub mod network;
mod quality;
mod rounds;
pub mod suite;

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use lon_image::Preprocess;
use lon_proto::sample::DType;
pub use network::NetworkRules;
pub use quality::Quality;
pub use rounds::ROUNDS;
pub use suite::{Membership, Suite};

pub use crate::accuracy::Target;
use crate::bandwidth::Formula;
use crate::dataset::OpenOptions;
use crate::dataset::formats::{digits, images, squad, synthetic};
use crate::dataset::opening;
use crate::dataset::{Dataset, DatasetError};
use crate::encode::inputs::Inputs;
use crate::files::disk;

/// A benchmark: what is asked, within which limits and rules, and what counts as right.
#[derive(Clone, Debug)]
pub struct Benchmark {
    /// As given to `--benchmark`; for benchmarks of MLPerf the model's name in official config files.
    pub name: &'static str,
    /// Other names that find it.
    pub aliases: Vec<&'static str>,
    /// For `--help` and error messages.
    pub about: &'static str,
    /// Settings that differ from LoadGen's defaults, as `[SCENARIO.]KEY=VALUE` with LoadGen config keys.
    pub settings: Vec<&'static str>,
    /// How answers are scored; none: there is nothing to score, or no way here to do it.
    pub accuracy: Option<Target>,
    /// What the official rules want of the answers, in the reference's own metrics.
    pub quality: Vec<Quality>,
    /// How many samples the official dataset has.
    pub qsl: QslSize,
    /// Where it was read, when it is not built in: then nobody vouches for its rules.
    pub file: Option<PathBuf>,
    dataset: Kind,
    inputs: Option<Inputs>,
    /// What is done to images before the model sees them.
    preprocess: Option<Preprocess>,
    suites: Vec<suite::Entry>,
    network: Option<NetworkRules>,
    bandwidth: Option<Formula>,
}

/// Where samples come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Built in, or a folder of the same files.
    Digits,
    /// Whatever is given.
    Synthetic {
        /// For messages.
        example: &'static str,
    },
    /// Data of the user's.
    Files {
        /// Samples of the same shape.
        example: &'static str,
        /// What can be given.
        form: Form,
    },
}

/// What a benchmark's data are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Images,
    Tokens,
    /// Texts, or their tokens.
    Prompts,
    Tensors,
}

impl Form {
    /// What can be given, for messages.
    fn accepted(self) -> &'static str {
        match self {
            Form::Images => "a folder of JPEGs with val_map.txt, .npy, .npz, or a manifest of raw tensors (.toml)",
            Form::Tokens => "JSON lines with input_ids (.jsonl), .npy, .npz, or a manifest of raw tensors (.toml)",
            Form::Prompts => {
                "JSON lines with prompts or input_ids (.jsonl), .npy, .npz, or a manifest of raw tensors (.toml)"
            }
            Form::Tensors => ".npy, .npz, or a manifest of raw tensors (.toml)",
        }
    }
}

/// Samples of the official QSL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QslSize {
    /// Samples in all, where that is known.
    pub total_samples: Option<usize>,
    /// Samples that a performance run draws from.
    pub performance_samples: Option<usize>,
}

/// Names and texts of the files in `benchmarks/`.
macro_rules! files {
    ($($name:literal,)*) => {
        &[$(($name, include_str!(concat!("../../benchmarks/", $name, ".toml"))),)*]
    };
}

/// One a line, sorted; a test compares them with the folder.
const FILES: &[(&str, &str)] = files![
    "3d-unet",
    "bert",
    "deepseek-r1",
    "digits",
    "dlrm-v2",
    "dlrm-v3",
    "gpt-oss-120b",
    "gptj",
    "llama2-70b",
    "llama3_1-405b",
    "llama3_1-8b",
    "llama3_1-8b-edge",
    "mixtral-8x7b",
    "pointpainting",
    "qwen3-vl-235b-a22b",
    "resnet50",
    "retinanet",
    "rgat",
    "stable-diffusion-xl",
    "synthetic",
    "wan-2.2-t2v-a14b",
    "whisper",
    "yolo",
];

static BENCHMARKS: LazyLock<Vec<Benchmark>> = LazyLock::new(|| {
    let read = |(name, text): &(&'static str, &'static str)| {
        // The files are part of the program, and a test reads them all.
        file::read(name, text).unwrap_or_else(|reason| unreachable!("benchmarks/{name}.toml: {reason}"))
    };
    FILES.iter().flat_map(read).collect()
});

/// Why there is no such benchmark.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BenchmarkError {
    /// A name that is no benchmark.
    #[error("'{0}' is not a benchmark (known: {known}; or a file, NAME.toml)", known = known())]
    Unknown(String),
    /// A file that describes none.
    #[error("benchmark file {path}: {reason}", path = path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

fn known() -> String {
    Benchmark::all().iter().map(|benchmark| benchmark.name).collect::<Vec<_>>().join(", ")
}

impl Benchmark {
    /// Every benchmark, variants behind what they vary.
    pub fn all() -> &'static [Benchmark] {
        &BENCHMARKS
    }

    /// The benchmark of this name or alias.
    ///
    /// # Errors
    /// There is none; the error lists those there are.
    pub fn find(name: &str) -> Result<&'static Benchmark, BenchmarkError> {
        let named = |benchmark: &&Benchmark| benchmark.name == name || benchmark.aliases.contains(&name);
        Benchmark::all().iter().find(named).ok_or_else(|| BenchmarkError::Unknown(name.to_owned()))
    }

    /// The benchmark that `text` names: a file of this form when it ends in `.toml` (kept for as long as the program
    /// lives), else as [`Benchmark::find`].
    ///
    /// # Errors
    /// See [`BenchmarkError`].
    pub fn named(text: &str) -> Result<&'static Benchmark, BenchmarkError> {
        if !text.ends_with(".toml") {
            return Benchmark::find(text);
        }
        let path = Path::new(text);
        let wrong = |reason: String| BenchmarkError::File { path: path.to_owned(), reason };
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let content = disk::read_to_string(path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
        let benchmarks = file::read(&name, &content).map_err(wrong)?;
        let first = benchmarks.into_iter().next().ok_or_else(|| wrong("it has no benchmark".to_owned()))?;
        Ok(Box::leak(Box::new(Benchmark { file: Some(path.to_owned()), ..first })))
    }

    /// What the Network division allows; none: it does not know this benchmark.
    pub fn network(&self) -> Option<&NetworkRules> {
        self.network.as_ref()
    }

    /// What a rate of it takes of a fabric, as Appendix B of the rules has it.
    pub fn bandwidth(&self) -> Option<&Formula> {
        self.bandwidth.as_ref()
    }

    /// What is known of its place in a suite in a round.
    pub fn membership(&self, suite: Suite, round: &str) -> Membership<'_> {
        suite::membership(&self.suites, suite, round)
    }

    /// Whether it can be opened without a dataset being given.
    pub fn has_dataset(&self) -> bool {
        self.dataset == Kind::Digits
    }

    /// What a sample of it has for the model, where that is known.
    pub fn inputs(&self) -> Option<&Inputs> {
        self.inputs.as_ref()
    }

    /// Whether a text in UTF-8, `u8[bytes]`, may stand for the first of its inputs: then tokens are the SUT's business.
    pub fn takes_texts(&self) -> bool {
        matches!(self.dataset, Kind::Files { form: Form::Prompts, .. })
    }

    /// What is done to images unless something else is asked for.
    pub fn preprocess(&self) -> Option<&Preprocess> {
        self.preprocess.as_ref()
    }

    /// Opens its dataset, or the one given with `--dataset`.
    ///
    /// # Errors
    /// As [`Benchmark::open_with`].
    pub fn open(&self, dataset: Option<&str>) -> Result<Dataset, DatasetError> {
        self.open_with(dataset, &OpenOptions::default())
    }

    /// Opens its dataset, or the one given with `--dataset`, in another way than usual.
    ///
    /// # Errors
    /// The dataset is missing, altered, or not what this benchmark takes.
    pub fn open_with(&self, dataset: Option<&str>, options: &OpenOptions) -> Result<Dataset, DatasetError> {
        let is_images = |text: &str| Path::new(text).join(images::MAP).exists();
        if let Some(steps) = options.preprocess.as_ref().filter(|_| !dataset.is_some_and(is_images)) {
            let path = dataset.unwrap_or(self.name).into();
            let reason = format!(
                "--preprocess {steps} is for images, and these are none (a folder of JPEGs with {} is)",
                images::MAP
            );
            return Err(DatasetError::Form { path, reason });
        }
        match (self.dataset, dataset) {
            // Any shape for any benchmark: fabrics do not care, and a model that does says so (see [`Benchmark::misfit`]).
            (_, Some(text)) if text.starts_with(synthetic::PREFIX) => {
                let made = synthetic::open(text)?;
                Ok(match self.inputs().map(|inputs| (inputs, self.check(&made, inputs))) {
                    Some((inputs, Ok(tensors))) => made.or_inputs(&inputs.names(), tensors),
                    _ => made,
                })
            }
            (Kind::Digits, None) => digits::embedded(),
            (Kind::Synthetic { example }, None) => Err(DatasetError::Needed(self.name, example.to_owned())),
            (Kind::Files { example, form }, None) => {
                Err(DatasetError::Needed(self.name, format!("PATH ({}) or --dataset {example}", self.accepted(form))))
            }
            (Kind::Digits, Some(folder)) if digits::is_folder_of_some(Path::new(folder)) => {
                digits::from_folder(Path::new(folder))
            }
            (Kind::Digits, Some(path)) => {
                let reason = format!(
                    "benchmark {} takes a folder with images.npy, labels.npy and SHA256SUMS, or no --dataset: its own \
                     is built in (--benchmark synthetic takes samples of any shape)",
                    self.name
                );
                Err(DatasetError::Form { path: path.into(), reason })
            }
            // The digits' own files are the one folder of arrays that is not one array a sample.
            (Kind::Synthetic { .. }, Some(path)) if digits::is_folder(Path::new(path)) => {
                digits::from_folder(Path::new(path))
            }
            (Kind::Synthetic { .. }, Some(path)) => opening::open(Path::new(path), options, None),
            (Kind::Files { form, .. }, Some(path)) => self.open_files(Path::new(path), form, options),
        }
    }

    fn open_files(&self, path: &Path, form: Form, options: &OpenOptions) -> Result<Dataset, DatasetError> {
        let is_images = path.join(images::MAP).exists();
        let is_lines = path.extension().is_some_and(|extension| extension == "jsonl");
        let is_squad = !is_images && path.join(squad::QUESTIONS).exists();
        if is_squad && !self.reads_passages() {
            let reason = format!(
                "questions about passages are for a model that tells the two apart: {} has no input for types \
                 (segment_ids, token_type_ids)",
                self.name
            );
            return Err(DatasetError::Form { path: path.to_owned(), reason });
        }
        let fits = match form {
            Form::Images => !is_lines,
            Form::Tokens | Form::Prompts => !is_images,
            Form::Tensors => !is_images && !is_lines,
        };
        if !fits {
            let reason = format!("this is no dataset of {}, which takes {}", self.name, self.accepted(form));
            return Err(DatasetError::Form { path: path.to_owned(), reason });
        }
        let preprocess = options.preprocess.as_ref().or(self.preprocess.as_ref()).cloned();
        let dataset = opening::open(path, &OpenOptions { preprocess, ..options.clone() }, self.inputs())?;
        // Who says what is done to the images also says what comes out; and files as they are have no shape yet.
        let is_asked_for = is_images && (options.preprocess.is_some() || options.original);
        match self.inputs() {
            Some(inputs) if !is_asked_for => {
                let tensors = self.check(&dataset, inputs)?;
                Ok(dataset.or_inputs(&inputs.names(), tensors))
            }
            _ => Ok(dataset),
        }
    }

    /// Why synthetic samples are not as this benchmark's have to be, judged by the first; others were refused when they
    /// were opened.
    pub fn misfit(&self, dataset: &Dataset) -> Option<String> {
        let inputs = self.inputs().filter(|_| dataset.name().starts_with(synthetic::PREFIX))?;
        self.check(dataset, inputs).err().map(|error| error.to_string())
    }

    fn reads_passages(&self) -> bool {
        self.inputs().is_some_and(Inputs::tell_texts_apart)
    }

    /// What can be given, for messages.
    fn accepted(&self, form: Form) -> String {
        match self.reads_passages() {
            true => format!("a folder with {} and its vocabulary (SQuAD), {}", squad::QUESTIONS, form.accepted()),
            false => form.accepted().to_owned(),
        }
    }

    /// Whether samples can be this benchmark's, judged by the first. Returns how many tensors that has.
    fn check(&self, dataset: &Dataset, inputs: &Inputs) -> Result<usize, DatasetError> {
        let told = |source| DatasetError::Sample { dataset: dataset.name().to_owned(), index: 0, source };
        let first = dataset.first().map_err(told)?;
        if inputs.accept(&first) || (self.takes_texts() && inputs.accept_text(&first)) {
            return Ok(first.len());
        }
        let got: Vec<String> = first.iter().map(ToString::to_string).collect();
        let fix = match inputs.tokens() {
            Ok(tokens) if tokens.len() > 1 && first.len() == 1 && first[0].dtype() != DType::U8 => {
                "JSON lines or a .npz have several inputs"
            }
            _ => "--benchmark synthetic takes samples of any shape",
        };
        let (dataset, wanted) = (dataset.name().to_owned(), inputs.to_string());
        Err(DatasetError::Unfit { dataset, got: got.join(", "), benchmark: self.name, wanted, fix })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_file_of_the_folder_is_built_in_and_no_other() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("benchmarks");
        let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let found: BTreeSet<String> =
            paths.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect();
        let listed: Vec<String> = FILES.iter().map(|(name, _)| format!("{name}.toml")).collect();
        assert_eq!(listed.iter().cloned().collect::<BTreeSet<_>>(), found);
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
                Kind::Digits => None,
                Kind::Synthetic { example } | Kind::Files { example, .. } => Some(example),
            };
            let first = benchmark.open(example).unwrap().first().unwrap();
            let shown: Vec<String> = first.iter().map(ToString::to_string).collect();
            assert!(inputs.accept(&first), "{}: {inputs} does not take {}", benchmark.name, shown.join(", "));
        }
        for (name, text) in FILES.iter().filter(|(_, text)| text.contains("[[suites]]")) {
            assert!(text.contains("\ninputs_source = \""), "{name}");
        }
    }

    #[test]
    fn unknown_names_list_the_known() {
        let error = Benchmark::find("resnet").unwrap_err().to_string();
        assert!(error.contains("'resnet'") && error.contains("digits") && error.contains("resnet50"), "{error}");
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
        for (text, said) in [
            (format!("name = \"other\"\nabout = \"ours\"\n{dataset}\n"), "name = 'other' in it"),
            (format!("name = \"mine\"\nabuot = \"ours\"\n{dataset}\n"), "abuot"),
        ] {
            let error = open(&text).unwrap_err();
            assert!(error.contains("mine.toml") && error.contains(said), "{error}");
        }
        let error = Benchmark::named("/no/such.toml").unwrap_err().to_string();
        assert!(error.contains("/no/such.toml: cannot be read"), "{error}");
        assert_eq!(Benchmark::named("digits").unwrap().file, None);
    }

    #[test]
    fn what_answers_must_be_worth_is_known_of_every_official_benchmark() {
        for benchmark in Benchmark::all().iter().filter(|benchmark| !["digits", "synthetic"].contains(&benchmark.name))
        {
            assert!(!benchmark.quality.is_empty(), "{}", benchmark.name);
            // Where it is scored here, by the same number.
            if let Some(target) = benchmark.accuracy {
                let Quality { reference, shares, .. } = &benchmark.quality[0];
                assert!((reference * shares[0] - target.value).abs() < 1e-9, "{}", benchmark.name);
            }
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
                    let given = text.split_whitespace().rfind(|word| word.starts_with(synthetic::PREFIX)).unwrap();
                    assert!(text.contains(benchmark.name) && text.contains("--dataset"), "{text}");
                    benchmark.open(Some(given)).unwrap();
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
                assert!(used <= total, "{}", benchmark.name);
            }
        }
        let resnet50 = Benchmark::find("resnet50").unwrap();
        assert_eq!(resnet50.qsl, QslSize { total_samples: Some(50_000), performance_samples: Some(1_024) });
        let (_, dims) = resnet50.preprocess().unwrap().output();
        assert_eq!(resnet50.inputs().unwrap().to_string(), "input_tensor:0 f32|f16|i8|u8[N,3,224,224]");
        assert_eq!(dims, [3, 224, 224]);
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
            let known = (benchmark.network().is_some(), benchmark.bandwidth().is_some());
            // BERT left the suite before v5.0; the rules still speak of it.
            let wanted = member || benchmark.name == "bert";
            assert_eq!(known, (wanted, wanted), "{}", benchmark.name);
        }
    }
}
