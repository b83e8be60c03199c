//! Parts of a sample or an answer: a payload is cut into parts and put together again. No I/O, no ids.

use bytes::{Bytes, BytesMut};

use crate::limits::PART_BYTES;

/// One part of a payload, as it goes into a Dispatch message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The number of the part, counted from 0.
    pub number: u32,
    /// True when no part follows.
    pub last: bool,
    /// Number of bytes of the whole payload in part 0; 0 in all others.
    pub total_len: u64,
    /// The bytes of this part.
    pub data: Bytes,
}

/// Cuts a payload into parts without copying it.
#[derive(Clone, Debug)]
pub struct Parts {
    tail: Bytes,
    total_len: u64,
    next: u32,
    done: bool,
}

impl Parts {
    /// Parts of `payload`; an empty payload has one empty part.
    pub fn new(payload: Bytes) -> Parts {
        Parts { total_len: payload.len() as u64, tail: payload, next: 0, done: false }
    }
}

impl Iterator for Parts {
    type Item = Part;

    fn next(&mut self) -> Option<Part> {
        if self.done {
            return None;
        }
        let data = self.tail.split_to(self.tail.len().min(PART_BYTES));
        self.done = self.tail.is_empty();
        let number = self.next;
        self.next += 1;
        Some(Part { number, last: self.done, total_len: if number == 0 { self.total_len } else { 0 }, data })
    }
}

/// The error for parts that do not make a payload: the sender has broken the protocol.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AssemblyError {
    /// A part is missing, repeated, or out of order.
    #[error("part {actual} came where part {expected} was due")]
    OutOfOrder {
        /// The part that was due.
        expected: u32,
        /// The part that came.
        actual: u32,
    },
    /// The sender announces more bytes than are allowed.
    #[error("{total_len} bytes announced, {max} allowed")]
    TooLarge {
        /// Number of bytes that were announced.
        total_len: u64,
        /// Number of bytes that are allowed.
        max: u64,
    },
    /// The sender announced another number of bytes than came.
    #[error("{total_len} bytes announced, {len} came")]
    SizeMismatch {
        /// Number of bytes that were announced.
        total_len: u64,
        /// Number of bytes that came so far.
        len: u64,
    },
}

/// Puts the parts of one payload together.
#[derive(Debug, Default)]
pub struct Assembly {
    buffer: BytesMut,
    total_len: u64,
    next: u32,
}

impl Assembly {
    /// Takes one part; returns the payload when it was the last. A payload of one part is passed on without a copy.
    ///
    /// Memory grows with the bytes that came, not with the number that was announced.
    ///
    /// # Errors
    /// The part breaks the protocol; the payload is lost.
    pub fn push(&mut self, part: Part, max_len: u64) -> Result<Option<Bytes>, AssemblyError> {
        if part.number != self.next {
            return Err(AssemblyError::OutOfOrder { expected: self.next, actual: part.number });
        }
        if part.number == 0 {
            if part.total_len > max_len {
                return Err(AssemblyError::TooLarge { total_len: part.total_len, max: max_len });
            }
            self.total_len = part.total_len;
        }
        let len = (self.buffer.len() + part.data.len()) as u64;
        if len > self.total_len || (part.last && len != self.total_len) {
            return Err(AssemblyError::SizeMismatch { total_len: self.total_len, len });
        }
        self.next += 1;
        if part.last && self.buffer.is_empty() {
            return Ok(Some(part.data));
        }
        self.buffer.extend_from_slice(&part.data);
        Ok(part.last.then(|| std::mem::take(&mut self.buffer).freeze()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(len: usize) -> (usize, Bytes) {
        let payload = Bytes::from((0..len).map(|i| (i % 251) as u8).collect::<Vec<_>>());
        let mut assembly = Assembly::default();
        let mut parts = 0;
        for part in Parts::new(payload.clone()) {
            parts += 1;
            assert!(part.data.len() <= PART_BYTES);
            if let Some(whole) = assembly.push(part, len as u64).unwrap() {
                assert_eq!(whole, payload);
                return (parts, whole);
            }
        }
        panic!("no last part");
    }

    #[test]
    fn payloads_of_every_size_class_survive() {
        assert_eq!(round_trip(0).0, 1);
        assert_eq!(round_trip(1).0, 1);
        assert_eq!(round_trip(PART_BYTES).0, 1);
        assert_eq!(round_trip(PART_BYTES + 1).0, 2);
        assert_eq!(round_trip(3 * PART_BYTES + 7).0, 4);
    }

    #[test]
    fn a_single_part_is_not_copied() {
        let payload = Bytes::from_static(b"12345678");
        let part = Parts::new(payload.clone()).next().unwrap();
        let whole = Assembly::default().push(part, 8).unwrap().unwrap();
        assert_eq!(whole.as_ptr(), payload.as_ptr());
    }

    fn part(number: u32, last: bool, total_len: u64, data: &'static [u8]) -> Part {
        Part { number, last, total_len, data: Bytes::from_static(data) }
    }

    #[test]
    fn breaches_are_named() {
        let push = |parts: Vec<Part>| {
            let mut assembly = Assembly::default();
            parts.into_iter().map(|p| assembly.push(p, 10)).find_map(Result::err)
        };
        assert_eq!(push(vec![part(1, true, 1, b"x")]), Some(AssemblyError::OutOfOrder { expected: 0, actual: 1 }));
        assert_eq!(push(vec![part(0, true, 11, b"x")]), Some(AssemblyError::TooLarge { total_len: 11, max: 10 }));
        assert_eq!(push(vec![part(0, true, 3, b"x")]), Some(AssemblyError::SizeMismatch { total_len: 3, len: 1 }));
        assert_eq!(push(vec![part(0, false, 3, b"xxxx")]), Some(AssemblyError::SizeMismatch { total_len: 3, len: 4 }));
        let twice = vec![part(0, false, 4, b"xx"), part(0, true, 4, b"xx")];
        assert_eq!(push(twice), Some(AssemblyError::OutOfOrder { expected: 1, actual: 0 }));
    }
}
