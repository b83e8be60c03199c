//! The records of a phase that goes on, for whoever wants to read them on another thread. Reading costs the engine
//! nothing: it writes these records in any case.

use std::sync::Arc;

use super::column::Column;
use super::lag::{LagStats, SharedLag};
use super::packed_record::{Cell, SampleEnd};
use super::tokens::Tokens;

/// The records. A clone shows the same phase.
#[derive(Clone, Debug)]
pub struct Live {
    pub(super) cells: Column<Cell>,
    pub(super) tokens: Option<Tokens>,
    pub(super) lag: Arc<SharedLag>,
}

/// End of one sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Its latency, ns; `None` when it has no answer.
    pub latency_ns: Option<u64>,
    /// The latency of its first token, ns, in token runs with first tokens.
    pub first_token_ns: Option<u64>,
    /// Tokens of its answer; 0 outside token runs, or when it is not known.
    pub tokens: u32,
}

impl Live {
    /// Records of samples that nothing is known of yet.
    #[cfg(test)]
    pub(super) fn of(cells: Column<Cell>, tokens: Option<Tokens>) -> Live {
        Live { cells, tokens, lag: Arc::default() }
    }

    /// Schedule lag of the samples so far.
    pub fn lag(&self) -> LagStats {
        self.lag.stats()
    }

    /// The largest schedule lag since this was last asked, ns. Only one reader may ask.
    pub fn take_recent_lag_ns(&self) -> u64 {
        self.lag.take_recent_ns()
    }

    #[inline]
    fn ended(&self, position: usize, latency_ns: Option<u64>) -> Ended {
        let Some(tokens) = &self.tokens else { return Ended { latency_ns, first_token_ns: None, tokens: 0 } };
        Ended { latency_ns, first_token_ns: tokens.first_token_ns(position), tokens: tokens.count(position) }
    }
}

/// Samples under way that a reader keeps an eye on at most. With more it goes on when some of them have ended.
const MOST_OPEN: usize = 1 << 20;

/// Reads how the samples of a phase end, each once. A sample that is late does not keep those after it from being read.
#[derive(Debug)]
pub struct Ends {
    live: Live,
    /// The first sample that was not looked at.
    next: usize,
    /// Samples before it that had not ended when they were looked at, in order.
    open: Vec<Open>,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    position: u32,
    /// Its answer was there, and its token count was not. That follows the answer at once, or never.
    awaits_tokens: bool,
}

/// Result of a look at one sample.
enum Look {
    Ended(Ended),
    Open(Open),
    Unissued,
}

impl Ends {
    /// A reader that has read nothing.
    pub fn new(live: Live) -> Ends {
        Ends { live, next: 0, open: Vec::new() }
    }

    /// Tells how samples ended that were not told before, looking at `most` at most. Whether it has looked at every
    /// sample that was issued.
    pub fn read(&mut self, most: usize, mut tell: impl FnMut(Ended)) -> bool {
        let live = &self.live;
        let due = self.open.len().min(most);
        let later = self.open.split_off(due);
        self.open.retain_mut(|open| match look(live, open.position, open.awaits_tokens) {
            Look::Ended(ended) => {
                tell(ended);
                false
            }
            Look::Open(now) => {
                *open = now;
                true
            }
            Look::Unissued => true,
        });
        // Those that were not looked at come first the next time.
        let looked_at_all = later.is_empty();
        self.open.splice(0..0, later);
        looked_at_all && self.go_on(most - due, tell)
    }

    /// Samples that were issued and have not ended, among those that were looked at.
    pub fn open(&self) -> usize {
        self.open.len()
    }

    fn go_on(&mut self, most: usize, mut tell: impl FnMut(Ended)) -> bool {
        let end = self.next.saturating_add(most).min(u32::MAX as usize);
        while self.next < end && self.open.len() < MOST_OPEN {
            match look(&self.live, self.next as u32, false) {
                Look::Ended(ended) => tell(ended),
                Look::Open(open) => self.open.push(open),
                Look::Unissued => return true,
            }
            self.next += 1;
        }
        self.live.cells.get(self.next).is_none_or(|cell| cell.state() == SampleEnd::Unissued)
    }
}

#[inline]
fn look(live: &Live, position: u32, awaited_tokens: bool) -> Look {
    let at = position as usize;
    let Some(cell) = live.cells.get(at) else { return Look::Unissued };
    match cell.state() {
        SampleEnd::Unissued => Look::Unissued,
        SampleEnd::Pending { .. } => Look::Open(Open { position, awaits_tokens: false }),
        SampleEnd::Failed { .. } => Look::Ended(live.ended(at, None)),
        SampleEnd::Done { latency_ns } => {
            let ended = live.ended(at, Some(latency_ns));
            let comes = live.tokens.is_some() && ended.tokens == 0 && !awaited_tokens;
            if comes { Look::Open(Open { position, awaits_tokens: true }) } else { Look::Ended(ended) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLES: usize = 10;

    fn latencies(ends: &mut Ends, most: usize) -> (Vec<Option<u64>>, bool) {
        let mut latencies_ns = Vec::new();
        let is_all = ends.read(most, |ended| latencies_ns.push(ended.latency_ns));
        (latencies_ns, is_all)
    }

    #[test]
    fn each_end_is_told_once_and_a_late_sample_hides_no_other() {
        let live = Live::of(Column::new(SAMPLES), None);
        let mut ends = Ends::new(live.clone());
        assert_eq!(latencies(&mut ends, 10), (vec![], true), "nothing was issued");
        (0..6).for_each(|i| live.cells.set(i, Cell::pending(0, false)));
        live.cells.set(0, Cell::done(1));
        live.cells.set(3, Cell::failed(9));
        live.cells.set(5, Cell::done(6));
        assert_eq!(latencies(&mut ends, 4), (vec![Some(1), None], false), "four at most");
        assert_eq!((latencies(&mut ends, 4), ends.open()), ((vec![Some(6)], true), 3));
        live.cells.set(4, Cell::done(5));
        live.cells.set(2, Cell::done(3));
        // A look at a few takes turns among those under way.
        let mut latencies_ns: Vec<_> = (0..3).flat_map(|_| latencies(&mut ends, 1).0).collect();
        latencies_ns.sort_unstable();
        assert_eq!((latencies_ns, ends.open()), (vec![Some(3), Some(5)], 1));
        live.cells.set(1, Cell::done(2));
        assert_eq!(latencies(&mut ends, 10), (vec![Some(2)], true));
        (6..SAMPLES).for_each(|i| live.cells.set(i, Cell::done(7)));
        assert_eq!(latencies(&mut ends, 10), (vec![Some(7); 4], true));
        assert_eq!(latencies(&mut ends, 10), (vec![], true));
    }

    #[test]
    fn a_token_count_that_follows_the_end_of_its_sample_is_not_missed() {
        let live = Live::of(Column::new(SAMPLES), Some(Tokens::new(SAMPLES)));
        let mut tokens = live.tokens.clone().unwrap();
        let mut ends = Ends::new(live.clone());
        let rows_of = |ends: &mut Ends| {
            let mut rows = Vec::new();
            ends.read(10, |ended| rows.push((ended.first_token_ns, ended.tokens)));
            rows
        };
        (0..2).for_each(|i| live.cells.set(i, Cell::done(9)));
        tokens.first_token(0, 4).unwrap();
        assert_eq!(rows_of(&mut ends), []);
        tokens.answer(0, 6, true).unwrap();
        assert_eq!(rows_of(&mut ends), [(Some(4), 6), (None, 0)], "the second has none");
    }
}
