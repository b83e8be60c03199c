//! The keys and values of one worker's slots: out as one padded tensor a cache, in as what came new. Runs nothing.

use std::ops::Range;

use super::super::engine::{BatchInput, BatchOutput};
use super::layout::{Cache, Layout};

/// See the module.
pub(super) struct Caches {
    caches: Vec<Cache>,
    slots: Vec<Slot>,
    /// What shorter pasts are padded with.
    zeros: Vec<u8>,
}

#[derive(Clone)]
struct Slot {
    /// Cache by cache and head by head: the tokens' keys or values, one after the other.
    rows: Vec<Vec<u8>>,
    /// Tokens.
    len: usize,
}

impl Caches {
    pub(super) fn new(layout: &Layout, slots: usize) -> Caches {
        let rows = layout.caches.iter().map(|cache| cache.heads).sum();
        let slot = Slot { rows: vec![Vec::new(); rows], len: 0 };
        Caches { caches: layout.caches.clone(), slots: vec![slot; slots], zeros: Vec::new() }
    }

    /// Tokens that a slot has in its cache.
    pub(super) fn len(&self, slot: usize) -> usize {
        self.slots[slot].len
    }

    /// The memory is used again, what is in it never.
    pub(super) fn clear(&mut self, slot: usize) {
        let Slot { rows, len } = &mut self.slots[slot];
        rows.iter_mut().for_each(Vec::clear);
        *len = 0;
    }

    /// Before [`Caches::past`] with as many tokens.
    pub(super) fn make_padding(&mut self, past: usize) {
        let row_bytes = self.caches.iter().map(Cache::row_bytes).max().unwrap_or(0);
        self.zeros.resize(self.zeros.len().max(past * row_bytes), 0);
    }

    /// A cache of these slots as one tensor, their pasts padded in front to `past` tokens.
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

    /// Where the heads of a cache are among a slot's rows.
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
