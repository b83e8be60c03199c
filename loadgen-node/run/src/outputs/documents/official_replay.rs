//! Document that `replay --official --json` prints: the logs of an official LoadGen against this engine, quantity by
//! quantity.

use std::fmt::Write as _;

use loadgen::official::{Agreement, Comparison, Part, Quantity, TAKEN, TraceExtent, UNKNOWN};
use serde::{Deserialize, Serialize};

use crate::outputs::tables::table::Table;

/// The version of [`OfficialReplay`].
const SCHEMA: u32 = 1;
/// Columns of a name, and of each text, in the table for the screen.
const NAME: usize = 46;
const TEXT: usize = 24;
/// Heads of what the logs say, and of what this engine makes of them.
const LOGGED: &str = "in the logs";
const JUDGED: &str = "judged here";
/// Stands behind quantities that follow from latencies, and is explained once.
const NO_TRACE: &str = "no trace";
/// Begins the version of this program in its logs.
const OWN: &str = "lon ";
/// Columns of a text in the last line.
const TOLD: usize = 80;

/// An official run, judged again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OfficialReplay {
    /// Version of this form: 1.
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    pub schema: u32,
    /// True when nothing differs. Quantities that are unchecked do not count.
    pub same: bool,
    /// Name of the first quantity that differs; null when none does.
    pub first_difference: Option<String>,
    /// Number of quantities that are the same.
    pub same_count: usize,
    /// Number of quantities that differ.
    pub differs_count: usize,
    /// Number of quantities that are unchecked.
    pub unchecked_count: usize,
    /// The run, and every quantity of it.
    #[serde(flatten)]
    pub compared: Comparison,
}

impl From<Comparison> for OfficialReplay {
    fn from(compared: Comparison) -> OfficialReplay {
        let first_difference = compared.first_difference().map(|quantity| quantity.name.clone());
        OfficialReplay {
            schema: SCHEMA,
            same: first_difference.is_none(),
            first_difference,
            same_count: compared.count(Agreement::Same),
            differs_count: compared.count(Agreement::Differs),
            unchecked_count: compared.count(Agreement::Unchecked),
            compared,
        }
    }
}

impl OfficialReplay {
    /// A row for each quantity.
    pub fn table(&self) -> Table {
        let mut table = Table::new(["part", "quantity", LOGGED, JUDGED, "agreement", "note"]);
        for Quantity { part, name, official, ours, agreement, note } in &self.compared.quantities {
            let part = match part {
                Part::Settings => "settings",
                Part::Traffic => "traffic",
                Part::Trace => "trace",
                Part::Results => "results",
                Part::Summary => "summary",
            };
            let [official, ours, note] = [official, ours, note].map(|text| text.as_deref().unwrap_or_default());
            table.row([part, name, official, ours, word(*agreement), note]);
        }
        table
    }

    /// The text for the screen: results one by one; of the other parts, what is not the same.
    pub fn text(&self) -> String {
        let Comparison { loadgen_version, scenario, mode, quantities, .. } = &self.compared;
        let [loadgen_version, scenario, mode] = [loadgen_version, scenario, mode].map(|text| cut(text, TEXT));
        let mut text = format!("LoadGen {loadgen_version}, {scenario}, {mode}\n{}\n\n", self.trace_line());
        if loadgen_version.starts_with(OWN) {
            text.insert_str(0, "The logs are of loadgen-node, not of the official LoadGen.\n");
        }
        line(&mut text, ["quantity", LOGGED, JUDGED], "");
        for (part, title) in [
            (Part::Settings, "settings in force"),
            (Part::Traffic, "generated traffic"),
            (Part::Trace, "trace"),
            (Part::Results, ""),
            (Part::Summary, "lines of the summary"),
        ] {
            let of_part = || quantities.iter().filter(move |quantity| quantity.part == part);
            let same = of_part().filter(|quantity| quantity.agreement == Agreement::Same).count();
            if same > 0 && !title.is_empty() {
                line(&mut text, [title, "", ""], &format!("{same} of {} same", of_part().count()));
            }
            for quantity in of_part().filter(|q| title.is_empty() || q.agreement != Agreement::Same) {
                row(&mut text, quantity, self.short_note(quantity));
            }
        }
        // Writing to a String cannot fail.
        let _ = writeln!(text, "\n{}{}", self.remedy(), self.last_line());
        text
    }

    /// The note of a quantity. Notes on missing latencies are short: `remedy` explains them.
    fn short_note<'a>(&self, quantity: &'a Quantity) -> Option<&'a str> {
        match quantity.note.as_deref() {
            Some(TAKEN) if self.compared.trace.is_none() => Some(NO_TRACE),
            Some(UNKNOWN) => Some("not in the logs"),
            note => note,
        }
    }

    /// The remedy for quantities that are unchecked because there is no trace; empty where there are none.
    fn remedy(&self) -> String {
        let lacks = |quantity: &Quantity| self.short_note(quantity) == Some(NO_TRACE);
        match self.compared.quantities.iter().any(lacks) {
            true => format!(
                "{NO_TRACE}: the latencies that the quantity follows from are not in the logs. `run --trace-log` \
                 (official LoadGen: LogSettings.enable_trace) writes them.\n"
            ),
            false => String::new(),
        }
    }

    fn trace_line(&self) -> String {
        match self.compared.trace {
            None => "no trace (mlperf_log_trace.json): the logs do not have the latencies".to_owned(),
            Some(TraceExtent { samples, resolution_ns, start_uncertain_ns: 0 }) => {
                format!("trace of {samples} samples, times to {resolution_ns} ns")
            }
            Some(TraceExtent { samples, resolution_ns, start_uncertain_ns }) => format!(
                "trace of {samples} samples, times to {resolution_ns} ns, the start of the phase to \
                 {start_uncertain_ns} ns"
            ),
        }
    }

    fn last_line(&self) -> String {
        let OfficialReplay { same_count, differs_count, unchecked_count, .. } = self;
        let Comparison { official, ours, trace, quantities, .. } = &self.compared;
        let same = match (official, ours) {
            (Some(official), Some(_)) if trace.is_none() => format!(
                "No difference found. The verdict {official} follows from the logged percentiles and counts, which \
                 could not be checked without mlperf_log_trace.json"
            ),
            (Some(official), Some(_)) => format!("Same: {official}"),
            (Some(_), None) => "No difference found, and the verdict is unchecked".to_owned(),
            (None, _) => "Same: without a verdict".to_owned(),
        };
        let first = self.compared.first_difference();
        match first {
            None => format!("{same}; {same_count} quantities the same, {unchecked_count} unchecked"),
            Some(quantity) => format!(
                "Differs: {differs_count} of {} quantities, first {}: {LOGGED} {}, {JUDGED} {}",
                quantities.len(),
                quantity.name,
                cut(quantity.official.as_deref().unwrap_or("none"), TOLD),
                cut(quantity.ours.as_deref().unwrap_or("none"), TOLD),
            ),
        }
    }
}

fn word(agreement: Agreement) -> &'static str {
    match agreement {
        Agreement::Same => "same",
        Agreement::Differs => "differs",
        Agreement::Unchecked => "unchecked",
    }
}

fn row(text: &mut String, quantity: &Quantity, note: Option<&str>) {
    let word = word(quantity.agreement);
    let note = note.map(|note| format!(": {note}")).unwrap_or_default();
    let [official, ours] = [&quantity.official, &quantity.ours].map(|value| value.as_deref().unwrap_or("-"));
    line(text, [&quantity.name, official, ours], &format!("{word}{note}"));
}

fn line(text: &mut String, [name, official, ours]: [&str; 3], word: &str) {
    let [name, official, ours] = [cut(name, NAME), cut(official, TEXT), cut(ours, TEXT)];
    let row = format!("{name:<NAME$}  {official:>TEXT$}  {ours:>TEXT$}  {word}");
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{}", row.trim_end());
}

/// A text of at most so many columns.
fn cut(text: &str, columns: usize) -> String {
    if text.chars().count() <= columns {
        return text.to_owned();
    }
    text.chars().take(columns - 3).chain("...".chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::reads_back;
    use super::*;

    fn quantity(part: Part, name: &str, ours: Option<&str>, agreement: Agreement, note: Option<&str>) -> Quantity {
        let texts = [Some("7"), ours].map(|text| text.map(str::to_owned));
        let [official, ours] = texts;
        Quantity { part, name: name.to_owned(), official, ours, agreement, note: note.map(str::to_owned) }
    }

    #[test]
    fn each_quantity_that_is_not_the_same_is_named() {
        let quantities = vec![
            quantity(Part::Settings, "effective_a", Some("7"), Agreement::Same, None),
            quantity(Part::Results, "result_b", Some("8"), Agreement::Differs, None),
            quantity(Part::Results, "result_c", None, Agreement::Unchecked, Some("no trace")),
            quantity(Part::Summary, "Line d", None, Agreement::Unchecked, None),
        ];
        let compared = Comparison {
            loadgen_version: "6.0.17".to_owned(),
            scenario: "Server".to_owned(),
            mode: "PerformanceOnly".to_owned(),
            official: Some("VALID".to_owned()),
            ours: None,
            trace: Some(TraceExtent { samples: 3, resolution_ns: 1, start_uncertain_ns: 20 }),
            quantities,
        };
        let document = OfficialReplay::from(compared);
        let json = reads_back(&document);
        assert_eq!((&json["same"], &json["first_difference"]), (&false.into(), &"result_b".into()));
        let text = document.text();
        for phrase in ["1 of 1 same", "differs", "unchecked: no trace", "Line d", "the phase to 20 ns"] {
            assert!(text.contains(phrase), "no '{phrase}' in {text}");
        }
        assert!(!text.contains("effective_a"), "{text}");
        assert!(
            text.ends_with("\nDiffers: 1 of 4 quantities, first result_b: in the logs 7, judged here 8\n"),
            "{text}"
        );
    }

    #[test]
    fn without_a_trace_the_verdict_rests_on_what_is_logged() {
        let document = OfficialReplay::from(Comparison {
            loadgen_version: "lon 0.1.0".to_owned(),
            scenario: "Server".to_owned(),
            mode: "PerformanceOnly".to_owned(),
            official: Some("VALID".to_owned()),
            ours: Some("VALID".to_owned()),
            trace: None,
            quantities: vec![quantity(Part::Results, "result_p", None, Agreement::Unchecked, Some(TAKEN))],
        });
        let text = document.text();
        assert!(text.starts_with("The logs are of loadgen-node"), "{text}");
        assert!(text.contains("unchecked: no trace\n") && text.contains("\nno trace: the latencies"), "{text}");
        assert!(
            text.contains("found. The verdict VALID follows from the logged percentiles and counts, which"),
            "{text}"
        );
    }
}
