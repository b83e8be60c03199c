//! A test that was run with a scripted SUT.

use serde_json::{Map, Value};

use super::super::script::ScriptedWorld;
use super::super::settings::Settings;
use super::super::test::{Reported, SeriesOutcome, TestInput, TestOutcome, run_test};
use super::form::{Input, VectorError};

/// The name of the scripted SUT.
pub(super) const SUT: &str = "VectorSUT";

/// A test, its outcome, and the world in which it was run.
pub(super) struct Ran {
    pub(super) input: TestInput,
    pub(super) outcome: TestOutcome,
    pub(super) world: ScriptedWorld,
}

impl Ran {
    /// Runs the test of a case.
    pub(super) fn new(input: &Input) -> Result<Self, VectorError> {
        let test = input.test()?;
        let mut world = ScriptedWorld::new(input.sut.clone());
        let outcome = run_test(&test, &mut world)?;
        Ok(Self { input: test, outcome, world })
    }

    /// The series that is reported, and its result.
    pub(super) fn reported(&self) -> Option<(&SeriesOutcome, &Reported)> {
        let reported = self.outcome.reported.as_ref()?;
        Some((self.outcome.series.get(reported.series)?, reported))
    }
}

/// The settings, field by field.
pub(super) fn fields(settings: &Settings) -> Map<String, Value> {
    match serde_json::to_value(settings) {
        Ok(Value::Object(fields)) => fields,
        // A record of numbers and words is always an object.
        _ => Map::new(),
    }
}
