//! Arrays from `.npy` files, as blocks of samples.

use bytes::Bytes;
use lon_proto::sample::{DType, Tensor};
use npyz::{Order, TypeStr};

use crate::source::Array;

/// Samples along the first axis.
///
/// # Errors
/// A text that says what the file has and what is taken instead.
pub(crate) fn samples(file: &[u8]) -> Result<Array, String> {
    let header = Header::read(file, file.len() as u64)?;
    let (count, dims) = header.samples()?;
    let data = Bytes::copy_from_slice(&file[header.data_at as usize..]);
    Ok(Array { dtype: header.dtype, dims, count, data })
}

/// The one array of a file, whole.
///
/// # Errors
/// As for [`samples`].
pub(crate) fn tensor(file: &[u8]) -> Result<Tensor, String> {
    let (dtype, shape, data) = block(file)?;
    let dims: Result<Vec<u32>, _> = shape.iter().map(|&dim| u32::try_from(dim)).collect();
    let dims = dims.map_err(|error| error.to_string())?;
    Tensor::new(dtype, &dims, data).map_err(|error| error.to_string())
}

/// Labels: one `i32` or `i64` each.
///
/// # Errors
/// As for [`samples`].
pub(crate) fn labels(file: &[u8]) -> Result<Vec<i64>, String> {
    let (dtype, shape, data) = block(file)?;
    match (dtype, shape.len()) {
        (DType::I64, 1) => Ok(data.as_chunks::<8>().0.iter().map(|bytes| i64::from_le_bytes(*bytes)).collect()),
        (DType::I32, 1) => {
            Ok(data.as_chunks::<4>().0.iter().map(|bytes| i64::from(i32::from_le_bytes(*bytes))).collect())
        }
        (dtype, rank) => Err(format!("labels are int64 or int32 in one dimension, this is {dtype} in {rank}")),
    }
}

/// What the head of a file says of the data behind it.
#[derive(Debug)]
pub(crate) struct Header {
    pub(crate) dtype: DType,
    pub(crate) shape: Vec<u64>,
    /// Where the data begin.
    pub(crate) data_at: u64,
}

impl Header {
    /// Bytes up to which a header is looked for.
    pub(crate) const WITHIN: usize = 1 << 16;

    /// Reads the header of a file of `file_bytes` that starts with `start`.
    ///
    /// # Errors
    /// As for [`samples`].
    pub(crate) fn read(start: &[u8], file_bytes: u64) -> Result<Header, String> {
        if !has_countable_shape(start) {
            return Err("the sizes in the header multiply to more than 64 bits hold".to_owned());
        }
        let mut rest = start;
        let header = npyz::NpyHeader::from_reader(&mut rest).map_err(|error| format!("not a .npy file: {error}"))?;
        let npyz::DType::Plain(type_str) = header.dtype() else {
            return Err("the array has structured elements; plain numbers are taken".to_owned());
        };
        let dtype = element_type(&type_str)?;
        // An array of one dimension is the same in both orders.
        if header.order() != Order::C && header.shape().len() > 1 {
            return Err("the array is in Fortran order; save it with numpy.ascontiguousarray".to_owned());
        }
        let (shape, data_at) = (header.shape().to_vec(), (start.len() - rest.len()) as u64);
        let elements = shape.iter().try_fold(1u64, |product, &dim| product.checked_mul(dim));
        let needed = elements.and_then(|count| count.checked_mul(dtype.size() as u64));
        let there = file_bytes.saturating_sub(data_at);
        if needed != Some(there) {
            return Err(format!("{dtype}{shape:?} does not have the {there} bytes that follow the header"));
        }
        Ok(Header { dtype, shape, data_at })
    }

    /// How many samples along the first axis, and the dimensions of one.
    ///
    /// # Errors
    /// None at all.
    pub(crate) fn samples(&self) -> Result<(usize, Vec<u32>), String> {
        let (count, dims) = self.shape.split_first().ok_or("a single number, not an array of samples")?;
        let dims: Result<Vec<u32>, _> = dims.iter().map(|&dim| u32::try_from(dim)).collect();
        let count = usize::try_from(*count).map_err(|error| error.to_string())?;
        if count == 0 {
            return Err("the array holds no samples".to_owned());
        }
        Ok((count, dims.map_err(|error| error.to_string())?))
    }
}

fn block(file: &[u8]) -> Result<(DType, Vec<u64>, Bytes), String> {
    let header = Header::read(file, file.len() as u64)?;
    let data = Bytes::copy_from_slice(&file[header.data_at as usize..]);
    Ok((header.dtype, header.shape, data))
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
        "u2" => Ok(DType::U16),
        "u4" => Ok(DType::U32),
        "u8" => Ok(DType::U64),
        "i1" => Ok(DType::I8),
        "i2" => Ok(DType::I16),
        "i4" => Ok(DType::I32),
        "i8" => Ok(DType::I64),
        "f2" => Ok(DType::F16),
        "f4" => Ok(DType::F32),
        "f8" => Ok(DType::F64),
        "b1" => Ok(DType::Bool),
        _ => Err(format!("element type {text} is not taken (little-endian integers, float16, float32, float64, bool)")),
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
    fn what_is_not_taken_is_named() {
        let with = |from: &str, to: &str| {
            let file = String::from_utf8_lossy(&file("(2, 3)")[10..]).replace(from, to);
            [&b"\x93NUMPY\x01\x00"[..], &(file.len() as u16).to_le_bytes(), file.as_bytes(), &[0; 96]].concat()
        };
        for (from, to, part) in [
            ("False", "True", "Fortran order"),
            ("|u1", "<c8", "<c8"),
            ("|u1", ">i4", ">i4"),
            ("|u1", "<f8", "does not have the 96 bytes"),
        ] {
            let told = samples(&with(from, to)).unwrap_err();
            assert!(told.contains(part), "{to}: {told}");
        }
        assert!(samples(b"hello").unwrap_err().contains("not a .npy file"));
    }

    #[test]
    fn ordinary_sizes_are_read() {
        let with_data = [file("(2, 3)"), vec![7; 6]].concat();
        assert_eq!(samples(&with_data).map(|array| (array.count, array.dims)), Ok((2, vec![3])));
    }
}
