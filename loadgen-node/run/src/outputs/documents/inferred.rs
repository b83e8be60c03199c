//! Document that `infer --json` prints: the results of other scenarios that follow from a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::result_summary::Validity;
use crate::outputs::tables::table::Table;

/// The version of [`InferredResults`].
pub const SCHEMA: u32 = 1;

/// The whole document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct InferredResults {
    /// Version of this form: 1.
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    pub schema: u32,
    /// The run folder.
    pub folder: String,
    /// The benchmark's name; null of the logs of an official LoadGen, which do not have it.
    pub benchmark: Option<String>,
    /// The official name of the scenario that was run.
    pub scenario: String,
    /// The verdict on the run. Of one that is INVALID no result follows.
    pub result: Validity,
    /// The rules by which results follow, in words.
    pub source: String,
    /// Results that follow from the run, inferred and not measured.
    pub inferred: Vec<InferredResult>,
    /// Why other results do not follow, in words; empty where all do.
    pub not_inferred: Vec<String>,
}

/// A result that was not measured, but follows from a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct InferredResult {
    /// The official name of the scenario that the result is of.
    pub scenario: String,
    /// The official name of the scenario of the run that it is inferred from.
    pub inferred_from: String,
    /// The number, in `unit`.
    pub value: f64,
    /// `ms` or `samples/s`.
    pub unit: String,
    /// The formula in words.
    pub formula: String,
    /// Keys of mlperf_log_detail.txt that the formula takes, with their values.
    pub taken: BTreeMap<String, f64>,
}

impl InferredResults {
    /// A row for each result, and for each reason why one does not follow.
    pub fn table(&self) -> Table {
        let mut table = Table::new(["scenario", "value", "unit", "inferred from", "formula", "taken"]);
        for InferredResult { scenario, inferred_from, value, unit, formula, taken } in &self.inferred {
            table.row([scenario, &value.to_string(), unit, inferred_from, formula, &taken_text(taken)]);
        }
        self.not_inferred.iter().for_each(|why| table.row(["none", "", "", &self.scenario, why, ""]));
        table
    }

    /// The text for the screen: a line for each result, and for each reason why one does not follow.
    pub fn text(&self) -> String {
        let InferredResults { folder, scenario, source, .. } = self;
        let benchmark = self.benchmark.as_deref().unwrap_or("an official LoadGen");
        let word = if self.result == Validity::Valid { "VALID" } else { "INVALID" };
        let mut text = format!("{folder}: {scenario} of {benchmark}, {word}\n");
        for result in &self.inferred {
            let digits = if result.unit == "ms" { 6 } else { 2 };
            text.push_str(&format!(
                "{:<12} {:.digits$} {}  INFERRED from {}: {} ({})\n",
                result.scenario,
                result.value,
                result.unit,
                result.inferred_from,
                result.formula,
                taken_text(&result.taken)
            ));
        }
        self.not_inferred.iter().for_each(|why| text.push_str(&format!("none         {why}\n")));
        text + &format!("Source: {source}. Inferred results were not measured.\n")
    }
}

fn taken_text(taken: &BTreeMap<String, f64>) -> String {
    taken.iter().map(|(key, value)| format!("{key} {value}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::reads_back;
    use super::*;

    #[test]
    fn every_result_is_marked_and_every_reason_has_a_line() {
        let result = InferredResult {
            scenario: "MultiStream".to_owned(),
            inferred_from: "SingleStream".to_owned(),
            value: 16.0,
            unit: "ms".to_owned(),
            formula: "8 times it".to_owned(),
            taken: BTreeMap::from([("early_stopping_latency_ms".to_owned(), 2e6)]),
        };
        let document = InferredResults {
            schema: SCHEMA,
            folder: "run".to_owned(),
            benchmark: Some("resnet50".to_owned()),
            scenario: "SingleStream".to_owned(),
            result: Validity::Valid,
            source: "the rules".to_owned(),
            inferred: vec![result],
            not_inferred: vec!["Offline: its log lacks it".to_owned()],
        };
        let text = "run: SingleStream of resnet50, VALID\n\
                    MultiStream  16.000000 ms  INFERRED from SingleStream: 8 times it (early_stopping_latency_ms \
                    2000000)\nnone         Offline: its log lacks it\n\
                    Source: the rules. Inferred results were not measured.\n";
        assert_eq!(document.text(), text);
        let rows = "scenario,value,unit,inferred from,formula,taken\n\
                    MultiStream,16,ms,SingleStream,8 times it,early_stopping_latency_ms 2000000\n\
                    none,,,SingleStream,Offline: its log lacks it,\n";
        assert_eq!(document.table().csv(), rows);
        assert_eq!(reads_back(&document)["inferred"][0]["inferred_from"], "SingleStream");
    }
}
