//! Runs and probes against a node of a few lines: what is sent, what comes back, what is counted.

use std::io::Read as _;
use std::net::TcpListener;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::peer::caller::{ReplySink, SAMPLE_BYTES, differences, drivers, sample};
use crate::peer::{CORRUPT, Peer};
use lon_proto::codec::Codec;
use qdl::{
    Config, ConnectError, Driver, Failure, KserveServer, NodeIndex, Outcome, Peers, Policy, Qdl, Reply, RunConfig,
    Transport,
};

const SAMPLES: u64 = 200;

fn sut_node(peer: &Peer) -> Peers {
    Peers::sut_nodes(vec![peer.address.to_string().parse().unwrap()], Transport::GRPC)
}

fn connect(peer: &Peer) -> Qdl {
    Qdl::connect(Config::new(sut_node(peer))).unwrap()
}

fn whole_run(codec: Codec, driver: Driver, policy: Policy) {
    let peer = Peer::start(false);
    let qdl = connect(&peer);
    let sink = Arc::new(ReplySink::default());
    let config = RunConfig { response_codec: codec, ..RunConfig::new(policy, driver) };
    let run = qdl.start(&config, Arc::clone(&sink) as _).unwrap();
    run.issue((0..SAMPLES).map(|id| sample(id, 1)), Instant::now());
    sink.wait(&run, SAMPLES as usize);
    let live = run.traffic()[0];
    assert!(live.socket_bytes_out >= live.message_bytes_out && live.message_bytes_out > SAMPLES * SAMPLE_BYTES as u64);
    let report = run.end().remove(0);
    assert_eq!(peer.heard().starts[0].response_codec, codec.to_string());
    for reply in sink.0.lock().unwrap().iter() {
        let Outcome::Done(answer) = &reply.outcome else { panic!("{codec}: {reply:?}") };
        assert_eq!(answer.data, sample(reply.id.0, 1).payload, "{codec}");
        assert_eq!(answer.stages.inflate_ns > 0, !codec.is_none(), "{codec}");
    }
    assert_eq!(differences(&report), Vec::<String>::new(), "{codec} {driver:?}");
    assert_eq!(report.counts.tensor_bytes_in, SAMPLES * SAMPLE_BYTES as u64);
    assert!(report.local.unwrap().is_loopback());
    assert_eq!((report.traffic.retransmits.is_some(), report.counts.other_bytes_out > 0), (true, true));
    assert!(qdl.control_traffic()[0].0 > 0);
}

#[test]
fn both_ends_count_the_same_with_every_codec_and_driver() {
    for name in Codec::NAMES {
        for driver in drivers() {
            whole_run(name.parse().unwrap(), driver, Policy::LeastOutstanding);
            whole_run(name.parse().unwrap(), driver, Policy::Pull);
        }
    }
}

/// With a codec. Without one, there is nothing to be wrong with an answer's bytes.
#[test]
fn an_answer_that_cannot_be_inflated_fails_alone() {
    for name in Codec::NAMES {
        let peer = Peer::start(false);
        let sink = Arc::new(ReplySink::default());
        let response_codec: Codec = name.parse().unwrap();
        let config = RunConfig { response_codec, ..RunConfig::new(Policy::LeastOutstanding, Driver::Inline) };
        let run = connect(&peer).start(&config, Arc::clone(&sink) as _).unwrap();
        run.issue((0..10).map(|id| sample(id, if id == 4 { CORRUPT } else { 1 })), Instant::now());
        sink.wait(&run, 10);
        let report = run.end().remove(0);
        let is_wrong = |reply: &&Reply| matches!(&reply.outcome, Outcome::Failed(Failure::Inflate(_)));
        let replies = sink.0.lock().unwrap();
        let wrong: Vec<_> = replies.iter().filter(is_wrong).map(|reply| reply.id.0).collect();
        let expected = if response_codec.is_none() { vec![] } else { vec![4] };
        assert_eq!((wrong, replies.len()), (expected.clone(), 10), "{name}");
        assert_eq!(report.counts.not_inflated, expected.len() as u64);
    }
}

#[test]
fn a_probe_is_claimed_as_such_and_goes_where_it_is_told() {
    let peer = Peer::start(true);
    let qdl = connect(&peer);
    for driver in drivers() {
        peer.heard().samples.clear();
        let sink = Arc::new(ReplySink::default());
        let mut config = RunConfig::new(Policy::LeastOutstanding, driver);
        config.connections = NonZeroUsize::new(3).unwrap();
        let run = qdl.probe(&config, Arc::clone(&sink) as _).unwrap();
        assert_eq!((run.lanes(NodeIndex(0)), run.lanes(NodeIndex(1))), (3, 0));
        for id in 0..30 {
            run.issue_to(NodeIndex(0), 1, sample(id, 1), Instant::now());
        }
        sink.wait(&run, 30);
        drop(run);
        let mut by_stream = peer.heard().samples.clone();
        by_stream.sort_unstable();
        assert_eq!(by_stream, [0, 0, 30]);
    }
    let heard = peer.heard();
    assert_eq!((heard.probes, heard.starts.len()), (2, 0));
}

#[test]
fn a_node_that_cannot_be_probed_is_named() {
    let peer = Peer::start(false);
    let config = RunConfig::new(Policy::LeastOutstanding, Driver::Inline);
    let refused = connect(&peer).probe(&config, Arc::new(ReplySink::default())).err().unwrap();
    assert!(matches!(refused, ConnectError::CannotProbe { .. }));
    let text = refused.to_string();
    assert!(text.contains(&peer.address.to_string()) && text.contains("cannot be probed"), "{text}");
}

/// A node that still loads its model does so, or something in front of a node.
#[test]
fn a_port_that_accepts_and_says_nothing_is_waited_for() {
    let reach = |wait_ready, peers: fn(&Peer) -> Peers| {
        let peer = Peer::start_after(true, 2);
        let mut config = Config::new(peers(&peer));
        (config.wait_ready, config.call_timeout) = (wait_ready, Duration::from_secs(1));
        Qdl::connect(config)
    };
    let long = Duration::from_secs(600);
    assert_eq!(reach(long, sut_node).unwrap().nodes()[0].name, "N1");
    let hasty = reach(Duration::ZERO, sut_node).err().unwrap();
    assert!(matches!(hasty, ConnectError::Timeout { call: "GetName", .. }), "{hasty}");
    // It turns out to be no server of this protocol, which another attempt would not change.
    let kserve = |peer: &Peer| {
        let address = peer.address.to_string().parse().unwrap();
        Peers::kserve(vec![KserveServer { name: "a".to_owned(), address }], "m".to_owned())
    };
    let other = reach(long, kserve).err().unwrap();
    assert!(matches!(other, ConnectError::NotKserve { .. }), "{other}");
}

/// A node that cannot use its model ends: nobody has to wait for it until the time is over.
#[test]
fn a_node_that_ends_before_it_serves_is_not_waited_for() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let node = std::thread::spawn(move || {
        let (mut waiting, _) = listener.accept().unwrap();
        waiting.read_exact(&mut [0; b"PRI * HTTP/2.0".len()]).unwrap();
    });
    let mut config = Config::new(Peers::sut_nodes(vec![address.to_string().parse().unwrap()], Transport::GRPC));
    config.wait_ready = Duration::from_secs(600);
    let gone = Qdl::connect(config).err().unwrap();
    node.join().unwrap();
    assert!(matches!(gone, ConnectError::Gone { .. }), "{gone}");
    assert!(gone.to_string().contains(&format!("SUT node {address} was there and is gone")), "{gone}");
}
