//! A transport that the crate does not know: one implementation of `Carry` is all it takes.

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

use crate::peer::Peer;
use crate::peer::caller::{ReplySink, differences, drivers, sample};
use crate::peer::framed::socket_path;
use qdl::{
    Carry, Config, ConnectError, Driver, Endpoint, LaneTask, NodeIndex, Outcome, PeerKind, Peers, Policy, Qdl,
    RunConfig, Transport,
};
use tokio::net::UnixStream;
use tokio::task::JoinSet;

const SAMPLES: u64 = 200;

/// Transport of framed messages over a Unix-domain socket, for nodes on the same host.
#[derive(Debug)]
struct Unix;

const UNIX: Transport = Transport::new(&Unix);

impl Carry for Unix {
    fn name(&self) -> &'static str {
        "unix"
    }

    fn help(&self) -> &'static str {
        "Unix-domain sockets"
    }

    fn protocol(&self) -> &'static str {
        "Unix-domain socket"
    }

    fn lanes_per_connection(&self) -> NonZeroUsize {
        const { NonZeroUsize::new(2).unwrap() }
    }

    fn carry(&self, endpoint: Endpoint, lanes: Vec<LaneTask>, tasks: &mut JoinSet<()>) -> Result<(), ConnectError> {
        let path = socket_path(&endpoint.address().to_string());
        for lane in lanes {
            tasks.spawn(lane.carry_over(UnixStream::connect(path.clone())));
        }
        Ok(())
    }
}

fn connect(peer: &Peer) -> Qdl {
    let address = peer.address.to_string().parse().unwrap();
    Qdl::connect(Config::new(Peers::sut_nodes(vec![address], UNIX))).unwrap()
}

#[test]
fn a_run_goes_over_a_transport_that_is_defined_outside_the_crate() {
    for driver in drivers() {
        let peer = Peer::start(false);
        let _socket = peer.listen_on_unix_socket();
        let sink = Arc::new(ReplySink::default());
        let config = RunConfig::new(Policy::Pull, driver);
        let run = connect(&peer).start(&config, Arc::clone(&sink) as _).unwrap();
        assert_eq!(run.lanes(NodeIndex(0)), 2, "as many as the transport says");
        run.issue((0..SAMPLES).map(|id| sample(id, 1)), Instant::now());
        sink.wait(&run, SAMPLES as usize);
        let report = run.end().remove(0);
        for reply in sink.0.lock().unwrap().iter() {
            let Outcome::Done(answer) = &reply.outcome else { panic!("{reply:?}") };
            assert_eq!(answer.data, sample(reply.id.0, 1).payload);
        }
        assert_eq!(differences(&report), Vec::<String>::new(), "{driver:?}");
        assert_eq!((report.counts.samples_sent, report.peer_kind), (SAMPLES, PeerKind::SUT_NODE));
        assert!(report.counts.other_bytes_out > 0 && report.counts.other_bytes_in > 0, "Open, and its acceptance");
        // Streams that are left from the run before would count here.
        assert_eq!(peer.heard().samples.iter().sum::<u64>(), SAMPLES);
    }
}

#[test]
fn a_stream_that_cannot_be_opened_names_its_node() {
    let peer = Peer::start(false);
    let config = RunConfig::new(Policy::LeastOutstanding, Driver::Inline);
    let refused = connect(&peer).start(&config, Arc::new(ReplySink::default())).err().unwrap();
    let text = refused.to_string();
    assert!(matches!(refused, ConnectError::Stream { .. }) && text.contains("N1"), "{text}");
}

#[test]
fn transports_are_known_by_their_names() {
    let names: HashSet<&str> = Transport::ALL.iter().map(|transport| transport.name()).collect();
    assert_eq!(names, HashSet::from(["grpc", "quic", "tcp", "kserve"]));
    assert!(!Transport::ALL.contains(&UNIX) && UNIX == Transport::new(&Unix));
}

#[test]
fn nodes_of_another_kind_are_refused_before_anything_is_sent() {
    let nowhere = vec!["192.0.2.1:1".parse().unwrap()];
    let refused = Qdl::connect(Config::new(Peers::sut_nodes(nowhere, Transport::KSERVE))).err().unwrap();
    assert!(matches!(refused, ConnectError::WrongTransport { transport: "kserve" }), "{refused}");
}
