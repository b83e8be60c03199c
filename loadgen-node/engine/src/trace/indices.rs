//! Places of samples in the library, drawn again for a run that is over.

use super::phase::PhasePlan;
use super::queries::{Query, Trace};
use crate::world::{Issued, SampleIndex};

/// Samples that are drawn at a time.
const PIECE: usize = 4096;

/// The index in the library of each sample of a phase, in the order in which samples are issued.
pub struct Indices<'a> {
    trace: Trace<'a>,
    query: Option<Query>,
    /// Samples of the query that were drawn.
    position: u64,
    /// Samples that were drawn, the next one last.
    piece: Vec<Issued>,
}

impl<'a> Indices<'a> {
    /// Of the samples of this many queries of a phase.
    pub fn new(phase: &'a PhasePlan, queries: u64) -> Indices<'a> {
        Indices { trace: Trace::of(phase, queries), query: None, position: 0, piece: Vec::new() }
    }
}

impl Iterator for Indices<'_> {
    type Item = SampleIndex;

    fn next(&mut self) -> Option<SampleIndex> {
        while self.piece.is_empty() {
            if self.query.is_none_or(|query| self.position >= query.samples) {
                self.query = Some(self.trace.next()?);
                self.position = 0;
            }
            let query = self.query?;
            self.trace.samples(&query, self.position, PIECE, &mut self.piece);
            self.position += self.piece.len().max(1) as u64;
            self.piece.reverse();
        }
        self.piece.pop().map(|issued| issued.index)
    }
}
