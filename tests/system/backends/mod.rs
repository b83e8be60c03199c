//! Servers that are no SUT nodes, all of them scripted. Real ones are in `others::servers`.
//!
//! - `kserve`: servers of the Open Inference Protocol in the place of SUT nodes
//! - `openai`: a server that streams chat completions, behind a SUT node

mod kserve;
mod openai;
