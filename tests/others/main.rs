//! Tests that need servers, models and programs of others.
//!
//! Each is ignored by `cargo test` and names what runs it.
//!
//! - `browser`: pages of runs in chromium
//! - `examples`: examples of `--help` that take a model, or python3
//! - `models`: generated models, with ONNX Runtime (needs `ORT_DYLIB_PATH` and `LON_TEST_MODELS`)
//! - `prometheus`: Prometheus and promtool
//! - `readers`: readers of what is exported (needs `LON_TEST_READERS`)
//! - `servers`: inference servers of others (needs `LON_TEST_SERVERS`: see tests/servers)
//! - `terminal`: the dashboard in a real terminal of tmux
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod browser;
mod examples;
mod models;
mod prometheus;
mod readers;
mod servers;
mod terminal;
