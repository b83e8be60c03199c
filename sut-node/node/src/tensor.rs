//! The tensors of a sample, as backends see them. Their layout belongs to the wire contract. Backends know it under
//! this name alone, so that they know nothing else of the contract.

pub use lon_proto::sample::{
    DType, Dims, Mismatch, SampleError, Signature, Tensor, TensorSpec, UnknownDType, decode, encode,
};
