//! A test that was run with a scripted SUT.

use super::super::script::ScriptedWorld;
use super::super::test::{Reported, SeriesOutcome, TestInput, TestOutcome, run_test};
use super::form::{Input, VectorError};
use crate::run::{End, RunOptions};

/// The name of the scripted SUT.
pub(super) const SUT: &str = "VectorSUT";

/// A test, its outcome, and the world in which it was run.
pub(super) struct ScriptedRun {
    pub(super) input: TestInput,
    pub(super) outcome: TestOutcome,
    pub(super) world: ScriptedWorld,
}

impl ScriptedRun {
    /// Runs the test of a case.
    pub(super) fn new(input: &Input) -> Result<Self, VectorError> {
        let test = input.test()?;
        let mut world = ScriptedWorld::new(input.sut.clone());
        let outcome = run_test(&test, &RunOptions::default(), &mut world, &mut ())?;
        if outcome.end != End::Completed {
            return Err(VectorError::Ended(outcome.end));
        }
        Ok(Self { input: test, outcome, world })
    }

    /// The series that is reported, and its result.
    pub(super) fn reported(&self) -> Option<(&SeriesOutcome, &Reported)> {
        let reported = self.outcome.reported.as_ref()?;
        Some((self.outcome.series.get(reported.series)?, reported))
    }
}
