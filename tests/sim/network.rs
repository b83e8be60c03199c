//! The simulated network: hosts that listen or do not, and how a connection to one is made.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use lon_net::socket::{Connecting, Network, Socket};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::mpsc;

use crate::pipe::{End, Link};
use crate::record::{Happened, Record};
use crate::rng::Rng;

/// Wait before a connection attempt is repeated.
const RETRY: Duration = Duration::from_secs(1);

/// Where the connections of a host go.
pub(crate) type Door = mpsc::Sender<(Socket, SocketAddr)>;

/// All hosts, and the links to them.
#[derive(Clone, Debug)]
pub(crate) struct Net(Arc<Mutex<Hosts>>);

#[derive(Debug)]
struct Hosts {
    rng: Rng,
    hosts: BTreeMap<String, Host>,
    /// Number of connections, of a thousand, that come twice.
    doubled: u64,
}

#[derive(Debug)]
struct Host {
    link: Arc<Link>,
    /// Sender of connections to the listener of this host. Is `None` while nothing listens there.
    door: Option<Door>,
}

impl Net {
    pub(crate) fn new(rng: Rng, doubled: u64) -> Net {
        Net(Arc::new(Mutex::new(Hosts { rng, hosts: BTreeMap::new(), doubled })))
    }

    fn lock(&self) -> MutexGuard<'_, Hosts> {
        self.0.lock().unwrap()
    }

    pub(crate) fn add(&self, address: &str, record: &Record, latency: Duration, jitter_ms: u64) -> Arc<Link> {
        let link = Arc::new(Link::new(record.clone(), latency, jitter_ms));
        let host = Host { link: Arc::clone(&link), door: None };
        self.lock().hosts.insert(address.to_owned(), host);
        link
    }

    /// From here on connections to this address go through `door`; with `None` they are refused.
    pub(crate) fn listen(&self, address: &str, door: Option<Door>) {
        if let Some(host) = self.lock().hosts.get_mut(address) {
            host.door = door;
        }
    }

    async fn reach(&self, address: &str) -> io::Result<End> {
        let unknown = || io::Error::new(io::ErrorKind::NotFound, "no such host");
        let link = self.lock().hosts.get(address).map(|host| Arc::clone(&host.link)).ok_or_else(unknown)?;
        loop {
            tokio::time::sleep(2 * link.latency()).await;
            if !link.is_dark() {
                let mut hosts = self.lock();
                let (rng, ghost) = (hosts.rng.split(), hosts.doubled > 0);
                let is_doubled = ghost && {
                    let often = hosts.doubled;
                    hosts.rng.chance(often)
                };
                let mut ghost_rng = hosts.rng.split();
                let Some(door) = &hosts.hosts[address].door else { return Err(refused()) };
                let (near, far) = link.connect(rng);
                match door.try_send((Socket::Brought(Box::new(far)), ([10, 0, 0, 1], 40_000).into())) {
                    Ok(()) => {
                        link.record.note(Happened::Connected, 0, 0);
                        if is_doubled {
                            let (again, far) = link.connect(ghost_rng.split());
                            if door.try_send((Socket::Brought(Box::new(far)), ([10, 0, 0, 1], 40_001).into())).is_ok() {
                                tokio::spawn(repeat(Arc::clone(near.wire()), again, ghost_rng));
                            }
                        }
                        return Ok(near);
                    }
                    Err(mpsc::error::TrySendError::Closed(_)) => return Err(refused()),
                    // The backlog is full; the system asks again.
                    Err(mpsc::error::TrySendError::Full(_)) => {}
                }
            }
            tokio::time::sleep(RETRY).await;
        }
    }
}

fn refused() -> io::Error {
    io::ErrorKind::ConnectionRefused.into()
}

/// A connection that came twice: says what the first one has said, or part of it, and goes away.
async fn repeat(first: Arc<crate::pipe::Wire>, mut again: End, mut rng: Rng) {
    tokio::time::sleep(rng.millis(0..1500)).await;
    let mut bytes = first.first();
    if rng.chance(500) && !bytes.is_empty() {
        bytes.truncate(rng.within(0..bytes.len() as u64) as usize);
    }
    drop(first);
    if again.write_all(&bytes).await.is_ok() {
        let mut heard = [0; 512];
        let listening = async { while again.read(&mut heard).await.is_ok_and(|count| count > 0) {} };
        let _ = tokio::time::timeout(rng.millis(0..3000), listening).await;
    }
}

impl Network for Net {
    fn connect<'a>(&'a self, address: &'a str) -> Connecting<'a> {
        Box::pin(async move { Ok(Socket::Brought(Box::new(self.reach(address).await?))) })
    }
}
