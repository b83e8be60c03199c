//! Document that `campaign table --json` prints: a row for each cell of a campaign.

use serde::{Deserialize, Serialize};

use super::ordered_map;
use super::repeats::RepeatSpread;

/// The version of [`CampaignTable`].
pub const SCHEMA: u32 = 1;

/// The whole document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CampaignTable {
    /// Version of this form: 1.
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    pub schema: u32,
    /// Name of what varies from cell to cell.
    pub axes: Vec<String>,
    /// Quantities, in the order of the columns.
    pub columns: Vec<TableColumn>,
    /// A row for each cell, in the order of the plan.
    pub rows: Vec<TableRow>,
}

/// A quantity of the table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TableColumn {
    /// Its word, as `--columns` and `compare` have it.
    pub name: String,
    /// Description of the quantity.
    pub about: String,
    /// `ns`, `1/s`, `bytes`, `bit/s`, `cores`, or empty.
    pub unit: String,
}

/// A cell of the campaign.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TableRow {
    /// The name of the cell.
    pub cell: String,
    /// The value of each axis.
    #[serde(with = "ordered_map")]
    #[cfg_attr(test, schemars(with = "std::collections::BTreeMap<String, String>"))]
    pub values: Vec<(String, String)>,
    /// State of its performance runs together: `VALID` where all of them are, `INVALID`, `failed`, `skipped`,
    /// `not run`, or the number of those that are VALID.
    pub verdict: String,
    /// Why runs are INVALID, or came to no result, each reason once.
    pub reasons: Vec<String>,
    /// Performance runs that the plan has.
    pub planned: usize,
    /// Folders of the performance runs with a result, from the folder of the campaign.
    pub folders: Vec<String>,
    /// The accuracy run of the cell; null where the plan has none, or where it came to no result.
    pub accuracy: Option<TableScore>,
    /// The quantities of `columns` that at least one run has. Each has a value for each of `folders`.
    pub quantities: Vec<RepeatSpread>,
}

/// The score of a cell's accuracy run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TableScore {
    /// The run folder, from the folder of the campaign.
    pub folder: String,
    /// The name of the score.
    pub metric: String,
    /// The score of the answers.
    pub value: f64,
    /// The unit of the score.
    pub unit: String,
    /// True when it meets the target.
    pub passed: bool,
}

impl TableRow {
    /// The quantity with this name.
    pub fn quantity(&self, name: &str) -> Option<&RepeatSpread> {
        self.quantities.iter().find(|quantity| quantity.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::super::reads_back;
    use super::*;

    #[test]
    fn a_row_has_its_axes_by_name() {
        let row = TableRow {
            cell: "transport=tcp".to_owned(),
            values: vec![("transport".to_owned(), "tcp".to_owned())],
            verdict: "VALID".to_owned(),
            reasons: Vec::new(),
            planned: 1,
            folders: vec!["transport=tcp/1".to_owned()],
            accuracy: None,
            quantities: Vec::new(),
        };
        let table =
            CampaignTable { schema: SCHEMA, axes: vec!["transport".to_owned()], columns: Vec::new(), rows: vec![row] };
        let json = reads_back(&table);
        assert_eq!(json["rows"][0]["values"]["transport"], "tcp");
        assert!(table.rows[0].quantity("p99").is_none());
    }
}
