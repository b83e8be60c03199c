//! The slots of one worker: prompts are read, and tokens are answered, by runs of the model.

use std::sync::Arc;

use bytes::Bytes;
use lon_sut::backend::stream::{Event, Output, Streamer, What};
use lon_sut::backend::{InferError, Sample, TokenOptions};
use lon_sut::tensor::{DType, Tensor};

use super::super::engine::{BatchInput, BatchOutput, Session, trying};
use super::super::proof::apart;
use super::caches::Caches;
use super::layout::{Layout, Role};

/// A worker that decodes, with its slots.
pub(crate) struct Decoder {
    layout: Arc<Layout>,
    session: Box<dyn Session>,
    engine: String,
    options: TokenOptions,
    held: Vec<Option<Held>>,
    caches: Caches,
    /// The slot that goes on next, where slots go on one by one.
    turn: usize,
}

struct Held {
    /// The tokens of the sample, until they are read.
    prompt: Vec<i64>,
    answer: Vec<i64>,
    limit: usize,
}

impl Decoder {
    pub(crate) fn new(layout: Arc<Layout>, session: Box<dyn Session>, engine: &str, options: TokenOptions) -> Decoder {
        let slots = options.slots.get();
        let held = std::iter::repeat_with(|| None).take(slots).collect();
        let caches = Caches::new(&layout, slots);
        Decoder { layout, session, engine: engine.to_owned(), options, held, caches, turn: 0 }
    }

    /// Has every slot read a token and then all slots go on, as they will with samples.
    ///
    /// # Errors
    /// How many slots were in the run that failed, and the reason.
    pub(crate) fn warm_up(&mut self) -> Result<(), (usize, String)> {
        for slot in 0..self.held.len() {
            self.run(&[slot], &[0]).map_err(|reason| (1, reason))?;
        }
        let together = if self.layout.can_pad { self.held.len() } else { 1 };
        let all: Vec<usize> = (0..together).collect();
        self.run(&all, &vec![0; together]).map_err(|reason| (together, reason))?;
        (0..self.held.len()).for_each(|slot| self.clear(slot));
        Ok(())
    }

    /// Proves that slots that go on together go on as each does alone. Their pasts differ in length.
    ///
    /// # Errors
    /// A clause that says why they do not.
    pub(in super::super) fn prove(&mut self) -> Result<(), String> {
        let prompts: [&[i64]; 2] = [&[1, 0, 1], &[0, 1, 1, 0, 1]];
        let slots = [0, 1];
        trying(|| {
            let mut alone = Vec::new();
            for (slot, prompt) in slots.into_iter().zip(prompts) {
                self.run(&[slot], prompt)?;
                alone.push(self.logits(&[slot], &[1])?);
                self.clear(slot);
            }
            slots.into_iter().zip(prompts).try_for_each(|(slot, prompt)| self.run(&[slot], prompt).map(drop))?;
            let together = self.logits(&slots, &[1, 1]);
            slots.into_iter().for_each(|slot| self.clear(slot));
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
        self.held[slot] = None;
        self.caches.clear(slot);
    }

    fn failed(&self, reason: impl Into<String>) -> InferError {
        InferError::Failed { engine: self.engine.clone(), reason: reason.into() }
    }

    /// The sample's tokens and how many its answer may have.
    fn read(&self, sample: &Sample) -> Result<Held, String> {
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
        Ok(Held { prompt, answer: Vec::with_capacity(limit), limit })
    }

    /// The slots that go on next, and the tokens that each of them reads.
    fn next(&mut self) -> (Vec<usize>, Vec<i64>) {
        let begun = |held: &Option<Held>| held.as_ref().is_some_and(|held| held.answer.is_empty());
        if let Some(slot) = self.held.iter().position(begun) {
            let prompt = self.held[slot].as_mut().map(|held| std::mem::take(&mut held.prompt));
            return (vec![slot], prompt.unwrap_or_default());
        }
        let count = self.held.len();
        let held = (0..count).map(|n| (self.turn + n) % count).filter(|&slot| self.held[slot].is_some());
        let slots: Vec<usize> = held.take(if self.layout.can_pad { count } else { 1 }).collect();
        self.turn = slots.last().map_or(0, |slot| slot + 1);
        let last = |slot: &usize| self.held[*slot].as_ref().and_then(|held| held.answer.last().copied());
        let tokens = slots.iter().filter_map(last).collect();
        (slots, tokens)
    }

    /// One run for several slots. If it fails, one run for each slot: values can make a run fail, and only the slot
    /// that has them shall fail.
    fn advance(&mut self, slots: &[usize], tokens: &[i64], events: &mut Vec<Event>) {
        match self.run(slots, tokens) {
            Ok(next) => slots.iter().zip(next).for_each(|(&slot, next)| self.token(slot, next, events)),
            Err(_) if slots.len() > 1 => {
                slots.iter().zip(tokens).for_each(|(&slot, &token)| self.advance(&[slot], &[token], events));
            }
            Err(reason) => {
                for &slot in slots {
                    self.clear(slot);
                    events.push(Event { slot, what: What::Failed(self.failed(reason.clone())) });
                }
            }
        }
    }

    /// Adds a token to the answer in this slot, or ends it with the reason why there is none.
    fn token(&mut self, slot: usize, next: Option<i64>, events: &mut Vec<Event>) {
        let Some(token) = next else {
            self.clear(slot);
            events.push(Event { slot, what: What::Failed(self.failed("the logits hold a NaN")) });
            return;
        };
        let Some(held) = &mut self.held[slot] else { return };
        held.answer.push(token);
        if held.answer.len() == 1 {
            events.push(Event { slot, what: What::First(Bytes::copy_from_slice(&token.to_le_bytes())) });
        }
        if held.answer.len() >= held.limit || self.options.eos == Some(token) {
            let bytes: Vec<u8> = held.answer.iter().flat_map(|token| token.to_le_bytes()).collect();
            let n_tokens = held.answer.len() as u64;
            self.clear(slot);
            events.push(Event { slot, what: What::Done(Output { bytes: bytes.into(), n_tokens }) });
        }
    }

    /// The next token of each slot after these, as [`Decoder::logits`] reads them; `None` where the logits hold a NaN.
    fn run(&mut self, slots: &[usize], tokens: &[i64]) -> Result<Vec<Option<i64>>, String> {
        let logits = self.logits(slots, tokens)?;
        let (new, width) = (tokens.len() / slots.len(), logits.data.len() / tokens.len());
        let rows = logits.data.chunks_exact(width).skip(new - 1).step_by(new);
        Ok(rows.zip(slots).map(|(row, &slot)| largest(row, self.refused(slot))).collect())
    }

    /// The token that ends an answer, where the one in this slot is too short for it.
    fn refused(&self, slot: usize) -> Option<i64> {
        let is_short = |held: &Held| held.answer.len() < self.options.min_tokens;
        self.options.eos.filter(|_| self.held[slot].as_ref().is_some_and(is_short))
    }

    /// Runs the model on `tokens`, the same number for each of `slots` and one after the other, and keeps their keys
    /// and values. Returns the logits, which are a row for each token.
    fn logits(&mut self, slots: &[usize], tokens: &[i64]) -> Result<BatchOutput, String> {
        let (batch, new) = (slots.len(), tokens.len() / slots.len());
        let lens: Vec<usize> = slots.iter().map(|&slot| self.caches.len(slot)).collect();
        let past = lens.iter().copied().max().unwrap_or(0);
        self.caches.make_padding(past);
        let ids = little_endian(tokens.iter().copied());
        let seen = |&len: &usize| (0..past + new).map(move |at| i64::from(at >= past - len));
        let mask = little_endian(lens.iter().flat_map(seen));
        let positions = little_endian(lens.iter().flat_map(|&len| (len..len + new).map(|at| at as i64)));
        let whole = |dims: [usize; 2], data| BatchInput { dtype: DType::I64, dims: dims.to_vec(), parts: vec![data] };
        let inputs = self.layout.inputs.iter().map(|role| match role {
            Role::Ids => whole([batch, new], &ids),
            Role::Mask => whole([batch, past + new], &mask),
            Role::Positions => whole([batch, new], &positions),
            Role::Past(number) => self.caches.past(*number, slots, past),
        });
        let inputs: Vec<BatchInput<'_>> = inputs.collect();
        let mut outputs = self.session.run(&inputs)?;
        if outputs.len() != self.layout.outputs {
            return Err(format!("{} outputs came, {} were due", outputs.len(), self.layout.outputs));
        }
        self.caches.keep(slots, past, new, &outputs)?;
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
        self.held.len()
    }

    fn begin(&mut self, slot: usize, sample: &Sample) -> Result<(), InferError> {
        let held = self.read(sample).map_err(|reason| self.failed(reason))?;
        self.held[slot] = Some(held);
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
