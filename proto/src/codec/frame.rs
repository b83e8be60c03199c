//! The header in front of every compressed body. Its bytes are described in [`super`].

use super::kind::Layout;
use super::sum::sum;

const LEN_BYTES: usize = 8;
const SUM_BYTES: usize = 4;

/// The byte that stands for [`Layout::Sample`].
const SAMPLE: u8 = 0;
/// The most bytes that one element can have.
const MAX_ELEMENT_BYTES: u8 = 8;

/// The header in front of a compressed body.
pub(super) struct Header {
    /// Number of raw bytes.
    pub(super) raw_len: u64,
    sum: u32,
    /// The layout of the bytes, as the filter knew it; `None` without a filter.
    pub(super) layout: Option<Layout>,
}

impl Header {
    /// The header of a frame with these raw bytes.
    pub(super) fn of(raw: &[u8], layout: Option<Layout>) -> Result<Header, String> {
        match layout {
            Some(Layout::Elements { element_bytes }) if !(1..=MAX_ELEMENT_BYTES).contains(&element_bytes) => {
                Err(format!("elements of {element_bytes} bytes; 1 to {MAX_ELEMENT_BYTES} are taken"))
            }
            layout => Ok(Header { raw_len: raw.len() as u64, sum: sum(raw), layout }),
        }
    }

    /// Number of bytes of the header itself.
    pub(super) fn len(&self) -> usize {
        LEN_BYTES + SUM_BYTES + usize::from(self.layout.is_some())
    }

    /// Writes the header to the start of `frame`, which has room for it.
    pub(super) fn write(&self, frame: &mut [u8]) {
        frame[..LEN_BYTES].copy_from_slice(&self.raw_len.to_le_bytes());
        frame[LEN_BYTES..LEN_BYTES + SUM_BYTES].copy_from_slice(&self.sum.to_le_bytes());
        match self.layout {
            None => {}
            Some(Layout::Sample) => frame[LEN_BYTES + SUM_BYTES] = SAMPLE,
            Some(Layout::Elements { element_bytes }) => frame[LEN_BYTES + SUM_BYTES] = element_bytes,
        }
    }

    /// Reads a frame: the header, and the body behind it.
    pub(super) fn read(frame: &[u8], has_filter: bool) -> Result<(Header, &[u8]), String> {
        let short = || format!("{} bytes, which is less than the header of a frame", frame.len());
        let (raw_len, tail) = frame.split_first_chunk::<LEN_BYTES>().ok_or_else(short)?;
        let (sum, mut body) = tail.split_first_chunk::<SUM_BYTES>().ok_or_else(short)?;
        let mut layout = None;
        if has_filter {
            let (&code, tail) = body.split_first().ok_or_else(short)?;
            layout = Some(match code {
                SAMPLE => Layout::Sample,
                element_bytes @ 1..=MAX_ELEMENT_BYTES => Layout::Elements { element_bytes },
                _ => return Err(format!("filtered by elements of {code} bytes, which no encoder does")),
            });
            body = tail;
        }
        Ok((Header { raw_len: u64::from_le_bytes(*raw_len), sum: u32::from_le_bytes(*sum), layout }, body))
    }

    /// An error when these are not the bytes that were encoded.
    pub(super) fn check(&self, raw: &[u8]) -> Result<(), String> {
        match sum(raw) {
            actual if actual == self.sum => Ok(()),
            actual => {
                Err(format!("damaged: the inflated bytes have the sum {actual:08x}, the frame says {:08x}", self.sum))
            }
        }
    }
}
