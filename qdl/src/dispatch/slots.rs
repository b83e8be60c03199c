//! Slots of samples in flight, and the ids that lead to them.
//!
//! The id under which a sample is sent (its wire id) is a slot and a generation, which counts the uses of the slot. So
//! an answer to a past use is recognised and never taken for an answer to the present one. Pure; the owner locks.

/// Slots that are used again and again, each use with a generation of its own. Values are of one use.
#[derive(Debug)]
pub(crate) struct Slots<T> {
    entries: Vec<Entry<T>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Entry<T> {
    generation: u32,
    state: State<T>,
    /// End of the use before the present one.
    before: Ended,
}

#[derive(Debug)]
enum State<T> {
    Open(T),
    Ended(Ended),
}

/// End of a use of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The sample was answered.
    Answered,
    /// The sample was given up before an answer came.
    GivenUp,
}

/// Why an id leads to no sample in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unmatched {
    /// Its sample was answered before.
    Duplicate,
    /// Its sample was given up before.
    Late,
    /// The id was never given out.
    Unknown,
}

impl<T> Slots<T> {
    pub(crate) fn new() -> Slots<T> {
        Slots { entries: Vec::new(), free: Vec::new() }
    }

    /// Uses and frees this many slots, so that their memory has been touched before it is needed.
    pub(crate) fn warm(&mut self, count: usize, value: impl Fn() -> T) {
        let ids: Vec<u64> = (0..count).map(|_| self.insert(value())).collect();
        for id in ids {
            // Cannot fail: the id was just given out.
            let _ = self.end(id, Ended::Answered);
        }
    }

    /// Puts a value into a slot and returns the id that leads to it.
    pub(crate) fn insert(&mut self, value: T) -> u64 {
        let slot = self.free.pop().unwrap_or_else(|| {
            let never = Ended::Answered;
            self.entries.push(Entry { generation: 0, state: State::Ended(never), before: never });
            (self.entries.len() - 1) as u32
        });
        let entry = &mut self.entries[slot as usize];
        entry.generation = entry.generation.wrapping_add(1);
        if let State::Ended(how) = entry.state {
            entry.before = how;
        }
        entry.state = State::Open(value);
        wire_id(slot, entry.generation)
    }

    /// The value that an id leads to.
    ///
    /// # Errors
    /// The id leads to no open use of a slot.
    pub(crate) fn get_mut(&mut self, id: u64) -> Result<&mut T, Unmatched> {
        let (slot, generation) = (id as u32, (id >> 32) as u32);
        let entry = self.entries.get_mut(slot as usize).ok_or(Unmatched::Unknown)?;
        // This is the number of uses by which the id is behind the slot's present use. Far ahead means that the id was
        // never given out.
        let behind = entry.generation.wrapping_sub(generation);
        match (&mut entry.state, behind) {
            (State::Open(value), 0) => Ok(value),
            (State::Ended(Ended::Answered), 0) => Err(Unmatched::Duplicate),
            (State::Ended(Ended::GivenUp), 0) => Err(Unmatched::Late),
            _ if generation == 0 || behind > u32::MAX / 2 => Err(Unmatched::Unknown),
            (_, 1) if entry.before == Ended::GivenUp => Err(Unmatched::Late),
            _ => Err(Unmatched::Duplicate),
        }
    }

    /// Takes the value out and frees the slot.
    ///
    /// # Errors
    /// The id leads to no open use of a slot.
    pub(crate) fn end(&mut self, id: u64, how: Ended) -> Result<T, Unmatched> {
        self.get_mut(id)?;
        let slot = id as u32;
        let entry = &mut self.entries[slot as usize];
        match std::mem::replace(&mut entry.state, State::Ended(how)) {
            State::Open(value) => {
                self.free.push(slot);
                Ok(value)
            }
            State::Ended(_) => Err(Unmatched::Unknown),
        }
    }

    /// The open uses: ids and values.
    pub(crate) fn open(&self) -> impl Iterator<Item = (u64, &T)> {
        self.entries.iter().enumerate().filter_map(|(slot, entry)| match &entry.state {
            State::Open(value) => Some((wire_id(slot as u32, entry.generation), value)),
            State::Ended(_) => None,
        })
    }
}

fn wire_id(slot: u32, generation: u32) -> u64 {
    u64::from(generation) << 32 | u64::from(slot)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_leads_to_its_value_once() {
        let mut slots = Slots::new();
        let a = slots.insert('a');
        let b = slots.insert('b');
        assert_ne!(a, b);
        assert_eq!(slots.end(a, Ended::Answered), Ok('a'));
        assert_eq!(slots.end(a, Ended::Answered), Err(Unmatched::Duplicate));
        assert_eq!(slots.get_mut(b), Ok(&mut 'b'));
    }

    #[test]
    fn an_old_id_never_reaches_the_slots_next_use() {
        let mut slots = Slots::new();
        let old = slots.insert('a');
        slots.end(old, Ended::Answered).unwrap();
        let new = slots.insert('b');
        assert_eq!(old as u32, new as u32, "the slot is used again");
        assert_eq!(slots.end(old, Ended::Answered), Err(Unmatched::Duplicate));
        assert_eq!(slots.end(new, Ended::Answered), Ok('b'));
    }

    #[test]
    fn late_and_unknown_ids_are_told_apart() {
        let mut slots = Slots::new();
        let id = slots.insert('a');
        slots.end(id, Ended::GivenUp).unwrap();
        assert_eq!(slots.get_mut(id), Err(Unmatched::Late));
        assert_eq!(slots.get_mut(7), Err(Unmatched::Unknown), "no such slot");
        assert_eq!(slots.get_mut(0), Err(Unmatched::Unknown), "generation 0 is never given out");
        assert_eq!(slots.get_mut(id + (1 << 32)), Err(Unmatched::Unknown), "a use that has not been");
        assert_eq!(slots.open().count(), 0);
        slots.insert('b');
        assert_eq!(slots.get_mut(id), Err(Unmatched::Late), "also when the slot is in use again");
    }
}
