//! The `lon.v1` service of one node: names, claims, streams. Leaves the work to the lanes and workers.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use lon_net::flow::Source;
use lon_net::framing::Inbound;
use lon_net::grpc::{self, BodySource};
use lon_net::io::Peer;
use lon_proto::v1::sut_node_server::{SutNode, SutNodeServer};
use lon_proto::v1::{
    self, DescribeRequest, DescribeResponse, DispatchRequest, EndRunRequest, EndRunResponse, FlushRequest,
    FlushResponse, GetNameRequest, GetNameResponse, ProbeRequest, StartRunRequest, StartRunResponse,
};
use lon_proto::{WIRE_VERSION, limits};
use tokio::sync::watch;
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service as HttpService, http};
use tonic::server::NamedService;
use tonic::{Request, Response, Status, Streaming};

use crate::backend::{Backend, Execution};
use crate::config::{Limits, ServeConfig};
use crate::pipeline::varies;
use crate::run::codecs::Codecs;
use crate::run::connections::Wire;
use crate::run::state::{Purpose, Run};
use crate::service::describe::describe;
use crate::work::lane::{Lane, LaneOutput};
use crate::work::probe;
use crate::work::reader::{self, Reader, Target};
use crate::work::threads::{self, Work};

/// A claim lapses when no stream was opened for this long,
const CLAIM_WITHOUT_STREAM: Duration = Duration::from_secs(10);
/// or when the last stream has been gone for this long without `EndRun`.
const CLAIM_AFTER_STREAMS: Duration = Duration::from_secs(1);

/// Length of a client's name as it is shown to others.
const MAX_CLIENT_CHARS: usize = 200;

/// Answers of an inline backend cost less than the wire; this many keep the wire busy.
const INLINE_BUSY_SAMPLES: u64 = 256;

/// Shapes that are expected to come mixed, where samples differ in shape.
const SHAPES: u64 = 4;

pub(crate) struct Service {
    config: ServeConfig,
    backend: Arc<dyn Backend>,
    work: Work,
    stop: watch::Receiver<bool>,
    claim: Claim,
}

/// The run that has the node, if one has.
pub(crate) type Claim = Arc<Mutex<Option<Arc<Run>>>>;

/// Who wants the node, as it is said in StartRun and in Probe.
struct Claimant {
    run_id: Bytes,
    wire_version: u32,
    client: String,
    /// The address of this host that it came to.
    local: Option<IpAddr>,
}

impl Service {
    pub(crate) fn new(
        config: ServeConfig,
        backend: Arc<dyn Backend>,
        work: Work,
        stop: watch::Receiver<bool>,
        claim: Claim,
    ) -> Service {
        Service { config, backend, work, stop, claim }
    }

    fn claim(&self) -> MutexGuard<'_, Option<Arc<Run>>> {
        lock(&self.claim)
    }

    /// Where it is written who has the node.
    pub(crate) fn claim_cell(&self) -> Claim {
        Arc::clone(&self.claim)
    }

    fn run(&self, id: &Bytes) -> Result<Arc<Run>, Status> {
        let claim = self.claim();
        let run = claim.as_ref().filter(|run| run.id == *id);
        run.cloned()
            .ok_or_else(|| Status::not_found(format!("no such run at {}: it ended or lapsed", self.config.node)))
    }

    /// Gives the node to `claimant`, unless somebody has it.
    fn take_claim(&self, claimant: Claimant, limits: Limits, purpose: Purpose) -> Result<StartRunResponse, Status> {
        let node = &self.config.node;
        check_version(claimant.wire_version)?;
        if claimant.run_id.len() != limits::RUN_ID_BYTES {
            return Err(Status::invalid_argument("a run id has 16 bytes"));
        }
        if *self.stop.borrow() {
            return Err(Status::unavailable(format!("node {node} is shutting down")));
        }
        let busy =
            |other: &Arc<Run>| Err(Status::resource_exhausted(format!("node {node} is busy with {}", other.title())));
        // Before anything is made for it: whoever waits asks again and again, and a run is being measured.
        if let Some(other) = self.claim().as_ref() {
            return busy(other);
        }
        let run = Run::new(claimant.run_id, printable(&claimant.client), limits, purpose, claimant.local);
        let run = Arc::new(run);
        {
            let mut claim = self.claim();
            if let Some(other) = claim.as_ref() {
                return busy(other);
            }
            *claim = Some(Arc::clone(&run));
        }
        tokio::spawn(watch_claim(Arc::clone(&self.claim), Arc::clone(&run), self.work.clone()));
        tracing::info!("{} started", run.title());
        Ok(StartRunResponse {
            max_samples_in_flight: limits.max_samples_in_flight,
            max_bytes_in_flight: limits.max_bytes_in_flight,
            max_sample_bytes: limits.max_sample_bytes,
            busy_samples: if run.is_probe { INLINE_BUSY_SAMPLES } else { busy_samples(&self.config, &*self.backend) },
        })
    }

    /// Opens a Dispatch stream over any transport: reads its Open from `source`, joins it to its run, starts reading.
    /// Returns what is to be sent back on it. The run counts what crosses `wire`, which carries the stream.
    ///
    /// # Errors
    /// What to refuse it with.
    pub(crate) async fn open_stream(&self, mut source: impl Source, wire: Option<Wire>) -> Result<LaneOutput, Status> {
        let mut inbound = Inbound::default();
        let run = self.run(&reader::open(&mut source, &mut inbound).await?)?;
        let target = self.target(&run)?;
        if wire.is_some_and(|wire| !run.came_over(wire)) {
            return Err(Status::resource_exhausted("the run has had too many connections"));
        }
        let lane = Lane::new(run);
        let output = LaneOutput::new(Arc::clone(&lane));
        let reader = Reader::new(lane, target, self.backend.input());
        tokio::spawn(reader.run(source, inbound, self.stop.clone()));
        Ok(output)
    }

    /// Where the samples of `run` go. Without a codec as directly as can be.
    fn target(&self, run: &Run) -> Result<Target, Status> {
        if run.is_probe {
            return Ok(Target::Probe);
        }
        match self.backend.execution() {
            _ if self.config.preprocess.is_some() => Ok(Target::Decode(Arc::clone(&self.work.decode))),
            // A worker encodes its answers itself.
            Execution::Workers if run.codecs.samples.is_none() => Ok(Target::Queue(Arc::clone(&self.work.queue))),
            Execution::Inline if run.codecs.is_none() => {
                let worker = crew::inline_half(&*self.backend);
                Ok(Target::Inline(worker.map_err(|error| Status::internal(error.to_string()))?))
            }
            _ => Ok(Target::Decode(Arc::clone(&self.work.decode))),
        }
    }
}

/// Samples that keep the backend busy. Two batches, or all slots twice, for every worker: one at work, one ready.
pub(crate) fn busy_samples(config: &ServeConfig, backend: &dyn Backend) -> u64 {
    match backend.execution() {
        Execution::Workers => {
            let at_work = config.workers.get().saturating_mul(backend.slots().unwrap_or(config.max_batch).get());
            // Batches of one shape fill from what there is of all shapes.
            let shapes = if backend.slots().is_none() && varies(&backend.info().inputs) { SHAPES } else { 1 };
            (at_work as u64).saturating_mul(2 * shapes)
        }
        Execution::Inline => INLINE_BUSY_SAMPLES,
    }
}

fn lock(claim: &Mutex<Option<Arc<Run>>>) -> MutexGuard<'_, Option<Arc<Run>>> {
    claim.lock().unwrap_or_else(PoisonError::into_inner)
}

#[tonic::async_trait]
impl SutNode for Service {
    async fn get_name(&self, request: Request<GetNameRequest>) -> Result<Response<GetNameResponse>, Status> {
        let nonce = request.into_inner().nonce;
        Ok(Response::new(GetNameResponse { nonce, name: self.config.node.to_string() }))
    }

    async fn describe(&self, request: Request<DescribeRequest>) -> Result<Response<DescribeResponse>, Status> {
        check_version(request.into_inner().wire_version)?;
        Ok(Response::new(describe(&self.config.node, self.backend.as_ref(), self.config.preprocess.is_some())))
    }

    async fn start_run(&self, request: Request<StartRunRequest>) -> Result<Response<StartRunResponse>, Status> {
        let local = local(request.extensions());
        let request = request.into_inner();
        // Before anything else is said about a request that may mean something else.
        check_version(request.wire_version)?;
        let takes_files = self.config.preprocess.is_some();
        let codecs = Codecs::agreed(&request, &self.config.node, &self.backend.info().outputs, takes_files)?;
        let StartRunRequest { run_id, wire_version, client, .. } = request;
        let claimant = Claimant { run_id, wire_version, client, local };
        self.take_claim(claimant, self.config.limits, Purpose::Run(codecs)).map(Response::new)
    }

    async fn probe(&self, request: Request<ProbeRequest>) -> Result<Response<StartRunResponse>, Status> {
        let local = local(request.extensions());
        let ProbeRequest { run_id, wire_version, client } = request.into_inner();
        let claimant = Claimant { run_id, wire_version, client, local };
        // Made at its first use, which should not be the first sample's.
        probe::noise();
        self.take_claim(claimant, probe::limits(self.config.limits), Purpose::Probe).map(Response::new)
    }

    type DispatchStream = futures_util::stream::Empty<Result<v1::DispatchResponse, Status>>;

    /// [`GrpcNode`] takes these calls before the generated code sees them.
    async fn dispatch(
        &self,
        _request: Request<Streaming<DispatchRequest>>,
    ) -> Result<Response<Self::DispatchStream>, Status> {
        Err(Status::internal("a Dispatch stream that was not taken on its way in"))
    }

    async fn flush(&self, request: Request<FlushRequest>) -> Result<Response<FlushResponse>, Status> {
        let request = request.into_inner();
        let run = self.run(&request.run_id)?;
        if run.flushed(request.samples_sent, || self.work.queue.flush()).await {
            return Ok(Response::new(FlushResponse {}));
        }
        Err(Status::aborted(format!("the run ended before {} samples were answered", request.samples_sent)))
    }

    async fn end_run(&self, request: Request<EndRunRequest>) -> Result<Response<EndRunResponse>, Status> {
        let run = self.run(&request.into_inner().run_id)?;
        let report = run.report();
        // Another call may have ended it since.
        self.claim().take_if(|current| Arc::ptr_eq(current, &run));
        self.work.let_go(&run);
        tracing::info!("{} ended: {}", run.title(), crate::run::state::in_words(&report));
        Ok(Response::new(report))
    }
}

/// The service as HTTP sees it: Dispatch streams with bodies of our own, which copy no payload, everything else by the
/// generated code.
#[derive(Clone)]
pub(crate) struct GrpcNode {
    service: Arc<Service>,
    calls: SutNodeServer<Service>,
}

impl GrpcNode {
    pub(crate) fn new(service: Arc<Service>) -> GrpcNode {
        let calls = SutNodeServer::from_arc(Arc::clone(&service)).max_decoding_message_size(limits::MAX_MESSAGE_BYTES);
        GrpcNode { service, calls }
    }
}

impl NamedService for GrpcNode {
    const NAME: &'static str = <SutNodeServer<Service> as NamedService>::NAME;
}

impl HttpService<http::Request<Body>> for GrpcNode {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<http::Response<Body>, Infallible>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        if request.uri().path() != grpc::DISPATCH_PATH {
            return self.calls.call(request);
        }
        let service = Arc::clone(&self.service);
        let wire = request.extensions().get::<Peer>().map(|peer| Wire::Tcp(Arc::clone(&peer.counters)));
        Box::pin(async move {
            let opened = service.open_stream(BodySource::new(request.into_body()), wire).await;
            Ok(opened.map_or_else(Status::into_http, grpc::response))
        })
    }
}

/// Refuses a caller that speaks another version of the wire.
fn check_version(theirs: u32) -> Result<(), Status> {
    if theirs == WIRE_VERSION {
        return Ok(());
    }
    Err(Status::failed_precondition(format!("this node speaks wire version {WIRE_VERSION}, the caller {theirs}")))
}

/// The address of this host that a call came to.
fn local(extensions: &http::Extensions) -> Option<IpAddr> {
    extensions.get::<Peer>()?.local.map(|address| address.ip())
}

/// A caller's text as others may see it: short, on one line.
fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(MAX_CLIENT_CHARS).collect()
}

/// Whether a run still has streams that are to be answered.
pub(crate) fn is_at_work(claim: &Claim) -> bool {
    lock(claim).as_ref().is_some_and(|run| run.streams() > 0)
}

/// Frees the node when the LoadGen node that claimed it has gone without saying so.
async fn watch_claim(claim: Claim, run: Arc<Run>, work: Work) {
    let held = || lock(&claim).as_ref().is_some_and(|current| Arc::ptr_eq(current, &run));
    while held() {
        let patience = if run.had_stream() { CLAIM_AFTER_STREAMS } else { CLAIM_WITHOUT_STREAM };
        let changed = tokio::time::timeout(patience, run.streams_changed.notified()).await;
        let is_gone = changed.is_err() && run.streams() == 0;
        if is_gone && lock(&claim).take_if(|current| Arc::ptr_eq(current, &run)).is_some() {
            work.let_go(&run);
            tracing::warn!("{} lapsed: its streams are gone", run.title());
        }
    }
}
