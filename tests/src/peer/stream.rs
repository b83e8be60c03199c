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

/// Answers to be sent on a stream.
pub(super) struct Answers {
    peer: Arc<Scripted>,
    steps: mpsc::UnboundedReceiver<Step>,
    /// Without HTTP, a first heartbeat says that the stream was accepted.
    greets: bool,
    is_refused: bool,
    heartbeat: Option<Interval>,
}

impl Answers {
    pub(super) fn with_greeting(self) -> Answers {
        Answers { greets: !self.is_refused, ..self }
    }

    fn beat(&self, out: &mut Outbound) {
        out.push_response(DispatchResponse { heartbeat: Some(Heartbeat {}), ..DispatchResponse::default() });
        self.peer.heard.lock().heartbeats += 1;
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
        if std::mem::take(&mut self.greets) {
            self.beat(out);
            return Poll::Ready(Filled::Some);
        }
        match (self.steps.poll_recv(cx), &mut self.heartbeat) {
            (Poll::Ready(Some(Step::Send(message))), _) => self.say(message, out),
            (Poll::Ready(Some(Step::Fail(status))), _) => return Poll::Ready(Filled::End(Err(status))),
            (Poll::Ready(None), _) => return Poll::Ready(Filled::End(Ok(()))),
            (Poll::Pending, Some(interval)) => {
                ready!(interval.poll_tick(cx));
                self.beat(out);
            }
            (Poll::Pending, None) => return Poll::Pending,
        };
        Poll::Ready(Filled::Some)
    }
}

/// Starts to listen to a stream; what it is to be answered.
pub(super) async fn open(peer: &Arc<Scripted>, mut source: impl Source) -> Answers {
    let mut inbound = Inbound::default();
    let refused = match peer.behaviour.guards {
        true => admitted(peer, &mut source, &mut inbound).await.err(),
        false => None,
    };
    let number = {
        let mut heard = peer.heard.lock();
        heard.streams += 1;
        heard.streams - 1
    };
    if !peer.behaviour.opens {
        std::future::pending::<()>().await;
    }
    let (steps, answers) = mpsc::unbounded_channel();
    let heartbeat = peer.behaviour.heartbeats.then(|| {
        let mut interval = interval_at(Instant::now() + HEARTBEAT_INTERVAL, HEARTBEAT_INTERVAL);
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        interval
    });
    let peer = Arc::clone(peer);
    if let Some(status) = refused {
        // Cannot fail: what receives it is here.
        let _ = steps.send(Step::Fail(status));
        return Answers { peer, steps: answers, greets: false, is_refused: true, heartbeat: None };
    }
    let reader = Reader { peer: Arc::clone(&peer), number, steps };
    tokio::spawn(async move {
        if reader.listen(source, inbound).await.is_ok() {
            reader.peer.heard.lock().good_ends += 1;
        }
        reader.peer.guard.leave();
    });
    Answers { peer, steps: answers, greets: false, is_refused: false, heartbeat }
}

/// Reads Open, and joins the stream to the run that it names.
async fn admitted(peer: &Scripted, source: &mut impl Source, inbound: &mut Inbound) -> Result<(), Status> {
    loop {
        if let Some(Incoming::Message(message, bytes)) = inbound.next_message::<DispatchRequest>()? {
            let open = message.open.clone().unwrap_or_default();
            peer.guard.admit(&open.run_id, &open.secret)?;
            peer.guard.join();
            let mut heard = peer.heard.lock();
            (heard.message_bytes, heard.other_bytes) = (heard.message_bytes + bytes, heard.other_bytes + bytes);
            return Ok(());
        }
        if !poll_fn(|cx| source.poll_read(cx, inbound)).await? {
            return Err(Status::invalid_argument("it ended before it began"));
        }
    }
}

/// The listening half of a stream.
struct Reader {
    peer: Arc<Scripted>,
    /// Which stream of the peer's it is.
    number: u64,
    steps: mpsc::UnboundedSender<Step>,
}

impl Reader {
    /// Reads until the other end has done; an error if it ended otherwise than a LoadGen node should.
    async fn listen(&self, mut source: impl Source, mut inbound: Inbound) -> Result<(), Status> {
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
        let is_other = message.open.is_some() || message.heartbeat.is_some();
        let (id, completes) = (message.id, message.last && !is_other);
        let number = heard.complete;
        heard.complete += u64::from(completes);
        heard.other_bytes += if is_other { bytes } else { 0 };
        heard.client_heartbeats += u64::from(message.heartbeat.is_some());
        heard.messages.push((self.number, message));
        heard.message_bytes += bytes;
        drop(heard);
        if completes {
            for step in (self.peer.behaviour.script)(number, id) {
                // Fails when the stream was ended by an earlier step.
                let _ = self.steps.send(step);
            }
        }
    }
}
