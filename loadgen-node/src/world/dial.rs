//! From `--sut` and the flags beside it to nodes that have been reached.

use anyhow::Context as _;
use qdl::{Config, Qdl};

use super::{kserve, security};
use crate::cli::{DialArgs, KserveArgs};
use crate::exit::{Exit, OrExit as _, Outcome};

/// Reaches every node. What is wrong with the flags is found before anything is sent.
pub(crate) fn dial(args: &DialArgs, kserve: &KserveArgs) -> Outcome<Qdl> {
    let peers = kserve::peers(args, kserve).context("--sut").or_exit(Exit::Usage)?;
    let tls = security::tls(&args.security, peers.transport(), peers.addresses()).or_exit(Exit::Usage)?;
    let host = nix::unistd::gethostname().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut config = Config::new(peers);
    config.client = format!("{host} (pid {})", std::process::id());
    config.wait_ready = args.wait_ready;
    config.tls = tls;
    if !args.wait_ready.is_zero() {
        tracing::info!("waiting for SUT nodes at {}, {:?} at most", args.sut, args.wait_ready);
    }
    Qdl::connect(config).or_exit(Exit::Network)
}
