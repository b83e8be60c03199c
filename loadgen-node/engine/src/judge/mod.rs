//! Judging of a performance phase: from measured latencies to a complete [`Summary`]. Only arithmetic.
//!
//! | file | what it has |
//! |---|---|
//! | `judging` | [`judge`]: [`Terms`] and [`Measured`] -> [`Summary`] |
//! | `phase_limits`, `measured`, `summary` | these three records |
//! | `latencies` | [`Latencies`]: one by one, or as runs of equal ones |
//! | `rules` | [`Judge`], the contract of a scenario: verdict and metric |
//! | `headlines` | [`Headlines`], the contract of a scenario: its own lines in the reports |
//! | `stats` | [`LatencyStats`]: percentiles, mean and extremes of latencies |
//! | `burst_facts` | [`BurstTimes`] -> [`BurstSummary`]: whole bursts, their backlog, recovery from it |
//! | `single_stream`, `multi_stream`, `server`, `offline`, `burst`, `closed` | the scenarios |
//! | [`early_stopping`] | how many over-latency queries a run may have |
//! | `counts` | [`Counts`]: how many samples were issued, and how they ended |
//! | `verdict` | [`Verdict`]: whether a run is VALID, and every reason why not |
//!
//! The queries of a scenario are in [`crate::traffic`]; [`crate::scenarios`] puts the two together.

mod burst;
mod burst_facts;
mod closed;
mod counts;
pub mod early_stopping;
mod headlines;
mod judging;
mod latencies;
mod measured;
mod multi_stream;
mod offline;
mod phase_limits;
mod rules;
mod server;
mod single_stream;
mod stats;
mod summary;
mod verdict;

pub(crate) use burst::Burst;
pub use burst_facts::{BurstSummary, BurstTimes};
pub(crate) use closed::Closed;
pub use counts::Counts;
pub use headlines::Headlines;
pub use judging::judge;
pub use latencies::{Latencies, Sorted};
pub use measured::Measured;
pub(crate) use multi_stream::MultiStream;
pub(crate) use offline::Offline;
pub use phase_limits::{Terms, TokenLimits, Users};
pub use rules::{Judge, JudgedDuration};
pub(crate) use server::Server;
pub(crate) use single_stream::SingleStream;
pub use stats::{LatencyStats, PERCENTILES};
pub use summary::{Advice, Checks, EarlyStopping, InferredTokens, Metric, Rates, Summary, TokenSummary, UsersSummary};
pub use verdict::{Against, Reason, Verdict};
