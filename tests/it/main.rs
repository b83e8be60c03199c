//! Whole-system tests: the two programs as processes, on real sockets.
//!
//! - `answers`: answers that are not what a node has said, and counts that cannot be true
//! - `audit`: compliance tests on real runs, as they are and falsified
//! - `two_nodes`: the main job over separate processes, every scenario, every route
//! - `bandwidth`: bytes, codecs and probes, and what is wrong with them
//! - `ceilings`: how much memory a SUT node takes at most
//! - `compare`: runs side by side, and which differences are noise
//! - `conformance`: nodes held against the wire contract: ours, one in Python, and nodes that break one rule each
//! - `datasets`: folders and files of users, from the disk to the score
//! - `demo`: the one command that needs nothing
//! - `division`: the rules of the Network division, broken and marked
//! - `documents`: JSON documents against their published form and their types
//! - `metrics`: what is told to those who ask for metrics, Prometheus among them (some need its Debian package)
//! - `nemesis`: minutes of faults at random in network namespaces (needs root)
//! - `nodes`: nodes that cannot be used: absent, of one name, of another version, busy
//! - `first_hour`: what a new user meets: units, names, too short runs, a result shown again
//! - `fleet`: the nodes of several hosts, started and ended by one file
//! - `fault_points`: calls of the operating system that fail, one after the other (needs strace and root: see there)
//! - `help`: every example in `--help`, pasted
//! - `input`: flags, settings, files and models that do not fit
//! - `forged`: what others wrote into names, notes and run folders
//! - `full_pass`: the Network division between two machines, with every rule kept (needs root and LON_TEST_IMAGENET)
//! - `many_nodes`: very many nodes, and how little is said of them
//! - `matrix`: every fault in every scenario, mode and transport, from one table
//! - `fabric`: links of a known rate, cut links, several hosts (needs root: see there)
//! - `pipeline`: what stands around inference at a SUT node, and the same without a network
//! - `peers`: a node that tries to put something of its own into what people read
//! - `probe`: sweeps, baselines, watches and needs of `probe` (some need root: see `fabric`)
//! - `kserve`: servers that are no SUT nodes, scripted and real
//! - `export`: samples of run folders for other programs
//! - `list`: run folders later: listed
//! - `log`: events of the log in JSON, and colours on terminals
//! - `loss`: ends that freeze, and what waits for them
//! - `unusual_runs`: pages and lists of runs without an answer, of one sample, broken off, of many nodes
//! - `openai`: a server that streams chat completions, behind a SUT node
//! - `overload`: more than the SUT can take
//! - `security`: TLS, and where plain text is allowed
//! - `reference`: the page of files and grammars against the code
//! - `report`: the page of a run, against its documents
//! - `rest`: what is left when a run is over
//! - `strangers`: callers that want to keep a SUT node from serving
//! - `sut`: what a SUT node does with callers that are no LoadGen node
//! - `schemas`: the JSON Schemas of all documents, against the code and against what the programs write
//! - `servers`: inference servers that nobody of ours wrote (needs LON_TEST_SERVERS: see tests/servers)
//! - `seeds`: what the fuzz targets start from
//! - `squad`: questions about passages, from the published files to a score of logits
//! - `tokens`: answers token by token, from whole systems
//! - `transport`: a transport that neither end knows
//! - `verdict`: nothing says VALID without a whole measurement: losses, stalls, full disks, killed runs
//! - `wire`: what crosses the network, and what never does
//! - `system_desc`: the machines and the network as the submission rules want them described
//! - `tidy`: the repository's own rules
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod answers;
mod audit;
mod bandwidth;
mod capi;
mod ceilings;
mod compare;
mod conformance;
mod dashboard;
mod datasets;
mod demo;
mod division;
mod documents;
mod export;
mod fabric;
mod fault_points;
mod first_hour;
mod fleet;
mod forged;
mod full_pass;
mod help;
mod input;
mod kserve;
mod list;
mod live;
mod log;
mod loss;
mod many_nodes;
mod matrix;
mod metrics;
mod mistakes;
mod nemesis;
mod nodes;
mod openai;
mod overload;
mod peers;
mod pipeline;
mod probe;
mod recover;
mod reference;
mod report;
mod rest;
mod schemas;
mod security;
mod seeds;
mod servers;
mod squad;
mod strangers;
mod sut;
mod system_desc;
mod tidy;
mod tokens;
mod transport;
mod two_nodes;
mod unusual_runs;
mod verdict;
mod wire;
