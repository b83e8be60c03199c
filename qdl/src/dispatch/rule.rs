//! Rule for the answers of one SUT node, from the description of its model's outputs that the node gave before the run.
//! Pure.
//!
//! A node that answers nothing, or counts tokens that are not there, would be the fastest of all, and its books would
//! agree with ours. So every answer is held against the node's description, which stands in the results. The answers of
//! KServe servers have types and shapes of their own: see `carry/declared_outputs.rs`.
//!
//! - *Size.* An answer is for one sample, so the batch is 1. Where all sizes are fixed it has exactly their bytes;
//!   where some are free, those of the fixed outputs and whole elements of the others. It has no bytes only where every
//!   output is rows of any number, which a detector may not find; such answers are counted, and results are marked.
//! - *Tokens.* Where the one output is of integers, so many tokens as are counted must be in the answer. Where it is of
//!   bytes (text), or nothing is said, a token has a byte at least, a few tokens aside: marks of the end have no text.
//!   Anything else has no tokens.
//! - *First token.* It has bytes, and the answer begins with it (`lane/answers.rs`). Where answers have a codec this is
//!   not looked at: a first token never has one, and is gone when its answer is inflated.

use lon_proto::sample::{DType, Signature, TensorSpec};

/// Tokens of one answer at most, whatever the node says.
const MAX_TOKENS: u64 = 1 << 20;

/// Tokens of an answer of text that may have no byte in it.
const SILENT_TOKENS: u64 = 16;

/// The rule for the answers of one node.
#[derive(Clone, Debug)]
pub(crate) struct AnswerRule {
    /// The node's name.
    node: String,
    /// The outputs as messages show them; empty when the node has said nothing.
    outputs: String,
    /// Bytes that every answer has.
    least_bytes: u64,
    /// More bytes come in multiples of this; 0: there are no more.
    step_bytes: u64,
    /// An answer may have no bytes at all.
    may_be_empty: bool,
    /// Bytes of an answer at most.
    max_bytes: u64,
    tokens: Tokens,
}

/// Way in which tokens can be counted in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tokens {
    /// It has none.
    None,
    /// Each has this many bytes.
    OfBytes(u64),
    /// They are text, or nothing is known of them.
    OfText,
}

impl AnswerRule {
    /// The rule for the node of this name, whose model gives `outputs`. Answers whose size is free have `max_bytes` at
    /// most.
    pub(crate) fn new(node: &str, outputs: &Signature, max_bytes: u64) -> AnswerRule {
        if outputs.is_empty() {
            return AnswerRule::anything(node, max_bytes);
        }
        let sizes: Vec<(u64, bool)> = outputs.iter().map(size).collect();
        let least_bytes =
            sizes.iter().filter(|(_, is_free)| !is_free).fold(0, |sum: u64, (n, _)| sum.saturating_add(*n));
        let tokens = tokens(outputs);
        let step_bytes = sizes.iter().filter(|(_, is_free)| *is_free).fold(0, |step, (bytes, _)| gcd(step, *bytes));
        AnswerRule {
            node: node.to_owned(),
            outputs: outputs.to_string(),
            least_bytes,
            step_bytes,
            may_be_empty: tokens == Tokens::None && outputs.iter().all(|output| may_be_none(output.own_dims())),
            max_bytes: if step_bytes == 0 { least_bytes } else { max_bytes.max(least_bytes) },
            tokens,
        }
    }

    /// The rule for a node that has said nothing of its answers.
    pub(crate) fn anything(node: &str, max_bytes: u64) -> AnswerRule {
        AnswerRule {
            node: node.to_owned(),
            outputs: String::new(),
            least_bytes: 0,
            step_bytes: 1,
            may_be_empty: true,
            max_bytes,
            tokens: Tokens::OfText,
        }
    }

    /// Bytes of an answer at most, without a codec.
    pub(crate) fn max_bytes(&self) -> u64 {
        self.max_bytes
    }

    /// An answer of `bytes`, without a codec, with `n_tokens` tokens is one.
    ///
    /// # Errors
    /// What is wrong with it, in words: what was said, and what came.
    pub(crate) fn check(&self, bytes: u64, n_tokens: u64) -> Result<(), String> {
        let fits = match bytes.checked_sub(self.least_bytes) {
            _ if bytes > self.max_bytes => false,
            _ if bytes == 0 => self.may_be_empty,
            Some(0) => true,
            // Without the division, which takes longest of all this.
            Some(_) if self.step_bytes == 1 => true,
            Some(more) => self.step_bytes > 0 && more.is_multiple_of(self.step_bytes),
            None => false,
        };
        if !fits {
            return Err(self.wrong_size(bytes));
        }
        let most = match self.tokens {
            Tokens::None => 0,
            Tokens::OfBytes(size) => bytes / size,
            Tokens::OfText => bytes.saturating_add(SILENT_TOKENS),
        };
        if n_tokens > most.min(MAX_TOKENS) {
            let AnswerRule { node, .. } = self;
            return Err(format!(
                "node {node} counts {n_tokens} tokens in an answer of {bytes} bytes{}",
                self.outputs_clause()
            ));
        }
        Ok(())
    }

    /// An answer has `bytes`, which is not what it should have; in words.
    pub(crate) fn wrong_size(&self, bytes: u64) -> String {
        let AnswerRule { node, least_bytes, step_bytes, max_bytes, .. } = self;
        let due = match step_bytes {
            0 => format!("{least_bytes} were due"),
            _ if bytes > *max_bytes => format!("{max_bytes} are allowed (--max-answer)"),
            1 => "some were due".to_owned(),
            step => format!("{least_bytes} and a multiple of {step} were due"),
        };
        format!("node {node} gave an answer of {bytes} bytes, {due}{}", self.outputs_clause())
    }

    /// An answer does not begin with the first token that was sent before it; in words.
    pub(crate) fn wrong_first_token(&self) -> String {
        format!("node {} gave an answer that does not begin with the first token that it had sent", self.node)
    }

    /// Returns the node's description of its outputs, as the end of a sentence.
    fn outputs_clause(&self) -> String {
        match self.outputs.as_str() {
            "" => String::new(),
            outputs => format!("; it describes its outputs as {outputs}"),
        }
    }
}

/// Returns true when an answer may have no elements of an output with these dimensions for one sample: rows, of any
/// number.
pub(crate) fn may_be_none(own_dims: &[Option<u32>]) -> bool {
    matches!(own_dims.first(), Some(None | Some(0)))
}

/// Bytes of an output for one sample, or of one step where a size is free; and whether one is.
fn size(output: &TensorSpec) -> (u64, bool) {
    let dims = output.own_dims();
    let elements = dims.iter().flatten().fold(1, |elements: u64, &dim| elements.saturating_mul(u64::from(dim)));
    (output.dtype.bytes_of(elements).unwrap_or(u64::MAX), dims.contains(&None))
}

fn tokens(outputs: &Signature) -> Tokens {
    match &outputs[..] {
        [one] => match one.dtype {
            DType::U8 => Tokens::OfText,
            DType::I8 | DType::I16 | DType::I32 | DType::I64 | DType::U16 | DType::U32 | DType::U64 => {
                Tokens::OfBytes(one.dtype.size() as u64)
            }
            DType::F16 | DType::Bf16 | DType::F32 | DType::F64 | DType::F8E4M3 | DType::F8E5M2 | DType::Bool => {
                Tokens::None
            }
            // Of two values in a byte the number is not known from the bytes.
            DType::U4 | DType::I4 => Tokens::None,
        },
        _ => Tokens::None,
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(name: &str, dtype: DType, dims: &[i64]) -> TensorSpec {
        TensorSpec::new(name, dtype, dims.iter().map(|&dim| u32::try_from(dim).ok()).collect())
    }

    fn rule(outputs: &[(&str, DType, &[i64])]) -> AnswerRule {
        let outputs = outputs.iter().map(|(name, dtype, dims)| spec(name, *dtype, dims)).collect();
        AnswerRule::new("n", &Signature::new(outputs), 1_000)
    }

    fn sizes(rule: &AnswerRule, most: u64) -> Vec<u64> {
        (0..=most).filter(|&bytes| rule.check(bytes, 0).is_ok()).collect()
    }

    #[test]
    fn fixed_sizes_are_exact_for_one_sample() {
        assert_eq!(sizes(&rule(&[("y", DType::F32, &[-1, 10])]), 400), [40]);
        assert_eq!(sizes(&rule(&[("y", DType::F32, &[1, 10])]), 400), [40]);
        assert_eq!(sizes(&rule(&[("y", DType::F32, &[10])]), 400), [40]);
        assert_eq!(sizes(&rule(&[("y", DType::I64, &[-1])]), 400), [8]);
        assert_eq!(sizes(&rule(&[("a", DType::F32, &[-1, 2]), ("b", DType::U8, &[-1, 3])]), 400), [11]);
        let message = rule(&[("y", DType::F32, &[-1, 10])]).check(0, 0).unwrap_err();
        assert_eq!(message, "node n gave an answer of 0 bytes, 40 were due; it describes its outputs as y f32[N,10]");
    }

    #[test]
    fn free_sizes_are_whole_elements() {
        assert_eq!(sizes(&rule(&[("y", DType::F32, &[-1, 4, -1])]), 60), [16, 32, 48]);
        // Of one image: there may be no boxes, scores and labels.
        assert_eq!(sizes(&rule(&[("detections", DType::F32, &[-1, -1, 7])]), 60), [0, 28, 56]);
        let rows: &[(&str, DType, &[i64])] =
            &[("boxes", DType::F32, &[1, -1, 4]), ("scores", DType::F32, &[1, -1]), ("labels", DType::I64, &[1, -1])];
        assert_eq!(sizes(&rule(rows), 24), [0, 4, 8, 12, 16, 20, 24]);
        // Text and tokens have something in them.
        assert_eq!(sizes(&rule(&[("tokens", DType::I32, &[-1, -1])]), 12), [4, 8, 12]);
        assert_eq!(sizes(&rule(&[("n", DType::I32, &[-1]), ("y", DType::F64, &[-1, -1])]), 30), [4, 12, 20, 28]);
    }

    #[test]
    fn an_output_that_claims_to_be_optional_is_due_all_the_same() {
        let optional = |dims| TensorSpec { is_optional: true, ..spec("y", DType::F32, dims) };
        let rule = |outputs| AnswerRule::new("n", &Signature::new(outputs), 1_000);
        assert_eq!(sizes(&rule(vec![optional(&[-1, 4, -1])]), 40), [16, 32]);
        assert_eq!(sizes(&rule(vec![optional(&[-1, 4]), spec("z", DType::U8, &[-1, 3])]), 40), [19]);
    }

    #[test]
    fn what_is_free_has_a_limit_and_what_is_fixed_needs_none() {
        let free = rule(&[("y", DType::U8, &[-1, -1])]);
        assert_eq!((free.max_bytes(), free.check(1_000, 0)), (1_000, Ok(())));
        assert!(free.check(1_001, 0).unwrap_err().contains("--max-answer"));
        assert_eq!(rule(&[("y", DType::U8, &[-1, 5_000])]).max_bytes(), 5_000);
        let huge = rule(&[("y", DType::F64, &[u32::MAX.into(), u32::MAX.into(), u32::MAX.into()])]);
        assert!(huge.check(8, 0).is_err());
    }

    #[test]
    fn tokens_must_be_in_the_answer() {
        let counted = |rule: &AnswerRule, bytes, most: u64| {
            assert_eq!((rule.check(bytes, 0), rule.check(bytes, most)), (Ok(()), Ok(())));
            for tokens in [most + 1, 1 << 21, u64::MAX] {
                assert!(rule.check(bytes, tokens).unwrap_err().contains(&format!("counts {tokens} tokens")));
            }
        };
        counted(&rule(&[("tokens", DType::I64, &[-1, -1])]), 80, 10);
        counted(&rule(&[("tokens", DType::I32, &[-1, -1])]), 80, 20);
        counted(&rule(&[("text", DType::U8, &[-1, -1])]), 80, 80 + SILENT_TOKENS);
        counted(&rule(&[("y", DType::F32, &[-1, 10])]), 40, 0);
        counted(&AnswerRule::anything("n", 1_000), 80, 80 + SILENT_TOKENS);
        assert!(AnswerRule::anything("n", u64::MAX).check(1 << 40, MAX_TOKENS + 1).is_err(), "a stated bound");
    }

    #[test]
    fn what_was_not_said_is_not_checked() {
        let rule = AnswerRule::anything("n", 10);
        assert!(rule.check(10, 0).is_ok() && rule.check(0, 0).is_ok());
        assert!(rule.check(11, 0).is_err());
    }
}
