//! A folder of JPEG images with `val_map.txt`, which has a line `relative/path.jpg LABEL` for each image, as for
//! ImageNet. With a file of boxes beside it (see `truths`) the labels do not count.
//!
//! Or COCO's own folder: its images in `val2017`, its boxes in `annotations/instances_val2017.json`. Samples are the
//! images of that file, in its order, unless `val_map.txt` lists others.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use lon_image::{Preprocess, check_ends, decode_jpeg};
use lon_proto::files::{self, Limit};
use lon_proto::sample::Tensor;

use super::truths;
use crate::accuracy::{Truth, Truths};
use crate::dataset::error::{DatasetError, content, unreadable};
use crate::dataset::opened::Opened;
use crate::dataset::options::OpenOptions;
use crate::dataset::reader::{ReadError, Reader};
use crate::files::folder::Folder;
use crate::files::sums::{SumError, Sums};

/// The name of the list of images.
pub(crate) const MAP: &str = "val_map.txt";
/// The folder of COCO's images.
const COCO_IMAGES: &str = "val2017";

#[derive(Debug)]
struct Images {
    folder: Folder,
    names: Vec<Box<str>>,
    /// The preprocessing of the images. `None` when the images are sent as they are.
    preprocess: Option<Preprocess>,
    sums: Option<Sums>,
    /// The file that lists the images.
    list: &'static str,
}

/// The images of a folder, and what is known of them.
struct Listed {
    /// Their paths in the folder.
    names: Vec<Box<str>>,
    truths: Option<Truths>,
    /// The file that lists them.
    list: &'static str,
}

/// Tells whether `path` is a folder of images.
pub(crate) fn is_folder(path: &Path) -> bool {
    path.join(MAP).exists() || is_coco(path)
}

fn is_coco(path: &Path) -> bool {
    path.join(COCO_IMAGES).is_dir() && path.join(truths::COCO).exists()
}

/// Opens a folder of images. No image is read.
pub(crate) fn open(folder: &Path, options: &OpenOptions) -> Result<Opened, DatasetError> {
    let sums = Sums::of_folder(folder)?;
    if options.preprocess.is_none() && !options.original {
        let reason = "what is to be done to the images is not known: give --preprocess, for example \
                      resize=256,crop=224,dtype=u8, or send them as they are with --compression original";
        return Err(content(folder, reason));
    }
    let inside = Folder::open(folder).map_err(unreadable(folder))?;
    let checked = |name: &str| match options.labels_only {
        true => Folder::check_name(name).map_err(|error| error.to_string()),
        false => inside.file(name).map(|_| ()).map_err(|error| error.to_string()),
    };
    let Listed { names, truths, list } = match folder.join(MAP).exists() {
        true => mapped(folder, sums.as_ref(), checked)?,
        false => annotated(folder, checked)?,
    };
    let preprocess = options.preprocess.clone().filter(|_| !options.original);
    let images = Images { folder: inside, names, preprocess, sums, list };
    Ok(Opened::at(folder, images, truths))
}

/// Reads the list of images, with their labels. Boxes beside it are the right answers in place of labels.
fn mapped(
    folder: &Path,
    sums: Option<&Sums>,
    checked: impl Fn(&str) -> Result<(), String>,
) -> Result<Listed, DatasetError> {
    let map = folder.join(MAP);
    let text = files::text(&map, Limit::LOG).map_err(unreadable(&map))?;
    // Labels are not read again, so that they are looked at here.
    if let Some(sums) = sums.filter(|sums| sums.has(MAP)) {
        sums.verify_content(MAP, text.as_bytes())?;
    }
    let (mut names, mut truths) = (Vec::new(), Vec::new());
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let line_error = |reason: String| content(&map, format!("line {}: {reason}", number + 1));
        let (name, label) = entry(line).map_err(line_error)?;
        checked(name).map_err(line_error)?;
        names.push(name.into());
        truths.push(label.map(Truth::Class));
    }
    if names.is_empty() {
        return Err(content(&map, "it names no images"));
    }
    let labels = truths.iter().any(Option::is_some).then(|| Truths::Samples(truths));
    let boxes = truths::boxes_of(folder, &names)?;
    Ok(Listed { names, truths: boxes.or(labels), list: MAP })
}

/// Reads COCO's file of boxes, which lists the images.
fn annotated(folder: &Path, checked: impl Fn(&str) -> Result<(), String>) -> Result<Listed, DatasetError> {
    let content_error = |reason: String| content(&folder.join(truths::COCO), reason);
    let boxes = truths::read_boxes(folder, truths::COCO)?;
    let names = boxes.file_names().ok_or_else(|| content_error("an image has no file_name".to_owned()))?;
    let names: Vec<Box<str>> = names.iter().map(|name| format!("{COCO_IMAGES}/{name}").into()).collect();
    if names.is_empty() {
        return Err(content_error("it names no images".to_owned()));
    }
    names.iter().try_for_each(|name| checked(name)).map_err(content_error)?;
    Ok(Listed { names, truths: Some(Truths::Boxes(Arc::new(boxes))), list: truths::COCO })
}

/// Returns the name on a line, and the label when there is one. A name may contain blanks.
fn entry(line: &str) -> Result<(&str, Option<i64>), String> {
    let line = line.trim();
    let labelled = line.rsplit_once(char::is_whitespace).map(|(name, label)| (name.trim_end(), label.parse::<i64>()));
    match labelled {
        Some((name, Ok(label))) if label >= 0 => Ok((name, Some(label))),
        Some((_, Ok(label))) => Err(format!("the label {label} is below 0")),
        _ if line.to_ascii_lowercase().ends_with(".jpg") || line.to_ascii_lowercase().ends_with(".jpeg") => {
            Ok((line, None))
        }
        _ => Err(format!("'{line}' is not 'relative/path.jpg LABEL'")),
    }
}

impl Images {
    fn path(&self, index: usize) -> PathBuf {
        self.folder.path().join(&*self.names[index])
    }
}

impl Reader for Images {
    fn count(&self) -> usize {
        self.names.len()
    }

    fn tensors(&self, index: usize) -> Result<Vec<Tensor>, ReadError> {
        let bytes = self.original(index)?;
        let preprocess = self.preprocess.as_ref().ok_or(ReadError::NoOriginal)?;
        let tensor = decode_jpeg(&bytes).and_then(|pixels| preprocess.apply(&pixels));
        let tensor = tensor.map_err(|source| ReadError::Image { file: self.path(index), source })?;
        Ok(vec![tensor])
    }

    fn file_name(&self, index: usize) -> Option<&str> {
        Some(&self.names[index])
    }

    fn is_read_when_needed(&self) -> bool {
        true
    }

    fn has_originals(&self) -> bool {
        true
    }

    fn original(&self, index: usize) -> Result<Bytes, ReadError> {
        let read_error = |source| ReadError::File { file: self.path(index), source };
        let bytes = self.folder.read(&self.names[index]).map(Bytes::from).map_err(read_error)?;
        // A node would say of such a file that it cannot be read, but not which it is.
        check_ends(&bytes).map_err(|source| ReadError::Image { file: self.path(index), source })?;
        Ok(bytes)
    }

    fn check(&self, index: usize) -> Result<(), ReadError> {
        let pixels = decode_jpeg(&self.original(index)?);
        let prepared = pixels.and_then(|pixels| match &self.preprocess {
            Some(preprocess) => preprocess.apply(&pixels).map(drop),
            None => Ok(()),
        });
        prepared.map_err(|source| ReadError::Image { file: self.path(index), source })
    }

    fn listed_files(&self) -> usize {
        if self.sums.is_some() { self.names.len() } else { 0 }
    }

    fn sums_sha256(&self) -> Option<&str> {
        // Without that of the labels, equal lists are not of equal datasets.
        self.sums.as_ref().filter(|sums| sums.has(self.list)).map(Sums::sha256)
    }

    fn verify(&self, file: usize) -> Result<(), SumError> {
        self.sums.as_ref().map_or(Ok(()), |sums| sums.verify(&self.names[file]))
    }
}
