//! The inputs of a benchmark's model, written as signatures are: `NAME DTYPE[DIMS]` for each input.
//!
//! `N` is the batch and `?` a size that is free. An input may have several types, `f32|f16|u8`, because the rules allow
//! samples of any precision. A `?` after the name marks an input that a sample may leave out: `max_tokens? i32[N]`.

use std::fmt;

use lon_proto::sample::{DType, Role, Signature, Tensor, TensorSpec, UnknownDType, fit};

use super::tokens::{self, TokenInput};

/// The inputs of a model, in the model's order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inputs(Vec<TensorSpec>);

impl Inputs {
    /// Parses the inputs of a benchmark's file, one in each text.
    ///
    /// # Errors
    /// A text that says which input is wrong, and why.
    pub(crate) fn parse(lines: &[String]) -> Result<Inputs, String> {
        let input = |line: &String| input(line).map_err(|reason| format!("input '{line}': {reason}"));
        let inputs = lines.iter().map(input).collect::<Result<Vec<TensorSpec>, String>>()?;
        if inputs.iter().all(|input| input.is_optional) {
            return Err("inputs has none that a sample must have".to_owned());
        }
        let is_twice = |(at, input): &(usize, &TensorSpec)| inputs[..*at].iter().any(|other| other.name == input.name);
        match inputs.iter().enumerate().find(is_twice) {
            Some((_, input)) => Err(format!("input '{}' is there twice", input.name)),
            None => Ok(Inputs(inputs)),
        }
    }

    /// Returns the inputs of a model with this signature.
    pub(crate) fn of(model: &Signature) -> Inputs {
        Inputs(model.to_vec())
    }

    /// Returns the inputs of a model that generates tokens, for use when no benchmark gives others.
    pub(crate) fn generating() -> Inputs {
        let limit = TensorSpec { is_optional: true, ..TensorSpec::new("max_tokens", DType::I32, vec![None]) };
        Inputs(vec![TensorSpec::new("input_ids", DType::I64, vec![None, None]), limit])
    }

    /// Returns the inputs, in their order.
    pub(crate) fn specs(&self) -> &[TensorSpec] {
        &self.0
    }

    /// Tells whether these tensors are a sample for the model.
    pub(crate) fn fits(&self, tensors: &[Tensor]) -> bool {
        fit(&self.0, tensors)
    }

    /// Tells whether these tensors are a sample for the model, with a text (`u8[bytes]`) in place of the first input.
    pub(crate) fn fits_text(&self, tensors: &[Tensor]) -> bool {
        let (Some((_, inputs)), Some((text, others))) = (self.0.split_first(), tensors.split_first()) else {
            return false;
        };
        text.dtype() == DType::U8 && text.dims().len() == 1 && fit(inputs, others)
    }

    /// Returns the names of the inputs, in their order.
    pub fn names(&self) -> Vec<&str> {
        self.0.iter().map(|input| input.name.as_str()).collect()
    }

    /// Returns, for each of these names, the place of the input that it stands for (see [`places`]). None when a name
    /// stands for no input, when two stand for the same, or when a required input is missing.
    pub(crate) fn places(&self, names: &[&str]) -> Option<Vec<usize>> {
        let places = places(names, &self.names()).into_iter().collect::<Option<Vec<usize>>>()?;
        let is_given = |(at, input): (usize, &TensorSpec)| input.is_optional || places.contains(&at);
        self.0.iter().enumerate().all(is_given).then_some(places)
    }

    /// Tells whether token ids can become the inputs, and one of the inputs tells texts apart.
    pub(crate) fn tell_texts_apart(&self) -> bool {
        self.tokens().is_ok_and(|inputs| inputs.iter().any(TokenInput::is_types))
    }

    /// Returns the input for token ids alone; none when the model has no inputs that could be made of it.
    pub(crate) fn ids_alone(&self) -> Option<Inputs> {
        let mut ids = self.0.iter().filter(|input| Role::of(&input.name) == Role::Ids && !input.is_optional);
        let only = ids.next().filter(|_| ids.next().is_none() && self.tell_texts_apart())?;
        Some(Inputs(vec![only.clone()]))
    }

    /// Returns the inputs that are made from token ids. Optional inputs are left out when token ids cannot become them,
    /// or when a text has no numbers for them.
    ///
    /// # Errors
    /// Token ids cannot become an input that is required.
    pub(crate) fn tokens(&self) -> Result<Vec<TokenInput>, String> {
        let token_input = |input: &TensorSpec| match TokenInput::new(input) {
            Ok(token_input) if token_input.is_always_left_out() => None,
            Err(_) if input.is_optional => None,
            outcome => Some(outcome),
        };
        self.0.iter().filter_map(token_input).collect()
    }
}

/// Returns, for each name, the place in `targets` of the name that means the same. Equal names mean the same. Other
/// names do when they stand for the same part of a text (`attention_mask` and `input_mask`; `token_type_ids` and
/// `segment_ids`) and no third name does.
pub(crate) fn places(names: &[&str], targets: &[&str]) -> Vec<Option<usize>> {
    let same = |name: &&str| targets.iter().position(|target| target == name);
    let exact: Vec<Option<usize>> = names.iter().map(same).collect();
    let by_meaning = |name: &str| {
        let means_it = |at: &usize| !exact.contains(&Some(*at)) && tokens::mean_the_same(name, targets[*at]);
        let mut candidates = (0..targets.len()).filter(means_it);
        candidates.next().filter(|_| candidates.next().is_none())
    };
    let mut places: Vec<Option<usize>> = Vec::with_capacity(names.len());
    for (name, exact) in names.iter().zip(&exact) {
        let place = exact.or_else(|| by_meaning(name));
        places.push(place.filter(|place| !places.contains(&Some(*place))));
    }
    places
}

/// Parses one input: `NAME DTYPE[DIMS]`.
fn input(line: &str) -> Result<TensorSpec, String> {
    let (name, form) = line.split_once(' ').ok_or("it is NAME DTYPE[DIMS]")?;
    let (name, is_optional) = name.strip_suffix('?').map_or((name, false), |name| (name, true));
    let (dtypes, dims) = form.strip_suffix(']').and_then(|form| form.split_once('[')).ok_or("no [DIMS] at the end")?;
    let mut dtypes = dtypes.split('|').map(str::parse);
    let text_of = |error: UnknownDType| error.to_string();
    let dtype = dtypes.next().ok_or("no type")?.map_err(text_of)?;
    let other_dtypes = dtypes.collect::<Result<_, _>>().map_err(text_of)?;
    let dim = |(place, dim): (usize, &str)| match dim {
        "N" if place == 0 => Ok(None),
        "?" => Ok(None),
        dim => dim.parse().map(Some).map_err(|_| format!("'{dim}' is no size")),
    };
    let dims = match dims {
        "" => Vec::new(),
        dims => dims.split(',').enumerate().map(dim).collect::<Result<Vec<_>, _>>()?,
    };
    if name.is_empty() || name.ends_with('?') {
        return Err("it is NAME DTYPE[DIMS]".to_owned());
    }
    if dims.contains(&Some(0)) {
        return Err("a size is 1 or more".to_owned());
    }
    Ok(TensorSpec { name: name.to_owned(), dtype, other_dtypes, dims, is_optional })
}

/// Writes the inputs as a benchmark's file has them.
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
        Tensor::new(dtype, dims, Bytes::from(vec![0; dtype.bytes_of(elements.into()).unwrap() as usize])).unwrap()
    }

    #[test]
    fn any_of_the_types_will_do() {
        let image = inputs(&["image f32|u8[N,3,2,2]"]).unwrap();
        assert_eq!(image.to_string(), "image f32|u8[N,3,2,2]");
        for dtype in [DType::F32, DType::U8] {
            assert!(image.fits(&[tensor(dtype, &[3, 2, 2])]) && image.fits(&[tensor(dtype, &[1, 3, 2, 2])]));
            assert!(!image.fits(&[tensor(dtype, &[2, 2, 3])]) && !image.fits(&[]));
        }
        assert!(!image.fits(&[tensor(DType::F16, &[3, 2, 2])]));
    }

    #[test]
    fn what_is_optional_may_be_left_out() {
        let decoder = inputs(&["ids i32|i64[N,?]", "pixels? f32[N,?,3]", "max_tokens? i32[N]"]).unwrap();
        assert_eq!(decoder.to_string(), "ids i32|i64[N,?], pixels? f32[N,?,3], max_tokens? i32[N]");
        let ids = || tensor(DType::I64, &[9]);
        let limit = || tensor(DType::I32, &[]);
        let pixels = || tensor(DType::F32, &[7, 3]);
        assert!(decoder.fits(&[ids()]) && decoder.fits(&[ids(), limit()]));
        assert!(decoder.fits(&[ids(), pixels()]) && decoder.fits(&[ids(), pixels(), limit()]));
        assert!(!decoder.fits(&[]) && !decoder.fits(&[ids(), ids()]) && !decoder.fits(&[pixels()]));
        assert!(!decoder.fits(&[ids(), limit(), limit()]) && !decoder.fits(&[ids(), limit(), pixels()]));
        let text = || tensor(DType::U8, &[5]);
        assert!(decoder.fits_text(&[text()]) && decoder.fits_text(&[text(), limit()]));
        assert!(!decoder.fits_text(&[ids()]) && !decoder.fits_text(&[text(), text()]) && !decoder.fits(&[text()]));
        assert_eq!(decoder.places(&["max_tokens", "ids"]), Some(vec![2, 0]));
        assert_eq!(decoder.places(&["max_tokens", "pixels"]), None);
        assert_eq!(decoder.tokens().unwrap().len(), 2);
        assert_eq!(Inputs::generating().to_string(), "input_ids i64[N,?], max_tokens? i32[N]");
    }

    #[test]
    fn inputs_are_known_by_name_or_meaning() {
        let bert = inputs(&["input_ids i64[N,384]", "input_mask i64[N,384]", "segment_ids i32[N,?]"]).unwrap();
        assert_eq!(bert.places(&["segment_ids", "input_ids", "input_mask"]), Some(vec![2, 0, 1]));
        assert_eq!(bert.places(&["input_ids", "token_type_ids", "attention_mask"]), Some(vec![0, 2, 1]));
        for other in [&["a", "b", "c"][..], &["input_ids", "input_mask"], &["input_ids", "input_mask", "mask"]] {
            assert_eq!(bert.places(other), None, "{other:?}");
        }
        let two = inputs(&["input_tokens i32[N,77]", "input_tokens_2? i32[N,77]"]).unwrap();
        assert_eq!(two.places(&["input_tokens_2", "input_tokens"]), Some(vec![1, 0]));
        assert_eq!(two.places(&["input_ids"]), None, "either of the two");
        assert_eq!(places(&["image"], &["x"]), [None]);
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        for (line, part) in [
            ("image", "NAME"),
            ("x f33[N]", "f33"),
            ("x f32[N", "[DIMS]"),
            ("x f32[3,N]", "'N'"),
            ("? f32[N]", "NAME"),
            ("x?? f32[N]", "NAME"),
            ("x f32[N,0]", "1 or more"),
        ] {
            let error = inputs(&[line]).unwrap_err();
            assert!(error.contains(part) && error.contains(line), "{error}");
        }
        assert!(inputs(&["x f32[N]", "x? f32[N]"]).unwrap_err().contains("'x' is there twice"));
        assert!(inputs(&[]).is_err() && inputs(&["x? f32[N]"]).unwrap_err().contains("none that a sample must have"));
    }
}
