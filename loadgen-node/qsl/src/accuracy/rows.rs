//! The layout of answers, as the SUT's outputs give it. Answers that name classes are rows of scores, or the classes
//! themselves.

use std::fmt;

use lon_proto::sample::{DType, Signature, TensorSpec};

use super::logits::Layout;

/// The layout of a model's answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// The type of the first output.
    dtype: DType,
    /// The number of elements of the first output for one sample, when all sizes are fixed.
    elements: Option<u64>,
    /// Whether other outputs follow the first.
    is_first_of_many: bool,
    /// The layout of start and end logits, when the outputs are such.
    logits: Option<Layout>,
}

/// Shows the first output as `5 i64`, with `?` when the number is not fixed.
impl fmt::Display for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.elements {
            Some(elements) => write!(f, "{elements} {}", self.dtype),
            None => write!(f, "? {}", self.dtype),
        }
    }
}

impl Rows {
    /// Returns the layout for a model with these outputs; none when it has no outputs.
    pub fn of(outputs: &Signature) -> Option<Rows> {
        Rows::of_specs(outputs)
    }

    /// Reads the layout from a signature as results show it: `logits f32[N,10], ...`. None when no output can be read.
    pub fn from_text(outputs: &str) -> Option<Rows> {
        let (mut specs, mut rest) = (Vec::new(), outputs);
        while let Some((spec, behind)) = first_spec(rest) {
            specs.push(spec);
            rest = behind.trim_start_matches([',', ' ']);
        }
        let rows = Rows::of_specs(&specs)?;
        // A part that cannot be read is an output all the same.
        let is_whole = rest.is_empty();
        let logits = rows.logits.filter(|_| is_whole);
        Some(Rows { is_first_of_many: rows.is_first_of_many || !is_whole, logits, ..rows })
    }

    fn of_specs(outputs: &[TensorSpec]) -> Option<Rows> {
        let first = outputs.first()?;
        let elements = first.own_dims().iter().try_fold(1u64, |product, dim| product.checked_mul(u64::from((*dim)?)));
        let (is_first_of_many, logits) = (outputs.len() > 1, Layout::of(outputs));
        Some(Rows { dtype: first.dtype, elements, is_first_of_many, logits })
    }

    /// Returns the type of the first output.
    pub fn dtype(self) -> DType {
        self.dtype
    }

    /// Returns the number of classes, when each has a score and their number is fixed.
    pub(super) fn scored_classes(self) -> Option<u64> {
        self.elements.filter(|_| self.is_floats() && self.logits.is_none())
    }

    /// Returns the layout of start and end logits, when the outputs are such.
    pub(super) fn logits(self) -> Option<Layout> {
        self.logits
    }

    /// Tells whether the first output is a row of f32.
    pub(super) fn is_floats(self) -> bool {
        self.dtype == DType::F32
    }

    /// Returns the first `most` classes that an answer names; `known` is the number of classes, when it is known. None
    /// when the answer does not have this layout.
    pub(super) fn classes(self, answer: &[u8], most: usize, known: Option<usize>) -> Option<Vec<i64>> {
        let bytes = self.elements.and_then(|elements| usize::try_from(self.dtype.bytes_of(elements)?).ok());
        let row = match bytes {
            Some(bytes) if self.is_first_of_many => answer.get(..bytes)?,
            Some(bytes) if bytes != answer.len() => return None,
            _ => answer,
        };
        match self.dtype {
            DType::F32 if known.is_none_or(|classes| row.len() == 4 * classes) => largest(row, most),
            DType::I64 => wide(row, most),
            DType::I32 => narrow(row, most),
            _ => None,
        }
    }
}

/// Returns the first output in a text, and the rest of the text. A name may contain any characters; it ends before the
/// first part that reads as a type and sizes.
fn first_spec(outputs: &str) -> Option<(TensorSpec, &str)> {
    let spec = |end: usize| {
        let (name_and_dtype, dims) = outputs[..end].rsplit_once('[')?;
        let (name, dtype) = name_and_dtype.rsplit_once(' ')?;
        let dims = dims.split(',').map(str::trim).filter(|dim| !dim.is_empty()).map(|dim| dim.parse().ok()).collect();
        let spec = TensorSpec::new(name, dtype.parse().ok()?, dims);
        Some((spec, &outputs[end + 1..]))
    };
    outputs.match_indices(']').find_map(|(end, _)| spec(end))
}

/// Returns the first `most` classes that an answer names when its layout is not known; `known` is the number of
/// classes.
pub(super) fn guessed(answer: &[u8], most: usize, known: Option<usize>) -> Option<Vec<i64>> {
    match known.is_none_or(|classes| answer.len() == 4 * classes) {
        true => largest(answer, most),
        false => ids(answer, most),
    }
}

/// Returns the places of the `most` largest f32, the largest first; of equal ones the first comes first. Empty when one
/// of them is a NaN. None when the answer is not a row of f32.
fn largest(answer: &[u8], most: usize) -> Option<Vec<i64>> {
    let (values, rest) = answer.as_chunks::<4>();
    if values.is_empty() || !rest.is_empty() {
        return None;
    }
    let mut best: Vec<(f32, i64)> = Vec::with_capacity(most + 1);
    for (place, value) in values.iter().map(|bytes| f32::from_le_bytes(*bytes)).enumerate() {
        if value.is_nan() {
            return Some(Vec::new());
        }
        let before = best.partition_point(|(other, _)| *other >= value);
        if before < most {
            best.insert(before, (value, place as i64));
            best.truncate(most);
        }
    }
    Some(best.into_iter().map(|(_, place)| place).collect())
}

/// Reads an answer of i32 or i64, which may be empty. None when it is not a row of them, or the type is another.
pub(super) fn whole_numbers(answer: &[u8], dtype: DType) -> Option<Vec<i64>> {
    match dtype {
        _ if answer.is_empty() => Some(Vec::new()),
        DType::I64 => wide(answer, usize::MAX),
        DType::I32 => narrow(answer, usize::MAX),
        _ => None,
    }
}

/// Reads classes as whole numbers: 1 to 5 of i64 when the length allows it, else of i32.
fn ids(answer: &[u8], most: usize) -> Option<Vec<i64>> {
    match answer.len() {
        8 | 16 | 24 | 32 | 40 => wide(answer, most),
        4 | 12 | 20 => narrow(answer, most),
        _ => None,
    }
}

/// Reads the first `most` numbers of an answer of i64.
fn wide(answer: &[u8], most: usize) -> Option<Vec<i64>> {
    let (ids, rest) = answer.as_chunks::<8>();
    let is_whole = rest.is_empty() && !ids.is_empty();
    is_whole.then(|| ids.iter().take(most).map(|bytes| i64::from_le_bytes(*bytes)).collect())
}

/// Reads the first `most` numbers of an answer of i32.
fn narrow(answer: &[u8], most: usize) -> Option<Vec<i64>> {
    let (ids, rest) = answer.as_chunks::<4>();
    let is_whole = rest.is_empty() && !ids.is_empty();
    is_whole.then(|| ids.iter().take(most).map(|bytes| i64::from(i32::from_le_bytes(*bytes))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(dtype: DType, dims: &[Option<u32>]) -> Rows {
        let spec = TensorSpec::new("y [f32] , z", dtype, dims.to_vec());
        let signature = Signature::new(vec![spec]);
        let rows = Rows::of(&signature).unwrap();
        assert_eq!(Rows::from_text(&signature.to_string()), Some(rows), "{signature}");
        rows
    }

    #[test]
    fn five_i64_are_not_ten_f32() {
        let answer: Vec<u8> = [7i64, 1, 2, 3, 4].iter().flat_map(|id| id.to_le_bytes()).collect();
        assert_eq!(rows(DType::I64, &[None, Some(5)]).classes(&answer, 5, Some(10)), Some(vec![7, 1, 2, 3, 4]));
        assert_eq!(rows(DType::I64, &[None, None]).classes(&answer, 1, Some(10)), Some(vec![7]));
        assert_eq!(rows(DType::F32, &[None, Some(10)]).classes(&answer, 1, Some(10)).map(|top| top.len()), Some(1));
        assert_eq!(rows(DType::I64, &[None, Some(4)]).classes(&answer, 5, Some(10)), None);
        assert_eq!(rows(DType::U8, &[None, Some(40)]).classes(&answer, 5, Some(10)), None);
        // A class without a size of its own.
        assert_eq!(rows(DType::I64, &[None]).classes(&answer[..8], 5, Some(10)), Some(vec![7]));
    }

    #[test]
    fn the_first_of_several_outputs_is_scored() {
        let spec = |dtype, dims: &[Option<u32>]| TensorSpec::new("y", dtype, dims.to_vec());
        let both = Signature::new(vec![spec(DType::I64, &[None]), spec(DType::F32, &[None, Some(2)])]);
        let rows = Rows::of(&both).unwrap();
        assert_eq!(Rows::from_text(&both.to_string()), Some(rows));
        let answer = [&3i64.to_le_bytes()[..], &[0; 8]].concat();
        assert_eq!(rows.classes(&answer, 5, Some(4)), Some(vec![3]));
        assert!(Rows::of(&Signature::default()).is_none() && Rows::from_text("").is_none());
    }
}
