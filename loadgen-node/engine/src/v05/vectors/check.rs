//! One case: its input becomes facts, and what it states is held against them.

use serde_json::{Map, Value};

use super::super::script::ScriptedWorld;
use super::super::settings::Settings;
use super::super::test::{TestInput, TestOutcome, run_test};
use super::facts::{Difference, Fact};
use super::form::{Input, Kind, VectorError, parts};
use super::{accuracy_log, config, intervals, judging, official, search, traffic};

/// A test that was run with a scripted SUT, and the world that saw it.
pub(super) struct Ran {
    pub(super) input: TestInput,
    pub(super) outcome: TestOutcome,
    pub(super) world: ScriptedWorld,
}

/// Checks a case, the text of a vector file; returns the first difference, if there is one.
///
/// # Errors
/// The text is no such case, or its settings cannot be run.
pub fn check(text: &str) -> Result<Option<Difference>, VectorError> {
    let (input, stated) = parts(text)?;
    let facts = facts(&input)?;
    let difference = |(part, stated): &(&str, Value)| match facts.iter().find(|(name, _)| name == part) {
        Some((_, fact)) => fact.difference(stated, part),
        None => Fact::Some(Vec::new()).difference(stated, part),
    };
    Ok(stated.iter().find_map(difference).or_else(|| official::contradiction(&input, &stated)))
}

/// The facts of each part of a case.
fn facts(input: &Input) -> Result<Vec<(&'static str, Fact)>, VectorError> {
    match input.kind {
        Kind::Config => return Ok(vec![("expected", config::facts(input))]),
        Kind::Official => return Ok(vec![("expected", official::facts(input)?)]),
        _ => {}
    }
    let test = input.test()?;
    let mut world = ScriptedWorld::new(input.sut.clone());
    let outcome = run_test(&test, &mut world)?;
    let ran = Ran { input: test, outcome, world };
    let mut facts = vec![("test_settings", Fact::fields(fields(&ran.input.settings)))];
    match input.kind {
        Kind::Intervals => facts.push(("expected", intervals::facts(&ran))),
        Kind::Judging => facts.extend(judging::facts(&ran)),
        Kind::Search => facts.push(("expected", search::facts(&ran))),
        Kind::AccuracyLog => facts.push(("expected", accuracy_log::facts(&ran))),
        Kind::Traffic | Kind::Config | Kind::Official => facts.push(("expected", traffic::facts(&ran))),
    }
    Ok(facts)
}

/// The settings, field by field.
pub(super) fn fields(settings: &Settings) -> Map<String, Value> {
    match serde_json::to_value(settings) {
        Ok(Value::Object(fields)) => fields,
        // A record without maps and texts of others is always an object.
        _ => Map::new(),
    }
}
