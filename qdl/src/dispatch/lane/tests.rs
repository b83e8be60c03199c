//! What must hold for one stream on any transport.

use bytes::Bytes;
use lon_net::framing::{Inbound, Incoming};
use lon_proto::v1::dispatch_response::Kind;
use lon_proto::v1::{DispatchRequest, DispatchResponse};
use prost::Message as _;

use super::*;
use crate::types::{NodeFailure, SampleId};

fn lane() -> Lane {
    Lane::new(NodeIndex(0), 1 << 20)
}

fn sample(id: u64, payload: Bytes) -> Sample {
    Sample { id: SampleId(id), payload, tensor_bytes: 10 }
}

fn push(lane: &Lane, id: u64) -> bool {
    lane.push(sample(id, Bytes::from_static(b"payload")), Instant::now()).unwrap()
}

/// What the lane sends now.
fn sent(lane: &Lane) -> Vec<DispatchRequest> {
    let mut out = Outbound::default();
    lane.fill(&mut out);
    let mut inbound = Inbound::default();
    std::iter::from_fn(|| out.pop()).for_each(|chunk| inbound.push(chunk));
    let message = |incoming| match incoming {
        Incoming::Message(message, _) => message,
        Incoming::End(_) => panic!("an end"),
    };
    std::iter::from_fn(|| inbound.next_message().unwrap().map(message)).collect()
}

fn answer(id: u64) -> DispatchResponse {
    DispatchResponse { id, last: true, total_len: 2, data: Bytes::from_static(b"ok"), ..Default::default() }
}

fn accept(lane: &Lane, message: DispatchResponse) -> Result<Vec<Reply>, NodeFailure> {
    let mut out = Outbound::default();
    out.push_response(message);
    let mut inbound = Inbound::default();
    std::iter::from_fn(|| out.pop()).for_each(|chunk| inbound.push(chunk));
    let mut replies = Vec::new();
    lane.accept(&mut inbound, Instant::now(), &mut replies).map(|_| replies)
}

#[test]
fn a_sample_ends_once_and_its_second_answer_is_counted() {
    let lane = lane();
    assert!(push(&lane, 41));
    let sent_now = sent(&lane);
    assert!(sent_now[0].last && sent(&lane).is_empty() && lane.all_sent());
    let replies = accept(&lane, answer(sent_now[0].id)).unwrap();
    assert_eq!((replies[0].id, lane.outstanding()), (SampleId(41), 0));
    assert!(accept(&lane, answer(sent_now[0].id)).unwrap().is_empty());
    let counts = lane.counters.read();
    assert_eq!((counts.duplicate, counts.samples_sent), (1, 1));
    assert_eq!(counts.message_bytes_out, sent_now[0].encoded_len() as u64);
    assert_eq!(counts.message_bytes_in, 2 * answer(sent_now[0].id).encoded_len() as u64);
}

#[test]
fn tensors_count_with_the_last_part_and_heartbeats_apart() {
    let lane = lane();
    let payload = Bytes::from(vec![0; lon_proto::limits::PART_BYTES + 1]);
    lane.push(Sample { tensor_bytes: 1_000, ..sample(1, payload.clone()) }, Instant::now()).unwrap();
    let sent_now: u64 = std::iter::from_fn(|| Some(sent(&lane)).filter(|sent| !sent.is_empty()))
        .flatten()
        .map(|message| message.encoded_len() as u64)
        .sum();
    let heartbeat = DispatchResponse { heartbeat: Some(lon_proto::v1::Heartbeat {}), ..DispatchResponse::default() };
    let heartbeat_bytes = heartbeat.encoded_len() as u64;
    accept(&lane, heartbeat).unwrap();
    let counts = lane.counters.read();
    assert_eq!((counts.samples_sent, counts.tensor_bytes_out), (1, 1_000));
    assert_eq!((counts.message_bytes_out, counts.payload_bytes_out), (sent_now, payload.len() as u64));
    assert_eq!((counts.message_bytes_in, counts.other_bytes_in), (0, heartbeat_bytes));
}

#[test]
fn a_sample_has_been_sent_when_the_kernel_has_its_last_byte() {
    let lane = lane();
    push(&lane, 1);
    let mut out = Outbound::default();
    lane.fill(&mut out);
    let handed_over = lane.state().slots.open().next().unwrap().1.sent_at.unwrap();
    lane.departed(out.total() - 1, Instant::now());
    assert_eq!(lane.state().leaving.len(), 1);
    lane.departed(out.total(), Instant::now());
    let state = lane.state();
    assert!(state.leaving.is_empty() && state.slots.open().next().unwrap().1.sent_at.unwrap() > handed_over);
}

#[test]
fn an_answer_after_the_timeout_is_late_not_delivered() {
    let lane = lane();
    push(&lane, 1);
    let id = sent(&lane)[0].id;
    let mut replies = Vec::new();
    let later = Instant::now() + Duration::from_secs(61);
    assert!(!lane.expire(later, Duration::from_secs(60), &mut replies), "one sample is not the node");
    assert!(matches!(replies[0].outcome, Outcome::Failed(Failure::TimedOut(_))));
    assert_eq!(lane.counters.read().unanswered, 1);
    assert!(accept(&lane, answer(id)).unwrap().is_empty());
    let counts = lane.counters.read();
    assert_eq!((counts.late, counts.unanswered), (1, 0));
}

#[test]
fn a_sample_that_cannot_even_be_sent_times_out_and_a_stalled_node_is_told() {
    let lane = lane();
    let mut replies = Vec::new();
    for round in 1..=3 {
        push(&lane, round);
        let stalled = lane.expire(Instant::now() + Duration::from_secs(61), Duration::from_secs(60), &mut replies);
        assert_eq!((stalled, replies.len()), (round == 3, round as usize));
    }
    assert_eq!(lane.outstanding(), 0);
}

#[test]
fn an_answer_in_parts_comes_whole_and_a_first_token_does_not_end_its_sample() {
    let lane = lane();
    push(&lane, 1);
    let id = sent(&lane)[0].id;
    let first = DispatchResponse { kind: Kind::First.into(), ..answer(id) };
    assert!(matches!(accept(&lane, first.clone()).unwrap()[0].outcome, Outcome::FirstToken(_)));
    let part = |part, last, data: &'static [u8]| DispatchResponse {
        id,
        part,
        last,
        total_len: if part == 0 { 4 } else { 0 },
        data: Bytes::from_static(data),
        ..Default::default()
    };
    assert!(accept(&lane, part(0, false, b"an")).unwrap().is_empty());
    let replies = accept(&lane, part(1, true, b"sw")).unwrap();
    assert!(matches!(&replies[0].outcome, Outcome::Done(answer) if answer.data == "answ"[..]));
    push(&lane, 2);
    let again = DispatchResponse { id: sent(&lane)[0].id, ..first };
    accept(&lane, again.clone()).unwrap();
    assert!(accept(&lane, again).is_err(), "a first token comes once");
}

#[test]
fn an_answer_before_the_question_is_a_breach() {
    let lane = lane();
    let payload = Bytes::from(vec![0; 3 * lon_proto::limits::PART_BYTES]);
    lane.push(sample(1, payload), Instant::now()).unwrap();
    let id = sent(&lane)[0].id;
    assert!(accept(&lane, answer(id)).is_err(), "two parts of it are still here");
    assert!(accept(&lane, answer(99)).unwrap().is_empty());
    assert_eq!(lane.counters.read().foreign, 1);
}

#[test]
fn a_lost_lane_fails_what_it_held() {
    let lane = lane();
    push(&lane, 1);
    sent(&lane);
    push(&lane, 2);
    let mut replies = Vec::new();
    lane.fail_all(Instant::now(), &Failure::NodeLost, &mut replies);
    assert_eq!((replies.len(), lane.outstanding()), (2, 0));
    assert!(sent(&lane).is_empty());
    assert!(lane.push(sample(3, Bytes::new()), Instant::now()).is_err());
}

#[test]
fn lengths_that_lie_are_a_breach() {
    let lane = lane();
    push(&lane, 1);
    let id = sent(&lane)[0].id;
    assert!(accept(&lane, DispatchResponse { total_len: 3, ..answer(id) }).is_err());
}
