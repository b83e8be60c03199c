//! The physical limit of SingleStream: blocking TCP, one request of `size` bytes, eight back.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use anyhow::Result;

use super::common::{ANSWER, payloads};
use crate::stats::percentile;

/// Answers one connection.
pub(crate) fn serve(listener: &TcpListener, size: usize) -> Result<()> {
    let (mut stream, _) = listener.accept()?;
    stream.set_nodelay(true)?;
    let mut request = vec![0; size];
    while stream.read_exact(&mut request).is_ok() {
        stream.write_all(&[0; ANSWER])?;
    }
    Ok(())
}

/// Median round trip, ns. The first tenth of the time warms up.
pub(crate) fn drive(address: SocketAddr, size: usize, seconds: f64) -> Result<f64> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let (requests, mut answer) = (payloads(size), [0; ANSWER]);
    let [warm, whole] = [seconds / 10.0, seconds].map(Duration::from_secs_f64);
    let begin = Instant::now();
    let mut times_ns = Vec::new();
    for request in requests.iter().cycle() {
        let start = Instant::now();
        if start - begin > whole {
            break;
        }
        stream.write_all(request)?;
        stream.read_exact(&mut answer)?;
        if start - begin > warm {
            times_ns.push(start.elapsed().as_nanos() as u64);
        }
    }
    Ok(percentile(&mut times_ns, 0.5) as f64)
}
