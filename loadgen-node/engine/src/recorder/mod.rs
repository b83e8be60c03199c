//! What happened to every issued sample of a phase, and what of it is kept when the phase is over.
//!
//! | file | what it has |
//! |---|---|
//! | `record` | the cells of a running phase; each sample ends exactly once |
//! | `cell` | one sample in 8 bytes |
//! | `column` | a list that one thread writes while another reads it |
//! | `tokens` | first-token latency and token count of every sample, in token runs |
//! | `header` | how both stored forms of a phase begin |
//! | `lag` | how late samples were handed to the network |
//! | `starts` | when the latencies of a timeline started |
//! | `timeline` | [`Timeline`]: a closed phase, in the form in which it is judged |
//! | `timeline_file` | the stored form of a timeline, `timeline.bin` |
//! | `journal` | what is on the disk of a phase while it runs |

mod cell;
mod column;
mod header;
mod journal;
mod lag;
mod record;
mod starts;
mod timeline;
mod timeline_file;
mod tokens;

pub use cell::SampleEnd;
pub use journal::{Journal, JournalError, Live, interrupt, recover};
pub use lag::{LagCourse, LagStats};
pub(crate) use record::{Recorder, Refused};
pub use timeline::{FinalQuery, Timeline};
pub use timeline_file::{About, StoredTimeline, TimelineError};
pub(crate) use tokens::TokenFault;
