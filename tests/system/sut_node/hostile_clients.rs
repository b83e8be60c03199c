//! Callers that want to keep a SUT node from serving: whatever they do, the node's memory stays what it was, the health
//! check answers, and a run goes well.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use lon_net::descriptors;
use lon_net::quic::{self, Trust};
use lon_net::tls::{TlsFiles, Unverified};
use lon_proto::WIRE_VERSION;
use lon_proto::v1::DescribeRequest;
use lon_proto::v1::sut_node_client::SutNodeClient;
use lon_tests::memory::{self, MOST_MORE_BYTES};
use lon_tests::process::{SutNode, binary};
use lon_tests::test_run::TestRun;
use tonic::transport::Endpoint;

/// The most descriptors that strangers may hold at a node: 384 connections, and some that are being closed.
const MOST_DESCRIPTORS: usize = 450;

/// Longest time for a node to come to rest: long, since its speed is not the question.
const UNTIL_QUIET: Duration = Duration::from_secs(300);

/// An attack under way. It ends when this is dropped.
struct Attack {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Attack {
    /// Repeats `attempt` on the node's address until told to end, and keeps what the last `limit` attempts returned.
    fn begin<T>(node: &SutNode, limit: usize, mut attempt: impl FnMut(SocketAddr) -> T + Send + 'static) -> Attack {
        descriptors::raise_limit().unwrap();
        let (over, address) = (Arc::new(AtomicBool::new(false)), node.address.parse().unwrap());
        let until = Arc::clone(&over);
        let thread = std::thread::spawn(move || {
            let mut all = std::collections::VecDeque::new();
            while !until.load(Relaxed) {
                all.push_back(attempt(address));
                if all.len() > limit {
                    all.pop_front();
                }
            }
        });
        Attack { over, thread: Some(thread) }
    }
}

impl Drop for Attack {
    fn drop(&mut self) {
        self.over.store(true, Relaxed);
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking(), "the attack itself failed");
    }
}

fn descriptor_count(node: &SutNode) -> usize {
    fs::read_dir(format!("/proc/{}/fd", node.id())).unwrap().count()
}

/// Tries after which an attack has kept a rightful client out. Until then the node may send the client away for a
/// stranger, with words: a client that the machine holds up for long on its way in is the oldest stranger. The share of
/// refusals on a quiet machine is not the question.
const TRIES: usize = 20;

/// Returns when `attempt` succeeds: a rightful client that is turned away has to be told so, and gets in with patience.
fn gets_in(what: &str, mut attempt: impl FnMut() -> Result<(), String>) {
    let refusals: Vec<String> = (0..TRIES).map_while(|_| attempt().err()).collect();
    assert!(refusals.len() < TRIES, "{what}: {refusals:#?}");
    let has_reason = |refusal: &String| ["-node: ", "INVALID"].iter().any(|word| refusal.contains(word));
    assert!(refusals.iter().all(has_reason), "{what}: without a reason: {refusals:#?}");
    refusals.iter().for_each(|refusal| println!("{what}: refused once: {refusal}"));
}

fn assert_healthy(node: &SutNode) {
    gets_in("a health check", || {
        let output =
            Command::new(binary("sut-node")).args(["healthcheck", "--address", &node.address]).output().unwrap();
        if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
    });
}

/// A run at 1000 queries a second, which has to be VALID. How late answers are is for quiet machines to say.
fn assert_runs(node: &SutNode, transport: &str) {
    let settings = "target_qps=1000,min_duration=700ms,min_query_count=1";
    let patient = ["--wait-ready", "60s", "--transport", transport];
    gets_in("a run", || {
        let run = TestRun::new("Server").patient().on(&node.address).set(settings).args(&patient);
        let (finished, folder) = run.finish();
        if finished.code == Some(0) {
            assert_eq!(folder.result()["result"], "VALID");
            return Ok(());
        }
        Err(format!("{finished:?}"))
    });
}

/// Asserts what is promised of a node under an attack that `begin` begins.
fn withstood(transport: &str, begin: impl FnOnce(&SutNode) -> Attack) {
    let node = SutNode::start("a", "null", &[]);
    assert_runs(&node, transport);
    let (quiet, at_rest) = (memory::most_bytes(node.id()), descriptor_count(&node));
    let attack = begin(&node);
    // Long enough that it has reached what it can reach.
    std::thread::sleep(Duration::from_millis(700));
    assert_healthy(&node);
    assert_runs(&node, transport);
    assert!(descriptor_count(&node) <= at_rest + MOST_DESCRIPTORS, "{} descriptors", descriptor_count(&node));
    assert_healthy(&node);
    drop(attack);
    let more = memory::most_bytes(node.id()).saturating_sub(quiet);
    println!("{quiet} bytes quiet, {more} more under attack");
    assert!(more <= MOST_MORE_BYTES, "{quiet} bytes before the attack, {more} more under it");
    let deadline = Instant::now() + UNTIL_QUIET;
    while descriptor_count(&node) > at_rest {
        assert!(Instant::now() < deadline, "{} descriptors before, {} after", at_rest, descriptor_count(&node));
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A connection that sends `bytes` as far as they are taken within a moment. Nothing is read.
fn send_bytes(address: SocketAddr, bytes: &[u8]) -> Option<TcpStream> {
    let mut tcp = TcpStream::connect_timeout(&address, Duration::from_secs(1)).ok()?;
    tcp.set_write_timeout(Some(Duration::from_millis(20))).ok()?;
    // A node that closes the connection, or reads no further, is what is wanted.
    let _ = tcp.write_all(bytes);
    Some(tcp)
}

/// HTTP/2 by hand: what no library sends.
mod http2 {
    pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    pub(super) const DATA: u8 = 0;
    pub(super) const HEADERS: u8 = 1;
    pub(super) const RST_STREAM: u8 = 3;
    pub(super) const SETTINGS: u8 = 4;
    pub(super) const END_STREAM: u8 = 1;
    pub(super) const END_HEADERS: u8 = 4;

    /// A frame that says it has `len` bytes, and the bytes that there are of it.
    pub(super) fn frame(kind: u8, flags: u8, stream: u32, len: usize, bytes: &[u8]) -> Vec<u8> {
        let [_, a, b, c] = (len as u32).to_be_bytes();
        [&[a, b, c, kind, flags][..], &stream.to_be_bytes(), bytes].concat()
    }

    /// The head of a call of the node.
    pub(super) fn head(stream: u32, call: &str) -> Vec<u8> {
        let path = format!("/lon.v1.SutNode/{call}");
        let literal = |index: &[u8], text: &str| [index, &[text.len() as u8], text.as_bytes()].concat();
        let block = [
            vec![0x83, 0x86],
            literal(&[0x04], &path),
            literal(&[0x01], "node"),
            literal(&[0x0f, 0x10], "application/grpc"),
            literal(&literal(&[0x00], "te"), "trailers"),
        ]
        .concat();
        frame(HEADERS, END_HEADERS, stream, block.len(), &block)
    }

    /// The beginning of a connection.
    pub(super) fn greeting() -> Vec<u8> {
        [PREFACE, &frame(SETTINGS, 0, 0, 0, b"")].concat()
    }
}

/// Requests whose heads come in and whose bodies do not.
#[test]
fn heads_without_end_take_no_memory() {
    let mut bytes = http2::greeting();
    (0..3000).for_each(|n| bytes.extend(http2::head(2 * n + 1, "StartRun")));
    withstood("grpc", |node| Attack::begin(node, 30, move |address| send_bytes(address, &bytes)));
}

/// Streams that are opened and reset, and answers that nobody reads.
#[test]
fn streams_that_are_reset_and_answers_that_nobody_reads_take_no_memory() {
    let mut resets = http2::greeting();
    let mut questions = http2::greeting();
    for stream in (0..3000).map(|n| 2 * n + 1) {
        resets.extend(http2::head(stream, "Describe"));
        resets.extend(http2::frame(http2::RST_STREAM, 0, stream, 4, &[0, 0, 0, 8]));
        questions.extend(http2::head(stream, "Describe"));
        let message = [0, 0, 0, 0, 2, 8, WIRE_VERSION as u8];
        questions.extend(http2::frame(http2::DATA, http2::END_STREAM, stream, message.len(), &message));
    }
    let mut turns = [resets, questions].into_iter().cycle();
    withstood("grpc", |node| Attack::begin(node, 30, move |address| send_bytes(address, &turns.next().unwrap())));
}

/// Frames and messages of a megabyte that lack their last byte.
#[test]
fn frames_without_end_take_no_memory() {
    let megabyte = vec![7; (1 << 20) - 1];
    let mut http = [http2::greeting(), http2::head(1, "Dispatch")].concat();
    http.extend(http2::frame(http2::DATA, 0, 1, 1 << 20, &megabyte));
    let tcp = [&b"LON-TCP\n\0\0\x10\0\0"[..], &megabyte].concat();
    let mut turns = [http, tcp].into_iter().cycle();
    withstood("tcp", |node| Attack::begin(node, 300, move |address| send_bytes(address, &turns.next().unwrap())));
}

/// Connections that stop at every place where the node waits for more, a thousand at a time.
#[test]
fn whoever_says_nothing_more_is_in_nobodys_way() {
    let greeting = http2::greeting();
    let stops: [&[u8]; 6] = [b"", b"P", b"PRI * HT", &http2::PREFACE[..20], b"LON-TCP\n", &greeting];
    let mut turns = stops.map(<[u8]>::to_vec).into_iter().cycle();
    withstood("grpc", |node| Attack::begin(node, 1500, move |address| one_more(address, &turns.next().unwrap())));
}

/// Another connection, and a pause: a thousand a second are many more than a node lets in.
fn one_more(address: SocketAddr, bytes: &[u8]) -> Option<TcpStream> {
    std::thread::sleep(Duration::from_millis(1));
    send_bytes(address, bytes)
}

/// The same over TLS: records that do not end the handshake.
#[test]
fn a_handshake_that_does_not_end_is_in_nobodys_way() {
    let certificates = lon_tests::route::Certificates::new();
    let node = SutNode::start("a", "null", &certificates.server_args());
    let _attack = Attack::begin(&node, 1500, |address| one_more(address, b"\x16\x03\x01\x02\0\x01"));
    std::thread::sleep(Duration::from_millis(700));
    let flags = certificates.trusted();
    gets_in("a run over TLS", || {
        let run = TestRun::new("Offline").patient().on(&node.address).args(&["--wait-ready", "60s"]).args(&flags);
        let (finished, _folder) = run.set("min_duration=0,min_query_count=10,target_qps=1").finish();
        if finished.code == Some(0) { Ok(()) } else { Err(format!("{finished:?}")) }
    });
    assert!(descriptor_count(&node) < MOST_DESCRIPTORS + 50, "{} descriptors", descriptor_count(&node));
}

/// Somebody who asks a node what it is as fast as it answers.
#[test]
fn questions_without_end_do_not_spoil_a_run() {
    withstood("grpc", |node| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let channel = Endpoint::from_shared(format!("http://{}", node.address)).unwrap();
        let client = SutNodeClient::new(runtime.block_on(channel.connect()).unwrap());
        Attack::begin(node, 0, move |_| {
            let ask = async |mut client: SutNodeClient<_>| {
                let answer =
                    client.describe(DescribeRequest { wire_version: WIRE_VERSION, nonce: vec![7; 16].into() }).await;
                assert!(answer.is_ok(), "{answer:?}");
            };
            let [a, b, c] = [0; 3].map(|_| ask(client.clone()));
            runtime.block_on(async { tokio::join!(a, b, c) });
        })
    });
}

/// The first packets of QUIC connections of which nothing more comes, each from a port of its own.
#[test]
fn first_packets_of_quic_lock_nobody_out() {
    let packets = first_packets(600);
    let mut turns = packets.into_iter().cycle();
    withstood("quic", |node| {
        Attack::begin(node, 700, move |address| {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.send_to(&turns.next().unwrap(), address).unwrap();
            // Some 5000 a second; the node's thread and the run's share the machine with this one.
            std::thread::sleep(Duration::from_micros(200));
            socket
        })
    });
}

/// So many first packets, each of another connection.
fn first_packets(count: usize) -> Vec<Vec<u8>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let sink = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let address = sink.local_addr().unwrap();
        let anyone = Unverified::new(&TlsFiles::default()).unwrap();
        let config = quic::client_config(Trust::Anyone(&anyone)).unwrap();
        let endpoint = quic::client_endpoint(address).unwrap();
        // The attempts stay alive here, or each would say that it is over.
        let mut connecting = Vec::new();
        let mut packets = std::collections::BTreeMap::new();
        let mut packet = [0; 2048];
        while packets.len() < count {
            connecting.push(endpoint.connect_with(config.clone(), address, "node").unwrap());
            let len = sink.recv(&mut packet).await.unwrap();
            // By the id of the connection: one that hears nothing sends its first packet again.
            packets.insert(packet[6..14].to_vec(), packet[..len].to_vec());
        }
        packets.into_values().collect()
    })
}

/// A node that may open few files raises the limit by itself.
#[test]
fn a_low_limit_of_descriptors_is_raised() {
    let mut node = Command::new("sh")
        .args(["-c", "ulimit -Sn 64 && exec \"$0\" \"$@\""])
        .arg(binary("sut-node"))
        .args(["serve", "--node", "a", "--backend", "null", "--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(node.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let limits = fs::read_to_string(format!("/proc/{}/limits", node.id())).unwrap();
    node.kill().unwrap();
    node.wait().unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let numbers: Vec<&str> = line.split_whitespace().skip(3).take(2).collect();
    assert_eq!(numbers[0], numbers[1], "{line}");
}

/// A connection that begins and goes no further is closed, however little it holds.
#[test]
fn half_a_greeting_is_not_waited_for_long() {
    let node = SutNode::start("a", "null", &[]);
    let half = send_bytes(node.address.parse().unwrap(), b"PRI * HT");
    let mut half = half.unwrap();
    half.set_read_timeout(Some(Duration::from_secs(300))).unwrap();
    let mut tail = Vec::new();
    // The node closes it: with a word of HTTP/2 or without one.
    half.read_to_end(&mut tail).expect("it is closed");
}
