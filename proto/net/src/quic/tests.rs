//! Two endpoints in one process, over loopback.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use lon_proto::assembly::Part;
use lon_proto::v1::DispatchRequest;
use tonic::{Code, Status};

use super::*;
use crate::flow::{Departures, Fill, Filled, Source as _};
use crate::framing::{Inbound, Incoming, Outbound};
use crate::throwaway::Throwaway;
use crate::tls::TlsFiles;

const PART: usize = 1 << 20;

/// Messages that are all there from the start, then `end`.
struct Script {
    messages: VecDeque<(u64, Bytes)>,
    end: Option<Result<(), Status>>,
}

impl Script {
    fn new(messages: impl IntoIterator<Item = (u64, Bytes)>) -> Script {
        Script { messages: messages.into_iter().collect(), end: Some(Ok(())) }
    }
}

impl Fill for Script {
    fn poll_fill(&mut self, _: &mut Context<'_>, out: &mut Outbound) -> Poll<Filled> {
        Poll::Ready(match self.messages.pop_front() {
            Some((id, data)) => {
                out.push_request(id, Part { number: 0, last: true, total_len: data.len() as u64, data });
                Filled::Some
            }
            None => Filled::End(self.end.take().unwrap()),
        })
    }
}

/// A payload that no shift or mix-up leaves as it is.
fn payload(id: u64, len: usize) -> Bytes {
    (0..len as u64).map(|n| (n.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(id) >> 33) as u8).collect()
}

struct Reader {
    source: QuicSource,
    inbound: Inbound,
}

impl Reader {
    fn new(stream: quinn::RecvStream) -> Reader {
        Reader { source: QuicSource::new(stream), inbound: Inbound::default() }
    }

    async fn next(&mut self) -> Result<Incoming<DispatchRequest>, Status> {
        loop {
            if let Some(incoming) = self.inbound.next_message()? {
                return Ok(incoming);
            }
            poll_fn(|cx| self.source.poll_read(cx, &mut self.inbound)).await?;
        }
    }

    /// Every message until the end, which must be a good one.
    async fn all(mut self) -> Vec<(u64, Bytes)> {
        let mut messages = Vec::new();
        loop {
            match self.next().await.unwrap() {
                Incoming::Message(message, _) => messages.push((message.id, message.data)),
                Incoming::End(how) => {
                    how.unwrap();
                    assert!(self.inbound.is_empty());
                    return messages;
                }
            }
        }
    }
}

struct Pair {
    near: Link,
    far: Connection,
    _node: Endpoint,
}

fn node(tls: &ServerTls) -> (Endpoint, String) {
    let endpoint = server_endpoint(UdpSocket::bind("127.0.0.1:0").unwrap(), tls).unwrap();
    let address = endpoint.local_addr().unwrap().to_string();
    (endpoint, address)
}

async fn met(
    tls: &ServerTls,
    config: &ClientConfig,
) -> (io::Result<Link>, Result<Connection, ConnectionError>, Endpoint) {
    let (node, address) = node(tls);
    let accept = async { node.accept().await.unwrap().await };
    let (near, far) = tokio::join!(connect(&address, config), accept);
    (near, far, node)
}

async fn pair() -> Pair {
    let certificates = Throwaway::new(&["127.0.0.1"]).unwrap();
    let config = client_config(Trust::Verified(&certificates.client().unwrap())).unwrap();
    let (near, far, node) = met(&certificates.server().unwrap(), &config).await;
    let far = far.unwrap();
    welcome(&far);
    Pair { near: near.unwrap(), far, _node: node }
}

#[derive(Default)]
struct Progress(AtomicU64);

impl Departures for Progress {
    fn departed(&self, total: u64, _: Instant) {
        assert!(self.0.swap(total, Relaxed) < total);
    }
}

#[tokio::test]
async fn several_streams_arrive_intact() {
    let pair = pair().await;
    let scripts: Vec<Vec<_>> = (0..4u64)
        .map(|lane| {
            [64, 8 << 10, 150_528, PART, 0, 1]
                .iter()
                .zip(10 * lane..)
                .map(|(&len, id)| (id, payload(id, len)))
                .collect()
        })
        .collect();
    let lane = async |script: &Vec<(u64, Bytes)>| {
        let (mut send, _recv) = pair.near.connection.open_bi().await.unwrap();
        let progress = Progress::default();
        write(&mut send, Script::new(script.clone()), Some(&progress)).await.unwrap();
        let payload: usize = script.iter().map(|(_, data)| data.len()).sum();
        assert!(progress.0.load(Relaxed) > payload as u64);
    };
    let readers = async {
        let mut readers = Vec::new();
        for _ in 0..4 {
            let (_send, recv) = pair.far.accept_bi().await.unwrap();
            readers.push(tokio::spawn(Reader::new(recv).all()));
        }
        for reader in readers {
            let messages = reader.await.unwrap();
            let expected = scripts.iter().find(|script| script[0].0 == messages[0].0).unwrap();
            assert!(messages == *expected);
        }
    };
    let [a, b, c, d] = &scripts[..] else { panic!() };
    tokio::join!(lane(a), lane(b), lane(c), lane(d), readers);
    let statistics = statistics(&pair.near.connection);
    assert!(statistics.bytes_written > 4 * PART as u64 && statistics.packets_sent > 0, "{statistics:?}");
    pair.near.close().await;
    assert!(matches!(pair.far.closed().await, ConnectionError::ApplicationClosed(_)));
}

#[tokio::test]
async fn both_directions_of_a_stream_at_once() {
    let pair = pair().await;
    let messages = |id: u64| vec![(id, payload(id, PART)), (id + 1, payload(id, 9))];
    let near = async {
        let (mut send, recv) = pair.near.connection.open_bi().await.unwrap();
        let (wrote, arrivals) = tokio::join!(write(&mut send, Script::new(messages(1)), None), Reader::new(recv).all());
        wrote.unwrap();
        arrivals
    };
    let far = async {
        let (mut send, recv) = pair.far.accept_bi().await.unwrap();
        let (wrote, arrivals) = tokio::join!(write(&mut send, Script::new(messages(5)), None), Reader::new(recv).all());
        wrote.unwrap();
        arrivals
    };
    let (near, far) = tokio::join!(near, far);
    assert!(near == messages(5) && far == messages(1));
}

/// Two streams are full up to their windows, and nobody reads them: a third is not held up.
#[tokio::test]
async fn a_stream_that_is_not_read_does_not_block_another() {
    let pair = pair().await;
    let large: Vec<_> = (0..8).map(|id| (id, payload(id, PART))).collect();
    let mut writers = Vec::new();
    let mut unread = Vec::new();
    for _ in 0..2 {
        let (mut send, _recv) = pair.near.connection.open_bi().await.unwrap();
        let script = Script::new(large.clone());
        let progress = Arc::new(Progress::default());
        let report = Arc::clone(&progress);
        writers.push(tokio::spawn(async move { write(&mut send, script, Some(&*report)).await }));
        unread.push((pair.far.accept_bi().await.unwrap(), progress));
    }
    // As far as they get: a stream's window.
    while unread.iter().any(|(_, progress)| progress.0.load(Relaxed) < u64::from(STREAM_WINDOW_BYTES)) {
        tokio::task::yield_now().await;
    }
    let (mut send, _recv) = pair.near.connection.open_bi().await.unwrap();
    let small = vec![(77, payload(77, 64))];
    let reader = async { Reader::new(pair.far.accept_bi().await.unwrap().1).all().await };
    let (wrote, arrivals) = tokio::join!(write(&mut send, Script::new(small.clone()), None), reader);
    wrote.unwrap();
    assert!(arrivals == small);
    assert!(writers.iter().all(|writer| !writer.is_finished()));
    for ((_, recv), _) in unread {
        assert!(Reader::new(recv).all().await == large);
    }
    for writer in writers {
        writer.await.unwrap().unwrap();
    }
}

/// A small message that is sent when a large one is well under way arrives before the end of it.
#[tokio::test]
async fn a_small_message_overtakes_a_large_one() {
    let pair = pair().await;
    let large: Vec<_> = (0..32).map(|id| (id, payload(id, PART))).collect();
    let (mut large_send, _r) = pair.near.connection.open_bi().await.unwrap();
    let writing = tokio::spawn(async move { write(&mut large_send, Script::new(large), None).await });
    let mut large_reader = Reader::new(pair.far.accept_bi().await.unwrap().1);
    assert!(matches!(large_reader.next().await, Ok(Incoming::Message(..))));

    let (mut small_send, _r) = pair.near.connection.open_bi().await.unwrap();
    let small = vec![(77, payload(77, 64))];
    let mut order = Vec::new();
    let (wrote, (), ()) = {
        let order = std::cell::RefCell::new(&mut order);
        tokio::join!(
            write(&mut small_send, Script::new(small.clone()), None),
            async {
                let arrivals = Reader::new(pair.far.accept_bi().await.unwrap().1).all().await;
                assert!(arrivals == small);
                order.borrow_mut().push("small");
            },
            async {
                assert_eq!(large_reader.all().await.len(), 31);
                order.borrow_mut().push("large");
            }
        )
    };
    wrote.unwrap();
    writing.await.unwrap().unwrap();
    assert_eq!(order, ["small", "large"]);
}

#[tokio::test]
async fn a_bad_end_says_how() {
    let pair = pair().await;
    let (mut send, _r) = pair.near.connection.open_bi().await.unwrap();
    let script = Script { messages: VecDeque::new(), end: Some(Err(Status::resource_exhausted("too much"))) };
    let reader = async { Reader::new(pair.far.accept_bi().await.unwrap().1).next().await };
    let (wrote, end) = tokio::join!(write(&mut send, script, None), reader);
    wrote.unwrap();
    assert_eq!(end.unwrap(), Incoming::End(Err((Code::ResourceExhausted, "too much".to_owned()))));
}

/// However a stream breaks off, its reader is told that this was no end.
#[tokio::test]
async fn a_stream_that_breaks_off_is_an_error() {
    let pair = pair().await;
    for (breaks, expected) in [(0, "closed the stream"), (1, "reset the stream (7)"), (2, "closed")] {
        let (mut send, _r) = pair.near.connection.open_bi().await.unwrap();
        send.write_all(&[0, 0, 0, 0, 9, 1]).await.unwrap();
        let mut reader = Reader::new(pair.far.accept_bi().await.unwrap().1);
        match breaks {
            0 => drop(send),
            1 => send.reset(VarInt::from_u32(7)).unwrap(),
            _ => pair.near.connection.close(VarInt::from_u32(0), b""),
        }
        let error = reader.next().await.unwrap_err();
        assert!(error.message().contains(expected), "{error:?}");
    }
}

#[tokio::test]
async fn a_writer_learns_that_nobody_listens() {
    let pair = pair().await;
    let (mut send, _r) = pair.near.connection.open_bi().await.unwrap();
    send.write_all(b"x").await.unwrap();
    pair.far.accept_bi().await.unwrap().1.stop(VarInt::from_u32(0)).unwrap();
    let endless: Vec<_> = (0..64).map(|id| (id, payload(id, PART))).collect();
    assert!(write(&mut send, Script::new(endless), None).await.is_err());
}

#[tokio::test]
async fn certificates_are_verified_unless_told_otherwise() {
    let certificates = Throwaway::new(&["elsewhere.example"]).unwrap();
    let stranger = Throwaway::new(&["127.0.0.1"]).unwrap();
    let server = certificates.server().unwrap();
    for (client, expected) in [
        (stranger.client().unwrap(), "--tls-ca must be the CA"),
        (certificates.client().unwrap(), "dial the node by a name in its certificate"),
    ] {
        let config = client_config(Trust::Verified(&client)).unwrap();
        let error = met(&server, &config).await.0.unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("cannot connect to 127.0.0.1:"), "{error}");
    }
    let anyone = Unverified::new(&TlsFiles::default()).unwrap();
    let config = client_config(Trust::Anyone(&anyone)).unwrap();
    assert!(met(&server, &config).await.0.is_ok());
}

#[tokio::test]
async fn a_node_with_a_ca_refuses_clients_without_certificate() {
    let certificates = Throwaway::new(&["127.0.0.1"]).unwrap();
    let server = ServerTls::from_pem(&certificates.cert, &certificates.key, Some(&certificates.ca)).unwrap();
    let config = client_config(Trust::Verified(&certificates.client().unwrap())).unwrap();
    let (near, far, _node) = met(&server, &config).await;
    assert!(far.is_err());
    // The client has its connection, for a moment.
    let why = match near {
        Ok(link) => explained(&link.connection.closed().await),
        Err(error) => error.to_string(),
    };
    assert!(why.contains("the node asks clients for a certificate"), "{why}");

    let client =
        ClientTls::from_pem(&certificates.ca, Some((&certificates.client_cert, &certificates.client_key))).unwrap();
    let config = client_config(Trust::Verified(&client)).unwrap();
    let (near, far, _node) = met(&server, &config).await;
    assert!(near.is_ok() && far.is_ok());
}

/// A host of which one address is dead is still reached, and a dead one is said to be.
#[tokio::test]
async fn an_address_where_nothing_answers_is_given_up_for_the_next() {
    let certificates = Throwaway::new(&["127.0.0.1"]).unwrap();
    let config = client_config(Trust::Verified(&certificates.client().unwrap())).unwrap();
    let dead = UdpSocket::bind("127.0.0.1:0").unwrap();
    let silent = dead.local_addr().unwrap();
    let short = Duration::from_millis(50);
    let error = connect_at(&silent.to_string(), &[silent], &config, short).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert!(error.to_string().contains(&format!("no answer from {silent}")), "{error}");

    let (node, _) = node(&certificates.server().unwrap());
    let live = node.local_addr().unwrap();
    let accept = async { node.accept().await.unwrap().await };
    // Long enough for a handshake on a busy machine, and waited for once: at the dead address.
    let addresses = [silent, live].into_iter();
    let connecting = connect_to_any(addresses, "127.0.0.1", &config, Duration::from_secs(8));
    let (near, far) = tokio::join!(connecting, accept);
    assert_eq!(near.unwrap().connection.remote_address(), live);
    far.unwrap();
}
