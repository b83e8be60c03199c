//! Length-prefixed messages, framed as gRPC does: a flag byte, a length of four bytes (big endian), the message.
//!
//! Transports without a status of their own end a stream with a frame of another flag, which carries one. No I/O.

use std::collections::VecDeque;

use bytes::{Buf, BufMut as _, Bytes, BytesMut};
use lon_proto::assembly::Part;
use lon_proto::limits::MAX_MESSAGE_BYTES;
use lon_proto::v1::{DispatchResponse, End};
use prost::Message;
use prost::encoding::{WireType, bool, encode_key, encode_varint, encoded_len_varint, fixed64, uint32, uint64};
use tonic::{Code, Status};

/// Flag byte and length.
pub const PREFIX_BYTES: usize = 5;

/// Flag of a message.
const PLAIN: u8 = 0;
/// Flag of the last frame of a stream, on transports without a status of their own.
const END: u8 = 0x80;

/// Payloads up to this size are copied beside their heads: cheaper than a write vector's entry, or a frame, of their
/// own. Larger ones leave as they are.
const GATHER_BYTES: usize = 8 << 10;

/// Room that is asked for when heads and small payloads are gathered.
const GATHER_ROOM_BYTES: usize = 64 << 10;

/// Bytes a stream socket is asked for when nothing says how many are missing,
const READ_BYTES: usize = 64 << 10;
/// and how few while a buffer is used up.
const LEAST_READ_BYTES: usize = 8 << 10;

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

/// Framed messages on their way out, as chunks in their order.
#[derive(Debug, Default)]
pub struct Outbound {
    chunks: VecDeque<Bytes>,
    /// What comes after the chunks: heads and small payloads.
    gathered: BytesMut,
    len: usize,
    total: u64,
}

impl Outbound {
    /// Bytes that wait to leave.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Nothing waits.
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
        let mut rest = DispatchResponse { id: 0, part: 0, last: false, total_len: 0, ..message };
        let data = std::mem::take(&mut rest.data);
        self.push(&Head { id, part, last, total_len }, data, |buffer| rest.encode_raw(buffer))
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

    /// What was gathered becomes a chunk.
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

/// What [`Inbound::next_message`] finds.
#[derive(Debug, PartialEq)]
pub enum Incoming<M> {
    /// A whole message and its bytes without prefix.
    Message(M, u64),
    /// The stream says that it ends here, and how.
    End(Result<(), (Code, String)>),
}

/// Bytes on their way in, and the messages in them.
///
/// Fed in one of two ways, never both: transports that hand over buffers of their own [`push`](Inbound::push) them;
/// stream sockets read into [`spare`](Inbound::spare).
#[derive(Debug, Default)]
pub struct Inbound {
    front: Bytes,
    rest: VecDeque<Bytes>,
    rest_len: usize,
    /// Where a stream socket reads to; what is in it comes after `front`.
    partial: BytesMut,
}

impl Inbound {
    /// Adds bytes after those that are there.
    pub fn push(&mut self, chunk: Bytes) {
        if self.front.is_empty() {
            self.front = chunk;
        } else if !chunk.is_empty() {
            self.rest_len += chunk.len();
            self.rest.push_back(chunk);
        }
    }

    /// Where to read to: with room for the rest of the message that has begun, so that its payload ends up in one
    /// piece, or else for a good many small ones.
    pub fn spare(&mut self) -> &mut BytesMut {
        let missing = self.missing();
        if !self.front.is_empty() {
            // An incomplete message: its beginning moves to where its rest will be.
            let mut joined = BytesMut::with_capacity(self.front.len() + missing.max(READ_BYTES));
            joined.extend_from_slice(&self.front);
            self.front = Bytes::new();
            self.partial = joined;
        } else if missing > 0 {
            self.partial.reserve(missing);
        } else if self.partial.capacity() - self.partial.len() < LEAST_READ_BYTES {
            // Not sooner: payloads that are still in use keep the whole buffer that they came in.
            self.partial.reserve(READ_BYTES);
        }
        &mut self.partial
    }

    /// Bytes that the message that has begun still lacks; 0 when that is not known.
    fn missing(&self) -> usize {
        self.frame_len().map_or(0, |len| len.saturating_sub(self.available()))
    }

    fn available(&self) -> usize {
        self.front.len() + self.rest_len + self.partial.len()
    }

    fn prefix(&self) -> Option<[u8; PREFIX_BYTES]> {
        let mut prefix = [0; PREFIX_BYTES];
        let bytes = self.front.iter().chain(self.rest.iter().flatten()).chain(&self.partial);
        let mut found = 0;
        for (slot, byte) in prefix.iter_mut().zip(bytes) {
            *slot = *byte;
            found += 1;
        }
        (found == PREFIX_BYTES).then_some(prefix)
    }

    /// Length of the frame that has begun, prefix included; absurd ones are cut to what is refused anyway.
    fn frame_len(&self) -> Option<usize> {
        let [_, a, b, c, d] = self.prefix()?;
        Some(PREFIX_BYTES + (u32::from_be_bytes([a, b, c, d]) as usize).min(MAX_MESSAGE_BYTES))
    }

    /// The next whole message, if there is one.
    ///
    /// # Errors
    /// The bytes are no message of this kind, or one that is too large: the stream is of no more use.
    pub fn next_message<M: Message + Default>(&mut self) -> Result<Option<Incoming<M>>, Status> {
        let prefix: [u8; PREFIX_BYTES] = match self.front.first_chunk() {
            Some(prefix) => *prefix,
            None => match self.prefix() {
                Some(prefix) => prefix,
                None => return Ok(None),
            },
        };
        let [flag, a, b, c, d] = prefix;
        let len = u32::from_be_bytes([a, b, c, d]) as usize;
        if len > MAX_MESSAGE_BYTES {
            return Err(Status::out_of_range(format!("a message of {len} bytes, {MAX_MESSAGE_BYTES} allowed")));
        }
        if flag != PLAIN && flag != END {
            return Err(Status::internal(format!(
                "a frame flagged {flag:#04x}, which is neither a message nor an end"
            )));
        }
        if self.available() < PREFIX_BYTES + len {
            return Ok(None);
        }
        if self.front.is_empty() {
            self.front = self.partial.split().freeze();
        }
        self.advance(PREFIX_BYTES);
        let bad = |error: prost::DecodeError| Status::internal(format!("a message that cannot be read: {error}"));
        let bytes = (&mut *self).take(len);
        if flag == END {
            let End { code, message } = End::decode(bytes).map_err(bad)?;
            let how = match Code::from_i32(code.try_into().unwrap_or(i32::MAX)) {
                Code::Ok => Ok(()),
                code => Err((code, message)),
            };
            return Ok(Some(Incoming::End(how)));
        }
        Ok(Some(Incoming::Message(M::decode(bytes).map_err(bad)?, len as u64)))
    }

    /// Nothing of a message has been left behind.
    pub fn is_empty(&self) -> bool {
        self.available() == 0
    }
}

/// Over what has been pushed; payloads that lie in one piece are shared, not copied.
impl Buf for Inbound {
    fn remaining(&self) -> usize {
        self.front.len() + self.rest_len
    }

    #[inline]
    fn chunk(&self) -> &[u8] {
        &self.front
    }

    #[inline]
    fn advance(&mut self, mut count: usize) {
        while count > self.front.len() {
            count -= self.front.len();
            self.front = Bytes::new();
            self.next_chunk();
        }
        self.front.advance(count);
        if self.front.is_empty() {
            self.next_chunk();
        }
    }

    fn copy_to_bytes(&mut self, len: usize) -> Bytes {
        if len <= self.front.len() {
            let bytes = self.front.split_to(len);
            if self.front.is_empty() {
                self.next_chunk();
            }
            return bytes;
        }
        let mut joined = BytesMut::with_capacity(len);
        joined.put(self.take(len));
        joined.freeze()
    }
}

impl Inbound {
    /// Makes the next chunk the front one. Panics never: callers ask for no more than there is ([`Buf`]'s contract).
    fn next_chunk(&mut self) {
        if let Some(chunk) = self.rest.pop_front() {
            self.rest_len -= chunk.len();
            self.front = chunk;
        }
    }
}

/// Bytes of a varint-prefixed payload of `len` bytes inside a Dispatch message, its tag included.
pub fn data_field_bytes(len: usize) -> usize {
    if len == 0 { 0 } else { 1 + encoded_len_varint(len as u64) + len }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lon_proto::v1::{DispatchRequest, Heartbeat, Stages};

    fn request(id: u64, number: u32, len: usize) -> (Part, DispatchRequest) {
        let data = Bytes::from((0..len).map(|i| (i % 251) as u8).collect::<Vec<_>>());
        let part = Part { number, last: len.is_multiple_of(2), total_len: len as u64, data: data.clone() };
        let message =
            DispatchRequest { id, part: number, last: part.last, total_len: part.total_len, data, open: None };
        (part, message)
    }

    fn responses() -> Vec<DispatchResponse> {
        let stages = Some(Stages { decode_ns: 1, queue_ns: 200_000, ..Stages::default() });
        let data = |len| Bytes::from(vec![7; len]);
        vec![
            DispatchResponse { id: 9, last: true, total_len: 8, data: data(8), stages, ..Default::default() },
            DispatchResponse {
                id: 10,
                total_len: 1 << 20,
                data: data(1 << 20),
                n_tokens: 3,
                stages,
                ..Default::default()
            },
            DispatchResponse { id: 11, last: true, error: "no".to_owned(), kind: 1, ..Default::default() },
            DispatchResponse { heartbeat: Some(Heartbeat {}), ..Default::default() },
        ]
    }

    fn framed(message: &impl Message) -> Vec<u8> {
        let mut bytes = vec![PLAIN];
        bytes.extend((message.encoded_len() as u32).to_be_bytes());
        message.encode(&mut bytes).unwrap();
        bytes
    }

    fn all(out: &mut Outbound) -> Vec<u8> {
        std::iter::from_fn(|| out.pop()).flatten().collect()
    }

    /// What leaves is, byte for byte, what prost would have written, and the sizes told are those of the messages.
    #[test]
    fn messages_are_those_of_protobuf() {
        let mut out = Outbound::default();
        let mut expected = Vec::new();
        for (id, number, len) in
            [(1 << 40, 0, 64), (0, 3, 0), (5, 1, GATHER_BYTES), (5, 2, GATHER_BYTES + 1), (6, 0, 1)]
        {
            let (part, message) = request(id, number, len);
            assert_eq!(out.push_request(id, part), message.encoded_len() as u64);
            expected.extend(framed(&message));
        }
        for message in responses() {
            expected.extend(framed(&message));
            assert_eq!(out.push_response(message.clone()), message.encoded_len() as u64);
        }
        assert_eq!((out.len(), out.total()), (expected.len(), expected.len() as u64));
        assert!(all(&mut out) == expected);
        assert!(out.is_empty());
    }

    #[test]
    fn a_large_payload_is_not_copied_on_its_way_out_or_in() {
        let (part, message) = request(1, 0, 100_000);
        let payload = part.data.as_ptr();
        let mut out = Outbound::default();
        out.push_request(1, part);
        let mut inbound = Inbound::default();
        std::iter::from_fn(|| out.pop()).for_each(|chunk| inbound.push(chunk));
        let Some(Incoming::Message(got, _)) = inbound.next_message::<DispatchRequest>().unwrap() else { panic!() };
        assert_eq!((&got, got.data.as_ptr()), (&message, payload));
        assert!(inbound.is_empty());
    }

    fn read_all(mut feed: impl FnMut(&mut Inbound) -> bool) -> Vec<DispatchResponse> {
        let mut inbound = Inbound::default();
        let mut got = Vec::new();
        loop {
            while let Some(Incoming::Message(message, _)) = inbound.next_message().unwrap() {
                got.push(message);
            }
            if !feed(&mut inbound) {
                assert!(inbound.is_empty());
                return got;
            }
        }
    }

    /// However a transport cuts the bytes, the messages come out whole.
    #[test]
    fn cuts_do_not_matter() {
        let bytes = Bytes::from(responses().iter().flat_map(framed).collect::<Vec<_>>());
        for cut in [1, 4, 5, 6, 100, 4_096, bytes.len()] {
            let mut chunks = bytes.chunks(cut).map(Bytes::copy_from_slice);
            let pushed = read_all(|inbound| chunks.next().map(|chunk| inbound.push(chunk)).is_some());
            assert_eq!(pushed, responses(), "pushed in pieces of {cut}");
            let mut rest = bytes.clone();
            let read = read_all(|inbound| {
                let piece = rest.split_to(cut.min(rest.len()));
                inbound.spare().extend_from_slice(&piece);
                !piece.is_empty()
            });
            assert_eq!(read, responses(), "read in pieces of {cut}");
        }
    }

    #[test]
    fn an_end_says_how() {
        for (how, expected) in
            [(Ok(()), Ok(())), (Err(Status::unavailable("gone")), Err((Code::Unavailable, "gone".to_owned())))]
        {
            let mut out = Outbound::default();
            out.push_end(&how);
            let mut inbound = Inbound::default();
            inbound.push(out.pop().unwrap());
            assert_eq!(inbound.next_message::<DispatchResponse>().unwrap(), Some(Incoming::End(expected)));
        }
    }

    #[test]
    fn what_is_no_message_is_refused() {
        let next = |bytes: &[u8]| {
            let mut inbound = Inbound::default();
            inbound.push(Bytes::copy_from_slice(bytes));
            inbound.next_message::<DispatchRequest>().map_err(|status| status.code())
        };
        assert_eq!(next(&[0, 0xFF, 0, 0, 0]), Err(Code::OutOfRange));
        assert_eq!(next(&[1, 0, 0, 0, 0]), Err(Code::Internal), "compression was never agreed on");
        assert_eq!(next(&[0, 0, 0, 0, 2, 0x2A, 9]), Err(Code::Internal));
        assert_eq!(next(&[0, 0, 0, 0]), Ok(None));
    }
}
