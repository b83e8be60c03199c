//! Reading settings out of a file's table: every key of `settings/keys.rs`, converted as the official reader
//! converts.

use super::lookup::ANY;
use super::number;
use super::parse::{Entry, Remark, Table};
use crate::mode::Mode;
use crate::scenarios::{Scenario, TestSettings};
use crate::settings::keys::{self, KEYS, Key, Slot, Truth, Unit};

/// Kind of config file. It decides which settings the file may set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Owner {
    /// mlperf.conf, which may set everything.
    Official,
    /// user.conf, which may set everything but seeds, compliance test 05 and the share of logged answers.
    User,
    /// audit.config, which may set what user.conf may. Every run reads its lines for model `*`.
    Audit,
}

/// Result of applying a config file: the changed fields, and remarks on its lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// Fields of [`TestSettings`] that were set, each with the line that did it.
    pub fields: Vec<(&'static str, usize)>,
    /// Lines with another effect than their looks, and lines that are never read.
    pub remarks: Vec<Remark>,
}

/// Sets what the table says for a model and a scenario (by its official name). Fields of other scenarios are set too
/// when their keys name these scenarios.
pub fn apply(table: &Table, owner: Owner, model: &str, scenario: &str, settings: &mut TestSettings) -> Applied {
    let mut applied = Applied { fields: Vec::new(), remarks: table.remarks().to_vec() };
    for key in KEYS {
        let reserved = key.reserved && owner != Owner::Official;
        if reserved || key.gate.is_some_and(|gate| !(gate.is_open)(settings)) {
            continue;
        }
        let scenario = match key.only {
            Some(only) => only.name(),
            None => scenario,
        };
        if let Some(entry) = table.find(model, scenario, key.name) {
            match convert(key, &entry.value, settings) {
                Conversion::Set { misread } => {
                    applied.fields.push((key.field, entry.line));
                    applied.remarks.extend(misread.map(|what| Remark::on(entry, key, &what)));
                }
                Conversion::Ignored(why) => applied.remarks.push(Remark::on(entry, key, &why)),
            }
        }
    }
    let unread = table.entries().filter_map(|(name, entry)| {
        let text = never_read(name, owner, model, settings)?;
        Some(Remark { line: entry.line, text: format!("{name} is never read: {text}") })
    });
    applied.remarks.extend(unread);
    applied.remarks.sort_by_key(|remark| remark.line);
    applied.remarks.dedup();
    applied
}

impl Remark {
    fn on(entry: &Entry, key: &Key, what: &str) -> Remark {
        Remark { line: entry.line, text: format!("{} = {}: {what}", key.name, entry.value) }
    }
}

enum Conversion {
    /// The value was set; `misread` says what the person may not have meant.
    Set {
        misread: Option<String>,
    },
    Ignored(String),
}

fn convert(key: &Key, text: &str, settings: &mut TestSettings) -> Conversion {
    let whole = number::whole(text).value;
    let misread = match key.slot {
        Slot::Mode => {
            let mode = usize::try_from(whole).ok().and_then(|number| Mode::ALL.get(number));
            let Some(mode) = mode else {
                return Conversion::Ignored("no mode (0 to 3), ignored".to_owned());
            };
            settings.mode = *mode;
            misread_whole(text, 1)
        }
        Slot::Flag(field, truth) => {
            *field(settings) = if truth == Truth::One { whole == 1 } else { whole != 0 };
            let on = if *field(settings) { "on" } else { "off" };
            (text != "0" && text != "1").then(|| format!("read as {on} (write 0 or 1)"))
        }
        Slot::Whole(field, factor) => {
            *field(settings) = whole.wrapping_mul(factor);
            misread_whole(text, factor)
        }
        Slot::Narrow(field) => {
            // Sign-extended, as the official reader does.
            let narrow = whole as i32;
            *field(settings) = i64::from(narrow) as u64;
            misread_whole(text, 1)
                .or_else(|| (u64::try_from(narrow) != Ok(whole)).then(|| format!("read as {narrow} (32 bits)")))
        }
        // No key of config files is of this kind.
        Slot::Signed(field) => {
            *field(settings) = whole as i32;
            misread_whole(text, 1)
        }
        Slot::Real(field, factor) => {
            let value = number::real(text).unwrap_or_default() * factor;
            *field(settings) = value;
            match value.is_finite() {
                // A percentile below 50 is meant as a fraction.
                true => (key.unit == Unit::Percentile && value < 0.5)
                    .then(|| format!("read as {text} percent: write 99 for the 99th percentile, not 0.99")),
                false => Some("not a finite number".to_owned()),
            }
        }
        // No key of config files is of this kind either.
        Slot::Further(key) => return Conversion::Ignored(format!("{} is no setting of config files", key.name)),
    };
    Conversion::Set { misread }
}

/// Returns a remark on a text that looks like something other than the whole number read from it.
fn misread_whole(text: &str, factor: u64) -> Option<String> {
    let number = number::whole(text);
    let value = number.value;
    if number.len < text.len() {
        return Some(format!("read as {value}: only '{}' of it is a whole number", &text[..number.len]));
    }
    if number.too_large || value.checked_mul(factor).is_none() {
        return Some(format!("too large, the result is {}", value.wrapping_mul(factor)));
    }
    if number.negative && value != 0 {
        return Some(format!("negative, read as {value}"));
    }
    (number.base == 8 && value > 7).then(|| format!("read as {value}: a leading 0 means octal"))
}

/// Checks that config files have a key of this name, without benchmark and scenario.
///
/// # Errors
/// There is none, with the closest name that there is.
pub fn check_key(key: &str) -> Result<(), String> {
    let mut names = KEYS.iter().map(|row| row.name);
    if names.any(|name| name == key) {
        return Ok(());
    }
    let hint = keys::closest(key, KEYS.iter().map(|row| row.name)).map(|name| format!(" (did you mean {name}?)"));
    Err(format!("'{key}' is no key{}", hint.unwrap_or_default()))
}

/// Remarks on lines for benchmarks that do not exist; of the known names each remark has the closest one.
pub(super) fn of_unknown_benchmarks(
    table: &Table,
    is_known: impl Fn(&str) -> bool,
    benchmarks: &[String],
) -> Vec<Remark> {
    let remark = |(name, entry): (&str, &Entry)| {
        let model = name.rsplitn(3, '.').nth(2).filter(|model| !name.starts_with('#') && *model != ANY)?;
        let closest = || keys::closest(model, benchmarks.iter().map(String::as_str));
        let hint = || closest().map(|name| format!(" (did you mean {name}?)")).unwrap_or_default();
        let text = || format!("{name} is never read: no benchmark is named {model}{}", hint());
        (!is_known(model)).then(|| Remark { line: entry.line, text: text() })
    };
    table.entries().filter_map(remark).collect()
}

/// Why no line with this key is ever read, if so. Lines for other models and scenarios are read, just not now.
fn never_read(name: &str, owner: Owner, model: &str, settings: &TestSettings) -> Option<String> {
    // The user commented this line out on purpose.
    if name.starts_with('#') {
        return None;
    }
    let mut parts = name.rsplitn(3, '.');
    let (Some(key), Some(scenario), Some(for_model)) = (parts.next(), parts.next(), parts.next()) else {
        return Some("it is not MODEL.SCENARIO.KEY".to_owned());
    };
    let named = Scenario::OFFICIAL.into_iter().find(|other| other.name() == scenario);
    if named.is_none() && scenario != ANY {
        let names = Scenario::OFFICIAL.map(Scenario::name);
        let hint = keys::closest(scenario, names.into_iter()).map(|name| format!(" (did you mean {name}?)"));
        return Some(format!("'{scenario}' is no scenario{}", hint.unwrap_or_default()));
    }
    if let Err(unknown) = check_key(key) {
        return Some(unknown);
    }
    let mut meanings = KEYS.iter().filter(|row| row.name == key);
    let Some(meaning) = meanings.find(|row| row.only.is_none() || named.is_none() || row.only == named) else {
        return Some(format!("{scenario} has no {key}"));
    };
    if meaning.reserved && owner != Owner::Official {
        return Some("only mlperf.conf sets it".to_owned());
    }
    if owner == Owner::Audit && ![ANY, model].contains(&for_model) {
        return Some("audit files are read for model * only".to_owned());
    }
    let gate = meaning.gate.filter(|gate| !(gate.is_open)(settings) && [ANY, model].contains(&for_model))?;
    Some(format!("{} is off", gate.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, owner: Owner, model: &str, scenario: &str) -> (TestSettings, Vec<String>) {
        let mut settings = TestSettings::default();
        let applied = apply(&Table::parse(text), owner, model, scenario, &mut settings);
        (settings, applied.remarks.into_iter().map(|remark| format!("{}: {}", remark.line, remark.text)).collect())
    }

    fn user(text: &str) -> (TestSettings, Vec<String>) {
        read(text, Owner::User, "bert", "Server")
    }

    #[test]
    fn numbers_are_converted_as_officially_and_odd_ones_remarked() {
        let whole = |text: &str| {
            let (settings, remarks) = user(&format!("*.*.min_query_count = {text}"));
            (settings.min_query_count, remarks.len())
        };
        for (text, value, remarks) in [
            ("10", 10, 0),
            ("0x10", 16, 0),
            ("0", 0, 0),
            ("05", 5, 0),
            ("010", 8, 1),
            ("10.7", 10, 1),
            ("1e3", 1, 1),
            ("-1", u64::MAX, 1),
            ("99999999999999999999", u64::MAX, 1),
            ("nan", 0, 1),
        ] {
            assert_eq!(whole(text), (value, remarks), "{text}");
        }
        let (settings, remarks) = user("*.Server.target_latency = 18446744073709551615\n*.Server.target_qps = inf");
        assert_eq!(settings.server_target_latency_ns, 0_u64.wrapping_sub(1_000_000));
        assert_eq!(settings.server_target_qps, f64::INFINITY);
        assert_eq!(remarks.len(), 2, "{remarks:?}");
    }

    #[test]
    fn flags_differ_in_what_switches_them_on() {
        let (settings, remarks) = user("*.*.sample_concatenate_permutation = 2\n*.*.performance_issue_same = 2");
        assert!(!settings.sample_concatenate_permutation && settings.performance_issue_same);
        assert!(remarks[0].contains("read as off") && remarks[1].contains("read as on"), "{remarks:?}");
    }

    #[test]
    fn outstanding_queries_have_32_bits() {
        let value = |text: &str| user(&format!("*.Server.max_async_queries = {text}")).0.server_max_async_queries;
        assert_eq!(value("4294967303"), 7);
        assert_eq!(value("2147483648"), 0xffff_ffff_8000_0000);
    }

    #[test]
    fn modes_have_numbers() {
        assert_eq!(user("*.*.mode = 0").0.mode, Mode::SubmissionRun);
        let (settings, remarks) = user("*.*.mode = 4");
        assert_eq!(settings.mode, Mode::PerformanceOnly);
        assert!(remarks[0].contains("no mode"), "{remarks:?}");
    }

    #[test]
    fn users_cannot_set_what_is_reserved() {
        let reserved: Vec<&str> = KEYS.iter().filter(|key| key.reserved).map(|key| key.name).collect();
        assert_eq!(reserved.len(), 8);
        for key in reserved {
            let text = format!("*.*.{key} = 1");
            for owner in [Owner::User, Owner::Audit] {
                let (settings, remarks) = read(&text, owner, "bert", "Server");
                assert_eq!(settings, TestSettings::default(), "{key}");
                assert!(remarks[0].contains("only mlperf.conf"), "{remarks:?}");
            }
            let (settings, remarks) = read(&text, Owner::Official, "bert", "Server");
            assert!(settings != TestSettings::default() && remarks.is_empty(), "{key}: {remarks:?}");
        }
    }

    #[test]
    fn token_settings_need_their_switches() {
        let (settings, remarks) = user("*.Server.ttft_latency = 5\n*.*.token_latency_scaling_factor = 6");
        assert_eq!(settings, TestSettings::default());
        assert!(remarks[0].contains("use_token_latencies is off"), "{remarks:?}");
        assert!(remarks[1].contains("infer_token_latencies is off"), "{remarks:?}");
        let on = "*.*.use_token_latencies = 1\n*.*.infer_token_latencies = 1\n*.Server.ttft_latency = 5\n\
                  *.*.token_latency_scaling_factor = 6";
        let (settings, remarks) = user(on);
        assert_eq!((settings.server_ttft_latency, settings.token_latency_scaling_factor), (5_000_000, 6));
        assert!(remarks.is_empty(), "{remarks:?}");
    }

    #[test]
    fn audit_files_are_read_for_every_model_alike() {
        let text = "*.*.min_query_count = 5\nbert.*.min_query_count = 6\n";
        let (settings, remarks) = read(text, Owner::Audit, ANY, "Server");
        assert_eq!(settings.min_query_count, 5);
        assert_eq!(remarks, ["2: bert.*.min_query_count is never read: audit files are read for model * only"]);
    }

    #[test]
    fn keys_that_nobody_reads_are_named() {
        let text = "*.Sever.target_qps = 1\n*.Server.target_qsp = 1\n*.Offline.target_latency_percentile = 90\n\
                    target_qps = 1\n#*.Server.target_qsp = 1\nother.Offline.target_qps = 1\n*.*.samples_per_query = 8";
        let (_, remarks) = user(text);
        let [scenario, key, offline, form] = remarks.as_slice() else { panic!("{remarks:?}") };
        assert!(scenario.starts_with("1:") && scenario.contains("did you mean Server"), "{scenario}");
        assert!(key.starts_with("2:") && key.contains("did you mean target_qps"), "{key}");
        assert!(offline.starts_with("3:") && offline.contains("Offline has no"), "{offline}");
        assert!(form.starts_with("4:") && form.contains("MODEL.SCENARIO.KEY"), "{form}");
    }

    #[test]
    fn set_fields_come_with_their_lines() {
        let mut settings = TestSettings::default();
        let table = Table::parse("bert.*.min_duration = 1\n\n*.Server.min_duration = 2\n");
        let applied = apply(&table, Owner::User, "bert", "Server", &mut settings);
        assert_eq!(applied.fields, [("min_duration_ms", 3)]);
        assert_eq!(settings.min_duration_ms, 2);
    }
}
