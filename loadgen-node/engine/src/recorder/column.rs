//! A list of small values that one thread writes while another reads it, without locks and at no cost to the writer.
//!
//! The engine's thread is the only one that writes. Whoever reads meanwhile sees each value as it was or as it is, and
//! can be a moment behind.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// A value that a [`Column`] can have.
pub(crate) trait Entry: Copy + Default + PartialEq {
    /// Its stored form.
    type Shared;

    /// The stored form of this value.
    fn shared(self) -> Self::Shared;

    /// The value that is stored.
    fn load(from: &Self::Shared) -> Self;

    /// Stores this value.
    fn store(self, into: &Self::Shared);
}

impl Entry for u64 {
    type Shared = AtomicU64;

    fn shared(self) -> AtomicU64 {
        AtomicU64::new(self)
    }

    #[inline]
    fn load(from: &AtomicU64) -> u64 {
        from.load(Relaxed)
    }

    #[inline]
    fn store(self, into: &AtomicU64) {
        into.store(self, Relaxed);
    }
}

impl Entry for u32 {
    type Shared = AtomicU32;

    fn shared(self) -> AtomicU32 {
        AtomicU32::new(self)
    }

    #[inline]
    fn load(from: &AtomicU32) -> u32 {
        from.load(Relaxed)
    }

    #[inline]
    fn store(self, into: &AtomicU32) {
        into.store(self, Relaxed);
    }
}

/// The list. A clone is the same list, and not a copy of it.
#[derive(Debug)]
pub(crate) struct Column<T: Entry> {
    entries: Arc<[T::Shared]>,
    /// Number of the entries that belong to the list.
    len: usize,
}

impl<T: Entry> Column<T> {
    /// A list of default values, each written once: pages that the system had only promised would otherwise be fetched
    /// while queries are due (a large page takes milliseconds on some virtual machines).
    pub(crate) fn new(len: usize) -> Self {
        (0..len).map(|_| T::default()).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Leaves out the entries from `len` on.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    #[inline]
    pub(crate) fn get(&self, position: usize) -> Option<T> {
        self.entries().get(position).map(T::load)
    }

    /// Stores a value, where there is such an entry.
    #[inline]
    pub(crate) fn set(&self, position: usize, value: T) {
        if let Some(entry) = self.entries().get(position) {
            value.store(entry);
        }
    }

    /// Changes a value, where there is such an entry. Only the thread that writes may do it.
    #[inline]
    pub(crate) fn change(&self, position: usize, how: impl FnOnce(T) -> T) {
        if let Some(entry) = self.entries().get(position) {
            how(T::load(entry)).store(entry);
        }
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = T> + Clone + '_ {
        self.entries().iter().map(T::load)
    }

    /// The entries from `from` up to `to`, as far as there are any.
    pub(crate) fn part(&self, from: usize, to: usize) -> impl ExactSizeIterator<Item = T> + '_ {
        let to = to.min(self.len);
        self.entries[from.min(to)..to].iter().map(T::load)
    }

    #[inline]
    fn entries(&self) -> &[T::Shared] {
        &self.entries[..self.len]
    }
}

impl<T: Entry> Clone for Column<T> {
    fn clone(&self) -> Self {
        Self { entries: Arc::clone(&self.entries), len: self.len }
    }
}

impl<T: Entry> PartialEq for Column<T> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<T: Entry> FromIterator<T> for Column<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let entries: Arc<[T::Shared]> = values.into_iter().map(T::shared).collect();
        Self { len: entries.len(), entries }
    }
}

impl<T: Entry> From<Vec<T>> for Column<T> {
    fn from(values: Vec<T>) -> Self {
        values.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_seen_by_every_clone() {
        let mut column: Column<u64> = Column::new(4);
        let reader = column.clone();
        column.set(2, 7);
        column.set(4, 9);
        assert_eq!(reader.iter().collect::<Vec<_>>(), [0, 0, 7, 0]);
        assert_eq!((reader.get(2), reader.get(4)), (Some(7), None));
        column.truncate(3);
        assert_eq!((column.len(), reader.len()), (3, 4));
        assert_eq!(column.part(1, 9).collect::<Vec<_>>(), [0, 7]);
        assert!(column != reader && column == Column::from(vec![0, 0, 7]));
    }
}
