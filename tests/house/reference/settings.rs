//! The page of LoadGen's settings.

use std::fmt::Write as _;

use loadgen::settings::{FurtherKey, SettingKey, TestSettings, setting_keys};
use loadgen::v05;
use lon_run::documents::schemas::Kind;
use serde_json::{Value, json};

const HEAD: &str = "`--set [SCENARIO.]KEY=VALUE` and official config files set these. `--set` also takes the names in \
the column *field*,\nwhich are the names in results, and units: `min_duration=60s`. A number alone has the unit of \
this table for a key, and\nthat of the meaning for a field. Config files of users may not set the keys marked with *. \
Flags alone set keys of\nBurst and Closed, and `arrivals`. In results their fields stand under `further`.

| key | scenario | unit | field | default | meaning of the field |
|---|---|---|---|---|---|
";

const ROUND_V05: &str = "
## Round v0.5

`--rules v0.5` has keys of its own. Units are those of the keys above, and for MultiStream's `target_qps` queries/s.
Every config file may set every key.

| key | scenario | field | meaning of the field |
|---|---|---|---|
";

pub(super) fn page() -> String {
    let schema: Value = serde_json::from_str(Kind::find("find_peak").unwrap().schema).unwrap();
    let fields = &schema["$defs"]["TestSettings"]["properties"];
    let defaults = serde_json::to_value(TestSettings::default()).unwrap();
    let mut page = HEAD.to_owned();
    for SettingKey { key, field, scenario, unit, is_reserved, declared } in setting_keys() {
        let text = || fields[field]["description"].as_str().unwrap_or_else(|| panic!("no text for {field}")).to_owned();
        let about = declared.map_or_else(text, FurtherKey::about).replace('|', "\\|").replace('\n', " ");
        let default = match declared.map_or_else(|| defaults[field].clone(), |key| json!(key.default_value())) {
            Value::String(name) => name,
            Value::Null => String::new(),
            number => number.to_string(),
        };
        let scenario = scenario.map_or("all", |scenario| scenario.name());
        let mark = if is_reserved { " *" } else { "" };
        let _ = writeln!(page, "| `{key}`{mark} | {scenario} | {unit} | `{field}` | {default} | {about} |");
    }
    page.push_str(ROUND_V05);
    let schema: Value = serde_json::from_str(Kind::find("result_summary").unwrap().schema).unwrap();
    let fields = &schema["$defs"]["SettingsOfRoundV05"]["properties"];
    for (key, scenario, field) in v05::conf::all() {
        let about = fields[field]["description"].as_str().unwrap_or_else(|| panic!("no text for {field}"));
        let scenario = scenario.unwrap_or("all");
        let _ = writeln!(page, "| `{key}` | {scenario} | `{field}` | {} |", about.replace('\n', " "));
    }
    page
}
