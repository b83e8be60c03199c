//! One run (or probe) at this node. No I/O happens here, and nothing here knows how a sample is answered.
//!
//! - [`state`]: the run itself: who claimed the node, which streams it has, when it is over;
//! - [`admission`]: how much of it the node holds at one time, within bounds;
//! - [`codecs`]: what its samples and answers are wrapped in, as agreed on in `StartRun`;
//! - [`counters`]: what the node counts of it;
//! - [`failure`]: why a sample has no answer;
//! - [`durations`]: how long samples took, by stage;
//! - [`connections`]: the connections that its streams came over, for the bytes on their sockets;
//! - [`presence`]: whether its client is still heard of;
//! - [`report`]: what `EndRun` returns;
//! - [`ledger`]: what all runs have added up to.

pub(crate) mod admission;
pub(crate) mod codecs;
pub(crate) mod connections;
pub(crate) mod counters;
pub(crate) mod durations;
pub(crate) mod failure;
pub(crate) mod ledger;
pub(crate) mod presence;
pub(crate) mod report;
pub(crate) mod state;
