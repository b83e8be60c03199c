//! The `loadgen-node` binary; everything is in the library.

use std::process::ExitCode;

/// Large buffers come and go on several threads here; see the workspace's Cargo.toml.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    loadgen_node::main()
}
