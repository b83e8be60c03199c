//! The right answers in files of their own beside the samples.
//!
//! | name | content |
//! |---|---|
//! | `labels.npy`, `labels.txt` | the right class of each sample, or of each of its items (see `labels`) |
//! | `answers.jsonl` | a line `{"answers": ["..."]}` for each sample: the right texts; maybe a `part`, as JSON lines |
//! | `tokenizer.json` | what makes texts of answers that are token ids; beside texts only |
//! | `punkt_tab` | NLTK's folder of this name, whose `english` finds the sentences of texts; beside texts only |
//! | `annotations.json`, `annotations/instances_val2017.json` | the boxes in images, in the form of COCO |
//! | `masks` | a folder of files `*.bin`, by name in the order of samples: the class of each voxel, a byte each |
//!
//! The first of them that is there is read. Each must have its sum when there is a list of sums.
//!
//! Images are found in a file of boxes by the names of their files. The image of sample i is the i-th of the file where
//! samples have no such names.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lon_proto::files::{self, Limit};
use serde::Deserialize;

use super::labels;
use crate::accuracy::{Boxes, Reader, SENTENCE_FILES, Sentences, Tokenizer, Truth, Truths};
use crate::dataset::error::{DatasetError, content, unreadable};
use crate::files::sums::Sums;

/// The name of the file of texts.
const ANSWERS: &str = "answers.jsonl";
/// The name of the tokenizer, as Hugging Face has it.
const TOKENIZER: &str = "tokenizer.json";
/// The folder with the model of sentences, as NLTK's data have it.
const SENTENCES: &str = "punkt_tab/english";
/// The name of the file of boxes.
const ANNOTATIONS: &str = "annotations.json";
/// The name of COCO's own.
pub(super) const COCO: &str = "annotations/instances_val2017.json";
/// The name of the folder of segmentations.
const MASKS: &str = "masks";

/// A line of the file of texts.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    answers: Option<Vec<String>>,
    part: Option<String>,
}

/// Reads the right answers to `count` samples in the samples' folder; none when it has no such file.
pub(super) fn of_folder(folder: &Path, count: usize) -> Result<Option<Truths>, DatasetError> {
    if let Some(truths) = labels::of_folder(folder, count)? {
        return Ok(Some(truths));
    }
    match () {
        () if folder.join(ANSWERS).exists() => texts(folder, count).map(Some),
        () => match boxes(folder, count)? {
            Some(truths) => Ok(Some(truths)),
            None if folder.join(MASKS).is_dir() => masks(folder, count).map(Some),
            None => Ok(None),
        },
    }
}

/// Reads the boxes in `count` images of a folder; none when it has no file of them.
fn boxes(folder: &Path, count: usize) -> Result<Option<Truths>, DatasetError> {
    let Some(name) = annotations(folder) else { return Ok(None) };
    let boxes = read_boxes(folder, name)?;
    counted(&folder.join(name), boxes.len(), count)?;
    Ok(Some(Truths::Boxes(Arc::new(boxes))))
}

/// Reads the boxes in these images of a folder, which are found by the names of their files, or else by their places.
/// None when the folder has no file of boxes.
pub(super) fn boxes_of(folder: &Path, images: &[Box<str>]) -> Result<Option<Truths>, DatasetError> {
    let Some(name) = annotations(folder) else { return Ok(None) };
    let (boxes, file) = (read_boxes(folder, name)?, folder.join(name));
    let boxes = match boxes.of_files(images).map_err(|reason| content(&file, reason))? {
        Some(boxes) => boxes,
        None => {
            counted(&file, boxes.len(), images.len())?;
            boxes
        }
    };
    Ok(Some(Truths::Boxes(Arc::new(boxes))))
}

/// The file of boxes in a folder.
fn annotations(folder: &Path) -> Option<&'static str> {
    [ANNOTATIONS, COCO].into_iter().find(|name| folder.join(name).exists())
}

/// Reads a file of boxes.
pub(super) fn read_boxes(folder: &Path, name: &str) -> Result<Boxes, DatasetError> {
    Boxes::from_json(&verified(folder, name)?).map_err(|reason| content(&folder.join(name), reason))
}

/// Joins right texts with the tokenizer and the model of sentences beside them, when they are there. Other right
/// answers stay as they are.
pub(super) fn with_reader(folder: &Path, truths: Truths) -> Result<Truths, DatasetError> {
    match truths {
        Truths::Samples(truths) if truths.iter().flatten().all(is_text) => {
            match (tokenizer(folder)?, sentences(folder)?) {
                (None, None) => Ok(Truths::Samples(truths)),
                (tokenizer, sentences) => Ok(Truths::Decoded(truths, Arc::new(Reader { tokenizer, sentences }))),
            }
        }
        truths => Ok(truths),
    }
}

fn tokenizer(folder: &Path) -> Result<Option<Tokenizer>, DatasetError> {
    let file = folder.join(TOKENIZER);
    if !file.exists() {
        return Ok(None);
    }
    Tokenizer::from_json(&verified(folder, TOKENIZER)?).map(Some).map_err(|reason| content(&file, reason))
}

fn sentences(folder: &Path) -> Result<Option<Sentences>, DatasetError> {
    let model = folder.join(SENTENCES);
    if !model.exists() {
        return Ok(None);
    }
    let text_of = |name: &str| {
        let bytes = verified(folder, &format!("{SENTENCES}/{name}"))?;
        files::into_text(bytes).map_err(|error| content(&model.join(name), error.to_string()))
    };
    let [one, two, three, four] = SENTENCE_FILES;
    let texts = [text_of(one)?, text_of(two)?, text_of(three)?, text_of(four)?];
    let model_of = Sentences::of_files(texts.each_ref().map(String::as_str));
    model_of.map(Some).map_err(|reason| content(&model, reason))
}

fn is_text(truth: &Truth) -> bool {
    matches!(truth, Truth::Texts(_) | Truth::Part { .. })
}

fn texts(folder: &Path, count: usize) -> Result<Truths, DatasetError> {
    let file = folder.join(ANSWERS);
    let text = files::into_text(verified(folder, ANSWERS)?).map_err(|error| content(&file, error.to_string()))?;
    let line = |(number, line): (usize, &str)| match serde_json::from_str(line) {
        Ok(Line { answers, part }) => match of_texts(answers, part) {
            Ok(Some(truth)) => Ok(Some(truth)),
            Ok(None) => Err(content(&file, format!("line {}: it has no answers", number + 1))),
            Err(reason) => Err(content(&file, format!("line {}: {reason}", number + 1))),
        },
        Err(error) => Err(content(&file, format!("line {}: {error}", number + 1))),
    };
    let truths: Vec<Option<Truth>> = text.trim_end().lines().enumerate().map(line).collect::<Result<_, _>>()?;
    counted(&file, truths.len(), count)?;
    with_reader(folder, Truths::Samples(truths))
}

/// Returns the right texts of a sample, of the part of the dataset to which it belongs. A part may lack them: nothing
/// here may score it.
pub(super) fn of_texts(answers: Option<Vec<String>>, part: Option<String>) -> Result<Option<Truth>, String> {
    match (answers, part) {
        (Some(answers), _) if answers.is_empty() => Err("answers is empty".to_owned()),
        (answers, Some(part)) => Ok(Some(Truth::Part { part, texts: answers.unwrap_or_default() })),
        (answers, None) => Ok(answers.map(Truth::Texts)),
    }
}

fn masks(folder: &Path, count: usize) -> Result<Truths, DatasetError> {
    let sums = Sums::of_folder(folder)?;
    let folder = folder.join(MASKS);
    let entries = std::fs::read_dir(&folder).map_err(unreadable(&folder))?;
    let paths: Result<Vec<PathBuf>, _> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut paths = paths.map_err(unreadable(&folder))?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "bin"));
    paths.sort_unstable();
    counted(&folder, paths.len(), count)?;
    if let Some(sums) = sums {
        for name in paths.iter().filter_map(|path| path.file_name()) {
            sums.verify(&format!("{MASKS}/{}", name.to_string_lossy()))?;
        }
    }
    Ok(Truths::Samples(paths.into_iter().map(|path| Some(Truth::Mask(path))).collect()))
}

fn counted(file: &Path, answers: usize, count: usize) -> Result<(), DatasetError> {
    match answers == count {
        true => Ok(()),
        false => Err(content(file, format!("right answers to {answers} samples; there are {count}"))),
    }
}

/// Reads a text after it was compared with its sum, when there is a list of sums.
fn verified(folder: &Path, name: &str) -> Result<Vec<u8>, DatasetError> {
    if let Some(sums) = Sums::of_folder(folder)? {
        sums.verify(name)?;
    }
    let file = folder.join(name);
    let text = files::bytes(&file, Limit::LIST).map_err(unreadable(&file))?;
    files::check_mark(&text).map_err(|error| content(&file, error.to_string()))?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn fault(folder: &Path, count: usize) -> String {
        of_folder(folder, count).unwrap_err().to_string()
    }

    #[test]
    fn texts_with_and_without_a_tokenizer() {
        let folder = tempfile::tempdir().unwrap();
        assert!(of_folder(folder.path(), 2).unwrap().is_none());
        fs::write(folder.path().join(ANSWERS), "{\"answers\": [\"a\"]}\n{\"answers\": [\"b\", \"c\"]}\n").unwrap();
        let Some(Truths::Samples(texts)) = of_folder(folder.path(), 2).unwrap() else { panic!() };
        assert_eq!(texts[1], Some(Truth::Texts(vec!["b".to_owned(), "c".to_owned()])));
        assert!(fault(folder.path(), 3).contains("right answers to 2 samples; there are 3"));
        fs::write(folder.path().join(TOKENIZER), r#"{"model": {"vocab": {"a": 0}}}"#).unwrap();
        assert!(matches!(of_folder(folder.path(), 2).unwrap(), Some(Truths::Decoded(..))));
        fs::write(folder.path().join(TOKENIZER), "{}").unwrap();
        assert!(fault(folder.path(), 2).contains("tokenizer.json"));
        for (name, content) in [(TOKENIZER, "\u{feff}{}"), (ANSWERS, "\u{feff}{\"answers\": []}\n")] {
            fs::write(folder.path().join(name), content).unwrap();
            let message = fault(folder.path(), 2);
            assert!(message.contains(name) && message.contains("byte order mark"), "{message}");
        }
        fs::remove_file(folder.path().join(TOKENIZER)).unwrap();
        fs::write(folder.path().join(ANSWERS), "{\"answers\": []}\n").unwrap();
        assert!(fault(folder.path(), 1).contains("line 1: answers is empty"));
        fs::write(folder.path().join(ANSWERS), "{}\n").unwrap();
        assert!(fault(folder.path(), 1).contains("line 1: it has no answers"));
    }

    #[test]
    fn texts_of_parts() {
        let folder = tempfile::tempdir().unwrap();
        let lines = "{\"part\": \"MBXP\"}\n{\"answers\": [\"7\"], \"part\": \"GSM8K\"}\n";
        fs::write(folder.path().join(ANSWERS), lines).unwrap();
        let part = |part: &str, texts: &[&str]| {
            let texts = texts.iter().map(|text| (*text).to_owned()).collect();
            Some(Truth::Part { part: part.to_owned(), texts })
        };
        let truths = of_folder(folder.path(), 2).unwrap().unwrap();
        assert_eq!(truths.samples(), [part("MBXP", &[]), part("GSM8K", &["7"])]);
    }

    #[test]
    fn boxes_and_masks() {
        let folder = tempfile::tempdir().unwrap();
        let masks = folder.path().join(MASKS);
        fs::create_dir(&masks).unwrap();
        for name in ["b.bin", "a.bin", "a.txt"] {
            fs::write(masks.join(name), [0, 1]).unwrap();
        }
        let truths = of_folder(folder.path(), 2).unwrap().unwrap();
        assert_eq!(truths.samples()[0], Some(Truth::Mask(masks.join("a.bin"))));
        assert!(fault(folder.path(), 1).contains("there are 1"));
        let images = r#"{"images": [{"id": 1, "height": 2, "width": 2}], "annotations": [], "categories": []}"#;
        fs::write(folder.path().join(ANNOTATIONS), images).unwrap();
        assert!(matches!(of_folder(folder.path(), 1).unwrap(), Some(Truths::Boxes(_))));
        assert!(fault(folder.path(), 2).contains("right answers to 1 samples"));
        fs::create_dir(folder.path().join("annotations")).unwrap();
        fs::rename(folder.path().join(ANNOTATIONS), folder.path().join(COCO)).unwrap();
        assert!(matches!(of_folder(folder.path(), 1).unwrap(), Some(Truths::Boxes(_))));
    }
}
