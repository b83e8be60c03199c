//! Encodes and inflates whole samples and answers.

use bytes::Bytes;

use super::body::{Packer, Unpacker};
use super::filter::Filter;
use super::frame::Header;
use super::kind::{Codec, Layout};

/// The error for a sample or an answer that could not be encoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{codec}: {reason}")]
pub struct EncodeError {
    /// The codec that was used.
    pub codec: Codec,
    /// The fault in the bytes.
    pub reason: String,
}

/// The error for bytes that could not be inflated: no encoder made them, or they are more than is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{codec}: {reason}")]
pub struct InflateError {
    /// The codec that was used.
    pub codec: Codec,
    /// The fault in the bytes.
    pub reason: String,
}

/// The most bytes of a buffer that is kept for the next sample. Larger ones are given back at once, so that one large
/// sample does not make a thread hold its memory for ever.
pub(super) const KEPT_BYTES: usize = 1 << 20;

/// Gives the memory of a buffer back if it is a large one. Its content is gone either way.
fn let_go(buffer: &mut Vec<u8>) {
    if buffer.capacity() > KEPT_BYTES {
        *buffer = Vec::new();
    }
}

/// Encodes samples or answers, one after the other, with buffers of its own that are used again.
///
/// The same bytes always give the same encoded bytes, independent of what was encoded before.
#[derive(Debug)]
pub struct Encoder {
    codec: Codec,
    packer: Packer,
    /// The raw bytes after the filter.
    filtered: Vec<u8>,
    /// Room for a frame while its size is not known.
    frame: Vec<u8>,
}

impl Encoder {
    /// An encoder for one thread.
    pub fn new(codec: Codec) -> Encoder {
        Encoder { codec, packer: Packer::default(), filtered: Vec::new(), frame: Vec::new() }
    }

    /// The encoded bytes; `raw` itself, not copied, with [`Codec::None`] and [`Codec::Original`].
    ///
    /// # Errors
    /// See [`EncodeError`].
    pub fn encode(&mut self, raw: &Bytes, layout: Layout) -> Result<Bytes, EncodeError> {
        if self.codec.has_no_frame() {
            return Ok(raw.clone());
        }
        let framed = self.frame(raw, layout).map_err(|reason| EncodeError { codec: self.codec, reason });
        let_go(&mut self.filtered);
        let_go(&mut self.frame);
        self.packer.let_go();
        framed
    }

    fn frame(&mut self, raw: &[u8], layout: Layout) -> Result<Bytes, String> {
        let filter = Filter::of(self.codec);
        let header = Header::of(raw, filter.map(|_| layout))?;
        let mut content = raw;
        if let Some(filter) = filter {
            filter.apply(raw, layout, &mut self.filtered)?;
            content = &self.filtered;
        }
        let start = header.len();
        let room = start + Packer::bound(self.codec, content.len());
        if self.frame.len() < room {
            self.frame.resize(room, 0);
        }
        header.write(&mut self.frame);
        let body = self.packer.pack(self.codec, content, &mut self.frame[start..room])?;
        Ok(Bytes::copy_from_slice(&self.frame[..start + body]))
    }
}

/// Inflates samples or answers, one after the other, with buffers of its own that are used again. Any bytes may be
/// given.
#[derive(Debug)]
pub struct Inflater {
    codec: Codec,
    max_raw_bytes: u64,
    unpacker: Unpacker,
    /// The inflated bytes of a filter that cannot be undone in place.
    filtered: Vec<u8>,
}

impl Inflater {
    /// An inflater for one thread, for samples or answers of at most `max_raw_bytes`.
    pub fn new(codec: Codec, max_raw_bytes: u64) -> Inflater {
        Inflater { codec, max_raw_bytes, unpacker: Unpacker::default(), filtered: Vec::new() }
    }

    /// The bytes that were encoded; `encoded` itself, not copied, with [`Codec::None`]. The declared size is checked
    /// before any memory is taken for it: against the limit, and against what so many bytes can inflate to at most. No
    /// more memory is taken than [`Codec::inflating_bytes`] says.
    ///
    /// # Errors
    /// See [`InflateError`].
    pub fn inflate(&mut self, encoded: Bytes) -> Result<Bytes, InflateError> {
        let inflated = match self.codec {
            Codec::None | Codec::Original => self.within_limit(encoded.len() as u64).map(|_| encoded),
            _ => self.raw(&encoded).map(Bytes::from),
        };
        let_go(&mut self.filtered);
        inflated.map_err(|reason| InflateError { codec: self.codec, reason })
    }

    fn raw(&mut self, encoded: &[u8]) -> Result<Vec<u8>, String> {
        let filter = Filter::of(self.codec);
        let (header, body) = Header::read(encoded, filter.is_some())?;
        let len = self.within_limit(header.raw_len)?;
        let layout = header.layout.unwrap_or(Layout::Sample);
        let mut raw = Vec::new();
        match filter {
            None => self.unpacker.unpack(self.codec, body, len, &mut raw)?,
            Some(Filter::Delta) => {
                self.unpacker.unpack(self.codec, body, len, &mut raw)?;
                Filter::undo_delta(&mut raw, layout)?;
            }
            Some(Filter::Shuffle) => {
                self.unpacker.unpack(self.codec, body, len, &mut self.filtered)?;
                raw = Filter::undo_shuffle(&self.filtered, layout)?;
            }
        }
        header.check(&raw)?;
        Ok(raw)
    }

    fn within_limit(&self, raw_len: u64) -> Result<usize, String> {
        let fits = usize::try_from(raw_len).ok().filter(|_| raw_len <= self.max_raw_bytes);
        fits.ok_or_else(|| format!("{raw_len} bytes when inflated; {} are allowed", self.max_raw_bytes))
    }
}
