//! Lossless codecs: how a whole sample, or a whole answer, is compressed for the network.
//!
//! The owner of the bytes encodes them (the QSL samples, untimed; the SUT node answers, timed), and the user of the
//! bytes inflates them. Nothing between the two looks inside. Only the encoder knows the level: an inflater takes every
//! level.
//!
//! | codec | what it does | worth it for |
//! |---|---|---|
//! | `none` | nothing, without a copy | links faster than any inflater |
//! | `zstd[:level]` | zstd | padded token ids, masks |
//! | `lz4` | LZ4: less gain, for less work | padded token ids on fast links |
//! | `shuffle-zstd[:level]` | first bytes of all elements, then second bytes, ...; zstd | integers, random floats |
//! | `delta-zstd[:level]` | difference to the pixel before, per channel; then zstd | u8 images |
//! | `original` | nothing: the sample's one tensor, `u8[bytes]`, is a file of the dataset (a JPEG) | photographs |
//!
//! # Bytes
//!
//! All integers are little-endian. `none` and `original` have no frame. The frame of the others:
//!
//! | bytes | what |
//! |---|---|
//! | 8 | length of the raw bytes |
//! | 4 | low half of the XXH64 (seed 0) of the raw bytes |
//! | 1 | only with a filter: 0 for a sample, for an answer the bytes of one element |
//! | rest | one zstd frame that states its content's size, or one LZ4 block; nothing if there are no raw bytes |
//!
//! Filters work tensor by tensor, with types and shapes from the sample's own header. The header and the padding stay
//! as they are, so that an inflater finds the shapes before it undoes the filter.
//!
//! The sum is over the raw bytes, after the filter was undone: it shows damage anywhere in a frame, and a filter that
//! does not undo itself. It costs a few percent of inflating. It does not protect against intent; TLS does.
//!
//! # Files
//!
//! - `kind`: the codecs, their names and levels;
//! - `coder`: [`Encoder`] and [`Inflater`];
//! - `frame`, `sum`: the header of a frame and its checksum; `body`: what follows the header;
//! - `filter`: which bytes a filter works on; `shuffle`, `delta`: the filters themselves.

mod body;
mod coder;
mod delta;
mod filter;
mod frame;
mod kind;
mod shuffle;
mod sum;

pub use coder::{EncodeError, Encoder, InflateError, Inflater};
pub use kind::{Codec, CodecError, Layout, ZstdLevel};
