//! Document that `run --repeat` prints, and leaves beside its run folders: the runs, and how far they differ.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use lon_proto::figures::duration_ns;
use lon_proto::text::on_one_line;
use serde::{Deserialize, Serialize};

use super::result_summary::{MetricDocument, PerformanceMetric, ResultSummary, Validity};
use crate::exit::Exit;
use crate::network::spread;
use crate::outputs::tables::table::Table;

/// The end of the file's name, behind what the names of the folders begin with.
pub const FILE_END: &str = "-repeats.json";

/// The version of [`Repeats`].
const SCHEMA: u32 = 1;

/// The unit of durations.
const NS: &str = "ns";

const HEADS: [&str; 8] = ["quantity", "median", "min", "max", "spread", "mean", "95 % confidence of the mean", "runs"];

/// The whole document.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Repeats {
    /// Version of this form: 1.
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    pub schema: u32,
    /// Says that these are no official results.
    pub unofficial: String,
    /// The benchmark's name.
    pub benchmark: String,
    /// The scenario's official name.
    pub scenario: String,
    /// The official name of the mode.
    pub mode: String,
    /// The dataset of the runs.
    pub dataset: String,
    /// Labels of the user (`--label`): each value by its key.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Number of runs that were asked for.
    pub asked: u64,
    /// The runs that were made, in order. A run that fails (exit codes 1, 4 and 5) is the last one.
    pub runs: Vec<RepeatedRun>,
    /// The quantities that at least one run has.
    pub spreads: Vec<RepeatSpread>,
    /// The run that counts. The key is there with `--take` alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken: Option<TakenRun>,
}

/// Rule by which one of the runs counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Take {
    /// The run with the least performance: the lowest rate, or the longest latency.
    #[default]
    Min,
    /// The run in the middle; of two in the middle the one with less performance.
    Median,
}

/// The run that counts, by its metric.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TakenRun {
    /// The rule by which it counts.
    pub by: Take,
    /// Its run folder; null where no run counts.
    pub folder: Option<String>,
    /// The name of the metric.
    pub metric: String,
    /// Its metric; null where no run counts.
    pub value: Option<f64>,
    /// The unit of the metric.
    pub unit: String,
    /// Why no run counts, in words; null where one does.
    pub why_none: Option<String>,
}

/// One of the runs in short.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RepeatedRun {
    /// Its run folder.
    pub folder: String,
    /// When it began, UTC.
    pub started_utc: String,
    /// The verdict on it.
    pub result: Validity,
    /// The exit code of a program that had made this run alone.
    pub exit_code: u8,
    /// Why it is INVALID, in words; empty: it is VALID.
    pub reasons: Vec<String>,
    /// Its metric; null where it has none, or is no performance run.
    #[serde(default)]
    pub metric: Option<f64>,
}

/// A quantity over all runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RepeatSpread {
    /// The name of the metric, or `latency_p50`, `latency_p90`, `latency_p99`.
    pub name: String,
    /// The unit of the values.
    pub unit: String,
    /// The value of each run, in the order of the runs; null where it has none.
    pub values: Vec<Option<f64>>,
    /// The value in the middle; of an even number of values the mean of the two in the middle.
    pub median: f64,
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
    /// `max` - `min`, percent of the median; null where the median is 0.
    pub spread_percent: Option<f64>,
    /// The mean of the values, and the lower and the upper end of its 95 % confidence interval by Student's t; null for
    /// fewer than two values, and in documents of earlier versions.
    #[serde(default)]
    pub mean: Option<[f64; 3]>,
}

impl Repeats {
    /// Of so many runs, of which none has been made. One of them counts by this rule, if there is one.
    pub fn new(count: u64, take: Option<Take>) -> Repeats {
        let taken = take.map(|by| TakenRun { by, ..TakenRun::default() });
        Repeats { schema: SCHEMA, asked: count, taken, ..Repeats::default() }
    }

    /// Adds a run that is over.
    pub fn add(&mut self, folder: String, run: &ResultSummary, exit: Exit) {
        for (to, from) in [
            (&mut self.unofficial, &run.unofficial),
            (&mut self.benchmark, &run.benchmark),
            (&mut self.scenario, &run.scenario),
            (&mut self.mode, &run.mode),
            (&mut self.dataset, &run.dataset),
        ] {
            to.clone_from(from);
        }
        self.labels.clone_from(&run.made.labels);
        let before = self.runs.len();
        self.runs.push(RepeatedRun {
            folder,
            started_utc: run.made.started_utc.clone(),
            result: run.result,
            exit_code: exit as u8,
            reasons: run.reasons.clone(),
            metric: performance(run).and_then(|metric| metric.value),
        });
        for (name, unit, value) in quantities(run) {
            if !self.spreads.iter().any(|spread| spread.name == name) {
                let values = vec![None; before];
                self.spreads.push(RepeatSpread { name: name.clone(), unit, values, ..RepeatSpread::default() });
            }
            let of_it = self.spreads.iter_mut().find(|spread| spread.name == name);
            of_it.into_iter().for_each(|spread| spread.values.push(Some(value)));
        }
        for spread in &mut self.spreads {
            spread.values.resize(before + 1, None);
            spread.sum_up();
        }
        if let Some(by) = self.taken.as_ref().map(|taken| taken.by) {
            let (name, unit) = performance(run).map(|metric| (metric.name.clone(), metric.unit.clone())).unzip();
            let named = TakenRun {
                by,
                metric: name.unwrap_or_default(),
                unit: unit.unwrap_or_default(),
                ..TakenRun::default()
            };
            self.taken = Some(self.take(named));
        }
    }

    /// The run that counts. All of those that were asked for have to be VALID.
    fn take(&self, named: TakenRun) -> TakenRun {
        let valid = self.runs.iter().filter(|run| run.result == Validity::Valid).count() as u64;
        let mut by_value: Vec<(f64, &str)> =
            self.runs.iter().filter_map(|run| Some((run.metric?, run.folder.as_str()))).collect();
        if valid < self.asked || by_value.len() < self.runs.len() {
            let why = match valid < self.asked {
                true => format!("{valid} of {} runs are VALID, and all have to be", self.asked),
                false => "accuracy runs have no performance".to_owned(),
            };
            return TakenRun { why_none: Some(why), ..named };
        }
        // The least performance first.
        by_value.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        if named.unit == NS {
            by_value.reverse();
        }
        let place = match named.by {
            Take::Min => 0,
            Take::Median => by_value.len().saturating_sub(1) / 2,
        };
        let run = by_value.get(place);
        TakenRun { folder: run.map(|(_, folder)| (*folder).to_owned()), value: run.map(|(value, _)| *value), ..named }
    }

    /// A row for each quantity.
    pub fn table(&self) -> Table {
        let mut table = Table::new(HEADS);
        for RepeatSpread { name, unit, values, median, min, max, spread_percent, mean } in &self.spreads {
            let text = |value| of_unit(value, unit);
            let spread = spread_percent.map_or_else(|| "not known".to_owned(), |percent| format!("{percent:.2} %"));
            let runs = values.iter().flatten().count().to_string();
            let middle = mean.map_or_else(|| "not known".to_owned(), |[mean, ..]| text(mean));
            let interval = mean.map(|[_, low, high]| format!("{} to {}", text(low), text(high)));
            let interval = interval.unwrap_or_else(|| "not known".to_owned());
            table.row([name, &text(*median), &text(*min), &text(*max), &spread, &middle, &interval, &runs]);
        }
        table
    }

    /// For the screen.
    pub fn text(&self) -> String {
        let Repeats { benchmark, scenario, mode, runs, asked, .. } = self;
        let valid = runs.iter().filter(|run| run.result == Validity::Valid).count();
        let mut text = format!("Repeats   {scenario} {mode} on {benchmark}: {valid} of {asked} runs VALID\n");
        for run in runs {
            let verdict = if run.result == Validity::Valid { "VALID  " } else { "INVALID" };
            // Writing to a String cannot fail.
            let _ = writeln!(text, "          {verdict} {}", on_one_line(&run.folder));
            run.reasons.iter().for_each(|why| text.push_str(&format!("                  - {}\n", on_one_line(why))));
        }
        let missing_runs = asked.saturating_sub(runs.len() as u64);
        if missing_runs > 0 {
            let _ = writeln!(text, "          not made: {missing_runs}, since a run failed or was interrupted");
        }
        let taken = self.taken.as_ref().map(TakenRun::text).unwrap_or_default();
        format!("{text}{}{taken}          Unverified: no official MLPerf results.\n", self.table().aligned())
    }
}

impl TakenRun {
    /// As lines of the screen.
    fn text(&self) -> String {
        let TakenRun { by, folder, metric, value, unit, why_none } = self;
        let by = match by {
            Take::Min => "least performance",
            Take::Median => "median",
        };
        match (folder, value) {
            (Some(folder), Some(value)) => {
                format!("Taken     {by}: {metric} = {}, {}\n", of_unit(*value, unit), on_one_line(folder))
            }
            _ => format!("Taken     none ({by}): {}\n", why_none.as_deref().unwrap_or("no run was made")),
        }
    }
}

fn of_unit(value: f64, unit: &str) -> String {
    match unit {
        NS => duration_ns(value as i64),
        unit => format!("{value:.2} {unit}"),
    }
}

/// The metric of a performance run.
fn performance(run: &ResultSummary) -> Option<&PerformanceMetric> {
    match run.metric.as_ref()? {
        MetricDocument::Performance(metric) => Some(metric),
        MetricDocument::Accuracy(_) => None,
    }
}

impl RepeatSpread {
    /// Of these values, in the order of the runs. None: no run has one.
    pub fn of(name: &str, unit: &str, values: Vec<Option<f64>>) -> Option<RepeatSpread> {
        let (name, unit) = (name.to_owned(), unit.to_owned());
        let mut spread = RepeatSpread { name, unit, values, ..RepeatSpread::default() };
        spread.sum_up();
        spread.values.iter().any(Option::is_some).then_some(spread)
    }

    /// The figures of these values, of which at least one is there.
    fn sum_up(&mut self) {
        let mut values: Vec<f64> = self.values.iter().flatten().copied().collect();
        values.sort_by(f64::total_cmp);
        let (Some(min), Some(max)) = (values.first(), values.last()) else { return };
        let middle = values.len() / 2;
        (self.min, self.max) = (*min, *max);
        self.median = if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 };
        self.mean = spread::mean(&values).zip(spread::interval(&values)).map(|(mean, [low, high])| [mean, low, high]);
        self.spread_percent = (self.median != 0.0).then(|| 100.0 * (self.max - self.min) / self.median.abs());
    }
}

/// Returns the quantities of a run: name, unit and value.
fn quantities(run: &ResultSummary) -> Vec<(String, String, f64)> {
    let metric = run.metric.as_ref().and_then(|metric| match metric {
        MetricDocument::Performance(metric) => Some((metric.name.clone(), metric.unit.clone(), metric.value?)),
        MetricDocument::Accuracy(score) => Some((score.name.clone(), score.unit.clone(), score.value)),
    });
    let latencies = run.latency_ns.into_iter().flat_map(|spread| {
        let all = [("latency_p50", spread.p50), ("latency_p90", spread.p90), ("latency_p99", spread.p99)];
        all.into_iter().filter_map(|(name, ns)| Some((name.to_owned(), NS.to_owned(), ns? as f64)))
    });
    metric.into_iter().chain(latencies).collect()
}

#[cfg(test)]
mod tests {
    use super::super::parts::LatencySpread;
    use super::super::reads_back;
    use super::*;

    fn run(value: Option<f64>, p99_ns: Option<i64>, reasons: &[&str]) -> ResultSummary {
        let (name, unit) = ("result_samples_per_second".to_owned(), "samples/s".to_owned());
        ResultSummary {
            scenario: "Offline".to_owned(),
            mode: "PerformanceOnly".to_owned(),
            benchmark: "digits".to_owned(),
            result: Validity::of(reasons.is_empty()),
            reasons: reasons.iter().map(|&reason| reason.to_owned()).collect(),
            metric: Some(MetricDocument::Performance(PerformanceMetric { name, value, unit })),
            latency_ns: Some(LatencySpread { p99: p99_ns, ..LatencySpread::default() }),
            ..ResultSummary::default()
        }
    }

    #[test]
    fn the_spread_is_of_the_runs_that_have_the_quantity() {
        let mut repeats = Repeats::new(5, None);
        for (number, run, exit) in [
            (1, run(None, Some(3_000_000), &["too few"]), Exit::Invalid),
            (2, run(Some(104.0), Some(2_000_000), &[]), Exit::Ok),
            (3, run(Some(96.0), None, &[]), Exit::Ok),
            (4, run(Some(100.0), Some(4_000_000), &[]), Exit::Ok),
        ] {
            repeats.add(format!("r-{number}"), &run, exit);
        }
        let [p99, metric] = &repeats.spreads[..] else { panic!("{repeats:?}") };
        assert_eq!(metric.values, [None, Some(104.0), Some(96.0), Some(100.0)]);
        assert_eq!((metric.median, metric.min, metric.max, metric.spread_percent), (100.0, 96.0, 104.0, Some(8.0)));
        assert_eq!(p99.values, [Some(3e6), Some(2e6), None, Some(4e6)]);
        assert_eq!((p99.median, p99.spread_percent), (3e6, Some(200.0 / 3.0)));
        // Three values with a deviation of 4, and Student's t of 4.303 for two degrees of freedom.
        let [mean, low, high] = metric.mean.unwrap();
        let half = 4.303 * 4.0 / 3.0_f64.sqrt();
        let is_near = |value: f64, target: f64| (value - target).abs() < 0.01;
        assert!(is_near(mean, 100.0) && is_near(low, 100.0 - half) && is_near(high, 100.0 + half));
        let text = repeats.text();
        assert!(text.starts_with("Repeats   Offline PerformanceOnly on digits: 3 of 5 runs VALID\n"), "{text}");
        for line in [
            "          INVALID r-1\n                  - too few\n          VALID   r-2\n",
            "          not made: 1, since a run failed or was interrupted\n",
            "  latency_p99                3.0ms             2.0ms            4.0ms             66.67 %  3.0ms",
            "  result_samples_per_second  100.00 samples/s  96.00 samples/s  104.00 samples/s  8.00 %   100.00 samp",
        ] {
            assert!(text.contains(line), "{line:?} in {text}");
        }
        assert_eq!(reads_back(&repeats)["runs"][0]["exit_code"], 3);
    }

    #[test]
    fn of_an_even_number_the_median_is_between_the_two_in_the_middle() {
        let mut repeats = Repeats::new(2, None);
        for value in [1.0, 2.0] {
            repeats.add(String::new(), &run(Some(value), None, &[]), Exit::Ok);
        }
        assert_eq!(repeats.spreads[0].median, 1.5);
        let mut none = Repeats::new(1, None);
        none.add(String::new(), &run(Some(0.0), None, &[]), Exit::Ok);
        assert_eq!(none.spreads[0].spread_percent, None, "of nothing there is no share");
    }

    /// The folder and the reason for none, of VALID runs with these metrics.
    fn taken(count: u64, by: Take, unit: &str, values: &[f64]) -> (Option<String>, Option<String>) {
        let mut repeats = Repeats::new(count, Some(by));
        for (number, value) in values.iter().enumerate() {
            let metric = PerformanceMetric { name: "m".to_owned(), value: Some(*value), unit: unit.to_owned() };
            let result = if *value < 0.0 { Validity::Invalid } else { Validity::Valid };
            let metric = Some(MetricDocument::Performance(metric));
            let run = ResultSummary { result, metric, ..ResultSummary::default() };
            repeats.add(format!("r-{}", number + 1), &run, Exit::Ok);
        }
        let taken = repeats.taken.unwrap();
        (taken.folder, taken.why_none)
    }

    #[test]
    fn the_run_with_the_least_performance_or_the_middle_one_counts() {
        let folder = |number: u64| (Some(format!("r-{number}")), None);
        assert_eq!(taken(5, Take::Min, "samples/s", &[5.0, 3.0, 4.0, 9.0, 8.0]), folder(2));
        assert_eq!(taken(3, Take::Min, NS, &[5.0, 3.0, 9.0]), folder(3), "the longest latency");
        assert_eq!(taken(3, Take::Median, "samples/s", &[5.0, 3.0, 9.0]), folder(1));
        assert_eq!(
            taken(4, Take::Median, "samples/s", &[5.0, 3.0, 9.0, 8.0]),
            folder(1),
            "the lower one in the middle"
        );
        assert_eq!(taken(2, Take::Median, NS, &[5.0, 3.0]), folder(1), "the longer one in the middle");
    }

    #[test]
    fn no_run_counts_before_all_are_valid() {
        let why = Some("1 of 2 runs are VALID, and all have to be".to_owned());
        assert_eq!(taken(2, Take::Min, NS, &[5.0, -1.0]), (None, why.clone()));
        assert_eq!(taken(2, Take::Min, NS, &[5.0]), (None, why));
    }
}
