//! Items that wait, in the order of their arrival, kept apart by shape. Pure: no lock, no clock.

use std::collections::{BTreeMap, HashMap, VecDeque};

/// Items by shape. Each item has a place in the order of all items. The place of a shape is that of its oldest item.
pub(super) struct Buckets<T> {
    by_shape: HashMap<u64, VecDeque<(u64, T)>>,
    /// The shapes that have items, by place.
    heads: BTreeMap<u64, u64>,
    /// Those of them that fill a batch.
    full: BTreeMap<u64, u64>,
    next_place: u64,
    len: usize,
    batch: usize,
}

impl<T> Buckets<T> {
    /// No items yet; `batch` items of a shape fill a batch.
    pub(super) fn new(batch: usize) -> Buckets<T> {
        let (by_shape, heads, full) = (HashMap::new(), BTreeMap::new(), BTreeMap::new());
        Buckets { by_shape, heads, full, next_place: 0, len: 0, batch }
    }

    /// Adds an item. True when it was the last one that was missing to a batch of its shape.
    pub(super) fn push(&mut self, shape: u64, item: T) -> bool {
        let place = self.next_place;
        self.next_place += 1;
        self.len += 1;
        let items = self.by_shape.entry(shape).or_default();
        items.push_back((place, item));
        let head = items.front().map_or(place, |(head, _)| *head);
        if items.len() == 1 {
            self.heads.insert(head, shape);
        }
        if items.len() == self.batch {
            self.full.insert(head, shape);
        }
        items.len().is_multiple_of(self.batch)
    }

    /// Returns the number of items of all shapes.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The item that came first.
    pub(super) fn oldest(&self) -> Option<&T> {
        let shape = self.oldest_shape()?;
        self.by_shape.get(&shape)?.front().map(|(_, item)| item)
    }

    /// The shape of the item that came first.
    pub(super) fn oldest_shape(&self) -> Option<u64> {
        self.heads.first_key_value().map(|(_, shape)| *shape)
    }

    /// Of the shapes that fill a batch the one that came first.
    pub(super) fn full_shape(&self) -> Option<u64> {
        self.full.first_key_value().map(|(_, shape)| *shape)
    }

    /// Moves at most `most` items of a shape into `taken`, oldest first.
    pub(super) fn take(&mut self, shape: u64, most: usize, taken: &mut Vec<T>) {
        let Some(items) = self.by_shape.get_mut(&shape) else { return };
        if let Some((head, _)) = items.front() {
            self.heads.remove(head);
            self.full.remove(head);
        }
        let count = items.len().min(most);
        taken.extend(items.drain(..count).map(|(_, item)| item));
        self.len -= count;
        match items.front() {
            Some((head, _)) => {
                self.heads.insert(*head, shape);
                if items.len() >= self.batch {
                    self.full.insert(*head, shape);
                }
            }
            None => {
                self.by_shape.remove(&shape);
            }
        }
    }

    /// Moves the `most` items that came first into `taken`, of any shape.
    pub(super) fn take_oldest(&mut self, most: usize, taken: &mut Vec<T>) {
        if let (Some(shape), 1) = (self.oldest_shape(), self.heads.len()) {
            return self.take(shape, most, taken);
        }
        for _ in 0..most {
            let Some(shape) = self.oldest_shape() else { return };
            self.take(shape, 1, taken);
        }
    }

    /// Takes out the items that are `unwanted`, oldest first. The others keep their order.
    pub(super) fn take_if(&mut self, unwanted: impl Fn(&T) -> bool) -> Vec<T> {
        let all = std::mem::replace(self, Buckets::new(self.batch));
        let mut items: Vec<(u64, u64, T)> = Vec::with_capacity(all.len);
        for (shape, bucket) in all.by_shape {
            items.extend(bucket.into_iter().map(|(place, item)| (place, shape, item)));
        }
        items.sort_unstable_by_key(|(place, ..)| *place);
        let (gone, others): (Vec<_>, Vec<_>) = items.into_iter().partition(|(.., item)| unwanted(item));
        others.into_iter().for_each(|(_, shape, item)| {
            self.push(shape, item);
        });
        gone.into_iter().map(|(.., item)| item).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Items are their shape times 100 and a number.
    fn filled(batch: usize, items: &[u64]) -> Buckets<u64> {
        let mut buckets = Buckets::new(batch);
        items.iter().for_each(|&item| {
            buckets.push(item / 100, item);
        });
        buckets
    }

    fn taken(buckets: &mut Buckets<u64>, shape: Option<u64>, most: usize) -> Vec<u64> {
        let mut taken = Vec::new();
        buckets.take(shape.unwrap(), most, &mut taken);
        taken
    }

    #[test]
    fn a_batch_is_of_one_shape_and_the_oldest_goes_first() {
        let mut buckets = filled(2, &[101, 201, 202, 301, 102, 203, 103]);
        let mut batches = Vec::new();
        while let Some(shape) = buckets.oldest_shape() {
            assert_eq!(buckets.oldest().map(|item| item / 100), Some(shape));
            batches.push(taken(&mut buckets, Some(shape), 2));
        }
        assert_eq!(batches, [vec![101, 102], vec![201, 202], vec![301], vec![203], vec![103]]);
        assert_eq!((buckets.len(), buckets.oldest(), buckets.by_shape.len()), (0, None, 0));
    }

    #[test]
    fn what_fills_a_batch_is_known_without_looking() {
        let mut buckets = filled(2, &[101, 201]);
        assert_eq!(buckets.full_shape(), None);
        assert!(buckets.push(2, 202));
        assert!(!buckets.push(2, 203));
        assert!(buckets.push(1, 102));
        // The first of shape 1 came before the first of shape 2.
        assert_eq!(buckets.full_shape(), Some(1));
        assert_eq!(taken(&mut buckets, Some(1), 2), [101, 102]);
        assert_eq!(buckets.full_shape(), Some(2));
        assert_eq!(taken(&mut buckets, Some(2), 2), [201, 202]);
        assert_eq!((buckets.full_shape(), buckets.len()), (None, 1));
    }

    #[test]
    fn without_batches_the_order_is_that_of_arrival() {
        let mut buckets = filled(4, &[101, 201, 102, 301, 202]);
        let mut taken = Vec::new();
        buckets.take_oldest(3, &mut taken);
        assert_eq!(taken, [101, 201, 102]);
        buckets.take_oldest(9, &mut taken);
        assert_eq!(taken, [101, 201, 102, 301, 202]);
        let mut one_shape = filled(4, &[101, 102, 103]);
        taken.clear();
        one_shape.take_oldest(2, &mut taken);
        assert_eq!((taken, one_shape.len()), (vec![101, 102], 1));
    }

    #[test]
    fn what_is_left_keeps_its_order() {
        let mut buckets = filled(2, &[101, 201, 102, 202, 103]);
        assert_eq!(buckets.take_if(|item| *item == 101 || *item == 202), [101, 202]);
        let mut items = Vec::new();
        buckets.take_oldest(9, &mut items);
        assert_eq!(items, [201, 102, 103]);
    }
}
