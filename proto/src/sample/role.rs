//! The purpose of a model's input, where texts are token ids: judged by the names that models give their inputs.

/// The purpose of an input, judged by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The token ids of the text.
    Ids,
    /// 1 for each id and 0 for padding.
    Mask,
    /// The number of the text that each id belongs to.
    Types,
    /// The numbers 0, 1, 2 and so on.
    Positions,
    /// The number of tokens that may be generated: one number for a text.
    Limit,
}

impl Role {
    /// Returns the purpose that a name stands for; a name without a known word stands for ids.
    pub fn of(name: &str) -> Role {
        let is = |part: &str| name.to_ascii_lowercase().contains(part);
        match () {
            () if is("mask") => Role::Mask,
            () if is("segment") || is("token_type") => Role::Types,
            () if is("position") => Role::Positions,
            () if is("max_tokens") || is("max_new_tokens") => Role::Limit,
            () => Role::Ids,
        }
    }
}
