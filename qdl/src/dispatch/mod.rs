//! Which node and which lane each sample takes, and what is in flight there. No network I/O.
//!
//! - `dispatcher`: finds the node and the lane for each sample; `node`: one node with its lanes and bounds; `backlog`:
//!   samples that wait until a node pulls them; `window`: how many a node may pull;
//! - `lane`: one stream's state: samples to send, samples in flight, answers; `slots`: the ids of samples in flight;
//!   `prefaulted`: memory that is touched before it is needed;
//! - `rule`: what a node's answers must look like; `budget`: memory that they may take while they come in pieces;
//!   `expected`: both;
//! - `inflate`: answers with a codec, inflated on threads of their own before they reach the caller's sink.

mod backlog;
mod budget;
mod dispatcher;
mod expected;
mod inflate;
mod lane;
mod node;
pub(crate) mod prefaulted;
mod rule;
mod slots;
mod window;

pub(crate) use budget::Reservation;
pub(crate) use dispatcher::Dispatcher;
pub use dispatcher::Policy;
pub(crate) use expected::{AROUND_BYTES, Expected};
pub(crate) use inflate::{Inflaters, Inflating};
pub(crate) use lane::{Accepted, Lane, NOT_OPEN, Taken};
pub(crate) use node::{Bounds, Node};
pub(crate) use rule::AnswerRule;
