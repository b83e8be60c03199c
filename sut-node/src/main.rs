//! The `sut-node` binary: the command line of the library, with all backends that there are.

use std::process::ExitCode;

use lon_sut::backend::Backends;

/// Large buffers come and go on several threads here; see the workspace's Cargo.toml.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    lon_sut::cli::main(&Backends::new().with(lon_onnx::KIND))
}
