//! The codecs: their names, their levels, and what a filter may know.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// A codec, with its level if it has levels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Codec {
    /// The bytes stay as they are.
    #[default]
    None,
    /// The bytes are compressed with zstd.
    Zstd(ZstdLevel),
    /// The bytes are compressed with LZ4, in its block format.
    Lz4,
    /// The bytes of the elements are regrouped by their place in the element, then compressed with zstd.
    ShuffleZstd(ZstdLevel),
    /// u8 tensors become differences to the pixel before; then the bytes are compressed with zstd.
    DeltaZstd(ZstdLevel),
    /// The dataset's own compression: a sample's one tensor is the file's bytes. For samples only, never for answers.
    Original,
}

/// The level of zstd, 1 to 19: how hard it tries.
///
/// The default is 1. On image noise and on token ids level 3 gained at most 8 % more than level 1 (on ids sometimes
/// less), for up to five times the work; level 9 cost ten times the work for the same gain. The level does not change
/// how fast a sample inflates, and that is what counts in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ZstdLevel(i32);

impl ZstdLevel {
    /// The levels that can be chosen.
    pub const RANGE: RangeInclusive<i32> = 1..=19;

    /// This level; none outside of [`ZstdLevel::RANGE`].
    pub fn new(level: i32) -> Option<ZstdLevel> {
        ZstdLevel::RANGE.contains(&level).then_some(ZstdLevel(level))
    }

    /// The level as a number.
    pub fn get(self) -> i32 {
        self.0
    }
}

impl Default for ZstdLevel {
    fn default() -> ZstdLevel {
        ZstdLevel(1)
    }
}

/// The layout of bytes, as a filter knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// A sample as [`crate::sample`] lays it out: tensors with type and shape.
    Sample,
    /// An answer: bytes of elements of this size, about which nothing else is known.
    Elements {
        /// Number of bytes of one element, 1 to 8.
        element_bytes: u8,
    },
}

/// The error for a text that is not a codec.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// There is no codec of this name.
    #[error("'{0}' is not a codec (known: {names}, original)", names = Codec::NAMES.join(", "))]
    Unknown(String),
    /// The codec has levels, but not this one.
    #[error(
        "'{level}' is not a level of {codec} ({low} to {high}; {codec} alone is {codec}:{default})",
        low = ZstdLevel::RANGE.start(),
        high = ZstdLevel::RANGE.end(),
        default = ZstdLevel::default().get()
    )]
    Level {
        /// The codec's name.
        codec: &'static str,
        /// The level as it was typed.
        level: String,
    },
    /// The codec has no levels, and one was given.
    #[error("{codec} has no levels: write {codec}, not {codec}:{level}")]
    NoLevels {
        /// The codec's name.
        codec: &'static str,
        /// The level as it was typed.
        level: String,
    },
}

impl Codec {
    /// The name of every codec that any end can undo, without levels. [`Codec::Original`] is not among them: only an
    /// end that decodes and preprocesses images takes it.
    pub const NAMES: [&'static str; 5] = ["none", "zstd", "lz4", "shuffle-zstd", "delta-zstd"];

    /// The name without the level, as in `Describe` and `StartRun`.
    pub fn name(self) -> &'static str {
        match self {
            Codec::None => "none",
            Codec::Zstd(_) => "zstd",
            Codec::Lz4 => "lz4",
            Codec::ShuffleZstd(_) => "shuffle-zstd",
            Codec::DeltaZstd(_) => "delta-zstd",
            Codec::Original => "original",
        }
    }

    /// The level; none for codecs without levels.
    pub fn level(self) -> Option<i32> {
        match self {
            Codec::None | Codec::Lz4 | Codec::Original => None,
            Codec::Zstd(level) | Codec::ShuffleZstd(level) | Codec::DeltaZstd(level) => Some(level.get()),
        }
    }

    /// The number of bytes that these encoded bytes declare to inflate to; 0 when they are too short to say. It may be
    /// wrong, but inflating never makes more bytes than declared.
    pub fn declared_bytes(self, encoded: &[u8]) -> u64 {
        match self {
            Codec::None | Codec::Original => encoded.len() as u64,
            _ => encoded.first_chunk().map_or(0, |raw_len| u64::from_le_bytes(*raw_len)),
        }
    }

    /// The most bytes of memory that are taken while these encoded bytes are inflated, beside themselves: what they
    /// declare to inflate to, and once more where a filter needs a second buffer.
    pub fn inflating_bytes(self, encoded: &[u8]) -> u64 {
        match self {
            Codec::None | Codec::Original => 0,
            Codec::Zstd(_) | Codec::Lz4 | Codec::DeltaZstd(_) => self.declared_bytes(encoded),
            Codec::ShuffleZstd(_) => self.declared_bytes(encoded).saturating_mul(2),
        }
    }

    /// Returns true when the bytes stay as they are and can be used without decoding.
    pub fn is_none(self) -> bool {
        self == Codec::None
    }

    /// Returns true when the bytes travel without a frame.
    pub(super) fn has_no_frame(self) -> bool {
        matches!(self, Codec::None | Codec::Original)
    }
}

/// The codec as it is typed, with its level if it has levels: `zstd:3`.
impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        self.level().map_or(Ok(()), |level| write!(f, ":{level}"))
    }
}

impl FromStr for Codec {
    type Err = CodecError;

    fn from_str(text: &str) -> Result<Codec, CodecError> {
        let (name, level) = text.split_once(':').map_or((text, None), |(name, level)| (name, Some(level)));
        match name {
            "none" => without_level(Codec::None, level),
            "zstd" => with_level(Codec::Zstd, level),
            "lz4" => without_level(Codec::Lz4, level),
            "shuffle-zstd" => with_level(Codec::ShuffleZstd, level),
            "delta-zstd" => with_level(Codec::DeltaZstd, level),
            "original" => without_level(Codec::Original, level),
            _ => Err(CodecError::Unknown(text.to_owned())),
        }
    }
}

fn with_level(codec: fn(ZstdLevel) -> Codec, level: Option<&str>) -> Result<Codec, CodecError> {
    let Some(text) = level else { return Ok(codec(ZstdLevel::default())) };
    // The standard library also reads "+3" and "03" as numbers.
    let number = text.parse().ok().filter(|number: &i32| number.to_string() == text);
    let zstd_level = number.and_then(ZstdLevel::new);
    let name = codec(ZstdLevel::default()).name();
    zstd_level.map(codec).ok_or_else(|| CodecError::Level { codec: name, level: text.to_owned() })
}

fn without_level(codec: Codec, level: Option<&str>) -> Result<Codec, CodecError> {
    match level {
        None => Ok(codec),
        Some(level) => Err(CodecError::NoLevels { codec: codec.name(), level: level.to_owned() }),
    }
}
