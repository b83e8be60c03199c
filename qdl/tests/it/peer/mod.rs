//! A node of a few lines: answers each sample with the sample itself, in the codec that it was asked for, and counts.

pub(crate) mod caller;
pub(crate) mod framed;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use lon_proto::WIRE_VERSION;
use lon_proto::codec::{Codec, Encoder, Layout};
use lon_proto::limits::SECRET_BYTES;
use lon_proto::v1::sut_node_server::{SutNode, SutNodeServer};
use lon_proto::v1::{
    DescribeRequest, DescribeResponse, DispatchRequest, DispatchResponse, EndRunRequest, EndRunResponse, FlushRequest,
    FlushResponse, GetNameRequest, GetNameResponse, GetProbeCountersRequest, ProbeCounters, ProbePeerRequest,
    ProbePeerResponse, ProbeRequest, StartRunRequest, StartRunResponse,
};
use prost::Message as _;
use tokio::sync::mpsc;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status, Streaming};

/// A sample that begins with this is answered with what no encoder made.
pub(crate) const CORRUPT: u8 = 0xFF;

/// Requests to the node, and its actions.
#[derive(Default)]
pub(crate) struct Heard {
    /// Requests that claimed a run.
    pub(crate) starts: Vec<StartRunRequest>,
    /// Claims to probe.
    pub(crate) probes: u64,
    /// Samples by the stream they came on.
    pub(crate) samples: Vec<u64>,
    counts: EndRunResponse,
}

/// A node that runs until the process ends: tests are short.
pub(crate) struct Peer {
    /// Where it listens.
    pub(crate) address: SocketAddr,
    heard: Arc<Mutex<Heard>>,
}

struct Node {
    can_be_probed: bool,
    heard: Arc<Mutex<Heard>>,
}

impl Peer {
    /// Starts it on a free port.
    pub(crate) fn start(can_be_probed: bool) -> Peer {
        Peer::start_after(can_be_probed, 0)
    }

    /// The same; so many connections are accepted and told nothing before.
    pub(crate) fn start_after(can_be_probed: bool, silent: usize) -> Peer {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let heard = Arc::<Mutex<Heard>>::default();
        let node = Node { can_be_probed, heard: Arc::clone(&heard) };
        std::thread::spawn(move || {
            let ignored: Vec<_> = (0..silent).map(|_| listener.accept().unwrap()).collect();
            drop(ignored);
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                listener.set_nonblocking(true).unwrap();
                let incoming = TcpIncoming::from(tokio::net::TcpListener::from_std(listener).unwrap());
                let server = tonic::transport::Server::builder();
                server.serve_with_incoming(SutNodeServer::new(node), incoming).await.unwrap();
            });
        });
        Peer { address, heard }
    }

    /// Returns the record of requests until now.
    pub(crate) fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap()
    }
}

fn claimed() -> Response<StartRunResponse> {
    Response::new(StartRunResponse {
        max_samples_in_flight: 1024,
        max_bytes_in_flight: 1 << 30,
        max_sample_bytes: 1 << 30,
        busy_samples: 8,
        secret: Bytes::from_static(&[7; SECRET_BYTES]),
        ..StartRunResponse::default()
    })
}

#[tonic::async_trait]
impl SutNode for Node {
    async fn get_name(&self, request: Request<GetNameRequest>) -> Result<Response<GetNameResponse>, Status> {
        Ok(Response::new(GetNameResponse { nonce: request.into_inner().nonce, name: "N1".to_owned() }))
    }

    async fn describe(&self, _: Request<DescribeRequest>) -> Result<Response<DescribeResponse>, Status> {
        let codecs = Codec::NAMES.iter().map(|&name| name.to_owned()).collect();
        let name = "N1".to_owned();
        Ok(Response::new(DescribeResponse { wire_version: WIRE_VERSION, name, codecs, ..Default::default() }))
    }

    async fn start_run(&self, request: Request<StartRunRequest>) -> Result<Response<StartRunResponse>, Status> {
        let mut heard = self.heard.lock().unwrap();
        heard.starts.push(request.into_inner());
        heard.counts = EndRunResponse::default();
        Ok(claimed())
    }

    async fn probe(&self, _: Request<ProbeRequest>) -> Result<Response<StartRunResponse>, Status> {
        if !self.can_be_probed {
            return Err(Status::unimplemented("no such call"));
        }
        self.heard.lock().unwrap().probes += 1;
        Ok(claimed())
    }

    async fn get_probe_counters(&self, _: Request<GetProbeCountersRequest>) -> Result<Response<ProbeCounters>, Status> {
        Err(Status::unimplemented("no such call"))
    }

    async fn probe_peer(&self, _: Request<ProbePeerRequest>) -> Result<Response<ProbePeerResponse>, Status> {
        Err(Status::unimplemented("no such call"))
    }

    type DispatchStream = BoxStream<'static, Result<DispatchResponse, Status>>;

    async fn dispatch(
        &self,
        request: Request<Streaming<DispatchRequest>>,
    ) -> Result<Response<Self::DispatchStream>, Status> {
        let mut incoming = request.into_inner();
        let (answers, mut answered) = mpsc::unbounded_channel();
        let mut answering = Answering::new(&self.heard);
        tokio::spawn(async move {
            while let Some(Ok(message)) = incoming.next().await {
                if message.open.is_none() && message.heartbeat.is_none() {
                    let _ = answers.send(Ok(answering.answer(&message)));
                }
            }
        });
        Ok(Response::new(stream::poll_fn(move |cx| answered.poll_recv(cx)).boxed()))
    }

    async fn flush(&self, _: Request<FlushRequest>) -> Result<Response<FlushResponse>, Status> {
        Ok(Response::new(FlushResponse {}))
    }

    async fn end_run(&self, _: Request<EndRunRequest>) -> Result<Response<EndRunResponse>, Status> {
        Ok(Response::new(self.heard.lock().unwrap().counts.clone()))
    }
}

/// One stream's answers: to each sample the sample itself, in the codec that the run was claimed with. Counts what
/// comes and goes.
struct Answering {
    heard: Arc<Mutex<Heard>>,
    stream: usize,
    encoder: Encoder,
}

impl Answering {
    fn new(heard: &Arc<Mutex<Heard>>) -> Answering {
        let heard = Arc::clone(heard);
        let (stream, codec) = {
            let mut heard = heard.lock().unwrap();
            heard.samples.push(0);
            let codec = heard.starts.last().map_or(Codec::None, |start| start.response_codec.parse().unwrap());
            (heard.samples.len() - 1, codec)
        };
        Answering { heard, stream, encoder: Encoder::new(codec) }
    }

    /// The answer to a sample of one part.
    fn answer(&mut self, message: &DispatchRequest) -> DispatchResponse {
        let data = match message.data.first() {
            Some(&CORRUPT) => Bytes::from_static(&[0xEE; 20]),
            _ => self.encoder.encode(&message.data, Layout::Elements { element_bytes: 1 }).unwrap(),
        };
        let (id, total_len) = (message.id, data.len() as u64);
        let answer = DispatchResponse { id, last: true, total_len, data, ..Default::default() };
        let mut heard = self.heard.lock().unwrap();
        heard.samples[self.stream] += 1;
        heard.counts.samples_received += 1;
        heard.counts.samples_answered += 1;
        heard.counts.payload_bytes_in += message.data.len() as u64;
        heard.counts.payload_bytes_out += total_len;
        heard.counts.message_bytes_in += message.encoded_len() as u64;
        heard.counts.message_bytes_out += answer.encoded_len() as u64;
        heard.counts.tensor_bytes_in += message.data.len() as u64;
        heard.counts.tensor_bytes_out += message.data.len() as u64;
        answer
    }
}
