//! Messages of a run to its caller while it is going on.

use super::outcome::PhaseOutcome;
use super::search_record::{Trial, TrialStart};
use crate::recorder::Live;
use crate::trace::PhasePlan;
use crate::world::{SampleIndex, SampleSeq, TimeNs};

/// An answer that belongs in the accuracy log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccuracyEntry<'a> {
    /// Id of the sample.
    pub seq: SampleSeq,
    /// Position of the sample in the library.
    pub index: SampleIndex,
    /// Bytes of the answer.
    pub data: &'a [u8],
    /// The first token's bytes, in token runs with first tokens.
    pub token_data: Option<&'a [u8]>,
    /// The token count, in token runs.
    pub token_count: Option<i64>,
}

/// Progress of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Queries issued in this phase.
    pub queries_issued: u64,
    /// Samples issued in this phase.
    pub samples_issued: u64,
    /// Samples of this phase that have ended.
    pub samples_ended: u64,
}

/// Receives entries and progress, on the engine's thread and within the timed stretch: return quickly.
pub trait Observer {
    /// An answer for the accuracy log, in order of arrival.
    fn accuracy(&mut self, entry: &AccuracyEntry<'_>);

    /// A phase starts now; its samples are loaded. `live` shows how they end, to other threads, too.
    fn phase_started(&mut self, _phase: &PhasePlan, _start: TimeNs, _live: &Live) {}

    /// A phase has ended.
    fn phase_ended(&mut self, _outcome: &PhaseOutcome) {}

    /// A trial of a search for the peak is about to be loaded and run.
    fn trial_started(&mut self, _trial: TrialStart) {}

    /// A trial has ended.
    fn trial_ended(&mut self, _trial: &Trial) {}

    /// Receives the progress of a phase after every wait, which may be a million times per second.
    fn progress(&mut self, _progress: Progress) {}
}

/// An observer that ignores everything.
impl Observer for () {
    fn accuracy(&mut self, _entry: &AccuracyEntry<'_>) {}
}
