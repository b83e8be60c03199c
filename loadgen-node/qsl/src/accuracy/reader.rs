//! What makes texts of answers, and sentences of texts, where files beside the right answers say how.

use super::punkt::Sentences;
use super::tokenizer::Tokenizer;

/// How answers are read. At least one of the two is there.
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
