//! A run while it goes on: one reader, and one value that every display is made of.
//!
//! ```text
//! engine's thread ── records of samples (Live), phases (Counts), failures, stalls ──┐
//! QDL's threads ──── counters of each lane and socket (Meter) ──────────────────────┤
//!                                                                                   ▼
//!                       a thread of its own, some times a second: SnapshotReader ─> Snapshot
//!                                                                            ├─> progress line, or lines of the log
//!                                                                            ├─> dashboard
//!                                                                            └─> metrics
//! ```
//!
//! Whoever measures never waits for whoever looks. The engine and the QDL write what they write in any case: cells,
//! counters, buckets of the schedule lag; the reader loads them. It reads the end of each sample once, in some 20 ns,
//! at a lower priority than those who work. Nothing here is kept for the result: that is made of the engine's own
//! records, and what is shown here never decides about a verdict.
//!
//! - `run_facts`: what is known of a run before it begins;
//! - `snapshot_reader`: the reader; `recent_latencies`: latencies of the last seconds and so far, with `latencies`, a
//!   histogram; `recent_rates`: rates of the last seconds;
//! - `snapshot`: what the reader finds at one moment, with `phase`, how far it is; `live_checks`: what is judged of it
//!   already; `latest_snapshot`: the newest one, for other threads;
//! - `one_run`: one run with its reader and its board.

pub mod latencies;
pub mod latest_snapshot;
pub mod live_checks;
pub mod one_run;
pub mod phase;
mod recent_latencies;
mod recent_rates;
pub mod run_facts;
pub mod snapshot;
pub(crate) mod snapshot_reader;
