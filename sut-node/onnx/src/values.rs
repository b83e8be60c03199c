//! Tensors as ONNX Runtime has them, from bytes and to bytes.

use half::{bf16, f16};
use lon_sut::pipeline::post::Output;
use lon_sut::tensor::DType;
use ort::value::{DynValue, PrimitiveTensorElementType, Tensor};

/// Calls `$function::<T>` for the Rust type `T` that a [`DType`] stands for.
macro_rules! with_type {
    ($dtype:expr, $function:ident($($argument:expr),*)) => {
        match $dtype {
            DType::U8 => $function::<u8, 1>($($argument),*),
            DType::I8 => $function::<i8, 1>($($argument),*),
            DType::U16 => $function::<u16, 2>($($argument),*),
            DType::I16 => $function::<i16, 2>($($argument),*),
            DType::U32 => $function::<u32, 4>($($argument),*),
            DType::I32 => $function::<i32, 4>($($argument),*),
            DType::U64 => $function::<u64, 8>($($argument),*),
            DType::I64 => $function::<i64, 8>($($argument),*),
            DType::F16 => $function::<f16, 2>($($argument),*),
            DType::Bf16 => $function::<bf16, 2>($($argument),*),
            DType::F32 => $function::<f32, 4>($($argument),*),
            DType::F64 => $function::<f64, 8>($($argument),*),
            DType::Bool => $function::<bool, 1>($($argument),*),
            other => Err(ort::Error::new(format!("samples of {other} are not handed to ONNX Runtime"))),
        }
    };
}

/// A tensor of this type and these sizes, whose bytes are those of the parts, one after the other.
pub(super) fn tensor(dtype: DType, dims: &[usize], parts: &[&[u8]]) -> ort::Result<DynValue> {
    with_type!(dtype, typed_tensor(dims, parts))
}

fn typed_tensor<T: Element<N>, const N: usize>(dims: &[usize], parts: &[&[u8]]) -> ort::Result<DynValue> {
    let mut data = Vec::with_capacity(dims.iter().product());
    for part in parts {
        data.extend(part.as_chunks().0.iter().map(|&bytes| T::read(bytes)));
    }
    Ok(Tensor::from_array((dims.to_vec(), data))?.into_dyn())
}

/// The bytes of a tensor of this type.
pub(super) fn output(dtype: DType, value: &DynValue) -> ort::Result<Output> {
    with_type!(dtype, typed_output(dtype, value))
}

fn typed_output<T: Element<N>, const N: usize>(dtype: DType, value: &DynValue) -> ort::Result<Output> {
    let (shape, elements) = value.try_extract_tensor::<T>()?;
    let mut data = vec![0; elements.len() * N];
    for (bytes, &element) in data.as_chunks_mut().0.iter_mut().zip(elements) {
        *bytes = element.write();
    }
    // Sizes of a tensor in memory are not negative.
    Ok(Output { dtype, dims: shape.iter().map(|&dim| dim as usize).collect(), data })
}

/// An element type and its `N` little-endian bytes.
trait Element<const N: usize>: PrimitiveTensorElementType + Copy + std::fmt::Debug + 'static {
    fn read(bytes: [u8; N]) -> Self;
    fn write(self) -> [u8; N];
}

macro_rules! elements {
    ($($kind:ty: $size:literal),*) => {$(
        impl Element<$size> for $kind {
            fn read(bytes: [u8; $size]) -> $kind {
                <$kind>::from_le_bytes(bytes)
            }

            fn write(self) -> [u8; $size] {
                self.to_le_bytes()
            }
        }
    )*};
}

elements!(u8: 1, i8: 1, u16: 2, i16: 2, u32: 4, i32: 4, u64: 8, i64: 8, f16: 2, bf16: 2, f32: 4, f64: 8);

impl Element<1> for bool {
    fn read([byte]: [u8; 1]) -> bool {
        byte != 0
    }

    fn write(self) -> [u8; 1] {
        [u8::from(self)]
    }
}
