//! Two columns of the table over each other: a quantity over an axis, or over another quantity.

use anyhow::{Result, anyhow, ensure};

use super::forms;
use crate::comparison::Unit;
use lon_run::outputs::documents::campaign_table::{CampaignTable, TableColumn, TableRow};
use lon_run::outputs::report::{Axis, Chart, Curve, MOST_CURVES};

/// Numbers of an axis this far apart are drawn in powers of ten: the last is so many times the first.
const WIDE: f64 = 8.0;

/// The columns of a chart, as they are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChartOf {
    /// An axis or a quantity; the first axis with several values unless given.
    pub(crate) x: Option<String>,
    /// A quantity; the first of the table unless given.
    pub(crate) y: Option<String>,
}

/// The places of a chart, from left to right.
enum X<'a> {
    /// An axis with its values in order, each with its number.
    Axis(&'a str, Vec<(String, f64)>),
    Quantity(&'a TableColumn),
}

/// Makes the chart. None: nothing varies, or no quantity has a value.
///
/// # Errors
/// A column is asked for that is not there.
pub(super) fn chart(table: &CampaignTable, of: &ChartOf) -> Result<Option<Chart>> {
    let y = match &of.y {
        Some(name) => Some(column(table, name).ok_or_else(|| unknown(table, "--y", name))?),
        None => table.columns.iter().find(|column| table.rows.iter().any(|row| row.quantity(&column.name).is_some())),
    };
    let x = match &of.x {
        Some(name) if table.axes.contains(name) => Some(X::Axis(name, levels(table, name))),
        Some(name) => Some(X::Quantity(column(table, name).ok_or_else(|| unknown(table, "--x", name))?)),
        None => usual_x(table),
    };
    let (Some(x), Some(y)) = (x, y) else { return Ok(None) };
    ensure!(!matches!(x, X::Quantity(other) if other == y), "--x and --y are the same quantity");
    Ok(chart_of(table, &x, y))
}

fn column<'a>(table: &'a CampaignTable, name: &str) -> Option<&'a TableColumn> {
    table.columns.iter().find(|column| column.name == name)
}

fn unknown(table: &CampaignTable, flag: &str, name: &str) -> anyhow::Error {
    let columns = table.columns.iter().map(|column| column.name.as_str());
    let axes = table.axes.iter().map(String::as_str).filter(|_| flag == "--x");
    let all: Vec<&str> = axes.chain(columns).collect();
    anyhow!("{flag} {name}: the table has no such column (--columns adds quantities); there are {}", all.join(", "))
}

/// The axis with the most numbers, else the first one that varies.
fn usual_x(table: &CampaignTable) -> Option<X<'_>> {
    let levels = |axis: &str| levels(table, axis);
    let varied: Vec<&String> = table.axes.iter().filter(|axis| levels(axis).len() > 1).collect();
    let numeric = varied.iter().copied().filter(|axis| is_numeric(&levels(axis)));
    let axis = numeric.max_by_key(|axis| levels(axis).len()).or(varied.first().copied())?;
    Some(X::Axis(axis, levels(axis)))
}

/// The values of an axis: in the order of their numbers where all are numbers, else in that of the file.
fn levels(table: &CampaignTable, axis: &str) -> Vec<(String, f64)> {
    let mut values: Vec<String> = Vec::new();
    for value in table.rows.iter().filter_map(|row| forms::value(row, axis)) {
        if !values.iter().any(|other| other == value) {
            values.push(value.to_owned());
        }
    }
    let numbers: Option<Vec<f64>> = values.iter().map(|value| value.parse().ok()).collect();
    match numbers {
        Some(numbers) => {
            let mut levels: Vec<(String, f64)> = values.into_iter().zip(numbers).collect();
            levels.sort_by(|one, other| one.1.total_cmp(&other.1));
            levels
        }
        None => values.into_iter().zip((0..).map(f64::from)).collect(),
    }
}

fn is_numeric(levels: &[(String, f64)]) -> bool {
    levels.iter().all(|(value, _)| value.parse::<f64>().is_ok())
}

/// The axes whose values tell curves apart: all but the one along which a curve goes.
fn curve_axes<'a>(table: &'a CampaignTable, x: &X<'_>) -> Vec<&'a String> {
    let along = match x {
        X::Axis(axis, _) => Some(*axis),
        X::Quantity(_) => match usual_x(table) {
            Some(X::Axis(axis, levels)) if is_numeric(&levels) => Some(axis),
            _ => None,
        },
    };
    table.axes.iter().filter(|axis| Some(axis.as_str()) != along).collect()
}

fn chart_of(table: &CampaignTable, x: &X<'_>, y: &TableColumn) -> Option<Chart> {
    let axes = curve_axes(table, x);
    let name = |row: &TableRow| {
        let values: Vec<&str> = axes.iter().filter_map(|axis| forms::value(row, axis)).collect();
        if values.is_empty() { y.name.clone() } else { values.join(", ") }
    };
    let point = |row: &TableRow| {
        let place = match x {
            X::Axis(axis, levels) => {
                let value = forms::value(row, axis)?;
                levels.iter().find(|(level, _)| level == value)?.1
            }
            X::Quantity(column) => row.quantity(&column.name)?.median,
        };
        Some((name(row), place, row.quantity(&y.name)?.median))
    };
    let points: Vec<(String, f64, f64)> = table.rows.iter().filter_map(point).collect();
    let mut places: Vec<f64> = points.iter().map(|(_, place, _)| *place).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let mut names: Vec<&String> = Vec::new();
    for (name, ..) in &points {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let left_out = names.len().saturating_sub(MOST_CURVES);
    let curve = |name: &&String| {
        let of_place = |place: &f64| points.iter().find(|point| point.0 == **name && point.1 == *place);
        Curve { name: (*name).clone(), values: places.iter().map(|place| Some(of_place(place)?.2)).collect() }
    };
    let curves: Vec<Curve> = names.iter().take(MOST_CURVES).map(curve).collect();
    let of_axes: Vec<&str> = axes.iter().map(|axis| axis.as_str()).collect();
    let each = if of_axes.is_empty() { String::new() } else { format!(", a curve for each {}", of_axes.join(", ")) };
    let omission =
        if left_out > 0 { format!("; {left_out} more curves are in the table alone") } else { String::new() };
    let x_name = match x {
        X::Axis(axis, _) => (*axis).to_owned(),
        X::Quantity(column) => column.about.clone(),
    };
    let about = format!("{}: {} over {x_name}{each}{omission}. Medians of the repeats.", y.name, y.about);
    let marks = match x {
        X::Axis(_, levels) => {
            levels.iter().filter(|(_, at)| places.contains(at)).map(|(text, at)| (*at, text.clone())).collect()
        }
        X::Quantity(_) => Vec::new(),
    };
    (!curves.is_empty()).then(|| Chart {
        id: "chart",
        title: "Chart",
        about,
        x: Axis { is_log: is_wide(x, &places), ..axis(x_name, x_unit(x)) },
        y: axis(y.about.clone(), Unit::named(&y.unit)),
        places,
        curves,
        limits: Vec::new(),
        marks,
    })
}

fn x_unit(x: &X<'_>) -> Unit {
    match x {
        X::Axis(..) => Unit::Plain,
        X::Quantity(column) => Unit::named(&column.unit),
    }
}

fn is_wide(x: &X<'_>, places: &[f64]) -> bool {
    let is_of_numbers = match x {
        X::Axis(_, levels) => is_numeric(levels),
        X::Quantity(_) => false,
    };
    let ends = places.first().zip(places.last());
    is_of_numbers && ends.is_some_and(|(first, last)| *first >= 1.0 && last / first >= WIDE)
}

/// An axis whose values are written as the table writes them.
fn axis(title: String, unit: Unit) -> Axis {
    let text: fn(f64) -> String = match unit {
        Unit::Ns => |value| Unit::Ns.text(value),
        Unit::PerSecond => |value| Unit::PerSecond.text(value),
        Unit::Bytes => |value| Unit::Bytes.text(value),
        Unit::BitsPerSecond => |value| Unit::BitsPerSecond.text(value),
        Unit::Cores => |value| Unit::Cores.text(value),
        Unit::Plain => |value| Unit::Plain.text(value),
    };
    Axis { title: title.into(), is_log: false, is_whole: false, text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(x: Option<&str>, y: Option<&str>) -> Result<Option<Chart>> {
        chart(&forms::example(), &ChartOf { x: x.map(str::to_owned), y: y.map(str::to_owned) })
    }

    fn curves(chart: &Chart) -> Vec<(&str, Vec<Option<f64>>)> {
        chart.curves.iter().map(|curve| (curve.name.as_str(), curve.values.clone())).collect()
    }

    #[test]
    fn a_quantity_goes_along_the_axis_with_the_most_numbers() {
        let chart = of(None, None).unwrap().unwrap();
        assert_eq!(chart.places, [100.0, 200.0]);
        let all = [("grpc", vec![Some(100.0), Some(200.0)]), ("tcp", vec![Some(101.0), None])];
        assert_eq!(curves(&chart), all);
        assert_eq!(chart.marks, [(100.0, "100".to_owned()), (200.0, "200".to_owned())]);
        let by_name = of(Some("transport"), Some("p99")).unwrap().unwrap();
        assert_eq!(by_name.places, [0.0, 1.0]);
        assert_eq!(curves(&by_name), [("100", vec![Some(2e6), Some(1e6)]), ("200", vec![Some(4e6), None])]);
    }

    #[test]
    fn a_quantity_over_another_one_goes_along_the_ladder() {
        let chart = of(Some("metric_rate"), Some("p99")).unwrap().unwrap();
        assert_eq!(chart.places, [100.0, 101.0, 200.0]);
        let all = [("grpc", vec![Some(2e6), None, Some(4e6)]), ("tcp", vec![None, Some(1e6), None])];
        assert_eq!(curves(&chart), all);
    }

    #[test]
    fn columns_that_are_not_there_are_errors() {
        let message = |x, y| of(x, y).err().unwrap().to_string();
        assert!(message(Some("codec"), None).contains("there are transport, settings.target_qps, metric_rate, p99"));
        assert!(message(None, Some("transport")).contains("there are metric_rate, p99"));
        assert!(message(Some("p99"), Some("p99")).contains("the same quantity"));
        let mut alone = forms::example();
        alone.axes.clear();
        assert!(chart(&alone, &ChartOf::default()).unwrap().is_none());
    }
}
