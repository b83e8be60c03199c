//! `report.html`: a run as one page that opens without a network. What it says is what the documents of the run folder
//! say; its curves come from the timeline. A run writes it when it ends; it can be made again from the folder, and is
//! then the same.
//!
//! | file | what it has |
//! |---|---|
//! | `source` | what the page is made of: a run that is over, or a run folder, read |
//! | `series` | from a timeline to curves |
//! | `chart` | curves as an SVG, and as a table |
//! | `charts` | the curves of a run |
//! | `tables` | what stands in tables |
//! | `load` | arrivals, bursts, users, and the trials of a search for the peak |
//! | `page` | the whole page |
//! | `picture` | the first screen as one SVG |
//! | `diagram` | the system as a picture, drawn from `system_desc.json` |

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

mod chart;
mod charts;
pub mod diagram;
mod load;
mod page;
mod picture;
mod series;
mod source;
mod tables;

pub use chart::{Axis, Chart, Curve, MOST_CURVES};
pub use charts::seconds as seconds_axis;
pub use charts::{latency as latency_axis, of_percentiles, rate as rate_axis};
pub use page::{framed, page, scripted};
pub use picture::picture;
pub use series::{Series, Step};
pub use source::Source;

/// Name in the run folder.
pub const FILE: &str = "report.html";

/// The page of a run.
///
/// # Errors
/// Making it panicked. That is a bug, which costs the page, and not what was measured.
pub(crate) fn caught(source: impl FnOnce() -> Source) -> io::Result<String> {
    let text = catch_unwind(AssertUnwindSafe(|| page(&source())));
    text.map_err(|_| io::Error::other("making the page panicked: this is a bug"))
}
