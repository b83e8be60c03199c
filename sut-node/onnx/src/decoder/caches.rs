//! The keys and values of one worker's slots. For a run they become one padded tensor for each cache; after it the new
//! ones are added. Nothing is run here.

use std::ops::Range;

use super::super::engine::{BatchInput, BatchOutput};
use super::layout::{Cache, Layout};

/// The keys and values of one worker's slots.
pub(super) struct Caches {
    caches: Vec<Cache>,
    slots: Vec<Slot>,
    /// Zeros, with which shorter pasts are padded.
    zeros: Vec<u8>,
}

#[derive(Clone)]
struct Slot {
    /// The keys or values of the tokens, one after the other, for each cache and each head.
    rows: Vec<Vec<u8>>,
    /// Number of tokens in the slot.
    len: usize,
}

impl Caches {
    pub(super) fn new(layout: &Layout, slots: usize) -> Caches {
        let rows = layout.caches.iter().map(|cache| cache.heads).sum();
        let slot = Slot { rows: vec![Vec::new(); rows], len: 0 };
        Caches { caches: layout.caches.clone(), slots: vec![slot; slots], zeros: Vec::new() }
    }

    /// Returns the number of tokens that a slot has in its caches.
    pub(super) fn len(&self, slot: usize) -> usize {
        self.slots[slot].len
    }

    /// Empties a slot. Its memory is used again, its content is not.
    pub(super) fn clear(&mut self, slot: usize) {
        let Slot { rows, len } = &mut self.slots[slot];
        rows.iter_mut().for_each(Vec::clear);
        *len = 0;
    }

    /// Gives the slots from `first` on the content that the slots at these places behind it had.
    pub(super) fn choose(&mut self, first: usize, places: &[usize]) {
        let slots = &self.slots[first..];
        let chosen: Vec<Option<Slot>> =
            places.iter().enumerate().map(|(at, &place)| (place != at).then(|| slots[place].clone())).collect();
        for (at, slot) in chosen.into_iter().enumerate() {
            if let Some(slot) = slot {
                self.slots[first + at] = slot;
            }
        }
    }

    /// Makes room for so many tokens in all; called before [`Caches::past`].
    pub(super) fn make_padding(&mut self, past: usize) {
        let row_bytes = self.caches.iter().map(Cache::row_bytes).max().unwrap_or(0);
        self.zeros.resize(self.zeros.len().max(past * row_bytes), 0);
    }

    /// One cache of these slots as one tensor. Their pasts are padded at the beginning to `past` tokens.
    pub(super) fn past(&self, number: usize, slots: &[usize], past: usize) -> BatchInput<'_> {
        let cache = self.caches[number];
        let heads = self.heads(number);
        let parts = slots.iter().flat_map(|&slot| {
            let Slot { rows, len } = &self.slots[slot];
            let padding = &self.zeros[..(past - len) * cache.row_bytes()];
            rows[heads.clone()].iter().flat_map(move |row| [padding, row])
        });
        let dims = vec![slots.len(), cache.heads, past, cache.width];
        BatchInput { dtype: cache.dtype, dims, parts: parts.filter(|part| !part.is_empty()).collect() }
    }

    /// The places of a cache's heads among the rows of a slot.
    fn heads(&self, number: usize) -> Range<usize> {
        let before = self.caches[..number].iter().map(|cache| cache.heads).sum();
        before..before + self.caches[number].heads
    }

    /// Adds the keys and values of the `new` last tokens to the caches of `slots`.
    pub(super) fn keep(
        &mut self,
        slots: &[usize],
        past: usize,
        new: usize,
        outputs: &[BatchOutput],
    ) -> Result<(), String> {
        for cache in &self.caches {
            let dims = &outputs[cache.output].dims;
            if **dims != [slots.len(), cache.heads, past + new, cache.width] {
                return Err(format!("a cache came back with the shape {dims:?} after {past} and {new} tokens"));
            }
        }
        for number in 0..self.caches.len() {
            let cache = self.caches[number];
            let head_bytes = (past + new) * cache.row_bytes();
            let mut heads = outputs[cache.output].data.chunks_exact(head_bytes);
            for &slot in slots {
                let range = self.heads(number);
                for (row, head) in self.slots[slot].rows[range].iter_mut().zip(heads.by_ref()) {
                    row.extend_from_slice(&head[past * cache.row_bytes()..]);
                }
            }
        }
        slots.iter().for_each(|&slot| self.slots[slot].len += new);
        Ok(())
    }
}
