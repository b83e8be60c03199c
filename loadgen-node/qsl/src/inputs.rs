//! What a benchmark's model takes: `NAME DTYPE[DIMS]` for each input, as signatures are shown.
//!
//! `N` is the batch, `?` a size that is free. Several types may be given, `f32|f16|u8`: the rules let samples be of any
//! precision. A `?` behind the name marks an input that a sample may leave out, with those behind it:
//! `max_tokens? i32[]`.
//!
//! - `tokens`: how token ids become such inputs.

mod tokens;

use std::fmt;

use lon_proto::sample::{DType, Tensor, TensorSpec};
pub(crate) use tokens::{TokenInput, Tokens};

/// The inputs of one sample, in the model's order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inputs(Vec<Input>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Input {
    /// With the first of the types.
    spec: TensorSpec,
    dtypes: Vec<DType>,
    is_optional: bool,
}

impl Inputs {
    /// Parses the lines of a benchmark's file.
    ///
    /// # Errors
    /// A text that says which line is wrong, and how.
    pub(crate) fn parse(lines: &[String]) -> Result<Inputs, String> {
        let input = |line: &String| input(line).map_err(|reason| format!("input '{line}': {reason}"));
        let inputs = lines.iter().map(input).collect::<Result<Vec<Input>, String>>()?;
        match inputs.iter().skip_while(|input| !input.is_optional).find(|input| !input.is_optional) {
            Some(Input { spec, .. }) => Err(format!("input '{}' stands behind one that may be left out", spec.name)),
            None => Ok(Inputs(inputs)),
        }
    }

    /// What a model takes that generates tokens, where nothing else is said.
    pub(crate) fn generating() -> Inputs {
        let scalar = |name: &str, dtype, dims| TensorSpec { name: name.to_owned(), dtype, dims };
        let input = |spec: TensorSpec, is_optional| Input { dtypes: vec![spec.dtype], spec, is_optional };
        let ids = input(scalar("input_ids", DType::I64, vec![None, None]), false);
        Inputs(vec![ids, input(scalar("max_tokens", DType::I32, Vec::new()), true)])
    }

    /// Whether a sample of these tensors can be one of the benchmark's.
    pub(crate) fn accept(&self, tensors: &[Tensor]) -> bool {
        self.has_room_for(tensors.len()) && self.0.iter().zip(tensors).all(|(input, tensor)| input.accepts(tensor))
    }

    /// The same, with a text (`u8[bytes]`) for the first input.
    pub(crate) fn accept_text(&self, tensors: &[Tensor]) -> bool {
        let is_text = tensors.first().is_some_and(|text| text.dtype() == DType::U8 && text.dims().len() == 1);
        let mut rest = self.0.iter().zip(tensors).skip(1);
        is_text && self.has_room_for(tensors.len()) && rest.all(|(input, tensor)| input.accepts(tensor))
    }

    fn has_room_for(&self, count: usize) -> bool {
        let required = self.0.iter().filter(|input| !input.is_optional).count();
        (required..=self.0.len()).contains(&count)
    }

    /// The inputs' names, when these are they in whatever order.
    pub(crate) fn order<'a>(&self, names: impl Iterator<Item = &'a str>) -> Option<Vec<&str>> {
        let names: Vec<&str> = names.collect();
        let ours: Vec<&str> = self.0.iter().map(|input| input.spec.name.as_str()).collect();
        (ours.len() == names.len() && ours.iter().all(|name| names.contains(name))).then_some(ours)
    }

    /// Whether they are of token ids, and one of them says which text an id is of.
    pub(crate) fn tell_texts_apart(&self) -> bool {
        self.tokens().is_ok_and(|inputs| inputs.iter().any(TokenInput::is_types))
    }

    /// How each is made of token ids.
    ///
    /// # Errors
    /// One cannot be.
    pub(crate) fn tokens(&self) -> Result<Vec<TokenInput>, String> {
        self.0.iter().map(|input| TokenInput::new(&input.spec, input.is_optional)).collect()
    }
}

impl Input {
    fn accepts(&self, tensor: &Tensor) -> bool {
        let of = |&dtype: &DType| TensorSpec { dtype, ..self.spec.clone() };
        self.dtypes.iter().map(of).any(|spec| spec.sample_dims(tensor).is_some())
    }
}

fn input(line: &str) -> Result<Input, String> {
    let (name, rest) = line.split_once(' ').ok_or("it is NAME DTYPE[DIMS]")?;
    let (name, is_optional) = name.strip_suffix('?').map_or((name, false), |name| (name, true));
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
    Ok(Input { spec: TensorSpec { name: name.to_owned(), dtype, dims }, dtypes, is_optional })
}

/// As in a benchmark's file.
impl fmt::Display for Inputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, Input { spec, dtypes, is_optional }) in self.0.iter().enumerate() {
            let shown = spec.to_string();
            // The type and sizes as a signature has them, behind the name.
            let sizes = shown.get(spec.name.len() + 1 + spec.dtype.name().len()..).unwrap_or_default();
            let all: Vec<&str> = dtypes.iter().map(|dtype| dtype.name()).collect();
            let (between, mark) = (if place == 0 { "" } else { ", " }, if *is_optional { "?" } else { "" });
            write!(f, "{between}{}{mark} {}{sizes}", spec.name, all.join("|"))?;
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
        let decoder = inputs(&["ids i32|i64[N,?]", "max_tokens? i32[]", "top_k? i32[]"]).unwrap();
        assert_eq!(decoder.to_string(), "ids i32|i64[N,?], max_tokens? i32[], top_k? i32[]");
        let ids = || tensor(DType::I64, &[9]);
        let limit = || tensor(DType::I32, &[]);
        assert!(decoder.accept(&[ids()]) && decoder.accept(&[ids(), limit()]));
        assert!(decoder.accept(&[ids(), limit(), limit()]));
        assert!(!decoder.accept(&[]) && !decoder.accept(&[ids(), ids()]));
        assert!(!decoder.accept(&[ids(), limit(), limit(), limit()]));
        let text = || tensor(DType::U8, &[5]);
        assert!(decoder.accept_text(&[text()]) && decoder.accept_text(&[text(), limit()]));
        assert!(
            !decoder.accept_text(&[ids()]) && !decoder.accept_text(&[text(), text()]) && !decoder.accept(&[text()])
        );
        let error = inputs(&["a? u8[N]", "b u8[N]"]).unwrap_err();
        assert!(error.contains("'b'") && error.contains("left out"), "{error}");
        assert_eq!(Inputs::generating().to_string(), "input_ids i64[N,?], max_tokens? i32[]");
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
