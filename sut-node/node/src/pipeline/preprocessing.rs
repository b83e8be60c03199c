//! Pre-processing of samples before a node's model sees them, as `--preprocess` asks for it.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use lon_image::{Preprocess, SpecError};

use super::images;
use super::token_ids::TokenIds;
use crate::tensor::Signature;

/// Pre-processing of samples before a node's model sees them.
#[derive(Clone, Debug, PartialEq)]
pub enum Preprocessing {
    /// Images become the model's input.
    Images(Arc<Preprocess>),
    /// Token ids become all inputs of the model.
    TokenIds(TokenIds),
}

/// The error for a text that is no pre-processing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// It is none for images.
    #[error(transparent)]
    Images(#[from] SpecError),
    /// The id that ends a text is no number.
    #[error("{TOKEN_IDS}{0}: the id that ends a text is a whole number, 102 for BERT")]
    Separator(String),
}

/// The error for a pre-processing whose result the model does not take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("--preprocess {spec} gives {gives}, the model takes {takes}")]
pub struct PreprocessError {
    spec: String,
    gives: String,
    takes: String,
}

/// Begins a text for [`Preprocessing::TokenIds`].
const TOKEN_IDS: &str = "token-ids=";

impl Preprocessing {
    /// Checks that a model of these inputs takes what is made. No inputs take any image.
    ///
    /// # Errors
    /// It does not; the error shows both.
    pub(crate) fn check(&self, inputs: &Signature) -> Result<(), PreprocessError> {
        let gives = match self {
            Preprocessing::Images(spec) if images::makes(spec, inputs) => return Ok(()),
            Preprocessing::Images(spec) => images::output_form(spec),
            Preprocessing::TokenIds(_) if TokenIds::ids_input(inputs).is_some() => return Ok(()),
            Preprocessing::TokenIds(_) => {
                "token ids with mask, segments or positions beside them, all i32 or i64 of one shape".to_owned()
            }
        };
        Err(PreprocessError { spec: self.to_string(), gives, takes: inputs.to_string() })
    }

    /// Returns the inputs to send for a model of these inputs; of images in any codec but `original`.
    pub(crate) fn client_inputs(&self, inputs: &Signature) -> Signature {
        match self {
            Preprocessing::Images(_) => images::inputs(),
            Preprocessing::TokenIds(_) => Signature::new(TokenIds::ids_input(inputs).into_iter().cloned().collect()),
        }
    }

    /// Returns true when samples can be the dataset's own files.
    pub fn takes_files(&self) -> bool {
        matches!(self, Preprocessing::Images(_))
    }

    /// The most bytes of a sample for a model of these inputs; none: any number.
    pub(crate) fn max_sample_bytes(&self, inputs: &Signature) -> Option<u64> {
        match self {
            Preprocessing::Images(_) => Some(images::MAX_SAMPLE_BYTES),
            Preprocessing::TokenIds(_) => self.client_inputs(inputs).max_sample_bytes(),
        }
    }
}

impl FromStr for Preprocessing {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Preprocessing, ParseError> {
        match text.strip_prefix(TOKEN_IDS) {
            Some(id) => {
                let separator = id.parse().map_err(|_| ParseError::Separator(id.to_owned()))?;
                Ok(Preprocessing::TokenIds(TokenIds { separator }))
            }
            None => Ok(Preprocessing::Images(Arc::new(text.parse()?))),
        }
    }
}

/// Writes it as `--preprocess` takes it.
impl fmt::Display for Preprocessing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Preprocessing::Images(spec) => spec.fmt(f),
            Preprocessing::TokenIds(TokenIds { separator }) => write!(f, "{TOKEN_IDS}{separator}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::{DType, TensorSpec};

    fn bert() -> Signature {
        let spec = |name: &str| TensorSpec::new(name, DType::I64, vec![None, Some(384)]);
        Signature::new(["input_ids", "input_mask", "segment_ids"].map(spec).to_vec())
    }

    #[test]
    fn a_text_is_read_and_written() {
        for text in ["token-ids=102", "resize=256,crop=224,layout=nchw,dtype=u8"] {
            let preprocessing: Preprocessing = text.parse().unwrap();
            assert_eq!(preprocessing.to_string().parse::<Preprocessing>().unwrap(), preprocessing);
            assert_eq!(preprocessing.takes_files(), !text.starts_with("token"));
        }
        let message = "token-ids=sep".parse::<Preprocessing>().unwrap_err().to_string();
        assert!(message.contains("token-ids=sep") && message.contains("102"), "{message}");
    }

    #[test]
    fn ids_are_sent_alone_to_a_model_that_reads_them() {
        let ids: Preprocessing = "token-ids=102".parse().unwrap();
        assert_eq!(ids.check(&bert()), Ok(()));
        assert_eq!(ids.client_inputs(&bert()).to_string(), "input_ids i64[N,384]");
        assert!(ids.max_sample_bytes(&bert()).is_some_and(|bytes| (384 * 8..384 * 8 + 64).contains(&bytes)));
        let image = Signature::new(vec![TensorSpec::new("image", DType::U8, vec![None, Some(3), Some(4), Some(4)])]);
        let message = ids.check(&image).unwrap_err().to_string();
        assert!(
            message.contains("token-ids=102 gives token ids") && message.contains("image u8[N,3,4,4]"),
            "{message}"
        );
        let images: Preprocessing = "crop=4,layout=nchw,dtype=u8".parse().unwrap();
        assert!(images.check(&bert()).unwrap_err().to_string().contains("u8[3,4,4], the model takes input_ids"));
        assert_eq!(images.check(&image), Ok(()));
    }
}
