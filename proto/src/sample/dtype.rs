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
            /// Every type there is.
            pub const ALL: &[DType] = &[$(DType::$variant),*];

            /// Bytes of one element.
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
    /// `f32`
    F32 = 1, "f32", 4;
    /// `u8`
    U8 = 2, "u8", 1;
    /// `i8`
    I8 = 3, "i8", 1;
    /// `u16`
    U16 = 4, "u16", 2;
    /// `i16`
    I16 = 5, "i16", 2;
    /// `i32`
    I32 = 6, "i32", 4;
    /// `i64`
    I64 = 7, "i64", 8;
    /// One byte: 0 is false, all else is true.
    Bool = 9, "bool", 1;
    /// IEEE half precision.
    F16 = 10, "f16", 2;
    /// `f64`
    F64 = 11, "f64", 8;
    /// `u32`
    U32 = 12, "u32", 4;
    /// `u64`
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

/// A text that names no [`DType`].
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
