use bytes::Bytes;
use lon_proto::assembly::Part;
use prost::Message;
use tonic::{Code, Status};

use super::frame::PLAIN;
use super::outbound::GATHER_BYTES;
use super::*;
use lon_proto::v1::{DispatchRequest, DispatchResponse, Heartbeat, Stages};

fn request(id: u64, number: u32, len: usize) -> (Part, DispatchRequest) {
    let data = Bytes::from((0..len).map(|i| (i % 251) as u8).collect::<Vec<_>>());
    let part = Part { number, last: len.is_multiple_of(2), total_len: len as u64, data: data.clone() };
    let message =
        DispatchRequest { id, part: number, last: part.last, total_len: part.total_len, data, ..Default::default() };
    (part, message)
}

fn responses() -> Vec<DispatchResponse> {
    let stages = Some(Stages { decode_ns: 1, queue_ns: 200_000, ..Stages::default() });
    let data = |len| Bytes::from(vec![7; len]);
    vec![
        DispatchResponse { id: 9, last: true, total_len: 8, data: data(8), stages, ..Default::default() },
        DispatchResponse { id: 10, total_len: 1 << 20, data: data(1 << 20), n_tokens: 3, stages, ..Default::default() },
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

/// Compares the bytes with those that prost writes, and the returned sizes with those of the messages.
#[test]
fn messages_are_those_of_protobuf() {
    let mut out = Outbound::default();
    let mut expected = Vec::new();
    for (id, number, len) in [(1 << 40, 0, 64), (0, 3, 0), (5, 1, GATHER_BYTES), (5, 2, GATHER_BYTES + 1), (6, 0, 1)] {
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
    let Some(Incoming::Message(arrival, _)) = inbound.next_message::<DispatchRequest>().unwrap() else { panic!() };
    assert_eq!((&arrival, arrival.data.as_ptr()), (&message, payload));
    assert!(inbound.is_empty());
}

fn read_all(mut feed: impl FnMut(&mut Inbound) -> bool) -> Vec<DispatchResponse> {
    let mut inbound = Inbound::default();
    let mut messages = Vec::new();
    loop {
        while let Some(Incoming::Message(message, _)) = inbound.next_message().unwrap() {
            messages.push(message);
        }
        if !feed(&mut inbound) {
            assert!(inbound.is_empty());
            return messages;
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
        let mut tail = bytes.clone();
        let messages = read_all(|inbound| {
            let piece = tail.split_to(cut.min(tail.len()));
            inbound.spare().extend_from_slice(&piece);
            !piece.is_empty()
        });
        assert_eq!(messages, responses(), "read in pieces of {cut}");
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
