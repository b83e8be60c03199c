//! A transport that the node does not know: the messages of plain TCP on a Unix-domain socket. It is added from
//! outside and serves beside the others. What is true of their streams is true of its streams.

use std::sync::Arc;

use bytes::Bytes;
use lon_net::tcp::{self, StreamSource};
use lon_sut::{Acceptor, Connection, ServeConfig, Serving, SocketTraffic, Sockets, Streams, serve};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;

use crate::client::{Control, PATIENCE, Stream};

struct UnixSocket(UnixListener);

impl Acceptor for UnixSocket {
    fn serve(self: Box<Self>, streams: Streams) -> Serving {
        Box::pin(async move {
            let mut connections = JoinSet::new();
            loop {
                tokio::select! {
                    accepted = self.0.accept() => drop(connections.spawn(carry(streams.clone(), accepted.unwrap().0))),
                    () = streams.stopped() => break,
                }
            }
            while connections.join_next().await.is_some() {}
            Ok(())
        })
    }
}

async fn carry(streams: Streams, stream: UnixStream) {
    let (reading, mut writing) = stream.into_split();
    let answers = streams.open(StreamSource::new(reading), Arc::new(Fixed)).await;
    let _ = tcp::write(&mut writing, answers, None).await;
}

/// A connection that claims to have carried this.
#[derive(Debug)]
struct Fixed;

impl Connection for Fixed {
    fn traffic(&self) -> SocketTraffic {
        SocketTraffic { bytes_in: 1000, bytes_out: 100, retransmits: None }
    }
}

#[test]
fn a_transport_from_outside_is_served_like_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("node");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let whole = async {
        let transport = UnixSocket(UnixListener::bind(&path).unwrap());
        let sockets = Sockets::bind("127.0.0.1:0").unwrap().with(transport);
        let address = sockets.address().to_string();
        let backend = lon_sut::backend::Backends::new().open("null", &Default::default()).unwrap();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let config = ServeConfig::new("n1".parse().unwrap());
        let serving = serve(sockets, config, backend, async { drop(stopped.await) }, || {});
        let talking = async {
            let mut control = Control::connect(&address, 1).await;
            control.start("", "").await.unwrap();
            let (reading, writing) = UnixStream::connect(&path).await.unwrap().into_split();
            let source = Box::new(StreamSource::new(reading));
            let mut stream = Stream::open(Box::new(writing), source, &control.pass).await;
            for (id, len) in [(1, 0), (2, 100), (3, 3_000_000)] {
                stream.send(id, Bytes::from(vec![7; len])).await;
                assert_eq!((stream.answer().await.id, stream.answers.payload_bytes), (id, 8 * id));
            }
            control.flush(3).await.unwrap();
            let report = control.end().await;
            assert_eq!((report.samples_received, report.samples_answered), (3, 3));
            assert_eq!(report.message_bytes_in, stream.sent.message_bytes);
            assert_eq!(
                (report.socket_bytes_in, report.socket_bytes_out, report.retransmits),
                (Some(1000), Some(100), None)
            );
            drop(stop);
        };
        tokio::join!(serving, talking).0.unwrap();
    };
    runtime.block_on(async { tokio::time::timeout(PATIENCE, whole).await.expect("a hang") });
}
