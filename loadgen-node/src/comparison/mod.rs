//! `loadgen-node compare`: runs side by side, what was not the same about them, and whether a difference is noise.
//! `campaign table` has the same quantities.
//!
//! | file | what it has |
//! |---|---|
//! | `side` | run folders, read: one, or several repeats |
//! | `facts` | what is not the same on all sides, and why sides cannot be compared |
//! | `metric` | the quantities that are compared |
//! | `interval` | where a difference is with some confidence |
//! | `compared` | all of it as one document |
//! | `condition` | `--fail-if` |
//! | `tables` | the document as text, CSV and Markdown |
//! | `page` | the document as an HTML page, with curves over each other |

mod compared;
mod condition;
mod facts;
mod interval;
mod metric;
mod page;
mod side;
mod tables;

pub(crate) use compared::compared;
pub(crate) use condition::Condition;
pub(crate) use metric::{METRICS, Metric, Unit};
pub(crate) use page::{over_each_other, page, table};
pub(crate) use side::{MOST, Side};
pub(crate) use tables::{csv, markdown, text};
