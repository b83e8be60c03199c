//! Arrays from `.npy` files, as blocks of samples.

use bytes::Bytes;
use lon_proto::sample::DType;
use npyz::{Order, TypeStr};

use crate::dataset::Array;

/// Samples along the first axis.
///
/// # Errors
/// A text that says what the file has and what is taken instead.
pub(crate) fn samples(file: &[u8]) -> Result<Array, String> {
    let (dtype, shape, data) = block(file)?;
    let (count, dims) = shape.split_first().ok_or("a single number, not an array of samples")?;
    let dims: Result<Vec<u32>, _> = dims.iter().map(|&dim| u32::try_from(dim)).collect();
    let count = usize::try_from(*count).map_err(|error| error.to_string())?;
    if count == 0 {
        return Err("the array holds no samples".to_owned());
    }
    Ok(Array { dtype, dims: dims.map_err(|error| error.to_string())?, count, data })
}

/// Labels: one `i64` each.
///
/// # Errors
/// As for [`samples`].
pub(crate) fn labels(file: &[u8]) -> Result<Vec<i64>, String> {
    let (dtype, shape, data) = block(file)?;
    if dtype != DType::I64 || shape.len() != 1 {
        return Err(format!("labels are int64 in one dimension, this is {dtype} in {}", shape.len()));
    }
    let (labels, _) = data.as_chunks::<8>();
    Ok(labels.iter().map(|bytes| i64::from_le_bytes(*bytes)).collect())
}

fn block(file: &[u8]) -> Result<(DType, Vec<u64>, Bytes), String> {
    if !has_countable_shape(file) {
        return Err("the sizes in the header multiply to more than 64 bits hold".to_owned());
    }
    let mut rest = file;
    let header = npyz::NpyHeader::from_reader(&mut rest).map_err(|error| format!("not a .npy file: {error}"))?;
    let npyz::DType::Plain(type_str) = header.dtype() else {
        return Err("the array has structured elements; plain numbers are taken".to_owned());
    };
    let dtype = element_type(&type_str)?;
    if header.order() != Order::C {
        return Err("the array is in Fortran order; save it with numpy.ascontiguousarray".to_owned());
    }
    let shape = header.shape().to_vec();
    let elements = shape.iter().try_fold(1u64, |product, &dim| product.checked_mul(dim));
    let needed = elements.and_then(|count| count.checked_mul(dtype.size() as u64));
    if needed != Some(rest.len() as u64) {
        return Err(format!("{dtype}{shape:?} does not have the {} bytes that follow the header", rest.len()));
    }
    Ok((dtype, shape, Bytes::copy_from_slice(rest)))
}

/// Where the header says its shape, in all files of numpy.
const SHAPE_WITHIN: usize = 4_096;

/// Whether the product of the sizes fits 64 bits. Looked at here because the parser multiplies without a check.
fn has_countable_shape(file: &[u8]) -> bool {
    let header = String::from_utf8_lossy(&file[..file.len().min(SHAPE_WITHIN)]);
    let sizes = header.split_once("shape").and_then(|(_, rest)| rest.split_once('(')?.1.split_once(')'));
    let Some((sizes, _)) = sizes else { return true };
    let mut sizes = sizes.split(',').map(str::trim).filter(|size| !size.is_empty());
    // Anything else than a number is for the parser to refuse, except numbers that are too long.
    let digits = |size: &str| size.bytes().all(|byte| byte.is_ascii_digit());
    let count = |product: u64, size: &str| match size.parse::<u64>() {
        Ok(size) => product.checked_mul(size),
        Err(_) if digits(size) => None,
        Err(_) => Some(product),
    };
    sizes.try_fold(1, count).is_some()
}

/// numpy writes `<f4`, `|u1`, ...: byte order, kind, size.
fn element_type(type_str: &TypeStr) -> Result<DType, String> {
    let text = type_str.to_string();
    match text.trim_start_matches(['<', '|', '=']) {
        "u1" => Ok(DType::U8),
        "i1" => Ok(DType::I8),
        "i4" => Ok(DType::I32),
        "i8" => Ok(DType::I64),
        "f2" => Ok(DType::F16),
        "f4" => Ok(DType::F32),
        "f8" => Ok(DType::F64),
        "b1" => Ok(DType::Bool),
        _ => Err(format!(
            "element type {text} is not taken (uint8, int8, int32, int64, float16, float32, float64, bool)"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(shape: &str) -> Vec<u8> {
        let header = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}\n");
        let mut file = b"\x93NUMPY\x01\x00".to_vec();
        file.extend((header.len() as u16).to_le_bytes());
        file.extend(header.as_bytes());
        file
    }

    #[test]
    fn sizes_beyond_any_file_are_an_error() {
        for shape in ["(4294967296, 4294967296)", "(3, 18446744073709551615)", "(99999999999999999999999,)"] {
            let told = samples(&file(shape)).unwrap_err();
            assert!(told.contains("64 bits"), "{told}");
        }
        let told = samples(&file("(4294967295, 4294967295)")).unwrap_err();
        assert!(told.contains("does not have the 0 bytes"), "{told}");
    }

    #[test]
    fn ordinary_sizes_are_read() {
        let with_data = [file("(2, 3)"), vec![7; 6]].concat();
        assert_eq!(samples(&with_data).map(|array| (array.count, array.dims)), Ok((2, vec![3])));
    }
}
