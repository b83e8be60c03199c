//! The config keys of LoadGen, as data: which field a key means in which scenario, and in which unit.
//!
//! The one list of keys. Assignments typed by a person ([`super::Assignment`], strict) and official config files
//! (`crate::conf`, as lenient as the official reader) both go by it; how text becomes a number is theirs.

use Slot::{Flag, Narrow, Real, Signed, Whole};
use Truth::{NotZero, One};
use Unit::{Ms, PerSecond, Percent, Percentile, RunMs, Share};
use strsim::levenshtein;

#[cfg(feature = "schema")]
use crate::further_settings::Further;
use crate::further_settings::{FurtherKey, Quantity};
use crate::scenarios::{Scenario, TestSettings};

/// A config key in the scenario, or scenarios, in which it means one field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    /// The key as written in config files.
    pub(crate) name: &'static str,
    /// The field of [`TestSettings`].
    pub(crate) field: &'static str,
    /// The scenario whose field it is; `None`: the same field whichever is run.
    pub(crate) only: Option<Scenario>,
    /// True when config files of users may not set it.
    pub(crate) reserved: bool,
    /// The switch without which config files do not set it.
    pub(crate) gate: Option<Gate>,
    pub(crate) slot: Slot,
    pub(crate) unit: Unit,
}

/// Unit of the number behind a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Things, or nothing at all.
    Plain,
    /// Queries per second.
    PerSecond,
    Percent,
    /// Percent, of which nobody means less than 50.
    Percentile,
    /// A part of something, or several times as much.
    Share,
    /// Time in milliseconds.
    Ms,
    /// The same of a whole run, which people think of in seconds.
    RunMs,
}

/// A setting that must be on for another to be read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gate {
    pub(crate) name: &'static str,
    pub(crate) is_open: fn(&TestSettings) -> bool,
}

/// Where a key's value goes, and how it is converted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Slot {
    Mode,
    Flag(fn(&mut TestSettings) -> &mut bool, Truth),
    /// A whole number times a factor.
    Whole(fn(&mut TestSettings) -> &mut u64, u64),
    /// A whole number that the official reader keeps in 32 bits with a sign.
    Narrow(fn(&mut TestSettings) -> &mut u64),
    /// A whole number that may be negative.
    Signed(fn(&mut TestSettings) -> &mut i32),
    /// A real number times a factor.
    Real(fn(&mut TestSettings) -> &mut f64, f64),
    /// A setting beside the official ones, which the scenario declares. No config file sets it.
    Further(&'static FurtherKey),
}

/// Which numbers switch a flag on in a config file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Truth {
    One,
    NotZero,
}

/// The meaning of a key in a scenario.
pub(crate) fn find(name: &str, scenario: Scenario) -> Option<Key> {
    let official = KEYS.iter().copied().filter(|key| key.only.is_none_or(|only| only == scenario));
    official.chain(declared(scenario)).find(|key| key.name == name)
}

/// The keys that a scenario declares beside the official ones.
fn declared(scenario: Scenario) -> impl Iterator<Item = Key> {
    scenario.traffic().keys().iter().map(move |key| Key::declared(key, scenario))
}

/// The names that are keys in a scenario, without repetition.
pub(crate) fn names_in(scenario: Scenario) -> impl Iterator<Item = &'static str> {
    let official = KEYS.iter().copied().filter(move |key| key.only.is_none_or(|only| only == scenario));
    official.chain(declared(scenario)).map(|key| key.name)
}

/// The known word that another one probably stands for: the shortest that begins with it, else the nearest within three
/// changed letters and a third of the word, else the shortest that ends with it.
pub(crate) fn closest<'a>(word: &str, names: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let is_long = word.len() >= 3;
    let longer = names.clone().filter(|name| is_long && name.starts_with(word)).min_by_key(|name| name.len());
    let most = 3.min(word.chars().count().div_ceil(3));
    let near = names.clone().map(|name| (levenshtein(word, name), name)).filter(|(far, _)| *far <= most).min();
    let ending = names.filter(|name| is_long && name.ends_with(word)).min_by_key(|name| name.len());
    longer.or(near.map(|(_, name)| name)).or(ending)
}

/// Names that settings have in what is worked out from them ([`crate::effective::Effective`]), and their keys.
pub(super) const IN_FORCE: [(&str, &str); 6] = [
    ("target_latency_ns", "target_latency"),
    ("ttft_latency_ns", "ttft_latency"),
    ("tpot_latency_ns", "tpot_latency"),
    ("target_duration_ms", "min_duration"),
    ("performance_sample_count", "performance_sample_count_override"),
    ("accuracy_sample_count", "accuracy_sample_count_override"),
];

/// The meaning of a name that a person typed, in a scenario: of a key, or of a field by the name it has in results.
/// True with it when it is the field's and the key is called otherwise.
pub(crate) fn find_typed(name: &str, scenario: Scenario) -> Option<(Key, bool)> {
    let of_this = || official_fields().filter(|key| key.only.is_none_or(|only| only == scenario));
    let by_field = || of_this().chain(declared(scenario)).find(|key| key.field == name);
    let in_force = || IN_FORCE.iter().find(|(in_force, _)| *in_force == name).and_then(|(_, key)| find(key, scenario));
    let others = || by_field().or_else(in_force).map(|key| (key, true));
    find(name, scenario).map(|key| (key, false)).or_else(others)
}

/// The field of another scenario with this name. Results have the fields of all scenarios.
pub(crate) fn find_elsewhere(name: &str, scenario: Scenario) -> Option<Key> {
    official_fields().find(|key| key.field == name && key.only.is_some_and(|only| only != scenario))
}

/// A key for each official field that a person may set.
pub(super) fn official_fields() -> impl Iterator<Item = Key> {
    KEYS.iter().chain(WITHOUT_KEYS).copied()
}

/// A key for each field that a person may set.
fn fields() -> impl Iterator<Item = Key> {
    official_fields().chain(Scenario::ALL.into_iter().flat_map(declared))
}

/// A key that a person may set, for those who list them.
#[derive(Clone, Copy, Debug)]
pub struct SettingKey {
    /// The key as written in config files, or the field's name where they have none.
    pub key: &'static str,
    /// The field of [`TestSettings`].
    pub field: &'static str,
    /// The scenario whose field it is; `None`: the same field in all of them.
    pub scenario: Option<Scenario>,
    /// The unit of a number without one; empty where it is a count, a switch or a name.
    pub unit: &'static str,
    /// True where config files of users may not set it.
    pub is_reserved: bool,
    /// The declaration of a setting beside the official ones.
    pub declared: Option<&'static FurtherKey>,
}

/// Every key that a person may set, in each scenario in which it means another field.
pub fn setting_keys() -> impl Iterator<Item = SettingKey> {
    fields().map(|key| SettingKey {
        key: key.name,
        field: key.field,
        scenario: key.only,
        unit: key.unit.name(),
        is_reserved: key.reserved,
        declared: if let Slot::Further(key) = key.slot { Some(key) } else { None },
    })
}

/// The settings of every scenario, as it declares them.
#[cfg(feature = "schema")]
impl schemars::JsonSchema for Further {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Further".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let types = |key: &FurtherKey| match key.quantity {
            Quantity::Count { .. } | Quantity::Time => "integer",
            Quantity::PerSecond | Quantity::Percentile => "number",
            Quantity::Text(_) => "string",
        };
        let property = |key: &FurtherKey| {
            let mut schema = schemars::json_schema!({ "description": key.help, "type": types(key) });
            if let Some(Ok(default)) = key.default_value().map(serde_json::to_value) {
                schema.insert("default".to_owned(), default);
            }
            schema
        };
        let keys = setting_keys().filter_map(|setting| setting.declared);
        let properties: serde_json::Map<_, _> =
            keys.map(|key| (key.field.to_owned(), property(key).to_value())).collect();
        schemars::json_schema!({
            "description": "Settings beside the official ones that were set, by field.",
            "type": "object",
            "properties": properties,
            "additionalProperties": false,
        })
    }
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Unit::Plain => "",
            PerSecond => "queries/s",
            Percent | Percentile => "percent",
            Share => "share",
            Ms | RunMs => "ms",
        }
    }
}

impl Key {
    const fn new(name: &'static str, slot: Slot) -> Self {
        Self { name, field: name, only: None, reserved: false, gate: None, slot, unit: Unit::Plain }
    }

    /// Returns the number of the field's units in one unit of the key.
    pub(super) fn factor(&self) -> f64 {
        match self.slot {
            Whole(_, factor) => factor as f64,
            Real(_, factor) => factor,
            Slot::Further(key) => match key.quantity {
                Quantity::Time => MS_REAL,
                Quantity::Percentile => PERCENT,
                Quantity::Count { .. } | Quantity::PerSecond | Quantity::Text(_) => 1.0,
            },
            Slot::Mode | Flag(..) | Narrow(_) | Signed(_) => 1.0,
        }
    }

    fn declared(key: &'static FurtherKey, scenario: Scenario) -> Self {
        let unit = match key.quantity {
            Quantity::Count { .. } | Quantity::Text(_) => Unit::Plain,
            Quantity::PerSecond => PerSecond,
            Quantity::Time => Ms,
            Quantity::Percentile => Percentile,
        };
        Self::new(key.name, Slot::Further(key)).counts(unit).field(key.field).only(scenario)
    }

    const fn counts(mut self, unit: Unit) -> Self {
        self.unit = unit;
        self
    }

    const fn field(mut self, field: &'static str) -> Self {
        self.field = field;
        self
    }

    const fn only(mut self, scenario: Scenario) -> Self {
        self.only = Some(scenario);
        self
    }

    const fn reserved(mut self) -> Self {
        self.reserved = true;
        self
    }

    const fn gated(mut self, gate: Gate) -> Self {
        self.gate = Some(gate);
        self
    }
}

/// Percent to fraction, the official way (a product: 95 gives 0.9500000000000001).
const PERCENT: f64 = 0.01;
/// Factor from milliseconds to nanoseconds.
const MS_REAL: f64 = 1e6;
const MS_WHOLE: u64 = 1_000_000;

const TOKENS: Gate = Gate { name: "use_token_latencies", is_open: |s| s.use_token_latencies };
const INFERRED: Gate = Gate { name: "infer_token_latencies", is_open: |s| s.infer_token_latencies };

/// Every key. Config files are read in this order: a gate comes before what it gates.
pub(crate) const KEYS: &[Key] = &[
    Key::new("mode", Slot::Mode),
    Key::new("qsl_rng_seed", Whole(|s| &mut s.qsl_rng_seed, 1)).reserved(),
    Key::new("sample_index_rng_seed", Whole(|s| &mut s.sample_index_rng_seed, 1)).reserved(),
    Key::new("schedule_rng_seed", Whole(|s| &mut s.schedule_rng_seed, 1)).reserved(),
    Key::new("accuracy_log_probability", Real(|s| &mut s.accuracy_log_probability, PERCENT)).counts(Percent).reserved(),
    Key::new("test05", Flag(|s| &mut s.test05, One)).reserved(),
    Key::new("test05_qsl_rng_seed", Whole(|s| &mut s.test05_qsl_rng_seed, 1)).reserved(),
    Key::new("test05_sample_index_rng_seed", Whole(|s| &mut s.test05_sample_index_rng_seed, 1)).reserved(),
    Key::new("test05_schedule_rng_seed", Whole(|s| &mut s.test05_schedule_rng_seed, 1)).reserved(),
    Key::new("target_qps", Real(|s| &mut s.server_target_qps, 1.0))
        .counts(PerSecond)
        .field("server_target_qps")
        .only(Scenario::SERVER),
    Key::new("target_qps", Real(|s| &mut s.offline_expected_qps, 1.0))
        .counts(PerSecond)
        .field("offline_expected_qps")
        .only(Scenario::OFFLINE),
    Key::new("target_latency", Whole(|s| &mut s.server_target_latency_ns, MS_WHOLE))
        .counts(Ms)
        .field("server_target_latency_ns")
        .only(Scenario::SERVER),
    Key::new("target_latency", Real(|s| &mut s.single_stream_expected_latency_ns, MS_REAL))
        .counts(Ms)
        .field("single_stream_expected_latency_ns")
        .only(Scenario::SINGLE_STREAM),
    Key::new("target_latency", Real(|s| &mut s.multi_stream_expected_latency_ns, MS_REAL))
        .counts(Ms)
        .field("multi_stream_expected_latency_ns")
        .only(Scenario::MULTI_STREAM),
    Key::new("target_latency_percentile", Real(|s| &mut s.single_stream_target_latency_percentile, PERCENT))
        .counts(Percentile)
        .field("single_stream_target_latency_percentile")
        .only(Scenario::SINGLE_STREAM),
    Key::new("target_latency_percentile", Real(|s| &mut s.multi_stream_target_latency_percentile, PERCENT))
        .counts(Percentile)
        .field("multi_stream_target_latency_percentile")
        .only(Scenario::MULTI_STREAM),
    Key::new("target_latency_percentile", Real(|s| &mut s.server_target_latency_percentile, PERCENT))
        .counts(Percentile)
        .field("server_target_latency_percentile")
        .only(Scenario::SERVER),
    Key::new("samples_per_query", Whole(|s| &mut s.multi_stream_samples_per_query, 1))
        .field("multi_stream_samples_per_query")
        .only(Scenario::MULTI_STREAM),
    Key::new("coalesce_queries", Flag(|s| &mut s.server_coalesce_queries, NotZero))
        .field("server_coalesce_queries")
        .only(Scenario::SERVER),
    Key::new("max_async_queries", Narrow(|s| &mut s.server_max_async_queries))
        .field("server_max_async_queries")
        .only(Scenario::SERVER),
    Key::new("min_duration", Whole(|s| &mut s.min_duration_ms, 1)).counts(RunMs).field("min_duration_ms"),
    Key::new("max_duration", Whole(|s| &mut s.max_duration_ms, 1)).counts(RunMs).field("max_duration_ms"),
    Key::new("min_query_count", Whole(|s| &mut s.min_query_count, 1)),
    Key::new("max_query_count", Whole(|s| &mut s.max_query_count, 1)),
    Key::new("accuracy_log_rng_seed", Whole(|s| &mut s.accuracy_log_rng_seed, 1)),
    Key::new("accuracy_log_sampling_target", Whole(|s| &mut s.accuracy_log_sampling_target, 1)),
    Key::new("sample_concatenate_permutation", Flag(|s| &mut s.sample_concatenate_permutation, One)),
    Key::new("performance_issue_unique", Flag(|s| &mut s.performance_issue_unique, NotZero)),
    Key::new("performance_issue_same", Flag(|s| &mut s.performance_issue_same, NotZero)),
    Key::new("performance_issue_same_index", Whole(|s| &mut s.performance_issue_same_index, 1)),
    Key::new("performance_sample_count_override", Whole(|s| &mut s.performance_sample_count_override, 1)),
    Key::new("accuracy_sample_count_override", Whole(|s| &mut s.accuracy_sample_count_override, 1)),
    Key::new("print_timestamps", Flag(|s| &mut s.print_timestamps, NotZero)),
    Key::new("use_token_latencies", Flag(|s| &mut s.use_token_latencies, One)),
    Key::new("ttft_latency", Whole(|s| &mut s.server_ttft_latency, MS_WHOLE))
        .counts(Ms)
        .field("server_ttft_latency")
        .only(Scenario::SERVER)
        .gated(TOKENS),
    Key::new("tpot_latency", Whole(|s| &mut s.server_tpot_latency, MS_WHOLE))
        .counts(Ms)
        .field("server_tpot_latency")
        .only(Scenario::SERVER)
        .gated(TOKENS),
    Key::new("infer_token_latencies", Flag(|s| &mut s.infer_token_latencies, One)),
    Key::new("token_latency_scaling_factor", Whole(|s| &mut s.token_latency_scaling_factor, 1)).gated(INFERRED),
];

/// Fields that config files have no key for, by their own names. No config file sets them.
const WITHOUT_KEYS: &[Key] = &[
    Key::new(
        "server_find_peak_qps_decimals_of_precision",
        Signed(|s| &mut s.server_find_peak_qps_decimals_of_precision),
    )
    .only(Scenario::SERVER),
    Key::new("server_find_peak_qps_boundary_step_size", Real(|s| &mut s.server_find_peak_qps_boundary_step_size, 1.0))
        .counts(Share)
        .only(Scenario::SERVER),
    Key::new("server_num_issue_query_threads", Whole(|s| &mut s.server_num_issue_query_threads, 1))
        .only(Scenario::SERVER),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_exist_and_are_the_ones_that_change() {
        let before = serde_json::to_value(TestSettings::default()).unwrap();
        for key in official_fields() {
            let mut settings = TestSettings::default();
            match key.slot {
                Slot::Mode => settings.mode = crate::settings::Mode::AccuracyOnly,
                Flag(field, _) => *field(&mut settings) ^= true,
                Whole(field, _) | Narrow(field) => *field(&mut settings) += 1,
                Signed(field) => *field(&mut settings) += 1,
                Real(field, _) => *field(&mut settings) += 1.0,
                Slot::Further(key) => panic!("{} is no official key", key.name),
            }
            let after = serde_json::to_value(&settings).unwrap();
            let changed: Vec<&String> =
                after.as_object().unwrap().iter().filter(|(k, v)| before[*k] != **v).map(|(k, _)| k).collect();
            assert_eq!(changed, [key.field], "{}", key.name);
        }
    }

    #[test]
    fn suggestions_begin_as_what_was_typed_or_are_near_it() {
        let names = || KEYS.iter().map(|key| key.name);
        for (typed, meant) in [
            ("min", Some("min_duration")),
            ("latency", Some("ttft_latency")),
            ("target_qsp", Some("target_qps")),
            ("mod", Some("mode")),
            ("zzz", None),
        ] {
            assert_eq!(closest(typed, names()), meant, "{typed}");
        }
    }

    #[test]
    fn names_in_force_lead_to_their_keys() {
        for (name, key) in IN_FORCE {
            let (row, is_field) = find_typed(name, Scenario::SERVER).unwrap();
            assert!(row.name == key && is_field, "{name}");
        }
        assert_eq!(find_typed("min_sample_count", Scenario::SERVER).map(|(key, _)| key.name), None);
    }

    /// Every field but the scenario, which is no setting of its own.
    #[test]
    fn keys_are_listed_with_their_fields_and_units() {
        let listed: Vec<_> = setting_keys().filter(|key| key.key == "target_latency").collect();
        let official = listed.iter().filter(|key| key.declared.is_none());
        let fields: Vec<_> = official.map(|key| (key.field, key.scenario.map(Scenario::name), key.unit)).collect();
        assert!(fields.contains(&("server_target_latency_ns", Some("Server"), "ms")), "{fields:?}");
        assert_eq!(fields.len(), 3, "{fields:?}");
        let declared: Vec<_> = listed.iter().filter(|key| key.declared.is_some()).map(|key| key.field).collect();
        assert_eq!(declared, ["burst_target_latency_ns", "closed_target_latency_ns"]);
        assert!(setting_keys().any(|key| key.key == "qsl_rng_seed" && key.is_reserved && key.scenario.is_none()));
    }

    #[test]
    fn every_field_can_be_set() {
        let settings = serde_json::to_value(TestSettings::default()).unwrap();
        for name in settings.as_object().unwrap().keys().filter(|name| *name != "scenario") {
            assert!(fields().any(|key| key.field == name), "{name}");
        }
    }

    #[test]
    fn a_key_means_one_field_in_a_scenario() {
        for (i, key) in KEYS.iter().enumerate() {
            for other in &KEYS[i + 1..] {
                let overlap = key.only.is_none() || other.only.is_none() || key.only == other.only;
                assert!(key.name != other.name || !overlap, "{}", key.name);
            }
        }
    }

    #[test]
    fn gates_are_read_before_what_they_gate() {
        for (i, key) in KEYS.iter().enumerate() {
            if let Some(gate) = key.gate {
                assert!(KEYS[..i].iter().any(|earlier| earlier.name == gate.name), "{}", key.name);
            }
        }
    }
}
