//! The text of a case: its input, and apart from it what it states.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use thiserror::Error;

use super::super::conf;
use super::super::script::Script;
use super::super::settings::Settings;
use super::super::test::TestInput;
use crate::run::End;
use crate::settings::{IntegerRule, Qsl};
use crate::traffic::PlanError;

/// The reasons for which a case cannot be checked.
#[derive(Debug, Error)]
pub enum VectorError {
    /// The text is not JSON of the expected form; unknown keys are named.
    #[error("the vector cannot be read: {0}")]
    Form(#[from] serde_json::Error),
    /// There is nothing to hold the case against.
    #[error("the vector states nothing: `expected` is missing or empty")]
    Nothing,
    /// A setting is none, or has no number.
    #[error("settings.{key}: {why}")]
    Setting {
        /// The key of the setting.
        key: String,
        /// The fault of its value.
        why: &'static str,
    },
    /// The settings cannot be run.
    #[error("the settings cannot be run: {0}")]
    Plan(#[from] PlanError),
    /// The test was not run to its end.
    #[error("the test was not run to its end: {0:?}")]
    Ended(End),
}

/// The subject of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    Traffic,
    Intervals,
    Judging,
    Search,
    Config,
    AccuracyLog,
    Official,
}

/// The rule by which integers are drawn, in the words of the cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Rule {
    Mul,
    #[default]
    Div,
    Div1,
}

/// The sizes of the library, in the words of the cases.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Library {
    total_sample_count: u64,
    performance_sample_count: u64,
}

/// The origin of the numbers: a LoadGen that was driven, or logs that were published.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Source {
    #[serde(rename = "loadgen")]
    _loadgen: Option<IgnoredAny>,
    #[serde(rename = "repository")]
    _repository: Option<IgnoredAny>,
    #[serde(rename = "detail_log")]
    _detail_log: Option<IgnoredAny>,
    /// The accuracy log that was published.
    pub(super) accuracy_log: Option<String>,
    #[serde(rename = "summary_log")]
    _summary_log: Option<IgnoredAny>,
    #[serde(rename = "loadgen_in_log")]
    _loadgen_in_log: Option<IgnoredAny>,
}

/// The input of a case: all that facts are computed from.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    pub(super) kind: Kind,
    #[serde(default, rename = "uniform_int_rule")]
    rule: Rule,
    #[serde(default)]
    qsl: Library,
    /// By config key, as if a file gave them for the scenario; `scenario` and `mode` by name.
    #[serde(default)]
    pub(super) settings: Map<String, Value>,
    /// By field, for those without a key.
    #[serde(default)]
    settings_direct: Map<String, Value>,
    /// Of published logs: the settings in the log, by field.
    #[serde(default)]
    logged_settings: Map<String, Value>,
    #[serde(default)]
    pub(super) sut: Script,
    #[serde(default)]
    pub(super) source: Source,
    /// A config file, line by line.
    pub(super) config_lines: Option<Vec<String>>,
    /// The same as keys and values.
    pub(super) config: Option<Vec<(String, String)>>,
}

/// Name and origin of the case, for readers; they mean nothing here.
const REMARKS: [&str; 7] =
    ["name", "note", "clock", "digest", "uniform_int_rule_text", "rules_that_reproduce_it", "oracle"];
/// The parts of a case that state facts.
const STATED: [&str; 4] = ["test_settings", "effective", "measured", "expected"];

/// The statements of a document, by the part in which they stand.
pub(super) type Statements = Vec<(&'static str, Value)>;

/// Takes a case apart: its input, and what it states by the name of the part.
pub(super) fn parts(text: &str) -> Result<(Input, Statements), VectorError> {
    let mut document: Map<String, Value> = serde_json::from_str(text)?;
    for key in REMARKS {
        document.remove(key);
    }
    // Logs say which settings were in force; of other cases they are a fact.
    if document.get("kind").is_some_and(|kind| kind == "official")
        && let Some(logged) = document.remove("test_settings")
    {
        document.insert("logged_settings".to_owned(), logged);
    }
    let stated: Statements =
        STATED.into_iter().filter_map(|part| document.remove(part).map(|value| (part, value))).collect();
    Ok((serde_json::from_value(Value::Object(document))?, stated))
}

impl Input {
    /// The test that is run.
    pub(super) fn test(&self) -> Result<TestInput, VectorError> {
        let Library { total_sample_count: total, performance_sample_count: performance } = self.qsl;
        let integers = match self.rule {
            Rule::Mul => IntegerRule::Product,
            Rule::Div => IntegerRule::Division,
            Rule::Div1 => IntegerRule::Division6,
        };
        Ok(TestInput { settings: self.settings()?, qsl: Qsl { total, performance }, integers })
    }

    fn settings(&self) -> Result<Settings, VectorError> {
        // Fields without a key, and scenario and mode, are fields of the record.
        let mut fields = self.settings_direct.clone();
        fields.extend(self.logged_settings.clone());
        let named = |name: &&str| self.settings.contains_key(*name);
        fields.extend(["scenario", "mode"].into_iter().filter(named).map(|n| (n.to_owned(), self.settings[n].clone())));
        let mut settings: Settings = serde_json::from_value(Value::Object(fields))?;
        for (key, value) in self.settings.iter().filter(|(key, _)| !["scenario", "mode"].contains(&key.as_str())) {
            let refused = |why| VectorError::Setting { key: key.clone(), why };
            let text = match value {
                Value::Number(number) => number.to_string(),
                Value::Bool(flag) => u8::from(*flag).to_string(),
                _ => return Err(refused("it is neither a number nor true nor false")),
            };
            conf::assign(key, &text, &mut settings).ok_or_else(|| refused("the scenario has no such key"))?;
        }
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> Result<Settings, VectorError> {
        parts(text).and_then(|(input, _)| input.settings())
    }

    #[test]
    fn keys_have_the_units_of_config_files_and_fields_those_of_the_record() {
        let test_settings = settings(
            r#"{"kind": "traffic", "settings": {"scenario": "Server", "mode": "AccuracyOnly", "target_latency": 15,
                "target_latency_percentile": 97.0, "performance_issue_unique": true},
                "settings_direct": {"server_find_peak_qps_decimals_of_precision": 3}}"#,
        );
        let test_settings = test_settings.unwrap();
        assert_eq!(
            (test_settings.server_target_latency_ns, test_settings.server_target_latency_percentile),
            (15_000_000, 0.97)
        );
        assert!(test_settings.performance_issue_unique);
        assert_eq!(test_settings.server_find_peak_qps_decimals_of_precision, 3);
    }

    #[test]
    fn unknown_keys_are_named() {
        for (text, word) in [
            (r#"{"kind": "traffic", "sutt": {}}"#, "sutt"),
            (r#"{"kind": "trafic"}"#, "trafic"),
            (r#"{"kind": "traffic", "settings": {"samples_per_query": 3}}"#, "samples_per_query"),
            (r#"{"kind": "traffic", "settings": {"min_duration": "3"}}"#, "min_duration"),
            (r#"{"kind": "traffic", "settings_direct": {"min_duration": 3}}"#, "min_duration"),
            ("[1]", "sequence"),
        ] {
            let error = settings(text).unwrap_err().to_string();
            assert!(error.contains(word), "{word}: {error}");
        }
    }

    #[test]
    fn logged_settings_of_published_runs_are_input() {
        let text =
            r#"{"kind": "official", "settings": {"scenario": "Server"}, "test_settings": {"server_target_qps": 5}}"#;
        let (input, stated) = parts(text).unwrap();
        assert!(stated.is_empty());
        assert_eq!(input.settings().unwrap().server_target_qps, 5.0);
        let (_, stated) = parts(&text.replace("official", "traffic")).unwrap();
        assert_eq!(stated.len(), 1);
    }
}
