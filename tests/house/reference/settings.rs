//! The page of LoadGen's settings.

use std::fmt::Write as _;

use loadgen::settings::{SettingKey, setting_keys};
use loadgen_node::documents::schemas::Kind;
use serde_json::Value;

const HEAD: &str = "`--set [SCENARIO.]KEY=VALUE` and official config files set these. `--set` also takes the names in \
the column *field*,\nwhich are the names in results, and units: `min_duration=60s`. A number alone has the unit of \
this table for a key, and\nthat of the meaning for a field. Config files of users may not set the keys marked with *.

| key | scenario | unit | field | meaning of the field |
|---|---|---|---|---|
";

pub(super) fn page() -> String {
    let schema: Value = serde_json::from_str(Kind::find("find_peak").unwrap().schema).unwrap();
    let fields = &schema["$defs"]["TestSettings"]["properties"];
    let mut page = HEAD.to_owned();
    for SettingKey { key, field, scenario, unit, is_reserved } in setting_keys() {
        let about = fields[field]["description"].as_str().unwrap_or_else(|| panic!("no text for {field}"));
        let about = about.replace('|', "\\|").replace('\n', " ");
        let scenario = scenario.map_or("all", |scenario| scenario.name());
        let mark = if is_reserved { " *" } else { "" };
        let _ = writeln!(page, "| `{key}`{mark} | {scenario} | {unit} | `{field}` | {about} |");
    }
    page
}
