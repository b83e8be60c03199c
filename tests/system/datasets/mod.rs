//! Data of users, from the disk over the network to the score.
//!
//! - `files`: folders and files of users
//! - `verify`: `dataset verify`, and its exit codes
//! - `squad`: questions about passages, from the published files to a score of logits

mod files;
mod squad;
mod verify;
