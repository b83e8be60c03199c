//! Dispatch streams without HTTP: what is refused is told why, what stands open is in nobody's way.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lon_net::dial::dial;
use lon_net::flow::Source;
use lon_net::framing::{Inbound, Incoming, Outbound};
use lon_net::quic::{self, QuicSource, Trust};
use lon_net::tcp::StreamSource;
use lon_net::tls::{Protocol, TlsFiles, Unverified};
use lon_proto::limits;
use lon_proto::run_identity::RunPass;
use lon_proto::v1::{DispatchRequest, DispatchResponse};
use lon_sut::backend::{BackendOptions, Backends};
use lon_sut::{ServeConfig, Sockets, serve};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::oneshot;
use tonic::Code;

/// Far beyond what anything here takes; a hang fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a conversation with a node, then tells the node to stop and waits until it has.
fn with_node(conversation: impl AsyncFnOnce(String)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let whole = async {
        let sockets = Sockets::bind("127.0.0.1:0").unwrap();
        let address = sockets.address().to_string();
        let backend = Backends::new().open("null", &BackendOptions::default()).unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let shutdown = async { drop(stopped.await) };
        let serving = serve(sockets, ServeConfig::new("n".parse().unwrap()), backend, shutdown, || {});
        let talking = async {
            conversation(address).await;
            drop(stop);
        };
        tokio::join!(serving, talking).0.unwrap();
    };
    runtime.block_on(async { tokio::time::timeout(PATIENCE, whole).await.expect("a hang") });
}

fn open_of(run: u8) -> Vec<u8> {
    let open = Some(RunPass::new(Bytes::from(vec![run; limits::RUN_ID_BYTES]), Bytes::new()).open());
    let mut out = Outbound::default();
    out.push_message(&DispatchRequest { open, ..DispatchRequest::default() });
    std::iter::from_fn(|| out.pop()).flatten().collect()
}

/// Reads until the node says that the stream ends, and how.
async fn end_of(mut source: impl Source) -> Result<(), (Code, String)> {
    let mut inbound = Inbound::default();
    loop {
        match inbound.next_message::<DispatchResponse>().unwrap() {
            Some(Incoming::End(how)) => return how,
            Some(Incoming::Message(message, _)) => panic!("{message:?}"),
            None => assert!(poll_fn(|cx| source.poll_read(cx, &mut inbound)).await.unwrap()),
        }
    }
}

fn assert_no_such_run(how: Result<(), (Code, String)>) {
    let (code, text) = how.unwrap_err();
    assert_eq!(code, Code::NotFound);
    assert!(text.contains("no such run at n"), "{text}");
}

/// The reason arrives though the client goes on sending: bytes that nobody reads must not become a reset.
#[test]
fn an_unknown_run_is_told_so_over_tcp() {
    with_node(async |address| {
        let stream = dial(&address, None, Protocol::Tcp, Arc::default()).await.unwrap();
        let (reading, mut writing) = tokio::io::split(stream);
        writing.write_all(&open_of(7)).await.unwrap();
        writing.write_all(&vec![0; 300_000]).await.unwrap();
        assert_no_such_run(end_of(StreamSource::new(reading)).await);
    });
}

#[test]
fn an_unknown_run_is_told_so_over_quic() {
    with_node(async |address| {
        let anyone = Unverified::new(&TlsFiles::default()).unwrap();
        let link = quic::connect(&address, &quic::client_config(Trust::Anyone(&anyone)).unwrap()).await.unwrap();
        for run in [7, 8] {
            let (mut sending, reading) = link.connection.open_bi().await.unwrap();
            sending.write_all(&open_of(run)).await.unwrap();
            assert_no_such_run(end_of(QuicSource::new(reading)).await);
        }
        link.close().await;
    });
}

#[test]
fn connections_that_stand_open_do_not_delay_the_end() {
    let mut open = Vec::new();
    let mut linked = Vec::new();
    with_node(async |address| {
        open.push(dial(&address, None, Protocol::Tcp, Arc::default()).await.unwrap());
        let anyone = Unverified::new(&TlsFiles::default()).unwrap();
        let link = quic::connect(&address, &quic::client_config(Trust::Anyone(&anyone)).unwrap()).await.unwrap();
        let (mut sending, reading) = link.connection.open_bi().await.unwrap();
        sending.write_all(b"\0").await.unwrap();
        linked.push((link, sending, reading));
    });
}
