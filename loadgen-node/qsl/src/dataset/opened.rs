//! The result of opening a dataset, the same for every format.

use std::path::Path;

use lon_proto::sample::{Signature, Tensor, TensorSpec};

use super::reader::{ReadError, Reader};
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
    /// The places that the tensors of a sample have in what the reader returns, where that is in another order.
    pub(crate) order: Option<Vec<usize>>,
    /// A sentence for the log that says how the file was read, when it could be read in several ways.
    pub(crate) note: Option<String>,
}

impl Opened {
    /// Describes a dataset whose tensors have no names.
    pub(crate) fn new(name: impl Into<String>, reader: impl Reader + 'static, truths: Option<Truths>) -> Opened {
        let reader = Box::new(reader);
        let (name, input_names) = (name.into(), Vec::new());
        Opened { name, reader, truths, compared_with: None, input_names, order: None, note: None }
    }

    /// Reads the tensors of one sample.
    ///
    /// # Errors
    /// As the reader.
    pub(crate) fn tensors(&self, index: usize) -> Result<Vec<Tensor>, ReadError> {
        let tensors = self.reader.tensors(index)?;
        match &self.order {
            Some(order) => Ok(order.iter().filter_map(|&place| tensors.get(place).cloned()).collect()),
            None => Ok(tensors),
        }
    }

    /// Puts the tensors of samples into the order of a model's inputs; `names` are the model's names in the order that
    /// the tensors have now.
    pub(crate) fn put_in_order(&mut self, names: &[String], model: &Signature) {
        let place = |input: &TensorSpec| names.iter().position(|name| *name == input.name);
        let Some(places) = model.iter().map(place).collect::<Option<Vec<usize>>>() else { return };
        let before = self.order.take();
        let of_reader = |place: usize| before.as_ref().map_or(place, |before| before[place]);
        self.order = Some(places.into_iter().map(of_reader).collect());
        self.input_names = model.iter().map(|input| input.name.clone()).collect();
    }

    /// Describes a dataset that is called by its path.
    pub(crate) fn at(path: &Path, reader: impl Reader + 'static, truths: Option<Truths>) -> Opened {
        Opened::new(path.display().to_string(), reader, truths)
    }
}
