//! Decodes token by token with an ONNX model that has a cache of keys and values: greedily, or by a beam search,
//! several samples at one time.
//!
//! Such a model is known by its inputs, named as Hugging Face Optimum names them:
//!
//! | name | shape | what it is |
//! |---|---|---|
//! | `input_ids` | `i64[N,S]` | the tokens that are new |
//! | `attention_mask` | `i64[N,P+S]` | optional: 1 for tokens that may be looked at, 0 for padding |
//! | `position_ids` | `i64[N,S]` | optional: their positions |
//! | `past_key_values.L.key`, `.value` | `[N,H,P,D]` | the cache, for each layer L; P may be 0 |
//! | `logits` | `f32[N,S,V]` | an output: a number for each token that may follow |
//! | `present.L.key`, `.value` | `[N,H,P+S,D]` | an output: the cache with the new tokens |
//!
//! A sample is one tensor of token ids, i64 or i32, and optionally a second one of a single i32: how many tokens its
//! answer has at most (else `--max-tokens`). The next token is the one with the largest logit, the lowest of several.
//! With `--beams` above 1 a search finds a likelier answer; which its first token is, is known when all are. An answer
//! ends with `--eos`, or when it has all tokens that it may. It is all its tokens, i64 little-endian.
//!
//! - `layout`: what the inputs and outputs of a model mean;
//! - `caches`: the keys and values of the slots;
//! - `beams`: the beam search for one answer;
//! - `streamer`: the slots, and the runs of the model.
//!
//! # How slots go on together
//!
//! A sample that begins is read alone, in one run (`S` its length), and before others go on: that is its first token.
//! All others go on in one run of one token each, the shorter pasts padded at the beginning and masked. With ONNX
//! Runtime on one thread eight slots together give three times the tokens per second of one
//! (`examples/decoder_slots.rs`). Without `attention_mask` and `position_ids` a model cannot be told which tokens are
//! padding, and slots go on one by one in turn.
//!
//! # Memory
//!
//! A slot keeps what its sample needs and at most `--max-context` tokens: the heads, times their width, times the bytes
//! of an element, summed over all caches, for each token, and all that for each beam. The node says at its start how
//! much that is in all. A run itself takes about three times the cache of the slots in it, for the engine's inputs and
//! outputs.

use lon_sut::tensor::{DType, Signature, TensorSpec};

mod beams;
mod caches;
mod layout;
mod streamer;

pub(super) use layout::Layout;
pub(super) use streamer::Decoder;

/// The tensors that a sample holds: token ids, and optionally how many tokens to answer.
pub(super) fn inputs() -> Signature {
    let ids = TensorSpec::new("input_ids", DType::I64, vec![None, None]);
    let limit = TensorSpec::new("max_tokens", DType::I32, vec![None]);
    Signature::new(vec![
        TensorSpec { other_dtypes: vec![DType::I32], ..ids },
        TensorSpec { other_dtypes: vec![DType::I64], is_optional: true, ..limit },
    ])
}
