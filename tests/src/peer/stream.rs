//! One Dispatch stream of a scripted peer, whatever carries it: reads, writes down, and follows the script.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use lon_net::flow::{Fill, Filled, Source};
use lon_net::framing::{Inbound, Incoming, Outbound};
use lon_proto::limits::HEARTBEAT_INTERVAL;
use lon_proto::v1::{DispatchRequest, DispatchResponse, Heartbeat};
use tokio::sync::mpsc;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};
use tonic::Status;

use super::{Scripted, Step};

/// What is to be sent on a stream.
pub(super) struct Answers {
    peer: Arc<Scripted>,
    steps: mpsc::UnboundedReceiver<Step>,
    /// Without HTTP, a first heartbeat says that the stream was accepted.
    greets: bool,
    heartbeat: Option<Interval>,
}

impl Answers {
    pub(super) fn with_greeting(self) -> Answers {
        Answers { greets: true, ..self }
    }

    fn say(&self, message: DispatchResponse, out: &mut Outbound) {
        let tensor_bytes = message.data.len() as u64;
        let message_bytes = out.push_response(message);
        let mut heard = self.peer.heard.lock();
        heard.answer_bytes += tensor_bytes;
        heard.answer_message_bytes += message_bytes;
    }
}

impl Fill for Answers {
    fn poll_fill(&mut self, cx: &mut Context<'_>, out: &mut Outbound) -> Poll<Filled> {
        let heartbeat = || DispatchResponse { heartbeat: Some(Heartbeat {}), ..DispatchResponse::default() };
        if std::mem::take(&mut self.greets) {
            out.push_response(heartbeat());
            return Poll::Ready(Filled::Some);
        }
        match (self.steps.poll_recv(cx), &mut self.heartbeat) {
            (Poll::Ready(Some(Step::Send(message))), _) => self.say(message, out),
            (Poll::Ready(Some(Step::Fail(status))), _) => return Poll::Ready(Filled::End(Err(status))),
            (Poll::Ready(None), _) => return Poll::Ready(Filled::End(Ok(()))),
            (Poll::Pending, Some(interval)) => {
                ready!(interval.poll_tick(cx));
                out.push_response(heartbeat());
            }
            (Poll::Pending, None) => return Poll::Pending,
        };
        Poll::Ready(Filled::Some)
    }
}

/// Starts to listen to a stream; what it is to be answered.
pub(super) async fn open(peer: &Arc<Scripted>, source: impl Source) -> Answers {
    let number = {
        let mut heard = peer.heard.lock();
        heard.streams += 1;
        heard.streams - 1
    };
    if !peer.manners.opens {
        std::future::pending::<()>().await;
    }
    let (steps, answers) = mpsc::unbounded_channel();
    let heartbeat = peer.manners.heartbeats.then(|| {
        let mut interval = interval_at(Instant::now() + HEARTBEAT_INTERVAL, HEARTBEAT_INTERVAL);
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        interval
    });
    let ear = Ear { peer: Arc::clone(peer), number, steps };
    let peer = Arc::clone(peer);
    tokio::spawn(async move {
        if ear.listen(source).await.is_ok() {
            ear.peer.heard.lock().good_ends += 1;
        }
    });
    Answers { peer, steps: answers, greets: false, heartbeat }
}

/// The listening half of a stream.
struct Ear {
    peer: Arc<Scripted>,
    /// Which stream of the peer's it is.
    number: u64,
    steps: mpsc::UnboundedSender<Step>,
}

impl Ear {
    /// Reads until the other end has done; an error if it ended otherwise than a LoadGen node should.
    async fn listen(&self, mut source: impl Source) -> Result<(), Status> {
        let mut inbound = Inbound::default();
        loop {
            while let Some(incoming) = inbound.next_message::<DispatchRequest>()? {
                match incoming {
                    Incoming::Message(message, bytes) => self.hear(message, bytes),
                    Incoming::End(how) => return how.map_err(|(code, text)| Status::new(code, text)),
                }
            }
            // A script that has failed the stream still listens: what is said is written down.
            if !poll_fn(|cx| source.poll_read(cx, &mut inbound)).await? {
                return Ok(());
            }
        }
    }

    fn hear(&self, message: DispatchRequest, bytes: u64) {
        let mut heard = self.peer.heard.lock();
        let (id, completes) = (message.id, message.last && message.open.is_none());
        let number = heard.complete;
        heard.complete += u64::from(completes);
        heard.open_bytes += if message.open.is_some() { bytes } else { 0 };
        heard.messages.push((self.number, message));
        heard.message_bytes += bytes;
        drop(heard);
        if completes {
            for step in (self.peer.manners.script)(number, id) {
                // Fails when the stream was ended by an earlier step.
                let _ = self.steps.send(step);
            }
        }
    }
}
