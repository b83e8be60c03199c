//! Token ids as the inputs of a model: padded, masked, with types and positions, as the inputs' names say.

use bytes::Bytes;
use lon_proto::sample::{DType, SampleError, Tensor, TensorSpec};

/// What an input is for, judged by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// The ids themselves.
    Ids,
    /// 1 where there is an id, 0 where padding is.
    Mask,
    /// Which text an id is of.
    Types,
    /// 0, 1, 2, ...
    Positions,
    /// How many tokens may be generated: one number.
    Limit,
}

/// How one input is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TokenInput {
    name: String,
    role: Role,
    dtype: DType,
    /// Padded to it; none: as long as the text is.
    len: Option<usize>,
    is_optional: bool,
}

/// The ids of one text, and what stands beside them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tokens<'a> {
    pub(crate) ids: &'a [i64],
    /// As long as the ids; none: all of them count.
    pub(crate) mask: Option<&'a [i64]>,
    /// As long as the ids; none: one text.
    pub(crate) types: Option<&'a [i64]>,
    /// How many tokens may be generated.
    pub(crate) max_tokens: Option<i32>,
}

impl TokenInput {
    /// # Errors
    /// Ids do not make an input like this.
    pub(crate) fn new(spec: &TensorSpec) -> Result<TokenInput, String> {
        let TensorSpec { name, dtype, is_optional, .. } = spec.clone();
        let refused = || format!("token ids do not make an input like {spec}");
        let role = role(&name);
        let len = match (role, spec.dims.as_slice()) {
            (Role::Limit, [] | [None | Some(1)]) => None,
            (Role::Limit, _) => return Err(refused()),
            (_, [_, len]) if spec.has_batch_dim() => *len,
            (_, [len]) => *len,
            _ => return Err(refused()),
        };
        match dtype {
            DType::I32 | DType::I64 => {
                Ok(TokenInput { name, role, dtype, len: len.map(|len| len as usize), is_optional })
            }
            _ => Err(refused()),
        }
    }

    /// Whether it may be left out, and nothing beside the ids says what it would be.
    pub(crate) fn is_never_said(&self) -> bool {
        self.is_optional && matches!(self.role, Role::Ids | Role::Positions)
    }

    /// What it is padded to.
    pub(crate) fn len(&self) -> Option<usize> {
        self.len
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether it has the text's number of tokens to generate, and not one for each of its ids.
    pub(crate) fn is_limit(&self) -> bool {
        self.role == Role::Limit
    }

    /// What keeps a text from becoming this input.
    fn fault(&self, text: &Tokens<'_>) -> Option<String> {
        if self.is_limit() {
            let is_missing = text.max_tokens.is_none() && !self.is_optional;
            return is_missing.then(|| format!("max_tokens is missing, which {} takes", self.name));
        }
        if let Some(longest) = self.len.filter(|&longest| text.ids.len() > longest) {
            return Some(format!("{} token ids; {} takes {longest}", text.ids.len(), self.name));
        }
        let too_large = |id: &&i64| self.dtype == DType::I32 && i32::try_from(**id).is_err();
        text.ids.iter().find(too_large).map(|id| format!("{id} is no i32, which {} takes", self.name))
    }

    /// This input of a text without [fault](TokenInput::fault); none when it is left out: what may be, is, where nothing is
    /// said of it.
    fn tensor(&self, text: &Tokens<'_>) -> Result<Option<Tensor>, SampleError> {
        let is_said = match self.role {
            Role::Mask => text.mask.is_some(),
            Role::Types => text.types.is_some(),
            Role::Limit => text.max_tokens.is_some(),
            Role::Ids | Role::Positions => false,
        };
        if self.is_optional && !is_said {
            return Ok(None);
        }
        if self.is_limit() {
            let scalar = |limit: i32| Tensor::new(self.dtype, &[], self.bytes(std::iter::once(i64::from(limit))));
            return text.max_tokens.map(scalar).transpose();
        }
        let len = self.len.unwrap_or(text.ids.len());
        let value = |place: usize| -> i64 {
            let Some(&id) = text.ids.get(place) else { return 0 };
            match self.role {
                Role::Mask => text.mask.map_or(1, |mask| mask[place]),
                Role::Types => text.types.map_or(0, |types| types[place]),
                Role::Positions => place as i64,
                Role::Ids | Role::Limit => id,
            }
        };
        Tensor::new(self.dtype, &[len as u32], self.bytes((0..len).map(value))).map(Some)
    }

    fn bytes(&self, values: impl Iterator<Item = i64>) -> Bytes {
        match self.dtype {
            DType::I32 => values.flat_map(|value| (value as i32).to_le_bytes()).collect::<Vec<u8>>().into(),
            _ => values.flat_map(i64::to_le_bytes).collect::<Vec<u8>>().into(),
        }
    }

    /// Whether ones like this take a mask.
    pub(crate) fn is_mask(&self) -> bool {
        self.role == Role::Mask
    }

    /// Whether ones like this tell texts apart.
    pub(crate) fn is_types(&self) -> bool {
        self.role == Role::Types
    }
}

/// What keeps a text from becoming these inputs.
pub(crate) fn fault(inputs: &[TokenInput], text: &Tokens<'_>) -> Option<String> {
    inputs.iter().find_map(|input| input.fault(text))
}

/// The inputs of a text without [fault], those that are left out aside.
pub(crate) fn tensors(inputs: &[TokenInput], text: &Tokens<'_>) -> Result<Vec<Tensor>, SampleError> {
    inputs.iter().filter_map(|input| input.tensor(text).transpose()).collect()
}

/// Whether two names stand for the same part of a text. Of names that stand for none of the others' only those are ids
/// that say so.
pub(crate) fn mean_the_same(one: &str, other: &str) -> bool {
    let are_ids = |name: &str| ["ids", "tokens"].iter().any(|part| name.to_ascii_lowercase().contains(part));
    role(one) == role(other) && (role(one) != Role::Ids || (are_ids(one) && are_ids(other)))
}

fn role(name: &str) -> Role {
    let is = |part: &str| name.to_ascii_lowercase().contains(part);
    match () {
        () if is("mask") => Role::Mask,
        () if is("segment") || is("token_type") => Role::Types,
        () if is("position") => Role::Positions,
        () if is("max_tokens") || is("max_new_tokens") => Role::Limit,
        () => Role::Ids,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::inputs::Inputs;

    fn tokens(lines: &[&str]) -> Result<Vec<TokenInput>, String> {
        Inputs::parse(&lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>()).unwrap().tokens()
    }

    fn row(input: &TokenInput, text: &Tokens<'_>) -> Option<Vec<i64>> {
        assert_eq!(input.fault(text), None);
        let tensor = input.tensor(text).unwrap()?;
        let wide = |four: &[u8; 4]| i64::from(i32::from_le_bytes(*four));
        Some(match tensor.dtype() {
            DType::I32 => tensor.data().as_chunks().0.iter().map(wide).collect(),
            _ => tensor.data().as_chunks().0.iter().map(|eight| i64::from_le_bytes(*eight)).collect(),
        })
    }

    #[test]
    fn roles_are_known_by_name() {
        let bert = ["input_ids i64[N,4]", "input_mask i64[N,4]", "segment_ids i32[N,?]", "position_ids i32[3]"];
        let all = tokens(&bert).unwrap();
        let text = Tokens { ids: &[7, 8, 9], mask: Some(&[1, 1, 0]), types: Some(&[0, 1, 1]), max_tokens: None };
        let rows: Vec<_> = all.iter().map(|input| row(input, &text).unwrap()).collect();
        assert_eq!(rows, [vec![7, 8, 9, 0], vec![1, 1, 0, 0], vec![0, 1, 1], vec![0, 1, 2]]);
        let bare = Tokens { ids: &[7, 8, 9], ..Tokens::default() };
        let rows: Vec<_> = all[..3].iter().map(|input| row(input, &bare).unwrap()).collect();
        assert_eq!(rows, [vec![7, 8, 9, 0], vec![1, 1, 1, 0], vec![0; 3]]);
        let long = Tokens { ids: &[1; 5], ..Tokens::default() };
        assert_eq!(all[0].fault(&long).unwrap(), "5 token ids; input_ids takes 4");
    }

    #[test]
    fn a_limit_is_one_number() {
        let all = tokens(&["input_ids i32[N,?]", "max_tokens? i64[N]"]).unwrap();
        let text = Tokens { ids: &[3], max_tokens: Some(9), ..Tokens::default() };
        assert_eq!([row(&all[0], &text), row(&all[1], &text)], [Some(vec![3]), Some(vec![9])]);
        assert_eq!(all[1].tensor(&text).unwrap().unwrap().to_string(), "i64[]");
        let bare = Tokens { ids: &[3], ..Tokens::default() };
        assert_eq!(row(&all[1], &bare), None);
        let required = tokens(&["input_ids i32[N,?]", "max_new_tokens i32[1]"]).unwrap();
        assert!(required[1].fault(&bare).unwrap().contains("max_new_tokens"));
        assert!(all[0].fault(&Tokens { ids: &[1 << 40], ..bare }).unwrap().contains("no i32"));
    }

    #[test]
    fn what_may_be_left_out_is_made_when_something_is_said_of_it() {
        let all = tokens(&["input_ids i32[N,?]", "second_ids? i32[N,1]", "attention_mask? i32[N,?]"]).unwrap();
        let bare = Tokens { ids: &[3, 4], ..Tokens::default() };
        assert_eq!(all.iter().map(|input| row(input, &bare)).collect::<Vec<_>>(), [Some(vec![3, 4]), None]);
        assert_eq!(row(&all[1], &Tokens { mask: Some(&[1, 0]), ..bare }), Some(vec![1, 0]));
    }

    #[test]
    fn what_ids_cannot_become_is_named() {
        for line in ["image f32[N,3,2,2]", "ids u8[N,4]", "max_tokens i32[N,4]"] {
            assert!(tokens(&[line]).unwrap_err().contains(line.split('[').next().unwrap()), "{line}");
        }
    }
}
