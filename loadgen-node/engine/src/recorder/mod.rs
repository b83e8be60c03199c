//! Records of every issued sample of a phase, and the part of them that is kept when the phase is over.
//!
//! | file | what it has |
//! |---|---|
//! | `record` | the cells of a running phase; each sample ends exactly once |
//! | `packed_record` | one sample in 8 bytes |
//! | `column` | a list that one thread writes while another reads it |
//! | `tokens` | first-token latency and token count of every sample, in token runs |
//! | `header` | how both stored forms of a phase begin |
//! | `lag` | how late samples were handed to the network |
//! | `buckets` | [`Buckets`]: histograms of times in fixed memory |
//! | `split` | the part of the lag that is behind others of the same due time |
//! | `live` | the records of a phase that goes on, for other threads to read |
//! | `starts` | when the latencies of a timeline started |
//! | `timeline` | [`Timeline`]: a closed phase, in the form in which it is judged |
//! | `bursts` | whole bursts of a timeline |
//! | `timeline_file` | the stored form of a timeline, `timeline.bin` |
//! | `timeline_parts` | its parts, which are checked as they are read |
//! | `rows` | that form read sample by sample |
//! | `journal` | what is on the disk of a phase while it runs |

mod buckets;
mod bursts;
mod column;
mod header;
mod journal;
mod lag;
mod live;
mod packed_record;
mod record;
mod rows;
mod split;
mod starts;
mod timeline;
mod timeline_file;
mod timeline_parts;
mod tokens;

pub use buckets::Buckets;
pub use journal::{Journal, JournalError, interrupt, recover};
pub use lag::{LagCourse, LagStats};
pub use live::{Ended, Ends, Live};
pub use packed_record::SampleEnd;
pub(crate) use record::{Recorder, Refused};
pub use rows::{CheckedTimeline, SampleRow, SampleRows};
pub use starts::Starts;
pub use timeline::{FinalQuery, Timeline};
pub use timeline_file::StoredTimeline;
pub use timeline_parts::{About, TimelineError};
pub(crate) use tokens::TokenFault;
