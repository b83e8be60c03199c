//! Results of the edge suite that follow from the run of another scenario. Folders of such results have the logs of
//! that run, and the official checker works the number out.
//!
//! Sources: section 4.1.1 of the inference rules (mlcommons/inference_policies ac93e89c, `inference_rules.adoc`) has
//! the formulas, and `get_inferred_result` of the checker (mlcommons/inference b66003e1) the keys of the log.

use std::fmt;

use loadgen::judge::early_stopping::Rule;
use loadgen::settings::Scenario;

use lon_run::audit::Detail;

/// The rules that allow it, in words.
pub(crate) const SOURCE: &str = "MLPerf inference rules, section 4.1.1: edge systems alone";

const SINGLE: &str = "SingleStream";
const MULTI: &str = "MultiStream";
const OFFLINE: &str = "Offline";
/// Which result may follow from which run: to, from.
const ALLOWED: [(&str, &str); 3] = [(MULTI, SINGLE), (OFFLINE, MULTI), (OFFLINE, SINGLE)];
/// The samples of a query that a result of MultiStream is of.
const SAMPLES: f64 = 8.0;
const NS_PER_MS: f64 = 1e6;
const NS_PER_S: f64 = 1e9;

/// A result that follows from a run of another scenario.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Inferred {
    /// The number, in `unit`.
    pub(crate) value: f64,
    /// `ms` or `samples/s`.
    pub(crate) unit: &'static str,
    /// The formula in words.
    pub(crate) formula: String,
    /// Keys of the detail log that the formula takes, with their values.
    pub(crate) taken: Vec<(&'static str, f64)>,
}

impl fmt::Display for Inferred {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = if self.unit == "ms" { 6 } else { 2 };
        write!(out, "{}, {:.digits$} {}", self.formula, self.value, self.unit)
    }
}

/// Returns true when a result of `to` may follow from a run of `from`, in the edge suite.
pub(super) fn is_allowed(to: Scenario, from: Scenario) -> bool {
    ALLOWED.contains(&(to.name(), from.name()))
}

/// The pairs that are allowed, for messages.
pub(crate) fn allowed() -> String {
    ALLOWED.map(|(to, from)| format!("{to} from {from}")).join(", ")
}

/// The scenarios whose results may follow from a run of `from`.
pub(crate) fn from_run_of(from: Scenario) -> impl Iterator<Item = Scenario> {
    Scenario::ALL.into_iter().filter(move |to| is_allowed(*to, from))
}

/// Explanation for a log that has no number to infer a result from.
pub(crate) fn lacks(to: Scenario) -> String {
    let least = Rule::Estimate { with_99th: true }.least_queries(0.99);
    format!("its log lacks what a result of {} follows from; a run with min_query_count={least} has it", to.name())
}

/// The result that follows from a run. None: the log lacks what it takes.
pub(crate) fn result(to: Scenario, from: Scenario, detail: &Detail) -> Option<Inferred> {
    let positive = |key: &'static str| Some((key, detail.number(key).filter(|number| *number > 0.0)?));
    match (to.name(), from.name()) {
        (MULTI, SINGLE) => {
            let latency = positive("early_stopping_latency_ms")?;
            let formula = format!("{SAMPLES} times the 99th percentile of early stopping");
            Some(Inferred { value: SAMPLES * latency.1 / NS_PER_MS, unit: "ms", formula, taken: vec![latency] })
        }
        (OFFLINE, SINGLE) => {
            let rate = positive("result_qps_without_loadgen_overhead")?;
            let formula = "1 divided by the mean latency".to_owned();
            Some(Inferred { value: rate.1, unit: "samples/s", formula, taken: vec![rate] })
        }
        (OFFLINE, MULTI) => {
            let (samples, mean) = (positive("effective_samples_per_query")?, positive("result_mean_query_latency_ns")?);
            let formula = format!("{} samples through the mean latency of a query", samples.1);
            let value = samples.1 * NS_PER_S / mean.1;
            Some(Inferred { value, unit: "samples/s", formula, taken: vec![samples, mean] })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(name: &str) -> Scenario {
        Scenario::ALL.into_iter().find(|scenario| scenario.name() == name).unwrap()
    }

    #[test]
    fn numbers_are_those_of_the_checker() {
        let line = |key: &str, value: &str| format!(":::MLLOG {{\"key\": \"{key}\", \"value\": {value}}}\n");
        let text = line("early_stopping_latency_ms", "2000000")
            + &line("result_qps_without_loadgen_overhead", "812.5")
            + &line("effective_samples_per_query", "8")
            + &line("result_mean_query_latency_ns", "4000000");
        let detail = Detail::read(&text).unwrap();
        let result_of = |to, from| result(scenario(to), scenario(from), &detail).map(|value| value.to_string());
        let text = |content: &str| Some(content.to_owned());
        assert_eq!(result_of(MULTI, SINGLE), text("8 times the 99th percentile of early stopping, 16.000000 ms"));
        assert_eq!(result_of(OFFLINE, SINGLE), text("1 divided by the mean latency, 812.50 samples/s"));
        assert_eq!(result_of(OFFLINE, MULTI), text("8 samples through the mean latency of a query, 2000.00 samples/s"));
        assert_eq!(result_of("Server", OFFLINE), None);
        assert!(is_allowed(scenario(OFFLINE), scenario(MULTI)) && !is_allowed(scenario(MULTI), scenario(OFFLINE)));
        let from = |name: &str| from_run_of(scenario(name)).map(Scenario::name).collect::<Vec<_>>();
        assert_eq!((from(SINGLE), from(MULTI), from("Server")), (vec![MULTI, OFFLINE], vec![OFFLINE], Vec::new()));
    }

    /// The examples of the rules: 25 ms and 200 ms.
    #[test]
    fn numbers_are_those_of_the_rules() {
        let of = |key: &str, value: u64| format!(":::MLLOG {{\"key\": \"{key}\", \"value\": {value}}}\n");
        let single = of("early_stopping_latency_ms", 25_000_000) + &of("result_qps_without_loadgen_overhead", 40);
        let multi = of("effective_samples_per_query", 8) + &of("result_mean_query_latency_ns", 200_000_000);
        let value =
            |to, from, text: &str| result(scenario(to), scenario(from), &Detail::read(text).unwrap()).unwrap().value;
        assert_eq!(value(MULTI, SINGLE, &single), 200.0);
        assert_eq!((value(OFFLINE, SINGLE, &single), value(OFFLINE, MULTI, &multi)), (40.0, 40.0));
    }
}
