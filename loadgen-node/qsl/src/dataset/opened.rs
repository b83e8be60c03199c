//! The result of opening a dataset, the same for every format.

use std::path::Path;

use super::reader::Reader;
use crate::accuracy::Truths;

/// A dataset that was opened, with no sample loaded.
#[derive(Debug)]
pub(crate) struct Opened {
    /// The name of the dataset in results.
    pub(crate) name: String,
    pub(crate) reader: Box<dyn Reader>,
    /// The right answers, when the dataset has them.
    pub(crate) truths: Option<Truths>,
    /// SHA-256, in hexadecimal, of a list of sums with which all files were compared when they were opened.
    pub(crate) compared_with: Option<String>,
    /// The names of a sample's tensors, in their order; empty when the tensors have no names.
    pub(crate) input_names: Vec<String>,
    /// A sentence for the log that says how the file was read, when it could be read in several ways.
    pub(crate) note: Option<String>,
}

impl Opened {
    /// Describes a dataset whose tensors have no names.
    pub(crate) fn new(name: impl Into<String>, reader: impl Reader + 'static, truths: Option<Truths>) -> Opened {
        let reader = Box::new(reader);
        Opened { name: name.into(), reader, truths, compared_with: None, input_names: Vec::new(), note: None }
    }

    /// Describes a dataset that is called by its path.
    pub(crate) fn at(path: &Path, reader: impl Reader + 'static, truths: Option<Truths>) -> Opened {
        Opened::new(path.display().to_string(), reader, truths)
    }
}
