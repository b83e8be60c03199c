//! A stretch of network between a LoadGen node and one SUT node, in this process: bytes pass until a test wants
//! otherwise. It needs no root, and works for everything that travels over one TCP port and the UDP port of its number.
//!
//! - `path`: what passes, and what a test wants of it;
//! - `tcp`: connections, each carried by one of the relay's own to the node;
//! - `udp`: packets, each caller's by a socket of its own.

mod path;
mod tcp;
mod udp;

use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use tokio::sync::oneshot;

pub use path::Heading;
use path::RelayPath;

/// A TCP port that is free over UDP, too, is found in so many tries.
const ATTEMPTS: usize = 16;

/// A running relay. When it is dropped, its port is closed and its connections end.
#[derive(Debug)]
pub struct Relay {
    /// Where callers reach the node through it.
    pub address: SocketAddr,
    path: Arc<RelayPath>,
    _stop: oneshot::Sender<()>,
}

impl Relay {
    /// Leads to `node` from a free port of 127.0.0.1.
    pub fn to(node: &str) -> Relay {
        let node: SocketAddr = node.parse().expect("an address and a port");
        let (tcp, udp) = bind();
        let address = tcp.local_addr().expect("its address");
        let path = Arc::new(RelayPath::new(node));
        let (stop, stopped) = oneshot::channel();
        let travelled = Arc::clone(&path);
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                tokio::select! {
                    () = tcp::carry(tcp, &travelled) => {}
                    () = udp::carry(udp, &travelled) => {}
                    // An error: the sender is gone, and with it the relay.
                    _ = stopped => {}
                }
            });
        });
        Relay { address, path, _stop: stop }
    }

    /// From now on nothing passes and nothing is refused, as when a cable is pulled.
    pub fn cut(&self) {
        self.path.is_open.send_replace(false);
    }

    /// Everything passes again. What TCP had sent meanwhile arrives now; packets that UDP had sent are lost.
    pub fn heal(&self) {
        self.path.is_open.send_replace(true);
    }

    /// Ends every connection at once with a reset. For UDP the callers' packets come from other ports from now on.
    pub fn reset(&self) {
        self.path.resets.send_modify(|number| *number += 1);
    }

    /// Everything that passes is late by this. At most 64 kB of a connection are under way at a time.
    pub fn delay(&self, by: Duration) {
        self.path.delay_us.store(by.as_micros() as u64, Relaxed);
    }

    /// Every so many-th packet of UDP is lost. TCP loses nothing.
    pub fn lose_every(&self, packets: u64) {
        self.path.lost_every.store(packets, Relaxed);
    }

    /// Puts 64 bytes of rubbish among what a connection of TCP sends this way next, once.
    pub fn spoil(&self, heading: Heading) {
        self.path.spoiled(heading).store(true, Relaxed);
    }

    /// Sends a packet of 64 bytes of rubbish this way beside the next packet of UDP, once. Connections of TCP, which
    /// carry the calls of a run over QUIC, stay as they are.
    pub fn spoil_packets(&self, heading: Heading) {
        self.path.spoiled_packets(heading).store(true, Relaxed);
    }
}

fn bind() -> (TcpListener, UdpSocket) {
    // Sockets without a UDP partner stay open until a pair is found, or the system would offer the same port again.
    let mut half_taken = Vec::new();
    for _ in 0..ATTEMPTS {
        let tcp = TcpListener::bind("127.0.0.1:0").expect("a free port");
        match UdpSocket::bind(tcp.local_addr().expect("its address")) {
            Ok(udp) => return (tcp, udp),
            Err(_) => half_taken.push(tcp),
        }
    }
    panic!("no port is free for TCP and for UDP");
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Read as _, Write as _};
    use std::net::TcpStream;

    use super::path::RUBBISH;
    use super::*;

    fn echo() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                std::thread::spawn(move || {
                    let mut bytes = [0; 256];
                    while let Ok(count @ 1..) = stream.read(&mut bytes) {
                        stream.write_all(&bytes[..count]).unwrap();
                    }
                });
            }
        });
        address
    }

    #[test]
    fn what_is_cut_passes_when_it_is_healed_and_a_reset_is_a_reset() {
        let relay = Relay::to(&echo().to_string());
        let mut stream = TcpStream::connect(relay.address).unwrap();
        let mut bytes = [0; 4];
        stream.write_all(b"here").unwrap();
        stream.read_exact(&mut bytes).unwrap();
        relay.cut();
        stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        stream.write_all(b"late").unwrap();
        assert_eq!(stream.read(&mut bytes).unwrap_err().kind(), ErrorKind::WouldBlock);
        relay.heal();
        stream.set_read_timeout(None).unwrap();
        stream.read_exact(&mut bytes).unwrap();
        assert_eq!(&bytes, b"late");
        relay.spoil(Heading::Node);
        stream.write_all(b"more").unwrap();
        let mut spoiled = [0; RUBBISH.len() + 4];
        stream.read_exact(&mut spoiled).unwrap();
        assert_eq!((&spoiled[..RUBBISH.len()], &spoiled[RUBBISH.len()..]), (&RUBBISH[..], &b"more"[..]));
        relay.reset();
        assert_eq!(stream.read(&mut bytes).unwrap_err().kind(), ErrorKind::ConnectionReset);
    }

    #[test]
    fn packets_pass_and_some_are_lost() {
        let node = UdpSocket::bind("127.0.0.1:0").unwrap();
        let relay = Relay::to(&node.local_addr().unwrap().to_string());
        let caller = UdpSocket::bind("127.0.0.1:0").unwrap();
        caller.connect(relay.address).unwrap();
        relay.lose_every(2);
        let mut bytes = [0; 8];
        for number in 0..4_u8 {
            caller.send(&[number]).unwrap();
        }
        let heard: Vec<u8> = [0; 2].map(|_| node.recv_from(&mut bytes).map(|_| bytes[0]).unwrap()).to_vec();
        assert_eq!(heard, [0, 2]);
        let (_, from) = {
            caller.send(b"5").unwrap();
            caller.send(b"6").unwrap();
            node.recv_from(&mut bytes).unwrap()
        };
        node.send_to(b"back", from).unwrap();
        assert_eq!(caller.recv(&mut bytes).unwrap(), 4);
    }
}
