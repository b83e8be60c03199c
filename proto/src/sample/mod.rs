//! The layout of one sample: its tensors, each with type and shape, ready to be read without a copy.
//!
//! The LoadGen node writes a sample once, before any clock starts; the SUT node reads it. Everything between them moves
//! it as opaque bytes. A codec, if there is one, compresses the whole sample.
//!
//! # Bytes
//!
//! All integers are little-endian. No magic and no version: both are the wire contract's (`lon.v1`).
//!
//! | bytes | what |
//! |---|---|
//! | 1 | number of tensors `T`, 1 to [`MAX_TENSORS`] |
//! | for each of the `T` tensors: | |
//! | 1 | element type, see [`DType::code`] |
//! | 1 | rank `R`, 0 (a scalar) to [`MAX_RANK`] |
//! | 4 `R` | dimensions, u32 each, outermost first; 0 is a dimension like any other (a tensor without elements) |
//! | then for each of the `T` tensors: | |
//! | 0 to 7 | zeros, up to the next multiple of [`DATA_ALIGNMENT`] from the start of the sample |
//! | product of dimensions x element size | elements, row-major, little-endian |
//!
//! Nothing follows the last element. The data of every tensor starts at a multiple of [`DATA_ALIGNMENT`], so it can be
//! viewed in place when the sample itself lies aligned in memory (the layout cannot promise the latter). The same
//! tensors always give the same bytes, and bytes that break any of this are refused with a [`SampleError`].
//!
//! One image of a digit, `u8[1,8,8]`, is 80 bytes:
//!
//! ```text
//! 01                                one tensor
//! 02 03  01000000 08000000 08000000 u8, rank 3, dimensions 1, 8, 8
//! 00                                padding from 15 to 16
//! 64 bytes of pixels
//! ```
//!
//! - `dtype`: the types of elements ([`DType`]);
//! - `role`: what an input is for where texts are token ids ([`Role`]);
//! - `signature`: which tensors a model takes, and whether a sample has them ([`Signature`]).

use std::fmt;
use std::ops::{Deref, Range};

use bytes::{BufMut as _, Bytes, BytesMut};

mod dtype;
mod role;
mod signature;

pub use dtype::{DType, UnknownDType};
pub use role::Role;
pub use signature::{Mismatch, Signature, SpecError, TensorSpec, fit, remedy};

/// The most tensors that one sample may have.
pub const MAX_TENSORS: usize = 64;

/// The most dimensions that one tensor may have.
pub const MAX_RANK: usize = 8;

/// The data of each tensor starts at a multiple of this many bytes from the start of the sample.
pub const DATA_ALIGNMENT: usize = 8;

/// A tensor's dimensions, outermost first; kept in place, since every sample that is read has some.
#[derive(Clone, Copy)]
pub struct Dims {
    rank: u8,
    dims: [u32; MAX_RANK],
}

impl Dims {
    /// These dimensions; none when there are more than [`MAX_RANK`].
    pub fn new(dims: &[u32]) -> Option<Dims> {
        let mut all = [0; MAX_RANK];
        all.get_mut(..dims.len())?.copy_from_slice(dims);
        Some(Dims { rank: dims.len() as u8, dims: all })
    }

    /// The product of the dimensions; none when a 64-bit number cannot hold it.
    pub fn elements(&self) -> Option<u64> {
        self.iter().try_fold(1u64, |product, &dim| product.checked_mul(u64::from(dim)))
    }
}

impl Deref for Dims {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        &self.dims[..usize::from(self.rank)]
    }
}

impl PartialEq for Dims {
    fn eq(&self, other: &Dims) -> bool {
        **self == **other
    }
}

impl Eq for Dims {}

impl std::hash::Hash for Dims {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl fmt::Debug for Dims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl fmt::Display for Dims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_dims(f, self.iter())
    }
}

fn write_dims(f: &mut fmt::Formatter<'_>, dims: impl Iterator<Item = impl fmt::Display>) -> fmt::Result {
    f.write_str("[")?;
    for (i, dim) in dims.enumerate() {
        write!(f, "{}{dim}", if i == 0 { "" } else { "," })?;
    }
    f.write_str("]")
}

/// One tensor of a sample. Its data has exactly the bytes that type and dimensions ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    dtype: DType,
    dims: Dims,
    data: Bytes,
}

impl Tensor {
    /// A tensor over row-major little-endian `data`.
    ///
    /// # Errors
    /// More than [`MAX_RANK`] dimensions, or `data` is not as long as type and dimensions ask for.
    pub fn new(dtype: DType, dims: &[u32], data: Bytes) -> Result<Tensor, SampleError> {
        let rank = dims.len();
        let dims = Dims::new(dims).ok_or(SampleError::Rank { tensor: 0, rank })?;
        let needed = data_len(dtype, &dims).ok_or(SampleError::Overflow { tensor: 0, dtype, dims })?;
        if needed != data.len() as u64 {
            return Err(SampleError::DataLength { dtype, dims, needed, len: data.len() as u64 });
        }
        Ok(Tensor { dtype, dims, data })
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The dimensions, outermost first.
    pub fn dims(&self) -> &Dims {
        &self.dims
    }

    /// The bytes of the elements, row-major, little-endian.
    pub fn data(&self) -> &Bytes {
        &self.data
    }
}

/// Type and dimensions: `u8[1,8,8]`.
impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.dtype, self.dims)
    }
}

fn data_len(dtype: DType, dims: &Dims) -> Option<u64> {
    dtype.bytes_of(dims.elements()?)
}

/// The error for bytes that are not a sample, or tensors that cannot be one. Tensors are counted from 0.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SampleError {
    /// The number of tensors is not 1 to [`MAX_TENSORS`].
    #[error("{0} tensors; a sample has 1 to {MAX_TENSORS}")]
    TensorCount(usize),
    /// A tensor has a type code that is not defined.
    #[error("tensor {tensor} has element type code {code}, which means nothing")]
    DTypeCode {
        /// The number of the tensor.
        tensor: usize,
        /// The code that stands there.
        code: u8,
    },
    /// A tensor has more than [`MAX_RANK`] dimensions.
    #[error("tensor {tensor} has {rank} dimensions; {MAX_RANK} are allowed")]
    Rank {
        /// The number of the tensor.
        tensor: usize,
        /// The number of its dimensions.
        rank: usize,
    },
    /// A tensor would have more bytes than a 64-bit number can count.
    #[error("tensor {tensor} is said to be {dtype}{dims}, more than any memory holds")]
    Overflow {
        /// The number of the tensor.
        tensor: usize,
        /// The type of its elements.
        dtype: DType,
        /// The dimensions that are stated.
        dims: Dims,
    },
    /// The bytes end too early.
    #[error("the sample ends after {len} bytes, inside {part}, which needs {needed}")]
    Truncated {
        /// Where the end was met.
        part: SamplePart,
        /// Bytes up to the end of that part.
        needed: u64,
        /// Number of bytes that there are.
        len: usize,
    },
    /// A padding byte is not zero.
    #[error("byte {at} is padding and not zero")]
    Padding {
        /// Position from the start of the sample.
        at: usize,
    },
    /// Bytes follow the last tensor.
    #[error("{0} bytes follow the last tensor")]
    Trailing(usize),
    /// The data of a tensor do not have the length that its type and dimensions ask for.
    #[error("{dtype}{dims} has {needed} bytes of data, not {len}")]
    DataLength {
        /// The type of the elements.
        dtype: DType,
        /// The dimensions of the tensor.
        dims: Dims,
        /// Number of bytes that type and dimensions ask for.
        needed: u64,
        /// Number of bytes that there are.
        len: u64,
    },
}

/// A part of a sample's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SamplePart {
    /// The number of tensors, or type and shape of one.
    Header,
    /// The data of this tensor, or the padding before it.
    Data(usize),
}

impl fmt::Display for SamplePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SamplePart::Header => f.write_str("the header"),
            SamplePart::Data(tensor) => write!(f, "the data of tensor {tensor}"),
        }
    }
}

/// The bytes of a sample with these tensors.
///
/// # Errors
/// There are none, or more than [`MAX_TENSORS`].
pub fn encode(tensors: &[Tensor]) -> Result<Bytes, SampleError> {
    let count = tensors.len();
    if count == 0 || count > MAX_TENSORS {
        return Err(SampleError::TensorCount(count));
    }
    let header: usize = 1 + tensors.iter().map(|tensor| 2 + 4 * tensor.dims.len()).sum::<usize>();
    let data: usize = tensors.iter().map(|tensor| padded(tensor.data.len())).sum();
    let mut bytes = BytesMut::with_capacity(padded(header) + data);
    bytes.put_u8(count as u8);
    for tensor in tensors {
        bytes.put_u8(tensor.dtype.code());
        bytes.put_u8(tensor.dims.rank);
        tensor.dims.iter().for_each(|&dim| bytes.put_u32_le(dim));
    }
    for tensor in tensors {
        bytes.resize(padded(bytes.len()), 0);
        bytes.put_slice(&tensor.data);
    }
    Ok(bytes.freeze())
}

fn padded(len: usize) -> usize {
    len.next_multiple_of(DATA_ALIGNMENT)
}

/// The tensors of a sample, as views into `sample`.
///
/// Any bytes may be given: those that are not a sample are refused. Only a list of the tensors is allocated.
///
/// # Errors
/// See [`SampleError`].
#[expect(clippy::needless_pass_by_value, reason = "the tensors share it")]
pub fn decode(sample: Bytes) -> Result<Vec<Tensor>, SampleError> {
    let mut spans = Spans::start(&sample)?;
    let mut tensors = Vec::with_capacity(spans.count);
    while let Some(span) = spans.next(&sample)? {
        tensors.push(Tensor { dtype: span.dtype, dims: span.dims, data: sample.slice(span.range) });
    }
    Ok(tensors)
}

/// Where the data of one tensor lies in its sample.
pub(crate) struct Span {
    pub(crate) dtype: DType,
    pub(crate) dims: Dims,
    pub(crate) range: Range<usize>,
}

/// Goes through the tensors of a sample without allocating and without keeping its bytes, so that a codec's filters can
/// change the data in place meanwhile. Data that was passed is not read again.
pub(crate) struct Spans {
    count: usize,
    /// The number of the next tensor.
    number: usize,
    /// Where its shape stands.
    shape_at: usize,
    /// Where the data before it ended.
    data_at: usize,
}

impl Spans {
    /// Reads the header.
    pub(crate) fn start(sample: &[u8]) -> Result<Spans, SampleError> {
        let mut data_at = 0;
        let count = usize::from(header::<1>(sample, &mut data_at)?[0]);
        if count == 0 || count > MAX_TENSORS {
            return Err(SampleError::TensorCount(count));
        }
        let shape_at = data_at;
        for tensor in 0..count {
            shape(sample, &mut data_at, tensor)?;
        }
        Ok(Spans { count, number: 0, shape_at, data_at })
    }

    /// The next tensor; none when all were there and nothing follows them. `sample` is the one that was started with.
    pub(crate) fn next(&mut self, sample: &[u8]) -> Result<Option<Span>, SampleError> {
        if self.number == self.count {
            return match sample.len() - self.data_at {
                0 => Ok(None),
                trailing => Err(SampleError::Trailing(trailing)),
            };
        }
        let (dtype, dims) = shape(sample, &mut self.shape_at, self.number)?;
        let range = data(sample, self.data_at, self.number, dtype, &dims)?;
        self.data_at = range.end;
        self.number += 1;
        Ok(Some(Span { dtype, dims, range }))
    }
}

fn header<const N: usize>(sample: &[u8], at: &mut usize) -> Result<[u8; N], SampleError> {
    let Some(bytes) = sample.get(*at..).and_then(|tail| tail.first_chunk()) else {
        return Err(truncated(sample, SamplePart::Header, (*at + N) as u64));
    };
    *at += N;
    Ok(*bytes)
}

fn shape(sample: &[u8], at: &mut usize, tensor: usize) -> Result<(DType, Dims), SampleError> {
    let [code, rank] = header(sample, at)?;
    let dtype = DType::from_code(code).ok_or(SampleError::DTypeCode { tensor, code })?;
    let mut dims = [0; MAX_RANK];
    let used = dims.get_mut(..usize::from(rank));
    for dim in used.ok_or(SampleError::Rank { tensor, rank: usize::from(rank) })? {
        *dim = u32::from_le_bytes(header(sample, at)?);
    }
    Ok((dtype, Dims { rank, dims }))
}

/// Where the data lies that follows what ended at `at`.
fn data(sample: &[u8], at: usize, tensor: usize, dtype: DType, dims: &Dims) -> Result<Range<usize>, SampleError> {
    let overflow = SampleError::Overflow { tensor, dtype, dims: *dims };
    let len = data_len(dtype, dims).ok_or_else(|| overflow.clone())?;
    let start = padded(at);
    let end = len.checked_add(start as u64).ok_or(overflow)?;
    let padding = sample.get(at..start.min(sample.len())).unwrap_or_default();
    if let Some(offset) = padding.iter().position(|&byte| byte != 0) {
        return Err(SampleError::Padding { at: at + offset });
    }
    if end > sample.len() as u64 {
        return Err(truncated(sample, SamplePart::Data(tensor), end));
    }
    // Fits: not more than the length of a buffer in memory.
    Ok(start..end as usize)
}

fn truncated(sample: &[u8], part: SamplePart, needed: u64) -> SampleError {
    SampleError::Truncated { part, needed, len: sample.len() }
}

#[cfg(test)]
mod tests;
