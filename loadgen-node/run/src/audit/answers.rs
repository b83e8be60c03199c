//! The accuracy log: the answers of a run, in the order in which they were logged.

use serde::Deserialize;

/// An accuracy log.
#[derive(Clone, Debug)]
pub struct AnswerLog {
    /// The text of the file: whole lines are what `--unixmode` compares.
    pub(super) text: String,
    /// The entries of the file, in order.
    pub(super) answers: Vec<Answer>,
}

/// One entry; keys that are not needed here are not read.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Answer {
    /// The sample of the run.
    pub(super) seq_id: Option<u64>,
    /// The sample of the library.
    pub(super) qsl_idx: u64,
    /// The answer, hexadecimal.
    pub(super) data: String,
    /// The first tokens, hexadecimal.
    #[serde(default)]
    pub(super) token_data: Option<String>,
    /// The number of tokens that the SUT reported.
    #[serde(default)]
    pub(super) token_count: Option<i64>,
}

impl AnswerLog {
    /// Reads the text of the file.
    ///
    /// # Errors
    /// It is not a list of answers, for example because it was truncated for a submission.
    pub fn read(text: String) -> Result<AnswerLog, serde_json::Error> {
        let answers = serde_json::from_str(&text)?;
        Ok(AnswerLog { text, answers })
    }

    /// Returns true when the log has no answer.
    pub fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }

    /// The number of answers.
    pub fn len(&self) -> usize {
        self.answers.len()
    }

    /// The samples of the library with the bytes of their answers, in order; none where these are not hexadecimal.
    pub fn samples(&self) -> impl Iterator<Item = (u64, Option<Vec<u8>>)> {
        self.answers.iter().map(|answer| (answer.qsl_idx, answer.bytes()))
    }
}

impl Answer {
    /// The bytes of the answer; none when it is not hexadecimal.
    pub(super) fn bytes(&self) -> Option<Vec<u8>> {
        hex::decode(&self.data).ok()
    }
}
