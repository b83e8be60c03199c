//! The calls of `lon.v1` that a node answers, and how a stream is opened over any transport. The work itself is left to
//! the readers, the threads that compute, and the answer queues.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use bytes::Bytes;
use lon_machine::host::HostNonce;
use lon_net::flow::Source;
use lon_net::framing::Inbound;
use lon_net::io::Peer;
use lon_net::random;
use lon_net::token::Token;
use lon_proto::run_identity::RunPass;
use lon_proto::text::printable_within;
use lon_proto::v1::sut_node_server::SutNode;
use lon_proto::v1::{
    DescribeRequest, DescribeResponse, DispatchRequest, DispatchResponse, EndRunRequest, EndRunResponse, FlushRequest,
    FlushResponse, GetNameRequest, GetNameResponse, GetProbeCountersRequest, ProbeCounters, ProbePeerRequest,
    ProbePeerResponse, ProbeRequest, StartRunRequest, StartRunResponse,
};
use lon_proto::{WIRE_VERSION, limits};
use tonic::codegen::http;
use tonic::{Request, Response, Status, Streaming};

use super::claim::Claim;
use super::describe::describe;
use super::models::ServedModels;
use super::tenants::{self, Tenant};
use crate::config::ServeConfig;
use crate::host::{Machine, ecc};
use crate::node_setting::Setting;
use crate::prober::Prober;
use crate::run::connections::Connection;
use crate::run::ledger::Ledger;
use crate::run::report;
use crate::run::state::ClaimedRun;
use crate::stop::Stop;
use crate::work::answer_queue::AnswerQueue;
use crate::work::output::AnswerOutput;
use crate::work::probe;
use crate::work::reader::{self, Reader};

/// The most characters of a client's name that others are shown.
const MAX_CLIENT_CHARS: usize = 200;

/// One node, as its clients see it. Shared by all transports and I/O threads.
pub(crate) struct Service {
    config: ServeConfig,
    models: Arc<ServedModels>,
    claim: Claim,
    /// Sums over all runs; none where no metrics are served.
    ledger: Option<Arc<Ledger>>,
    machine: Machine,
    /// Settings in which the machine says how its memories correct errors. It does not change while it runs.
    ecc: Vec<Setting>,
    prober: Prober,
    stop: Stop,
}

/// Client that wants the node, as `StartRun` and `Probe` describe it.
struct Claimant {
    run_id: Bytes,
    wire_version: u32,
    client: String,
    /// The address of this host that it came to.
    local: Option<IpAddr>,
}

impl Service {
    /// A node that nobody has claimed yet.
    pub(crate) fn new(config: ServeConfig, models: Arc<ServedModels>, stop: Stop) -> Service {
        let (claim, machine, prober) = (Claim::default(), Machine::default(), Prober::new(&config));
        let ecc = ecc::settings(&machine.now().without_ids());
        Service { config, models, claim, ledger: None, machine, ecc, prober, stop }
    }

    /// Enters runs into this ledger.
    pub(crate) fn with_ledger(mut self, ledger: Option<Arc<Ledger>>) -> Service {
        self.ledger = ledger;
        self
    }

    /// Which run has the node.
    pub(crate) fn claim(&self) -> &Claim {
        &self.claim
    }

    /// Refuses a caller that does not show the token, if the node wants one. Asked where a caller learns what the node
    /// is, or claims it; from there on the run's secret counts. The name and the health check are for everybody.
    ///
    /// The log says who was refused, but for a LoadGen node that has shown the token: it asks once without, to warn its
    /// user of nodes that want none.
    fn authorize<T>(&self, request: &Request<T>) -> Result<(), Status> {
        let Some(token) = &self.config.token else { return Ok(()) };
        let peer = request.extensions().get::<Peer>();
        if token.is_shown(request.metadata()) {
            peer.inspect(|peer| peer.has_shown_token.store(true, Relaxed));
            return Ok(());
        }
        if !peer.is_some_and(|peer| peer.has_shown_token.load(Relaxed)) {
            let client = peer.and_then(|peer| peer.address).map(tracing::field::display);
            let token_state = if Token::is_any_shown(request.metadata()) { "a wrong token" } else { "no token" };
            tracing::info!(client, shown = token_state, "a client was refused");
        }
        Err(Status::unauthenticated(format!(
            "node {} wants a token, and was shown none or another: give the LoadGen node --token-file with the token \
             of the node's own --token-file",
            self.config.node
        )))
    }

    /// The tenant that has the node, for a caller who shows its id and its secret. A wrong secret is told what an
    /// unknown run is told.
    fn run(&self, id: &[u8], secret: &[u8]) -> Result<Arc<ClaimedRun>, Status> {
        let run = self.claim.admitted(id, secret);
        run.ok_or_else(|| Status::not_found(format!("no such run at {}: it ended or lapsed", self.config.node)))
    }

    /// The same of a probe.
    fn probing(&self, id: &[u8], secret: &[u8]) -> Result<Arc<ClaimedRun>, Status> {
        let run = self.run(id, secret)?;
        let wrong = || Status::failed_precondition("the node is claimed for a run, not for a probe");
        if run.is_probe { Ok(run) } else { Err(wrong()) }
    }

    /// Gives the node to the tenants of `claimant`, unless another run has it.
    fn start(&self, claimant: &Claimant, tenants: Vec<Tenant>) -> Result<Vec<Arc<ClaimedRun>>, Status> {
        let node = &self.config.node;
        check_version(claimant.wire_version)?;
        if claimant.run_id.len() != limits::RUN_ID_BYTES {
            return Err(Status::invalid_argument("a run id has 16 bytes"));
        }
        if self.stop.is_told() {
            return Err(Status::unavailable(format!("node {node} is shutting down")));
        }
        let busy = |other: Arc<ClaimedRun>| {
            self.ledger.iter().for_each(|ledger| ledger.refused());
            Status::resource_exhausted(format!("node {node} is busy with {}", other.claim_title()))
        };
        // This check precedes all work for the run: a client that waits asks again and again, and meanwhile another run
        // is being measured.
        if let Some(other) = self.claim.current() {
            return Err(busy(other));
        }
        let client = printable_within(&claimant.client, MAX_CLIENT_CHARS);
        let run = |Tenant { model, title, limits, purpose }: Tenant| {
            let pass = RunPass::new(claimant.run_id.clone(), new_secret()?);
            Ok(Arc::new(ClaimedRun::new(pass, client.clone(), limits, purpose, claimant.local).of_tenant(model, title)))
        };
        let runs: Vec<Arc<ClaimedRun>> = tenants.into_iter().map(run).collect::<Result<_, Status>>()?;
        self.claim.take(&runs).map_err(busy)?;
        runs.iter().for_each(|run| self.begin(run));
        Ok(runs)
    }

    /// Begins a run that has just got the node.
    fn begin(&self, run: &Arc<ClaimedRun>) {
        self.ledger.iter().for_each(|ledger| ledger.enter(run));
        let models = Arc::clone(&self.models);
        tokio::spawn(self.claim.clone().watch(Arc::clone(run), move |run| models.end(run)));
        let node = &self.config.node;
        match self.config.logs_runs {
            true => tracing::info!(run = run.title(), %node, "started"),
            false => tracing::debug!(run = run.title(), %node, "started"),
        }
    }

    /// Opens a Dispatch stream over any transport: reads its Open from `source`, joins it to its run, starts reading.
    /// Returns what is to be sent back on it. The run counts the bytes of `connection`, which carries the stream.
    ///
    /// # Errors
    /// The status to refuse the stream with.
    pub(crate) async fn open_stream(
        &self,
        mut source: impl Source,
        connection: Option<Arc<dyn Connection>>,
    ) -> Result<AnswerOutput, Status> {
        let mut inbound = Inbound::default();
        let open = reader::open(&mut source, &mut inbound).await?;
        let run = self.run(&open.run_id, &open.secret)?;
        let model = self.models.of(&run);
        let (target, input) = (model.target(&run)?, model.backend.input());
        if connection.is_some_and(|connection| !run.came_over(connection)) {
            return Err(Status::resource_exhausted("the run has had too many connections"));
        }
        let ledger = self.ledger.as_ref().filter(|_| !run.is_probe);
        let durations = ledger.and_then(|ledger| ledger.lend_durations(run.model));
        let answer_queue = AnswerQueue::new(run);
        let output = AnswerOutput::new(Arc::clone(&answer_queue)).with_durations(durations);
        let reader = Reader::new(answer_queue, target, input);
        tokio::spawn(reader.run(source, inbound, self.stop.clone()));
        Ok(output)
    }
}

#[tonic::async_trait]
impl SutNode for Service {
    async fn get_name(&self, request: Request<GetNameRequest>) -> Result<Response<GetNameResponse>, Status> {
        let nonce = request.into_inner().nonce;
        Ok(Response::new(GetNameResponse { nonce, name: self.config.node.to_string() }))
    }

    async fn describe(&self, request: Request<DescribeRequest>) -> Result<Response<DescribeResponse>, Status> {
        self.authorize(&request)?;
        let request = request.into_inner();
        check_version(request.wire_version)?;
        let nonce = request.nonce.as_ref().try_into();
        let nonce = nonce.map_err(|_| Status::invalid_argument("the nonce of Describe has 16 bytes"))?;
        let host = self.machine.now().host_for(&HostNonce(nonce));
        Ok(Response::new(describe(&self.config, host, &self.ecc, &self.models)))
    }

    async fn start_run(&self, request: Request<StartRunRequest>) -> Result<Response<StartRunResponse>, Status> {
        self.authorize(&request)?;
        let local = local(request.extensions());
        let request = request.into_inner();
        // Before anything else is said about a request whose words may mean something else.
        check_version(request.wire_version)?;
        let tenants = tenants::of_request(&request, &self.config, &self.models)?;
        let names_tenants = !request.tenants.is_empty();
        let StartRunRequest { run_id, wire_version, client, .. } = request;
        let runs = self.start(&Claimant { run_id, wire_version, client, local }, tenants)?;
        Ok(Response::new(tenants::response(runs.iter().map(|run| &**run), &self.models, names_tenants)))
    }

    async fn probe(&self, request: Request<ProbeRequest>) -> Result<Response<StartRunResponse>, Status> {
        self.authorize(&request)?;
        let local = local(request.extensions());
        let ProbeRequest { run_id, wire_version, client } = request.into_inner();
        let claimant = Claimant { run_id, wire_version, client, local };
        // The noise is made at its first use, and the first sample should not wait for that.
        probe::noise();
        let runs = self.start(&claimant, tenants::of_probe(probe::limits(self.config.limits)))?;
        Ok(Response::new(tenants::response(runs.iter().map(|run| &**run), &self.models, false)))
    }

    type DispatchStream = futures_util::stream::Empty<Result<DispatchResponse, Status>>;

    /// Never called: the gRPC transport takes these calls before the generated code sees them.
    async fn dispatch(
        &self,
        _request: Request<Streaming<DispatchRequest>>,
    ) -> Result<Response<Self::DispatchStream>, Status> {
        Err(Status::internal("a Dispatch stream that was not taken on its way in"))
    }

    async fn flush(&self, request: Request<FlushRequest>) -> Result<Response<FlushResponse>, Status> {
        let request = request.into_inner();
        let run = self.run(&request.run_id, &request.secret)?;
        let queue = &self.models.of(&run).queues.workers;
        if run.flushed(request.samples_sent, || queue.flush()).await {
            return Ok(Response::new(FlushResponse {}));
        }
        Err(Status::aborted(format!("the run ended before {} samples were answered", request.samples_sent)))
    }

    async fn end_run(&self, request: Request<EndRunRequest>) -> Result<Response<EndRunResponse>, Status> {
        let request = request.into_inner();
        let run = self.run(&request.run_id, &request.secret)?;
        let report = report::report(&run);
        // Another call may have ended it since; then this changes nothing.
        self.claim.release(&run);
        self.models.end(&run);
        match self.config.logs_runs {
            true => report::log(&run, &self.config.node, &report),
            false => tracing::debug!(run = run.title(), node = %self.config.node, "ended"),
        }
        Ok(Response::new(report))
    }

    async fn get_probe_counters(
        &self,
        request: Request<GetProbeCountersRequest>,
    ) -> Result<Response<ProbeCounters>, Status> {
        let request = request.into_inner();
        let run = self.probing(&request.run_id, &request.secret)?;
        Ok(Response::new(report::probe_counters(&run)))
    }

    async fn probe_peer(&self, request: Request<ProbePeerRequest>) -> Result<Response<ProbePeerResponse>, Status> {
        let request = request.into_inner();
        let run = self.probing(&request.run_id, &request.secret)?;
        let is_over = || self.stop.is_told() || !self.claim.is_held_by(&run);
        self.prober.probe(&request, is_over).await.map(Response::new)
    }
}

/// Refuses a caller that speaks another version of the contract.
fn check_version(theirs: u32) -> Result<(), Status> {
    if theirs == WIRE_VERSION {
        return Ok(());
    }
    Err(Status::failed_precondition(format!("this node speaks wire version {WIRE_VERSION}, the caller {theirs}")))
}

/// Returns a secret that the client has to show from now on. It cannot be guessed.
fn new_secret() -> Result<Bytes, Status> {
    let mut secret = vec![0; limits::SECRET_BYTES];
    random::fill(&mut secret).map_err(|error| Status::internal(format!("no random bytes for a secret: {error}")))?;
    Ok(secret.into())
}

/// The address of this host that a call came to, if the transport says so.
fn local(extensions: &http::Extensions) -> Option<IpAddr> {
    extensions.get::<Peer>()?.local.map(|address| address.ip())
}
