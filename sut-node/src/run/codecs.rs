//! What a run's samples and answers are wrapped in: agreed on in StartRun, undone and applied by one thread's [`Coder`].

use bytes::Bytes;
use lon_proto::codec::{Codec, Encoder, Inflater, Layout};
use lon_proto::v1::StartRunRequest;
use tonic::Status;

use crate::NodeName;
use crate::pipeline::images::ORIGINAL;
use crate::tensor::Signature;

/// The codecs of one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Codecs {
    pub(crate) samples: Codec,
    pub(crate) answers: Codec,
    /// What the answers' encoder may know of them.
    answer_layout: Layout,
}

impl Codecs {
    /// Everything as it is.
    pub(crate) const NONE: Codecs =
        Codecs { samples: Codec::None, answers: Codec::None, answer_layout: Layout::Elements { element_bytes: 1 } };

    /// What `request` asks for, for answers that hold `outputs`, at a node that takes files as they are or not.
    ///
    /// # Errors
    /// A codec that is not known here, or cannot be as it is asked for.
    pub(crate) fn agreed(
        request: &StartRunRequest,
        node: &NodeName,
        outputs: &Signature,
        takes_files: bool,
    ) -> Result<Codecs, Status> {
        let samples = named(&request.codec, node, takes_files)?;
        if !matches!(request.codec.as_str(), "" | "none") && request.codec != samples.name() {
            let text = &request.codec;
            return Err(Status::invalid_argument(format!(
                "codec '{text}': a level is for who encodes samples to know"
            )));
        }
        let answer_layout = Layout::Elements { element_bytes: element_bytes(outputs) };
        Ok(Codecs { samples, answers: named(&request.response_codec, node, false)?, answer_layout })
    }

    pub(crate) fn is_none(&self) -> bool {
        self.samples.is_none() && self.answers.is_none()
    }
}

/// The codecs' names. Files as they are can only be taken where something is made of them.
pub(crate) fn known(takes_files: bool) -> impl Iterator<Item = &'static str> {
    Codec::NAMES.into_iter().chain(takes_files.then_some(ORIGINAL))
}

/// The codec of this name, with a level or without.
fn named(text: &str, node: &NodeName, takes_files: bool) -> Result<Codec, Status> {
    if text.is_empty() {
        return Ok(Codec::None);
    }
    let name = text.split(':').next().unwrap_or_default();
    if !known(takes_files).any(|known| known == name) {
        let known: Vec<&str> = known(takes_files).collect();
        let hint = if name == ORIGINAL && !takes_files { "; samples in it need --preprocess there" } else { "" };
        let known = known.join(", ");
        return Err(Status::unimplemented(format!(
            "codec '{text}' is not known at node {node} (known: {known}{hint})"
        )));
    }
    text.parse().map_err(|error| Status::invalid_argument(format!("node {node}: {error}")))
}

/// Bytes of an element of the answers, if it is the same in all of them; else 1.
fn element_bytes(outputs: &Signature) -> u8 {
    let mut sizes = outputs.iter().map(|output| output.dtype.size());
    match sizes.next() {
        Some(first) if sizes.all(|size| size == first) => u8::try_from(first).unwrap_or(1),
        _ => 1,
    }
}

/// One thread's inflater and encoder, kept from sample to sample for as long as the codecs stay the same.
#[derive(Default)]
pub(crate) struct Coder {
    inflater: Option<((Codec, u64), Inflater)>,
    encoder: Option<(Codec, Encoder)>,
}

impl Coder {
    /// What a sample of at most `max_raw_bytes` was before it was wrapped.
    pub(crate) fn inflate(&mut self, codec: Codec, max_raw_bytes: u64, wrapped: Bytes) -> Result<Bytes, String> {
        if codec.is_none() {
            return Ok(wrapped);
        }
        let key = (codec, max_raw_bytes);
        if self.inflater.as_ref().is_none_or(|(have, _)| *have != key) {
            self.inflater = None;
        }
        let (_, inflater) = self.inflater.get_or_insert_with(|| (key, Inflater::new(codec, max_raw_bytes)));
        let inflated = inflater.inflate(wrapped);
        // Its level is the sender's business.
        inflated.map_err(|error| format!("the sample cannot be inflated: {}: {}", codec.name(), error.reason))
    }

    /// An answer as it leaves the node.
    pub(crate) fn wrap(&mut self, codecs: &Codecs, answer: &Bytes) -> Result<Bytes, String> {
        let codec = codecs.answers;
        if self.encoder.as_ref().is_none_or(|(have, _)| *have != codec) {
            self.encoder = None;
        }
        let (_, encoder) = self.encoder.get_or_insert_with(|| (codec, Encoder::new(codec)));
        let wrapped = encoder.encode(answer, codecs.answer_layout);
        wrapped.map_err(|error| format!("the answer cannot be encoded: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use lon_proto::sample::{DType, TensorSpec};
    use tonic::Code;

    use super::*;

    fn asked(codec: &str, response_codec: &str) -> Result<Codecs, Status> {
        let (codec, response_codec) = (codec.to_owned(), response_codec.to_owned());
        let request = StartRunRequest { codec, response_codec, ..StartRunRequest::default() };
        Codecs::agreed(&request, &"n1".parse().unwrap(), &Signature::default(), false)
    }

    #[test]
    fn what_is_not_known_is_named_with_the_node_and_what_is() {
        for (codec, response_codec) in [("snappy", ""), ("none", "snappy"), ("", "snappy:3")] {
            let status = asked(codec, response_codec).unwrap_err();
            assert_eq!(status.code(), Code::Unimplemented);
            for part in ["'snappy", "node n1", "known: none"] {
                assert!(status.message().contains(part), "{status}");
            }
        }
        for (codec, response_codec) in [("none:1", ""), ("", "none:1")] {
            assert_eq!(asked(codec, response_codec).unwrap_err().code(), Code::InvalidArgument);
        }
        for none in ["", "none"] {
            assert!(asked(none, none).unwrap().is_none());
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
