//! The queries of a phase, generated on the fly and never stored.
//!
//! What is done with a query, and whether it is issued at all, is not decided here.

use super::choice::Choice;
use super::phase::PhasePlan;
use super::rng::Rng;
use super::schedule::Schedule;
use crate::traffic::Layout;
use crate::world::{Issued, QuerySeq, SampleIndex, SampleSeq};

/// One generated query: its ids, its due time and where its samples begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Query {
    /// Id of the query.
    pub seq: QuerySeq,
    /// When the query is due, ns from the start of the phase. Only scenarios with a schedule wait for it.
    pub due_ns: u64,
    /// Id of the first sample; those of the others follow.
    pub first_sample: SampleSeq,
    /// Number of samples in the query.
    pub samples: u64,
    /// Position in the loaded set of the first sample.
    start: u32,
}

/// The queries of a phase, in order.
#[derive(Clone, Debug)]
pub struct Trace<'a> {
    set: &'a [SampleIndex],
    layout: Layout,
    schedule: Schedule,
    choice: Choice,
    samples: u64,
    // Of the next query. Apart, not as a `Query`: copying one written field by field stalls the processor each time.
    next_seq: u64,
    next_sample: u64,
    remaining: u64,
    content: Content,
}

/// Rule that fills a query from its start position on.
#[derive(Clone, Debug)]
enum Content {
    /// The entries that follow.
    Window,
    /// The same entry again and again.
    Copies,
    /// The whole set again and again.
    WholeSet(WholeSet),
}

/// State of a query that goes over the whole set again and again.
#[derive(Clone, Debug)]
struct WholeSet {
    /// The set as this round orders it.
    round: Vec<SampleIndex>,
    /// Present when each full round is permuted anew.
    shuffler: Option<Box<Rng>>,
    full_rounds: u64,
}

impl<'a> Trace<'a> {
    /// Starts over at the first query of a phase.
    pub fn new(phase: &'a PhasePlan) -> Self {
        Trace::of(phase, phase.generated.queries)
    }

    /// The same with another number of queries: fewer, or more where the phase can go on.
    pub(crate) fn of(phase: &'a PhasePlan, queries: u64) -> Self {
        let recipe = &phase.recipe;
        let set = phase.set.indices.as_slice();
        let mut rng = Rng::with_rule(recipe.sample_index_seed, recipe.integers);
        let choice = Choice::new(recipe, &mut rng, &phase.set);
        let content = match recipe.layout {
            Layout::One | Layout::Window => Content::Window,
            Layout::WholeSet if recipe.same.is_some() => Content::Copies,
            Layout::WholeSet => Content::WholeSet(WholeSet {
                round: set.to_vec(),
                shuffler: recipe.equal.then(|| Box::new(rng)),
                full_rounds: recipe.samples_per_query / set.len() as u64,
            }),
        };
        Self {
            set,
            layout: recipe.layout,
            schedule: recipe.schedule(),
            choice,
            samples: recipe.samples_per_query,
            next_seq: phase.first_query.0,
            next_sample: phase.first_sample.0,
            remaining: queries,
            content,
        }
    }

    /// Appends up to `max` samples of `query` from position `from` on. Pieces of one query must be asked for in order.
    #[inline]
    pub fn samples(&mut self, query: &Query, from: u64, max: usize, out: &mut Vec<Issued>) {
        if self.layout == Layout::One {
            out.push(Issued { seq: query.first_sample, index: self.set[query.start as usize] });
            return;
        }
        self.pieces(query, from, max, out);
    }

    fn pieces(&mut self, query: &Query, from: u64, max: usize, out: &mut Vec<Issued>) {
        let end = query.samples.min(from.saturating_add(max as u64));
        let mut position = from;
        while position < end {
            let piece = self.piece(query, position, end);
            let first = query.first_sample.0 + position;
            position += piece.len() as u64;
            out.extend(piece.iter().zip(first..).map(|(index, seq)| Issued { seq: SampleSeq(seq), index: *index }));
        }
    }

    /// Samples from `position` on, as many as lie next to each other before `end`.
    fn piece(&mut self, query: &Query, position: u64, end: u64) -> &[SampleIndex] {
        let count = (end - position) as usize;
        let start = query.start as usize;
        match &mut self.content {
            Content::Window => &self.set[start + position as usize..][..count],
            Content::Copies => &self.set[start..=start],
            Content::WholeSet(whole) => whole.piece(self.set, position, count),
        }
    }
}

impl WholeSet {
    fn piece(&mut self, set: &[SampleIndex], position: u64, count: usize) -> &[SampleIndex] {
        let len = self.round.len() as u64;
        let within = (position % len) as usize;
        if let (0, Some(rng)) = (within, &mut self.shuffler) {
            self.round.copy_from_slice(set);
            if position / len < self.full_rounds {
                rng.shuffle(&mut self.round);
            }
        }
        let end = self.round.len().min(within + count);
        &self.round[within..end]
    }
}

impl Iterator for Trace<'_> {
    type Item = Query;

    #[inline]
    fn next(&mut self) -> Option<Query> {
        if self.remaining == 0 {
            return None;
        }
        self.remaining -= 1;
        let start = self.choice.next();
        let (seq, due_ns, first_sample) = (self.next_seq, self.schedule.next_due_ns, self.next_sample);
        self.next_seq += 1;
        self.next_sample += self.samples;
        self.schedule.advance();
        Some(Query { seq: QuerySeq(seq), due_ns, first_sample: SampleSeq(first_sample), samples: self.samples, start })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let remaining = usize::try_from(self.remaining).unwrap_or(usize::MAX);
        (remaining, Some(remaining))
    }
}
