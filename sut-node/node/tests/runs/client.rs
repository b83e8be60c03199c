//! A client that is no LoadGen node: control over gRPC, streams over plain TCP or QUIC, and its own count of
//! everything.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lon_net::dial::dial;
use lon_net::flow::Source;
use lon_net::framing::{Inbound, Incoming, Outbound};
use lon_net::io::SocketCounters;
use lon_net::quic::{self, Link, QuicSource, Trust};
use lon_net::tcp::StreamSource;
use lon_net::tls::{Protocol, TlsFiles, Unverified};
use lon_proto::assembly::{Part, Parts};
use lon_proto::run_identity::RunPass;
use lon_proto::v1::dispatch_response::Kind;
use lon_proto::v1::sut_node_client::SutNodeClient;
use lon_proto::v1::{
    DescribeRequest, DescribeResponse, DispatchRequest, DispatchResponse, EndRunResponse, ProbeRequest, Stages,
    StartRunRequest, StartRunResponse, Tenant,
};
use lon_proto::{WIRE_VERSION, limits};
use lon_sut::backend::{Backend, BackendOptions, Backends};
use lon_sut::{Models, ServeConfig, Sockets, serve};
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::oneshot;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};

/// Far beyond what anything here takes; a hang fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a conversation with a node, then tells the node to stop and waits until it has.
pub(crate) fn with_node(
    backend: &str,
    configure: impl FnOnce(&mut ServeConfig),
    conversation: impl AsyncFnOnce(String),
) {
    with_node_and_after(backend, configure, conversation, async |()| {});
}

/// The same with a backend of one's own.
pub(crate) fn with_backend(backend: Arc<dyn Backend>, conversation: impl AsyncFnOnce(String)) {
    serving(backend, |_| {}, conversation, async |()| {});
}

/// The same with several models.
pub(crate) fn with_models(models: Models, conversation: impl AsyncFnOnce(String)) {
    serving(models, |_| {}, conversation, async |()| {});
}

/// The same, with something to do once the node has ended.
pub(crate) fn with_node_and_after<T>(
    backend: &str,
    configure: impl FnOnce(&mut ServeConfig),
    conversation: impl AsyncFnOnce(String) -> T,
    after: impl AsyncFnOnce(T),
) {
    let backend = Backends::new().open(backend, &BackendOptions::default()).unwrap();
    serving(backend, configure, conversation, after);
}

fn serving<T>(
    models: impl Into<Models>,
    configure: impl FnOnce(&mut ServeConfig),
    conversation: impl AsyncFnOnce(String) -> T,
    after: impl AsyncFnOnce(T),
) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let whole = async {
        let sockets = Sockets::bind("127.0.0.1:0").unwrap();
        let address = sockets.address().to_string();
        let mut config = ServeConfig::new("n1".parse().unwrap());
        configure(&mut config);
        let (stop, stopped) = oneshot::channel::<()>();
        let shutdown = async { drop(stopped.await) };
        let serving = serve(sockets, config, models, shutdown, || {});
        let talking = async {
            let outcome = conversation(address).await;
            drop(stop);
            outcome
        };
        let (served, outcome) = tokio::join!(serving, talking);
        served.unwrap();
        after(outcome).await;
    };
    runtime.block_on(async { tokio::time::timeout(PATIENCE, whole).await.expect("a hang") });
}

/// Control calls for one run, whose id is sixteen times the same byte.
#[derive(Clone)]
pub(crate) struct Control {
    client: SutNodeClient<Channel>,
    run_id: Bytes,
    /// Id and secret that the node wants to be shown; of no use until it was claimed.
    pub(crate) pass: RunPass,
}

impl Control {
    pub(crate) async fn connect(address: &str, run: u8) -> Control {
        let channel = Endpoint::from_shared(format!("http://{address}")).unwrap().connect().await.unwrap();
        let run_id = Bytes::from(vec![run; limits::RUN_ID_BYTES]);
        let pass = RunPass::new(run_id.clone(), Bytes::new());
        Control { client: SutNodeClient::new(channel), run_id, pass }
    }

    pub(crate) async fn start(
        &mut self,
        codec: &str,
        response_codec: &str,
    ) -> Result<StartRunResponse, (Code, String)> {
        let request = StartRunRequest {
            run_id: self.run_id.clone(),
            wire_version: WIRE_VERSION,
            client: "there".to_owned(),
            codec: codec.to_owned(),
            response_codec: response_codec.to_owned(),
            ..StartRunRequest::default()
        };
        let claimed = self.client.start_run(request).await;
        self.claimed(claimed)
    }

    /// Claims the node for tenants: each has a model, a codec and a codec of answers.
    pub(crate) async fn start_tenants(
        &mut self,
        tenants: &[(&str, &str, &str)],
    ) -> Result<StartRunResponse, (Code, String)> {
        let tenant = |&(model, codec, response_codec): &(&str, &str, &str)| Tenant {
            model: model.to_owned(),
            codec: codec.to_owned(),
            response_codec: response_codec.to_owned(),
        };
        let request = StartRunRequest {
            run_id: self.run_id.clone(),
            wire_version: WIRE_VERSION,
            client: "there".to_owned(),
            tenants: tenants.iter().map(tenant).collect(),
            ..StartRunRequest::default()
        };
        let claimed = self.client.start_run(request).await;
        self.claimed(claimed)
    }

    /// The same connection, for the tenant with this secret.
    pub(crate) fn of_tenant(&self, secret: &Bytes) -> Control {
        Control { pass: RunPass::new(self.run_id.clone(), secret.clone()), ..self.clone() }
    }

    pub(crate) async fn describe(&mut self) -> DescribeResponse {
        let request = DescribeRequest { nonce: vec![7; 16].into(), wire_version: WIRE_VERSION };
        self.client.describe(request).await.unwrap().into_inner()
    }

    fn claimed(
        &mut self,
        claimed: Result<tonic::Response<StartRunResponse>, Status>,
    ) -> Result<StartRunResponse, (Code, String)> {
        let response = claimed.map_err(|status| code_and_text(&status))?.into_inner();
        self.pass = RunPass::new(self.run_id.clone(), response.secret.clone());
        Ok(response)
    }

    pub(crate) async fn probe(&mut self) -> Result<StartRunResponse, (Code, String)> {
        let (run_id, client) = (self.run_id.clone(), "there".to_owned());
        let request = ProbeRequest { run_id, wire_version: WIRE_VERSION, client };
        let claimed = self.client.probe(request).await;
        self.claimed(claimed)
    }

    pub(crate) async fn flush(&mut self, samples_sent: u64) -> Result<(), (Code, String)> {
        self.client.flush(self.pass.flush(samples_sent)).await.map(drop).map_err(|status| code_and_text(&status))
    }

    pub(crate) async fn end(&mut self) -> EndRunResponse {
        self.client.end_run(self.pass.end_run()).await.unwrap().into_inner()
    }

    /// A Dispatch stream on this connection: sends samples of these sizes, returns when all are answered.
    pub(crate) async fn dispatch(&mut self, sizes: &[usize]) {
        let open = Some(self.pass.open());
        let mut requests = vec![DispatchRequest { open, ..DispatchRequest::default() }];
        for (id, &len) in sizes.iter().enumerate() {
            requests.extend(Parts::new(Bytes::from(vec![7; len])).map(|part| request(id as u64, part)));
        }
        // Never ends: an end of the requests would end the stream.
        let requests =
            futures_util::StreamExt::chain(futures_util::stream::iter(requests), futures_util::stream::pending());
        let mut answers = self.client.dispatch(requests).await.unwrap().into_inner();
        let mut remainder = sizes.len();
        while remainder > 0 {
            let message = answers.message().await.unwrap().unwrap();
            remainder -= usize::from(message.last && message.heartbeat.is_none());
        }
    }
}

fn request(id: u64, Part { number, last, total_len, data }: Part) -> DispatchRequest {
    DispatchRequest { id, part: number, last, total_len, data, ..DispatchRequest::default() }
}

fn code_and_text(status: &Status) -> (Code, String) {
    (status.code(), status.message().to_owned())
}

/// Counts that a client makes itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) samples: u64,
    pub(crate) message_bytes: u64,
    pub(crate) payload_bytes: u64,
}

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) id: u64,
    pub(crate) result: Result<Bytes, String>,
    pub(crate) stages: Stages,
    /// A first token, and no answer yet.
    pub(crate) is_first: bool,
    pub(crate) n_tokens: u64,
}

/// One Dispatch stream without HTTP.
pub(crate) struct Stream {
    writing: Box<dyn AsyncWrite + Unpin>,
    source: Box<dyn Source>,
    inbound: Inbound,
    out: Outbound,
    pub(crate) sent: Counted,
    pub(crate) answers: Counted,
}

impl Stream {
    /// On a TCP connection of its own, and what crosses its socket.
    pub(crate) async fn tcp(address: &str, pass: &RunPass) -> (Stream, Arc<SocketCounters>) {
        let counters = Arc::default();
        let stream = dial(address, None, Protocol::Tcp, Arc::clone(&counters)).await.unwrap();
        let (reading, writing) = tokio::io::split(stream);
        (Stream::open(Box::new(writing), Box::new(StreamSource::new(reading)), pass).await, counters)
    }

    /// On a QUIC connection.
    pub(crate) async fn quic(link: &Link, pass: &RunPass) -> Stream {
        let (writing, reading) = link.connection.open_bi().await.unwrap();
        Stream::open(Box::new(writing), Box::new(QuicSource::new(reading)), pass).await
    }

    /// Returns when the node has accepted the stream.
    pub(crate) async fn open(writing: Box<dyn AsyncWrite + Unpin>, source: Box<dyn Source>, pass: &RunPass) -> Stream {
        let (inbound, out) = Default::default();
        let mut stream =
            Stream { writing, source, inbound, out, sent: Counted::default(), answers: Counted::default() };
        let open = Some(pass.open());
        stream.out.push_message(&DispatchRequest { open, ..DispatchRequest::default() });
        stream.write().await;
        let (greeting, _) = stream.message().await;
        assert!(greeting.heartbeat.is_some(), "{greeting:?}");
        stream
    }

    async fn write(&mut self) {
        while let Some(chunk) = self.out.pop() {
            self.writing.write_all(&chunk).await.unwrap();
        }
        self.writing.flush().await.unwrap();
    }

    pub(crate) async fn send(&mut self, id: u64, payload: Bytes) {
        self.sent.samples += 1;
        self.sent.payload_bytes += payload.len() as u64;
        for part in Parts::new(payload) {
            self.sent.message_bytes += self.out.push_request(id, part);
        }
        self.write().await;
    }

    async fn message(&mut self) -> (DispatchResponse, u64) {
        loop {
            match self.inbound.next_message::<DispatchResponse>().unwrap() {
                Some(Incoming::Message(message, bytes)) => return (message, bytes),
                Some(Incoming::End(how)) => panic!("the stream ended: {how:?}"),
                None => assert!(poll_fn(|cx| self.source.poll_read(cx, &mut self.inbound)).await.unwrap()),
            }
        }
    }

    /// The next answer or first token, heartbeats left out.
    pub(crate) async fn answer(&mut self) -> Answer {
        let mut whole = Vec::new();
        loop {
            let (message, bytes) = self.message().await;
            if message.heartbeat.is_some() {
                continue;
            }
            self.answers.message_bytes += bytes;
            self.answers.payload_bytes += message.data.len() as u64;
            whole.extend_from_slice(&message.data);
            if message.last {
                let (is_first, n_tokens) = (message.kind() == Kind::First, message.n_tokens);
                self.answers.samples += u64::from(!is_first);
                let error = message.error;
                let result = if error.is_empty() { Ok(Bytes::from(whole)) } else { Err(error) };
                let (id, stages) = (message.id, message.stages.unwrap_or_default());
                return Answer { id, result, stages, is_first, n_tokens };
            }
        }
    }
}

pub(crate) async fn quic_link(address: &str) -> Link {
    let anyone = Unverified::new(&TlsFiles::default()).unwrap();
    quic::connect(address, &quic::client_config(Trust::Anyone(&anyone)).unwrap()).await.unwrap()
}
