//! Requirements on one stream over any transport.

use std::time::Duration;

use bytes::Bytes;
use lon_net::clock;
use lon_net::framing::{Inbound, Incoming};
use lon_proto::sample::{DType, Signature, TensorSpec};
use lon_proto::v1::dispatch_response::Kind;
use lon_proto::v1::{DispatchRequest, DispatchResponse};
use prost::Message as _;

use super::*;
use crate::dispatch::rule::AnswerRule;
use crate::types::{NodeFailure, SampleId};

fn lane() -> Lane {
    expecting(AnswerRule::anything("n", 1 << 20), 1 << 20)
}

fn expecting(rule: AnswerRule, share_bytes: u64) -> Lane {
    Lane::new(NodeIndex(0), Expected::new(&std::sync::Arc::new(rule), false, Duration::from_secs(60), share_bytes), 1)
}

fn sample(id: u64, payload: Bytes) -> Sample {
    Sample { id: SampleId(id), payload, tensor_bytes: 10 }
}

fn push(lane: &Lane, id: u64) -> bool {
    lane.push(sample(id, Bytes::from_static(b"payload")), clock::now()).unwrap()
}

/// Returns the messages that the lane sends now.
fn messages_of(lane: &Lane) -> Vec<DispatchRequest> {
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
    accept_at(lane, message, clock::now())
}

fn accept_at(lane: &Lane, message: DispatchResponse, now: Instant) -> Result<Vec<Reply>, NodeFailure> {
    let mut out = Outbound::default();
    out.push_response(message);
    let mut inbound = Inbound::default();
    std::iter::from_fn(|| out.pop()).for_each(|chunk| inbound.push(chunk));
    let mut replies = Vec::new();
    lane.accept(&mut inbound, now, &mut replies).map(|_| replies)
}

#[test]
fn a_sample_ends_once_and_its_second_answer_is_counted() {
    let lane = lane();
    assert!(push(&lane, 41));
    let sent_now = messages_of(&lane);
    assert!(sent_now[0].last && messages_of(&lane).is_empty() && lane.all_sent());
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
    lane.push(Sample { tensor_bytes: 1_000, ..sample(1, payload.clone()) }, clock::now()).unwrap();
    let sent_now: u64 = std::iter::from_fn(|| Some(messages_of(&lane)).filter(|batch| !batch.is_empty()))
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
    lane.departed(out.total() - 1, clock::now());
    assert_eq!(lane.state().leaving.len(), 1);
    lane.departed(out.total(), clock::now());
    let state = lane.state();
    assert!(state.leaving.is_empty() && state.slots.open().next().unwrap().1.sent_at.unwrap() > handed_over);
}

#[test]
fn an_answer_after_the_timeout_is_late_not_delivered() {
    let lane = lane();
    push(&lane, 1);
    let id = messages_of(&lane)[0].id;
    let mut replies = Vec::new();
    let later = clock::now() + Duration::from_secs(61);
    assert!(!lane.expire(later, &mut replies), "one sample is not the node");
    assert!(matches!(replies[0].outcome, Outcome::Failed(Failure::TimedOut(_))));
    assert_eq!(lane.counters.read().unanswered, 1);
    assert!(accept(&lane, answer(id)).unwrap().is_empty());
    let counts = lane.counters.read();
    assert_eq!((counts.late, counts.unanswered), (1, 0));
}

/// Lanes are looked at every so often: an answer may come after its time and before that.
#[test]
fn an_answer_beyond_the_timeout_fails_its_sample_also_where_nobody_has_given_it_up() {
    for (after, is_done) in [(59, true), (61, false)] {
        let lane = lane();
        push(&lane, 1);
        let id = messages_of(&lane)[0].id;
        let replies = accept_at(&lane, answer(id), clock::now() + Duration::from_secs(after)).unwrap();
        let timed_out = matches!(replies[0].outcome, Outcome::Failed(Failure::TimedOut(_)));
        assert_eq!((replies.len(), timed_out), (1, !is_done), "{after} s");
        let counts = lane.counters.read();
        assert_eq!((lane.outstanding(), counts.unanswered, counts.late), (0, 0, u64::from(!is_done)));
    }
}

#[test]
fn a_sample_that_cannot_even_be_sent_times_out_and_a_stalled_node_is_told() {
    let lane = lane();
    let mut replies = Vec::new();
    for round in 1..=3 {
        push(&lane, round);
        let stalled = lane.expire(clock::now() + Duration::from_secs(61), &mut replies);
        assert_eq!((stalled, replies.len()), (round == 3, round as usize));
    }
    assert_eq!(lane.outstanding(), 0);
}

#[test]
fn an_answer_in_parts_comes_whole_and_a_first_token_does_not_end_its_sample() {
    let lane = lane();
    push(&lane, 1);
    let id = messages_of(&lane)[0].id;
    let first = DispatchResponse { kind: Kind::First.into(), data: Bytes::from_static(b"an"), ..answer(id) };
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
    let again = DispatchResponse { id: messages_of(&lane)[0].id, ..first };
    accept(&lane, again.clone()).unwrap();
    assert!(accept(&lane, again).is_err(), "a first token comes once");
}

#[test]
fn an_answer_before_the_question_is_a_breach() {
    let lane = lane();
    let payload = Bytes::from(vec![0; 3 * lon_proto::limits::PART_BYTES]);
    lane.push(sample(1, payload), clock::now()).unwrap();
    let id = messages_of(&lane)[0].id;
    assert!(accept(&lane, answer(id)).is_err(), "two parts of it are still here");
    assert!(accept(&lane, answer(99)).unwrap().is_empty());
    assert_eq!(lane.counters.read().foreign, 1);
}

#[test]
fn a_lost_lane_fails_what_it_held() {
    let lane = lane();
    push(&lane, 1);
    messages_of(&lane);
    push(&lane, 2);
    let mut replies = Vec::new();
    lane.fail_all(clock::now(), &Failure::NodeLost, &mut replies);
    assert_eq!((replies.len(), lane.outstanding()), (2, 0));
    assert!(messages_of(&lane).is_empty());
    assert!(lane.push(sample(3, Bytes::new()), clock::now()).is_err());
}

#[test]
fn lengths_that_lie_are_a_breach() {
    let lane = lane();
    push(&lane, 1);
    let id = messages_of(&lane)[0].id;
    assert!(accept(&lane, DispatchResponse { total_len: 3, ..answer(id) }).is_err());
}

#[test]
fn a_lane_that_sends_nothing_says_that_it_is_there() {
    let lane = lane();
    let heartbeat_bytes = |lane: &Lane| {
        let mut out = Outbound::default();
        lane.fill_heartbeat(&mut out).then(|| out.total())
    };
    lane.keep_alive(2);
    assert_eq!(heartbeat_bytes(&lane), None);
    push(&lane, 1);
    assert_eq!(messages_of(&lane).len(), 1);
    lane.keep_alive(2);
    assert_eq!(heartbeat_bytes(&lane), None, "a sample is a sign of life");
    lane.keep_alive(2);
    assert!(heartbeat_bytes(&lane).is_some() && heartbeat_bytes(&lane).is_none(), "once");
    let counts = lane.counters.read();
    assert_eq!((counts.samples_sent, counts.heartbeats_out, counts.other_bytes_out), (1, 1, 2));
}

/// Of a model that gives ten floats.
fn ten_floats() -> Lane {
    let outputs = Signature::new(vec![TensorSpec::new("y", DType::F32, vec![None, Some(10)])]);
    expecting(AnswerRule::new("n", &outputs, 1 << 20), 0)
}

fn answer_of(id: u64, bytes: usize) -> DispatchResponse {
    DispatchResponse { id, last: true, total_len: bytes as u64, data: vec![0; bytes].into(), ..Default::default() }
}

#[test]
fn an_answer_that_is_not_what_the_node_said_fails_its_sample_and_names_both() {
    let lane = ten_floats();
    let outcome = |id, bytes, n_tokens| {
        push(&lane, id);
        let answer = DispatchResponse { n_tokens, ..answer_of(messages_of(&lane)[0].id, bytes) };
        accept(&lane, answer).unwrap().remove(0).outcome
    };
    assert!(matches!(outcome(1, 40, 0), Outcome::Done(_)));
    for (bytes, n_tokens, part) in [
        (0, 0, "node n gave an answer of 0 bytes, 40 were due; it describes its outputs as y f32[N,10]"),
        (80, 0, "80 bytes, 40 were due"),
        (40, 1, "counts 1 tokens"),
        (40, u64::MAX, "counts 18446744073709551615 tokens in an answer of 40 bytes"),
    ] {
        match outcome(2, bytes, n_tokens) {
            Outcome::Failed(Failure::Unusable(reason)) => assert!(reason.contains(part), "no '{part}' in: {reason}"),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(lane.outstanding(), 0);
}

#[test]
fn an_answer_in_pieces_is_bounded_before_its_bytes_are_kept() {
    let lane = ten_floats();
    push(&lane, 1);
    let part = DispatchResponse { last: false, total_len: 1 << 30, ..answer_of(messages_of(&lane)[0].id, 100) };
    let breach = accept(&lane, part).unwrap_err().to_string();
    assert!(breach.contains("1073741824 bytes, 40 were due"), "{breach}");

    let lane = expecting(AnswerRule::anything("n", 1 << 20), 0);
    let begin = |id| {
        push(&lane, id);
        let wire_id = messages_of(&lane)[0].id;
        (wire_id, DispatchResponse { last: false, total_len: 1 << 20, ..answer_of(wire_id, 600 << 10) })
    };
    let ((first, one), (_, other)) = (begin(1), begin(2));
    accept(&lane, one).unwrap();
    let last_part = DispatchResponse { part: 1, total_len: 0, ..answer_of(first, 424 << 10) };
    assert_eq!(accept(&lane, last_part).unwrap().len(), 1, "it is complete, and its room is free again");
    accept(&lane, other).unwrap();
    accept(&lane, begin(3).1).unwrap();
    accept(&lane, begin(4).1).unwrap();
    let breach = accept(&lane, begin(5).1).unwrap_err().to_string();
    assert!(breach.contains("more than 2097152 bytes together"), "{breach}");
}

#[test]
fn an_answer_begins_with_its_first_token() {
    let lane = lane();
    for (id, first, is_right) in [(1, &b"o"[..], true), (2, b"x", false), (3, b"", false), (4, b"okay", false)] {
        push(&lane, id);
        let whole = answer(messages_of(&lane)[0].id);
        let total_len = first.len() as u64;
        accept(&lane, DispatchResponse { kind: Kind::First.into(), total_len, data: first.into(), ..whole.clone() })
            .unwrap();
        let outcome = accept(&lane, whole).unwrap().remove(0).outcome;
        assert_eq!(matches!(outcome, Outcome::Done(_)), is_right, "{id}: {outcome:?}");
    }
}
