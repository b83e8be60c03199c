//! One test: what is checked before it, and what is known after it.
//!
//! - `setup`: from arguments to a checked plan; `stated`: what the user states of the system;
//! - `peak`: options and record of a search for the peak;
//! - `finished`: a test that is over.

pub(crate) mod finished;
pub(crate) mod peak;
pub(crate) mod setup;
pub(crate) mod stated;
