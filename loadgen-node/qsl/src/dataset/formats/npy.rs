//! The format `.npy` of numpy: its header, and arrays that are in memory
//! (<https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>).
//!
//! A header is a dictionary as Python writes it, with three keys. What numpy writes is read, and nothing else: the
//! crates for it read any literal of Python, sizes in hexadecimal and keys that are given twice among them.

use bytes::Bytes;
use lon_proto::sample::{DType, Tensor};

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

/// A file of zeros of this type and shape; none when numpy has no such type.
pub(crate) fn zeros(dtype: DType, shape: &[usize]) -> Option<Vec<u8>> {
    let descr = match dtype {
        DType::U8 => "|u1",
        DType::U16 => "<u2",
        DType::U32 => "<u4",
        DType::U64 => "<u8",
        DType::I8 => "|i1",
        DType::I16 => "<i2",
        DType::I32 => "<i4",
        DType::I64 => "<i8",
        DType::F16 => "<f2",
        DType::F32 => "<f4",
        DType::F64 => "<f8",
        DType::Bool => "|b1",
        DType::Bf16 | DType::F8E4M3 | DType::F8E5M2 | DType::U4 | DType::I4 => return None,
    };
    let sizes: String = shape.iter().map(|size| format!("{size},")).collect();
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({sizes}), }}");
    // The data begins at a multiple of 64 bytes, behind magic, version, length and header.
    let len = (10 + header.len() + 1).next_multiple_of(64) - 10;
    let header = format!("{header:<width$}\n", width = len - 1);
    let mut file = [b"\x93NUMPY\x01\x00", &u16::try_from(len).ok()?.to_le_bytes()[..], header.as_bytes()].concat();
    let bytes = shape.iter().try_fold(dtype.size(), |product, &size| product.checked_mul(size))?;
    file.resize(file.len().checked_add(bytes)?, 0);
    Some(file)
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
        let (text, data_at) = header_text(start)?;
        let Fields { dtype, is_fortran, shape } = Fields::read(text)?;
        // An array of one dimension is the same in both orders.
        if is_fortran && shape.len() > 1 {
            return Err("the array is in Fortran order; save it with numpy.ascontiguousarray".to_owned());
        }
        let elements = shape.iter().try_fold(1u64, |product, &dim| product.checked_mul(dim));
        let elements = elements.ok_or("the sizes in the header multiply to more than 64 bits hold")?;
        let needed = dtype.bytes_of(elements);
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

/// Returns the text of a header, and where the data behind it begins.
fn header_text(start: &[u8]) -> Result<(&str, u64), String> {
    let cut = || "not a .npy file: its header is cut or none".to_owned();
    let (len, body) = match start.strip_prefix(b"\x93NUMPY").ok_or_else(cut)? {
        [1, _, a, b, body @ ..] => (usize::from(u16::from_le_bytes([*a, *b])), body),
        [2 | 3, _, a, b, c, d, body @ ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, body),
        [version @ (0 | 4..), minor, ..] => {
            return Err(format!("a .npy file of version {version}.{minor}: versions 1.0 to 3.0 are read"));
        }
        _ => return Err(cut()),
    };
    let (text, data) = body.split_at_checked(len).ok_or_else(cut)?;
    let text = std::str::from_utf8(text).map_err(|_| "not a .npy file: its header is no text".to_owned())?;
    Ok((text, (start.len() - data.len()) as u64))
}

/// The fields of a header.
struct Fields {
    dtype: DType,
    is_fortran: bool,
    shape: Vec<u64>,
}

impl Fields {
    fn read(text: &str) -> Result<Fields, String> {
        let (mut dtype, mut is_fortran, mut shape) = (None, None, None);
        let mut literal = Literal(text);
        let mut has_more = literal.takes("{");
        while has_more && !literal.takes("}") {
            let key = literal.string().filter(|_| literal.takes(":")).ok_or_else(|| literal.unexpected())?;
            let is_twice = match key {
                "descr" => dtype.replace(literal.element_type()?).is_some(),
                "fortran_order" => is_fortran.replace(literal.truth()?).is_some(),
                "shape" => shape.replace(literal.sizes()?).is_some(),
                _ => return Err(format!("not a .npy file: its header has a key {key:?}")),
            };
            if is_twice {
                return Err(format!("not a .npy file: its header does not say its {key} once"));
            }
            has_more = literal.takes(",") || literal.0.starts_with('}');
        }
        match (dtype, is_fortran, shape) {
            (Some(dtype), Some(is_fortran), Some(shape)) if has_more && literal.0.is_empty() => {
                Ok(Fields { dtype, is_fortran, shape })
            }
            _ => Err(literal.unexpected()),
        }
    }
}

/// The rest of a header that is still to be read.
struct Literal<'a>(&'a str);

impl<'a> Literal<'a> {
    /// Reads `token` and the blanks behind it, if it comes next.
    fn takes(&mut self, token: &str) -> bool {
        let tail = self.0.strip_prefix(token);
        self.0 = tail.map_or(self.0, str::trim_start);
        tail.is_some()
    }

    /// Reads a string in single or double quotes.
    fn string(&mut self) -> Option<&'a str> {
        let quote = ['\'', '"'].into_iter().find(|quote| self.0.starts_with(*quote))?;
        let (text, tail) = self.0[1..].split_once(quote)?;
        self.0 = tail.trim_start();
        Some(text)
    }

    fn element_type(&mut self) -> Result<DType, String> {
        if self.0.starts_with('[') {
            return Err("the array has structured elements; plain numbers are taken".to_owned());
        }
        element_type(self.string().ok_or_else(|| self.unexpected())?)
    }

    fn truth(&mut self) -> Result<bool, String> {
        if self.takes("True") {
            return Ok(true);
        }
        self.takes("False").then_some(false).ok_or_else(|| self.unexpected())
    }

    fn sizes(&mut self) -> Result<Vec<u64>, String> {
        let sizes = self.0.strip_prefix('(').and_then(|sizes| sizes.split_once(')'));
        let (sizes, tail) = sizes.ok_or("not a .npy file: the shape in its header is no tuple")?;
        self.0 = tail.trim_start();
        let sizes = sizes.split(',').map(str::trim).filter(|size| !size.is_empty());
        sizes.map(size).collect()
    }

    fn unexpected(&self) -> String {
        let next: String = self.0.chars().take(20).collect();
        format!("not a .npy file: its header is not as numpy writes it, at {next:?}")
    }
}

fn size(text: &str) -> Result<u64, String> {
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("the size {text} in the header is no decimal number"));
    }
    text.parse().map_err(|_| format!("the size {text} in the header is more than 64 bits hold"))
}

/// Returns the element type of a text such as `<f4` or `|u1`: byte order, kind and size.
fn element_type(text: &str) -> Result<DType, String> {
    match text.strip_prefix(['<', '|', '=']) {
        Some("u1") => Ok(DType::U8),
        Some("u2") => Ok(DType::U16),
        Some("u4") => Ok(DType::U32),
        Some("u8") => Ok(DType::U64),
        Some("i1") => Ok(DType::I8),
        Some("i2") => Ok(DType::I16),
        Some("i4") => Ok(DType::I32),
        Some("i8") => Ok(DType::I64),
        Some("f2") => Ok(DType::F16),
        Some("f4") => Ok(DType::F32),
        Some("f8") => Ok(DType::F64),
        Some("b1") => Ok(DType::Bool),
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
    fn zeros_are_read_as_they_were_written() {
        for (dtype, shape) in [(DType::F32, &[3, 4][..]), (DType::U8, &[7]), (DType::I64, &[])] {
            let array = tensor(&zeros(dtype, shape).unwrap()).unwrap();
            let dims: Vec<usize> = array.dims().iter().map(|&dim| dim as usize).collect();
            assert_eq!((array.dtype(), dims.as_slice()), (dtype, shape));
            assert!(array.data().iter().all(|byte| *byte == 0));
        }
        assert!(zeros(DType::Bf16, &[1]).is_none());
    }

    #[test]
    fn sizes_beyond_any_file_are_an_error() {
        for shape in ["(4294967296, 4294967296)", "(3, 18446744073709551615)", "(99999999999999999999999,)"] {
            let message = samples(file(shape)).unwrap_err();
            assert!(message.contains("64 bits"), "{message}");
        }
        let message = samples(file("(4294967295, 4294967295)")).unwrap_err();
        assert!(message.contains("does not have the 0 bytes"), "{message}");
    }

    #[test]
    fn headers_that_numpy_does_not_write_are_refused() {
        for (shape, part) in [
            ("(0x4,)", "0x4"),
            ("(0x100000000, 0x100000000)", "0x100000000"),
            ("(4294967296, 4_294967296)", "4_294967296"),
            ("(1,), 'shape': (4294967296, 4294967296)", "its shape once"),
            ("(1,), 'sh\\x61pe': 4", "a key"),
            ("(1,), 'order': 'C'", "a key \"order\""),
            ("(1,), ('shape': 4)", "at \"('shape': 4), }"),
            ("(1,)} {", "at \"{, }\\n\""),
            ("(1,", "no tuple"),
            ("4", "no tuple"),
            ("(-1,)", "-1"),
            ("(9000000000000000000, 0)", "without bytes"),
        ] {
            let message = samples(file(shape)).unwrap_err();
            assert!(message.contains(part), "{shape}: {message}");
        }
        assert!(samples(file("(1,)")[..20].to_vec()).unwrap_err().contains("cut"));
        for (version, part) in [([0, 1], "version 0.1"), ([4, 0], "version 4.0"), ([1, 0], "cut or none")] {
            let message = samples([&b"\x93NUMPY"[..], &version].concat()).unwrap_err();
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn what_is_not_taken_is_named() {
        let with = |from: &str, to: &str| {
            let file = String::from_utf8_lossy(&file("(2, 3)")[10..]).replace(from, to);
            [&b"\x93NUMPY\x01\x00"[..], &(file.len() as u16).to_le_bytes(), file.as_bytes(), &[0; 96]].concat()
        };
        for (from, to, part) in [
            ("False", "True", "Fortran order"),
            ("False", "1", "at \"1, 'shape'"),
            ("|u1", "<c8", "<c8"),
            ("|u1", ">i4", ">i4"),
            ("|u1", "i4", "element type i4"),
            ("'|u1'", "[('a', '<i4')]", "structured"),
            ("'descr': '|u1', ", "", "not as numpy writes it"),
            ("|u1", "<f8", "does not have the 96 bytes"),
        ] {
            let message = samples(with(from, to)).unwrap_err();
            assert!(message.contains(part), "{to}: {message}");
        }
        assert!(samples(&b"hello"[..]).unwrap_err().contains("not a .npy file"));
    }

    #[test]
    fn ordinary_sizes_are_read() {
        let with_data = [file("(2, 3)"), vec![7; 6]].concat();
        assert_eq!(samples(with_data).map(|array| (array.count, array.dims)), Ok((2, vec![3])));
        // Keys in another order and without the last comma, as other programs write them.
        let header = br#"{"shape":(2,3),"fortran_order":False,"descr":"<i2"}"#;
        let file = [&b"\x93NUMPY\x02\x00"[..], &(header.len() as u32).to_le_bytes(), header, &[7; 12]].concat();
        assert_eq!(samples(file).map(|array| (array.count, array.dims, array.dtype)), Ok((2, vec![3], DType::I16)));
    }
}
