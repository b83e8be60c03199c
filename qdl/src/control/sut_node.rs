//! The control side of a SUT node: the calls of `lon.v1`.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lon_machine::host::HostNonce;
use lon_net::address::NodeAddress;
use lon_net::end_counters::EndCounters;
use lon_net::random;
use lon_net::token::Token;
use lon_proto::run_identity::RunPass;
use lon_proto::text::printable;
use lon_proto::v1::sut_node_client::SutNodeClient;
use lon_proto::v1::{
    self, DescribeRequest, GetNameRequest, ProbeRequest, StartRunRequest, StartRunResponse, TenantTerms,
};
use lon_proto::{WIRE_VERSION, limits};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;
use tonic::{Code, Request, Response, Status};

use super::connect::Reach;
use super::describe::NodeDescription;
use super::peer::{Claim, Claimed, Described, Peer, Purpose, RunCodecs, Tenant};
use crate::account::report::SutCounts;
use crate::account::traffic::Sockets;
use crate::dispatch::Bounds;
use crate::error::{ConnectError, explain_status};
use crate::peer_probe::{PeerOrder, PeerResult};

/// The control connection to one SUT node.
#[derive(Debug)]
pub(super) struct SutNode {
    address: NodeAddress,
    client: SutNodeClient<InterceptedService<Channel, TokenHeader>>,
    /// The same without the token, where one is shown.
    stranger: Option<SutNodeClient<Channel>>,
    timeout: Duration,
    tls: bool,
    sockets: Arc<Sockets>,
    nonce: HostNonce,
}

/// Shows the token with every call, if there is one.
#[derive(Clone, Debug)]
pub(crate) struct TokenHeader(pub(crate) Option<Token>);

impl Interceptor for TokenHeader {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(token) = &self.0 {
            token.show(request.metadata_mut());
        }
        Ok(request)
    }
}

impl SutNode {
    /// The node at the other end of a control connection.
    pub(super) fn new(address: &NodeAddress, (channel, sockets): (Channel, Arc<Sockets>), reach: &Reach) -> SutNode {
        let stranger = reach.token.is_some().then(|| SutNodeClient::new(channel.clone()));
        let stranger = stranger.map(|client| client.max_decoding_message_size(limits::MAX_MESSAGE_BYTES));
        let client = SutNodeClient::with_interceptor(channel, TokenHeader(reach.token.clone()));
        let client = client.max_decoding_message_size(limits::MAX_MESSAGE_BYTES);
        let (timeout, tls) = (reach.call_timeout, reach.tls.is_some());
        SutNode { address: address.clone(), client, stranger, timeout, tls, sockets, nonce: reach.nonce }
    }
}

#[tonic::async_trait]
impl Peer for SutNode {
    /// A node that does not accept the connection as it is hangs up at the first call.
    async fn first_name(&self) -> Result<String, ConnectError> {
        let perhaps = match self.tls {
            true => "it asks clients for a certificate (--tls-cert and --tls-key), or does not accept this one",
            false => "it speaks TLS (--tls-ca), or is no SUT node",
        };
        self.ask_name().await.map_err(|error| match error {
            // HTTP/2 gives this reason when the first answer is in another protocol.
            ConnectError::Unreachable { address, reason } if reason.contains("frame with invalid size") => {
                let reason = format!("what answers there does not speak HTTP/2, so it is no SUT node ({reason})");
                ConnectError::Unreachable { address, reason }
            }
            ConnectError::Unreachable { address, reason } => ConnectError::Unreachable {
                address,
                reason: format!("the node closed the connection ({reason}); perhaps {perhaps}"),
            },
            error => error,
        })
    }

    /// With a fresh nonce, so that the answer cannot be an old one.
    async fn ask_name(&self) -> Result<String, ConnectError> {
        let nonce = random::u64()
            .map_err(|error| ConnectError::Os { what: "no random bytes for a nonce", reason: error.to_string() })?;
        let mut client = self.client.clone();
        let answer = self.call("GetName", client.get_name(GetNameRequest { nonce })).await?;
        if answer.nonce != nonce {
            return Err(ConnectError::Nonce { address: self.address.clone() });
        }
        Ok(answer.name)
    }

    async fn describe(&self) -> Result<Described, ConnectError> {
        let mut client = self.client.clone();
        let request = DescribeRequest { wire_version: WIRE_VERSION, nonce: Bytes::copy_from_slice(&self.nonce.0) };
        let description = self.call("Describe", client.describe(request.clone())).await?;
        if let Some(stranger) = &self.stranger
            && self.call("Describe", stranger.clone().describe(request)).await.is_ok()
        {
            let node = &self.address;
            tracing::warn!(%node, "the node asks for no token: the one of --token-file keeps nobody away from it");
        }
        if description.wire_version != WIRE_VERSION {
            let reason = format!("it speaks version {}", description.wire_version);
            return Err(ConnectError::WireVersion { address: self.address.clone(), ours: WIRE_VERSION, reason });
        }
        let node = NodeDescription::read(self.address.clone(), self.sockets.ends(), description)?;
        Ok(Described { node, promise: Arc::default() })
    }

    async fn claim(&self, claim: &Claim) -> Result<Vec<Claimed>, ConnectError> {
        let call = match claim.purpose {
            Purpose::Run(_) | Purpose::Tenants(_) => "StartRun",
            Purpose::Probe => "Probe",
        };
        let response = self.call(call, self.ask_for(claim.clone())).await?;
        let terms = match &claim.purpose {
            Purpose::Tenants(_) => response.tenants,
            Purpose::Run(_) | Purpose::Probe => vec![sole_terms(response)],
        };
        let (term_count, tenant_count) = (terms.len(), claim.purpose.tenants());
        if term_count != tenant_count {
            let reason =
                format!("it gives terms to {term_count} tenants of {tenant_count}: it is of an earlier version");
            return Err(ConnectError::Refused { address: self.address.clone(), call, reason });
        }
        terms.into_iter().map(|terms| self.claimed(claim, terms, call)).collect()
    }

    /// Without a timeout: the node answers when its last sample is done.
    async fn flush(&self, pass: &RunPass, samples_sent: u64) -> Result<(), ConnectError> {
        let mut client = self.client.clone();
        let answer = client.flush(pass.flush(samples_sent)).await;
        answer.map(|_| ()).map_err(|status| self.refused("Flush", &status))
    }

    async fn end_run(&self, pass: &RunPass) -> Result<SutCounts, String> {
        let mut client = self.client.clone();
        let answer: Result<v1::EndRunResponse, _> = self.call("EndRun", client.end_run(pass.end_run())).await;
        answer.map(SutCounts::from).map_err(|error| error.to_string())
    }

    async fn probe_counters(&self, pass: &RunPass) -> Result<EndCounters, String> {
        let mut client = self.client.clone();
        let answer = self.call("GetProbeCounters", client.get_probe_counters(pass.probe_counters())).await;
        answer.map(EndCounters::from).map_err(|error| error.to_string())
    }

    /// With a patience of its own: the node answers when it has measured.
    async fn probe_peer(&self, pass: &RunPass, order: &PeerOrder) -> Result<PeerResult, String> {
        let mut client = self.client.clone();
        let call = client.probe_peer(pass.probe_peer(order.request()));
        match tokio::time::timeout(order.patience(), call).await {
            Ok(Ok(response)) => Ok(PeerResult::read(response.into_inner(), order)),
            Ok(Err(status)) if status.code() == Code::Unimplemented => {
                Err("it does not know the call ProbePeer: update it".to_owned())
            }
            Ok(Err(status)) => Err(explain_status(&status)),
            Err(_) => Err(format!("it did not answer within {:?}", order.patience())),
        }
    }

    fn traffic(&self) -> (u64, u64) {
        self.sockets.read_and_written()
    }
}

impl SutNode {
    async fn ask_for(&self, claim: Claim) -> Result<Response<StartRunResponse>, Status> {
        let Claim { run_id, client, purpose } = claim;
        let (mut calls, wire_version) = (self.client.clone(), WIRE_VERSION);
        let (codecs, tenants) = match purpose {
            Purpose::Probe => {
                return calls.probe(ProbeRequest { run_id, wire_version, client }).await;
            }
            Purpose::Run(codecs) => (codecs, Vec::new()),
            Purpose::Tenants(tenants) => (RunCodecs::default(), tenants),
        };
        let RunCodecs { samples: codec, answers: response_codec } = codecs;
        let tenants = tenants.into_iter().map(v1::Tenant::from).collect();
        calls.start_run(StartRunRequest { run_id, wire_version, client, codec, response_codec, tenants }).await
    }

    async fn call<T>(
        &self,
        call: &'static str,
        answer: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<T, ConnectError> {
        match tokio::time::timeout(self.timeout, answer).await {
            Ok(Ok(response)) => Ok(response.into_inner()),
            Ok(Err(status)) => Err(self.refused(call, &status)),
            Err(_) => Err(self.timed_out(call)),
        }
    }

    /// Checks the terms that the node gives to a tenant.
    fn claimed(&self, claim: &Claim, terms: TenantTerms, call: &'static str) -> Result<Claimed, ConnectError> {
        let TenantTerms { max_samples_in_flight, max_bytes_in_flight, max_sample_bytes, busy_samples, secret } = terms;
        let bounds = Bounds { max_samples: max_samples_in_flight, max_bytes: max_bytes_in_flight, busy_samples };
        if secret.len() != limits::SECRET_BYTES {
            let reason = format!("its secret has {} bytes, not {}", secret.len(), limits::SECRET_BYTES);
            return Err(ConnectError::Refused { address: self.address.clone(), call, reason });
        }
        let fields = [
            ("max_samples_in_flight", max_samples_in_flight),
            ("max_bytes_in_flight", max_bytes_in_flight),
            ("max_sample_bytes", max_sample_bytes),
            ("busy_samples", busy_samples),
        ];
        let zero = fields.into_iter().find(|(_, bound)| *bound == 0).map(|(field, _)| field);
        Ok(Claimed { bounds, zero, pass: RunPass::new(claim.run_id.clone(), secret) })
    }

    fn timed_out(&self, call: &'static str) -> ConnectError {
        ConnectError::Timeout { address: self.address.clone(), call, timeout: self.timeout }
    }

    fn refused(&self, call: &'static str, status: &Status) -> ConnectError {
        let address = self.address.clone();
        match status.code() {
            Code::Unimplemented if call == "Probe" => {
                ConnectError::CannotProbe { address, reason: printable(status.message()) }
            }
            // It has described itself, so it knows the call: what it does not know is in the request.
            Code::Unimplemented if call == "StartRun" => {
                ConnectError::Refused { address, call, reason: printable(status.message()) }
            }
            Code::ResourceExhausted => ConnectError::Busy { address, call, reason: printable(status.message()) },
            // The first call of all.
            Code::Unimplemented if call == "GetName" => {
                ConnectError::NotASutNode { address, call, reason: printable(status.message()) }
            }
            // Another version answers a call that it does not know.
            Code::Unimplemented => {
                let reason = format!("it does not know {call} ({})", printable(status.message()));
                ConnectError::WireVersion { address, ours: WIRE_VERSION, reason }
            }
            Code::FailedPrecondition if call != "Flush" && call != "EndRun" => {
                ConnectError::WireVersion { address, ours: WIRE_VERSION, reason: printable(status.message()) }
            }
            Code::Unknown | Code::Internal | Code::Cancelled | Code::Unavailable => {
                ConnectError::Unreachable { address, reason: explain_status(status) }
            }
            _ => ConnectError::Refused { address, call, reason: printable(status.message()) },
        }
    }
}

/// Terms of a claim that has one tenant.
fn sole_terms(response: StartRunResponse) -> TenantTerms {
    let StartRunResponse { max_samples_in_flight, max_bytes_in_flight, max_sample_bytes, busy_samples, secret, .. } =
        response;
    TenantTerms { max_samples_in_flight, max_bytes_in_flight, max_sample_bytes, busy_samples, secret }
}

impl From<Tenant> for v1::Tenant {
    fn from(tenant: Tenant) -> v1::Tenant {
        let Tenant { model, codecs: RunCodecs { samples, answers } } = tenant;
        v1::Tenant { model, codec: samples, response_codec: answers }
    }
}
