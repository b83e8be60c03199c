//! Element types: their names, codes and sizes, in one table.

use std::fmt;
use std::str::FromStr;

macro_rules! dtypes {
    ($($(#[$doc:meta])* $variant:ident = $code:literal, $name:literal, $size:literal;)*) => {
        /// The type of a tensor's elements.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum DType {
            $($(#[$doc])* $variant = $code,)*
        }

        impl DType {
            /// All types of elements.
            pub const ALL: &[DType] = &[$(DType::$variant),*];

            /// Number of bytes of one element.
            pub const fn size(self) -> usize {
                match self { $(DType::$variant => $size,)* }
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
    F32 = 1, "f32", 4;
    /// An unsigned integer of 8 bits.
    U8 = 2, "u8", 1;
    /// A signed integer of 8 bits.
    I8 = 3, "i8", 1;
    /// An unsigned integer of 16 bits.
    U16 = 4, "u16", 2;
    /// A signed integer of 16 bits.
    I16 = 5, "i16", 2;
    /// A signed integer of 32 bits.
    I32 = 6, "i32", 4;
    /// A signed integer of 64 bits.
    I64 = 7, "i64", 8;
    /// One byte: 0 is false, all else is true.
    Bool = 9, "bool", 1;
    /// IEEE half precision.
    F16 = 10, "f16", 2;
    /// A floating-point number of 64 bits.
    F64 = 11, "f64", 8;
    /// An unsigned integer of 32 bits.
    U32 = 12, "u32", 4;
    /// An unsigned integer of 64 bits.
    U64 = 13, "u64", 8;
}

impl DType {
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
#[error("'{0}' is not an element type (known: {known})", known = known_dtypes())]
pub struct UnknownDType(pub String);

fn known_dtypes() -> String {
    DType::ALL.iter().map(|dtype| dtype.name()).collect::<Vec<_>>().join(", ")
}

impl FromStr for DType {
    type Err = UnknownDType;

    fn from_str(text: &str) -> Result<DType, UnknownDType> {
        let known = DType::ALL.iter().find(|dtype| dtype.name() == text);
        known.copied().ok_or_else(|| UnknownDType(text.to_owned()))
    }
}
