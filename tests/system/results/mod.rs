//! Tests of the files that a run leaves, and of what later commands make of them.
//!
//! - `campaign`: many runs from one file, broken off and continued, and their table
//! - `compare`: runs side by side, and which differences are noise
//! - `documents`: JSON documents against their published form and their types
//! - `export`: samples of run folders for other programs
//! - `labels`: words of the user, and where they stand
//! - `latency_parts`: where the time of a sample went
//! - `list`: run folders later: listed
//! - `live_metrics`: what is told of a run while it goes on
//! - `repeat`: the same test several times, and how far the results differ
//! - `report`: the page of a run, against its documents
//! - `schemas`: the JSON Schemas of all documents, against what the programs write
//! - `system_desc`: the machines and the network as the submission rules want them described
//! - `untrusted_files`: pipes, endless files and files of other runs in run folders
//! - `untrusted_text`: what others wrote into names, notes and run folders
//! - `unusual_runs`: pages and lists of runs without an answer, of one sample, broken off, of many nodes
//! - `within`: queries within limits of the user

mod campaign;
mod compare;
mod documents;
mod export;
mod labels;
mod latency_parts;
mod list;
mod live_metrics;
mod repeat;
mod report;
mod schemas;
mod system_desc;
mod untrusted_files;
mod untrusted_text;
mod unusual_runs;
mod within;
