//! A sample as a prompt, and a prompt as the body (JSON) of a request.

use serde::Serialize;

use crate::tensor::{DType, Signature, Tensor, TensorSpec};

/// The text of a sample, and how long its answer may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Prompt<'a> {
    pub(super) text: &'a str,
    pub(super) tokens: Lengths,
}

/// Limits on the number of tokens of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lengths {
    pub(super) least: u32,
    pub(super) most: u32,
}

impl Lengths {
    /// Lengths from one token on.
    pub(super) const fn up_to(most: u32) -> Lengths {
        Lengths { least: 0, most }
    }

    /// The same for an answer that may have no more than `most` tokens: no server takes more at least than at most.
    pub(super) fn with_most(self, most: u32) -> Lengths {
        Lengths { least: self.least.min(most), most }
    }
}

/// The tensors that a sample must hold.
pub(super) fn inputs() -> Signature {
    let limit = TensorSpec { is_optional: true, ..TensorSpec::new("max_tokens", DType::I32, vec![None]) };
    Signature::new(vec![TensorSpec::new("prompt", DType::U8, vec![None, None]), limit])
}

/// Why a sample is not a prompt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PromptError {
    /// The sample has other tensors than those of a prompt.
    #[error(
        "the sample is {0}; a prompt is u8[LEN] (UTF-8 text), and where it limits its answer a second tensor i32[]"
    )]
    Tensors(String),
    /// The text has no bytes.
    #[error("the prompt is empty")]
    Empty,
    /// The text is not UTF-8 from this byte on.
    #[error("the prompt is not UTF-8 from byte {0} on")]
    Utf8(usize),
    /// The sample allows its answer fewer than one token.
    #[error("the sample allows its answer {0} tokens; at least 1")]
    MaxTokens(i32),
}

impl<'a> Prompt<'a> {
    /// Reads tensor 0 as the text (`u8[LEN]`), and tensor 1, if there is one, as the most tokens of the answer (a
    /// scalar `i32[]`; those of `usual` where there is none).
    ///
    /// # Errors
    /// The tensors are not a prompt; see [`PromptError`].
    pub(super) fn read(tensors: &'a [Tensor], usual: Lengths) -> Result<Prompt<'a>, PromptError> {
        let (text, limit) = match tensors {
            [text] if is_text(text) => (text, None),
            [text, limit] if is_text(text) && limit.dtype() == DType::I32 => (text, limit.data().as_array()),
            _ => return Err(PromptError::Tensors(shapes(tensors))),
        };
        let most = match (tensors.len(), limit.map(|bytes: &[u8; 4]| i32::from_le_bytes(*bytes))) {
            (1, _) => usual.most,
            (_, None) => return Err(PromptError::Tensors(shapes(tensors))),
            (_, Some(limit)) => {
                u32::try_from(limit).ok().filter(|limit| *limit > 0).ok_or(PromptError::MaxTokens(limit))?
            }
        };
        let text = std::str::from_utf8(text.data()).map_err(|error| PromptError::Utf8(error.valid_up_to()))?;
        if text.is_empty() {
            return Err(PromptError::Empty);
        }
        Ok(Prompt { text, tokens: usual.with_most(most) })
    }

    /// The body of the request that asks `model` for an answer: a stream, its tokens counted, and the same answer every
    /// time (temperature 0).
    pub(super) fn body(&self, model: &str) -> Vec<u8> {
        let body = Body {
            model,
            messages: [Message { role: "user", content: self.text }],
            stream: true,
            stream_options: StreamOptions { include_usage: true },
            max_tokens: self.tokens.most,
            min_tokens: Some(self.tokens.least).filter(|least| *least > 0),
            temperature: 0,
        };
        // Texts and numbers always have a JSON form.
        serde_json::to_vec(&body).unwrap_or_default()
    }
}

/// Returns true when a tensor is one row of bytes, with or without a leading dimension of 1.
fn is_text(tensor: &Tensor) -> bool {
    tensor.dtype() == DType::U8 && matches!(&**tensor.dims(), [_] | [1, _])
}

fn shapes(tensors: &[Tensor]) -> String {
    tensors.iter().map(Tensor::to_string).collect::<Vec<_>>().join(", ")
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: [Message<'a>; 1],
    stream: bool,
    stream_options: StreamOptions,
    max_tokens: u32,
    /// vLLM's own field: a server that does not know it may refuse it, so it is sent where it is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    min_tokens: Option<u32>,
    temperature: u8,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'a str,
    content: &'a str,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn tensor(dtype: DType, dims: &[u32], data: &[u8]) -> Tensor {
        Tensor::new(dtype, dims, Bytes::copy_from_slice(data)).unwrap()
    }

    fn text(data: &[u8]) -> Tensor {
        tensor(DType::U8, &[data.len() as u32], data)
    }

    fn limit(tokens: i32) -> Tensor {
        tensor(DType::I32, &[], &tokens.to_le_bytes())
    }

    #[test]
    fn a_prompt_is_text_and_maybe_a_limit() {
        let tensors = [text("où ?".as_bytes()), limit(7)];
        let prompt = |text, most| Ok(Prompt { text, tokens: Lengths::up_to(most) });
        assert_eq!(Prompt::read(&tensors[..1], Lengths::up_to(64)), prompt("où ?", 64));
        assert_eq!(Prompt::read(&tensors, Lengths::up_to(64)), prompt("où ?", 7));
        let row = [tensor(DType::U8, &[1, 2], b"hi"), tensor(DType::I32, &[1], &7i32.to_le_bytes())];
        assert_eq!(Prompt::read(&row, Lengths::up_to(64)), prompt("hi", 7));
    }

    #[test]
    fn anything_else_is_refused() {
        let error = |tensors: &[Tensor]| Prompt::read(tensors, Lengths::up_to(64)).unwrap_err();
        assert_eq!(error(&[text(b"ok \xff\xfe")]), PromptError::Utf8(3));
        assert_eq!(error(&[text(b"")]), PromptError::Empty);
        assert_eq!(error(&[text(b"a"), limit(0)]), PromptError::MaxTokens(0));
        assert_eq!(error(&[text(b"a"), limit(-3)]), PromptError::MaxTokens(-3));
        for tensors in [
            &[][..],
            &[tensor(DType::I64, &[1], &[0; 8])],
            &[tensor(DType::U8, &[2, 2], b"abcd")],
            &[text(b"a"), text(b"b")],
            &[text(b"a"), tensor(DType::I32, &[2], &[0; 8])],
            &[text(b"a"), limit(1), limit(1)],
        ] {
            assert_eq!(error(tensors), PromptError::Tensors(shapes(tensors)));
        }
    }

    #[test]
    fn the_body_asks_for_a_counted_stream() {
        let body = Prompt { text: "say \"é\"\n", tokens: Lengths::up_to(5) }.body("org/m");
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        let expected = serde_json::json!({
            "model": "org/m", "messages": [{"role": "user", "content": "say \"é\"\n"}], "stream": true,
            "stream_options": {"include_usage": true}, "max_tokens": 5, "temperature": 0,
        });
        assert_eq!(body, expected);
    }
    /// Source: vLLM's chat completions, which take `min_tokens` beside `max_tokens` and refuse one above the other.
    #[test]
    fn the_body_asks_for_the_least_tokens_where_there_are_some() {
        let limits = |least, limit| {
            let tensors = [text(b"a"), limit];
            let prompt = Prompt::read(&tensors, Lengths { least, most: 128 }).unwrap();
            let body: serde_json::Value = serde_json::from_slice(&prompt.body("m")).unwrap();
            (body.get("min_tokens").cloned(), body["max_tokens"].clone())
        };
        assert_eq!(limits(30, limit(128)), (Some(30.into()), 128.into()));
        assert_eq!(limits(30, limit(8)), (Some(8.into()), 8.into()));
        assert_eq!(limits(0, limit(8)), (None, 8.into()));
    }
}
