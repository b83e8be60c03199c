//! Changes to a node's messages in transit: every field of every message, and the lengths around them.
//!
//! A lie is told on the transport `tcp`: control calls are HTTP/2 whose DATA frames hold a message each, answers are
//! messages with a length in front. A message is taken apart by the numbers of its fields and put together again.

use std::sync::{Arc, Mutex};

use crate::rng::Rng;

/// The bytes in front of a message: a flag, and its length.
const PREFIX: usize = 5;
/// The head of a frame of HTTP/2.
const HEAD: usize = 9;

/// A kind of message that a node sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageKind {
    GetName,
    Describe,
    StartRun,
    EndRun,
    Answer,
}

/// A kind of message, and the numbers of its fields.
const FIELDS: [(MessageKind, &[u64]); 5] = [
    (MessageKind::GetName, &[1, 2]),
    (MessageKind::Describe, &[1, 2, 3, 4, 5, 6]),
    (MessageKind::StartRun, &[1, 2, 3, 4, 5]),
    (MessageKind::EndRun, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]),
    (MessageKind::Answer, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 15]),
];

/// Fields whose lies cannot make a result look better than it is, each with the reason.
const WITHOUT_EFFECT: &[(MessageKind, &[u64], &str)] = &[
    (MessageKind::Describe, &[3, 4, 5, 6], "texts and shapes that are shown, or held against the dataset and not here"),
    (MessageKind::StartRun, &[1, 2, 3, 4], "a node's own bounds: it gets more or less at a time, and all is counted"),
    (MessageKind::EndRun, &[11, 12], "bytes of sockets may differ by a slack, and these runs are within it"),
    (MessageKind::EndRun, &[8, 13, 14, 16], "heartbeats, segments and interfaces are shown and not judged"),
    (MessageKind::EndRun, &[15], "how many answers had a NaN is shown; nobody but the node can know"),
    (MessageKind::Answer, &[6], "a kind that is not known is that of a whole answer, by protobuf's rules"),
    (MessageKind::Answer, &[8], "durations of stages are the node's own and are shown as such"),
];

/// Kind of change to a field.
#[derive(Clone, Copy, Debug)]
enum Change {
    Zero,
    Most,
    OneMore,
    OneLess,
    Dropped,
    Twice,
    Random,
}

const CHANGES: [Change; 7] =
    [Change::Zero, Change::Most, Change::OneMore, Change::OneLess, Change::Dropped, Change::Twice, Change::Random];

/// Part of a message that is changed.
#[derive(Clone, Copy, Debug)]
enum Part {
    Field(u64),
    /// The message itself: it is dropped, or comes twice.
    Whole,
    /// The length in front of it.
    Length,
}

/// One lie, told once. Clones are the same lie.
#[derive(Clone, Debug)]
pub(crate) struct Lie(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    rng: Rng,
    about: MessageKind,
    part: Part,
    change: Change,
    /// So many messages of its kind are left as they are.
    wait: u64,
    is_told: bool,
    /// True when the changed message means the same as the original.
    says_the_same: bool,
}

impl Lie {
    pub(crate) fn of(mut rng: Rng) -> Lie {
        let (about, fields) = rng.of(&FIELDS);
        let part = match rng.within(0..12) {
            0 if about == MessageKind::Answer => Part::Whole,
            1 if about == MessageKind::Answer => Part::Length,
            _ => Part::Field(rng.of(fields)),
        };
        let change = rng.of(&CHANGES);
        let wait = match about {
            MessageKind::Answer => rng.within(0..3),
            // The first name only tells nodes apart; the one that is shown is asked for again.
            MessageKind::GetName => rng.within(1..3),
            _ => 0,
        };
        Lie(Arc::new(Mutex::new(State { rng, about, part, change, wait, is_told: false, says_the_same: false })))
    }

    /// Returns the lie, in words, when it was told and could make a result look better than it is.
    pub(crate) fn matters(&self) -> Option<String> {
        let State { about, part, change, is_told, says_the_same, .. } = &*self.0.lock().unwrap();
        let field = if let Part::Field(number) = part { *number } else { 0 };
        let is_harmless =
            |(kind, fields, _): &(MessageKind, &[u64], &str)| kind == about && field != 0 && fields.contains(&field);
        // By protobuf's rules the last of a field that comes twice is the field.
        let is_repeated = matches!((part, change), (Part::Field(_), Change::Twice));
        // Every value but 0 is true.
        let is_still_the_last = (*about, field) == (MessageKind::Answer, 3)
            && !matches!(change, Change::Zero | Change::OneLess | Change::Dropped);
        (*is_told && !says_the_same && !is_repeated && !is_still_the_last && !WITHOUT_EFFECT.iter().any(is_harmless))
            .then(|| format!("{about:?} {part:?} {change:?}"))
    }

    /// The message as it is passed on, prefix included.
    fn pass(&self, kind: MessageKind, message: &[u8]) -> Vec<u8> {
        let mut state = self.0.lock().unwrap();
        if state.is_told || state.about != kind {
            return message.to_vec();
        }
        let is_heartbeat =
            kind == MessageKind::Answer && fields(&message[PREFIX..]).iter().any(|field| field.number == 15);
        if is_heartbeat {
            // More of them or fewer are what a slower clock would send.
            return message.to_vec();
        }
        if state.wait > 0 {
            state.wait -= 1;
            return message.to_vec();
        }
        let changed = state.tell(message);
        state.is_told = changed != message;
        changed
    }
}

impl State {
    fn tell(&mut self, message: &[u8]) -> Vec<u8> {
        let (prefix, body) = message.split_at(PREFIX);
        match self.part {
            Part::Whole => match self.change {
                Change::Zero | Change::Dropped | Change::OneLess => Vec::new(),
                _ => [message, message].concat(),
            },
            Part::Length => {
                let length = self.number(body.len() as u64) as u32;
                [&prefix[..1], &length.to_be_bytes(), body].concat()
            }
            Part::Field(number) => {
                let body = self.change_field(number, body);
                [&prefix[..1], &(body.len() as u32).to_be_bytes(), &body].concat()
            }
        }
    }

    fn number(&mut self, before: u64) -> u64 {
        match self.change {
            Change::Zero | Change::Dropped => 0,
            Change::Most => u64::MAX,
            Change::OneMore | Change::Twice => before.wrapping_add(1),
            Change::OneLess => before.wrapping_sub(1),
            Change::Random => self.rng.next() >> self.rng.within(0..64),
        }
    }

    fn change_field(&mut self, number: u64, body: &[u8]) -> Vec<u8> {
        let mut fields = fields(body);
        let Some(at) = fields.iter().position(|field| field.number == number) else {
            // A field that is not there has the value 0.
            let value = self.number(0);
            self.says_the_same = value == 0;
            fields.push(Field { number, value: Value::Number(value) });
            return together(&fields);
        };
        if matches!(self.change, Change::Dropped) {
            fields.remove(at);
        } else if matches!(self.change, Change::Twice) {
            let again = fields[at].clone();
            fields.insert(at, again);
        } else {
            let value = fields[at].value.clone();
            fields[at].value = match value {
                Value::Number(before) => Value::Number(self.number(before)),
                Value::Fixed(before) => Value::Fixed(self.number(before)),
                Value::Bytes(before) => Value::Bytes(self.bytes(before)),
            };
        }
        together(&fields)
    }

    fn bytes(&mut self, mut before: Vec<u8>) -> Vec<u8> {
        match self.change {
            Change::Zero | Change::Dropped => before.clear(),
            Change::Most => before.resize(before.len() + 700, 7),
            Change::OneMore | Change::Twice => before.push(7),
            Change::OneLess => drop(before.pop()),
            Change::Random => {
                let count = self.rng.within(0..before.len() as u64 + 9) as usize;
                before = (0..count).map(|_| self.rng.next() as u8).collect();
            }
        }
        before
    }
}

#[derive(Clone, Debug)]
struct Field {
    number: u64,
    value: Value,
}

#[derive(Clone, Debug)]
enum Value {
    Number(u64),
    Fixed(u64),
    Bytes(Vec<u8>),
}

fn take_number(bytes: &mut &[u8]) -> u64 {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = bytes[0];
        *bytes = &bytes[1..];
        number |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            break;
        }
    }
    number
}

fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// The fields of a message that a node has encoded.
fn fields(mut body: &[u8]) -> Vec<Field> {
    let mut fields = Vec::new();
    while !body.is_empty() {
        let key = take_number(&mut body);
        let value = match key & 7 {
            0 => Value::Number(take_number(&mut body)),
            1 => {
                let (fixed, tail) = body.split_at(8);
                body = tail;
                Value::Fixed(u64::from_le_bytes(fixed.try_into().unwrap()))
            }
            _ => {
                let length = take_number(&mut body) as usize;
                let (bytes, tail) = body.split_at(length);
                body = tail;
                Value::Bytes(bytes.to_vec())
            }
        };
        fields.push(Field { number: key >> 3, value });
    }
    fields
}

fn together(fields: &[Field]) -> Vec<u8> {
    let mut out = Vec::new();
    for Field { number, value } in fields {
        let kind = match value {
            Value::Number(_) => 0,
            Value::Fixed(_) => 1,
            Value::Bytes(_) => 2,
        };
        put_number(&mut out, number << 3 | kind);
        match value {
            Value::Number(number) => put_number(&mut out, *number),
            Value::Fixed(fixed) => out.extend_from_slice(&fixed.to_le_bytes()),
            Value::Bytes(bytes) => {
                put_number(&mut out, bytes.len() as u64);
                out.extend_from_slice(bytes);
            }
        }
    }
    out
}

/// Passes on what a node writes on one connection, with the lie in it.
#[derive(Debug)]
pub(crate) struct Liar {
    lie: Lie,
    buffer: Vec<u8>,
    /// Number of messages that have passed on a control connection.
    messages: u64,
}

impl Liar {
    pub(crate) fn new(lie: Lie) -> Liar {
        Liar { lie, buffer: Vec::new(), messages: 0 }
    }

    /// Takes these bytes and returns those that go on now. `first` is the beginning of the client's bytes.
    pub(crate) fn pass(&mut self, bytes: &[u8], first: &[u8]) -> Vec<u8> {
        self.buffer.extend_from_slice(bytes);
        let mut out = Vec::new();
        let is_http = first.starts_with(b"PRI");
        while let Some(length) = if is_http { frame_length(&self.buffer) } else { message_length(&self.buffer) } {
            let whole: Vec<u8> = self.buffer.drain(..length).collect();
            if is_http {
                out.extend(self.frame(&whole));
            } else {
                // An End has a flag of its own; it is no answer.
                let is_answer = whole[0] == 0;
                out.extend(if is_answer { self.lie.pass(MessageKind::Answer, &whole) } else { whole });
            }
        }
        out
    }

    fn frame(&mut self, frame: &[u8]) -> Vec<u8> {
        let (head, payload) = frame.split_at(HEAD);
        let is_data = head[3] == 0;
        if !is_data || payload.len() < PREFIX {
            return frame.to_vec();
        }
        self.messages += 1;
        let body = &payload[PREFIX..];
        let kind = match self.messages {
            1 | 3 => MessageKind::GetName,
            2 => MessageKind::Describe,
            4 => MessageKind::StartRun,
            _ if body.is_empty() => return frame.to_vec(),
            _ if fields(body).iter().any(|field| field.number == 2 && matches!(field.value, Value::Bytes(_))) => {
                MessageKind::GetName
            }
            _ => MessageKind::EndRun,
        };
        let payload = self.lie.pass(kind, payload);
        // A frame holds 16 KiB at most; what is longer is not told.
        if payload.len() > 16 << 10 {
            return frame.to_vec();
        }
        let length = (payload.len() as u32).to_be_bytes();
        [&length[1..], &head[3..], &payload].concat()
    }
}

fn frame_length(bytes: &[u8]) -> Option<usize> {
    let head = bytes.get(..HEAD)?;
    let length = HEAD + u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
    (bytes.len() >= length).then_some(length)
}

fn message_length(bytes: &[u8]) -> Option<usize> {
    let prefix = bytes.get(..PREFIX)?;
    let length = PREFIX + u32::from_be_bytes([prefix[1], prefix[2], prefix[3], prefix[4]]) as usize;
    (bytes.len() >= length).then_some(length)
}
