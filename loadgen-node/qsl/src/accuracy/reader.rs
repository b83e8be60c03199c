//! The reader of answers: makes texts of answers, and sentences of texts. Files beside the right answers give the
//! rules.

use super::punkt::Sentences;
use super::tokenizer::Tokenizer;

/// The two steps of reading an answer. At least one of them is present.
#[derive(Debug, Default)]
pub struct Reader {
    /// Makes texts of token ids; none: answers are texts.
    pub tokenizer: Option<Tokenizer>,
    /// Finds the sentences of a text; none: each line is one.
    pub sentences: Option<Sentences>,
}

impl From<Tokenizer> for Reader {
    fn from(tokenizer: Tokenizer) -> Reader {
        Reader { tokenizer: Some(tokenizer), sentences: None }
    }
}
