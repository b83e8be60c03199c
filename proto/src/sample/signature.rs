//! Which tensors a model takes and gives, and whether a sample has them.

use std::fmt;
use std::ops::Deref;

use super::{DATA_ALIGNMENT, DType, Tensor, UnknownDType, write_dims};
use crate::text::printable;
use crate::v1;

/// One input or output of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorSpec {
    /// The model's name for the tensor.
    pub name: String,
    /// The type of the elements.
    pub dtype: DType,
    /// Other types that are accepted.
    pub other_dtypes: Vec<DType>,
    /// The dimensions, outermost first; `None` stands for any size.
    pub dims: Vec<Option<u32>>,
    /// True when a sample may leave the tensor out. It has no meaning for an output: the dimensions say what is due.
    pub is_optional: bool,
}

impl TensorSpec {
    /// A tensor of one type that every sample must have. Of the name is kept what is [`printable`].
    pub fn new(name: impl AsRef<str>, dtype: DType, dims: Vec<Option<u32>>) -> TensorSpec {
        TensorSpec { name: printable(name.as_ref()), dtype, other_dtypes: Vec::new(), dims, is_optional: false }
    }

    /// All types that are accepted, the preferred one first.
    pub fn dtypes(&self) -> impl Iterator<Item = DType> {
        std::iter::once(self.dtype).chain(self.other_dtypes.iter().copied())
    }

    /// Returns true when the leading dimension is the batch: it is when its size is free or 1.
    pub fn has_batch_dim(&self) -> bool {
        matches!(self.dims.first(), Some(None | Some(1)))
    }

    /// The dimensions of one sample: all but the batch.
    pub fn own_dims(&self) -> &[Option<u32>] {
        if self.has_batch_dim() { &self.dims[1..] } else { &self.dims }
    }

    /// The dimensions of `tensor` as one sample of this input, without batch dimension; `None` when it does not fit.
    ///
    /// A sample is one element of the batch. It leaves the batch dimension out (a model's `image u8[N,1,8,8]` takes
    /// `u8[1,8,8]`) or has it as 1 (`u8[1,1,8,8]`); the rank tells which. An input without batch dimension is taken
    /// as it stands.
    pub fn sample_dims<'t>(&self, tensor: &'t Tensor) -> Option<&'t [u32]> {
        let own_dims = self.own_dims();
        let dims = match (self.has_batch_dim(), &**tensor.dims()) {
            (true, [1, tail @ ..]) if tail.len() == own_dims.len() => tail,
            (_, dims) => dims,
        };
        let same = |(size, dim): (&u32, &Option<u32>)| dim.is_none_or(|dim| dim == *size);
        let is_of_type = self.dtypes().any(|dtype| dtype == tensor.dtype);
        let fits = is_of_type && dims.len() == own_dims.len() && dims.iter().zip(own_dims).all(same);
        fits.then_some(dims)
    }
}

/// Shows name, type and dimensions: `image u8[N,1,8,8]`; a free leading dimension is `N`, other free ones are `?`.
/// Types are `i64|i32` where several are taken; a `?` behind the name is what may be left out: `max_tokens?
/// i32|i64[N]`.
impl fmt::Display for TensorSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dim = |(i, dim): (usize, &Option<u32>)| match dim {
            Some(dim) => dim.to_string(),
            None if i == 0 => "N".to_owned(),
            None => "?".to_owned(),
        };
        write!(f, "{}{} {}", self.name, if self.is_optional { "?" } else { "" }, self.dtype)?;
        self.other_dtypes.iter().try_for_each(|dtype| write!(f, "|{dtype}"))?;
        write_dims(f, self.dims.iter().enumerate().map(dim))
    }
}

/// The inputs or the outputs of a model, in its order. It is empty when there is no model; then every sample fits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signature(Vec<TensorSpec>);

impl Signature {
    /// A signature of these tensors.
    pub fn new(specs: Vec<TensorSpec>) -> Signature {
        Signature(specs)
    }

    /// Checks that a sample of these tensors fits: each fits its own spec (see [`TensorSpec::sample_dims`]), in this
    /// order, and none is missing but what may be left out.
    ///
    /// # Errors
    /// The sample does not fit; the error shows both.
    pub fn accepts(&self, tensors: &[Tensor]) -> Result<(), Mismatch> {
        if self.is_empty() || fit(self, tensors) {
            return Ok(());
        }
        let actual: Vec<String> = tensors.iter().map(Tensor::to_string).collect();
        Err(Mismatch { expected: self.to_string(), actual: actual.join(", "), remedy: remedy(self, tensors) })
    }

    /// The most bytes that a sample of these tensors has; `None` when there are none, or a size other than the batch is
    /// free, so that samples of any length fit.
    pub fn max_sample_bytes(&self) -> Option<u64> {
        if self.is_empty() {
            return None;
        }
        let tensor = |spec: &TensorSpec| {
            let elements =
                spec.own_dims().iter().try_fold(1u64, |elements, dim| elements.checked_mul((*dim)?.into()))?;
            let widest = spec.dtypes().max_by_key(|dtype| dtype.bits())?;
            let header = 2 + 4 * spec.dims.len();
            widest.bytes_of(elements)?.checked_add((header + DATA_ALIGNMENT) as u64)
        };
        let header = (1 + DATA_ALIGNMENT) as u64;
        self.iter().try_fold(header, |bytes, spec| bytes.checked_add(tensor(spec)?))
    }
}

/// Returns a clause that says what to do where a sample of these tensors does not fit: convert the type of one, or make
/// the sample of other shapes.
pub fn remedy(specs: &[TensorSpec], tensors: &[Tensor]) -> String {
    let needed = specs.iter().filter(|spec| !spec.is_optional);
    let is_of_another_type = |(spec, tensor): &(&TensorSpec, &Tensor)| {
        let of_its_type = TensorSpec { dtype: tensor.dtype, ..(*spec).clone() };
        spec.sample_dims(tensor).is_none() && of_its_type.sample_dims(tensor).is_some()
    };
    let are_as_many = (needed.clone().count()..=specs.len()).contains(&tensors.len());
    if let Some((spec, tensor)) = needed.clone().zip(tensors).find(is_of_another_type).filter(|_| are_as_many) {
        return format!("convert {} from {} to {}", spec.name, tensor.dtype, spec.dtype);
    }
    let shapes: Vec<String> = needed.map(|spec| Own(spec).to_string()).collect();
    format!("each sample must be {}", shapes.join(", "))
}

/// Type and dimensions of one sample of an input: `f32[30]`; a free dimension is `?`.
struct Own<'a>(&'a TensorSpec);

impl fmt::Display for Own<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.dtype)?;
        let dim = |dim: &Option<u32>| dim.map_or_else(|| "?".to_owned(), |dim| dim.to_string());
        write_dims(f, self.0.own_dims().iter().map(dim))
    }
}

/// Returns true when a sample of these tensors has what these specs ask for, in their order. A tensor that does not fit
/// an optional spec is compared with the next one.
pub fn fit(specs: &[TensorSpec], tensors: &[Tensor]) -> bool {
    let mut specs = specs.iter();
    let is_taken = |tensor: &Tensor| {
        let fits = |spec: &TensorSpec| spec.sample_dims(tensor).is_some();
        specs.find(|spec| !spec.is_optional || fits(spec)).is_some_and(fits)
    };
    tensors.iter().all(is_taken) && specs.all(|spec| spec.is_optional)
}

impl Deref for Signature {
    type Target = [TensorSpec];

    fn deref(&self) -> &[TensorSpec] {
        &self.0
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, spec) in self.iter().enumerate() {
            write!(f, "{}{spec}", if i == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

/// The error for a sample that a model does not take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the sample is {actual}, the model takes {expected}: {remedy}")]
pub struct Mismatch {
    /// The tensors that the model takes.
    pub expected: String,
    /// The tensors that the sample has.
    pub actual: String,
    /// A clause that says what to do.
    pub remedy: String,
}

/// The error for a tensor spec of the other end that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// The type is not known.
    #[error("tensor '{name}': {cause}")]
    DType {
        /// The name of the tensor.
        name: String,
        /// The error about the type.
        cause: UnknownDType,
    },
    /// A dimension is neither free nor a 32-bit size.
    #[error("tensor '{name}' has a dimension of {dim}; it is -1 (free) or a 32-bit size")]
    Dim {
        /// The name of the tensor.
        name: String,
        /// The dimension that was told.
        dim: i64,
    },
}

impl From<&TensorSpec> for v1::TensorSpec {
    fn from(spec: &TensorSpec) -> v1::TensorSpec {
        v1::TensorSpec {
            name: spec.name.clone(),
            dtype: spec.dtype.to_string(),
            dims: spec.dims.iter().map(|dim| dim.map_or(-1, i64::from)).collect(),
            other_dtypes: spec.other_dtypes.iter().map(ToString::to_string).collect(),
            optional: spec.is_optional,
        }
    }
}

impl TryFrom<&v1::TensorSpec> for TensorSpec {
    type Error = SpecError;

    fn try_from(spec: &v1::TensorSpec) -> Result<TensorSpec, SpecError> {
        let name = || printable(&spec.name);
        let dtype = |text: &String| printable(text).parse().map_err(|cause| SpecError::DType { name: name(), cause });
        let dim = |&dim: &i64| match dim {
            -1 => Ok(None),
            dim => u32::try_from(dim).map(Some).map_err(|_| SpecError::Dim { name: name(), dim }),
        };
        let dims = spec.dims.iter().map(dim).collect::<Result<_, _>>()?;
        Ok(TensorSpec {
            other_dtypes: spec.other_dtypes.iter().map(dtype).collect::<Result<_, _>>()?,
            is_optional: spec.optional,
            ..TensorSpec::new(&spec.name, dtype(&spec.dtype)?, dims)
        })
    }
}
