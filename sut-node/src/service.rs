//! The `lon.v1` service of one node: names, claims, streams. Leaves the work to the lanes and workers.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use lon_net::flow::Source;
use lon_net::framing::Inbound;
use lon_net::grpc::{self, BodySource};
use lon_proto::v1::sut_node_server::{SutNode, SutNodeServer};
use lon_proto::v1::{
    self, DescribeRequest, DescribeResponse, DispatchRequest, EndRunRequest, EndRunResponse, FlushRequest,
    FlushResponse, GetNameRequest, GetNameResponse, ProbeRequest, StartRunRequest, StartRunResponse,
};
use lon_proto::{CODEC_NONE, WIRE_VERSION, limits};
use tokio::sync::watch;
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service as HttpService, http};
use tonic::server::NamedService;
use tonic::{Request, Response, Status, Streaming};

use crate::backend::{Backend, Execution};
use crate::config::ServeConfig;
use crate::host;
use crate::lane::{Lane, LaneOutput};
use crate::queue::JobQueue;
use crate::reader::{self, Reader, Target};
use crate::run::Run;
use crate::{tensor, workers};

/// A claim lapses when no stream was opened for this long,
const CLAIM_WITHOUT_STREAM: Duration = Duration::from_secs(10);
/// or when the last stream has been gone for this long without `EndRun`.
const CLAIM_AFTER_STREAMS: Duration = Duration::from_secs(1);

/// Length of a client's name as it is shown to others.
const MAX_CLIENT_CHARS: usize = 200;

/// Answers of an inline backend cost less than the wire; this many keep the wire busy.
const INLINE_BUSY_SAMPLES: u64 = 256;

pub(crate) struct Service {
    config: ServeConfig,
    backend: Arc<dyn Backend>,
    queue: Arc<JobQueue>,
    stop: watch::Receiver<bool>,
    claim: Claim,
}

/// The run that has the node, if one has.
pub(crate) type Claim = Arc<Mutex<Option<Arc<Run>>>>;

impl Service {
    pub(crate) fn new(
        config: ServeConfig,
        backend: Arc<dyn Backend>,
        queue: Arc<JobQueue>,
        stop: watch::Receiver<bool>,
        claim: Claim,
    ) -> Service {
        Service { config, backend, queue, stop, claim }
    }

    fn claim(&self) -> MutexGuard<'_, Option<Arc<Run>>> {
        lock(&self.claim)
    }

    fn run(&self, id: &Bytes) -> Result<Arc<Run>, Status> {
        let claim = self.claim();
        let run = claim.as_ref().filter(|run| run.id == *id);
        run.cloned()
            .ok_or_else(|| Status::not_found(format!("no such run at {}: it ended or lapsed", self.config.node)))
    }

    /// Two batches for every worker: one at work, one ready.
    fn busy_samples(&self) -> u64 {
        match self.backend.execution() {
            Execution::Workers => {
                let at_work = self.config.workers.get().saturating_mul(self.config.max_batch.get());
                (at_work as u64).saturating_mul(2)
            }
            Execution::Inline => INLINE_BUSY_SAMPLES,
        }
    }

    /// Opens a Dispatch stream over any transport: reads its Open from `source`, joins it to its run, starts reading.
    /// Returns what is to be sent back on it.
    ///
    /// # Errors
    /// What to refuse it with.
    pub(crate) async fn open_stream(&self, mut source: impl Source) -> Result<LaneOutput, Status> {
        let mut inbound = Inbound::default();
        let run = self.run(&reader::open(&mut source, &mut inbound).await?)?;
        let target = self.target()?;
        let lane = Lane::new(run);
        let output = LaneOutput::new(Arc::clone(&lane));
        let reader = Reader::new(lane, target, self.backend.input());
        tokio::spawn(reader.run(source, inbound, self.stop.clone()));
        Ok(output)
    }

    fn target(&self) -> Result<Target, Status> {
        match self.backend.execution() {
            Execution::Workers => Ok(Target::Queue(Arc::clone(&self.queue))),
            Execution::Inline => {
                let worker = self.backend.worker();
                Ok(Target::Inline(worker.map_err(|error| Status::internal(error.to_string()))?))
            }
        }
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
        Ok(Response::new(describe(&self.config.node, self.backend.as_ref())))
    }

    async fn start_run(&self, request: Request<StartRunRequest>) -> Result<Response<StartRunResponse>, Status> {
        let request = request.into_inner();
        check_version(request.wire_version)?;
        check_start(&request)?;
        if *self.stop.borrow() {
            return Err(Status::unavailable(format!("node {} is shutting down", self.config.node)));
        }
        let run = Arc::new(Run::new(request.run_id, printable(&request.client), self.config.limits));
        {
            let mut claim = self.claim();
            if let Some(other) = claim.as_ref() {
                let (node, name, client) = (&self.config.node, other.name(), &other.client);
                return Err(Status::resource_exhausted(format!("node {node} is busy with run {name} from {client}")));
            }
            *claim = Some(Arc::clone(&run));
        }
        tokio::spawn(watch_claim(Arc::clone(&self.claim), Arc::clone(&run), Arc::clone(&self.queue)));
        tracing::info!("run {} from {} started", run.name(), run.client);
        Ok(Response::new(StartRunResponse {
            max_samples_in_flight: run.limits.max_samples_in_flight,
            max_bytes_in_flight: run.limits.max_bytes_in_flight,
            max_sample_bytes: run.limits.max_sample_bytes,
            busy_samples: self.busy_samples(),
        }))
    }

    async fn probe(&self, _request: Request<ProbeRequest>) -> Result<Response<StartRunResponse>, Status> {
        Err(Status::unimplemented("this node cannot be probed yet"))
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
        if run.flushed(request.samples_sent, || self.queue.flush()).await {
            return Ok(Response::new(FlushResponse {}));
        }
        Err(Status::aborted(format!("the run ended before {} samples were answered", request.samples_sent)))
    }

    async fn end_run(&self, request: Request<EndRunRequest>) -> Result<Response<EndRunResponse>, Status> {
        let run = self.run(&request.into_inner().run_id)?;
        let report = run.report();
        // Another call may have ended it since.
        self.claim().take_if(|current| Arc::ptr_eq(current, &run));
        end(&run, &self.queue);
        tracing::info!("run {} ended: {report:?}", run.name());
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
        Box::pin(async move {
            let opened = service.open_stream(BodySource::new(request.into_body())).await;
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

/// Lets go of everything that a run still has here.
fn end(run: &Run, queue: &JobQueue) {
    run.end();
    queue.discard_ended().iter().for_each(workers::give_up);
}

/// A caller's text as others may see it: short, on one line.
fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(MAX_CLIENT_CHARS).collect()
}

/// Whether a run still has streams that are to be answered.
pub(crate) fn is_at_work(claim: &Claim) -> bool {
    lock(claim).as_ref().is_some_and(|run| run.streams() > 0)
}

fn check_start(request: &StartRunRequest) -> Result<(), Status> {
    if request.run_id.len() != limits::RUN_ID_BYTES {
        return Err(Status::invalid_argument("a run id has 16 bytes"));
    }
    if !matches!(request.codec.as_str(), "" | CODEC_NONE) {
        return Err(Status::unimplemented(format!(
            "codec '{}' is not known here (known: {CODEC_NONE})",
            request.codec
        )));
    }
    Ok(())
}

/// Frees the node when the LoadGen node that claimed it has gone without saying so.
async fn watch_claim(claim: Claim, run: Arc<Run>, queue: Arc<JobQueue>) {
    let held = || lock(&claim).as_ref().is_some_and(|current| Arc::ptr_eq(current, &run));
    while held() {
        let patience = if run.had_stream() { CLAIM_AFTER_STREAMS } else { CLAIM_WITHOUT_STREAM };
        let changed = tokio::time::timeout(patience, run.streams_changed.notified()).await;
        let is_gone = changed.is_err() && run.streams() == 0;
        if is_gone && lock(&claim).take_if(|current| Arc::ptr_eq(current, &run)).is_some() {
            end(&run, &queue);
            tracing::warn!("run {} from {} lapsed: its streams are gone", run.name(), run.client);
        }
    }
}

pub(crate) fn describe(node: &crate::NodeName, backend: &dyn Backend) -> DescribeResponse {
    let info = backend.info();
    DescribeResponse {
        wire_version: WIRE_VERSION,
        name: node.to_string(),
        software: concat!("sut-node ", env!("CARGO_PKG_VERSION")).to_owned(),
        host: Some(host::describe()),
        backend: Some(v1::Backend {
            engine: info.engine.clone(),
            model: info.model.clone(),
            model_sha256: info.model_sha256.clone().unwrap_or_default(),
            inputs: info.inputs.iter().map(Into::into).collect(),
            outputs: info.outputs.iter().map(Into::into).collect(),
        }),
        codecs: vec![CODEC_NONE.to_owned()],
    }
}

/// The same for people and scripts: what `sut-node describe` prints.
pub(crate) fn describe_json(node: &crate::NodeName, backend: &dyn Backend) -> serde_json::Value {
    let described = describe(node, backend);
    let host = described.host.unwrap_or_default();
    let info = backend.info();
    let specs = |specs: &[tensor::TensorSpec]| specs.iter().map(ToString::to_string).collect::<Vec<_>>();
    let nics = host.nics.iter().map(|nic| {
        serde_json::json!({
            "name": nic.name, "driver": nic.driver, "speed_mbit_s": nic.speed_mbit_s, "mtu_bytes": nic.mtu_bytes,
        })
    });
    serde_json::json!({
        "schema": 1,
        "name": described.name,
        "software": described.software,
        "wire_version": described.wire_version,
        "backend": {
            "engine": info.engine,
            "model": info.model,
            "model_sha256": info.model_sha256,
            "inputs": specs(&info.inputs),
            "outputs": specs(&info.outputs),
        },
        "codecs": described.codecs,
        "host": {
            "hostname": host.hostname, "machine_id": host.machine_id, "boot_id": host.boot_id,
            "os": host.os, "kernel": host.kernel, "cpu": host.cpu, "cores": host.cores,
            "memory_bytes": host.memory_bytes, "nics": nics.collect::<Vec<_>>(),
        },
    })
}
