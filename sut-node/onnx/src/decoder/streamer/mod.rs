//! The slots of one worker: prompts are read, and tokens are answered, by runs of the model.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use lon_sut::backend::stream::{Event, Output, Streamer, What};
use lon_sut::backend::{BackendSample, InferError, TokenOptions};
use lon_sut::tensor::{DType, Tensor};

use super::super::engine::{BatchInput, BatchOutput, Session, trying};
use super::super::proof::apart;
use super::beams::{Beams, Next};
use super::caches::Caches;
use super::layout::{Layout, Role};

/// A worker that decodes, with its slots.
pub(crate) struct Decoder {
    layout: Arc<Layout>,
    session: Box<dyn Session>,
    engine: String,
    options: TokenOptions,
    sequences: Vec<Option<Sequence>>,
    /// A cache for each lane: a slot has as many lanes as beams, one after the other.
    caches: Caches,
    /// The slot that goes on next, where slots go on one by one.
    turn: usize,
}

struct Sequence {
    /// The tokens of the sample, until they are read.
    prompt: Vec<i64>,
    answer: Vec<i64>,
    limit: usize,
    /// The search for the answer; none: the likeliest token is taken each time.
    beams: Option<Beams>,
}

impl Sequence {
    /// The last token of each lane that goes on.
    fn last(&self) -> Vec<i64> {
        match &self.beams {
            Some(beams) => beams.last().collect(),
            None => self.answer.last().copied().into_iter().collect(),
        }
    }
}

impl Decoder {
    pub(crate) fn new(layout: Arc<Layout>, session: Box<dyn Session>, engine: &str, options: TokenOptions) -> Decoder {
        let slots = options.slots.get();
        let sequences = std::iter::repeat_with(|| None).take(slots).collect();
        let caches = Caches::new(&layout, options.lanes());
        Decoder { layout, session, engine: engine.to_owned(), options, sequences, caches, turn: 0 }
    }

    /// Has every slot read a token and then all slots go on, as they will with samples.
    ///
    /// # Errors
    /// How many slots were in the run that failed, and the reason.
    pub(crate) fn warm_up(&mut self) -> Result<(), (usize, String)> {
        let lanes = self.options.lanes();
        for lane in 0..lanes {
            self.logits(&[lane], &[0]).map_err(|reason| (1, reason))?;
        }
        let together = if self.layout.can_pad { lanes } else { 1 };
        let all: Vec<usize> = (0..together).collect();
        self.logits(&all, &vec![0; together]).map_err(|reason| (together, reason))?;
        (0..self.sequences.len()).for_each(|slot| self.clear(slot));
        Ok(())
    }

    /// Proves that lanes that go on together go on as each does alone. Their pasts differ in length.
    ///
    /// # Errors
    /// A clause that says why they do not.
    pub(in super::super) fn prove(&mut self) -> Result<(), String> {
        let prompts: [&[i64]; 2] = [&[1, 0, 1], &[0, 1, 1, 0, 1]];
        let lanes = [0, 1];
        trying(|| {
            let mut alone = Vec::new();
            for (lane, prompt) in lanes.into_iter().zip(prompts) {
                self.logits(&[lane], prompt)?;
                alone.push(self.logits(&[lane], &[1])?);
                self.caches.clear(lane);
            }
            lanes.into_iter().zip(prompts).try_for_each(|(lane, prompt)| self.logits(&[lane], prompt).map(drop))?;
            let together = self.logits(&lanes, &[1, 1]);
            lanes.into_iter().for_each(|lane| self.caches.clear(lane));
            let together = together.map_err(|reason| format!("two of them do not go on together ({reason})"))?;
            let alone: Vec<&[u8]> = alone.iter().map(|logits| &logits.data[..]).collect();
            match apart(DType::F32, &alone, &together.data, TOLERANCE) {
                Some(share) => Err(format!(
                    "the logits of a sample depend on the samples beside it (by {share:.3} of what they span)"
                )),
                None => Ok(()),
            }
        })
    }

    pub(in super::super) fn into_session(self) -> Box<dyn Session> {
        self.session
    }

    /// Frees a slot: its sample is gone.
    fn clear(&mut self, slot: usize) {
        self.sequences[slot] = None;
        let width = self.options.beams.get();
        (slot * width..(slot + 1) * width).for_each(|lane| self.caches.clear(lane));
    }

    /// The lanes of a slot that go on.
    fn lanes(&self, slot: usize) -> Range<usize> {
        let first = slot * self.options.beams.get();
        let beams = self.sequences[slot].as_ref().and_then(|sequence| sequence.beams.as_ref());
        first..first + beams.map_or(1, Beams::len)
    }

    fn failed(&self, reason: impl Into<String>) -> InferError {
        InferError::Failed { engine: self.engine.clone(), reason: reason.into() }
    }

    /// The sample's tokens and how many its answer may have.
    fn read(&self, sample: &BackendSample) -> Result<Sequence, String> {
        let (ids, own_limit) = match &sample.tensors[..] {
            [ids] => (ids, None),
            [ids, limit] => (ids, Some(limit)),
            other => return Err(format!("the sample has {} tensors; {WANTED}", other.len())),
        };
        let prompt = token_ids(ids).ok_or_else(|| format!("the sample is {ids}; {WANTED}"))?;
        let most = self.layout.vocabulary.unwrap_or(i64::MAX);
        if let Some(id) = prompt.iter().find(|id| !(0..most).contains(*id)) {
            return Err(format!("the sample has token {id}, the model's tokens are 0 to {}", most - 1));
        }
        if prompt.is_empty() {
            return Err("the sample has no tokens".to_owned());
        }
        let mut limit = self.options.max_tokens.get();
        if let Some(own) = own_limit {
            let own = single(own).ok_or_else(|| format!("the sample's second tensor is {own}; {WANTED}"))?;
            let own = usize::try_from(own).ok().filter(|own| *own > 0);
            limit = limit.min(own.ok_or("the sample asks for an answer of less than one token")?);
        }
        let (tokens, context) = (prompt.len(), self.options.max_context);
        if tokens.saturating_add(limit) > context.get() {
            return Err(format!(
                "the sample has {tokens} tokens and its answer up to {limit}: more than {context} (--max-context)"
            ));
        }
        let TokenOptions { beams, eos, min_tokens, .. } = self.options;
        let beams = (beams.get() > 1).then(|| Beams::new(beams.get(), eos, min_tokens, limit));
        Ok(Sequence { prompt, answer: Vec::new(), limit, beams })
    }

    /// The slots that go on next, and the tokens that the lanes of each of them read.
    fn next(&mut self) -> (Vec<usize>, Vec<i64>) {
        let has_prompt = |sequence: &Option<Sequence>| sequence.as_ref().is_some_and(|it| !it.prompt.is_empty());
        if let Some(slot) = self.sequences.iter().position(has_prompt) {
            let prompt = self.sequences[slot].as_mut().map(|sequence| std::mem::take(&mut sequence.prompt));
            return (vec![slot], prompt.unwrap_or_default());
        }
        let count = self.sequences.len();
        let filled = (0..count).map(|n| (self.turn + n) % count).filter(|&slot| self.sequences[slot].is_some());
        let slots: Vec<usize> = filled.take(if self.layout.can_pad { count } else { 1 }).collect();
        self.turn = slots.last().map_or(0, |slot| slot + 1);
        let last = |slot: &usize| self.sequences[*slot].as_ref().map(Sequence::last).unwrap_or_default();
        let tokens = slots.iter().flat_map(last).collect();
        (slots, tokens)
    }

    /// One run for several slots. If it fails, one run for each slot: values can make a run fail, and only the slot
    /// that has them shall fail.
    fn advance(&mut self, slots: &[usize], tokens: &[i64], events: &mut Vec<Event>) {
        let lanes: Vec<usize> = slots.iter().flat_map(|&slot| self.lanes(slot)).collect();
        match self.after(&lanes, tokens) {
            Ok(logits) => {
                let (new, width) = (tokens.len() / lanes.len(), logits.len() / tokens.len());
                let rows: Vec<&[u8]> = logits.chunks_exact(width).skip(new - 1).step_by(new).collect();
                let mut tail = &rows[..];
                for &slot in slots {
                    let (own, others) = tail.split_at(self.lanes(slot).len());
                    tail = others;
                    self.go_on(slot, own, events);
                }
            }
            Err(_) if slots.len() > 1 => {
                let mut tail = tokens;
                for &slot in slots {
                    let (own, others) = tail.split_at(self.lanes(slot).len());
                    tail = others;
                    self.advance(&[slot], own, events);
                }
            }
            Err(reason) => {
                for &slot in slots {
                    self.clear(slot);
                    events.push(Event { slot, what: What::Failed(self.failed(reason.clone())) });
                }
            }
        }
    }

    /// Goes on with the answer in this slot by the logits after each of its lanes, or ends it with the reason why it
    /// does not.
    fn go_on(&mut self, slot: usize, rows: &[&[u8]], events: &mut Vec<Event>) {
        let (eos, min_tokens, first_lane) = (self.options.eos, self.options.min_tokens, self.lanes(slot).start);
        let Some(sequence) = &mut self.sequences[slot] else { return };
        let failed = match &mut sequence.beams {
            Some(beams) => match beams.advance(rows.iter().copied()) {
                Next::GoOn(places) => return self.caches.choose(first_lane, &places),
                Next::Done(tokens) => {
                    self.first(slot, tokens.first().copied(), events);
                    return self.done(slot, &tokens, events);
                }
                Next::Failed(why) => why,
            },
            None => {
                let refused = eos.filter(|_| sequence.answer.len() < min_tokens);
                match rows.first().and_then(|row| largest(row, refused)) {
                    None => "the logits hold a NaN",
                    Some(token) => {
                        sequence.answer.push(token);
                        let (len, limit) = (sequence.answer.len(), sequence.limit);
                        if len == 1 {
                            self.first(slot, Some(token), events);
                        }
                        if len >= limit || eos == Some(token) {
                            let answer =
                                self.sequences[slot].take().map(|sequence| sequence.answer).unwrap_or_default();
                            self.done(slot, &answer, events);
                        }
                        return;
                    }
                }
            }
        };
        self.clear(slot);
        events.push(Event { slot, what: What::Failed(self.failed(failed)) });
    }

    /// Tells the first token of an answer.
    fn first(&self, slot: usize, token: Option<i64>, events: &mut Vec<Event>) {
        let first = token.map(|token| What::First(Bytes::copy_from_slice(&token.to_le_bytes())));
        events.extend(first.map(|what| Event { slot, what }));
    }

    /// Tells the answer, and frees its slot.
    fn done(&mut self, slot: usize, answer: &[i64], events: &mut Vec<Event>) {
        self.clear(slot);
        let (bytes, n_tokens) = (little_endian(answer.iter().copied()).into(), answer.len() as u64);
        events.push(Event { slot, what: What::Done(Output { bytes, n_tokens }) });
    }

    /// The logits after these tokens, as [`Decoder::logits`] gives them, with a run for each lane where lanes cannot
    /// share one.
    fn after(&mut self, lanes: &[usize], tokens: &[i64]) -> Result<Vec<u8>, String> {
        if self.layout.can_pad || lanes.len() == 1 {
            return Ok(self.logits(lanes, tokens)?.data);
        }
        let mut all = Vec::new();
        for (lane, token) in lanes.iter().zip(tokens) {
            all.extend(self.logits(&[*lane], &[*token])?.data);
        }
        Ok(all)
    }

    /// Runs the model on `tokens`, the same number for each of `lanes` and one after the other, and keeps their keys
    /// and values. Returns the logits, which are a row for each token.
    fn logits(&mut self, lanes: &[usize], tokens: &[i64]) -> Result<BatchOutput, String> {
        let (batch, new) = (lanes.len(), tokens.len() / lanes.len());
        let lens: Vec<usize> = lanes.iter().map(|&lane| self.caches.len(lane)).collect();
        let past = lens.iter().copied().max().unwrap_or(0);
        self.caches.make_padding(past);
        let ids = little_endian(tokens.iter().copied());
        let mask_row = |&len: &usize| (0..past + new).map(move |at| i64::from(at >= past - len));
        let mask = little_endian(lens.iter().flat_map(mask_row));
        let positions = little_endian(lens.iter().flat_map(|&len| (len..len + new).map(|at| at as i64)));
        let whole = |dims: [usize; 2], data| BatchInput { dtype: DType::I64, dims: dims.to_vec(), parts: vec![data] };
        let inputs = self.layout.inputs.iter().map(|role| match role {
            Role::Ids => whole([batch, new], &ids),
            Role::Mask => whole([batch, past + new], &mask),
            Role::Positions => whole([batch, new], &positions),
            Role::Past(number) => self.caches.past(*number, lanes, past),
        });
        let inputs: Vec<BatchInput<'_>> = inputs.collect();
        let mut outputs = self.session.run(&inputs)?;
        if outputs.len() != self.layout.outputs {
            return Err(format!("{} outputs came, {} were due", outputs.len(), self.layout.outputs));
        }
        self.caches.keep(lanes, past, new, &outputs)?;
        let logits = outputs.swap_remove(self.layout.logits);
        match logits.dims[..] {
            [n, s, width] if n == batch && s == new && width > 0 => Ok(logits),
            _ => Err(format!("its logits have the shape {:?} for {batch} samples of {new} tokens", logits.dims)),
        }
    }
}

/// Weights of few bits are common in such models.
const TOLERANCE: f64 = 2e-2;

const WANTED: &str =
    "decoding takes i64[LENGTH] or i32[LENGTH] token ids, and optionally an i32[] of tokens to answer at most";

impl Streamer for Decoder {
    fn slots(&self) -> usize {
        self.sequences.len()
    }

    fn begin(&mut self, slot: usize, sample: &BackendSample) -> Result<(), InferError> {
        let sequence = self.read(sample).map_err(|reason| self.failed(reason))?;
        self.sequences[slot] = Some(sequence);
        Ok(())
    }

    fn step(&mut self, events: &mut Vec<Event>) {
        let (slots, tokens) = self.next();
        if !slots.is_empty() {
            self.advance(&slots, &tokens, events);
        }
    }

    fn cancel(&mut self, slot: usize) {
        self.clear(slot);
    }
}

fn little_endian(numbers: impl Iterator<Item = i64>) -> Vec<u8> {
    numbers.flat_map(i64::to_le_bytes).collect()
}

/// The token ids of a sample, which may have a batch dimension of 1.
fn token_ids(tensor: &Tensor) -> Option<Vec<i64>> {
    if !matches!(**tensor.dims(), [_] | [1, _]) {
        return None;
    }
    let data = tensor.data();
    match tensor.dtype() {
        DType::I64 => Some(data.as_chunks().0.iter().map(|&id| i64::from_le_bytes(id)).collect()),
        DType::I32 => Some(data.as_chunks().0.iter().map(|&id| i64::from(i32::from_le_bytes(id))).collect()),
        _ => None,
    }
}

/// The only number of an i32 or i64 tensor.
fn single(tensor: &Tensor) -> Option<i64> {
    match (tensor.dtype(), &tensor.data()[..]) {
        (DType::I32, data) => Some(i64::from(i32::from_le_bytes(data.try_into().ok()?))),
        (DType::I64, data) => Some(i64::from_le_bytes(data.try_into().ok()?)),
        _ => None,
    }
}

/// The position of the largest number but the one at `refused`, the first one of equal ones; `None` if one of them is
/// a NaN.
fn largest(row: &[u8], refused: Option<i64>) -> Option<i64> {
    let mut best = (0, f32::NEG_INFINITY);
    for (at, &bytes) in row.as_chunks().0.iter().enumerate() {
        let logit = f32::from_le_bytes(bytes);
        if logit.is_nan() {
            return None;
        }
        if logit > best.1 && refused != Some(at as i64) {
            best = (at, logit);
        }
    }
    Some(best.0 as i64)
}

#[cfg(test)]
mod tests;
