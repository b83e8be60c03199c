//! The scenarios: what one is made of, and the list of those that exist.
//!
//! A new scenario is a file in `traffic` (what is asked), a file in `judge` (how it is judged, and its lines in the
//! reports), and an entry in [`Scenario::ALL`]. All other code takes what it needs to know of a scenario from its
//! [`Definition`]: `tests/new_scenario.rs` has one that no other file knows.

use std::fmt;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::judge;
use crate::traffic;
pub use crate::traffic::{Definition, Scenario, TestSettings};

impl Scenario {
    /// The registered scenarios: the official ones in the order of their enumeration, then those of our own.
    pub const ALL: [Scenario; 6] = [
        Scenario::new(&Definition {
            name: "SingleStream",
            traffic: &traffic::SingleStream,
            judge: &judge::SingleStream,
            headlines: &judge::SingleStream,
        }),
        Scenario::new(&Definition {
            name: "MultiStream",
            traffic: &traffic::MultiStream,
            judge: &judge::MultiStream,
            headlines: &judge::MultiStream,
        }),
        Scenario::new(&Definition {
            name: "Server",
            traffic: &traffic::Server,
            judge: &judge::Server,
            headlines: &judge::Server,
        }),
        Scenario::new(&Definition {
            name: "Offline",
            traffic: &traffic::Offline,
            judge: &judge::Offline,
            headlines: &judge::Offline,
        }),
        Scenario::new(&Definition {
            name: "Burst",
            traffic: &traffic::Burst,
            judge: &judge::Burst,
            headlines: &judge::Burst,
        }),
        Scenario::new(&Definition {
            name: "Closed",
            traffic: &traffic::Closed,
            judge: &judge::Closed,
            headlines: &judge::Closed,
        }),
    ];

    /// The scenarios of the official LoadGen.
    pub const OFFICIAL: [Scenario; 4] = [Self::ALL[0], Self::ALL[1], Self::ALL[2], Self::ALL[3]];

    /// One sample at a time, the next when the last was answered.
    pub const SINGLE_STREAM: Scenario = Self::ALL[0];
    /// A fixed number of samples at a time, the next query when the last was answered.
    pub const MULTI_STREAM: Scenario = Self::ALL[1];
    /// One sample per query at random times of a Poisson process.
    pub const SERVER: Scenario = Self::ALL[2];
    /// One query with all samples.
    pub const OFFLINE: Scenario = Self::ALL[3];
    /// Many one-sample queries that are due at once, again and again.
    pub const BURST: Scenario = Self::ALL[4];
    /// A fixed number of users, each with one query in flight.
    pub const CLOSED: Scenario = Self::ALL[5];

    /// All samples are one query, which nodes take as they have room: a least size is one of samples, and most of a
    /// latency is the time until the sample's turn.
    pub fn is_one_query(self) -> bool {
        self.traffic().expected() == traffic::Expected::SampleRate
    }

    /// The registered scenario with this official name.
    pub fn from_name(name: &str) -> Option<Scenario> {
        Self::ALL.into_iter().find(|scenario| scenario.name() == name)
    }
}

/// The official default: SingleStream.
impl Default for Scenario {
    fn default() -> Self {
        Self::SINGLE_STREAM
    }
}

impl Serialize for Scenario {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Scenario {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Scenario".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let names = Scenario::ALL.map(Scenario::name);
        schemars::json_schema!({ "description": "The official name of a scenario.", "type": "string", "enum": names })
    }
}

impl<'de> Deserialize<'de> for Scenario {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Scenario, D::Error> {
        deserializer.deserialize_str(Name)
    }
}

/// Reads the name of a registered scenario.
struct Name;

impl Visitor<'_> for Name {
    type Value = Scenario;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a scenario")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Scenario, E> {
        Scenario::from_name(name).ok_or_else(|| E::unknown_variant(name, &NAMES))
    }
}

/// The names of the registered scenarios, for messages.
static NAMES: [&str; Scenario::ALL.len()] = {
    let mut names = [""; Scenario::ALL.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = Scenario::ALL[i].name();
        i += 1;
    }
    names
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_what_they_are_called() {
        let named = [Scenario::SINGLE_STREAM, Scenario::MULTI_STREAM, Scenario::SERVER, Scenario::OFFLINE];
        assert_eq!(named.map(Scenario::name), ["SingleStream", "MultiStream", "Server", "Offline"]);
        assert_eq!(Scenario::default(), Scenario::SINGLE_STREAM);
    }

    #[test]
    fn json_has_names_and_knows_only_registered_ones() {
        for scenario in Scenario::ALL {
            let text = serde_json::to_string(&scenario).unwrap();
            assert_eq!(text, format!("{:?}", scenario.name()));
            assert_eq!(serde_json::from_str::<Scenario>(&text).unwrap(), scenario);
        }
        let message = serde_json::from_str::<Scenario>("\"Sever\"").unwrap_err().to_string();
        assert!(
            message.contains("unknown variant `Sever`, expected one of `SingleStream`, `MultiStream`"),
            "{message}"
        );
    }
}
