//! Config vectors: what a config file does to default settings, as a JSON document.

use serde::de::{Error as _, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::form::VectorError;
use crate::conf::keys::{Owner, apply};
use crate::conf::parse::Table;
use crate::conf::rules::Rules;
use crate::scenarios::TestSettings;

/// The official return code of a file with a faulty line.
const INVALID: i32 = -22;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    #[serde(default)]
    conf_text: String,
    model: String,
    /// The scenario as handed to the official reader, which takes any text.
    scenario: String,
    conf_type: u8,
    #[serde(rename = "note")]
    _note: Option<IgnoredAny>,
    #[serde(rename = "expected")]
    _expected: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    cases: Vec<Case>,
    #[serde(rename = "kind")]
    _kind: Option<IgnoredAny>,
    #[serde(rename = "name")]
    _name: Option<IgnoredAny>,
    #[serde(rename = "note")]
    _note: Option<IgnoredAny>,
    #[serde(rename = "ground_truth")]
    _ground_truth: Option<IgnoredAny>,
}

/// Effect of one config file, as `conf --config-vector` prints it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ConfigCase {
    /// The case's name in the vector.
    pub name: String,
    /// The official return code: 0, or -22 for a file with a faulty line, of which nothing is applied.
    #[serde(rename = "return")]
    pub code: i32,
    /// Fields of [`TestSettings`] that differ from their defaults afterwards, with their values. A map, because which
    /// fields are there depends on the file.
    pub changed: Map<String, Value>,
}

/// Evaluates every case of a vector. Each case is the first to read a file of its process. A bare list of cases is
/// taken too.
///
/// # Errors
/// The input has another form.
pub fn config_cases(input: &str) -> Result<Vec<ConfigCase>, VectorError> {
    let cases = match serde_json::from_str(input)? {
        list @ Value::Array(_) => serde_json::from_value::<Vec<Case>>(list)?,
        other => serde_json::from_value::<Input>(other)?.cases,
    };
    cases.iter().map(Case::evaluate).collect()
}

impl Case {
    fn evaluate(&self) -> Result<ConfigCase, VectorError> {
        let owner = match self.conf_type {
            0 => Owner::Official,
            1 => Owner::User,
            2 => Owner::Audit,
            other => Err(serde_json::Error::custom(format!("{}: conf_type {other} is not 0, 1 or 2", self.name)))?,
        };
        let mut settings = TestSettings::default();
        if owner != Owner::Audit {
            Rules::newest().apply(&self.model, &self.scenario, &mut settings);
        }
        let code = if owner == Owner::Official { 0 } else { self.read(owner, &mut settings) };
        Ok(ConfigCase { name: self.name.clone(), code, changed: changed(&settings)? })
    }

    fn read(&self, owner: Owner, settings: &mut TestSettings) -> i32 {
        let table = Table::parse(&self.conf_text);
        if !table.faults().is_empty() {
            return INVALID;
        }
        apply(&table, owner, &self.model, &self.scenario, settings);
        0
    }
}

/// The fields that differ from the defaults.
fn changed(settings: &TestSettings) -> Result<Map<String, Value>, serde_json::Error> {
    let defaults = serde_json::to_value(TestSettings::default())?;
    let mut changed = Map::new();
    if let Value::Object(fields) = serde_json::to_value(settings)? {
        changed.extend(fields.into_iter().filter(|(name, value)| defaults[name] != *value));
    }
    Ok(changed)
}
