//! The elements of an answer, whatever their type: what every scorer reads.

use half::{bf16, f16};
use lon_proto::sample::DType;

/// The elements of an answer, all of one type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Elements<'a> {
    dtype: DType,
    bytes: &'a [u8],
}

/// One element. Elements of one type are of one kind, so that they can be compared. Whole numbers are not rounded.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(super) enum Number {
    Float(f64),
    Whole(i64),
    Natural(u64),
}

/// The kinds of types that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Floats,
    WholeNumbers,
}

/// Returns the kind of a type; none: answers of this type are not read.
pub(super) fn kind(dtype: DType) -> Option<Kind> {
    match dtype {
        DType::F16 | DType::Bf16 | DType::F32 | DType::F64 => Some(Kind::Floats),
        DType::I8 | DType::I16 | DType::I32 | DType::I64 => Some(Kind::WholeNumbers),
        DType::U8 | DType::U16 | DType::U32 | DType::U64 | DType::Bool => Some(Kind::WholeNumbers),
        DType::F8E4M3 | DType::F8E5M2 | DType::U4 | DType::I4 => None,
    }
}

impl<'a> Elements<'a> {
    /// Takes bytes for elements of this type. None when some bytes are left, or the type is not read.
    pub(super) fn new(dtype: DType, bytes: &'a [u8]) -> Option<Elements<'a>> {
        let is_whole = kind(dtype).is_some() && bytes.len().is_multiple_of(dtype.size());
        is_whole.then_some(Elements { dtype, bytes })
    }

    /// Returns the bytes as they are.
    pub(super) fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the elements in their order.
    pub(super) fn iter(self) -> impl ExactSizeIterator<Item = Number> {
        self.bytes.chunks_exact(self.dtype.size()).map(move |bytes| Number::read(self.dtype, bytes))
    }

    /// Returns the elements as classes, or as token ids; see [`Number::class`].
    pub(super) fn classes(self) -> impl ExactSizeIterator<Item = i64> {
        self.iter().map(Number::class)
    }

    /// Returns the elements as floats.
    pub(super) fn floats(self) -> impl ExactSizeIterator<Item = f64> {
        self.iter().map(Number::float)
    }
}

impl Number {
    /// Reads one element. Its bytes are as many as its type has.
    fn read(dtype: DType, bytes: &[u8]) -> Number {
        match dtype {
            DType::F16 => Number::Float(f16::from_le_bytes(array(bytes)).into()),
            DType::Bf16 => Number::Float(bf16::from_le_bytes(array(bytes)).into()),
            DType::F32 => Number::Float(f32::from_le_bytes(array(bytes)).into()),
            DType::F64 => Number::Float(f64::from_le_bytes(array(bytes))),
            DType::I8 => Number::Whole(i8::from_le_bytes(array(bytes)).into()),
            DType::I16 => Number::Whole(i16::from_le_bytes(array(bytes)).into()),
            DType::I32 => Number::Whole(i32::from_le_bytes(array(bytes)).into()),
            DType::I64 => Number::Whole(i64::from_le_bytes(array(bytes))),
            DType::U16 => Number::Whole(u16::from_le_bytes(array(bytes)).into()),
            DType::U32 => Number::Whole(u32::from_le_bytes(array(bytes)).into()),
            DType::U64 => Number::Natural(u64::from_le_bytes(array(bytes))),
            DType::Bool => Number::Whole(i64::from(array::<1>(bytes) != [0])),
            DType::U8 | DType::F8E4M3 | DType::F8E5M2 | DType::U4 | DType::I4 => {
                Number::Whole(u8::from_le_bytes(array(bytes)).into())
            }
        }
    }

    /// Returns it as the number of a class. -1, which no class has, when it cannot be one.
    fn class(self) -> i64 {
        match self {
            Number::Whole(number) => number,
            Number::Natural(number) => i64::try_from(number).unwrap_or(-1),
            Number::Float(_) => -1,
        }
    }

    fn float(self) -> f64 {
        match self {
            Number::Float(number) => number,
            Number::Whole(number) => number as f64,
            Number::Natural(number) => number as f64,
        }
    }

    pub(super) fn is_nan(self) -> bool {
        matches!(self, Number::Float(number) if number.is_nan())
    }
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.first_chunk().copied().unwrap_or([0; N])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_read_as_what_it_is() {
        let one = |dtype, bytes: &[u8]| Elements::new(dtype, bytes).unwrap().iter().next().unwrap();
        for (dtype, bytes, number) in [
            (DType::F16, &f16::from_f32(-1.5).to_le_bytes()[..], Number::Float(-1.5)),
            (DType::Bf16, &bf16::from_f32(-1.5).to_le_bytes(), Number::Float(-1.5)),
            (DType::F32, &(-1.5f32).to_le_bytes(), Number::Float(-1.5)),
            (DType::F64, &0.1f64.to_le_bytes(), Number::Float(0.1)),
            (DType::I8, &[0xfe], Number::Whole(-2)),
            (DType::I16, &(-300i16).to_le_bytes(), Number::Whole(-300)),
            (DType::I32, &i32::MIN.to_le_bytes(), Number::Whole(i32::MIN.into())),
            (DType::I64, &i64::MAX.to_le_bytes(), Number::Whole(i64::MAX)),
            (DType::U8, &[0xfe], Number::Whole(254)),
            (DType::U16, &60_000u16.to_le_bytes(), Number::Whole(60_000)),
            (DType::U32, &u32::MAX.to_le_bytes(), Number::Whole(u32::MAX.into())),
            (DType::U64, &u64::MAX.to_le_bytes(), Number::Natural(u64::MAX)),
            (DType::Bool, &[2], Number::Whole(1)),
        ] {
            assert_eq!((one(dtype, bytes), bytes.len()), (number, dtype.size()), "{dtype}");
        }
        for dtype in DType::ALL.iter().filter(|dtype| kind(**dtype).is_none()) {
            assert!(Elements::new(*dtype, &[0]).is_none(), "{dtype}");
        }
        assert!(Elements::new(DType::I32, &[0; 7]).is_none());
    }

    #[test]
    fn whole_numbers_are_not_rounded_when_they_are_compared() {
        assert!(Number::Whole(i64::MAX - 1) < Number::Whole(i64::MAX));
        assert!(Number::Natural(u64::MAX - 1) < Number::Natural(u64::MAX));
        assert!(Number::Natural(u64::MAX).class() == -1 && Number::Float(1.0).class() == -1);
    }
}
