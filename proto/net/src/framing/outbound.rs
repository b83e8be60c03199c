//! Messages on their way out, framed and gathered.

use std::collections::VecDeque;

use bytes::{Buf, BufMut as _, Bytes, BytesMut};
use lon_proto::assembly::Part;
use lon_proto::v1::{DispatchResponse, End};
use prost::Message;
use prost::encoding::{WireType, bool, encode_key, encode_varint, fixed64, uint32, uint64};
use tonic::Status;

use super::frame::{END, PLAIN, PREFIX_BYTES};

/// Payloads up to this size are copied beside their heads: cheaper than a write vector's entry, or a frame, of their
/// own. Larger ones leave as they are.
pub(super) const GATHER_BYTES: usize = 8 << 10;

/// Room that is asked for when heads and small payloads are gathered.
const GATHER_ROOM_BYTES: usize = 64 << 10;

/// Fields of a Dispatch message that come before its payload, in both directions alike.
struct Head {
    id: u64,
    part: u32,
    last: bool,
    total_len: u64,
}

const DATA_FIELD: u32 = 5;

impl Head {
    /// As prost would: fields in order, zeros left out.
    fn put(&self, buffer: &mut BytesMut) {
        if self.id != 0 {
            fixed64::encode(1, &self.id, buffer);
        }
        if self.part != 0 {
            uint32::encode(2, &self.part, buffer);
        }
        if self.last {
            bool::encode(3, &self.last, buffer);
        }
        if self.total_len != 0 {
            uint64::encode(4, &self.total_len, buffer);
        }
    }
}

/// Messages in frames on their way out, as chunks in their order.
#[derive(Debug, Default)]
pub struct Outbound {
    chunks: VecDeque<Bytes>,
    /// The bytes behind the chunks: heads and small payloads.
    gathered: BytesMut,
    len: usize,
    total: u64,
}

impl Outbound {
    /// Bytes that wait to leave.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true when no bytes wait to leave.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes ever put in: the position in the stream of the end of the last message.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// A part of a sample. Returns the bytes of the message, without its prefix.
    pub fn push_request(&mut self, id: u64, part: Part) -> u64 {
        let Part { number, last, total_len, data } = part;
        self.push(&Head { id, part: number, last, total_len }, data, |_| {})
    }

    /// A part of an answer, or a heartbeat. Returns the bytes of the message, without its prefix.
    pub fn push_response(&mut self, message: DispatchResponse) -> u64 {
        let DispatchResponse { id, part, last, total_len, .. } = message;
        let mut body = DispatchResponse { id: 0, part: 0, last: false, total_len: 0, ..message };
        let data = std::mem::take(&mut body.data);
        self.push(&Head { id, part, last, total_len }, data, |buffer| body.encode_raw(buffer))
    }

    /// Any message, copied.
    pub fn push_message(&mut self, message: &impl Message) -> u64 {
        let no_head = Head { id: 0, part: 0, last: false, total_len: 0 };
        self.push(&no_head, Bytes::new(), |buffer| message.encode_raw(buffer))
    }

    /// The end of the stream and how it came about, for transports that cannot say it otherwise.
    pub fn push_end(&mut self, how: &Result<(), Status>) {
        let end = match how {
            Ok(()) => End::default(),
            Err(status) => End { code: status.code() as u32, message: status.message().to_owned() },
        };
        let len = end.encoded_len();
        self.gathered.reserve(PREFIX_BYTES + len);
        self.gathered.put_u8(END);
        self.gathered.put_u32(len as u32);
        end.encode_raw(&mut self.gathered);
        self.count(PREFIX_BYTES + len);
    }

    fn push(&mut self, head: &Head, data: Bytes, put_tail: impl FnOnce(&mut BytesMut)) -> u64 {
        if self.gathered.capacity() - self.gathered.len() < GATHER_BYTES {
            self.gathered.reserve(GATHER_ROOM_BYTES);
        }
        let start = self.gathered.len();
        self.gathered.put_u8(PLAIN);
        self.gathered.put_u32(0);
        head.put(&mut self.gathered);
        if !data.is_empty() {
            encode_key(DATA_FIELD, WireType::LengthDelimited, &mut self.gathered);
            encode_varint(data.len() as u64, &mut self.gathered);
        }
        let head_len = self.gathered.len() - start - PREFIX_BYTES;
        let data_len = data.len();
        if data_len <= GATHER_BYTES {
            self.gathered.extend_from_slice(&data);
            put_tail(&mut self.gathered);
            let message_len = self.gathered.len() - start - PREFIX_BYTES;
            self.set_len(start, message_len);
            self.count(PREFIX_BYTES + message_len);
            return message_len as u64;
        }
        let mut tail = BytesMut::new();
        put_tail(&mut tail);
        let message_len = head_len + data_len + tail.len();
        self.set_len(start, message_len);
        self.seal();
        self.chunks.push_back(data);
        self.gathered.extend_from_slice(&tail);
        self.count(PREFIX_BYTES + message_len);
        message_len as u64
    }

    fn set_len(&mut self, start: usize, message_len: usize) {
        let at = start + 1;
        self.gathered[at..at + 4].copy_from_slice(&(message_len as u32).to_be_bytes());
    }

    fn count(&mut self, bytes: usize) {
        self.len += bytes;
        self.total += bytes as u64;
    }

    /// Makes a chunk of the gathered bytes.
    fn seal(&mut self) {
        if !self.gathered.is_empty() {
            self.chunks.push_back(self.gathered.split().freeze());
        }
    }

    /// The next chunk.
    pub fn pop(&mut self) -> Option<Bytes> {
        if self.chunks.is_empty() {
            self.seal();
        }
        let chunk = self.chunks.pop_front()?;
        self.len -= chunk.len();
        Some(chunk)
    }

    /// The chunks, as slices for one vectored write; `advance` takes what was written.
    pub fn slices<'a>(&'a mut self, into: &mut [std::io::IoSlice<'a>]) -> usize {
        self.seal();
        let mut count = 0;
        for (slot, chunk) in into.iter_mut().zip(&self.chunks) {
            *slot = std::io::IoSlice::new(chunk);
            count += 1;
        }
        count
    }

    /// Bytes that have left.
    pub fn advance(&mut self, mut bytes: usize) {
        self.len -= bytes;
        while let Some(front) = self.chunks.front_mut() {
            if bytes < front.len() {
                front.advance(bytes);
                return;
            }
            bytes -= front.len();
            self.chunks.pop_front();
        }
    }
}
