//! The format `.npy` of numpy: its header, and arrays that are in memory.
//!
//! The crate `npyz` reads the header. What it would accept beyond what numpy writes is refused before.

use std::borrow::Cow;

use bytes::Bytes;
use lon_proto::sample::{DType, Tensor};
use npyz::{Order, TypeStr};

use super::blocks::Array;
use crate::dataset::reader::MAX_COUNT;

/// Reads a file as an array of samples, which its first axis counts.
///
/// # Errors
/// A text that says what the file has and what is accepted instead.
pub(super) fn samples(file: impl Into<Bytes>) -> Result<Array, String> {
    let file = file.into();
    let header = Header::read(&file, file.len() as u64)?;
    let (count, dims) = header.samples()?;
    let data = file.slice(header.data_at as usize..);
    Ok(Array { dtype: header.dtype, dims, count, data })
}

/// Reads a file as one tensor.
///
/// # Errors
/// As [`samples`].
pub(super) fn tensor(file: &[u8]) -> Result<Tensor, String> {
    let (dtype, shape, data) = block(file)?;
    let dims: Result<Vec<u32>, _> = shape.iter().map(|&dim| u32::try_from(dim)).collect();
    let dims = dims.map_err(|error| error.to_string())?;
    Tensor::new(dtype, &dims, data).map_err(|error| error.to_string())
}

/// Reads a file as labels: one dimension of `i32` or `i64`.
///
/// # Errors
/// As [`samples`].
pub(super) fn labels(file: &[u8]) -> Result<Vec<i64>, String> {
    let (dtype, shape, data) = block(file)?;
    match (dtype, shape.len()) {
        (DType::I64, 1) => Ok(data.as_chunks::<8>().0.iter().map(|bytes| i64::from_le_bytes(*bytes)).collect()),
        (DType::I32, 1) => {
            Ok(data.as_chunks::<4>().0.iter().map(|bytes| i64::from(i32::from_le_bytes(*bytes))).collect())
        }
        (dtype, rank) => Err(format!("labels are int64 or int32 in one dimension, this is {dtype} in {rank}")),
    }
}

/// The header of a file, which describes the data behind it.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) dtype: DType,
    /// The sizes of all axes.
    pub(super) shape: Vec<u64>,
    /// The offset of the data in the file.
    pub(super) data_at: u64,
}

impl Header {
    /// The number of bytes from the start of a file in which a header must end.
    pub(super) const WITHIN: usize = 1 << 16;

    /// Reads the header of a file of `file_bytes` bytes that starts with `start`.
    ///
    /// # Errors
    /// As [`samples`].
    pub(super) fn read(start: &[u8], file_bytes: u64) -> Result<Header, String> {
        check_header(start)?;
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
        let needed = elements.and_then(|count| dtype.bytes_of(count));
        let there = file_bytes.saturating_sub(data_at);
        if needed != Some(there) {
            return Err(format!("{dtype}{shape:?} does not have the {there} bytes that follow the header"));
        }
        Ok(Header { dtype, shape, data_at })
    }

    /// Returns the number of samples along the first axis, and the dimensions of one sample.
    ///
    /// # Errors
    /// A text that says why the array is not an array of samples: it has no axis, no samples, samples without bytes, or
    /// too many samples.
    pub(super) fn samples(&self) -> Result<(usize, Vec<u32>), String> {
        let (count, dims) = self.shape.split_first().ok_or("a single number, not an array of samples")?;
        let dims: Result<Vec<u32>, _> = dims.iter().map(|&dim| u32::try_from(dim)).collect();
        let count = usize::try_from(*count).map_err(|error| error.to_string())?;
        if count == 0 {
            return Err("the array holds no samples".to_owned());
        }
        if self.shape.contains(&0) {
            return Err(format!("the array {:?} has samples without bytes", self.shape));
        }
        if count > MAX_COUNT {
            return Err(format!("{count} samples; a dataset has {MAX_COUNT} at most"));
        }
        Ok((count, dims.map_err(|error| error.to_string())?))
    }
}

/// Returns the element type, the shape and a copy of the data.
fn block(file: &[u8]) -> Result<(DType, Vec<u64>, Bytes), String> {
    let header = Header::read(file, file.len() as u64)?;
    let data = Bytes::copy_from_slice(&file[header.data_at as usize..]);
    Ok((header.dtype, header.shape, data))
}

/// Checks that a header is one that numpy writes. The crate `npyz` also accepts sizes in hexadecimal and a shape that
/// is given twice, and it multiplies the sizes without a check.
fn check_header(start: &[u8]) -> Result<(), String> {
    let Some(text) = header_text(start) else { return Err("not a .npy file: its header is cut or none".to_owned()) };
    let is_nested = text.contains('[') || text.matches('{').count() != 1 || text.matches('(').count() > 1;
    if is_nested {
        return Err("the array has structured elements; plain numbers are taken".to_owned());
    }
    if text.contains('\\') || text.matches("shape").count() != 1 {
        return Err("not a .npy file: its header does not say its shape once".to_owned());
    }
    let after = text.split_once("shape").map_or("", |(_, after)| after.trim_start_matches(['\'', '"']).trim_start());
    let sizes = after.strip_prefix(':').and_then(|after| after.trim_start().strip_prefix('(')?.split_once(')'));
    let (sizes, _) = sizes.ok_or("not a .npy file: the shape in its header is no tuple")?;
    let sizes = sizes.split(',').map(str::trim).filter(|size| !size.is_empty());
    let product = sizes.into_iter().try_fold(1u64, |product, size| {
        if !size.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(format!("the size {size} in the header is no decimal number"));
        }
        let product = size.parse().ok().and_then(|size| product.checked_mul(size));
        product.ok_or_else(|| "the sizes in the header multiply to more than 64 bits hold".to_owned())
    });
    product.map(|_| ())
}

/// Returns the text of a header; none when the file is not a `.npy` file or ends within the header.
fn header_text(start: &[u8]) -> Option<Cow<'_, str>> {
    let (len, rest) = match start.strip_prefix(b"\x93NUMPY")? {
        [1, _, a, b, rest @ ..] => (usize::from(u16::from_le_bytes([*a, *b])), rest),
        [2 | 3, _, a, b, c, d, rest @ ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, rest),
        _ => return None,
    };
    rest.get(..len).map(String::from_utf8_lossy)
}

/// Returns the element type of a text such as `<f4` or `|u1`: byte order, kind and size.
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
            let told = samples(file(shape)).unwrap_err();
            assert!(told.contains("64 bits"), "{told}");
        }
        let told = samples(file("(4294967295, 4294967295)")).unwrap_err();
        assert!(told.contains("does not have the 0 bytes"), "{told}");
    }

    #[test]
    fn headers_that_numpy_does_not_write_are_refused() {
        for (shape, part) in [
            ("(0x4,)", "0x4"),
            ("(0x100000000, 0x100000000)", "0x100000000"),
            ("(4294967296, 4_294967296)", "4_294967296"),
            ("(1,), 'shape': (4294967296, 4294967296)", "its shape once|structured"),
            ("(1,), 'sh\\x61pe': 4", "its shape once"),
            ("4", "no tuple"),
            ("(-1,)", "-1"),
            ("(9000000000000000000, 0)", "without bytes"),
        ] {
            let told = samples(file(shape)).unwrap_err();
            assert!(part.split('|').any(|part| told.contains(part)), "{shape}: {told}");
        }
        assert!(samples(file("(1,)")[..20].to_vec()).unwrap_err().contains("cut"));
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
            let told = samples(with(from, to)).unwrap_err();
            assert!(told.contains(part), "{to}: {told}");
        }
        assert!(samples(&b"hello"[..]).unwrap_err().contains("not a .npy file"));
    }

    #[test]
    fn ordinary_sizes_are_read() {
        let with_data = [file("(2, 3)"), vec![7; 6]].concat();
        assert_eq!(samples(with_data).map(|array| (array.count, array.dims)), Ok((2, vec![3])));
    }
}
