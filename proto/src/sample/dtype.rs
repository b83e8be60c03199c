//! Element types: their names, codes and sizes, in one table.

use std::fmt;
use std::str::FromStr;

macro_rules! dtypes {
    ($($(#[$doc:meta])* $variant:ident = $code:literal, $name:literal, $bits:literal;)*) => {
        /// The type of a tensor's elements.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum DType {
            $($(#[$doc])* $variant = $code,)*
        }

        impl DType {
            /// All types of elements.
            pub const ALL: &[DType] = &[$(DType::$variant),*];

            /// Number of bits of one element.
            pub const fn bits(self) -> u32 {
                match self { $(DType::$variant => $bits,)* }
            }

            /// The name used in texts, files and on command lines.
            pub const fn name(self) -> &'static str {
                match self { $(DType::$variant => $name,)* }
            }

            /// The type with this code, if there is one.
            pub const fn from_code(code: u8) -> Option<DType> {
                match code { $($code => Some(DType::$variant),)* _ => None }
            }
        }
    };
}

dtypes! {
    /// A floating-point number of 32 bits.
    F32 = 1, "f32", 32;
    /// An unsigned integer of 8 bits.
    U8 = 2, "u8", 8;
    /// A signed integer of 8 bits.
    I8 = 3, "i8", 8;
    /// An unsigned integer of 16 bits.
    U16 = 4, "u16", 16;
    /// A signed integer of 16 bits.
    I16 = 5, "i16", 16;
    /// A signed integer of 32 bits.
    I32 = 6, "i32", 32;
    /// A signed integer of 64 bits.
    I64 = 7, "i64", 64;
    /// One byte: 0 is false, all else is true.
    Bool = 9, "bool", 8;
    /// IEEE half precision.
    F16 = 10, "f16", 16;
    /// A floating-point number of 64 bits.
    F64 = 11, "f64", 64;
    /// An unsigned integer of 32 bits.
    U32 = 12, "u32", 32;
    /// An unsigned integer of 64 bits.
    U64 = 13, "u64", 64;
    /// The upper half of an f32.
    Bf16 = 16, "bf16", 16;
    /// 4 bits of exponent and 3 of mantissa, without infinities (ONNX's FLOAT8E4M3FN).
    F8E4M3 = 17, "f8e4m3", 8;
    /// 5 bits of exponent and 2 of mantissa (ONNX's FLOAT8E5M2).
    F8E5M2 = 19, "f8e5m2", 8;
    /// An unsigned integer of 4 bits, two in a byte.
    U4 = 21, "u4", 4;
    /// A signed integer of 4 bits, two in a byte.
    I4 = 22, "i4", 4;
}

impl DType {
    /// The least bytes that hold whole elements: those of one element, and 1 for the types of 4 bits, of which two
    /// share a byte.
    pub const fn size(self) -> usize {
        self.bits().div_ceil(8) as usize
    }

    /// The bytes of so many elements; none when a 64-bit number cannot hold that. Elements of 4 bits are packed as ONNX
    /// packs them: the first of two in the low bits; after an odd number the high bits of the last byte are unused.
    pub const fn bytes_of(self, elements: u64) -> Option<u64> {
        match self.bits() {
            4 => Some(elements.div_ceil(2)),
            bits => elements.checked_mul(bits as u64 / 8),
        }
    }

    /// The byte that stands for this type in a sample: the number that ONNX gives it (`TensorProto.DataType`), so
    /// that there is no second numbering to learn.
    pub const fn code(self) -> u8 {
        self as u8
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The error for a text that is not the name of a [`DType`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not an element type (known: {names})", names = known_dtypes())]
pub struct UnknownDType(pub String);

fn known_dtypes() -> String {
    DType::ALL.iter().map(|dtype| dtype.name()).collect::<Vec<_>>().join(", ")
}

impl FromStr for DType {
    type Err = UnknownDType;

    fn from_str(text: &str) -> Result<DType, UnknownDType> {
        let entry = DType::ALL.iter().find(|dtype| dtype.name() == text);
        entry.copied().ok_or_else(|| UnknownDType(text.to_owned()))
    }
}
