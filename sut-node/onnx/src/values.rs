//! Tensors as ONNX Runtime has them, from bytes and to bytes. Both are little-endian, as every machine is that ONNX
//! Runtime is built for, so bytes are copied as they are.

use std::fmt::Debug;

use half::{bf16, f16};
use lon_sut::pipeline::post::Output;
use lon_sut::tensor::DType;
use ort::memory::Allocator;
use ort::session::SessionInputValue;
use ort::value::{DynValue, PrimitiveTensorElementType, Tensor, TensorRef};
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Calls `$function::<T>` for the Rust type `T` that a [`DType`] stands for; for `bool` what is after the arrow.
macro_rules! with_type {
    ($dtype:expr, $function:ident($($argument:expr),*), bool => $of_bool:expr) => {
        match $dtype {
            DType::U8 => $function::<u8>($($argument),*),
            DType::I8 => $function::<i8>($($argument),*),
            DType::U16 => $function::<u16>($($argument),*),
            DType::I16 => $function::<i16>($($argument),*),
            DType::U32 => $function::<u32>($($argument),*),
            DType::I32 => $function::<i32>($($argument),*),
            DType::U64 => $function::<u64>($($argument),*),
            DType::I64 => $function::<i64>($($argument),*),
            DType::F16 => $function::<f16>($($argument),*),
            DType::Bf16 => $function::<bf16>($($argument),*),
            DType::F32 => $function::<f32>($($argument),*),
            DType::F64 => $function::<f64>($($argument),*),
            DType::Bool => $of_bool,
            other => Err(ort::Error::new(format!("samples of {other} are not handed to ONNX Runtime"))),
        }
    };
}

/// A tensor of this type and these sizes, whose bytes are those of the parts, one after the other. A single part whose
/// place in memory suits its type is used where it is.
///
/// # Errors
/// The parts are more or less than such a tensor, or ONNX Runtime has no memory for it.
pub(super) fn input<'p>(dtype: DType, dims: &[usize], parts: &[&'p [u8]]) -> ort::Result<SessionInputValue<'p>> {
    with_type!(dtype, typed_input(dims, parts), bool => Ok(tensor_of_bools(dims, parts)?.into()))
}

fn typed_input<'p, T>(dims: &[usize], parts: &[&'p [u8]]) -> ort::Result<SessionInputValue<'p>>
where
    T: PrimitiveTensorElementType + Debug + Clone + FromBytes + IntoBytes + Immutable + 'static,
{
    let elements = dims.iter().product::<usize>();
    if parts.iter().map(|part| part.len()).sum::<usize>() != elements * size_of::<T>() {
        return Err(ort::Error::new(format!("a sample has too many or too few bytes for the sizes {dims:?}")));
    }
    if let [part] = parts
        && let Ok(elements) = <[T]>::ref_from_bytes(part)
    {
        return Ok(TensorRef::from_array_view((dims.to_vec(), elements))?.into());
    }
    let mut tensor = Tensor::<T>::new(&Allocator::default(), dims.to_vec())?;
    let (_, elements) = tensor.try_extract_tensor_mut::<T>()?;
    let mut tail = elements.as_mut_bytes();
    for part in parts {
        let (place, after) = tail.split_at_mut(part.len());
        place.copy_from_slice(part);
        tail = after;
    }
    Ok(tensor.into())
}

/// A tensor of this type and these sizes with the same bytes, in memory of our own, as weights that sessions share have
/// to be.
///
/// # Errors
/// The bytes are more or less than such a tensor.
pub(super) fn weight(dtype: DType, dims: &[usize], bytes: &[u8]) -> ort::Result<DynValue> {
    with_type!(dtype, typed_weight(dims, bytes), bool => tensor_of_bools(dims, &[bytes]))
}

fn typed_weight<T>(dims: &[usize], bytes: &[u8]) -> ort::Result<DynValue>
where
    T: PrimitiveTensorElementType + Debug + Clone + FromBytes + IntoBytes + 'static,
{
    let mut data = vec![T::new_zeroed(); bytes.len() / size_of::<T>()];
    data.as_mut_bytes().copy_from_slice(bytes);
    Ok(Tensor::from_array((dims.to_vec(), data))?.into_dyn())
}

/// Anything but 0 is true: a Rust bool has no other values than 0 and 1.
fn tensor_of_bools(dims: &[usize], parts: &[&[u8]]) -> ort::Result<DynValue> {
    let data: Vec<bool> = parts.iter().copied().flatten().map(|&byte| byte != 0).collect();
    Ok(Tensor::from_array((dims.to_vec(), data))?.into_dyn())
}

/// The bytes of a tensor of this type.
pub(super) fn output(dtype: DType, value: &DynValue) -> ort::Result<Output> {
    with_type!(dtype, typed_output(dtype, value), bool => typed_output::<bool>(dtype, value))
}

fn typed_output<T>(dtype: DType, value: &DynValue) -> ort::Result<Output>
where
    T: PrimitiveTensorElementType + IntoBytes + Immutable,
{
    let (shape, elements) = value.try_extract_tensor::<T>()?;
    // Sizes of a tensor in memory are not negative.
    let dims = shape.iter().map(|&dim| dim as usize).collect();
    Ok(Output { dtype, dims, data: elements.as_bytes().to_vec() })
}

#[cfg(target_endian = "big")]
compile_error!("bytes of samples are little-endian, and are not turned here");
