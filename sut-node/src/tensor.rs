//! What a backend sees of a sample: its tensors. The layout itself belongs to the wire contract; backends know it
//! under this name only, so that they know nothing else of the wire.

pub use lon_proto::sample::{
    DType, Dims, Mismatch, SampleError, Signature, Tensor, TensorSpec, UnknownDType, decode, encode,
};
