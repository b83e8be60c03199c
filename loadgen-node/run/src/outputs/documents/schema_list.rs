//! Document that `schema --json` prints: the kinds of documents that there are.

use serde::{Deserialize, Serialize};

use crate::outputs::tables::table::Table;

/// The version of [`SchemaList`].
const SCHEMA: u32 = 1;

/// The whole document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SchemaList {
    /// Version of this form: 1.
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    pub schema: u32,
    /// The kinds: files of the run folder first, then what commands print.
    pub documents: Vec<ListedSchema>,
}

/// A kind of document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ListedSchema {
    /// Its name, which `schema NAME` takes.
    pub name: String,
    /// Which file it is, or which command prints it.
    pub document: String,
}

impl SchemaList {
    /// Of these kinds, each with its name and what it is.
    pub fn new<'a>(kinds: impl IntoIterator<Item = (&'a str, &'a str)>) -> SchemaList {
        let listed =
            |(name, document): (&str, &str)| ListedSchema { name: name.to_owned(), document: document.to_owned() };
        SchemaList { schema: SCHEMA, documents: kinds.into_iter().map(listed).collect() }
    }

    /// A row for each kind.
    pub fn table(&self) -> Table {
        let mut table = Table::new(["name", "document"]);
        self.documents.iter().for_each(|kind| table.row([&kind.name, &kind.document]));
        table
    }
}
