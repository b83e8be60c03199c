//! The file of a campaign, as it is written: TOML, by one struct. Unknown keys are errors. Keys that are flags know
//! their places.

use std::fmt;
use std::path::PathBuf;

use lon_shell::dli::facts::Facts;
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use toml::{Spanned, Value};

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct CampaignFile {
    /// The folder of the campaign, from the folder of this file. It holds the plan and a folder for each cell.
    pub(crate) out: PathBuf,
    /// Order of the runs: `written` (all repeats of a cell, then the next cell), `interleaved` (a repeat of each cell,
    /// then the next repeat) or `random:SEED`; `written` unless given.
    pub(crate) order: Option<Spanned<String>>,
    /// Performance runs of each cell; 1 unless given.
    pub(crate) repeats: Option<Spanned<u32>>,
    /// With `first`, an accuracy run comes first in each cell, and performance runs follow where it meets its target.
    pub(crate) accuracy: Option<Spanned<String>>,
    /// Limits at which the campaign stops before its end.
    #[serde(default)]
    pub(crate) stop: StopTable,
    /// Flags of `loadgen-node run` that every cell has, without dashes in front; `settings.KEY` is a setting of
    /// LoadGen.
    pub(crate) run: Keys,
    /// Flags of `sut-node serve`, where the campaign starts the nodes; `count` is their number, 1 unless given.
    pub(crate) node: Option<Keys>,
    /// Lists or ranges of values: every combination of them is a cell. Keys are those of `run`, `node.FLAG` and
    /// `dli.FACT`.
    #[serde(default)]
    pub(crate) axes: Keys,
    /// Lists of the same length whose values move together, as one axis.
    #[serde(default)]
    pub(crate) zip: Vec<Keys>,
    /// Cases, each with a `name` and values that are laid over `run`, `node` and `dli`: every combination of the axes
    /// is made of each case.
    #[serde(default)]
    pub(crate) case: Vec<Keys>,
    /// Combinations that are left out: those that have all these values. A list stands for any of its values.
    #[serde(default)]
    pub(crate) exclude: Vec<Keys>,
    /// Facts for the table of the DLI benchmark that no run knows.
    #[serde(default)]
    pub(crate) dli: Facts,
}

/// Limits at which a campaign stops before its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct StopTable {
    /// Runs that came to no result, at which no further run starts.
    pub(crate) failures: Option<u32>,
    /// Hours after which no further run starts, counted from each call of `campaign run`.
    pub(crate) hours: Option<f64>,
}

/// The keys of a table in the order of the file. Tables in it are dotted keys.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Keys(pub(crate) Vec<Given>);

/// A key with its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Given {
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
        keys.sort_by_key(|given| given.at);
        Ok(Keys(keys))
    }
}

/// A value, or a table of them.
enum Tree {
    Table(Vec<Given>),
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
                Tree::Value(value) => keys.push(Given { key: name, at, value }),
                Tree::Table(below) => {
                    keys.extend(below.into_iter().map(|given| Given { key: format!("{name}.{}", given.key), ..given }));
                }
            }
        }
        Ok(Tree::Table(keys))
    }
}

/// The text of a file, to find the lines of its keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lines<'a> {
    /// The path of the file, as errors name it.
    pub(super) file: &'a str,
    pub(super) text: &'a str,
}

impl Lines<'_> {
    /// The number of the line at this place, from 1.
    pub(super) fn number(self, at: usize) -> usize {
        1 + self.text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count()
    }

    /// The place as errors begin with it.
    pub(super) fn place(self, at: usize) -> String {
        format!("{}, line {}", self.file, self.number(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "out = \"o\"\n[run]\nbenchmark = \"digits\"\nsettings.target_qps = 5\n\n[axes]\n\
                        transport = [\"grpc\", \"tcp\"]\nnode.max-batch = \"1..8 x2\"\na = [1]\n[[exclude]]\n\
                        transport = \"tcp\"\n";

    #[test]
    fn keys_are_in_the_order_of_the_file_and_know_their_lines() {
        let file: CampaignFile = toml::from_str(TEXT).unwrap();
        let lines = Lines { file: "c.toml", text: TEXT };
        let keys = |keys: &Keys| -> Vec<(String, usize)> {
            keys.0.iter().map(|given| (given.key.clone(), lines.number(given.at))).collect()
        };
        let key = |key: &str, line| (key.to_owned(), line);
        assert_eq!(keys(&file.run), [key("benchmark", 3), key("settings.target_qps", 4)]);
        assert_eq!(keys(&file.axes), [key("transport", 7), key("node.max-batch", 8), key("a", 9)]);
        assert_eq!(keys(&file.exclude[0]), [key("transport", 11)]);
        assert_eq!(lines.place(file.exclude[0].0[0].at), "c.toml, line 11");
        assert_eq!((file.run.0[1].value.clone(), file.repeats.is_none()), (Value::Integer(5), true));
    }

    #[test]
    fn every_fact_of_dli_has_its_name() {
        let mut facts = Facts::default();
        for name in Facts::NAMES {
            *facts.fact(name).unwrap() = Some(name.to_owned());
        }
        let text = Facts::NAMES.map(|name| format!("{name} = \"{name}\"\n")).concat();
        assert_eq!((toml::from_str::<Facts>(&text).unwrap(), facts.fact("batch").is_none()), (facts.clone(), true));
    }

    #[test]
    fn unknown_keys_are_errors_with_their_lines() {
        let told = toml::from_str::<CampaignFile>(&format!("repeat = 3\n{TEXT}")).unwrap_err().to_string();
        assert!(told.contains("line 1") && told.contains("repeat"), "{told}");
        let told = toml::from_str::<CampaignFile>("out = \"o\"\nrun = 3\n").unwrap_err().to_string();
        assert!(told.contains("line 2") && told.contains("this is a table"), "{told}");
    }
}
