//! Lists of keys and values that are JSON objects, in the order of the list: `#[serde(with = "ordered_map")]`.
//!
//! For objects whose keys are data and whose order is meant for people; the maps of the standard library have an order
//! of their own, or none.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(super) fn serialize<V: Serialize, S: Serializer>(list: &[(String, V)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(list.iter().map(|(key, value)| (key, value)))
}

pub(super) fn deserialize<'de, V: Deserialize<'de>, D: Deserializer<'de>>(
    from: D,
) -> Result<Vec<(String, V)>, D::Error> {
    from.deserialize_map(Entries(PhantomData))
}

/// Collects the entries of an object.
struct Entries<V>(PhantomData<V>);

impl<'de, V: Deserialize<'de>> Visitor<'de> for Entries<V> {
    type Value = Vec<(String, V)>;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        while let Some(entry) = map.next_entry()? {
            list.push(entry);
        }
        Ok(list)
    }
}
