//! Every combination of the axes, without those that are excluded.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail, ensure};
use toml::Value;

use super::axes::{Axis, CASE, Case, Placed};
use super::file::Lines;
use crate::keys::key::{Key, text};
use crate::keys::key_values::{KeyValue, Keys};

/// The most combinations: more are a slip.
const MOST: usize = 10_000;

/// A value that a cell has for a key, with its place in the file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Chosen {
    pub(super) value: Value,
    pub(super) at: usize,
}

/// One combination: what varies, and all values.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Combination {
    /// The name of its case. None: there are no cases.
    pub(super) case: Option<String>,
    /// The values of all axes, in order.
    pub(super) varied: Vec<(Key, Value)>,
    /// The value of every key.
    pub(super) values: BTreeMap<Key, Chosen>,
}

/// Every combination in the order of the file: the last axis varies fastest.
///
/// # Errors
/// There are too many, or none is left; an exclusion names what does not vary, or fits no combination.
pub(super) fn combinations(
    base: &BTreeMap<Key, Chosen>,
    axes: &[Axis],
    cases: &[Case],
    excluded: &[Keys],
    lines: Lines<'_>,
) -> Result<Vec<Combination>> {
    let count = axes.iter().map(|axis| axis.levels.len()).chain([cases.len().max(1)]).try_fold(1, usize::checked_mul);
    let count = count.filter(|count| *count <= MOST);
    let Some(count) = count else { bail!("{}: there are more than {MOST} combinations", lines.file) };
    let rules = excluded.iter().map(|keys| Exclusion::read(keys, axes, cases, lines)).collect::<Result<Vec<_>>>()?;
    let mut uses = vec![0_usize; rules.len()];
    let mut combinations = Vec::new();
    for number in 0..count {
        let combination = combination(number, base, axes, cases);
        let fitting: Vec<usize> = (0..rules.len()).filter(|at| rules[*at].fits(&combination)).collect();
        fitting.iter().for_each(|at| uses[*at] += 1);
        if fitting.is_empty() {
            combinations.push(combination);
        }
    }
    if let Some(at) = uses.iter().position(|uses| *uses == 0) {
        bail!("{}: this [[exclude]] fits no combination", lines.place(rules[at].at));
    }
    ensure!(!combinations.is_empty(), "{}: every combination is excluded", lines.file);
    Ok(combinations)
}

fn combination(number: usize, base: &BTreeMap<Key, Chosen>, axes: &[Axis], cases: &[Case]) -> Combination {
    // The levels of the axes are the digits of the number, the last axis last.
    let mut quotient = number;
    let mut digits: Vec<usize> = Vec::new();
    for axis in axes.iter().rev() {
        digits.push(quotient % axis.levels.len());
        quotient /= axis.levels.len();
    }
    digits.reverse();
    let case = cases.get(quotient);
    let mut values = base.clone();
    for (Placed { key, at }, value) in case.into_iter().flat_map(|case| &case.values) {
        values.insert(key.clone(), Chosen { value: value.clone(), at: *at });
    }
    let mut varied = Vec::new();
    for (axis, digit) in axes.iter().zip(digits) {
        for (Placed { key, at }, value) in axis.keys.iter().zip(&axis.levels[digit]) {
            varied.push((key.clone(), value.clone()));
            values.insert(key.clone(), Chosen { value: value.clone(), at: *at });
        }
    }
    Combination { case: case.map(|case| case.name.clone()), varied, values }
}

/// Values of which a combination that is left out has one for each key.
struct Exclusion {
    at: usize,
    /// The key, none for the name of the case, and its values as texts.
    values: Vec<(Option<Key>, Vec<String>)>,
}

impl Exclusion {
    fn read(keys: &Keys, axes: &[Axis], cases: &[Case], lines: Lines<'_>) -> Result<Exclusion> {
        let Some(first) = keys.0.first() else { bail!("{}: an [[exclude]] is empty", lines.file) };
        let values = keys.0.iter().map(|entry| key_values(entry, axes, cases, lines)).collect::<Result<_>>()?;
        Ok(Exclusion { at: first.at, values })
    }

    fn fits(&self, combination: &Combination) -> bool {
        self.values.iter().all(|(key, values)| {
            let own = match key {
                None => combination.case.clone(),
                Some(key) => combination.varied.iter().find(|(other, _)| other == key).map(|(_, value)| text(value)),
            };
            own.is_some_and(|own| values.contains(&own))
        })
    }
}

/// A key of an exclusion with its values, each of which has to be there.
fn key_values(entry: &KeyValue, axes: &[Axis], cases: &[Case], lines: Lines<'_>) -> Result<(Option<Key>, Vec<String>)> {
    let place = || lines.place(entry.at);
    let values = match &entry.value {
        Value::Array(values) => values.iter().map(text).collect(),
        one => vec![text(one)],
    };
    let (key, levels): (Option<Key>, Vec<String>) = match entry.key.as_str() {
        CASE => (None, cases.iter().map(|case| case.name.clone()).collect()),
        other => {
            let key = Key::read(other).with_context(place)?;
            let of_key = |axis: &Axis| axis.keys.iter().position(|placed| placed.key == key);
            let axis = axes.iter().find_map(|axis| Some((axis, of_key(axis)?)));
            let Some((axis, at)) = axis else { bail!("{}: '{key}' does not vary", place()) };
            let levels = axis.levels.iter().map(|level| text(&level[at])).collect();
            (Some(key), levels)
        }
    };
    if let Some(value) = values.iter().find(|value| !levels.contains(value)) {
        bail!("{}: '{}' is never {value}; it is {}", place(), entry.key, levels.join(", "));
    }
    Ok((key, values))
}
