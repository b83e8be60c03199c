//! Config files: what the reader returns, and the settings afterwards.

use serde_json::Map;

use super::super::assign::fields;
use super::super::conf::apply;
use super::super::scenario::Scenario;
use super::super::settings::Settings;
use super::facts::Fact;
use super::form::Input;

/// Return codes of the reader: as a number, and as text.
const DONE: (i32, &str) = (0, "0");
const INVALID: (i32, &str) = (-22, "error (-EINVAL)");
const MISSING: (i32, &str) = (-2, "error (-ENOENT)");

pub(super) fn facts(input: &Input) -> Fact {
    let word = |key: &str| input.settings.get(key).and_then(|value| value.as_str()).unwrap_or_default();
    let (model, scenario) = (word("model"), word("scenario"));
    // The file is applied to settings of the scenario that it is read for, if there is such a one.
    let start = Settings { scenario: Scenario::from_name(scenario).unwrap_or_default(), ..Settings::default() };
    let mut settings = start.clone();
    let returned = match file(input) {
        Some(text) => apply(&text, model, scenario, &mut settings).map_or(INVALID, |_| DONE),
        None => MISSING,
    };
    let (before, after) = (fields(&start), fields(&settings));
    let changed: Map<_, _> = after.clone().into_iter().filter(|(name, value)| before[name] != *value).collect();
    Fact::Some(vec![
        ("returns", Fact::AnyOf(vec![returned.0.into(), returned.1.into()])),
        ("test_settings", Fact::fields(after)),
        ("changed_test_settings", Fact::fields(changed)),
    ])
}

/// The file as text; `None`: there is none.
fn file(input: &Input) -> Option<String> {
    let pairs = input.config.as_ref();
    let lines = pairs.map(|pairs| pairs.iter().map(|(key, value)| format!("{key} = {value}")).collect::<Vec<_>>());
    input.config_lines.clone().or(lines).map(|lines| lines.join("\n"))
}
