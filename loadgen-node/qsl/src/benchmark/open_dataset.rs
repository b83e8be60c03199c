//! Opening a dataset for a benchmark: which datasets it takes, and whether their samples are like its own.

use std::path::Path;

use lon_proto::sample::{DType, remedy};

use super::definition::Benchmark;
use super::kind::{DatasetKind, Form};
use crate::accuracy::ScoreError;
use crate::dataset::formats::{arrays, digits, images, squad, synthetic};
use crate::dataset::opening::{self, Format};
use crate::dataset::{Dataset, DatasetError, OpenOptions};
use crate::encode::inputs::Inputs;
use crate::files::folder::split;

impl Benchmark {
    /// Opens the dataset that was given with `--dataset`, or the benchmark's own.
    ///
    /// # Errors
    /// As [`Benchmark::open_with`].
    pub fn open(&self, dataset: Option<&str>) -> Result<Dataset, DatasetError> {
        self.open_with(dataset, &OpenOptions::default())
    }

    /// Opens the dataset that was given with `--dataset`, or the benchmark's own, with other options than usual.
    ///
    /// # Errors
    /// The dataset is missing or altered, or the benchmark does not take it.
    pub fn open_with(&self, dataset: Option<&str>, options: &OpenOptions) -> Result<Dataset, DatasetError> {
        self.check_preprocess(dataset, options)?;
        let Some(text) = dataset else { return self.open_own() };
        let path = Path::new(text);
        match self.dataset {
            // Every benchmark takes synthetic samples of any shape, to measure networks with (see `Benchmark::fits`).
            _ if synthetic::is_named_by(text) => self.open_synthetic(text, options),
            DatasetKind::Digits => self.open_digits(path),
            DatasetKind::Synthetic { .. } => Dataset::open(text, options),
            DatasetKind::Files { form, .. } => self.open_files(path, form, options),
        }
    }

    /// Refuses a preprocessing when there are no images.
    fn check_preprocess(&self, dataset: Option<&str>, options: &OpenOptions) -> Result<(), DatasetError> {
        let has_images = dataset.is_some_and(|text| images::is_folder(Path::new(text)));
        match options.preprocess.as_ref().filter(|_| !has_images) {
            None => Ok(()),
            Some(steps) => Err(DatasetError::Form {
                path: dataset.unwrap_or(self.name).into(),
                reason: format!(
                    "--preprocess {steps} is for images, and these are none (a folder of JPEGs with {} is)",
                    images::MAP
                ),
            }),
        }
    }

    /// Opens the dataset inside the program, when the benchmark has one.
    fn open_own(&self) -> Result<Dataset, DatasetError> {
        match self.dataset {
            DatasetKind::Digits => digits::embedded().map(Dataset::from),
            DatasetKind::Synthetic { example } => Err(DatasetError::Needed(self.name, example.to_owned())),
            DatasetKind::Files { example, form } => {
                let example = format!("PATH ({}) or --dataset {example}", self.accepted(form));
                Err(DatasetError::Needed(self.name, example))
            }
        }
    }

    /// Opens synthetic samples. When they are like the benchmark's, their tensors get the names of its inputs.
    fn open_synthetic(&self, text: &str, options: &OpenOptions) -> Result<Dataset, DatasetError> {
        let mut dataset = Dataset::open(text, options)?;
        if let Some(inputs) = self.inputs()
            && self.fits_inputs(&dataset, inputs).is_ok()
        {
            dataset.name_inputs(&inputs.names())?;
        }
        Ok(dataset)
    }

    fn open_digits(&self, path: &Path) -> Result<Dataset, DatasetError> {
        if digits::is_folder_of_some(path) {
            return digits::from_folder(path).map(Dataset::from);
        }
        let absent = if path.exists() { "" } else { "there is no such file or folder; " };
        let reason = format!(
            "{absent}benchmark {} takes a folder with images.npy, labels.npy and SHA256SUMS, or no --dataset: its own \
             is built in (--benchmark synthetic takes samples of any shape)",
            self.name
        );
        Err(DatasetError::Form { path: path.to_owned(), reason })
    }

    /// Opens files of the user's, which must have the form and the inputs of the benchmark.
    fn open_files(&self, path: &Path, form: Form, options: &OpenOptions) -> Result<Dataset, DatasetError> {
        if !path.exists() {
            let reason = format!("there is no such file or folder; {} takes {}", self.name, self.accepted(form));
            return Err(DatasetError::Form { path: path.to_owned(), reason });
        }
        let format = Format::of(path);
        self.fits_format(format, form).map_err(|reason| DatasetError::Form { path: path.to_owned(), reason })?;
        let preprocess = options.preprocess.as_ref().or(self.preprocess.as_ref()).cloned();
        let inputs = self.inputs_sent(path, options)?;
        let own = OpenOptions { preprocess, inputs: inputs.clone(), ..options.clone() };
        let mut dataset = Dataset::from(opening::open_format(path, format, &own)?);
        // A preprocessing that was given may make other tensors on purpose, and unchanged files have no shape yet.
        let is_exempt = format == Some(Format::Images) && (options.preprocess.is_some() || options.original);
        if let Some(inputs) = inputs.filter(|_| !is_exempt) {
            self.fits_inputs(&dataset, &inputs)?;
            dataset.name_inputs(&inputs.names())?;
        }
        Ok(dataset)
    }

    /// The inputs that samples have.
    fn inputs_sent(&self, path: &Path, options: &OpenOptions) -> Result<Option<Inputs>, DatasetError> {
        if !options.ids_alone {
            return Ok(self.inputs().cloned());
        }
        let ids = self.inputs().and_then(Inputs::ids_alone);
        let reason = || format!("benchmark {} has no inputs that could be made of token ids alone", self.name);
        ids.map(Some).ok_or_else(|| DatasetError::Form { path: path.to_owned(), reason: reason() })
    }

    /// Checks that the benchmark takes datasets of this format. The error is a clause that says why not.
    fn fits_format(&self, format: Option<Format>, form: Form) -> Result<(), String> {
        if format == Some(Format::Squad) && !self.reads_passages() {
            return Err(format!(
                "questions about passages are for a model that tells the two apart: {} has no input for types \
                 (segment_ids, token_type_ids)",
                self.name
            ));
        }
        let is_taken = match form {
            Form::Images => format != Some(Format::Lines),
            Form::Tokens | Form::Prompts => format != Some(Format::Images),
            Form::Tensors => !matches!(format, Some(Format::Images | Format::Lines)),
        };
        match is_taken {
            true => Ok(()),
            false => Err(format!("this is no dataset of {}, which takes {}", self.name, self.accepted(form))),
        }
    }

    /// Checks that synthetic samples are like the benchmark's, judged by the first sample. All other datasets pass:
    /// their samples were checked when they were opened, or were preprocessed in another way on purpose.
    ///
    /// # Errors
    /// The samples have other types or shapes, or the first one cannot be read.
    pub fn fits(&self, dataset: &Dataset) -> Result<(), DatasetError> {
        match self.inputs().filter(|_| synthetic::is_named_by(dataset.name())) {
            Some(inputs) => self.fits_inputs(dataset, inputs),
            None => Ok(()),
        }
    }

    /// Checks that the first sample has the benchmark's inputs.
    fn fits_inputs(&self, dataset: &Dataset, inputs: &Inputs) -> Result<(), DatasetError> {
        let first = dataset.first_sample()?;
        let tensors = first.tensors();
        if inputs.fits(tensors) || (self.takes_texts() && inputs.fits_text(tensors)) {
            return Ok(());
        }
        let fix = match inputs.tokens() {
            Ok(tokens) if tokens.len() > 1 && tensors.len() == 1 && tensors[0].dtype() != DType::U8 => {
                "JSON lines or a .npz have several inputs".to_owned()
            }
            _ => remedy(inputs.specs(), tensors),
        };
        Err(DatasetError::Unfit {
            dataset: dataset.name().to_owned(),
            shapes: first.shapes(),
            benchmark: self.name,
            inputs: inputs.to_string(),
            fix,
        })
    }

    /// Returns why the accuracy target cannot be judged on this dataset: it has no right answers. `None` where it has
    /// some, and where this benchmark has no target that is scored here.
    pub fn no_truths(&self, dataset: &Dataset) -> Option<ScoreError> {
        let target = self.accuracy.as_ref().filter(|_| dataset.truths().is_none())?;
        let (what, file_names) = target.metric.truths_beside();
        let name = dataset.name();
        let files_in_folder = format!("{file_names} in the folder {}", split(Path::new(name)).0.display());
        let place = match Format::of(Path::new(name)) {
            _ if synthetic::is_named_by(name) => "the program made it up",
            Some(Format::Lines) if what == "labels" => "\"label\" in each line",
            Some(Format::Lines) => "\"answers\" in each line",
            Some(Format::Images) if what == "labels" => images::MAP,
            Some(Format::NpyFolder | Format::NpzFolder) if what == "labels" => arrays::LABELS,
            Some(Format::Npy | Format::Npz) => &files_in_folder,
            _ => file_names,
        };
        let (metric, bound) = (target.metric.name(), target.bounds());
        let least = if target.at_most.is_none() { ">= " } else { "" };
        Some(ScoreError::NoTruths {
            target: format!("{metric} {least}{bound}"),
            lacks: format!("{name} has no {what} ({place})"),
        })
    }

    /// Returns why answers have no score on any dataset: this benchmark has no metric, or none that is computed here.
    pub fn no_metric(&self) -> Option<String> {
        if self.accuracy.is_some() {
            return None;
        }
        if !self.quality.is_empty() {
            let official: Vec<String> = self.quality.iter().map(ToString::to_string).collect();
            return Some(format!("{} cannot be scored here (officially {})", self.name, official.join(", ")));
        }
        let remedy = match self.file {
            Some(_) => "[accuracy] in its file gives it one",
            None => "a benchmark file has one (loadgen-node benchmark init)",
        };
        Some(format!("{} has no metric: {remedy}", self.name))
    }

    /// Tells whether its model reads questions about passages.
    fn reads_passages(&self) -> bool {
        self.inputs().is_some_and(Inputs::tell_texts_apart)
    }

    /// Lists the accepted formats, for messages.
    fn accepted(&self, form: Form) -> String {
        match self.reads_passages() {
            true => format!("a folder with {} and its vocabulary (SQuAD), {}", squad::QUESTIONS, form.accepted()),
            false => form.accepted().to_owned(),
        }
    }
}
