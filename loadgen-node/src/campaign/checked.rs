//! A campaign, checked: keys are known, every combination is a cell, and limits are such as can be kept.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use lon_proto::files;
use toml::Spanned;

use super::axes::{self, Placed};
use super::expand::{self, Chosen, Combination};
use lon_shell::dli::facts::Facts;

use super::file::{CampaignFile, Lines};
use crate::keys::key_values::Keys;

use super::name;
use super::order::Order;
use crate::jobs::flags;
use crate::keys::key::{Key, OURS, text};

/// The most repeats of a cell, and the most nodes that one machine starts.
const MOST_REPEATS: u32 = 1000;
const MOST_NODES: i64 = 256;

/// A campaign whose values are checked.
#[derive(Clone, Debug)]
pub(crate) struct Campaign {
    /// Its folder, from that of the file.
    pub(crate) out: PathBuf,
    pub(crate) order: Order,
    pub(crate) repeats: u32,
    /// An accuracy run comes first in each cell.
    pub(crate) has_accuracy: bool,
    pub(crate) stop: Stop,
    /// Axes in the words of the file, in order.
    pub(crate) axes: Vec<String>,
    pub(crate) cells: Vec<Cell>,
    /// True when the campaign starts the nodes.
    pub(crate) starts_nodes: bool,
    /// Facts for the table of the DLI benchmark that are of no cell alone.
    dli: Facts,
    /// Every value of the file with its place.
    places: Vec<Place>,
}

/// A value of the file, as errors may name it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    /// The flag as it is typed, or the key of a setting.
    flag: String,
    value: String,
    /// File and line.
    at: String,
}

/// Errors name values by at least so many letters; shorter ones are everywhere.
const NAMED: usize = 4;

/// Limits at which a campaign stops before its end.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Stop {
    pub(crate) failures: Option<u32>,
    pub(crate) time: Option<Duration>,
}

/// One combination of what varies, with the flags that make it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) name: String,
    /// Axes with their values, in order.
    pub(crate) values: Vec<(String, String)>,
    /// Flags of `run`, as they are typed.
    pub(crate) run: Vec<String>,
    /// The nodes that are started for it. None: they are up.
    pub(crate) nodes: Option<NodeSetup>,
    /// Facts for the table of the DLI benchmark.
    pub(crate) dli: Facts,
    /// The command that sets the rate of its links, word by word. None: they stay as they are.
    pub(crate) link: Option<Vec<String>>,
}

/// Nodes that a cell is started with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodeSetup {
    pub(crate) count: u32,
    /// Flags of `sut-node serve`, as they are typed.
    pub(crate) flags: Vec<String>,
}

impl Campaign {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// It cannot be read, is no TOML, or has a key or value that cannot be used; the text has file and line.
    pub(crate) fn read(path: &Path) -> Result<Campaign> {
        let file_path = path.display().to_string();
        let text = files::user_text(path).with_context(|| {
            format!("cannot read {file_path}: `loadgen-node campaign init FILE` writes one to begin with")
        })?;
        if let Some(name) = flags::from_environment(&OURS) {
            bail!("{name} is set in the environment, and would change every run: unset it");
        }
        Campaign::of(&text, &file_path)
    }

    /// The same of a text; `file_path` is the path of the file in errors.
    pub(super) fn of(text: &str, file_path: &str) -> Result<Campaign> {
        let file: CampaignFile = toml::from_str(text).with_context(|| file_path.to_owned())?;
        let lines = Lines { file: file_path, text };
        let base = base(&file, lines)?;
        let varied = axes::axes(&file.axes, &file.zip, lines)?;
        let cases = axes::cases(&file.case, &varied, lines)?;
        let combinations = expand::combinations(&base, &varied, &cases, &file.exclude, lines)?;
        let has_accuracy = has_accuracy(file.accuracy.as_ref(), lines)?;
        let starts_nodes = file.node.is_some();
        for combination in &combinations {
            check(combination, has_accuracy, starts_nodes, lines)?;
            check_link(combination, file.link.as_ref(), lines)?;
        }
        let names = name::names(combinations.iter().map(|one| (one.case.as_deref(), one.varied.as_slice())));
        let cells = combinations.iter().zip(names).map(|(one, name)| cell(one, name, &file, lines));
        let keys = varied.iter().flat_map(|axis| &axis.keys).map(|placed| placed.key.to_string());
        let case = (!cases.is_empty()).then(|| axes::CASE.to_owned());
        let placed = combinations.iter().flat_map(|one| &one.values);
        let place = |(key, chosen): (&Key, &Chosen)| Place {
            flag: typed(key),
            value: self::text(&chosen.value),
            at: lines.place(chosen.at),
        };
        let mut places: Vec<Place> = placed.map(place).collect();
        places.sort();
        places.dedup();
        Ok(Campaign {
            out: file.out.clone(),
            order: order(file.order.as_ref(), lines)?,
            repeats: repeats(file.repeats.as_ref(), lines)?,
            has_accuracy,
            stop: stop(&file, lines)?,
            axes: case.into_iter().chain(keys).collect(),
            cells: cells.collect::<Result<_>>()?,
            starts_nodes,
            dli: file.dli.clone(),
            places,
        })
    }

    /// The cell of this name, or of this number, from 0.
    ///
    /// # Errors
    /// There is no such cell.
    pub(crate) fn cell(&self, cell: &str) -> Result<&Cell> {
        let by_name = self.cells.iter().find(|one| one.name == cell);
        let by_number = || cell.parse().ok().and_then(|number: usize| self.cells.get(number));
        let last = self.cells.len() - 1;
        by_name.or_else(by_number).with_context(|| {
            format!(
                "there is no cell '{cell}': `loadgen-node campaign plan` has the names, and numbers are 0 to {last}"
            )
        })
    }

    /// The facts for the table of the DLI benchmark that hold for a cell. A plan that was begun may have a cell that
    /// the file lacks by now.
    pub(crate) fn facts(&self, cell: &str) -> &Facts {
        self.cells.iter().find(|other| other.name == cell).map_or(&self.dli, |cell| &cell.dli)
    }

    /// Where the file has what an error of a cell is about: the line of the key that the error names, else that of a
    /// value which it names.
    pub(crate) fn place_of(&self, error: &str) -> Option<&str> {
        let is_named = |word: &str| word.len() >= NAMED && error.contains(word);
        let by_flag = self.places.iter().filter(|place| is_named(&place.flag));
        let of_flag = by_flag.max_by_key(|place| (place.flag.len(), is_named(&place.value)));
        let by_value = self.places.iter().filter(|place| is_named(&place.value));
        let place = of_flag.or_else(|| by_value.max_by_key(|place| place.value.len()));
        place.map(|place| place.at.as_str())
    }
}

/// The key as an error of the command line names it.
fn typed(key: &Key) -> String {
    match key {
        Key::Run(flag) | Key::Node(flag) => format!("--{flag}"),
        Key::Setting(key) => key.rsplit('.').next().unwrap_or(key).to_owned(),
        Key::Nodes | Key::Dli(_) | Key::LinkRate => key.to_string(),
    }
}

/// The values of `[run]` and `[node]`.
fn base(file: &CampaignFile, lines: Lines<'_>) -> Result<BTreeMap<Key, Chosen>> {
    let mut base = BTreeMap::new();
    let mut add = |table: &Keys, read: fn(&str) -> Result<Key>| -> Result<()> {
        for entry in &table.0 {
            let Placed { key, at } = axes::placed(entry, lines, read)?;
            let is_twice = base.insert(key, Chosen { value: entry.value.clone(), at }).is_some();
            ensure!(!is_twice, "{}: '{}' is there twice", lines.place(at), entry.key);
        }
        Ok(())
    };
    add(&file.run, Key::read)?;
    if let Some(node) = &file.node {
        add(node, Key::of_node)?;
    }
    Ok(base)
}

/// Refuses what no cell can have.
fn check(one: &Combination, has_accuracy: bool, starts_nodes: bool, lines: Lines<'_>) -> Result<()> {
    let place = |key: &Key| one.values.get(key).map(|chosen| lines.place(chosen.at));
    let flag = |name: &str| Key::Run(name.to_owned());
    if let Some(place) = place(&flag("mode")).filter(|_| has_accuracy) {
        bail!("{place}: 'mode' is given by accuracy = \"first\"");
    }
    match place(&flag("sut")) {
        Some(place) if starts_nodes => {
            bail!("{place}: 'sut' names nodes that are up, and [node] starts nodes: leave one out")
        }
        None if !starts_nodes => bail!(
            "{}: there are no nodes: name those that are up, sut = \"HOST:PORT\" in [run], or start some with [node]",
            lines.file
        ),
        _ => {}
    }
    let of_nodes = one.values.iter().find(|(key, _)| key.is_of_nodes() && !starts_nodes);
    if let Some((key, chosen)) = of_nodes {
        bail!("{}: '{key}' is for nodes that the campaign starts: add a table [node]", lines.place(chosen.at));
    }
    Ok(())
}

/// Refuses a rate of links without a command, and a command without a rate.
fn check_link(one: &Combination, command: Option<&Spanned<Vec<String>>>, lines: Lines<'_>) -> Result<()> {
    let rate = one.values.get(&Key::LinkRate);
    match (rate, command) {
        (Some(chosen), None) => bail!(
            "{}: 'link.rate' takes the command that sets it: link = [\"deploy/lab.sh\", \"rates\", \"NAME\"]",
            lines.place(chosen.at)
        ),
        (None, Some(command)) => {
            bail!("{}: 'link' has no rate: give link.rate in [axes] or [run]", lines.place(command.span().start))
        }
        (_, Some(command)) if command.get_ref().is_empty() => {
            bail!("{}: 'link' has no words", lines.place(command.span().start))
        }
        _ => Ok(()),
    }
}

fn cell(one: &Combination, name: String, file: &CampaignFile, lines: Lines<'_>) -> Result<Cell> {
    let (mut run, mut flags, mut count, mut dli) = (Vec::new(), Vec::new(), 1, file.dli.clone());
    let mut link = None;
    for (key, chosen) in &one.values {
        let place = || lines.place(chosen.at);
        let arguments = key.arguments(&chosen.value).with_context(place)?;
        match key {
            Key::Run(_) | Key::Setting(_) => run.extend(arguments),
            Key::Node(_) => flags.extend(arguments),
            Key::Nodes => {
                let number = chosen.value.as_integer().filter(|number| (1..=MOST_NODES).contains(number));
                let Some(number) = number else { bail!("{}: '{key}' is a number from 1 to {MOST_NODES}", place()) };
                count = number as u32;
            }
            Key::LinkRate => {
                let command = file.link.as_ref().map(|link| link.get_ref().clone()).unwrap_or_default();
                link = Some(command.into_iter().chain([text(&chosen.value)]).collect());
            }
            Key::Dli(fact) => {
                let text = chosen.value.as_str().map(str::to_owned);
                ensure!(text.is_some(), "{}: '{key}' is a text", place());
                if let Some(place) = dli.fact(fact) {
                    *place = text;
                }
            }
        }
    }
    let case = one.case.iter().map(|name| (axes::CASE.to_owned(), name.clone()));
    let values = case.chain(one.varied.iter().map(|(key, value)| (key.to_string(), text(value)))).collect();
    let nodes = file.node.is_some().then_some(NodeSetup { count, flags });
    Ok(Cell { name, values, run, nodes, dli, link })
}

fn order(value: Option<&Spanned<String>>, lines: Lines<'_>) -> Result<Order> {
    let Some(value) = value else { return Ok(Order::ByCell) };
    let order = match value.get_ref().as_str() {
        "written" => Some(Order::ByCell),
        "interleaved" => Some(Order::Interleaved),
        other => other.strip_prefix("random:").and_then(|seed| seed.parse().ok()).map(Order::Random),
    };
    let Some(order) = order else {
        bail!("{}: order is written, interleaved or random:SEED with a number", lines.place(value.span().start))
    };
    Ok(order)
}

fn repeats(value: Option<&Spanned<u32>>, lines: Lines<'_>) -> Result<u32> {
    let Some(value) = value else { return Ok(1) };
    let repeats = *value.get_ref();
    let is_right = (1..=MOST_REPEATS).contains(&repeats);
    ensure!(is_right, "{}: repeats is a number from 1 to {MOST_REPEATS}", lines.place(value.span().start));
    Ok(repeats)
}

fn has_accuracy(value: Option<&Spanned<String>>, lines: Lines<'_>) -> Result<bool> {
    let Some(value) = value else { return Ok(false) };
    let place = lines.place(value.span().start);
    ensure!(value.get_ref() == "first", "{place}: accuracy is \"first\", or left out");
    Ok(true)
}

fn stop(file: &CampaignFile, lines: Lines<'_>) -> Result<Stop> {
    let hours = file.stop.hours.map(|hours| Duration::try_from_secs_f64(hours * 3600.0));
    let time = hours.transpose().with_context(|| format!("{}: stop.hours", lines.file))?;
    let is_right = file.stop.failures != Some(0);
    ensure!(is_right, "{}: stop.failures is a number from 1 on", lines.file);
    Ok(Stop { failures: file.stop.failures, time })
}
