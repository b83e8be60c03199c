//! The bare references, each a process or two of its own.
//!
//! They do what the product's transport has to do at least, and nothing else. Payloads are distinct where their bytes
//! have to be read from memory: a sender that repeats one payload reads it from the cache.

mod framed;
mod messages;
mod ping_pong;
mod pipeline;
mod quic;
mod sleeper;
mod stream_tls;
mod unary;

pub(crate) mod iperf;
pub(crate) mod tls;

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use tokio::runtime::Runtime;

use crate::args::{Drive, Kind, Reference, Serve};

/// Requests that may be without an answer, for all references that pipeline large ones: enough to keep both sides busy,
/// few enough that what is sent does not fall out of the cache before it is received, which costs more than it brings.
const IN_FLIGHT: usize = 4;
/// Distinct payloads.
const PAYLOADS: usize = 64;
/// Bytes of every answer.
const ANSWER: usize = 8;

/// Runs a process of a reference.
pub(crate) fn run(command: Reference) -> Result<()> {
    // A parent that is killed cannot end what it started.
    set_pdeathsig(Signal::SIGKILL)?;
    let number = match command {
        Reference::Serve(args) => return serve(&args),
        Reference::Drive(args) => drive(&args)?,
        Reference::Sleep(args) => sleeper::run(args.rate, args.seconds)?,
    };
    writeln!(std::io::stdout(), "{number}").context("standard output")
}

fn serve(args: &Serve) -> Result<()> {
    let file = |path: &Option<PathBuf>| path.clone().context("--tls-cert and --tls-key");
    let files = || Ok::<_, anyhow::Error>((file(&args.tls_cert)?, file(&args.tls_key)?));
    match args.kind {
        Kind::PingPong => ping_pong::serve(&listen()?, args.size),
        Kind::Pipeline => runtime()?.block_on(pipeline::serve(listen()?)),
        Kind::Unary => runtime()?.block_on(unary::serve(listen()?)),
        Kind::StreamTls => {
            let (certificate, key) = files()?;
            runtime()?.block_on(stream_tls::serve(listen()?, &certificate, &key))
        }
        Kind::Quic => {
            let (certificate, key) = files()?;
            runtime()?.block_on(quic::serve(&certificate, &key))
        }
    }
}

/// A TCP port of its own, announced: connections that come before anyone accepts them wait.
fn listen() -> Result<TcpListener> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    announce(listener.local_addr()?)?;
    Ok(listener)
}

fn drive(args: &Drive) -> Result<f64> {
    let Drive { kind, address, size, seconds, tls_ca } = args;
    let authority = || tls_ca.as_deref().context("--tls-ca");
    match kind {
        Kind::PingPong => ping_pong::drive(*address, *size, *seconds),
        Kind::Pipeline => runtime()?.block_on(pipeline::drive(*address, *size, *seconds)),
        Kind::Unary => runtime()?.block_on(unary::drive(*address, *size, *seconds)),
        Kind::StreamTls => runtime()?.block_on(stream_tls::drive(*address, *size, *seconds, authority()?)),
        Kind::Quic => runtime()?.block_on(quic::drive(*address, *size, *seconds, authority()?)),
    }
}

/// Tells the parent where the answering side is.
fn announce(address: SocketAddr) -> Result<()> {
    writeln!(std::io::stdout(), "{address}").context("standard output")
}

/// One thread: a second one only adds hand-overs on a machine of two cores.
fn runtime() -> Result<Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().context("tokio")
}

/// [`PAYLOADS`] payloads of `size` bytes, no two alike, nothing in them to compress.
fn payloads(size: usize) -> Vec<Vec<u8>> {
    let mut numbers = sleeper::Random::new(1);
    let mut payload = || {
        let mut bytes: Vec<u8> = (0..size.div_ceil(8)).flat_map(|_| numbers.next().to_le_bytes()).collect();
        bytes.truncate(size);
        bytes
    };
    (0..PAYLOADS).map(|_| payload()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_are_distinct() {
        let mut payloads = payloads(13);
        assert!(payloads.iter().all(|payload| payload.len() == 13));
        payloads.sort_unstable();
        payloads.dedup();
        assert_eq!(payloads.len(), PAYLOADS);
    }
}
