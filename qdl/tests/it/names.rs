//! Where a node's name leads, and what is dialled.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use crate::peer::Peer;
use crate::peer::caller::{ReplySink, drivers, sample};
use lon_net::lookup::{Lookup, NameService};
use qdl::{Config, ConnectError, Peers, Policy, Qdl, RunConfig, Transport};

/// An address for documentation, which leads nowhere.
const ELSEWHERE: &str = "192.0.2.7:8000";

/// Longer than a busy machine takes for anything.
const LONG: Duration = Duration::from_secs(600);

/// A name that leads from one place to the next, and stays at the last.
#[derive(Debug)]
struct Moving {
    places: Vec<SocketAddr>,
    lookup_count: AtomicUsize,
}

impl Moving {
    fn over(places: &[SocketAddr]) -> Arc<Moving> {
        Arc::new(Moving { places: places.to_vec(), lookup_count: AtomicUsize::new(0) })
    }
}

impl NameService for Moving {
    fn addresses(&self, _: &str, _: u16) -> io::Result<Vec<SocketAddr>> {
        let place = self.lookup_count.fetch_add(1, SeqCst).min(self.places.len() - 1);
        Ok(vec![self.places[place]])
    }
}

/// A name that nobody answers for.
#[derive(Debug)]
struct Mute;

impl NameService for Mute {
    fn addresses(&self, _: &str, _: u16) -> io::Result<Vec<SocketAddr>> {
        loop {
            std::thread::park();
        }
    }
}

fn config(lookup: Lookup) -> Config {
    let mut config = Config::new(Peers::sut_nodes(vec!["node.test:8000".parse().unwrap()], Transport::GRPC));
    config.lookup = lookup;
    config
}

#[test]
fn a_name_is_looked_up_once_and_all_connections_go_there() {
    for driver in drivers() {
        let peer = Peer::start(false);
        let names = Moving::over(&[peer.address, ELSEWHERE.parse().unwrap()]);
        let qdl = Qdl::connect(config(Lookup::of(Arc::clone(&names) as _, LONG).stay_here())).unwrap();
        let ends = qdl.nodes()[0].ends.unwrap();
        assert_eq!((ends.remote, ends.are_here()), (peer.address, true));
        let sink = Arc::new(ReplySink::default());
        let run = qdl.start(&RunConfig::new(Policy::LeastOutstanding, driver), Arc::clone(&sink) as _).unwrap();
        run.issue((0..10).map(|id| sample(id, 1)), Instant::now());
        sink.wait(&run, 10);
        run.end();
        assert_eq!(names.lookup_count.load(SeqCst), 1);
    }
}

#[test]
fn a_name_that_leads_to_another_host_while_it_is_waited_for_is_not_dialled() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let elsewhere: SocketAddr = ELSEWHERE.parse().unwrap();
    let names = Moving::over(&[closed, closed, elsewhere]);
    let mut config = config(Lookup::of(Arc::clone(&names) as _, LONG).stay_here());
    config.wait_ready = LONG;
    let refused = Qdl::connect(config).err().unwrap();
    assert!(matches!(refused, ConnectError::AnotherHost { found, .. } if found == elsewhere), "{refused}");
    assert_eq!(names.lookup_count.load(SeqCst), 3, "it was looked up at each try");
}

#[test]
fn a_name_service_that_says_nothing_is_named() {
    let message =
        Qdl::connect(config(Lookup::of(Arc::new(Mute), Duration::from_millis(10)))).err().unwrap().to_string();
    let why = "no answer from the name service within 10ms for node.test:8000";
    assert_eq!(message, format!("SUT node node.test:8000 cannot be reached: {why}"));
}
