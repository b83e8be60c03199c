//! Lossless codecs: what a whole sample, or a whole answer, is wrapped in on the wire.
//!
//! Applied by whoever owns the bytes (the QSL, untimed; the SUT node, timed) and undone by whoever uses them. Nothing in
//! between looks inside. A level is the encoder's business alone: any inflater of a codec takes any level of it.
//!
//! | codec | what it does | worth it for |
//! |---|---|---|
//! | `none` | nothing, without a copy | links faster than any inflater |
//! | `zstd[:level]` | zstd | padded token ids, masks |
//! | `lz4` | LZ4: less gain, for less work | padded token ids on fast links |
//! | `shuffle-zstd[:level]` | first bytes of all elements, then second bytes, ...; then zstd | integers, random floats |
//! | `delta-zstd[:level]` | difference to the pixel before, per channel; then zstd | u8 images |
//! | `original` | nothing: the sample's one tensor, `u8[bytes]`, is a file of the dataset as it is (a JPEG), and who uses it decodes it | photographs |
//!
//! # Bytes
//!
//! All integers are little-endian. `none` and `original` have no frame: the bytes are what they are. The others:
//!
//! | bytes | what |
//! |---|---|
//! | 8 | length of the raw bytes |
//! | 4 | low half of the XXH64 (seed 0) of the raw bytes |
//! | 1 | only of codecs with a filter, what it knew: 0 for a sample, else the bytes of one element |
//! | rest | one zstd frame that states its content's size, or one LZ4 block; nothing if there are no raw bytes |
//!
//! Filters work tensor by tensor, with types and shapes from the sample's own header. The header and the padding stay
//! as they are, so that an inflater finds the shapes before it undoes the filter.
//!
//! The sum is over the raw bytes, behind the filter: damage anywhere in a frame shows, and so would a filter of ours that
//! does not undo itself. It costs a few percent of inflating. It is no protection against intent; TLS is.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use bytes::Bytes;

mod body;
mod delta;
mod filter;
mod frame;
mod shuffle;
mod sum;

use body::{Packer, Unpacker};
use filter::Filter;
use frame::Header;

/// A codec, with its level where it has one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Codec {
    /// As they are.
    #[default]
    None,
    /// zstd.
    Zstd(ZstdLevel),
    /// LZ4, the block format.
    Lz4,
    /// The bytes of the elements regrouped by their place in the element, then zstd.
    ShuffleZstd(ZstdLevel),
    /// u8 tensors as differences to the pixel before, then zstd.
    DeltaZstd(ZstdLevel),
    /// The dataset's own compression: a sample's one tensor is the file's bytes. For samples only, never for answers.
    Original,
}

/// How hard zstd tries: 1 to 19.
///
/// The default is 1. On image noise and on token ids alike level 3 gained at most 8 % more than level 1 (and on ids
/// sometimes less), for up to five times the work; level 9 cost ten times the work for the same. What the level does
/// not change is how fast a sample inflates, which is what counts in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ZstdLevel(i32);

impl ZstdLevel {
    /// What can be asked for.
    pub const RANGE: RangeInclusive<i32> = 1..=19;

    /// `None` outside of [`ZstdLevel::RANGE`].
    pub fn new(level: i32) -> Option<ZstdLevel> {
        ZstdLevel::RANGE.contains(&level).then_some(ZstdLevel(level))
    }

    /// The number.
    pub fn get(self) -> i32 {
        self.0
    }
}

impl Default for ZstdLevel {
    fn default() -> ZstdLevel {
        ZstdLevel(1)
    }
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
    #[error("'{0}' is not a codec (known: {known}, original)", known = Codec::NAMES.join(", "))]
    Unknown(String),
    /// The codec has levels, and this is none of them.
    #[error(
        "'{level}' is not a level of {codec} ({low} to {high}; {codec} alone is {codec}:{default})",
        low = ZstdLevel::RANGE.start(),
        high = ZstdLevel::RANGE.end(),
        default = ZstdLevel::default().get()
    )]
    Level {
        /// The codec's name.
        codec: &'static str,
        /// What was given as its level.
        level: String,
    },
    /// The codec has no levels, and one was given.
    #[error("{codec} has no levels: write {codec}, not {codec}:{level}")]
    NoLevels {
        /// The codec's name.
        codec: &'static str,
        /// What was given as its level.
        level: String,
    },
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
    /// The name of every codec that any end can undo, without levels. [`Codec::Original`] is not among them: only who
    /// has a decoder and a preprocessing takes it.
    pub const NAMES: [&'static str; 5] = ["none", "zstd", "lz4", "shuffle-zstd", "delta-zstd"];

    /// Its name without the level: what `Describe` and `StartRun` call it.
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

    /// The level, where it has one.
    pub fn level(self) -> Option<i32> {
        match self {
            Codec::None | Codec::Lz4 | Codec::Original => None,
            Codec::Zstd(level) | Codec::ShuffleZstd(level) | Codec::DeltaZstd(level) => Some(level.get()),
        }
    }

    /// Bytes that inflating these takes, as they say themselves: nothing to rely on, but inflating makes no more of
    /// them. 0 when they are too short to say.
    pub fn declared_bytes(self, encoded: &[u8]) -> u64 {
        match self {
            Codec::None | Codec::Original => encoded.len() as u64,
            _ => encoded.first_chunk().map_or(0, |raw_len| u64::from_le_bytes(*raw_len)),
        }
    }

    /// The bytes stay as they are, and nobody has to do anything to use them.
    pub fn is_none(self) -> bool {
        self == Codec::None
    }

    /// The bytes stay as they are on this level.
    fn has_no_frame(self) -> bool {
        matches!(self, Codec::None | Codec::Original)
    }

    fn filter(self) -> Option<Filter> {
        match self {
            Codec::None | Codec::Original | Codec::Zstd(_) | Codec::Lz4 => None,
            Codec::ShuffleZstd(_) => Some(Filter::Shuffle),
            Codec::DeltaZstd(_) => Some(Filter::Delta),
        }
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
    // "+3" and "03" are numbers to the standard library, but nobody's way to write a level.
    let number = text.parse().ok().filter(|number: &i32| number.to_string() == text);
    let known = number.and_then(ZstdLevel::new);
    let name = codec(ZstdLevel::default()).name();
    known.map(codec).ok_or_else(|| CodecError::Level { codec: name, level: text.to_owned() })
}

fn without_level(codec: Codec, level: Option<&str>) -> Result<Codec, CodecError> {
    match level {
        None => Ok(codec),
        Some(level) => Err(CodecError::NoLevels { codec: codec.name(), level: level.to_owned() }),
    }
}

/// Encodes one after the other, with buffers of its own that are used again.
///
/// The same bytes always give the same encoded bytes, whatever was encoded before.
#[derive(Debug)]
pub struct Encoder {
    codec: Codec,
    packer: Packer,
    /// What the filter makes of the raw bytes.
    filtered: Vec<u8>,
    /// The frame while its size is not known.
    frame: Vec<u8>,
}

impl Encoder {
    /// One thread's encoder.
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
        self.frame(raw, layout).map_err(|reason| EncodeError { codec: self.codec, reason })
    }

    fn frame(&mut self, raw: &[u8], layout: Layout) -> Result<Bytes, String> {
        let filter = self.codec.filter();
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

/// Inflates one after the other, with buffers of its own that are used again. Takes any bytes.
#[derive(Debug)]
pub struct Inflater {
    codec: Codec,
    max_raw_bytes: u64,
    unpacker: Unpacker,
    /// What a filter that cannot be undone in place is undone from.
    filtered: Vec<u8>,
}

impl Inflater {
    /// One thread's inflater, for samples or answers of at most `max_raw_bytes`.
    pub fn new(codec: Codec, max_raw_bytes: u64) -> Inflater {
        Inflater { codec, max_raw_bytes, unpacker: Unpacker::default(), filtered: Vec::new() }
    }

    /// What was encoded; `encoded` itself, not copied, with [`Codec::None`]. The declared size is checked before any
    /// memory is taken for it: against the limit, and against what so many bytes can inflate to at most.
    ///
    /// # Errors
    /// See [`InflateError`].
    pub fn inflate(&mut self, encoded: Bytes) -> Result<Bytes, InflateError> {
        let inflated = match self.codec {
            Codec::None | Codec::Original => self.within_limit(encoded.len() as u64).map(|_| encoded),
            _ => self.raw(&encoded).map(Bytes::from),
        };
        inflated.map_err(|reason| InflateError { codec: self.codec, reason })
    }

    fn raw(&mut self, encoded: &[u8]) -> Result<Vec<u8>, String> {
        let filter = self.codec.filter();
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
