//! Config files: what the reader returns, and the settings afterwards.

use serde_json::Map;

use super::super::conf::apply;
use super::super::settings::Settings;
use super::check::fields;
use super::facts::Fact;
use super::form::Input;

pub(super) fn facts(input: &Input) -> Fact {
    let word = |key: &str| input.settings.get(key).and_then(|value| value.as_str()).unwrap_or_default();
    let (model, scenario) = (word("model"), word("scenario"));
    let mut settings = Settings::default();
    // The file is applied to settings of the scenario that it is read for, if there is such a one.
    let start = Settings { scenario: super::super::scenario::Scenario::from_name(scenario).unwrap_or_default(), ..settings };
    settings = start.clone();
    let returned = match file(input) {
        Some(text) => apply(&text, model, scenario, &mut settings).map_or("error (-EINVAL)", |_| "0"),
        None => "error (-ENOENT)",
    };
    let (before, after) = (fields(&start), fields(&settings));
    let changed: Map<_, _> = after.clone().into_iter().filter(|(name, value)| before[name] != *value).collect();
    Fact::Some(vec![
        ("returns", Fact::is(returned)),
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
