//! Scores the answers of a run against the right answers.
//!
//! - `metric`: the ways to score answers;
//! - `truth`: the right answers, for each sample or for each question;
//! - `target`: what a score must reach; `scoring`: from a run's answers to a score;
//! - `scorable`: whether answers of a layout can be scored, before a run;
//! - `error`: the reasons why answers cannot be scored;
//! - `rows`: the layout of answers, as the SUT's outputs give it; `elements`: the numbers in them, of any type;
//! - `round`: five significant digits, with which scores are compared;
//! - [`squad`]: how SQuAD compares texts;
//! - `logits`: the layout of start and end logits;
//! - `spans`: the texts to which start and end logits point;
//! - [`rouge`]: how many words of two texts are the same; `porter`: the stems of words;
//! - [`bleu`]: how many runs of words translations share with the right ones; `tokens_13a`: the words that it counts;
//! - [`gsm8k`]: the number that a text ends with;
//! - [`long_context`]: answers to questions about long contexts;
//! - [`wer`]: how many words of a text are wrong;
//! - `tokenizer`: from token ids to text; `punkt`: the sentences of a text; `words`: its words;
//! - `reader`: both together;
//! - [`dice`]: how far segmentations overlap;
//! - [`auc`]: how well scores tell two classes apart;
//! - `map`: how well boxes are found; `boxes`: the boxes themselves; `categories`: how answers name categories.
//!
//! Start and end logits are the answers of a reading model, such as BERT on SQuAD. They are scored on a folder as SQuAD
//! is published. There a sample is a window of a passage, and several windows answer one question. The SUT's outputs
//! give the layout of the logits. They may be two outputs of one length, the start first unless their names say
//! otherwise. Or one output, `[L,2]` or `[2,L]` without the batch. The padding of the window may be left out. When no
//! node gives its outputs, an answer is taken for two outputs of f32, one after the other. A window with a NaN among
//! its logits answers nothing. On other datasets of questions the SUT answers with the text itself. In both cases the
//! accuracy log has the raw bytes in hexadecimal, as the reference implementation's script reads them.

pub mod auc;
pub mod bleu;
mod boxes;
mod categories;
pub mod dice;
mod elements;
mod error;
pub mod gsm8k;
mod logits;
pub mod long_context;
mod map;
mod metric;
mod porter;
mod punkt;
mod reader;
pub mod rouge;
mod round;
mod rows;
mod scorable;
mod scoring;
mod spans;
pub mod squad;
mod target;
#[cfg(test)]
mod tests;
mod tokenizer;
mod tokens_13a;
mod truth;
pub mod wer;
mod words;

pub use boxes::Boxes;
pub use categories::Categories;
pub use error::ScoreError;
pub use metric::Metric;
pub(crate) use punkt::FILES as SENTENCE_FILES;
pub use punkt::Sentences;
pub use reader::Reader;
pub use round::to_five_digits;
pub use rows::Rows;
pub use target::{Other, Score, Target};
pub use tokenizer::Tokenizer;
pub use truth::{Truth, Truths};
