//! One Dispatch stream of a scripted peer, whatever carries it: reads, writes down, and follows the script.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use lon_net::flow::{Fill, Filled, Source};
use lon_net::framing::{Inbound, Incoming, Outbound};
use lon_proto::v1::{DispatchRequest, DispatchResponse, Heartbeat};
use tokio::sync::mpsc;
use tonic::Status;

use super::{Scripted, Step};

/// What is to be sent on a stream.
pub(super) struct Answers {
    steps: mpsc::UnboundedReceiver<Step>,
    /// Without HTTP, a first heartbeat says that the stream was accepted.
    greets: bool,
}

impl Answers {
    pub(super) fn with_greeting(self) -> Answers {
        Answers { greets: true, ..self }
    }
}

impl Fill for Answers {
    fn poll_fill(&mut self, cx: &mut Context<'_>, out: &mut Outbound) -> Poll<Filled> {
        if std::mem::take(&mut self.greets) {
            out.push_response(DispatchResponse { heartbeat: Some(Heartbeat {}), ..DispatchResponse::default() });
            return Poll::Ready(Filled::Some);
        }
        Poll::Ready(match ready!(self.steps.poll_recv(cx)) {
            Some(Step::Send(message)) => {
                out.push_response(message);
                Filled::Some
            }
            Some(Step::Fail(status)) => Filled::End(Err(status)),
            None => Filled::End(Ok(())),
        })
    }
}

/// Starts to listen to a stream; what it is to be answered.
pub(super) async fn open(peer: &Arc<Scripted>, source: impl Source) -> Answers {
    peer.heard.lock().streams += 1;
    if !peer.manners.opens {
        std::future::pending::<()>().await;
    }
    let (sender, steps) = mpsc::unbounded_channel();
    let peer = Arc::clone(peer);
    tokio::spawn(async move {
        if listen(&peer, source, &sender).await.is_ok() {
            peer.heard.lock().good_ends += 1;
        }
    });
    Answers { steps, greets: false }
}

/// Reads until the other end has done; an error if it ended otherwise than a LoadGen node should.
async fn listen(peer: &Scripted, mut source: impl Source, steps: &mpsc::UnboundedSender<Step>) -> Result<(), Status> {
    let mut inbound = Inbound::default();
    loop {
        while let Some(incoming) = inbound.next_message::<DispatchRequest>()? {
            match incoming {
                Incoming::Message(message, bytes) => hear(peer, message, bytes, steps),
                Incoming::End(how) => return how.map_err(|(code, text)| Status::new(code, text)),
            }
        }
        // A script that has failed the stream still listens: what is said is written down.
        if !poll_fn(|cx| source.poll_read(cx, &mut inbound)).await? {
            return Ok(());
        }
    }
}

fn hear(peer: &Scripted, message: DispatchRequest, bytes: u64, steps: &mpsc::UnboundedSender<Step>) {
    let mut heard = peer.heard.lock();
    let (id, completes) = (message.id, message.last && message.open.is_none());
    let number = heard.complete;
    heard.complete += u64::from(completes);
    heard.messages.push(message);
    heard.message_bytes += bytes;
    drop(heard);
    if completes {
        for step in (peer.manners.script)(number, id) {
            // Fails when the stream was ended by an earlier step.
            let _ = steps.send(step);
        }
    }
}
