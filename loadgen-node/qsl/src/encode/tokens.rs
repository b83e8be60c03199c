//! From token ids to the tensors of a model's inputs. The name of an input says what it is for: the ids, a mask, types,
//! positions or a limit.

use bytes::Bytes;
use lon_proto::sample::{DType, Role, SampleError, Tensor, TensorSpec};

/// One input that can be made from token ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TokenInput {
    name: String,
    role: Role,
    dtype: DType,
    /// The length to which rows are padded; none: each row is as long as its text.
    len: Option<usize>,
    is_optional: bool,
}

/// The token ids of one text, and the numbers beside them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tokens<'a> {
    pub(crate) ids: &'a [i64],
    /// One number for each id; none: the mask is 1 for all of them.
    pub(crate) mask: Option<&'a [i64]>,
    /// One number for each id; none: all ids belong to text 0.
    pub(crate) types: Option<&'a [i64]>,
    /// The number of tokens that may be generated.
    pub(crate) max_tokens: Option<i32>,
}

impl TokenInput {
    /// Describes an input by its name, type and dimensions.
    ///
    /// # Errors
    /// Token ids cannot become an input like this.
    pub(crate) fn new(spec: &TensorSpec) -> Result<TokenInput, String> {
        let TensorSpec { name, dtype, is_optional, .. } = spec.clone();
        let refused = || format!("token ids do not make an input like {spec}");
        let role = Role::of(&name);
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

    /// Tells whether the input is always left out: it is optional, and a text has no numbers for it beside the ids.
    pub(crate) fn is_always_left_out(&self) -> bool {
        self.is_optional && matches!(self.role, Role::Ids | Role::Positions)
    }

    /// Returns the length to which rows are padded; none: each row is as long as its text.
    pub(crate) fn len(&self) -> Option<usize> {
        self.len
    }

    /// Returns the name of the input.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Tells whether the input is the number of tokens that may be generated.
    pub(crate) fn is_limit(&self) -> bool {
        self.role == Role::Limit
    }

    /// Checks that a text can become this input.
    fn fits(&self, text: &Tokens<'_>) -> Result<(), String> {
        if self.is_limit() {
            return match text.max_tokens.is_none() && !self.is_optional {
                true => Err(format!("max_tokens is missing, which {} takes", self.name)),
                false => Ok(()),
            };
        }
        if let Some(longest) = self.len.filter(|&longest| text.ids.len() > longest) {
            return Err(format!("{} token ids; {} takes {longest}", text.ids.len(), self.name));
        }
        let too_large = |id: &&i64| self.dtype == DType::I32 && i32::try_from(**id).is_err();
        match text.ids.iter().find(too_large) {
            Some(id) => Err(format!("{id} is no i32, which {} takes", self.name)),
            None => Ok(()),
        }
    }

    /// Returns the tensor of this input for a text that [fits](TokenInput::fits). None when the input is left out: it
    /// is optional, and the text has no numbers for it.
    fn tensor(&self, text: &Tokens<'_>) -> Result<Option<Tensor>, SampleError> {
        let has_numbers = match self.role {
            Role::Mask => text.mask.is_some(),
            Role::Types => text.types.is_some(),
            Role::Limit => text.max_tokens.is_some(),
            Role::Ids | Role::Positions => false,
        };
        if self.is_optional && !has_numbers {
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

    /// Lays out whole numbers in the type of this input.
    fn bytes(&self, values: impl Iterator<Item = i64>) -> Bytes {
        match self.dtype {
            DType::I32 => values.flat_map(|value| (value as i32).to_le_bytes()).collect::<Vec<u8>>().into(),
            _ => values.flat_map(i64::to_le_bytes).collect::<Vec<u8>>().into(),
        }
    }

    /// Tells whether the input is a mask.
    pub(crate) fn is_mask(&self) -> bool {
        self.role == Role::Mask
    }

    /// Tells whether the input tells texts apart.
    pub(crate) fn is_types(&self) -> bool {
        self.role == Role::Types
    }
}

/// Checks that a text can become these inputs.
///
/// # Errors
/// A text that names the first input that the tokens do not fit.
pub(crate) fn fits(inputs: &[TokenInput], text: &Tokens<'_>) -> Result<(), String> {
    inputs.iter().try_for_each(|input| input.fits(text))
}

/// Returns the tensors of a text that [fits]. Inputs that are left out have none.
pub(crate) fn tensors(inputs: &[TokenInput], text: &Tokens<'_>) -> Result<Vec<Tensor>, SampleError> {
    inputs.iter().filter_map(|input| input.tensor(text).transpose()).collect()
}

/// Tells whether two names stand for the same part of a text. Two inputs without a known part are the same only when
/// both names speak of ids or tokens.
pub(crate) fn mean_the_same(one: &str, other: &str) -> bool {
    let are_ids = |name: &str| ["ids", "tokens"].iter().any(|part| name.to_ascii_lowercase().contains(part));
    Role::of(one) == Role::of(other) && (Role::of(one) != Role::Ids || (are_ids(one) && are_ids(other)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::inputs::Inputs;

    fn tokens(lines: &[&str]) -> Result<Vec<TokenInput>, String> {
        Inputs::parse(&lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>()).unwrap().tokens()
    }

    fn row(input: &TokenInput, text: &Tokens<'_>) -> Option<Vec<i64>> {
        assert_eq!(input.fits(text), Ok(()));
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
        assert_eq!(all[0].fits(&long).unwrap_err(), "5 token ids; input_ids takes 4");
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
        assert!(required[1].fits(&bare).unwrap_err().contains("max_new_tokens"));
        assert!(all[0].fits(&Tokens { ids: &[1 << 40], ..bare }).unwrap_err().contains("no i32"));
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
