//! Lossless codecs: what a whole sample, or a whole answer, is wrapped in on the wire.
//!
//! Applied by whoever owns the bytes (the QSL, untimed; the SUT node, timed) and undone by whoever uses them. Nothing in
//! between looks inside. A level is the encoder's business alone: any inflater of a codec takes any level of it.

use std::fmt;
use std::str::FromStr;

use bytes::Bytes;

/// A codec, with its level where it has one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Codec {
    /// As they are.
    #[default]
    None,
}

/// What a filter may know of the bytes before they are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// A sample as [`crate::sample`] lays it out: tensors with type and shape.
    Sample,
    /// Bytes of elements of this size, of which nothing else is known: an answer.
    Elements {
        /// Bytes of one element, 1 to 8.
        element_bytes: u8,
    },
}

/// Why the text is no codec.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// Nobody knows it.
    #[error("'{0}' is not a codec (known: {known})", known = Codec::NAMES.join(", "))]
    Unknown(String),
}

/// Why a sample or an answer could not be encoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{codec}: {reason}")]
pub struct EncodeError {
    /// By what.
    pub codec: Codec,
    /// Why not.
    pub reason: String,
}

/// Why encoded bytes could not be inflated: they are not what an encoder made, or more than is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{codec}: {reason}")]
pub struct InflateError {
    /// By what.
    pub codec: Codec,
    /// Why not.
    pub reason: String,
}

impl Codec {
    /// Every codec's name, without levels.
    pub const NAMES: [&'static str; 1] = ["none"];

    /// Its name without the level: what `Describe` and `StartRun` call it.
    pub fn name(self) -> &'static str {
        match self {
            Codec::None => "none",
        }
    }

    /// The level, where it has one.
    pub fn level(self) -> Option<i32> {
        match self {
            Codec::None => None,
        }
    }

    /// The bytes stay as they are.
    pub fn is_none(self) -> bool {
        self == Codec::None
    }
}

/// As typed, with the level where it has one: `zstd:3`.
impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        self.level().map_or(Ok(()), |level| write!(f, ":{level}"))
    }
}

impl FromStr for Codec {
    type Err = CodecError;

    fn from_str(text: &str) -> Result<Codec, CodecError> {
        match text {
            "none" => Ok(Codec::None),
            _ => Err(CodecError::Unknown(text.to_owned())),
        }
    }
}

/// Encodes one after the other, with buffers of its own that are used again.
#[derive(Debug)]
pub struct Encoder {
    codec: Codec,
}

impl Encoder {
    /// One thread's encoder.
    pub fn new(codec: Codec) -> Encoder {
        Encoder { codec }
    }

    /// The encoded bytes; `raw` itself, not copied, with [`Codec::None`].
    ///
    /// # Errors
    /// See [`EncodeError`].
    pub fn encode(&mut self, raw: &Bytes, layout: Layout) -> Result<Bytes, EncodeError> {
        let _ = layout;
        match self.codec {
            Codec::None => Ok(raw.clone()),
        }
    }
}

/// Inflates one after the other, with buffers of its own that are used again. Takes any bytes.
#[derive(Debug)]
pub struct Inflater {
    codec: Codec,
    max_raw_bytes: u64,
}

impl Inflater {
    /// One thread's inflater, for samples or answers of at most `max_raw_bytes`.
    pub fn new(codec: Codec, max_raw_bytes: u64) -> Inflater {
        Inflater { codec, max_raw_bytes }
    }

    /// What was encoded; `encoded` itself, not copied, with [`Codec::None`]. The declared size is checked before any
    /// memory is taken for it.
    ///
    /// # Errors
    /// See [`InflateError`].
    pub fn inflate(&mut self, encoded: Bytes) -> Result<Bytes, InflateError> {
        let _ = self.max_raw_bytes;
        match self.codec {
            Codec::None => Ok(encoded),
        }
    }
}
