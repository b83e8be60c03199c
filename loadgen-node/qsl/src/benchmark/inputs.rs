//! What a benchmark's model takes: `NAME DTYPE[DIMS]`, as signatures are shown.
//!
//! `N` is the batch, `?` a size that is free. Several types may be given, `f32|f16|u8`: the rules let samples be of any
//! precision.

use std::fmt;

use lon_proto::sample::{DType, Tensor, TensorSpec};

/// The inputs of one sample, in the model's order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inputs(Vec<Input>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Input {
    /// With the first of the types.
    spec: TensorSpec,
    dtypes: Vec<DType>,
}

/// What an input of token ids is for, judged by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The ids themselves.
    Ids,
    /// 1 where there is an id, 0 where padding is.
    Mask,
    /// Which text an id is of.
    Types,
    /// 0, 1, 2, ...
    Positions,
}

/// How one input of token ids is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TokenInput {
    pub(crate) name: String,
    pub(crate) role: Role,
    pub(crate) dtype: DType,
    /// Padded to it; none: as long as the text is.
    pub(crate) len: Option<usize>,
}

impl Inputs {
    /// Parses the lines of a benchmark's file.
    ///
    /// # Errors
    /// A text that says which line is wrong, and how.
    pub(crate) fn parse(lines: &[String]) -> Result<Inputs, String> {
        let input = |line: &String| input(line).map_err(|reason| format!("input '{line}': {reason}"));
        let inputs: Result<Vec<Input>, String> = lines.iter().map(input).collect();
        inputs.map(Inputs)
    }

    /// Whether a sample of these tensors can be one of the benchmark's.
    pub(crate) fn accept(&self, tensors: &[Tensor]) -> bool {
        let fits = |(input, tensor): (&Input, &Tensor)| {
            let of = |&dtype: &DType| TensorSpec { dtype, ..input.spec.clone() };
            input.dtypes.iter().map(of).any(|spec| spec.sample_dims(tensor).is_some())
        };
        self.0.len() == tensors.len() && self.0.iter().zip(tensors).all(fits)
    }

    /// The inputs' names, when these are they in whatever order.
    pub(crate) fn order<'a>(&self, names: impl Iterator<Item = &'a str>) -> Option<Vec<&str>> {
        let names: Vec<&str> = names.collect();
        let ours: Vec<&str> = self.0.iter().map(|input| input.spec.name.as_str()).collect();
        (ours.len() == names.len() && ours.iter().all(|name| names.contains(name))).then_some(ours)
    }

    /// How each is made of token ids.
    pub(crate) fn tokens(&self) -> Result<Vec<TokenInput>, String> {
        let token = |Input { spec, .. }: &Input| {
            let (name, dtype) = (spec.name.clone(), spec.dtype);
            let len = match spec.dims.as_slice() {
                [_, len] if spec.has_batch_dim() => *len,
                [len] => *len,
                _ => return Err(format!("JSON lines do not make an input like {spec}")),
            };
            if !matches!(dtype, DType::I32 | DType::I64) {
                return Err(format!("JSON lines do not make an input like {spec}"));
            }
            let is = |part: &str| name.to_ascii_lowercase().contains(part);
            let role = match () {
                () if is("mask") => Role::Mask,
                () if is("segment") || is("token_type") => Role::Types,
                () if is("position") => Role::Positions,
                () => Role::Ids,
            };
            Ok(TokenInput { name, role, dtype, len: len.map(|len| len as usize) })
        };
        self.0.iter().map(token).collect()
    }
}

fn input(line: &str) -> Result<Input, String> {
    let (name, rest) = line.split_once(' ').ok_or("it is NAME DTYPE[DIMS]")?;
    let (dtypes, dims) = rest.strip_suffix(']').and_then(|rest| rest.split_once('[')).ok_or("no [DIMS] at the end")?;
    let dtypes: Result<Vec<DType>, _> = dtypes.split('|').map(str::parse).collect();
    let dtypes = dtypes.map_err(|error: lon_proto::sample::UnknownDType| error.to_string())?;
    let dim = |(place, dim): (usize, &str)| match dim {
        "N" if place == 0 => Ok(None),
        "?" => Ok(None),
        dim => dim.parse().map(Some).map_err(|_| format!("'{dim}' is no size")),
    };
    let dims = match dims {
        "" => Vec::new(),
        dims => dims.split(',').enumerate().map(dim).collect::<Result<_, _>>()?,
    };
    let dtype = *dtypes.first().ok_or("no type")?;
    Ok(Input { spec: TensorSpec { name: name.to_owned(), dtype, dims }, dtypes })
}

/// As in a benchmark's file.
impl fmt::Display for Inputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, Input { spec, dtypes }) in self.0.iter().enumerate() {
            let all: Vec<&str> = dtypes.iter().map(|dtype| dtype.name()).collect();
            let shown = spec.to_string().replacen(spec.dtype.name(), &all.join("|"), 1);
            write!(f, "{}{shown}", if place == 0 { "" } else { ", " })?;
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
    fn roles_are_known_by_name() {
        let bert = inputs(&["input_ids i64[N,384]", "input_mask i64[N,384]", "segment_ids i32[N,?]"]).unwrap();
        let tokens = bert.tokens().unwrap();
        let roles: Vec<_> = tokens.iter().map(|token| (token.role, token.dtype, token.len)).collect();
        let wanted =
            [(Role::Ids, DType::I64, Some(384)), (Role::Mask, DType::I64, Some(384)), (Role::Types, DType::I32, None)];
        assert_eq!(roles, wanted);
        assert_eq!(
            bert.order(["segment_ids", "input_ids", "input_mask"].into_iter()),
            Some(vec!["input_ids", "input_mask", "segment_ids"])
        );
        assert_eq!(bert.order(["a", "b", "c"].into_iter()), None);
        assert!(inputs(&["image f32[N,3,2,2]"]).unwrap().tokens().is_err());
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        for (line, part) in [("image", "NAME"), ("x f33[N]", "f33"), ("x f32[N", "[DIMS]"), ("x f32[3,N]", "'N'")] {
            let error = inputs(&[line]).unwrap_err();
            assert!(error.contains(part) && error.contains(line), "{error}");
        }
    }
}
