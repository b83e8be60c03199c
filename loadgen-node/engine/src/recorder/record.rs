//! End of every issued sample of a phase: one 8-byte cell each, allocated before the phase starts.
//!
//! A sample ends exactly once. Second ends, ends of samples that were given up, and ids that were never issued, are
//! counted and have no other effect. Nothing is judged here; a closed recorder becomes a `Timeline`.

use super::column::Column;
use super::lag::{Lag, LagCourse, LagStats};
use super::live::Live;
use super::packed_record::{Cell, SampleEnd};
use super::split::Split;
use super::tokens::Tokens;
use crate::judge::Counts;
use crate::world::{SampleIndex, SampleSeq, TimeNs};

/// Why an end was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It has ended with an answer.
    Duplicate,
    /// It was given up, in this phase or an earlier one.
    Late,
    /// No such sample was issued.
    Unknown,
}

/// An answer that was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Accepted {
    /// Latency of the sample, ns.
    pub(crate) latency_ns: u64,
    /// The sample's index in the library, if its answer is to be logged.
    pub(crate) logged: Option<SampleIndex>,
}

/// The cells of a phase.
#[derive(Debug)]
pub(crate) struct Recorder {
    first: SampleSeq,
    start: TimeNs,
    cells: Column<Cell>,
    pending: u64,
    max_pending: u64,
    pub(crate) counts: Counts,
    lag: Lag,
    /// Present where many samples may be due at once.
    split: Option<Split>,
    latest_end: TimeNs,
    /// Samples whose answers are logged, by position, in order.
    logged: Vec<(u32, SampleIndex)>,
    issued_ns: Option<Vec<u64>>,
    pub(crate) tokens: Option<Tokens>,
}

impl Recorder {
    /// Room for a phase of `samples` samples named from `first` on. `start` is set when the phase begins.
    pub(crate) fn new(first: SampleSeq, samples: usize, token_run: bool) -> Self {
        Self {
            first,
            start: TimeNs(0),
            cells: Column::new(samples),
            pending: 0,
            max_pending: 0,
            counts: Counts::default(),
            lag: Lag::new(),
            split: None,
            latest_end: TimeNs(0),
            logged: Vec::new(),
            issued_ns: None,
            tokens: token_run.then(|| Tokens::new(samples)),
        }
    }

    /// From now on notes when each sample is issued.
    pub(crate) fn keep_issue_times(&mut self) {
        self.issued_ns = Some(Vec::new());
    }

    /// From now on lag behind others that were due at the same moment counts apart.
    pub(crate) fn split_lag(&mut self) {
        self.split = Some(Split::default());
    }

    /// Lag behind others that were due at the same moment; `None` where it is not counted apart.
    pub(crate) fn behind(&self) -> Option<LagStats> {
        self.split.as_ref().map(Split::stats)
    }

    /// The issue times noted since [`Recorder::keep_issue_times`], ns from the start of the phase.
    pub(crate) fn take_issue_times(&mut self) -> Option<Vec<u64>> {
        self.issued_ns.take()
    }

    /// The records, for another thread to look at while the phase runs.
    pub(crate) fn live(&self) -> Live {
        Live { cells: self.cells.clone(), tokens: self.tokens.clone(), lag: self.lag.live() }
    }

    pub(crate) fn begin(&mut self, start: TimeNs) {
        self.start = start;
        self.latest_end = start;
    }

    /// Most samples that were ever issued and not ended.
    pub(crate) fn max_pending(&self) -> u64 {
        self.max_pending
    }

    /// Samples issued and not ended.
    #[inline]
    pub(crate) fn pending(&self) -> u64 {
        self.pending
    }

    pub(crate) fn latest_end(&self) -> TimeNs {
        self.latest_end
    }

    pub(crate) fn lag(&self) -> LagStats {
        self.lag.stats()
    }

    pub(crate) fn lag_course(&self) -> LagCourse {
        self.lag.course()
    }

    /// Notes that the next sample is issued. Samples are issued in the order of their names.
    #[inline]
    pub(crate) fn issue(&mut self, scheduled_ns: u64, issued_ns: u64, logged: Option<SampleIndex>) {
        let position = self.counts.issued;
        if let Some(index) = logged {
            self.logged.push((position as u32, index));
        }
        if (position as usize) < self.cells.len() {
            self.cells.set(position as usize, Cell::pending(scheduled_ns, logged.is_some()));
            self.counts.issued += 1;
            self.pending += 1;
            self.max_pending = self.max_pending.max(self.pending);
            if let Some(times) = &mut self.issued_ns {
                times.push(issued_ns);
            }
            if let Some(split) = &mut self.split {
                split.issued(position, scheduled_ns, issued_ns);
            }
        }
    }

    /// Notes that a sample was answered at `at`.
    #[inline]
    pub(crate) fn complete(&mut self, seq: SampleSeq, at: TimeNs) -> Result<Accepted, Refused> {
        let (position, scheduled_ns, logged) = self.take(seq)?;
        let latency_ns = at.since(self.start + scheduled_ns);
        self.cells.set(position, Cell::done(latency_ns));
        self.counts.completed += 1;
        self.latest_end = self.latest_end.max(at);
        Ok(Accepted { latency_ns, logged: if logged { self.logged_index(position) } else { None } })
    }

    /// Notes that there will be no answer.
    pub(crate) fn fail(&mut self, seq: SampleSeq) -> Result<(), Refused> {
        let (position, scheduled_ns, _) = self.take(seq)?;
        self.cells.set(position, Cell::failed(scheduled_ns));
        self.counts.failed += 1;
        Ok(())
    }

    /// Notes when a pending sample was handed to the network.
    #[inline]
    pub(crate) fn mark_sent(&mut self, seq: SampleSeq, at: TimeNs) {
        if let Some(SampleEnd::Pending { scheduled_ns }) = self.state(seq) {
            let lag_ns = at.since(self.start + scheduled_ns);
            let position = seq.0 - self.first.0;
            let own_ns = self.split.as_mut().map_or(lag_ns, |split| split.own_ns(position, lag_ns));
            self.lag.record(scheduled_ns, own_ns);
        }
    }

    /// Returns position and scheduled time of a pending sample, for first tokens.
    pub(crate) fn pending_since(&self, seq: SampleSeq) -> Result<(usize, TimeNs), Refused> {
        let position = self.position(seq)?;
        match self.cell(position).state() {
            SampleEnd::Pending { scheduled_ns } => Ok((position, self.start + scheduled_ns)),
            other => Err(refusal(other)),
        }
    }

    /// Returns true when the answer of a sample is to be logged, before the sample has ended.
    pub(crate) fn is_logged(&self, seq: SampleSeq) -> bool {
        self.position(seq).is_ok_and(|position| self.cell(position).is_logged())
    }

    pub(crate) fn position(&self, seq: SampleSeq) -> Result<usize, Refused> {
        let position = seq.0.checked_sub(self.first.0).ok_or(Refused::Late)?;
        if position < self.counts.issued { Ok(position as usize) } else { Err(Refused::Unknown) }
    }

    /// The state of the sample at `position`; `None` when it has not been issued.
    pub(crate) fn end_at(&self, position: u64) -> Option<SampleEnd> {
        let cell = self.cells.get(usize::try_from(position).ok()?)?;
        (position < self.counts.issued).then(|| cell.state())
    }

    /// Counts a refused end.
    pub(crate) fn refuse(&mut self, refused: Refused) {
        match refused {
            Refused::Duplicate => self.counts.duplicate += 1,
            Refused::Late => self.counts.late += 1,
            Refused::Unknown => self.counts.unknown += 1,
        }
    }

    /// Ends the phase: what is still pending is lost. Returns the cells, the tokens and the counts.
    pub(crate) fn close(mut self) -> (Column<Cell>, Option<Tokens>, Counts) {
        self.cells.truncate(self.counts.issued as usize);
        if let Some(tokens) = &mut self.tokens {
            tokens.truncate(self.counts.issued as usize);
        }
        self.counts.lost = self.pending;
        (self.cells, self.tokens, self.counts)
    }

    /// Ends a pending sample: its position, scheduled time and whether it is logged.
    #[inline]
    fn take(&mut self, seq: SampleSeq) -> Result<(usize, u64, bool), Refused> {
        let position = self.position(seq)?;
        let cell = self.cell(position);
        match cell.state() {
            SampleEnd::Pending { scheduled_ns } => {
                self.pending -= 1;
                Ok((position, scheduled_ns, cell.is_logged()))
            }
            other => Err(refusal(other)),
        }
    }

    /// The cell of a sample that was issued.
    #[inline]
    fn cell(&self, position: usize) -> Cell {
        self.cells.get(position).unwrap_or_default()
    }

    fn state(&self, seq: SampleSeq) -> Option<SampleEnd> {
        self.position(seq).ok().map(|position| self.cell(position).state())
    }

    fn logged_index(&self, position: usize) -> Option<SampleIndex> {
        // Where everything is logged, the list has the order of the cells.
        let direct = self.logged.get(position).filter(|(at, _)| *at as usize == position);
        let position_in_log = || self.logged.binary_search_by_key(&(position as u32), |(at, _)| *at).ok();
        direct.or_else(|| position_in_log().map(|i| &self.logged[i])).map(|(_, index)| *index)
    }
}

fn refusal(state: SampleEnd) -> Refused {
    match state {
        SampleEnd::Done { .. } => Refused::Duplicate,
        SampleEnd::Failed { .. } | SampleEnd::Pending { .. } => Refused::Late,
        SampleEnd::Unissued => Refused::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_issued() -> Recorder {
        let mut recorder = Recorder::new(SampleSeq(10), 5, false);
        recorder.begin(TimeNs(1_000));
        recorder.issue(0, 0, None);
        recorder.issue(50, 0, Some(SampleIndex(7)));
        recorder
    }

    #[test]
    fn latency_runs_from_the_scheduled_time() {
        let mut recorder = two_issued();
        let accepted = recorder.complete(SampleSeq(11), TimeNs(1_250)).unwrap();
        assert_eq!(accepted, Accepted { latency_ns: 200, logged: Some(SampleIndex(7)) });
        assert_eq!(recorder.pending(), 1);
    }

    #[test]
    fn second_ends_change_nothing() {
        let mut recorder = two_issued();
        recorder.complete(SampleSeq(10), TimeNs(1_300)).unwrap();
        assert_eq!(recorder.complete(SampleSeq(10), TimeNs(9_000)), Err(Refused::Duplicate));
        assert_eq!(recorder.fail(SampleSeq(10)), Err(Refused::Duplicate));
        recorder.fail(SampleSeq(11)).unwrap();
        assert_eq!(recorder.complete(SampleSeq(11), TimeNs(1_400)), Err(Refused::Late));
        let (cells, _, counts) = recorder.close();
        assert_eq!(
            cells.iter().map(|cell| cell.state()).collect::<Vec<_>>(),
            [SampleEnd::Done { latency_ns: 300 }, SampleEnd::Failed { scheduled_ns: 50 }]
        );
        assert_eq!((counts.completed, counts.failed, counts.lost), (1, 1, 0));
    }

    #[test]
    fn foreign_names_are_refused() {
        let mut recorder = two_issued();
        assert_eq!(recorder.complete(SampleSeq(9), TimeNs(1_100)), Err(Refused::Late), "of an earlier phase");
        assert_eq!(recorder.complete(SampleSeq(12), TimeNs(1_100)), Err(Refused::Unknown), "not issued yet");
        assert_eq!(recorder.complete(SampleSeq(u64::MAX), TimeNs(1_100)), Err(Refused::Unknown));
        assert_eq!(recorder.pending(), 2);
    }

    #[test]
    fn what_is_pending_at_the_end_is_lost() {
        let (_, _, counts) = two_issued().close();
        assert_eq!(counts.lost, 2);
    }
}
