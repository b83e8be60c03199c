//! The bare references, each a process or two of its own.
//!
//! They do what the product's transport has to do at least, and nothing else. Payloads are distinct where their bytes
//! have to be read from memory: a sender that repeats one payload reads it from the cache.

mod common;
mod due_times;
mod frames;
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
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use tokio::runtime::Runtime;

use self::common::announce;
use crate::args::{Drive, Kind, Reference, Serve};

/// Runs a process of a reference.
pub(crate) fn run(command: Reference) -> Result<()> {
    // A parent that is killed cannot end what it started.
    set_pdeathsig(Signal::SIGKILL)?;
    let number = match command {
        Reference::Serve(args) => return serve(&args),
        Reference::Drive(args) => drive(&args)?,
        Reference::Sleep(args) => sleeper::run(args.rate, args.seconds)?,
        Reference::DueTimes { processes } => due_times::slowest(&processes)?,
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

/// One thread: a second one only adds hand-overs on a machine of two cores.
fn runtime() -> Result<Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().context("tokio")
}
