//! The beginning of both files of stages: 8 bytes magic; a `u32` length, little-endian; that much JSON.

use std::io::{self, Read};

use serde::Serialize;
use serde::de::DeserializeOwned;

pub(super) type Magic = [u8; 8];

/// Length of the longest JSON that is read, bytes.
const MAX_JSON: u32 = 1 << 20;

/// The bytes of a beginning.
pub(super) fn bytes(magic: Magic, header: &impl Serialize) -> io::Result<Vec<u8>> {
    let text = serde_json::to_vec(header)?;
    Ok([&magic[..], &(text.len() as u32).to_le_bytes(), &text].concat())
}

/// Reads a beginning.
///
/// # Errors
/// The file begins otherwise, or has ended.
pub(super) fn read<T: DeserializeOwned>(magic: Magic, file: &mut impl Read) -> io::Result<T> {
    let (mut begin, mut length) = (Magic::default(), [0; 4]);
    file.read_exact(&mut begin)?;
    file.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length);
    if begin != magic || length > MAX_JSON {
        let name = magic.escape_ascii();
        let message = format!("these are no stages of samples, or those of another version: the file lacks {name}");
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    let mut text = vec![0; length as usize];
    file.read_exact(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}
