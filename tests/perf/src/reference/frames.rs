//! Length-prefixed frames over any byte stream, a few in flight: what the TCP and the QUIC reference share.

use std::time::{Duration, Instant};

use anyhow::Result;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::Semaphore;

use super::common::{ANSWER, IN_FLIGHT, payloads};

/// Reads each frame into memory and answers it, until the stream ends.
pub(crate) async fn serve(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) -> Result<()> {
    let (mut length, mut frame) = ([0; 4], Vec::new());
    while from.read_exact(&mut length).await.is_ok() {
        frame.resize(u32::from_le_bytes(length) as usize, 0);
        from.read_exact(&mut frame).await?;
        to.write_all(&[0; ANSWER]).await?;
    }
    Ok(())
}

/// Frames answered per second.
pub(crate) async fn drive(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    size: usize,
    seconds: f64,
) -> Result<f64> {
    let frame = |payload: Vec<u8>| [&(payload.len() as u32).to_le_bytes()[..], &payload].concat();
    let frames: Vec<Vec<u8>> = payloads(size).into_iter().map(frame).collect();
    let room = Semaphore::new(IN_FLIGHT);
    let begin = Instant::now();
    let end = begin + Duration::from_secs_f64(seconds);
    let send = async {
        let mut sent = 0_u64;
        for frame in frames.iter().cycle() {
            room.acquire().await?.forget();
            if Instant::now() > end {
                break;
            }
            to.write_all(frame).await?;
            sent += 1;
        }
        to.shutdown().await?;
        Ok::<_, anyhow::Error>(sent)
    };
    let receive = async {
        let (mut answer, mut received, mut last) = ([0; ANSWER], 0_u64, begin);
        while from.read_exact(&mut answer).await.is_ok() {
            room.add_permits(1);
            received += 1;
            last = Instant::now();
        }
        Ok((received, last))
    };
    let (sent, (received, last)) = tokio::try_join!(send, receive)?;
    anyhow::ensure!(sent == received, "{received} of {sent} frames were answered");
    Ok(received as f64 / (last - begin).as_secs_f64())
}
