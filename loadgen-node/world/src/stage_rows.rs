//! Which node answered each sample and how long each stage took: rows that the engine's thread hands to the thread that
//! writes them, through a ring of fixed size, without a lock and without waiting. Rows that find the ring full are
//! counted and left out.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

use loadgen::world::SampleSeq;
use qdl::NodeIndex;

use crate::tally::STAGES;

/// Rows that there is room for: a second of the highest rates, 24 MiB.
const ROWS: usize = 1 << 20;
/// Numbers that a row takes: position, node and first stage in one, four stages in each of the others.
const WORDS: usize = 3;
/// The phase that goes on, or none, is not recorded.
const OFF: u64 = u64::MAX;

/// A duration in 16 bits: exact below 4,096 ns, above that rounded to 12 significant bits (at most 0.025 % off), and 73
/// minutes at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Short(
    /// As it is stored: an exponent of 5 bits, then a mantissa of 11.
    pub u16,
);

/// Bits of a [`Short`] below its exponent.
const MANTISSA_BITS: u32 = 11;
const MANTISSA: u64 = 1 << MANTISSA_BITS;

impl Short {
    /// The duration that is nearest.
    pub fn of(ns: u64) -> Short {
        if ns < MANTISSA {
            return Short(ns as u16);
        }
        let shift = u64::BITS - ns.leading_zeros() - (MANTISSA_BITS + 1);
        // To the nearest; what is rounded up to the next power of two has that one's exponent.
        let rounded = (ns >> shift) + if shift == 0 { 0 } else { (ns >> (shift - 1)) & 1 };
        let code = (u64::from(shift) << MANTISSA_BITS) + rounded;
        Short(u16::try_from(code).unwrap_or(u16::MAX))
    }

    /// The duration in ns.
    pub fn ns(self) -> u64 {
        let (exponent, mantissa) = (self.0 >> MANTISSA_BITS, u64::from(self.0) & (MANTISSA - 1));
        match exponent {
            0 => mantissa,
            exponent => (MANTISSA + mantissa) << (exponent - 1),
        }
    }
}

/// Node and stage durations of one sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageRow {
    /// Its position in the phase, in the order in which samples are issued.
    pub position: u32,
    /// The node that had it, by its place in the list that the user gave.
    pub node: u16,
    /// Duration of each stage; all zero where the sample got no answer.
    pub stages: [Short; STAGES.len()],
}

impl StageRow {
    fn words(self) -> [u64; WORDS] {
        let StageRow { position, node, stages: [first, others @ ..] } = self;
        let four = |stages: &[Short]| stages.iter().rev().fold(0, |word, stage| word << 16 | u64::from(stage.0));
        [u64::from(position) | u64::from(node) << 32 | u64::from(first.0) << 48, four(&others[..4]), four(&others[4..])]
    }

    fn of_words([first, second, third]: [u64; WORDS]) -> StageRow {
        let mut stages = [Short((first >> 48) as u16); STAGES.len()];
        for (at, stage) in stages[1..].iter_mut().enumerate() {
            let word = if at < 4 { second } else { third };
            *stage = Short((word >> (16 * (at % 4))) as u16);
        }
        StageRow { position: first as u32, node: (first >> 32) as u16, stages }
    }
}

/// Memory that writer and reader share.
struct Ring {
    words: Box<[AtomicU64]>,
    /// Rows that were ever put in.
    put: AtomicU64,
    /// Rows that were ever taken out.
    taken: AtomicU64,
    /// Rows that found no room.
    missed: AtomicU64,
    /// Id of the first sample of the phase that is recorded.
    first: AtomicU64,
}

impl Ring {
    fn at(&self, row: u64) -> &[AtomicU64] {
        let at = row as usize % (self.words.len() / WORDS) * WORDS;
        &self.words[at..at + WORDS]
    }
}

/// A ring of `rows` rows: where rows are put in, and where they are taken out.
fn ring(rows: usize) -> (StageWriter, StageReader) {
    // Each written once: pages that the system had only promised would be fetched while queries are due.
    let words = (0..rows * WORDS).map(|_| AtomicU64::new(0)).collect();
    let [put, taken, missed, first] = [0, 0, 0, OFF].map(AtomicU64::new);
    let ring = Arc::new(Ring { words, put, taken, missed, first });
    let room = rows as u64;
    (StageWriter { ring: Arc::clone(&ring), put: 0, room }, StageReader { ring, taken: 0 })
}

/// A ring of the usual size.
pub fn new() -> (StageWriter, StageReader) {
    ring(ROWS)
}

/// The end of the engine's thread.
pub struct StageWriter {
    ring: Arc<Ring>,
    put: u64,
    /// The number of the first row for which there may be no room: no look at the other end is needed before it.
    room: u64,
}

impl StageWriter {
    /// Notes how a sample of the phase that is recorded ended.
    #[inline]
    pub(crate) fn put(&mut self, seq: SampleSeq, node: NodeIndex, durations_ns: [u64; STAGES.len()]) {
        // The sample is of an earlier phase, or nothing is recorded now.
        let Some(position) = seq.0.checked_sub(self.ring.first.load(Relaxed)) else { return };
        let (Ok(position), Ok(node)) = (u32::try_from(position), u16::try_from(node.0)) else { return };
        if self.put >= self.room {
            let rows = (self.ring.words.len() / WORDS) as u64;
            self.room = self.ring.taken.load(Acquire) + rows;
            if self.put >= self.room {
                self.ring.missed.fetch_add(1, Relaxed);
                return;
            }
        }
        let row = StageRow { position, node, stages: durations_ns.map(Short::of) };
        for (place, word) in self.ring.at(self.put).iter().zip(row.words()) {
            place.store(word, Relaxed);
        }
        self.put += 1;
        self.ring.put.store(self.put, Release);
    }
}

/// The end of the thread that writes.
pub struct StageReader {
    ring: Arc<Ring>,
    taken: u64,
}

impl StageReader {
    /// Returns the switch that selects the phase to record.
    pub fn switch(&self) -> StageSwitch {
        StageSwitch(Arc::clone(&self.ring))
    }

    /// Moves rows that are there to the end of `into`, as many as it has room for.
    pub fn take(&mut self, into: &mut Vec<StageRow>) {
        let until = self.ring.put.load(Acquire).min(self.taken + (into.capacity() - into.len()) as u64);
        for row in self.taken..until {
            let words = self.ring.at(row);
            into.push(StageRow::of_words([0, 1, 2].map(|at| words[at].load(Relaxed))));
        }
        self.taken = until;
        self.ring.taken.store(until, Release);
    }

    /// Rows that found no room.
    pub fn missed(&self) -> u64 {
        self.ring.missed.load(Relaxed)
    }
}

/// Says which phase is recorded. To be used by the thread that puts rows in.
pub struct StageSwitch(Arc<Ring>);

impl StageSwitch {
    /// From now on samples from this one on are recorded.
    pub fn record_from(&self, first: SampleSeq) {
        self.0.first.store(first.0, Relaxed);
    }

    /// From now on none are.
    pub fn off(&self) {
        self.0.first.store(OFF, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_durations_are_exact_and_long_ones_nearly() {
        for ns in 0..4_096 {
            assert_eq!(Short::of(ns).ns(), ns);
        }
        for ns in (12..42).flat_map(|bits| [(1u64 << bits) - 1, 1 << bits, (1 << bits) * 13 / 9]) {
            let off = Short::of(ns).ns().abs_diff(ns) as f64 / ns as f64;
            assert!(off <= 0.000_245, "{ns}: {off}");
        }
        let most = Short(u16::MAX).ns();
        assert!(most > 73 * 60_000_000_000 && Short::of(most).ns() == most && Short::of(u64::MAX).ns() == most);
        assert!((0..u16::MAX).all(|code| Short(code) < Short(code + 1) && Short(code).ns() < Short(code + 1).ns()));
    }

    #[test]
    fn rows_come_out_as_they_went_in() {
        let (mut writer, mut reader) = ring(4);
        let switch = reader.switch();
        let durations = [1, 2, 3, 4, 5, 6, 7, 8, 9];
        writer.put(SampleSeq(7), NodeIndex(1), durations);
        switch.record_from(SampleSeq(10));
        writer.put(SampleSeq(9), NodeIndex(1), durations);
        (10..16).for_each(|seq| writer.put(SampleSeq(seq), NodeIndex(seq as usize), durations));
        assert_eq!(reader.missed(), 2, "there is room for four");
        let mut rows = Vec::with_capacity(3);
        reader.take(&mut rows);
        let row = |position| StageRow { position, node: position as u16 + 10, stages: durations.map(Short::of) };
        assert_eq!(rows, [0, 1, 2].map(row));
        writer.put(SampleSeq(16), NodeIndex(16), durations);
        switch.off();
        writer.put(SampleSeq(17), NodeIndex(17), durations);
        rows.clear();
        reader.take(&mut rows);
        assert_eq!((rows, reader.missed()), (vec![row(3), row(6)], 2));
    }
}
