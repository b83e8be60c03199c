//! The rules that a submission is held against.
//!
//! - `audit`: compliance tests on real runs, as they are and falsified
//! - `division`: the rules of the Network division, broken and marked

mod audit;
mod division;
