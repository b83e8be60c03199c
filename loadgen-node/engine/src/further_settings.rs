//! Settings beside the official ones: a scenario declares them, and a test keeps those that were set, by name.
//!
//! [`FurtherKey`] is the declaration: name, unit, range, help and default of one setting. Flags, `conf`, help,
//! schemas and the reference read the same declarations. [`Further`] holds the values.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A setting that a scenario declares.
#[derive(Debug)]
pub struct FurtherKey {
    /// The name by which a person sets it: `burst_size`.
    pub name: &'static str,
    /// The name in results, with the unit last: `burst_interval_ns`.
    pub field: &'static str,
    /// Unit and range of the value.
    pub quantity: Quantity,
    /// The value where none is set, in the field's unit. A text has none.
    pub default: f64,
    /// One sentence for the user.
    pub help: &'static str,
}

/// Unit and range of a setting.
#[derive(Clone, Copy, Debug)]
pub enum Quantity {
    /// A whole number from `least` to `most`.
    Count {
        /// The smallest value.
        least: u64,
        /// The largest value.
        most: u64,
    },
    /// A rate per second, above 0.
    PerSecond,
    /// A time: whole nanoseconds in the field, milliseconds for a number without a unit.
    Time,
    /// A percentile: a fraction in the field, percent for a person.
    Percentile,
    /// A text in a form of its own. The check returns the reason against a text.
    Text(fn(&str) -> Result<(), String>),
}

/// A value of a further setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FurtherValue {
    /// A whole number: a count, or nanoseconds.
    Whole(u64),
    /// A rate, or a fraction.
    Real(f64),
    /// A text in a form of its own.
    Text(String),
}

/// The further settings of a test that were set, by field.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Further(BTreeMap<String, FurtherValue>);

impl FurtherKey {
    /// The value where none is set; `None` for a text.
    pub fn default_value(&self) -> Option<FurtherValue> {
        Some(match self.quantity {
            Quantity::Count { .. } | Quantity::Time => FurtherValue::Whole(self.default as u64),
            Quantity::PerSecond | Quantity::Percentile => FurtherValue::Real(self.default),
            Quantity::Text(_) => return None,
        })
    }

    /// The help, with the values that a person may set and the default.
    pub fn about(&self) -> String {
        let default = self.default;
        let values = match self.quantity {
            Quantity::Count { least, most: u64::MAX } => format!("{least} or more; default {default}"),
            Quantity::Count { least, most } => format!("{least} to {most}; default {default}"),
            Quantity::PerSecond => format!("above 0; default {default}"),
            Quantity::Time => format!("a time, such as 20ms; default {:?}", Duration::from_nanos(default as u64)),
            Quantity::Percentile => format!("percent, below 100; default {}", default * 100.0),
            Quantity::Text(_) => return self.help.to_owned(),
        };
        format!("{} Values: {values}.", self.help)
    }

    /// Checks a value against unit and range.
    ///
    /// # Errors
    /// The reason against the value, as the end of a sentence: "a whole number from 1 to 9".
    pub fn check(&self, value: &FurtherValue) -> Result<(), String> {
        let number = match value {
            FurtherValue::Whole(number) => *number as f64,
            FurtherValue::Real(number) => *number,
            FurtherValue::Text(text) => {
                let Quantity::Text(check) = self.quantity else { return Err(self.quantity.requirement()) };
                return check(text);
            }
        };
        let is_whole = matches!(value, FurtherValue::Whole(_));
        let is_right = match self.quantity {
            Quantity::Count { least, most } => is_whole && (least as f64..=most as f64).contains(&number),
            Quantity::PerSecond => number.is_finite() && number > 0.0,
            Quantity::Time => is_whole,
            Quantity::Percentile => number > 0.0 && number < 1.0,
            Quantity::Text(_) => false,
        };
        if is_right { Ok(()) } else { Err(self.quantity.requirement()) }
    }
}

impl Quantity {
    /// Describes the values that are accepted, in the field's unit.
    pub(crate) fn requirement(self) -> String {
        match self {
            Self::Count { least, most: u64::MAX } => format!("a whole number from {least} on"),
            Self::Count { least, most } => format!("a whole number from {least} to {most}"),
            Self::PerSecond => "a rate above 0, per second".to_owned(),
            Self::Time => "a time in whole nanoseconds".to_owned(),
            Self::Percentile => "a fraction above 0 and below 1".to_owned(),
            Self::Text(_) => "a text".to_owned(),
        }
    }
}

impl Further {
    /// Returns true when no further setting is set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The settings that are set, by field.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &FurtherValue)> {
        self.0.iter().map(|(field, value)| (field.as_str(), value))
    }

    /// Sets a value. The caller has checked it.
    pub fn set(&mut self, key: &FurtherKey, value: FurtherValue) {
        self.0.insert(key.field.to_owned(), value);
    }

    /// The whole number of a key, or its default.
    pub fn whole(&self, key: &FurtherKey) -> u64 {
        match self.0.get(key.field) {
            Some(FurtherValue::Whole(number)) => *number,
            _ => key.default as u64,
        }
    }

    /// The real number of a key, or its default.
    pub fn real(&self, key: &FurtherKey) -> f64 {
        match self.0.get(key.field) {
            Some(FurtherValue::Real(number)) => *number,
            Some(FurtherValue::Whole(number)) => *number as f64,
            _ => key.default,
        }
    }

    /// The text of a key; `None` where none is set.
    pub fn text(&self, key: &FurtherKey) -> Option<&str> {
        match self.0.get(key.field) {
            Some(FurtherValue::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// The first setting that none of these keys declares, or whose value its key refuses, with the reason.
    pub(crate) fn fault(&self, keys: &[&'static FurtherKey]) -> Option<(&str, String)> {
        self.iter().find_map(|(field, value)| match keys.iter().find(|key| key.field == field) {
            Some(key) => key.check(value).err().map(|reason| (field, reason)),
            None => Some((field, "a setting of another scenario".to_owned())),
        })
    }
}

impl From<u64> for FurtherValue {
    fn from(number: u64) -> Self {
        Self::Whole(number)
    }
}

impl From<f64> for FurtherValue {
    fn from(number: f64) -> Self {
        Self::Real(number)
    }
}

impl From<&str> for FurtherValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static SIZE: FurtherKey = FurtherKey {
        name: "size",
        field: "size",
        quantity: Quantity::Count { least: 1, most: 9 },
        default: 4.0,
        help: "Size.",
    };

    #[test]
    fn a_value_is_the_one_set_or_the_default() {
        let mut further = Further::default();
        assert_eq!(further.whole(&SIZE), 4);
        further.set(&SIZE, 7_u64.into());
        assert_eq!((further.whole(&SIZE), further.real(&SIZE), further.text(&SIZE)), (7, 7.0, None));
    }

    #[test]
    fn values_outside_their_range_and_unknown_settings_are_faults() {
        let mut further: Further = serde_json::from_str(r#"{"size": 10}"#).unwrap();
        assert_eq!(further.fault(&[&SIZE]), Some(("size", "a whole number from 1 to 9".to_owned())));
        further.set(&SIZE, 9_u64.into());
        assert_eq!(further.fault(&[&SIZE]), None);
        assert!(further.fault(&[]).is_some_and(|(field, reason)| field == "size" && reason.contains("another")));
        for wrong in [FurtherValue::Real(2.5), "3".into()] {
            assert!(SIZE.check(&wrong).is_err(), "{wrong:?}");
        }
    }
}
