//! Axes, zips and cases: everything that varies from cell to cell.

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use toml::Value;

use super::file::Lines;
use super::range;
use crate::keys::given::{Given, Keys};
use crate::keys::key::{Key, text};

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
pub(super) fn placed(given: &Given, lines: Lines<'_>, read: impl Fn(&str) -> Result<Key>) -> Result<Placed> {
    let key = read(&given.key).with_context(|| lines.place(given.at))?;
    Ok(Placed { key, at: given.at })
}

/// The axes of `[axes]` and `[[zip]]`, in the order of the file.
///
/// # Errors
/// A key is unknown or there twice, or its value is no list and no range; the text has the line.
pub(super) fn axes(table: &Keys, zips: &[Keys], lines: Lines<'_>) -> Result<Vec<Axis>> {
    let mut axes: Vec<Axis> = Vec::new();
    for given in &table.0 {
        let levels = levels(given, lines)?.into_iter().map(|value| vec![value]).collect();
        axes.push(Axis { keys: vec![placed(given, lines, Key::read)?], levels });
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
    let all = zip.0.iter().map(|given| levels(given, lines)).collect::<Result<Vec<_>>>()?;
    for (given, values) in zip.0.iter().zip(&all) {
        ensure!(
            values.len() == all[0].len(),
            "{}: '{}' has {} values and '{}' {}: lists of a [[zip]] are equally long",
            lines.place(given.at),
            given.key,
            values.len(),
            first.key,
            all[0].len()
        );
    }
    Ok(Axis {
        keys: zip.0.iter().map(|given| placed(given, lines, Key::read)).collect::<Result<_>>()?,
        levels: (0..all[0].len()).map(|at| all.iter().map(|values| values[at].clone()).collect()).collect(),
    })
}

/// The values of an axis: a list, or the numbers of a range.
fn levels(given: &Given, lines: Lines<'_>) -> Result<Vec<Value>> {
    let told = || lines.place(given.at);
    let key = &given.key;
    let values = match &given.value {
        Value::Array(values) => values.clone(),
        Value::String(text) => match range::numbers(text).with_context(told)? {
            Some(numbers) => numbers,
            None => bail!("{}: '{key}' varies: write a list, or a range such as \"1000..8000 x2\"", told()),
        },
        _ => bail!("{}: '{key}' varies: write a list, or a range such as \"8..64 +8\"", told()),
    };
    ensure!(!values.is_empty(), "{}: '{key}' has no value", told());
    for (at, value) in values.iter().enumerate() {
        ensure!(is_single(value), "{}: '{key}': a value is a text, a number, true or false", told());
        let is_twice = values[..at].iter().any(|other| text(other) == text(value));
        ensure!(!is_twice, "{}: '{key}' has {} twice", told(), text(value));
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
        let name = table.0.iter().find(|given| given.key == NAME);
        let Some((at, name)) = name.and_then(|given| Some((given.at, given.value.as_str()?))) else {
            bail!("{}: the [[case]] has no name: write name = \"...\"", lines.place(first.at))
        };
        let is_twice = name.is_empty() || cases.iter().any(|other| other.name == name);
        ensure!(!is_twice, "{}: the name '{name}' is empty, or another case has it", lines.place(at));
        let mut values = Vec::new();
        for given in table.0.iter().filter(|given| given.key != NAME) {
            let placed = placed(given, lines, Key::read)?;
            let is_varied = axes.iter().flat_map(|axis| &axis.keys).any(|other| other.key == placed.key);
            ensure!(!is_varied, "{}: '{}' is an axis already", lines.place(given.at), placed.key);
            values.push((placed, given.value.clone()));
        }
        cases.push(Case { name: name.to_owned(), at, values });
    }
    Ok(cases)
}
