//! The flag or setting that a key of the file stands for.

use std::fmt;

use anyhow::{Result, bail};
use toml::Value;

use crate::cli;
use crate::jobs::flags;
use lon_shell::dli::facts::Facts;

/// Flags of `run` that every run gets from here, so that a file cannot give them.
pub(crate) const OURS: [&str; 10] =
    ["accuracy-run", "format", "json", "log-format", "metrics-file", "out", "repeat", "results", "set", "ui"];
/// Flags of `sut-node serve` that a campaign gives itself.
const OURS_OF_NODES: [&str; 3] = ["listen", "node", "nodes"];
/// The tables of settings, of nodes, and of facts for DLI's table.
const SETTINGS: &str = "settings.";
const NODE: &str = "node.";
const DLI: &str = "dli.";
/// The key of the number of nodes.
const COUNT: &str = "count";
/// Least similarity of a word that is offered in place of an unknown one.
const SIMILAR: f64 = 0.8;

/// The key of the rate of links.
const LINK_RATE: &str = "link.rate";

/// A key of the file, checked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    /// A flag of `run`.
    Run(String),
    /// A setting of LoadGen.
    Setting(String),
    /// A flag of `sut-node serve`.
    Node(String),
    /// The number of nodes that are started.
    Nodes,
    /// A fact for the table of the DLI benchmark, which no run takes.
    Dli(String),
    /// The rate of the links between the hosts, which a command of the file sets.
    LinkRate,
}

impl Key {
    /// Of the table `run`, or of axes, zips, cases and exclusions.
    pub(crate) fn read(text: &str) -> Result<Key> {
        if text == LINK_RATE {
            return Ok(Key::LinkRate);
        }
        match (text.strip_prefix(SETTINGS), text.strip_prefix(NODE), text.strip_prefix(DLI)) {
            (Some(setting), _, _) => Ok(Key::Setting(setting.to_owned())),
            (_, Some(flag), _) => Key::of_node(flag),
            (_, _, Some(fact)) => Key::of_dli(fact),
            (None, None, None) => Key::of_run(text),
        }
    }

    fn of_dli(fact: &str) -> Result<Key> {
        if !Facts::NAMES.contains(&fact) {
            bail!("'{DLI}{fact}' is no fact for DLI's table; there are {}", Facts::NAMES.join(", "));
        }
        Ok(Key::Dli(fact.to_owned()))
    }

    /// Of the table `node`. The program checks these flags itself.
    pub(crate) fn of_node(text: &str) -> Result<Key> {
        let flag = text.replace('_', "-");
        if OURS_OF_NODES.contains(&flag.as_str()) {
            bail!("'node.{text}' is given by the campaign itself: node.count is the number of nodes");
        }
        Ok(if flag == COUNT { Key::Nodes } else { Key::Node(flag) })
    }

    fn of_run(text: &str) -> Result<Key> {
        let flag = text.replace('_', "-");
        if flag == "set" {
            bail!("'set': write settings.KEY = VALUE instead");
        }
        if OURS.contains(&flag.as_str()) {
            bail!("'{text}' is given by the campaign itself");
        }
        let all = cli::run_flags();
        if all.contains(&flag) {
            return Ok(Key::Run(flag));
        }
        let setting = flag.replace('-', "_");
        if cli::is_setting(&setting) {
            bail!("'{text}' is a setting: write settings.{setting}");
        }
        let similar = all.iter().map(|name| (strsim::jaro_winkler(name, &flag), name));
        let similar = similar.filter(|(how, _)| *how >= SIMILAR).max_by(|one, other| one.0.total_cmp(&other.0));
        let tip = similar.map_or_else(String::new, |(_, name)| format!("; is it {name}?"));
        bail!("'{text}' is no flag of `loadgen-node run`{tip}")
    }

    /// Returns true for what starts a node.
    pub(crate) fn is_of_nodes(&self) -> bool {
        matches!(self, Key::Node(_) | Key::Nodes)
    }

    /// The last part alone, for names of cells.
    pub(crate) fn short(&self) -> &str {
        match self {
            Key::Run(name) | Key::Setting(name) | Key::Node(name) | Key::Dli(name) => name,
            Key::Nodes => "nodes",
            Key::LinkRate => "rate",
        }
    }

    /// The words that give the key this value; none for the number of nodes, rates of links and facts, which are no
    /// flags.
    pub(crate) fn arguments(&self, value: &Value) -> Result<Vec<String>> {
        match self {
            Key::Run(flag) | Key::Node(flag) => flags::arguments(flag, value),
            Key::Setting(key) => flags::arguments("set", &Value::String(format!("{key}={}", text(value)))),
            Key::Nodes | Key::Dli(_) | Key::LinkRate => Ok(Vec::new()),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Key::Run(flag) => f.write_str(flag),
            Key::Setting(key) => write!(f, "{SETTINGS}{key}"),
            Key::Node(flag) => write!(f, "{NODE}{flag}"),
            Key::Nodes => write!(f, "{NODE}{COUNT}"),
            Key::Dli(fact) => write!(f, "{DLI}{fact}"),
            Key::LinkRate => f.write_str(LINK_RATE),
        }
    }
}

/// A value as it is typed, without quotes.
pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Float(number) => number.to_string(),
        Value::Integer(number) => number.to_string(),
        Value::Boolean(flag) => flag.to_string(),
        Value::Datetime(time) => time.to_string(),
        Value::Array(values) => values.iter().map(text).collect::<Vec<_>>().join(" "),
        Value::Table(_) => "a table".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_flags_settings_or_of_nodes() {
        let key_of = |text| Key::read(text).unwrap();
        assert_eq!(key_of("response_timeout"), Key::Run("response-timeout".to_owned()));
        assert_eq!(key_of("settings.Server.target_qps").to_string(), "settings.Server.target_qps");
        assert_eq!(key_of("node.max_batch").to_string(), "node.max-batch");
        assert_eq!((key_of("node.count"), key_of("node.count").short()), (Key::Nodes, "nodes"));
        let arguments_of = |text, value: Value| key_of(text).arguments(&value).unwrap();
        assert_eq!(arguments_of("settings.target_qps", Value::Integer(5)), ["--set=target_qps=5"]);
        assert_eq!(arguments_of("insecure", Value::Boolean(true)), ["--insecure"]);
        assert_eq!(arguments_of("node.backend", "null".into()), ["--backend=null"]);
        assert_eq!(arguments_of("node.count", Value::Integer(2)), Vec::<String>::new());
        assert_eq!((key_of("dli.task").to_string().as_str(), key_of("dli.task").short()), ("dli.task", "task"));
        assert_eq!(arguments_of("dli.task", "detection".into()), Vec::<String>::new());
    }

    #[test]
    fn what_is_no_flag_is_an_error_with_the_remedy() {
        for (text, why) in [
            ("transprot", "is it transport?"),
            ("target_qps", "write settings.target_qps"),
            ("out", "by the campaign itself"),
            ("set", "settings.KEY"),
            ("node.listen", "node.count"),
            ("dli.batch", "there are task, topology, framework, precision, dataset"),
            ("qwertz", "is no flag of `loadgen-node run`"),
        ] {
            let error = Key::read(text).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
