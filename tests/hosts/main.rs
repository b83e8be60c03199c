//! Tests that need several hosts: network namespaces behind links of a known rate (see [`lon_tests::fabric`]).
//!
//! They take root, iproute2 and iperf3, so each is ignored by `cargo test` and names what runs it.
//!
//! - `byte_counts`: bytes of sockets against the counters of interfaces
//! - `campaign`: many runs over nodes on other hosts, killed in the middle
//! - `causes`: what held a run back: link, nodes, their windows, this host
//! - `codecs`: what codecs gain on a link
//! - `fleet`: the nodes of several hosts, started and ended by one file
//! - `links`: links of a known rate, cut links, runs over several hosts
//! - `probe`: what `probe` says of links, compared with iperf3
//! - `probe_between_nodes`: a bad host told from a bad cable
//! - `random_faults`: minutes of faults at random
//! - `whole_division`: the Network division between two machines, with every rule kept (needs `LON_TEST_IMAGENET`)
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod byte_counts;
mod campaign;
mod causes;
mod codecs;
mod fleet;
mod links;
mod probe;
mod probe_between_nodes;
mod random_faults;
mod whole_division;
