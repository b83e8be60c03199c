//! Files of datasets that are published with their sums.

use serde::Deserialize;

/// A file of a dataset that is published with its sum.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Published {
    /// The name of the file in the dataset's folder.
    pub(super) file: String,
    /// Its SHA-256, in hexadecimal.
    pub(super) sha256: String,
    /// The source of the sum.
    #[serde(rename = "source")]
    _source: String,
}
