//! A folder with SQuAD v1.1 as it is published, and the vocabulary of the model that reads it.
//!
//! The folder has the development set, `dev-v1.1.json`, and the vocabulary of an uncased BERT, `vocab.txt`, with a
//! piece on each line. A sample is a window of a passage and not a question: a long passage takes several windows (see
//! [`passages`](crate::encode::passages)). The tensors are the inputs of the benchmark, padded with zeros. When no
//! inputs are given, they are ids, mask and segments, `i64[384]` each.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use lon_proto::files::{self, Limit};
use lon_proto::sample::Tensor;
use serde::Deserialize;

use crate::accuracy::Truths;
use crate::dataset::error::{DatasetError, content, unreadable};
use crate::dataset::opened::Opened;
use crate::dataset::reader::{MAX_COUNT, ReadError, Reader};
use crate::encode::inputs::Inputs;
use crate::encode::passages::{Reading, Shape};
use crate::encode::tokens::{self, TokenInput};
use crate::encode::wordpiece::WordPiece;
use crate::files::sums::Sums;

/// The name of the file with passages, questions and answers.
pub(crate) const QUESTIONS: &str = "dev-v1.1.json";
/// The name of the vocabulary, with a piece of a word on each line.
const VOCABULARY: &str = "vocab.txt";

/// The inputs of the model, when no benchmark gives them.
const INPUTS: [&str; 3] = ["input_ids i64[N,384]", "input_mask i64[N,384]", "segment_ids i64[N,384]"];

/// The largest size of a file, so that 32 bits can count the bytes of a passage.
const LIMIT: Limit = Limit::bytes(u32::MAX as u64);

/// The keys of the published file that are needed; others are ignored.
#[derive(Deserialize)]
struct Squad {
    data: Vec<Article>,
}

#[derive(Deserialize)]
struct Article {
    paragraphs: Vec<Paragraph>,
}

#[derive(Deserialize)]
struct Paragraph {
    context: String,
    qas: Vec<Question>,
}

#[derive(Deserialize)]
struct Question {
    id: String,
    question: String,
    answers: Vec<Answer>,
}

#[derive(Deserialize)]
struct Answer {
    text: String,
}

/// Windows of passages as samples.
#[derive(Debug)]
struct Windows {
    reading: Arc<Reading>,
    /// The inputs that token ids become.
    inputs: Vec<TokenInput>,
}

/// Tells whether `path` is a folder with SQuAD's questions.
pub(crate) fn is_folder(path: &Path) -> bool {
    path.join(QUESTIONS).exists()
}

/// Opens a folder with questions and a vocabulary. `inputs` are the inputs of the model, when they are known.
pub(crate) fn open(folder: &Path, inputs: Option<&Inputs>) -> Result<Opened, DatasetError> {
    let sums = Sums::of_folder(folder)?;
    let vocabulary = WordPiece::new(&text(folder, VOCABULARY, sums.as_ref())?);
    let vocabulary = vocabulary.map_err(|error| content(&folder.join(VOCABULARY), error.to_string()))?;
    let path = folder.join(QUESTIONS);
    let content_error = |reason: String| content(&path, reason);
    let squad: Squad = serde_json::from_str(&text(folder, QUESTIONS, sums.as_ref())?)
        .map_err(|error| content_error(format!("it is not SQuAD v1.1: {error}")))?;
    let reading = Arc::new(reading(squad, vocabulary).map_err(content_error)?);
    let inputs = token_inputs(inputs).map_err(content_error)?;
    let windows = Windows { reading: Arc::clone(&reading), inputs };
    windows.fits().map_err(content_error)?;
    let compared_with = sums.map(|sums| sums.sha256().to_owned());
    Ok(Opened { compared_with, ..Opened::at(folder, windows, Some(Truths::Questions(reading))) })
}

/// Reads a file of the folder, after a comparison with its sum when there is a list of sums.
fn text(folder: &Path, name: &str, sums: Option<&Sums>) -> Result<String, DatasetError> {
    let file = folder.join(name);
    if name == VOCABULARY && !file.exists() {
        return Err(content(
            &file,
            format!("it is missing: {QUESTIONS} is read with the model's vocabulary beside it"),
        ));
    }
    if let Some(sums) = sums {
        sums.verify(name)?;
    }
    let bytes = files::bytes(&file, LIMIT).map_err(unreadable(&file))?;
    files::into_text(bytes).map_err(|error| content(&file, error.to_string()))
}

/// Cuts all passages into windows.
fn reading(squad: Squad, vocabulary: WordPiece) -> Result<Reading, String> {
    let mut reading = Reading::new(vocabulary, Shape::REFERENCE);
    let mut ids = HashSet::new();
    for paragraph in squad.data.into_iter().flat_map(|article| article.paragraphs) {
        reading.add_passage(&paragraph.context);
        for Question { id, question, answers } in paragraph.qas {
            if answers.is_empty() {
                return Err(format!(
                    "question {id} has no answers: every question of SQuAD v1.1 has some, not so v2.0"
                ));
            }
            if ids.contains(&id) {
                return Err(format!("question {id} is there twice"));
            }
            ids.insert(id);
            reading.add_question(&question, answers.into_iter().map(|answer| answer.text).collect());
            if reading.samples() > MAX_COUNT {
                return Err(format!("it has more than {MAX_COUNT} samples, a dataset has that many at most"));
            }
        }
    }
    match reading.samples() {
        0 => Err("it has no question about a passage with words in it".to_owned()),
        _ => Ok(reading),
    }
}

fn token_inputs(inputs: Option<&Inputs>) -> Result<Vec<TokenInput>, String> {
    match inputs {
        Some(inputs) => inputs.tokens(),
        None => Inputs::parse(&INPUTS.map(str::to_owned))?.tokens(),
    }
}

impl Windows {
    /// Checks that every window can become the inputs.
    fn fits(&self) -> Result<(), String> {
        let places = self.reading.places();
        if let Some(input) = self.inputs.iter().find(|input| input.len().is_some_and(|len| len != places)) {
            return Err(format!("samples have {places} places, not those of input {}", input.name()));
        }
        (0..self.reading.samples()).try_for_each(|window| {
            let fits = tokens::fits(&self.inputs, &self.reading.feature(window).tokens());
            fits.map_err(|reason| format!("sample {window}: {reason}"))
        })
    }
}

impl Reader for Windows {
    fn count(&self) -> usize {
        self.reading.samples()
    }

    fn tensors(&self, index: usize) -> Result<Vec<Tensor>, ReadError> {
        Ok(tokens::tensors(&self.inputs, &self.reading.feature(index).tokens())?)
    }
}

#[cfg(test)]
mod tests;
