//! One case: its input becomes facts, and what it states is held against them.

use serde_json::Value;

use super::super::assign::fields;
use super::facts::{Difference, Fact};
use super::form::{Input, Kind, VectorError, parts};
use super::scripted_run::ScriptedRun;
use super::{accuracy_log, config, intervals, judging, official, search, traffic};

/// Checks a case, the text of a vector file; returns the first difference, if there is one.
///
/// # Errors
/// The text is no such case, or its settings cannot be run.
pub fn check(text: &str) -> Result<Option<Difference>, VectorError> {
    let (input, stated) = parts(text)?;
    let is_empty = |value: &Value| value.as_object().is_none_or(serde_json::Map::is_empty);
    if stated.iter().all(|(part, value)| *part != "expected" || is_empty(value)) {
        return Err(VectorError::Nothing);
    }
    let facts = facts(&input)?;
    let difference = |(part, stated): &(&str, Value)| match facts.iter().find(|(name, _)| name == part) {
        Some((_, fact)) => fact.difference(stated, part),
        None => Fact::Some(Vec::new()).difference(stated, part),
    };
    Ok(stated.iter().find_map(difference).or_else(|| official::contradiction(&input, &stated)))
}

/// The facts of each part of a case.
fn facts(input: &Input) -> Result<Vec<(&'static str, Fact)>, VectorError> {
    let of_test: fn(&ScriptedRun) -> Vec<(&'static str, Fact)> = match input.kind {
        Kind::Config => return Ok(vec![("expected", config::facts(input))]),
        Kind::Official => return Ok(vec![("expected", official::facts(input)?)]),
        Kind::Traffic => |run| vec![("expected", traffic::facts(run))],
        Kind::Intervals => |run| vec![("expected", intervals::facts(run))],
        Kind::Judging => judging::facts,
        Kind::Search => |run| vec![("expected", search::facts(run))],
        Kind::AccuracyLog => |run| vec![("expected", accuracy_log::facts(run))],
    };
    let run = ScriptedRun::new(input)?;
    let mut facts = of_test(&run);
    facts.push(("test_settings", Fact::fields(fields(&run.input.settings))));
    Ok(facts)
}
