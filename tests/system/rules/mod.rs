//! The rules that a submission is held against.
//!
//! - `audit`: compliance tests on real runs, as they are and falsified
//! - `division`: the rules of the Network division, broken and marked
//! - `infer`: results that follow from runs of other scenarios
//! - `submission`: the file of a submission, and what is planned from it

mod audit;
mod division;
mod infer;
mod submission;
