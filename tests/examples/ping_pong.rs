//! The physical limit that SingleStream is measured against: blocking TCP, one request of SIZE bytes, eight back.
//!
//! `ping_pong serve ADDRESS SIZE` in one process, `ping_pong ask ADDRESS SIZE ROUNDS` in another; the latter prints
//! p50, p90 and p99 of the round trip. Pin them to separate cores (`taskset`): unpinned results are bimodal.
#![allow(clippy::print_stdout)]

use std::io::{Read as _, Result, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::Instant;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |position: usize| args.get(position).and_then(|text| text.parse::<usize>().ok());
    match (args.first().map(String::as_str), args.get(1), number(2), number(3)) {
        (Some("serve"), Some(address), Some(size), None) => serve(address, size),
        (Some("ask"), Some(address), Some(size), Some(rounds)) => ask(address, size, rounds),
        _ => {
            println!("ping_pong serve ADDRESS SIZE | ping_pong ask ADDRESS SIZE ROUNDS");
            std::process::exit(2);
        }
    }
}

fn serve(address: &str, size: usize) -> Result<()> {
    let (mut stream, _) = TcpListener::bind(address)?.accept()?;
    stream.set_nodelay(true)?;
    let mut request = vec![0; size];
    while stream.read_exact(&mut request).is_ok() {
        stream.write_all(&[0; 8])?;
    }
    Ok(())
}

fn ask(address: &str, size: usize, rounds: usize) -> Result<()> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let (request, mut answer) = (vec![7; size], [0; 8]);
    let mut times_ns = Vec::with_capacity(rounds);
    for round in 0..rounds + rounds / 10 {
        let start = Instant::now();
        stream.write_all(&request)?;
        stream.read_exact(&mut answer)?;
        // The first tenth warms up.
        if round >= rounds / 10 {
            times_ns.push(start.elapsed().as_nanos());
        }
    }
    times_ns.sort_unstable();
    let at = |share: usize| times_ns[(times_ns.len() - 1) * share / 100] as f64 / 1e3;
    println!("p50 {:.1} us, p90 {:.1} us, p99 {:.1} us", at(50), at(90), at(99));
    Ok(())
}
