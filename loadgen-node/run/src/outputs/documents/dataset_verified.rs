//! Document that `dataset verify --json` prints: the faults in the files of a dataset.

use std::fmt::Write as _;

use lon_qsl::benchmark::{Fault, Verified};
use serde::{Deserialize, Serialize};

use crate::outputs::tables::table::Table;

/// The version of [`DatasetVerified`].
const SCHEMA: u32 = 1;

/// The whole document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DatasetVerified {
    /// Version of this form: 1.
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    pub schema: u32,
    /// The file or folder, as it was given.
    pub path: String,
    /// The benchmark whose dataset it is to be.
    pub benchmark: String,
    /// The round whose number of samples was promised.
    pub round: String,
    /// Result of the check.
    #[serde(flatten)]
    pub verified: Verified,
}

impl DatasetVerified {
    /// The document of what was found at `path`.
    pub fn new(path: &str, benchmark: &str, round: &str, verified: Verified) -> DatasetVerified {
        let [path, benchmark, round] = [path, benchmark, round].map(str::to_owned);
        DatasetVerified { schema: SCHEMA, path, benchmark, round, verified }
    }

    /// Returns true when there is no fault.
    pub fn is_good(&self) -> bool {
        self.verified.faults.is_empty()
    }

    /// A row for each fault, and for what could not be looked at.
    pub fn table(&self) -> Table {
        let mut table = Table::new(["finding", "about", "what"]);
        self.verified.faults.iter().for_each(|Fault { about, what }| table.row(["wrong", &about.to_string(), what]));
        self.verified.unchecked.iter().for_each(|what| table.row(["unchecked", "", what]));
        table
    }

    /// The text for the screen: a line for each fault.
    pub fn text(&self) -> String {
        let DatasetVerified { path, benchmark, verified, .. } = self;
        let Verified { samples, first_sample, files, faults, unchecked } = verified;
        let samples = samples.map_or_else(|| "cannot be opened".to_owned(), |samples| format!("{samples} samples"));
        let first = first_sample.as_ref().map(|first| format!(" of {first}")).unwrap_or_default();
        let small = if *files == 0 { " (small files are compared at the opening)" } else { "" };
        let mut text = format!("{path} for {benchmark}: {samples}{first}, checksums compared: {files}{small}\n");
        // Writing to a String cannot fail.
        for Fault { about, what } in faults {
            let _ = writeln!(text, "WRONG      {about:<7} {what}");
        }
        for what in unchecked {
            let _ = writeln!(text, "unchecked  {what}");
        }
        text + &match faults.len() {
            0 => "No fault found.\n".to_owned(),
            1 => "1 thing is wrong.\n".to_owned(),
            count => format!("{count} things are wrong.\n"),
        }
    }
}

#[cfg(test)]
mod tests {
    use lon_qsl::benchmark::About;

    use super::super::reads_back;
    use super::*;

    #[test]
    fn every_fault_has_a_line_and_a_row() {
        let good = Verified {
            samples: Some(3),
            first_sample: Some("u8[4]".to_owned()),
            files: 2,
            faults: Vec::new(),
            unchecked: vec!["sums: none".to_owned()],
        };
        let of = |verified: &Verified| DatasetVerified::new("D", "mine", "v6.0", verified.clone());
        let text = "D for mine: 3 samples of u8[4], checksums compared: 2\nunchecked  sums: none\n\
                    No fault found.\n";
        assert_eq!((of(&good).text().as_str(), of(&good).is_good()), (text, true));
        let fault = |about, what: &str| Fault { about, what: what.to_owned() };
        let faults = vec![fault(About::Count, "3 samples"), fault(About::Sample, "sample 1: it is short")];
        let bad = of(&Verified { samples: None, first_sample: None, files: 0, faults, ..good });
        let text = "D for mine: cannot be opened, checksums compared: 0 (small files are compared at the \
            opening)\nWRONG      count   3 samples\n\
                    WRONG      sample  sample 1: it is short\nunchecked  sums: none\n2 things are wrong.\n";
        assert_eq!((bad.text().as_str(), bad.is_good()), (text, false));
        let rows =
            "finding,about,what\nwrong,count,3 samples\nwrong,sample,sample 1: it is short\nunchecked,,sums: none\n";
        assert_eq!(bad.table().csv(), rows);
        assert_eq!(reads_back(&bad)["faults"][1]["about"], "sample");
    }
}
