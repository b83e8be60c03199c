//! The SUT node's program: which backends there are, and the command line. What a node is, is in the library lon-sut.
//!
//! - `cli`: the command line: flags and commands.

use std::process::ExitCode;

use lon_sut::backend::Backends;

mod cli;

/// Large buffers come and go on several threads here; see the workspace's Cargo.toml.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::main(&Backends::new().with(lon_onnx::KIND))
}
