//! The header of a stored phase: its length in bytes (`u32`, little-endian), then that much JSON.

use std::io;

use serde::Serialize;

/// Length of the longest header that is accepted, bytes.
const MAX_LENGTH: u32 = 1 << 20;

/// The length and the JSON, as they are stored.
pub(super) fn to_bytes(header: &impl Serialize) -> io::Result<Vec<u8>> {
    let text = serde_json::to_vec(header)?;
    Ok([&(text.len() as u32).to_le_bytes()[..], &text].concat())
}

/// Reads the JSON of a header through `read`, which fills the slice that it is given. `too_long` makes the error of a
/// header that claims more bytes than any has.
pub(super) fn read<E>(
    mut fill: impl FnMut(&mut [u8]) -> Result<(), E>,
    too_long: impl FnOnce(String) -> E,
) -> Result<Vec<u8>, E> {
    let mut length = [0; 4];
    fill(&mut length)?;
    let length = u32::from_le_bytes(length);
    if length > MAX_LENGTH {
        return Err(too_long(format!("it claims to be {length} bytes long")));
    }
    let mut text = vec![0; length as usize];
    fill(&mut text)?;
    Ok(text)
}
