//! The packets of a relay.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use tokio::net::UdpSocket;
use tokio::task::JoinHandle;

use super::path::{Heading, RUBBISH, RelayPath};

/// The largest packet of UDP.
const PACKET: usize = 64 << 10;

/// A caller's own way to the node; its way back ends with it.
struct Caller {
    socket: Arc<UdpSocket>,
    back: JoinHandle<()>,
}

impl Drop for Caller {
    fn drop(&mut self) {
        self.back.abort();
    }
}

/// Carries packets until it is dropped.
pub(super) async fn carry(socket: std::net::UdpSocket, path: &Arc<RelayPath>) {
    socket.set_nonblocking(true).expect("a socket");
    let listener = Arc::new(UdpSocket::from_std(socket).expect("a socket"));
    let mut callers: HashMap<SocketAddr, Caller> = HashMap::new();
    let mut resets = path.resets.subscribe();
    let mut packet = vec![0; PACKET];
    let mut number = 0;
    loop {
        let received = tokio::select! {
            _ = resets.changed() => {
                callers.clear();
                continue;
            }
            received = listener.recv_from(&mut packet) => received,
        };
        // An error is a packet that could not be delivered earlier, which is usual for UDP.
        let Ok((count, from)) = received else { continue };
        let caller = match callers.entry(from) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(place) => {
                let Ok(caller) = call(&listener, from, path).await else { continue };
                place.insert(caller)
            }
        };
        pass(&packet[..count], &mut number, path, Heading::Node, &caller.socket, path.node).await;
    }
}

async fn call(listener: &Arc<UdpSocket>, caller: SocketAddr, path: &Arc<RelayPath>) -> std::io::Result<Caller> {
    let socket = Arc::new(UdpSocket::bind("127.0.0.1:0").await?);
    let (listener, from, path) = (Arc::clone(listener), Arc::clone(&socket), Arc::clone(path));
    let back = tokio::spawn(async move {
        let mut packet = vec![0; PACKET];
        let mut number = 0;
        loop {
            let Ok((count, _)) = from.recv_from(&mut packet).await else {
                // The node does not listen. The next packet to the node brings the same error again.
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
                continue;
            };
            pass(&packet[..count], &mut number, &path, Heading::LoadGen, &listener, caller).await;
        }
    });
    Ok(Caller { socket, back })
}

/// Sends a packet on when it is due, unless it is one that is lost.
async fn pass(
    packet: &[u8],
    number: &mut u64,
    path: &RelayPath,
    heading: Heading,
    socket: &Arc<UdpSocket>,
    to: SocketAddr,
) {
    *number += 1;
    if !*path.is_open.borrow() || number.is_multiple_of(path.lost_every.load(Relaxed)) {
        return;
    }
    if path.spoiled_packets(heading).swap(false, Relaxed) {
        let _ = socket.send_to(&RUBBISH, to).await;
    }
    let delay = path.delay();
    if delay.is_zero() {
        let _ = socket.send_to(packet, to).await;
        return;
    }
    let (packet, socket) = (packet.to_vec(), Arc::clone(socket));
    tokio::spawn(async move {
        tokio::time::sleep(delay).await;
        let _ = socket.send_to(&packet, to).await;
    });
}
