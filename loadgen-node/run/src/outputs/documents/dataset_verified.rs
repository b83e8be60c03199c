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
    /// Number of samples in the dataset; null when the dataset cannot be opened.
    pub samples: Option<usize>,
    /// Types and shapes of the first sample, with the words `and other sizes` where samples differ; null when it cannot
    /// be read.
    pub first_sample: Option<String>,
    /// Number of files that were compared with a sum, one by one. Small files are compared when the dataset is opened.
    pub files: usize,
    /// Faults of the dataset. Of many faults of one kind the first 100, and one that counts the others.
    pub faults: Vec<DatasetFault>,
    /// Parts that could not be checked.
    pub unchecked: Vec<String>,
}

/// A fault of the dataset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DatasetFault {
    /// Subject of the fault: `form`, `count`, `file`, `sample` or `answer`.
    pub about: String,
    /// Description of the fault.
    pub what: String,
}

impl From<&Fault> for DatasetFault {
    fn from(fault: &Fault) -> DatasetFault {
        DatasetFault { about: fault.about.name().to_owned(), what: fault.what.clone() }
    }
}

impl DatasetVerified {
    /// The document of what was found at `path`.
    pub fn new(path: &str, benchmark: &str, round: &str, verification: &Verified) -> DatasetVerified {
        DatasetVerified {
            schema: SCHEMA,
            path: path.to_owned(),
            benchmark: benchmark.to_owned(),
            round: round.to_owned(),
            samples: verification.samples,
            first_sample: verification.first_sample.clone(),
            files: verification.files,
            faults: verification.faults.iter().map(DatasetFault::from).collect(),
            unchecked: verification.unchecked.clone(),
        }
    }

    /// Returns true when there is no fault.
    pub fn is_good(&self) -> bool {
        self.faults.is_empty()
    }

    /// A row for each fault, and for what could not be looked at.
    pub fn table(&self) -> Table {
        let mut table = Table::new(["finding", "about", "what"]);
        self.faults.iter().for_each(|DatasetFault { about, what }| table.row(["wrong", about, what]));
        self.unchecked.iter().for_each(|what| table.row(["unchecked", "", what]));
        table
    }

    /// The text for the screen: a line for each fault.
    pub fn text(&self) -> String {
        let DatasetVerified { path, benchmark, samples, first_sample, files, .. } = self;
        let samples = samples.map_or_else(|| "cannot be opened".to_owned(), |samples| format!("{samples} samples"));
        let first = first_sample.as_ref().map(|first| format!(" of {first}")).unwrap_or_default();
        let small = if *files == 0 { " (small files are compared at the opening)" } else { "" };
        let mut text = format!("{path} for {benchmark}: {samples}{first}, checksums compared: {files}{small}\n");
        // Writing to a String cannot fail.
        for DatasetFault { about, what } in &self.faults {
            let _ = writeln!(text, "WRONG      {about:<7} {what}");
        }
        for what in &self.unchecked {
            let _ = writeln!(text, "unchecked  {what}");
        }
        text + &match self.faults.len() {
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
        let of = |verification: &Verified| DatasetVerified::new("D", "mine", "v6.0", verification);
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
