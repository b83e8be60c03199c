//! The table: as text, as Markdown, and with every value as JSON.

use std::time::Duration;

use serde_json::{Value, json};

use crate::row::{Goal, Outcome, Unit};
use crate::stats::Spread;

const HEAD: [&str; 10] = [
    "row",
    "reference min/median/max",
    "ours min/median/max",
    "ratio of medians",
    "median of ratios",
    "goal",
    "met",
    "CPU s per 100k samples: loadgen-node",
    "sut-node",
    "cores busy with other work",
];

/// A figure with its unit.
pub(crate) fn show(unit: Unit, value: f64) -> String {
    let (value, unit) = scaled(unit, value, value);
    format!("{value} {unit}")
}

/// A value in the unit that suits `scale`, so that the three of a spread share it.
fn scaled(unit: Unit, value: f64, scale: f64) -> (String, &'static str) {
    let (divisor, name) = match unit {
        Unit::Time if scale >= 1e6 => (1e6, "ms"),
        Unit::Time => (1e3, "us"),
        // Figures are bytes per second.
        Unit::Goodput => (1.25e8, "Gbit/s"),
        Unit::Rate if scale >= 1e6 => (1e6, "M/s"),
        Unit::Rate if scale >= 1e3 => (1e3, "k/s"),
        Unit::Rate => (1.0, "/s"),
    };
    let value = value / divisor;
    (if value.abs() >= 100.0 { format!("{value:.0}") } else { format!("{value:.2}") }, name)
}

fn spread(unit: Unit, values: &[f64]) -> String {
    let Some(Spread { min, median, max }) = Spread::of(values) else { return "-".to_owned() };
    let [low, middle, high] = [min, median, max].map(|value| scaled(unit, value, median));
    format!("{}/{}/{} {}", low.0, middle.0, high.0, middle.1)
}

fn goal(goal: Goal) -> String {
    match goal {
        Goal::AtMost(limit) => format!("<= {limit:.2}"),
        Goal::AtLeast(limit) => format!(">= {limit:.2}"),
        Goal::Within(distance) => format!("1 +- {distance:.2}"),
    }
}

/// Report of the measurements, with place and date.
#[derive(Debug)]
pub(crate) struct Report {
    outcomes: Vec<Outcome>,
    rounds: u32,
    took: Duration,
    machine: String,
    date: String,
}

impl Report {
    pub(crate) fn new(outcomes: Vec<Outcome>, rounds: u32, took: Duration) -> Report {
        let date = jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M UTC").to_string();
        Report { outcomes, rounds, took, machine: machine(), date }
    }

    /// Returns true when nothing failed.
    pub(crate) fn is_complete(&self) -> bool {
        self.outcomes.iter().all(|outcome| outcome.failure.is_none())
    }

    fn title(&self) -> String {
        let Report { rounds, took, machine, date, .. } = self;
        format!("{machine}; {date}; {rounds} rounds in turns, {:.0} s", took.as_secs_f64())
    }

    fn cells(&self) -> Vec<[String; 10]> {
        self.outcomes.iter().map(cells).collect()
    }

    /// Failures and notes, a line each.
    fn remarks(&self) -> Vec<String> {
        let remarks_of = |outcome: &Outcome| {
            let failure = outcome.failure.as_ref().map(|failure| format!("{}: failed: {failure}", outcome.row.name));
            let note = outcome.note.as_ref().map(|note| format!("{}: {note}", outcome.row.name));
            [failure, note]
        };
        self.outcomes.iter().flat_map(remarks_of).flatten().collect()
    }

    /// For the terminal.
    pub(crate) fn text(&self) -> String {
        let lines: Vec<[String; 10]> = [HEAD.map(heading)].into_iter().chain(self.cells()).collect();
        let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..HEAD.len()).map(width).collect();
        let mut text = format!("{}\n\n", self.title());
        for line in &lines {
            let cells = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
            text += cells.collect::<Vec<_>>().join("  ").trim_end();
            text.push('\n');
        }
        text += "\nCPU s: CPU seconds of a whole process per 100,000 samples, start and end included.\n";
        text += "others: cores that other programs kept busy meanwhile, about; a row with much of that is disturbed.\n";
        for remark in self.remarks() {
            text += &remark;
            text.push('\n');
        }
        text
    }

    /// For a README.
    pub(crate) fn markdown(&self) -> String {
        let row = |cells: &[String]| format!("| {} |\n", cells.join(" | ").replace('\n', " "));
        let mut text = format!("{}\n\n", self.title());
        text += &row(&HEAD.map(str::to_owned));
        text += &row(&HEAD.map(|_| "---".to_owned()));
        for cells in self.cells() {
            text += &row(&cells);
        }
        for remark in self.remarks() {
            text += &format!("\n- {remark}");
        }
        text + "\n"
    }

    /// Every value. Times are in ns, goodput in bytes per second, rates per second.
    pub(crate) fn json(&self) -> Value {
        let row = |outcome: &Outcome| {
            let ratio = outcome.ratio();
            let cpu = outcome.cpu_per_100k();
            json!({
                "name": outcome.row.name,
                "what": outcome.row.what,
                "unit": match outcome.row.unit { Unit::Time => "ns", Unit::Goodput => "B/s", Unit::Rate => "1/s" },
                "reference": outcome.reference,
                "ours": outcome.values(),
                "ratio": ratio.map(|ratio| ratio.of_medians),
                "median_of_round_ratios": ratio.map(|ratio| ratio.median_of_rounds),
                "goal": goal(outcome.row.goal),
                "met": met(outcome),
                "cpu_s_per_100k": { "loadgen": cpu.map(|cpu| cpu[0]), "sut": cpu.map(|cpu| cpu[1]) },
                "other_work_cores": outcome.others,
                "failure": outcome.failure,
                "note": outcome.note,
            })
        };
        json!({
            "schema": 1,
            "machine": self.machine,
            "date": self.date,
            "rounds": self.rounds,
            "seconds": self.took.as_secs_f64(),
            "rows": self.outcomes.iter().map(row).collect::<Vec<_>>(),
        })
    }
}

/// Shorter on a terminal.
fn heading(heading: &str) -> String {
    match heading {
        "ratio of medians" => "ratio".to_owned(),
        "median of ratios" => "by round".to_owned(),
        "CPU s per 100k samples: loadgen-node" => "CPU s: loadgen".to_owned(),
        "sut-node" => "sut".to_owned(),
        "cores busy with other work" => "others".to_owned(),
        other => other.to_owned(),
    }
}

/// By the ratio of medians; nothing is met by a row that is not whole.
fn met(outcome: &Outcome) -> Option<bool> {
    let ratio = outcome.ratio().filter(|_| outcome.failure.is_none())?;
    Some(outcome.row.goal.is_met(ratio.of_medians) && outcome.is_otherwise_met)
}

fn cells(outcome: &Outcome) -> [String; 10] {
    let unit = outcome.row.unit;
    let ratio = outcome.ratio();
    let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"));
    let cpu = outcome.cpu_per_100k();
    [
        outcome.row.name.to_owned(),
        spread(unit, &outcome.reference),
        spread(unit, &outcome.values()),
        number(ratio.map(|ratio| ratio.of_medians)),
        number(ratio.map(|ratio| ratio.median_of_rounds)),
        goal(outcome.row.goal),
        match met(outcome) {
            Some(true) => "yes".to_owned(),
            Some(false) => "no".to_owned(),
            None => "failed".to_owned(),
        },
        number(cpu.map(|cpu| cpu[0])),
        number(cpu.map(|cpu| cpu[1])),
        number(outcome.others),
    ]
}

/// Cores, processor and kernel.
fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("unknown processor", |(_, model)| model);
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{cores} cores, {model}, Linux {}", kernel.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::tests::outcome;

    fn report(outcomes: Vec<Outcome>) -> Report {
        let (machine, date) = ("a machine".to_owned(), "today".to_owned());
        Report { outcomes, rounds: 3, took: Duration::from_secs(7), machine, date }
    }

    #[test]
    fn figures_have_units_that_suit_them() {
        assert_eq!(show(Unit::Time, 71_234.0), "71.23 us");
        assert_eq!(show(Unit::Time, 2_500_000.0), "2.50 ms");
        assert_eq!(show(Unit::Goodput, 4.567e9), "36.54 Gbit/s");
        assert_eq!(show(Unit::Rate, 123_456.0), "123 k/s");
        assert_eq!(spread(Unit::Rate, &[900e3, 1.2e6, 1.1e6]), "0.90/1.10/1.20 M/s");
        assert_eq!(spread(Unit::Rate, &[]), "-");
    }

    #[test]
    fn a_row_shows_its_ratio_and_whether_that_is_enough() {
        let good = outcome(&[100e3, 100e3], &[110e3, 110e3]);
        let text = report(vec![good]).text();
        let line = text.lines().find(|line| line.starts_with("single-64-grpc")).unwrap();
        let columns: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(
            columns[1..],
            ["100/100/100", "us", "110/110/110", "us", "1.10", "1.10", "<=", "1.20", "yes", "1.00", "0.50", "-"]
        );
    }

    #[test]
    fn a_row_that_failed_says_so_everywhere() {
        let mut failed = outcome(&[100e3], &[]);
        failed.failure = Some("no such flag".to_owned());
        let report = report(vec![failed]);
        assert!(!report.is_complete());
        assert!(report.text().contains("single-64-grpc: failed: no such flag"));
        assert!(report.markdown().contains("- single-64-grpc: failed: no such flag"));
        let json = report.json();
        assert_eq!(json["rows"][0]["met"], Value::Null);
        assert_eq!(json["rows"][0]["failure"], "no such flag");
    }
}
