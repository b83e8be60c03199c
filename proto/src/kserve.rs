//! The Open Inference Protocol (KServe V2): its messages, and its names for element types.
//!
//! It is for servers that are not SUT nodes. Nothing here is part of `lon.v1`.

use crate::sample::DType;

/// The messages and calls of the protocol, generated from `kserve/inference.proto`.
#[allow(missing_docs, unreachable_pub, clippy::all, clippy::pedantic, clippy::semicolon_if_nothing_returned)]
pub mod v2 {
    include!("gen/inference.rs");
}

/// The path of the call that carries samples.
pub const INFER_PATH: &str = "/inference.GRPCInferenceService/ModelInfer";

/// The type of texts and blobs: each element is its length (u32, little-endian) and its bytes.
pub const BYTES: &str = "BYTES";

/// The protocol's name for an element type; none for those that it does not have.
pub const fn datatype(dtype: DType) -> Option<&'static str> {
    Some(match dtype {
        DType::F32 => "FP32",
        DType::U8 => "UINT8",
        DType::I8 => "INT8",
        DType::U16 => "UINT16",
        DType::I16 => "INT16",
        DType::I32 => "INT32",
        DType::I64 => "INT64",
        DType::Bool => "BOOL",
        DType::F16 => "FP16",
        DType::F64 => "FP64",
        DType::U32 => "UINT32",
        DType::U64 => "UINT64",
        DType::Bf16 => "BF16",
        DType::F8E4M3 | DType::F8E5M2 | DType::U4 | DType::I4 => return None,
    })
}

/// The element type of this name; none for [`BYTES`] and other names, which samples cannot have.
pub fn dtype(name: &str) -> Option<DType> {
    DType::ALL.iter().copied().find(|dtype| datatype(*dtype) == Some(name))
}

/// Number of bytes of one element; none when elements differ in size, or the name is not known.
pub fn element_bytes(name: &str) -> Option<usize> {
    dtype(name).map(DType::size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_types_and_back() {
        for &own in DType::ALL {
            let Some(name) = datatype(own) else { continue };
            assert_eq!((dtype(name), element_bytes(name)), (Some(own), Some(own.size())));
        }
        assert_eq!((dtype(BYTES), datatype(DType::I4), datatype(DType::Bf16)), (None, None, Some("BF16")));
        assert_eq!((dtype("f32"), element_bytes(BYTES)), (None, None));
    }
}
