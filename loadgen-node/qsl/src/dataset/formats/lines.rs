//! JSON lines: token ids or prompts, and the right answers beside them.
//!
//! | key | value |
//! |---|---|
//! | `prompt` | a text; either this or `input_ids` |
//! | `input_ids` | token ids |
//! | `attention_mask`, `token_type_ids` | as many numbers as `input_ids`; optional |
//! | `max_tokens` | how many tokens may be generated; optional |
//! | `label` | the right class; optional |
//! | `answers` | the right texts, of which an answer must be one; optional |
//! | `part` | the part of the dataset that the sample belongs to, where parts are scored apart; optional |
//!
//! A prompt becomes `u8[bytes]`, its UTF-8, and `max_tokens` becomes a second tensor `i32[]`. Token ids become the
//! inputs of the benchmark, of the first type where an input may have several, padded with zeros where the length is
//! fixed. Without a benchmark that has inputs, they become those of the SUT's model; until that is known, token ids are
//! `i64[tokens]` and `max_tokens` is `i32[]`. When the folder has a `tokenizer.json`, it makes texts of answers that
//! are token ids.

use std::io::BufReader;
use std::ops::Range;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use lon_proto::files::{self, Limit};
use lon_proto::sample::{DType, Tensor};
use serde::Deserialize;

use super::truths;
use crate::accuracy::{Truth, Truths};
use crate::dataset::error::{DatasetError, content, unreadable};
use crate::dataset::opened::Opened;
use crate::dataset::reader::{ReadError, Reader};
use crate::encode::inputs::Inputs;
use crate::encode::tokens::{self, TokenInput, Tokens};
use crate::files::folder::split;
use crate::files::sums::Sums;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    prompt: Option<String>,
    input_ids: Option<Vec<i64>>,
    attention_mask: Option<Vec<i64>>,
    token_type_ids: Option<Vec<i64>>,
    max_tokens: Option<i32>,
    label: Option<i64>,
    answers: Option<Vec<String>>,
    part: Option<String>,
}

/// The text of a file and the places of its lines. A line is parsed when the file is opened, to find what is wrong with
/// it, and again when the sample is loaded.
#[derive(Debug)]
struct Lines {
    path: PathBuf,
    text: String,
    /// The number of each line, counted from 1, and its place in the text.
    lines: Vec<(usize, Range<usize>)>,
    /// The inputs that token ids become.
    inputs: Vec<TokenInput>,
    /// True where nothing was said of the inputs when the file was opened.
    are_usual: bool,
}

/// The longest line: the tokens of the longest prompts that there are, a hundred times over.
const MAX_LINE_BYTES: usize = 64 << 20;

/// Opens a file of JSON lines. `inputs` are the inputs of the model, when they are known.
pub(crate) fn open(path: &Path, inputs: Option<&Inputs>) -> Result<Opened, DatasetError> {
    let (folder, name) = split(path);
    let sums = Sums::of_folder(&folder)?;
    sums.as_ref().map_or(Ok(()), |sums| sums.verify(&name))?;
    let compared_with = sums.map(|sums| sums.sha256().to_owned());
    let file = files::open(path, Limit::LOG).map_err(unreadable(path))?;
    let mut text = String::new();
    for (number, line) in (1..).zip(files::lines(BufReader::new(file), MAX_LINE_BYTES)) {
        text += &line.map_err(|why| content(path, format!("line {number}: {why}")))?;
        text.push('\n');
    }
    let are_usual = inputs.is_none();
    let inputs = inputs.map_or_else(|| Inputs::generating().tokens(), Inputs::tokens);
    let inputs = inputs.map_err(|reason| content(path, reason))?;
    let lines = Lines { path: path.to_owned(), lines: spans(&text), text, inputs, are_usual };
    let truths = lines.check().map_err(|reason| content(path, reason))?;
    let truths = truths.map(|truths| truths::with_reader(&folder, truths)).transpose()?;
    Ok(Opened { compared_with, ..Opened::at(path, lines, truths) })
}

/// Returns the number and the place of each line that is not blank.
fn spans(text: &str) -> Vec<(usize, Range<usize>)> {
    let mut spans = Vec::new();
    let mut at = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let span = at..at + line.trim_end().len();
        if !span.is_empty() {
            spans.push((number + 1, span));
        }
        at += line.len();
    }
    spans
}

impl Lines {
    /// Checks every line. Returns the right answers, when at least one line has one.
    fn check(&self) -> Result<Option<Truths>, String> {
        let (mut truths, mut first_is_prompt) = (Vec::new(), None);
        for (index, (number, _)) in self.lines.iter().enumerate() {
            let line_error = |reason: String| format!("line {number}: {reason}");
            let mut line = self.line(index).map_err(line_error)?;
            if *first_is_prompt.get_or_insert(line.prompt.is_some()) != line.prompt.is_some() {
                return Err(line_error("prompts and token ids in one file".to_owned()));
            }
            self.check_line(&line).map_err(line_error)?;
            truths.push(line.truth().map_err(line_error)?);
        }
        match truths.is_empty() {
            true => Err("it has no lines".to_owned()),
            false => Ok(truths.iter().any(Option::is_some).then_some(Truths::Samples(truths))),
        }
    }

    fn line(&self, index: usize) -> Result<Line, String> {
        let text = &self.text[self.lines[index].1.clone()];
        serde_json::from_str(text).map_err(|error| {
            // The parser sees one line alone, so its own line number is always 1.
            let (text, column) = (error.to_string(), error.column());
            format!("{} (column {column})", text.split(" at line ").next().unwrap_or(&text))
        })
    }

    /// Checks one line that has the right keys.
    fn check_line(&self, line: &Line) -> Result<(), String> {
        if line.max_tokens.is_some_and(|max_tokens| max_tokens <= 0) {
            return Err("max_tokens is 1 or more".to_owned());
        }
        match (&line.prompt, &line.input_ids) {
            (Some(prompt), None) if prompt.is_empty() => Err("the prompt is empty".to_owned()),
            (Some(_), None) if line.attention_mask.is_some() || line.token_type_ids.is_some() => {
                Err("attention_mask and token_type_ids go with input_ids".to_owned())
            }
            (Some(_), None) => Ok(()),
            (None, Some(ids)) if ids.is_empty() => Err("input_ids is empty".to_owned()),
            (None, Some(ids)) => self.check_ids(line, ids.len()),
            _ => Err("a line has either prompt or input_ids".to_owned()),
        }
    }

    /// Checks one line of `len` token ids.
    fn check_ids(&self, line: &Line, len: usize) -> Result<(), String> {
        let takes = |role: fn(&TokenInput) -> bool| self.inputs.iter().any(role);
        for (key, values, is_taken) in [
            ("attention_mask", &line.attention_mask, takes(TokenInput::is_mask)),
            ("token_type_ids", &line.token_type_ids, takes(TokenInput::is_types)),
        ] {
            match values {
                Some(_) if !is_taken && !self.are_usual => {
                    return Err(format!("this benchmark takes input_ids without {key}"));
                }
                Some(values) if values.len() != len => {
                    return Err(format!("{key} is not as long as input_ids ({len})"));
                }
                _ => {}
            }
        }
        if line.max_tokens.is_some() && !takes(TokenInput::is_limit) {
            return Err("this benchmark's model generates nothing: max_tokens does not belong here".to_owned());
        }
        tokens::fits(&self.inputs, &line.tokens())
    }
}

impl Line {
    fn truth(&mut self) -> Result<Option<Truth>, String> {
        match (self.label, self.answers.take(), self.part.take()) {
            (Some(_), Some(_), _) => Err("a line has either label or answers".to_owned()),
            (Some(_), None, Some(_)) => Err("part goes with answers".to_owned()),
            (Some(label), None, None) => Ok(Some(Truth::Class(label))),
            (None, answers, part) => truths::of_texts(answers, part),
        }
    }

    fn tokens(&self) -> Tokens<'_> {
        Tokens {
            ids: self.input_ids.as_deref().unwrap_or_default(),
            mask: self.attention_mask.as_deref(),
            types: self.token_type_ids.as_deref(),
            max_tokens: self.max_tokens,
        }
    }
}

/// Returns the tensors of a prompt: its UTF-8, and the number of tokens that may be generated when that is known.
fn prompt(text: String, max_tokens: Option<i32>) -> Result<Vec<Tensor>, ReadError> {
    let mut tensors = vec![Tensor::new(DType::U8, &[text.len() as u32], Bytes::from(text))?];
    if let Some(max_tokens) = max_tokens {
        tensors.push(Tensor::new(DType::I32, &[], Bytes::copy_from_slice(&max_tokens.to_le_bytes()))?);
    }
    Ok(tensors)
}

impl Reader for Lines {
    fn count(&self) -> usize {
        self.lines.len()
    }

    fn become_inputs(&mut self, inputs: &Inputs) -> Result<bool, String> {
        let are_prompts = self.line(0).is_ok_and(|line| line.prompt.is_some());
        if !self.are_usual || are_prompts {
            return Ok(false);
        }
        let token_inputs = match inputs.specs() {
            // The model takes anything.
            [] => self.inputs.clone(),
            _ => inputs.tokens()?,
        };
        let is_other = token_inputs != self.inputs;
        (self.inputs, self.are_usual) = (token_inputs, false);
        self.check()?;
        Ok(is_other)
    }

    fn tensors(&self, index: usize) -> Result<Vec<Tensor>, ReadError> {
        let content_error = |reason: String| ReadError::Content { file: self.path.clone(), reason };
        let line = self.line(index).map_err(content_error)?;
        if let Some(text) = line.prompt {
            return prompt(text, line.max_tokens);
        }
        Ok(tokens::tensors(&self.inputs, &line.tokens())?)
    }
}
