//! Keys and values of a table of TOML, in the order of the file, each with its place there.

use std::fmt;

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use toml::{Spanned, Value};

/// The keys of a table in the order of the file. Tables in it are dotted keys.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Keys(pub(crate) Vec<KeyValue>);

/// A key with its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KeyValue {
    /// The key with its dots.
    pub(crate) key: String,
    /// Its place in the file, in bytes.
    pub(crate) at: usize,
    pub(crate) value: Value,
}

impl<'de> Deserialize<'de> for Keys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Keys, D::Error> {
        let Tree::Table(mut keys) = deserializer.deserialize_map(TreeVisitor)? else {
            return Err(Error::custom("this is a table"));
        };
        keys.sort_by_key(|entry| entry.at);
        Ok(Keys(keys))
    }
}

/// A value, or a table of them.
enum Tree {
    Table(Vec<KeyValue>),
    Value(Value),
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Tree, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a number, true or false, a list of these, or a table")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Value(Value::Boolean(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        Ok(Tree::Value(Value::Integer(value)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Tree, E> {
        Ok(Tree::Value(Value::Float(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Tree, E> {
        Ok(Tree::Value(Value::String(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Tree, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok(Tree::Value(Value::Array(values)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tree, A::Error> {
        let mut keys = Vec::new();
        while let Some(name) = map.next_key::<Spanned<String>>()? {
            let at = name.span().start;
            let name = name.into_inner();
            match map.next_value()? {
                Tree::Value(value) => keys.push(KeyValue { key: name, at, value }),
                Tree::Table(below) => {
                    keys.extend(
                        below.into_iter().map(|entry| KeyValue { key: format!("{name}.{}", entry.key), ..entry }),
                    );
                }
            }
        }
        Ok(Tree::Table(keys))
    }
}
