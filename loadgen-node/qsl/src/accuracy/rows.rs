//! The layout of answers, as the SUT's outputs give it. It is made from the signature, before a run, and every scorer
//! reads answers by it. Answers that name classes are rows of scores, or the classes themselves.

use std::fmt;

use lon_proto::sample::{DType, Signature, TensorSpec};

use super::elements::{self, Elements, Kind, Number};
use super::logits::Layout;

/// The layout of a model's answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// The type of the first output.
    dtype: DType,
    /// The number of elements of the first output for one sample, when all sizes are fixed.
    elements: Option<u64>,
    /// The bytes of the outputs behind the first; none when a size of theirs is free or not known.
    behind: Option<u64>,
    /// The layout of start and end logits, when the outputs are such.
    logits: Option<Layout>,
}

/// The meaning of the elements of an answer that names classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Naming {
    /// A score for each class.
    Scores,
    /// Classes, the likeliest first.
    Classes,
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
        let (mut specs, mut tail) = (Vec::new(), outputs);
        while let Some((spec, behind)) = first_spec(tail) {
            specs.push(spec);
            tail = behind.trim_start_matches([',', ' ']);
        }
        let rows = Rows::of_specs(&specs)?;
        // A part that cannot be read is an output all the same.
        let is_whole = tail.is_empty();
        let (behind, logits) = (rows.behind.filter(|_| is_whole), rows.logits.filter(|_| is_whole));
        Some(Rows { behind, logits, ..rows })
    }

    fn of_specs(outputs: &[TensorSpec]) -> Option<Rows> {
        let (first, others) = outputs.split_first()?;
        let add = |sum: u64, other: &TensorSpec| sum.checked_add(other.dtype.bytes_of(elements_of(other)?)?);
        let behind = others.iter().try_fold(0, add);
        Some(Rows { dtype: first.dtype, elements: elements_of(first), behind, logits: Layout::of(outputs) })
    }

    /// Returns the layout of answers of which no more is known than that they are of this type.
    pub(super) fn untold(dtype: DType) -> Rows {
        Rows { dtype, elements: None, behind: Some(0), logits: None }
    }

    /// Returns the type of the first output.
    pub fn dtype(self) -> DType {
        self.dtype
    }

    /// Returns the kind of the type of the first output; none when answers of this type are not read.
    pub(super) fn kind(self) -> Option<Kind> {
        elements::kind(self.dtype)
    }

    /// Returns the number of elements of the first output for one sample, when it is fixed.
    pub(super) fn count(self) -> Option<u64> {
        self.elements
    }

    /// Tells whether other outputs follow the first.
    pub(super) fn is_first_of_many(self) -> bool {
        self.behind != Some(0)
    }

    /// Tells whether it is known where in an answer the first output ends.
    pub(super) fn has_end(self) -> bool {
        self.elements.is_some() || self.behind.is_some()
    }

    /// Returns the layout of start and end logits, when the outputs are such.
    pub(super) fn logits(self) -> Option<Layout> {
        self.logits
    }

    /// Returns the elements of the first output in an answer. None when the answer does not have this layout.
    pub(super) fn elements(self, answer: &[u8]) -> Option<Elements<'_>> {
        let all = answer.len() as u64;
        let own = match (self.elements, self.behind) {
            (Some(elements), behind) => {
                let own = self.dtype.bytes_of(elements)?;
                let is_all = behind.is_none_or(|behind| own.checked_add(behind) == Some(all));
                Some(own).filter(|_| is_all)?
            }
            (None, behind) => all.checked_sub(behind?)?,
        };
        Elements::new(self.dtype, answer.get(..usize::try_from(own).ok()?)?)
    }

    /// Returns what so many elements of this type are, when there are `class_count` classes; none when they name no
    /// classes. Of whole numbers as many as there are classes are their scores, and fewer are classes.
    pub(super) fn naming(self, count: u64, class_count: Option<usize>) -> Option<Naming> {
        let class_count = class_count.map(|classes| classes as u64);
        match self.kind()? {
            Kind::Floats => class_count.is_none_or(|classes| count == classes).then_some(Naming::Scores),
            Kind::WholeNumbers if count == 1 => Some(Naming::Classes),
            Kind::WholeNumbers if Some(count) == class_count => Some(Naming::Scores),
            Kind::WholeNumbers => class_count.is_none_or(|classes| count < classes).then_some(Naming::Classes),
        }
    }

    /// Returns the first `most` classes that an answer names; `class_count` is the number of classes, when it is known.
    /// Returns `None` for an answer of another layout.
    pub(super) fn classes(self, answer: &[u8], most: usize, class_count: Option<usize>) -> Option<Vec<i64>> {
        let elements = self.elements(answer).filter(|elements| elements.iter().len() > 0)?;
        match self.naming(elements.iter().len() as u64, class_count)? {
            Naming::Scores => Some(largest(elements.iter(), most)),
            Naming::Classes => Some(elements.classes().take(most).collect()),
        }
    }

    /// Tells whether an answer of whole numbers that are read as scores has each class once, as all classes in order
    /// have.
    pub(super) fn may_be_in_order(self, answer: &[u8], class_count: Option<usize>) -> bool {
        let Some(elements) = self.elements(answer).filter(|_| self.kind() == Some(Kind::WholeNumbers)) else {
            return false;
        };
        let mut classes: Vec<i64> = elements.classes().collect();
        classes.sort_unstable();
        let is_scores = self.naming(classes.len() as u64, class_count) == Some(Naming::Scores);
        is_scores && classes.into_iter().eq(0..elements.iter().len() as i64)
    }
}

/// Returns the number of elements of an output for one sample, when all sizes are fixed.
fn elements_of(output: &TensorSpec) -> Option<u64> {
    output.own_dims().iter().try_fold(1u64, |product, dim| product.checked_mul(u64::from((*dim)?)))
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

/// Returns the layout of an answer when the SUT does not say it; `class_count` is the number of classes. It is a row of
/// f32, or 1 to 5 classes of i64 when the length allows it, else of i32, or one class of a byte.
pub(super) fn guessed(answer: &[u8], class_count: Option<usize>) -> Option<Rows> {
    let dtype = match answer.len() {
        bytes if class_count.is_none_or(|classes| bytes == 4 * classes) => DType::F32,
        8 | 16 | 24 | 32 | 40 => DType::I64,
        4 | 12 | 20 => DType::I32,
        1 => DType::U8,
        _ => return None,
    };
    Some(Rows::untold(dtype))
}

/// Returns the places of the `most` largest numbers, the largest first; of equal ones the first comes first. Empty when
/// one of them is a NaN.
fn largest(values: impl Iterator<Item = Number>, most: usize) -> Vec<i64> {
    let mut best: Vec<(Number, i64)> = Vec::with_capacity(most + 1);
    for (value, place) in values.zip(0..) {
        if value.is_nan() {
            return Vec::new();
        }
        let before = best.partition_point(|(other, _)| *other >= value);
        if before < most {
            best.insert(before, (value, place));
            best.truncate(most);
        }
    }
    best.into_iter().map(|(_, place)| place).collect()
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
        // As many whole numbers as there are classes are scores.
        assert_eq!(rows(DType::I64, &[None, Some(5)]).classes(&answer, 2, Some(5)), Some(vec![0, 4]));
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
        // The outputs behind the first give the place where it ends, unless both are free.
        let free = Signature::new(vec![spec(DType::F32, &[None, None]), spec(DType::I64, &[None, Some(1)])]);
        let answer = [&1f32.to_le_bytes()[..], &2f32.to_le_bytes(), &[0; 8]].concat();
        assert_eq!(Rows::of(&free).unwrap().classes(&answer, 1, None), Some(vec![1]));
        let endless = Signature::new(vec![spec(DType::F32, &[None, None]), spec(DType::F32, &[None, None])]);
        assert_eq!(Rows::of(&endless).unwrap().classes(&answer, 1, None), None);
        assert!(Rows::of(&Signature::default()).is_none() && Rows::from_text("").is_none());
    }
}
