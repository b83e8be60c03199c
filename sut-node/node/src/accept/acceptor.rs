//! A transport: a way in which Dispatch streams reach a node.
//!
//! A transport accepts connections and gives each stream on them to [`Streams`], which opens it and returns the
//! messages that go back. It knows bytes, not samples. Control calls do not come this way: they are gRPC.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use lon_net::flow::{Fill, Filled, Source};
use lon_net::framing::Outbound;
use tonic::Status;

use super::open_connection::OpenConnection;
use crate::error::ServeError;
use crate::run::connections::Connection;
use crate::service::calls::Service;
use crate::stop::Stop;
use crate::work::output::AnswerOutput;

/// One way in which Dispatch streams reach a node. A value of it serves on one thread.
pub trait Acceptor: Send + 'static {
    /// Accepts connections and gives their streams to `streams`. Returns once the node is told to stop
    /// ([`Streams::stopped`]) and everything that was begun on the connections has ended. Runs on a current-thread
    /// tokio runtime, together with other transports.
    fn serve(self: Box<Self>, streams: Streams) -> Serving;

    /// Returns the work that is left once serving is over, or was given up because its time was up: for example to tell
    /// clients. The node asks for it before [`Acceptor::serve`]. The default does nothing.
    fn closing(&self) -> Closing {
        Box::pin(std::future::ready(()))
    }
}

/// A transport at work. It ends with an error when the transport failed as a whole; the failure of one connection only
/// ends that connection.
pub type Serving = Pin<Box<dyn Future<Output = Result<(), ServeError>> + Send>>;

/// Last work of a transport. It must not take longer than a moment.
pub type Closing = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Receiver of the transports' streams. Clones are the same node.
#[derive(Clone)]
pub struct Streams {
    service: Arc<Service>,
    stop: Stop,
}

impl Streams {
    /// The streams of this node.
    pub(crate) fn new(service: Arc<Service>, stop: Stop) -> Streams {
        Streams { service, stop }
    }

    /// Opens a stream and starts reading it. Returns what to write on it until it ends: an accepted stream begins with
    /// a heartbeat, a refused one has an End frame alone, with the reason. The run counts the bytes of `connection`,
    /// which carries the stream; streams on one connection share one `Arc`.
    pub async fn open<S: Source>(&self, source: S, connection: Arc<dyn Connection>) -> impl Fill + use<S> {
        self.answers(source, connection).await
    }

    async fn answers(&self, source: impl Source, connection: Arc<dyn Connection>) -> Answers {
        match self.service.open_stream(source, Some(connection)).await {
            Ok(output) => Answers::Accepted(Box::new(output.with_heartbeat_first())),
            Err(status) => Answers::Refused(status),
        }
    }

    /// Opens a stream on the connection of `entry`, which belongs to the stream's run from then on.
    pub(crate) async fn open_for<S: Source>(
        &self,
        entry: &OpenConnection,
        source: S,
        connection: Arc<dyn Connection>,
    ) -> impl Fill + use<S> {
        let answers = self.answers(source, connection).await;
        if let Answers::Accepted(_) = answers {
            self.welcome(entry);
        }
        answers
    }

    /// The connection of `entry` belongs to the run that has the node.
    pub(crate) fn welcome(&self, entry: &OpenConnection) {
        let tenants = self.service.claim().tenants();
        if !tenants.is_empty() {
            entry.belongs_to(&tenants);
        }
    }

    /// Resolves once the node is told to stop. Streams that are open then end by themselves.
    pub async fn stopped(&self) {
        self.stop.clone().wait().await;
    }
}

/// Messages that the node writes on a stream.
enum Answers {
    Accepted(Box<AnswerOutput>),
    Refused(Status),
}

impl Fill for Answers {
    fn poll_fill(&mut self, cx: &mut Context<'_>, out: &mut Outbound) -> Poll<Filled> {
        match self {
            Answers::Accepted(output) => output.poll_fill(cx, out),
            Answers::Refused(status) => Poll::Ready(Filled::End(Err(status.clone()))),
        }
    }
}
