//! The types by which the official scripts read an answer.

use std::str::FromStr;

use lon_proto::sample::DType;

use super::check::AuditCheck;

/// A type of `--dtype` of TEST01 and TEST06.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelType {
    /// Integers of one byte.
    Byte,
    /// Integers of 16 bits.
    Int16,
    /// Integers of 32 bits.
    Int32,
    /// Integers of 64 bits.
    Int64,
    /// Floats of 32 bits.
    Float32,
}

impl LabelType {
    const ALL: [(&'static str, LabelType); 5] = [
        ("byte", LabelType::Byte),
        ("int16", LabelType::Int16),
        ("int32", LabelType::Int32),
        ("int64", LabelType::Int64),
        ("float32", LabelType::Float32),
    ];

    /// The type for answers of a model with this first output; none where the scripts have no such type.
    pub fn of(dtype: DType) -> Option<LabelType> {
        match dtype {
            DType::F32 => Some(LabelType::Float32),
            DType::I16 => Some(LabelType::Int16),
            DType::I32 => Some(LabelType::Int32),
            DType::I64 => Some(LabelType::Int64),
            DType::I8 | DType::U8 => Some(LabelType::Byte),
            _ => None,
        }
    }

    /// Its name in the scripts.
    pub fn name(self) -> &'static str {
        LabelType::ALL.iter().find(|(_, label)| *label == self).map_or("byte", |(name, _)| name)
    }

    /// The bytes of one element.
    pub(super) fn size(self) -> usize {
        match self {
            LabelType::Byte => 1,
            LabelType::Int16 => 2,
            LabelType::Int32 | LabelType::Float32 => 4,
            LabelType::Int64 => 8,
        }
    }

    /// The elements of an answer; none when it is not a whole number of them, which ends the scripts.
    pub(super) fn elements(self, answer: &[u8]) -> Option<Vec<Element>> {
        let size = self.size();
        let whole = answer.len().is_multiple_of(size);
        whole.then(|| answer.chunks_exact(size).map(|bytes| self.element(bytes)).collect())
    }

    /// The first element of an answer; the outer value is none when it is not a whole number of elements.
    pub(super) fn first(self, answer: &[u8]) -> Option<Option<Element>> {
        let whole = answer.len().is_multiple_of(self.size());
        whole.then(|| answer.get(..self.size()).map(|bytes| self.element(bytes)))
    }

    fn element(self, bytes: &[u8]) -> Element {
        let mut wide = [0; 8];
        wide[..bytes.len()].copy_from_slice(bytes);
        let unsigned = u64::from_le_bytes(wide);
        if self == LabelType::Float32 {
            return Element::Float(f32::from_bits(unsigned as u32));
        }
        let shift = 64 - 8 * bytes.len() as u32;
        Element::Whole((unsigned << shift).cast_signed() >> shift)
    }
}

impl FromStr for LabelType {
    type Err = String;

    fn from_str(text: &str) -> Result<LabelType, String> {
        let entry = LabelType::ALL.iter().find(|(name, _)| *name == text);
        entry.map(|(_, label)| *label).ok_or_else(|| "byte, int16, int32, int64 or float32".to_owned())
    }
}

/// The row on the type of tokens: that of the model's signature, where it is known.
pub(super) fn type_row(label: LabelType, model_label: Option<LabelType>, signature: Option<String>) -> AuditCheck {
    let name = "type of the tokens";
    match (model_label, signature) {
        (Some(model_label), Some(signature)) => AuditCheck::ours(name, model_label == label, signature, label.name()),
        (_, signature) => {
            AuditCheck::unchecked(name, signature.unwrap_or_else(|| "that of the model".to_owned()), label.name())
        }
    }
}

/// An element of an answer. Floats are compared as numbers, as the scripts do: a NaN is equal to nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Element {
    /// An integer of any size.
    Whole(i64),
    /// A float of 32 bits.
    Float(f32),
}

impl Element {
    /// Returns true when this element is this integer.
    pub(super) fn is(self, number: i64) -> bool {
        match self {
            Element::Whole(own) => own == number,
            Element::Float(own) => f64::from(own) == number as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_little_endian_and_signed() {
        assert_eq!(LabelType::Int16.elements(&[0xff, 0xff, 2, 1]), Some(vec![Element::Whole(-1), Element::Whole(258)]));
        assert_eq!(LabelType::Int64.first(&[7, 0, 0, 0, 0, 0, 0, 0]), Some(Some(Element::Whole(7))));
        assert_eq!(LabelType::Float32.first(&1.5f32.to_le_bytes()), Some(Some(Element::Float(1.5))));
        assert_eq!(LabelType::Byte.first(&[]), Some(None));
        assert_eq!(LabelType::Int32.first(&[1, 2, 3]), None);
    }

    #[test]
    fn a_nan_equals_nothing_and_zeros_are_equal() {
        let first = |number: f32| LabelType::Float32.first(&number.to_le_bytes());
        assert_ne!(first(f32::NAN), first(f32::NAN));
        assert_eq!(first(0.0), first(-0.0));
    }

    #[test]
    fn names_lead_back() {
        for (name, label) in LabelType::ALL {
            assert_eq!((name.parse(), label.name()), (Ok(label), name));
        }
    }
}
