//! The file of a campaign, as it is written: TOML, by one struct. Unknown keys are errors. Keys that are flags know
//! their places.

use std::path::PathBuf;

use lon_shell::dli::facts::Facts;
use serde::Deserialize;
use toml::Spanned;

use crate::keys::key_values::Keys;

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
    /// Command that sets the rate of the links between the hosts, word by word; `link.rate` is its last word. It runs
    /// before each run whose rate is another one than before.
    pub(crate) link: Option<Spanned<Vec<String>>>,
    /// Lists or ranges of values: every combination of them is a cell. Keys are those of `run`, `node.FLAG`,
    /// `dli.FACT` and `link.rate`.
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
    use toml::Value;

    use super::*;

    const TEXT: &str = "out = \"o\"\n[run]\nbenchmark = \"digits\"\nsettings.target_qps = 5\n\n[axes]\n\
                        transport = [\"grpc\", \"tcp\"]\nnode.max-batch = \"1..8 x2\"\na = [1]\n[[exclude]]\n\
                        transport = \"tcp\"\n";

    #[test]
    fn keys_are_in_the_order_of_the_file_and_know_their_lines() {
        let file: CampaignFile = toml::from_str(TEXT).unwrap();
        let lines = Lines { file: "c.toml", text: TEXT };
        let keys = |keys: &Keys| -> Vec<(String, usize)> {
            keys.0.iter().map(|entry| (entry.key.clone(), lines.number(entry.at))).collect()
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
        let message = toml::from_str::<CampaignFile>(&format!("repeat = 3\n{TEXT}")).unwrap_err().to_string();
        assert!(message.contains("line 1") && message.contains("repeat"), "{message}");
        let message = toml::from_str::<CampaignFile>("out = \"o\"\nrun = 3\n").unwrap_err().to_string();
        assert!(message.contains("line 2") && message.contains("this is a table"), "{message}");
    }
}
