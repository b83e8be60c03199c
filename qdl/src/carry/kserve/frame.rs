//! One ModelInfer request as it goes out: gRPC's prefix, the call's id, and the body that was prepared. No I/O.
//!
//! Protobuf's fields may come in any order, so the id goes first and the body behind it is shared, not copied, unless
//! it is so small that a copy costs less than a frame of its own.

use bytes::{BufMut as _, Bytes, BytesMut};
use lon_net::framing::PREFIX_BYTES;

/// Key of the field `id` (3, length-delimited).
const ID_KEY: u8 = 3 << 3 | 2;
/// Characters of an id: 64 bits in hexadecimal.
const ID_DIGITS: usize = 16;
/// Bytes that a message has besides its body.
pub(crate) const ID_BYTES: usize = 2 + ID_DIGITS;

/// Bodies up to this size are copied behind their heads.
const GATHER_BYTES: usize = 8 << 10;
/// Room that is allocated at a time for heads and small bodies.
const GATHER_ROOM_BYTES: usize = 64 << 10;

/// Makes requests from bodies.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    gathered: BytesMut,
}

impl Frames {
    /// The request as one chunk, or as two of which the second is `body` itself: less than 4 GiB, which is what a
    /// prefix can say.
    pub(crate) fn request(&mut self, id: u64, body: &Bytes) -> (Bytes, Option<Bytes>) {
        let len = (ID_BYTES + body.len()) as u32;
        let copied = body.len() <= GATHER_BYTES;
        let room = PREFIX_BYTES + ID_BYTES + if copied { body.len() } else { 0 };
        if self.gathered.capacity() < room {
            self.gathered.reserve(GATHER_ROOM_BYTES);
        }
        self.gathered.put_u8(0);
        self.gathered.put_u32(len);
        self.gathered.put_u8(ID_KEY);
        self.gathered.put_u8(ID_DIGITS as u8);
        self.gathered.put_slice(&digits(id));
        if copied {
            self.gathered.put_slice(body);
        }
        (self.gathered.split().freeze(), (!copied).then(|| body.clone()))
    }
}

/// The id as it stands in a request, and as it must stand in the answer.
pub(crate) fn digits(id: u64) -> [u8; ID_DIGITS] {
    std::array::from_fn(|at| b"0123456789abcdef"[(id >> (60 - 4 * at) & 0xf) as usize])
}

#[cfg(test)]
mod tests {
    use lon_proto::kserve::v2::ModelInferRequest;
    use prost::Message as _;

    use super::*;

    #[test]
    fn the_id_joins_the_body_which_is_copied_only_when_it_is_small() {
        let mut frames = Frames::default();
        for (len, chunks) in [(1, 1), (GATHER_BYTES - 100, 1), (GATHER_BYTES + 1, 2), (3 << 20, 2)] {
            let data = vec![Bytes::from(vec![7; len])];
            let request =
                ModelInferRequest { model_name: "m".into(), raw_input_contents: data, ..ModelInferRequest::default() };
            let body = Bytes::from(request.encode_to_vec());
            let (first, second) = frames.request(0xfeed_0000_0000_0001, &body);
            assert_eq!(1 + usize::from(second.is_some()), chunks, "{len}");
            assert!(second.as_ref().is_none_or(|second| second.as_ptr() == body.as_ptr()), "shared");
            let whole = [first, second.unwrap_or_default()].concat();
            assert_eq!(whole[..5], [&[0][..], &((whole.len() - 5) as u32).to_be_bytes()].concat());
            assert_eq!(whole.len() - 5, ID_BYTES + body.len());
            let read = ModelInferRequest::decode(&whole[5..]).unwrap();
            assert_eq!(read, ModelInferRequest { id: "feed000000000001".into(), ..request });
        }
    }
}
