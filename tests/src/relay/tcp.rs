//! The connections of a relay.

use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

use super::path::{Heading, RUBBISH, RelayPath};

/// Bytes that are read at once.
const BLOCK: usize = 64 << 10;

/// Accepts and carries connections until it is dropped.
pub(super) async fn carry(listener: std::net::TcpListener, path: &Arc<RelayPath>) {
    listener.set_nonblocking(true).expect("a listener");
    let listener = TcpListener::from_std(listener).expect("a listener");
    loop {
        // Out of descriptors, a test has found what it looked for; the next caller may have more luck.
        let Ok((caller, _)) = listener.accept().await else { continue };
        tokio::spawn(connect(caller, Arc::clone(path)));
    }
}

/// Carries one connection. A node that refuses is a connection that ends.
async fn connect(caller: TcpStream, path: Arc<RelayPath>) {
    path.open().await;
    let Ok(node) = TcpStream::connect(path.node).await else { return };
    for stream in [&caller, &node] {
        let _ = stream.set_nodelay(true);
    }
    let ((from_caller, to_caller), (from_node, to_node)) = (caller.into_split(), node.into_split());
    tokio::spawn(pass(from_caller, to_node, Arc::clone(&path), Heading::Node));
    pass(from_node, to_caller, path, Heading::LoadGen).await;
}

/// Passes bytes on until there are no more, or an end is gone.
async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, path: Arc<RelayPath>, heading: Heading) {
    let mut resets = path.resets.subscribe();
    let mut bytes = vec![0; BLOCK];
    loop {
        let count = tokio::select! {
            _ = resets.changed() => {
                // With nothing to wait for, the kernel sends a reset when both halves are gone.
                let _ = from.as_ref().set_zero_linger();
                let _ = to.as_ref().set_zero_linger();
                // A plain drop of the write half would send an orderly end first.
                to.forget();
                return;
            }
            count = read(&mut from, &mut bytes, &path) => count,
        };
        if count == 0 {
            let _ = to.shutdown().await;
            return;
        }
        if path.spoiled(heading).swap(false, std::sync::atomic::Ordering::Relaxed) {
            let _ = to.write_all(&RUBBISH).await;
        }
        if to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}

/// The next bytes that may pass; none: the end.
async fn read(from: &mut OwnedReadHalf, bytes: &mut [u8], path: &RelayPath) -> usize {
    path.open().await;
    let count = from.read(bytes).await.unwrap_or(0);
    if !path.delay().is_zero() {
        tokio::time::sleep(path.delay()).await;
    }
    // Bytes that came while the path was cut wait, and so does the news of an end.
    path.open().await;
    count
}
