//! Codecs of a run's samples and answers, as agreed on in `StartRun`.
//!
//! The threads that undo and apply them have a coder each (`work::coder`).

use lon_proto::codec::{Codec, Layout};
use tonic::Status;

use crate::NodeName;
use crate::pipeline::images::ORIGINAL;
use crate::tensor::Signature;

/// The codecs of one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Codecs {
    /// The codec of samples.
    pub(crate) samples: Codec,
    /// The codec of answers.
    pub(crate) answers: Codec,
    /// Layout of the answers' content, as far as their encoder may know it.
    pub(crate) answer_layout: Layout,
}

impl Codecs {
    /// No codec for samples and none for answers.
    pub(crate) const NONE: Codecs =
        Codecs { samples: Codec::None, answers: Codec::None, answer_layout: Layout::Elements { element_bytes: 1 } };

    /// The codecs of these names, for samples and for answers; none where a name is empty. The model's answers hold
    /// `outputs`; `takes_files` says whether the node makes something of files as they are.
    ///
    /// # Errors
    /// A codec that this node does not know, or that cannot be had as it was asked for.
    pub(crate) fn agreed(
        codec: &str,
        response_codec: &str,
        node: &NodeName,
        outputs: &Signature,
        takes_files: bool,
    ) -> Result<Codecs, Status> {
        let samples = named(codec, node, takes_files)?;
        if !matches!(codec, "" | "none") && codec != samples.name() {
            return Err(Status::invalid_argument(format!(
                "codec '{codec}': a level is for who encodes samples to know"
            )));
        }
        let answer_layout = Layout::Elements { element_bytes: element_bytes(outputs) };
        Ok(Codecs { samples, answers: named(response_codec, node, false)?, answer_layout })
    }

    /// Returns true when neither samples nor answers have a codec.
    pub(crate) fn is_none(&self) -> bool {
        self.samples.is_none() && self.answers.is_none()
    }
}

/// The names of the codecs that a node knows. Files as they are can only be taken where something is made of them.
pub(crate) fn codec_names(takes_files: bool) -> impl Iterator<Item = &'static str> {
    Codec::NAMES.into_iter().chain(takes_files.then_some(ORIGINAL))
}

/// The codec of this name, with a level or without.
fn named(text: &str, node: &NodeName, takes_files: bool) -> Result<Codec, Status> {
    if text.is_empty() {
        return Ok(Codec::None);
    }
    let name = text.split(':').next().unwrap_or_default();
    if !codec_names(takes_files).any(|codec| codec == name) {
        let names: Vec<&str> = codec_names(takes_files).collect();
        let hint = if name == ORIGINAL && !takes_files { "; samples in it need --preprocess there" } else { "" };
        let names = names.join(", ");
        return Err(Status::unimplemented(format!(
            "codec '{text}' is not known at node {node} (known: {names}{hint})"
        )));
    }
    text.parse().map_err(|error| Status::invalid_argument(format!("node {node}: {error}")))
}

/// The bytes of one element of the answers when all outputs have elements of one size; else 1.
fn element_bytes(outputs: &Signature) -> u8 {
    let mut sizes = outputs.iter().map(|output| output.dtype.size());
    match sizes.next() {
        Some(first) if sizes.all(|size| size == first) => u8::try_from(first).unwrap_or(1),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use lon_proto::sample::{DType, TensorSpec};
    use tonic::Code;

    use super::*;

    fn codecs_of(codec: &str, response_codec: &str) -> Result<Codecs, Status> {
        Codecs::agreed(codec, response_codec, &"n1".parse().unwrap(), &Signature::default(), false)
    }

    #[test]
    fn what_is_not_known_is_named_with_the_node_and_what_is() {
        for (codec, response_codec) in [("snappy", ""), ("none", "snappy"), ("", "snappy:3")] {
            let status = codecs_of(codec, response_codec).unwrap_err();
            assert_eq!(status.code(), Code::Unimplemented);
            for part in ["'snappy", "node n1", "known: none"] {
                assert!(status.message().contains(part), "{status}");
            }
        }
        for (codec, response_codec) in [("none:1", ""), ("", "none:1")] {
            assert_eq!(codecs_of(codec, response_codec).unwrap_err().code(), Code::InvalidArgument);
        }
        for none in ["", "none"] {
            assert!(codecs_of(none, none).unwrap().is_none());
        }
    }

    #[test]
    fn answers_of_one_element_size_are_laid_out_by_it() {
        let outputs = |dtypes: &[DType]| {
            let spec = |&dtype| TensorSpec::new("", dtype, Vec::new());
            element_bytes(&Signature::new(dtypes.iter().map(spec).collect()))
        };
        assert_eq!(outputs(&[]), 1);
        assert_eq!(outputs(&[DType::F32, DType::I32]), 4);
        assert_eq!(outputs(&[DType::F32, DType::I64]), 1);
    }
}
