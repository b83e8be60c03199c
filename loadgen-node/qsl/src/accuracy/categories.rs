//! The numbers by which answers name the categories of boxes.

use serde::Deserialize;

/// The numbers by which answers name categories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Categories {
    /// The numbers of the file of annotations: 1 to 90 in COCO's.
    #[default]
    Ids,
    /// The places in the file's list of categories, from 1 on: 1 to 80 in COCO's.
    Places,
}
