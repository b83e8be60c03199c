//! Token columns: first-token latency and token count of every sample. Exist in token runs only.

use super::column::Column;

/// A fault in what the SUT says about tokens, with the official message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenFault {
    Missing,
    Negative,
    One,
    NoFirstToken,
    FirstTokenAfterEnd,
    FirstTokenTwice,
}

impl TokenFault {
    pub(crate) fn message(self) -> &'static str {
        match self {
            Self::Missing => "n_tokens argument missing or attempted to record 0 as number of tokens",
            Self::Negative => "Attempted to record a negative number of tokens",
            Self::One => "Number of tokens need to be greater than 1",
            Self::NoFirstToken => "Attempted to record a sample latency before it's first token latency",
            Self::FirstTokenAfterEnd => "Attempted to record token latency after sample was completed",
            Self::FirstTokenTwice => "Attempted to complete a sample twice.",
        }
    }
}

/// The columns. Zero means "unknown" in both.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tokens {
    /// Latency of the first token plus one, ns.
    first_token: Column<u64>,
    /// Number of tokens, where it is at least 2.
    count: Column<u32>,
}

impl Tokens {
    pub(crate) fn new(samples: usize) -> Self {
        Self { first_token: Column::new(samples), count: Column::new(samples) }
    }

    /// Columns from storage, in the same meaning.
    pub(crate) fn from_columns(first_token: Vec<u64>, count: Vec<u32>) -> Self {
        Self { first_token: first_token.into(), count: count.into() }
    }

    /// First-token latencies plus one, ns, and token counts; zero is unknown.
    pub(crate) fn columns(&self) -> (&Column<u64>, &Column<u32>) {
        (&self.first_token, &self.count)
    }

    /// Leaves out the samples from `samples` on.
    pub(crate) fn truncate(&mut self, samples: usize) {
        self.first_token.truncate(samples);
        self.count.truncate(samples);
    }

    /// Returns the entries of the columns for one sample; zero where an entry is not known.
    pub(crate) fn row(&self, position: usize) -> (u64, u32) {
        (self.first_token.get(position).unwrap_or(0), self.count.get(position).unwrap_or(0))
    }

    pub(crate) fn first_token(&mut self, position: usize, latency_ns: u64) -> Result<(), TokenFault> {
        if self.first_token_ns(position).is_some() {
            return Err(TokenFault::FirstTokenTwice);
        }
        self.first_token.set(position, latency_ns.saturating_add(1));
        Ok(())
    }

    /// Notes the token count of an answer. Counts below 2 give no time per token and are left unknown.
    pub(crate) fn answer(
        &mut self,
        position: usize,
        n_tokens: i64,
        first_token_expected: bool,
    ) -> Result<(), TokenFault> {
        if first_token_expected && self.first_token_ns(position).is_none() {
            return Err(TokenFault::NoFirstToken);
        }
        match n_tokens {
            i64::MIN..=-1 => Err(TokenFault::Negative),
            0 => Err(TokenFault::Missing),
            1 => Err(TokenFault::One),
            n => {
                self.count.set(position, u32::try_from(n).unwrap_or(u32::MAX));
                Ok(())
            }
        }
    }

    pub(crate) fn first_token_ns(&self, position: usize) -> Option<u64> {
        self.row(position).0.checked_sub(1)
    }

    /// Tokens of an answer; 0 when unknown.
    pub(crate) fn count(&self, position: usize) -> u32 {
        self.row(position).1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_told_apart() {
        let mut tokens = Tokens::new(6);
        for position in 0..5 {
            tokens.first_token(position, 0).unwrap();
        }
        assert_eq!(tokens.first_token(0, 5), Err(TokenFault::FirstTokenTwice));
        assert_eq!(tokens.answer(0, 0, true), Err(TokenFault::Missing));
        assert_eq!(tokens.answer(1, 1, true), Err(TokenFault::One));
        assert_eq!(tokens.answer(2, -4, true), Err(TokenFault::Negative));
        assert_eq!(tokens.answer(5, 9, true), Err(TokenFault::NoFirstToken));
        assert_eq!(tokens.answer(5, 9, false), Ok(()), "Offline has no first tokens");
        assert_eq!((tokens.first_token_ns(0), tokens.first_token_ns(5)), (Some(0), None));
        assert_eq!((tokens.count(0), tokens.count(5)), (0, 9));
    }
}
