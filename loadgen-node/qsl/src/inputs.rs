//! What a benchmark's model takes: `NAME DTYPE[DIMS]` for each input, as signatures are shown.
//!
//! `N` is the batch, `?` a size that is free. Several types may be given, `f32|f16|u8`: the rules let samples be of any
//! precision. A `?` behind the name marks an input that a sample may leave out: `max_tokens? i32[N]`.
//!
//! - `tokens`: how token ids become such inputs.

mod tokens;

use std::fmt;

use lon_proto::sample::{DType, Tensor, TensorSpec, UnknownDType, fit};
pub(crate) use tokens::{TokenInput, Tokens};

/// The inputs of one sample, in the model's order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inputs(Vec<TensorSpec>);

impl Inputs {
    /// Parses the lines of a benchmark's file.
    ///
    /// # Errors
    /// A text that says which line is wrong, and how.
    pub(crate) fn parse(lines: &[String]) -> Result<Inputs, String> {
        let input = |line: &String| input(line).map_err(|reason| format!("input '{line}': {reason}"));
        lines.iter().map(input).collect::<Result<_, String>>().map(Inputs)
    }

    /// What a model takes that generates tokens, where nothing else is said.
    pub(crate) fn generating() -> Inputs {
        let limit = TensorSpec { is_optional: true, ..TensorSpec::new("max_tokens", DType::I32, vec![None]) };
        Inputs(vec![TensorSpec::new("input_ids", DType::I64, vec![None, None]), limit])
    }

    /// Whether a sample of these tensors can be one of the benchmark's.
    pub(crate) fn accept(&self, tensors: &[Tensor]) -> bool {
        fit(&self.0, tensors)
    }

    /// The same, with a text (`u8[bytes]`) for the first input.
    pub(crate) fn accept_text(&self, tensors: &[Tensor]) -> bool {
        let (Some((_, inputs)), Some((text, rest))) = (self.0.split_first(), tensors.split_first()) else {
            return false;
        };
        text.dtype() == DType::U8 && text.dims().len() == 1 && fit(inputs, rest)
    }

    /// The inputs' names, when these are they in whatever order; without those that are left out.
    pub(crate) fn order<'a>(&self, names: impl Iterator<Item = &'a str>) -> Option<Vec<&str>> {
        let names: Vec<&str> = names.collect();
        let is_given = |input: &&TensorSpec| names.contains(&input.name.as_str());
        let is_whole = self.0.iter().all(|input| input.is_optional || is_given(&input));
        let ours: Vec<&str> = self.0.iter().filter(is_given).map(|input| input.name.as_str()).collect();
        (is_whole && ours.len() == names.len()).then_some(ours)
    }

    /// Whether they are of token ids, and one of them says which text an id is of.
    pub(crate) fn tell_texts_apart(&self) -> bool {
        self.tokens().is_ok_and(|inputs| inputs.iter().any(TokenInput::is_types))
    }

    /// How each is made of token ids; those that cannot be and may be left out are.
    ///
    /// # Errors
    /// One cannot be, and may not be left out.
    pub(crate) fn tokens(&self) -> Result<Vec<TokenInput>, String> {
        let made = |input: &TensorSpec| match TokenInput::new(input) {
            Err(_) if input.is_optional => None,
            made => Some(made),
        };
        self.0.iter().filter_map(made).collect()
    }
}

fn input(line: &str) -> Result<TensorSpec, String> {
    let (name, rest) = line.split_once(' ').ok_or("it is NAME DTYPE[DIMS]")?;
    let (name, is_optional) = name.strip_suffix('?').map_or((name, false), |name| (name, true));
    let (dtypes, dims) = rest.strip_suffix(']').and_then(|rest| rest.split_once('[')).ok_or("no [DIMS] at the end")?;
    let mut dtypes = dtypes.split('|').map(str::parse);
    let told = |error: UnknownDType| error.to_string();
    let dtype = dtypes.next().ok_or("no type")?.map_err(told)?;
    let other_dtypes = dtypes.collect::<Result<_, _>>().map_err(told)?;
    let dim = |(place, dim): (usize, &str)| match dim {
        "N" if place == 0 => Ok(None),
        "?" => Ok(None),
        dim => dim.parse().map(Some).map_err(|_| format!("'{dim}' is no size")),
    };
    let dims = match dims {
        "" => Vec::new(),
        dims => dims.split(',').enumerate().map(dim).collect::<Result<_, _>>()?,
    };
    Ok(TensorSpec { name: name.to_owned(), dtype, other_dtypes, dims, is_optional })
}

/// As in a benchmark's file.
impl fmt::Display for Inputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, input) in self.0.iter().enumerate() {
            write!(f, "{}{input}", if place == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn inputs(lines: &[&str]) -> Result<Inputs, String> {
        Inputs::parse(&lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>())
    }

    fn tensor(dtype: DType, dims: &[u32]) -> Tensor {
        let elements: u32 = dims.iter().product();
        Tensor::new(dtype, dims, Bytes::from(vec![0; elements as usize * dtype.size()])).unwrap()
    }

    #[test]
    fn any_of_the_types_will_do() {
        let image = inputs(&["image f32|u8[N,3,2,2]"]).unwrap();
        assert_eq!(image.to_string(), "image f32|u8[N,3,2,2]");
        for dtype in [DType::F32, DType::U8] {
            assert!(image.accept(&[tensor(dtype, &[3, 2, 2])]) && image.accept(&[tensor(dtype, &[1, 3, 2, 2])]));
            assert!(!image.accept(&[tensor(dtype, &[2, 2, 3])]) && !image.accept(&[]));
        }
        assert!(!image.accept(&[tensor(DType::F16, &[3, 2, 2])]));
    }

    #[test]
    fn what_is_optional_may_be_left_out() {
        let decoder = inputs(&["ids i32|i64[N,?]", "pixels? f32[N,?,3]", "max_tokens? i32[N]"]).unwrap();
        assert_eq!(decoder.to_string(), "ids i32|i64[N,?], pixels? f32[N,?,3], max_tokens? i32[N]");
        let ids = || tensor(DType::I64, &[9]);
        let limit = || tensor(DType::I32, &[]);
        let pixels = || tensor(DType::F32, &[7, 3]);
        assert!(decoder.accept(&[ids()]) && decoder.accept(&[ids(), limit()]));
        assert!(decoder.accept(&[ids(), pixels()]) && decoder.accept(&[ids(), pixels(), limit()]));
        assert!(!decoder.accept(&[]) && !decoder.accept(&[ids(), ids()]) && !decoder.accept(&[pixels()]));
        assert!(!decoder.accept(&[ids(), limit(), limit()]) && !decoder.accept(&[ids(), limit(), pixels()]));
        let text = || tensor(DType::U8, &[5]);
        assert!(decoder.accept_text(&[text()]) && decoder.accept_text(&[text(), limit()]));
        assert!(
            !decoder.accept_text(&[ids()]) && !decoder.accept_text(&[text(), text()]) && !decoder.accept(&[text()])
        );
        assert_eq!(decoder.order(["max_tokens", "ids"].into_iter()), Some(vec!["ids", "max_tokens"]));
        assert_eq!(decoder.order(["max_tokens", "pixels"].into_iter()), None);
        assert_eq!(decoder.tokens().unwrap().len(), 2);
        assert_eq!(Inputs::generating().to_string(), "input_ids i64[N,?], max_tokens? i32[N]");
    }

    #[test]
    fn inputs_are_ordered_by_name() {
        let bert = inputs(&["input_ids i64[N,384]", "input_mask i64[N,384]", "segment_ids i32[N,?]"]).unwrap();
        assert_eq!(
            bert.order(["segment_ids", "input_ids", "input_mask"].into_iter()),
            Some(vec!["input_ids", "input_mask", "segment_ids"])
        );
        assert_eq!(bert.order(["a", "b", "c"].into_iter()), None);
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        for (line, part) in [("image", "NAME"), ("x f33[N]", "f33"), ("x f32[N", "[DIMS]"), ("x f32[3,N]", "'N'")] {
            let error = inputs(&[line]).unwrap_err();
            assert!(error.contains(part) && error.contains(line), "{error}");
        }
    }
}
