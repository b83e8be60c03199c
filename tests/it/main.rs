//! Whole-system tests: the two programs as processes, on real sockets.
//!
//! - `two_nodes`: the main job over separate processes, every scenario, every way to travel
//! - `bandwidth`: bytes, codecs and probes, and what is wrong with them
//! - `datasets`: folders and files of users, from the disk to the score
//! - `demo`: the one command that needs nothing
//! - `documents`: JSON documents against their published form and their types
//! - `nodes`: nodes that cannot be used: absent, of one name, of another version, busy
//! - `input`: flags, settings, files and models that do not fit
//! - `fabric`: links of a known rate, cut links, several hosts (needs root: see there)
//! - `pipeline`: what stands around inference at a SUT node, and the same without a network
//! - `peers`: nodes that misbehave while a run is under way (scripted)
//! - `kserve`: servers that are no SUT nodes, scripted and real
//! - `loss`: nodes that die or fall silent, runs that are interrupted
//! - `openai`: a server that streams chat completions, behind a SUT node
//! - `overload`: more than the SUT can take
//! - `security`: TLS, and where plain text is allowed
//! - `rest`: what is left when a run is over
//! - `sut`: what a SUT node does with callers that are no LoadGen node
//! - `servers`: inference servers that nobody of ours wrote (needs LON_TEST_SERVERS: see tests/servers)
//! - `seeds`: what the fuzz targets start from
//! - `squad`: questions about passages, from the published files to a score of logits
//! - `tokens`: answers token by token, from whole systems
//! - `transport`: a transport that neither end knows
//! - `wire`: what crosses the network, and what never does
//! - `system_desc`: the machines and the network as the submission rules want them described
//! - `tidy`: the repository's own rules
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod bandwidth;
mod datasets;
mod demo;
mod documents;
mod fabric;
mod input;
mod kserve;
mod loss;
mod nodes;
mod openai;
mod overload;
mod peers;
mod pipeline;
mod rest;
mod security;
mod seeds;
mod servers;
mod squad;
mod sut;
mod system_desc;
mod tidy;
mod tokens;
mod transport;
mod two_nodes;
mod wire;
