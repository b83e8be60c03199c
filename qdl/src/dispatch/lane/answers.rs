//! Messages of a lane's stream as they come in: matched with the samples in flight, assembled, counted.

use std::time::Instant;

use lon_net::framing::{Inbound, Incoming};
use lon_proto::assembly::Part;
use lon_proto::stages::Stages;
use lon_proto::text::printable;
use lon_proto::v1::DispatchResponse;
use lon_proto::v1::dispatch_response::Kind;

use super::state::{FirstToken, State};
use super::{Lane, Relaxed};
use crate::account::counters::Burst;
use crate::dispatch::expected::Expected;
use crate::dispatch::slots::{Ended, Unmatched};
use crate::error::failure_of;
use crate::types::{Answer, Failure, NodeFailure, Outcome, Reply};

/// Replies settled under one lock at most.
const MAX_BURST: usize = 512;

/// Next step of the reader after [`Lane::accept`].
#[derive(Debug, PartialEq)]
pub(crate) enum Accepted {
    /// Read on: no whole message is left.
    All,
    /// Deliver, and call again: there is more.
    More,
    /// The node has said that it ends the stream.
    End(Result<(), NodeFailure>),
}

impl Lane {
    /// Takes the messages in `inbound`, all of which were there at `now`. What is in `replies` afterwards has ended,
    /// also when this fails.
    ///
    /// # Errors
    /// The node broke the protocol and cannot be trusted any more.
    pub(crate) fn accept(
        &self,
        inbound: &mut Inbound,
        now: Instant,
        replies: &mut Vec<Reply>,
    ) -> Result<Accepted, NodeFailure> {
        self.silent_ticks.store(0, Relaxed);
        self.data_came.store(false, Relaxed);
        let mut burst = Burst::default();
        let mut state = self.state();
        state.heard(now);
        let outcome = loop {
            if replies.len() >= MAX_BURST {
                break Ok(Accepted::More);
            }
            match inbound.next_message::<DispatchResponse>() {
                Ok(Some(Incoming::Message(message, bytes))) if message.heartbeat.is_none() => {
                    burst.message(bytes, message.data.len());
                    if let Err(breach) = self.settle(&mut state, message, now, replies) {
                        break Err(NodeFailure::Protocol(breach));
                    }
                }
                Ok(Some(Incoming::Message(_, bytes))) => burst.heartbeat(bytes),
                Ok(Some(Incoming::End(how))) => {
                    break Ok(Accepted::End(how.map_err(|(code, text)| failure_of(&tonic::Status::new(code, text)))));
                }
                Ok(None) => break Ok(Accepted::All),
                Err(status) => break Err(failure_of(&status)),
            }
        };
        self.counters.received(&burst);
        outcome
    }

    /// One message: an answer or a part of one, a first token, or an error.
    fn settle(
        &self,
        state: &mut State,
        message: DispatchResponse,
        now: Instant,
        replies: &mut Vec<Reply>,
    ) -> Result<(), String> {
        let kind = message.kind();
        let DispatchResponse { id: wire_id, part, last, total_len, data, n_tokens, stages, error, .. } = message;
        let in_flight = match state.slots.get_mut(wire_id) {
            Ok(in_flight) => in_flight,
            Err(unmatched) => {
                self.count_unmatched(state, unmatched, last);
                return Ok(());
            }
        };
        if in_flight.sent_at.is_none() {
            return Err("it answered a sample that it had not been sent in full".to_owned());
        }
        if !error.is_empty() {
            self.counters.refused();
            let failure = Failure::Refused(printable(&error));
            replies.extend(self.end(state, wire_id, now, Ended::Answered, Outcome::Failed(failure)));
            return Ok(());
        }
        let part = Part { number: part, last, total_len, data };
        let Some(data) = in_flight.assemble(part, &self.expected)? else { return Ok(()) };
        if kind == Kind::First {
            if in_flight.first_token.replace(FirstToken::new(&data)).is_some() {
                return Err("it sent the first token of a sample twice".to_owned());
            }
            // The sample stays in flight: its answer is still to come.
            let (id, sent_at, outcome) = (in_flight.id, in_flight.sent_at, Outcome::FirstToken(data));
            replies.push(Reply { id, node: Some(self.node), sent_at, at: now, outcome });
            return Ok(());
        }
        let outcome = match self.check(in_flight.first_token, &data, n_tokens) {
            Ok(()) => Outcome::Done(Answer { data, n_tokens, stages: stages.map(Stages::from).unwrap_or_default() }),
            Err(reason) => Outcome::Failed(Failure::Unusable(reason)),
        };
        replies.extend(self.end(state, wire_id, now, Ended::Answered, outcome));
        Ok(())
    }

    /// Holds a whole answer against what was expected, and against the first token that came before it. Answers with a
    /// codec are left to those who inflate them.
    fn check(&self, first: Option<FirstToken>, data: &[u8], n_tokens: u64) -> Result<(), String> {
        let Expected { rule, is_encoded, .. } = &self.expected;
        if *is_encoded {
            return Ok(());
        }
        rule.check(data.len() as u64, n_tokens)?;
        match first {
            Some(first) if !first.begins(data) => Err(rule.wrong_first_token()),
            _ => Ok(()),
        }
    }

    /// Counts an answer whose id leads to no sample in flight, once, with its last part.
    pub(super) fn count_unmatched(&self, state: &mut State, unmatched: Unmatched, last: bool) {
        if unmatched == Unmatched::Late {
            // Too slow for the response timeout, but the node does answer.
            state.stalls = 0;
        }
        if last {
            match unmatched {
                Unmatched::Duplicate => self.counters.duplicate(),
                Unmatched::Late => self.counters.late(),
                Unmatched::Unknown => self.counters.foreign(),
            }
        }
    }
}
