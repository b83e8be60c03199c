//! The compressed body of a frame: one zstd frame, or one LZ4 block.

use std::fmt;

use lz4_flex::block::{self as lz4, CompressTable};
use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe;

use super::kind::Codec;

/// Below this length LZ4 looks for repetitions with a table of 16-bit places, else with one of 32-bit places.
const LZ4_SMALL_BYTES: usize = u16::MAX as usize;
/// Each byte of an LZ4 block inflates to at most this many bytes.
const LZ4_MAX_RATIO: u64 = 255;
/// The most memory of a compressor that is kept. Level 1 takes less, whatever the content.
const KEPT_COMPRESSOR_BYTES: usize = 4 << 20;
/// The most content bytes that one block of a zstd frame can hold.
const ZSTD_BLOCK_BYTES: u64 = 128 << 10;
/// The fewest bytes that one block of a zstd frame takes: its header, and one byte that is repeated.
const ZSTD_MIN_BLOCK_BYTES: u64 = 4;

/// The compressors, each made when it is first needed.
#[derive(Default)]
pub(super) struct Packer {
    zstd: Option<Compressor<'static>>,
    lz4_small: Option<CompressTable>,
    lz4_large: Option<CompressTable>,
}

/// The decompressor, made when it is first needed.
#[derive(Default)]
pub(super) struct Unpacker {
    zstd: Option<Decompressor<'static>>,
}

impl Packer {
    /// The most bytes that the body of so much content can have.
    pub(super) fn bound(codec: Codec, content: usize) -> usize {
        match codec {
            Codec::None | Codec::Original => content,
            Codec::Lz4 => lz4::get_maximum_output_size(content),
            Codec::Zstd(_) | Codec::ShuffleZstd(_) | Codec::DeltaZstd(_) => zstd_safe::compress_bound(content),
        }
    }

    /// Compresses into `body`, which has room for [`Packer::bound`]. Returns how many bytes of it were used.
    pub(super) fn pack(&mut self, codec: Codec, content: &[u8], body: &mut [u8]) -> Result<usize, String> {
        if content.is_empty() {
            return Ok(0);
        }
        match codec.level() {
            Some(level) => self.zstd(level, content, body),
            None => self.lz4(content, body),
        }
    }

    /// Gives back a compressor with much memory, which a high level takes for large content.
    pub(super) fn let_go(&mut self) {
        if self.zstd.as_mut().is_some_and(|zstd| zstd.context_mut().sizeof() > KEPT_COMPRESSOR_BYTES) {
            self.zstd = None;
        }
    }

    fn zstd(&mut self, level: i32, content: &[u8], body: &mut [u8]) -> Result<usize, String> {
        let failure = |error: std::io::Error| format!("zstd cannot compress {} bytes: {error}", content.len());
        let compressor = match &mut self.zstd {
            Some(compressor) => compressor,
            none => none.insert(Compressor::new(level).map_err(failure)?),
        };
        compressor.compress_to_buffer(content, body).map_err(failure)
    }

    fn lz4(&mut self, content: &[u8], body: &mut [u8]) -> Result<usize, String> {
        if u32::try_from(content.len()).is_err() {
            return Err(format!("{} bytes; a block has less than 4 GiB", content.len()));
        }
        let table = match content.len() < LZ4_SMALL_BYTES {
            true => self.lz4_small.get_or_insert_with(CompressTable::small),
            false => self.lz4_large.get_or_insert_with(CompressTable::large),
        };
        let packed = lz4::compress_into_with_table(content, body, table);
        packed.map_err(|error| format!("LZ4 cannot compress {} bytes: {error}", content.len()))
    }
}

impl Unpacker {
    /// Inflates a body of exactly `len` bytes into `out`, whose content is replaced.
    pub(super) fn unpack(&mut self, codec: Codec, body: &[u8], len: usize, out: &mut Vec<u8>) -> Result<(), String> {
        out.clear();
        if len == 0 {
            return match body.len() {
                0 => Ok(()),
                trailing => Err(format!("{trailing} bytes follow a frame of nothing")),
            };
        }
        let size = match codec.level() {
            Some(_) => self.unzstd(body, len, out)?,
            None => unlz4(body, len, out)?,
        };
        match size == len {
            true => Ok(()),
            false => Err(format!("inflates to {size} bytes, the frame says {len}")),
        }
    }

    fn unzstd(&mut self, body: &[u8], len: usize, out: &mut Vec<u8>) -> Result<usize, String> {
        let declared = match zstd_safe::get_frame_content_size(body) {
            Ok(Some(declared)) => declared,
            Ok(None) => return Err("the zstd frame does not state its size".to_owned()),
            Err(_) => return Err("no zstd frame follows the header".to_owned()),
        };
        if declared != len as u64 {
            return Err(format!("the zstd frame says {declared} bytes, the header {len}"));
        }
        let size = zstd_safe::find_frame_compressed_size(body);
        let size = size.map_err(|code| format!("the zstd frame is cut short: {}", zstd_safe::get_error_name(code)))?;
        if size != body.len() {
            return Err(format!("{} bytes follow the zstd frame", body.len() - size));
        }
        plausible(len, body, (body.len() as u64 / ZSTD_MIN_BLOCK_BYTES).saturating_mul(ZSTD_BLOCK_BYTES))?;
        reserve(out, len)?;
        let failure = |error: std::io::Error| format!("damaged zstd frame: {error}");
        let decompressor = match &mut self.zstd {
            Some(decompressor) => decompressor,
            none => none.insert(Decompressor::new().map_err(failure)?),
        };
        decompressor.decompress_to_buffer(body, out).map_err(failure)
    }
}

fn unlz4(body: &[u8], len: usize, out: &mut Vec<u8>) -> Result<usize, String> {
    plausible(len, body, (body.len() as u64).saturating_mul(LZ4_MAX_RATIO))?;
    reserve(out, len)?;
    out.resize(len, 0);
    lz4::decompress_into(body, out).map_err(|error| format!("damaged LZ4 block: {error}"))
}

/// An error when the body cannot inflate to `len` bytes, so that no memory is taken for it.
fn plausible(len: usize, body: &[u8], most: u64) -> Result<(), String> {
    match len as u64 <= most {
        true => Ok(()),
        false => Err(format!("said to be {len} bytes, but {} bytes inflate to {most} at most", body.len())),
    }
}

fn reserve(out: &mut Vec<u8>, len: usize) -> Result<(), String> {
    out.try_reserve_exact(len).map_err(|_| format!("no memory for {len} bytes"))
}

impl fmt::Debug for Packer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Packer")
    }
}

impl fmt::Debug for Unpacker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Unpacker")
    }
}
