//! Where names lead: the one place where they are looked up, and where it is decided whether what is found may be
//! dialled. Whoever dials goes to the very addresses that were found, so that a name that moves meanwhile leads nowhere
//! else.

use std::fmt::Debug;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::tls::host_of;

/// The longest time for the answer of a name service.
const PATIENCE: Duration = Duration::from_secs(5);

/// A service that knows the addresses of names.
pub trait NameService: Debug + Send + Sync {
    /// The addresses of a host, each with this port. Takes as long as it takes.
    ///
    /// # Errors
    /// It has none, or is not known.
    fn addresses(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>>;
}

/// The name service of the operating system.
#[derive(Debug)]
struct System;

impl NameService for System {
    fn addresses(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        (host, port).to_socket_addrs().map(Iterator::collect)
    }
}

/// The lookup of names, and the rule for addresses that may be dialled.
#[derive(Clone, Debug)]
pub struct Lookup {
    service: Arc<dyn NameService>,
    patience: Duration,
    /// True when only this host may be dialled.
    stays_here: bool,
}

/// Why a name cannot be dialled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    /// The name service says nothing.
    #[error("no answer from the name service within {patience:?} for {name}")]
    Silent {
        /// The name that was asked for.
        name: String,
        /// The time that it had.
        patience: Duration,
    },
    /// There is nothing of this name.
    #[error("{name} has no address: {reason}")]
    NoAddress {
        /// The name that was asked for.
        name: String,
        /// The reason that the system gives.
        reason: String,
    },
    /// There is no thread to ask with. Nothing is known of the name.
    #[error("cannot start a thread to look {name} up: {reason}")]
    Thread {
        /// The name that was to be asked for.
        name: String,
        /// The reason that the system gives.
        reason: String,
    },
    /// It leads to another host, which may not be dialled.
    #[error("{name} is another host ({address})")]
    Elsewhere {
        /// Where the caller wanted to go.
        name: String,
        /// The first address that is not one of this host.
        address: SocketAddr,
    },
}

impl From<LookupError> for io::Error {
    fn from(error: LookupError) -> io::Error {
        let kind = match error {
            LookupError::Silent { .. } => io::ErrorKind::TimedOut,
            LookupError::NoAddress { .. } => io::ErrorKind::NotFound,
            LookupError::Thread { .. } => io::ErrorKind::Other,
            LookupError::Elsewhere { .. } => io::ErrorKind::PermissionDenied,
        };
        io::Error::new(kind, error)
    }
}

impl Lookup {
    /// All addresses may be dialled.
    pub fn anywhere() -> Lookup {
        Lookup::of(Arc::new(System), PATIENCE)
    }

    /// Only addresses that [stay on this host](stays_on_host): what is sent there may be plain text.
    pub fn on_this_host() -> Lookup {
        Lookup::anywhere().stay_here()
    }

    /// This name service, which may take so long.
    pub fn of(service: Arc<dyn NameService>, patience: Duration) -> Lookup {
        Lookup { service, patience, stays_here: false }
    }

    /// From here on another host is an error.
    pub fn stay_here(self) -> Lookup {
        Lookup { stays_here: true, ..self }
    }

    /// The addresses of `HOST:PORT` (or `[ADDRESS]:PORT`), at least one. Every one of them may be dialled.
    ///
    /// # Errors
    /// There is none, the name service says nothing, or one of them may not be dialled.
    pub async fn find(&self, host_and_port: &str) -> Result<Vec<SocketAddr>, LookupError> {
        if let Ok(address) = host_and_port.parse() {
            return self.allowed(host_and_port, vec![address]);
        }
        let (sender, answer) = oneshot::channel();
        self.ask(host_and_port, move |outcome| drop(sender.send(outcome)))?;
        // The thread has panicked where nothing is told.
        let answer =
            tokio::time::timeout(self.patience, answer).await.map(|outcome| outcome.unwrap_or_else(|_| gone()));
        self.addresses_of(host_and_port, answer.ok())
    }

    /// The same, for callers that wait.
    ///
    /// # Errors
    /// Those of [`Lookup::find`].
    pub fn find_now(&self, host_and_port: &str) -> Result<Vec<SocketAddr>, LookupError> {
        if let Ok(address) = host_and_port.parse() {
            return self.allowed(host_and_port, vec![address]);
        }
        let (sender, answer) = mpsc::channel();
        self.ask(host_and_port, move |outcome| drop(sender.send(outcome)))?;
        let answer = match answer.recv_timeout(self.patience) {
            Ok(outcome) => Some(outcome),
            Err(mpsc::RecvTimeoutError::Timeout) => None,
            Err(mpsc::RecvTimeoutError::Disconnected) => Some(gone()),
        };
        self.addresses_of(host_and_port, answer)
    }

    /// Asks on a thread of its own, which nobody waits for when the name service says nothing.
    fn ask(
        &self,
        host_and_port: &str,
        tell: impl FnOnce(io::Result<Vec<SocketAddr>>) + Send + 'static,
    ) -> Result<(), LookupError> {
        let none = |reason: String| LookupError::NoAddress { name: host_and_port.to_owned(), reason };
        let host = host_of(host_and_port).map_err(|error| none(error.to_string()))?.to_owned();
        let port = host_and_port.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
        let port = port.ok_or_else(|| none("it has no port".to_owned()))?;
        let service = Arc::clone(&self.service);
        let thread = std::thread::Builder::new().name("lookup".to_owned());
        let handle = thread.spawn(move || tell(service.addresses(&host, port)));
        let no_thread =
            |error: io::Error| LookupError::Thread { name: host_and_port.to_owned(), reason: error.to_string() };
        handle.map(drop).map_err(no_thread)
    }

    /// Returns the addresses that the name service gave. `answer` is `None` when it said nothing.
    fn addresses_of(
        &self,
        name: &str,
        answer: Option<io::Result<Vec<SocketAddr>>>,
    ) -> Result<Vec<SocketAddr>, LookupError> {
        let no_address = |reason| Err(LookupError::NoAddress { name: name.to_owned(), reason });
        match answer {
            None => Err(LookupError::Silent { name: name.to_owned(), patience: self.patience }),
            Some(Err(error)) => no_address(error.to_string()),
            Some(Ok(none)) if none.is_empty() => no_address("none was found".to_owned()),
            Some(Ok(addresses)) => self.allowed(name, addresses),
        }
    }

    fn allowed(&self, name: &str, addresses: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, LookupError> {
        match addresses.iter().find(|address| self.stays_here && !stays_on_host(address.ip())) {
            None => Ok(addresses),
            Some(address) => Err(LookupError::Elsewhere { name: name.to_owned(), address: *address }),
        }
    }
}

fn gone<T>() -> io::Result<T> {
    Err(io::Error::other("the thread that looked it up panicked"))
}

/// Returns true when bytes for this address stay on this host, so that plain text is allowed. Such addresses are
/// loopback addresses, also those that IPv6 maps to IPv4.
pub fn stays_on_host(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Knows one name.
    #[derive(Debug)]
    struct FixedNames(Vec<SocketAddr>);

    impl NameService for FixedNames {
        fn addresses(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
            match host {
                "node" => Ok(self.0.iter().map(|address| SocketAddr::new(address.ip(), port)).collect()),
                _ => Err(io::ErrorKind::NotFound.into()),
            }
        }
    }

    fn lookup_of(addresses: &[&str]) -> Lookup {
        let addresses = addresses.iter().map(|address| SocketAddr::new(address.parse().unwrap(), 0)).collect();
        Lookup::of(Arc::new(FixedNames(addresses)), Duration::from_secs(300))
    }

    /// Says nothing until the test is over.
    #[derive(Debug)]
    struct Mute;

    impl NameService for Mute {
        fn addresses(&self, _: &str, _: u16) -> io::Result<Vec<SocketAddr>> {
            loop {
                std::thread::park();
            }
        }
    }

    #[tokio::test]
    async fn both_ways_to_ask_find_the_same() {
        let lookup = lookup_of(&["127.0.0.1", "192.0.2.7"]);
        for name in ["node:7", "other:7", "node", "[::1]:7", "192.0.2.1:9"] {
            assert_eq!(lookup.find(name).await, lookup.find_now(name), "{name}");
        }
        let addresses = ["127.0.0.1:7", "192.0.2.7:7"].map(|address| address.parse().unwrap());
        assert_eq!(lookup.find("node:7").await.unwrap(), addresses);
        let message = lookup.find("other:7").await.unwrap_err().to_string();
        assert!(message.starts_with("other:7 has no address: "), "{message}");
        assert!(lookup_of(&[]).find("node:7").await.unwrap_err().to_string().ends_with("none was found"));
    }

    #[tokio::test]
    async fn one_address_elsewhere_is_enough_to_be_another_host() {
        let here = lookup_of(&["127.0.0.1", "::1"]).stay_here();
        assert_eq!(here.find("node:7").await.unwrap().len(), 2);
        let name = || "node:7".to_owned();
        let address = "192.0.2.7:7".parse().unwrap();
        let elsewhere = lookup_of(&["127.0.0.1", "192.0.2.7"]).stay_here().find("node:7").await;
        assert_eq!(elsewhere, Err(LookupError::Elsewhere { name: name(), address }));
        let plain = Lookup::on_this_host().find("192.0.2.7:7").await;
        assert_eq!(plain.unwrap_err().to_string(), "192.0.2.7:7 is another host (192.0.2.7:7)");
    }

    #[tokio::test]
    async fn a_name_service_that_says_nothing_is_named() {
        let lookup = Lookup::of(Arc::new(Mute), Duration::from_millis(10));
        let message = "no answer from the name service within 10ms for node:7";
        assert_eq!(lookup.find("node:7").await.unwrap_err().to_string(), message);
        assert_eq!(lookup.find_now("node:7").unwrap_err().to_string(), message);
        assert_eq!(lookup.find("127.0.0.1:7").await.unwrap().len(), 1, "nobody is asked");
    }

    #[test]
    fn only_loopback_stays_on_the_host() {
        for here in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"] {
            assert!(stays_on_host(here.parse().unwrap()), "{here}");
        }
        for elsewhere in ["192.0.2.7", "0.0.0.0", "::", "::ffff:192.0.2.7"] {
            assert!(!stays_on_host(elsewhere.parse().unwrap()), "{elsewhere}");
        }
    }
}
