//! Axes, zips and cases: everything that varies from cell to cell.

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use toml::Value;

use super::file::Lines;
use super::range;
use crate::keys::key::{Key, text};
use crate::keys::key_values::{KeyValue, Keys};

/// The key of a case's name, and what a case is called among what varies.
pub(super) const CASE: &str = "case";
const NAME: &str = "name";

/// Keys whose values move together: one for an axis, several for a zip.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Axis {
    pub(super) keys: Vec<Placed>,
    /// The values of all keys, one level after the other.
    pub(super) levels: Vec<Vec<Value>>,
}

/// A key with its place in the file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Placed {
    pub(super) key: Key,
    pub(super) at: usize,
}

/// Values that are laid over those of all cells.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) at: usize,
    pub(super) values: Vec<(Placed, Value)>,
}

/// Checks a key of a table, with its place.
pub(super) fn placed(entry: &KeyValue, lines: Lines<'_>, read: impl Fn(&str) -> Result<Key>) -> Result<Placed> {
    let key = read(&entry.key).with_context(|| lines.place(entry.at))?;
    Ok(Placed { key, at: entry.at })
}

/// The axes of `[axes]` and `[[zip]]`, in the order of the file.
///
/// # Errors
/// A key is unknown or there twice, or its value is no list and no range; the text has the line.
pub(super) fn axes(table: &Keys, zips: &[Keys], lines: Lines<'_>) -> Result<Vec<Axis>> {
    let mut axes: Vec<Axis> = Vec::new();
    for entry in &table.0 {
        let levels = levels(entry, lines)?.into_iter().map(|value| vec![value]).collect();
        axes.push(Axis { keys: vec![placed(entry, lines, Key::read)?], levels });
    }
    axes.extend(zips.iter().map(|zip| zipped(zip, lines)).collect::<Result<Vec<_>>>()?);
    let mut keys: Vec<&Placed> = axes.iter().flat_map(|axis| &axis.keys).collect();
    keys.sort_by(|one, other| (&one.key, one.at).cmp(&(&other.key, other.at)));
    if let Some(pair) = keys.windows(2).find(|pair| pair[0].key == pair[1].key) {
        let [first, second] = [pair[0], pair[1]];
        bail!("{}: '{}' varies in line {} already", lines.place(second.at), second.key, lines.number(first.at));
    }
    axes.sort_by_key(|axis| axis.keys[0].at);
    Ok(axes)
}

fn zipped(zip: &Keys, lines: Lines<'_>) -> Result<Axis> {
    let first = zip.0.first().ok_or_else(|| anyhow!("{}: a [[zip]] is empty", lines.file))?;
    let all = zip.0.iter().map(|entry| levels(entry, lines)).collect::<Result<Vec<_>>>()?;
    for (entry, values) in zip.0.iter().zip(&all) {
        ensure!(
            values.len() == all[0].len(),
            "{}: '{}' has {} values and '{}' {}: lists of a [[zip]] are equally long",
            lines.place(entry.at),
            entry.key,
            values.len(),
            first.key,
            all[0].len()
        );
    }
    Ok(Axis {
        keys: zip.0.iter().map(|entry| placed(entry, lines, Key::read)).collect::<Result<_>>()?,
        levels: (0..all[0].len()).map(|at| all.iter().map(|values| values[at].clone()).collect()).collect(),
    })
}

/// The values of an axis: a list, or the numbers of a range.
fn levels(entry: &KeyValue, lines: Lines<'_>) -> Result<Vec<Value>> {
    let place = || lines.place(entry.at);
    let key = &entry.key;
    let values = match &entry.value {
        Value::Array(values) => values.clone(),
        Value::String(text) => match range::numbers(text).with_context(place)? {
            Some(numbers) => numbers,
            None => bail!("{}: '{key}' varies: write a list, or a range such as \"1000..8000 x2\"", place()),
        },
        _ => bail!("{}: '{key}' varies: write a list, or a range such as \"8..64 +8\"", place()),
    };
    ensure!(!values.is_empty(), "{}: '{key}' has no value", place());
    for (at, value) in values.iter().enumerate() {
        ensure!(is_single(value), "{}: '{key}': a value is a text, a number, true or false", place());
        let is_twice = values[..at].iter().any(|other| text(other) == text(value));
        ensure!(!is_twice, "{}: '{key}' has {} twice", place(), text(value));
    }
    Ok(values)
}

fn is_single(value: &Value) -> bool {
    matches!(value, Value::String(_) | Value::Integer(_) | Value::Float(_) | Value::Boolean(_))
}

/// The cases, each checked against the axes: a key that varies cannot be laid over.
///
/// # Errors
/// A case has no name, or one that another has; a key is unknown, or varies; the text has the line.
pub(super) fn cases(tables: &[Keys], axes: &[Axis], lines: Lines<'_>) -> Result<Vec<Case>> {
    let mut cases: Vec<Case> = Vec::new();
    for table in tables {
        let Some(first) = table.0.first() else { bail!("{}: a [[case]] is empty", lines.file) };
        let name = table.0.iter().find(|entry| entry.key == NAME);
        let Some((at, name)) = name.and_then(|entry| Some((entry.at, entry.value.as_str()?))) else {
            bail!("{}: the [[case]] has no name: write name = \"...\"", lines.place(first.at))
        };
        let is_twice = name.is_empty() || cases.iter().any(|other| other.name == name);
        ensure!(!is_twice, "{}: the name '{name}' is empty, or another case has it", lines.place(at));
        let mut values = Vec::new();
        for entry in table.0.iter().filter(|entry| entry.key != NAME) {
            let placed = placed(entry, lines, Key::read)?;
            let is_varied = axes.iter().flat_map(|axis| &axis.keys).any(|other| other.key == placed.key);
            ensure!(!is_varied, "{}: '{}' is an axis already", lines.place(entry.at), placed.key);
            values.push((placed, entry.value.clone()));
        }
        cases.push(Case { name: name.to_owned(), at, values });
    }
    Ok(cases)
}
