//! Bytes on their way in, and the messages in them.

use std::collections::VecDeque;

use bytes::{Buf, BufMut as _, Bytes, BytesMut};
use lon_proto::limits::MAX_MESSAGE_BYTES;
use lon_proto::v1::End;
use prost::Message;
use tonic::{Code, Status};

use super::frame::{END, PLAIN, PREFIX_BYTES};

/// Bytes a stream socket is asked for when nothing says how many are missing,
const READ_BYTES: usize = 64 << 10;
/// and how few while a buffer is used up.
const LEAST_READ_BYTES: usize = 8 << 10;

/// The result of [`Inbound::next_message`].
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
    tail: VecDeque<Bytes>,
    tail_len: usize,
    /// Where a stream socket reads to; what is in it comes after `front`.
    partial: BytesMut,
}

impl Inbound {
    /// Adds bytes after those that are there.
    pub fn push(&mut self, chunk: Bytes) {
        if self.front.is_empty() {
            self.front = chunk;
        } else if !chunk.is_empty() {
            self.tail_len += chunk.len();
            self.tail.push_back(chunk);
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
        self.front.len() + self.tail_len + self.partial.len()
    }

    fn prefix(&self) -> Option<[u8; PREFIX_BYTES]> {
        let mut prefix = [0; PREFIX_BYTES];
        let bytes = self.front.iter().chain(self.tail.iter().flatten()).chain(&self.partial);
        let mut count = 0;
        for (slot, byte) in prefix.iter_mut().zip(bytes) {
            *slot = *byte;
            count += 1;
        }
        (count == PREFIX_BYTES).then_some(prefix)
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
        self.front.len() + self.tail_len
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
        if let Some(chunk) = self.tail.pop_front() {
            self.tail_len -= chunk.len();
            self.front = chunk;
        }
    }
}
