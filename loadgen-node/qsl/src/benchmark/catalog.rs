//! The benchmarks that are built in, one TOML file each in `benchmarks/`, and how one is found by its name.
//!
//! To add a benchmark, add a file and its name to `FILES`. A file of the user's takes the place of a built-in
//! benchmark, or adds one, for a single run.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use lon_proto::files;

use super::definition::Benchmark;
use super::file;
use super::suite::{Membership, Suite};

/// Lists the names and texts of files in `benchmarks/`.
macro_rules! files {
    ($($name:literal,)*) => {
        &[$(($name, include_str!(concat!("../../benchmarks/", $name, ".toml"))),)*]
    };
}

/// The names and texts of all files, sorted by name; a test compares them with the folder.
pub(super) const FILES: &[(&str, &str)] = files![
    "3d-unet",
    "bert",
    "deepseek-r1",
    "digits",
    "dlrm-v2",
    "dlrm-v3",
    "e2e-rag-db",
    "e2e-rag-qna",
    "gnmt",
    "gpt-oss-120b",
    "gptj",
    "llama2-70b",
    "llama3_1-405b",
    "llama3_1-8b",
    "llama3_1-8b-edge",
    "mixtral-8x7b",
    "mobilenet",
    "pointpainting",
    "qwen3-vl-235b-a22b",
    "resnet50",
    "retinanet",
    "rgat",
    "ssd-mobilenet",
    "ssd-resnet34",
    "stable-diffusion-xl",
    "synthetic",
    "wan-2.2-t2v-a14b",
    "whisper",
    "yolo",
];

static BENCHMARKS: LazyLock<Vec<Benchmark>> = LazyLock::new(|| {
    let benchmarks_of = |(name, text): &(&'static str, &'static str)| {
        // The files are part of the program, and a test reads them all.
        file::read(name, text).unwrap_or_else(|reason| unreachable!("benchmarks/{name}.toml: {reason}"))
    };
    FILES.iter().flat_map(benchmarks_of).collect()
});

/// The reasons why a benchmark cannot be found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BenchmarkError {
    /// No benchmark has this name.
    #[error("'{0}' is not a benchmark{remedy}", remedy = remedy(.0))]
    Unknown(String),
    /// The file does not describe a benchmark.
    #[error("benchmark file {path}: {reason}", path = path.display())]
    File {
        /// The path of the file.
        path: PathBuf,
        /// A clause that says what is wrong with it.
        reason: String,
    },
}

fn names() -> String {
    Benchmark::all().iter().map(|benchmark| benchmark.name).collect::<Vec<_>>().join(", ")
}

/// A suggestion for a name that is not known; without one, the names that are.
fn remedy(name: &str) -> String {
    hint(name).unwrap_or_else(|| format!(" (known: {}; or a file, NAME.toml)", names()))
}

/// A file of this name, the nearest name within three changed letters, or one that begins so.
fn hint(name: &str) -> Option<String> {
    // The checker's names have the target behind the benchmark's name.
    let target = ["-99.9", "-99"].into_iter().find_map(|target| Some((name.strip_suffix(target)?, target)));
    if let Some((base, target)) = target.and_then(|(name, target)| Some((Benchmark::find(name).ok()?.name, target))) {
        return Some(format!("; run {base}: `submission` and `audit` judge its target {}", &target[1..]));
    }
    let file = format!("{name}.toml");
    if Path::new(&file).is_file() {
        return Some(format!("; did you mean the file {file}?"));
    }
    let (name, all) = (bare(name), Benchmark::all().iter().map(|benchmark| benchmark.name));
    let near = all.clone().map(|other| (strsim::levenshtein(&name, &bare(other)), other)).filter(|(far, _)| *far <= 3);
    let longer = || all.clone().find(|other| name.len() >= 3 && bare(other).starts_with(&name));
    let closest = near.min().map(|(_, other)| other).or_else(longer);
    closest.map(|other| format!("; did you mean {other}?"))
}

/// A name without what may be written otherwise.
fn bare(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).flat_map(char::to_lowercase).collect()
}

impl Benchmark {
    /// Returns all built-in benchmarks. Each is followed by its variants.
    pub fn all() -> &'static [Benchmark] {
        &BENCHMARKS
    }

    /// Returns the names of the benchmarks of a suite in a round.
    pub fn of_suite(suite: Suite, round: &str) -> Vec<&'static str> {
        let is_in = |benchmark: &&Benchmark| matches!(benchmark.membership(suite, round), Membership::Scenarios(_));
        Benchmark::all().iter().filter(is_in).map(|benchmark| benchmark.name).collect()
    }

    /// Returns the built-in benchmark with this name or alias. Capitals, dashes and underscores do not matter.
    ///
    /// # Errors
    /// There is none. The error lists the names that are known.
    pub fn find(name: &str) -> Result<&'static Benchmark, BenchmarkError> {
        let key = bare(name);
        let named = |benchmark: &&Benchmark| {
            bare(benchmark.name) == key || benchmark.aliases.iter().any(|alias| bare(alias) == key)
        };
        Benchmark::all().iter().find(named).ok_or_else(|| BenchmarkError::Unknown(name.to_owned()))
    }

    /// Returns the benchmark that `text` names: a file of the user's when it ends in `.toml`, else a built-in one. What
    /// is read from a file stays in memory as long as the program runs.
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
        let content = files::user_text(path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
        let benchmarks = file::read(&name, &content).map_err(wrong)?;
        let first = benchmarks.into_iter().next().ok_or_else(|| wrong("it has no benchmark".to_owned()))?;
        Ok(Box::leak(Box::new(Benchmark { file: Some(path.to_owned()), ..first })))
    }
}
