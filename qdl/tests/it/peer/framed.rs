//! The peer's streams without HTTP: framed messages over any byte stream.

use std::future::poll_fn;
use std::path::PathBuf;
use std::task::{Context, Poll};

use lon_net::flow::{Fill, Filled, Source as _};
use lon_net::framing::{Inbound, Incoming, Outbound};
use lon_net::tcp::{self, StreamSource};
use lon_proto::v1::{DispatchRequest, DispatchResponse, Heartbeat};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc::{self, UnboundedReceiver};

use super::{Answering, Peer};

impl Peer {
    /// Takes streams on a Unix-domain socket, too; where it is. Removed when the guard is dropped.
    pub(crate) fn listen_on_unix_socket(&self) -> UnixSocket {
        let path = socket_path(&self.address.to_string());
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        listener.set_nonblocking(true).unwrap();
        let heard = std::sync::Arc::clone(&self.heard);
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = UnixListener::from_std(listener).unwrap();
                while let Ok((stream, _)) = listener.accept().await {
                    tokio::spawn(serve(stream, Answering::new(&heard)));
                }
            });
        });
        UnixSocket(path)
    }
}

/// Where the Unix-domain socket of the node at this address is.
pub(crate) fn socket_path(address: &str) -> PathBuf {
    std::env::temp_dir().join(format!("qdl-test-{}-{address}.sock", std::process::id()))
}

/// The file of a Unix-domain socket.
pub(crate) struct UnixSocket(PathBuf);

impl Drop for UnixSocket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Accepts the stream by a heartbeat when its Open has come, then answers until the other end has ended it.
async fn serve(stream: UnixStream, mut answering: Answering) {
    let (reading, mut writing) = tokio::io::split(stream);
    let (answers, answered) = mpsc::unbounded_channel();
    tokio::spawn(async move { tcp::write(&mut writing, Answers(answered), None).await });
    let (mut source, mut inbound) = (StreamSource::new(reading), Inbound::default());
    loop {
        while let Some(Incoming::Message(message, _)) = inbound.next_message::<DispatchRequest>().unwrap() {
            if message.heartbeat.is_some() {
                continue;
            }
            let answer = match &message.open {
                Some(_) => DispatchResponse { heartbeat: Some(Heartbeat {}), ..DispatchResponse::default() },
                None => answering.answer(&message),
            };
            answers.send(answer).unwrap();
        }
        // The End frame, or the end of the connection, ends the answers as well.
        if !matches!(poll_fn(|cx| source.poll_read(cx, &mut inbound)).await, Ok(true)) {
            return;
        }
    }
}

struct Answers(UnboundedReceiver<DispatchResponse>);

impl Fill for Answers {
    fn poll_fill(&mut self, cx: &mut Context<'_>, out: &mut Outbound) -> Poll<Filled> {
        self.0.poll_recv(cx).map(|answer| match answer {
            Some(answer) => {
                out.push_response(answer);
                Filled::Some
            }
            None => Filled::End(Ok(())),
        })
    }
}
