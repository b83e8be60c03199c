//! Outputs of a run: the files that it leaves behind, and the text that is shown when it is over.
//!
//! - `run_folder`: the folder of a run, its order of writing, and what is made of it after a kill;
//! - `logs`: the official log files and accuracy logs, written and read;
//! - `documents`: the JSON documents;
//! - `timeline`: when each sample was due, issued and answered, read; node and stages of each sample;
//! - `samples`: the samples of a run folder as rows, for other programs;
//! - `report`: the run as one HTML page, and the picture of the system;
//! - `screen`: the result for people;
//! - `tables`: tables that commands print, and tables for other programs.

pub mod documents;
pub mod logs;
pub mod report;
pub mod run_folder;
pub mod samples;
pub mod screen;
pub mod tables;
pub mod timeline;
