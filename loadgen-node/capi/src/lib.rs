//! The QDL and its datasets behind a C interface, `qdl/capi/include/lon_qdl.h`, for the official LoadGen in C++ and in
//! Python.
//!
//! From the top down; a module uses only those below it:
//!
//! - `functions`: the C functions, one for each in the header: they let no panic out; `pointers`: what they are given;
//! - `callbacks`: C functions of the caller that take answers; `queue`: answers that wait to be fetched;
//! - `run`: a run that another engine leads, with its dataset, and what happens when it becomes unusable;
//! - `samples`: a dataset that several threads use; `description`: what is told about both;
//! - `handles`: numbers that stand for what is open, so that a freed one is an error;
//! - `status`: what functions return, and the text of the last error.
//!
//! Only `functions`, `pointers` and `callbacks` have unsafe code: raw pointers come in there, and leave there.

mod callbacks;
mod description;
mod functions;
mod handles;
mod pointers;
mod queue;
mod run;
mod samples;
mod status;

pub use functions::*;
