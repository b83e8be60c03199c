//! Control calls to one node as they are, each with its status, whatever the node makes of them.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lon_net::address::NodeAddress;
use lon_net::clock;
use lon_net::random;
use lon_proto::run_identity::RunPass;
use lon_proto::text::printable;
use lon_proto::v1::sut_node_client::SutNodeClient;
use lon_proto::v1::{
    DescribeRequest, DescribeResponse, EndRunResponse, GetNameRequest, GetNameResponse, StartRunRequest,
    StartRunResponse, Tenant,
};
use lon_proto::{WIRE_VERSION, limits};
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;
use tonic::{Response, Status};

use super::dispatch_stream::DispatchStream;
use crate::carry::{Endpoint, Transport};
use crate::control::{Reach, TokenHeader, connect, look_up};
use crate::error::ConnectError;

/// The control connection to the node that is checked, and the way to its streams.
#[derive(Clone)]
pub(super) struct Caller {
    address: NodeAddress,
    client: SutNodeClient<InterceptedService<Channel, TokenHeader>>,
    timeout: Duration,
    endpoint: Endpoint,
    transport: Transport,
    nonce: Bytes,
    /// Name of this client, which the node shows while it is taken.
    us: String,
}

impl Caller {
    pub(super) async fn connect(
        address: &NodeAddress,
        transport: Transport,
        reach: &Reach,
        us: &str,
    ) -> Result<Caller, ConnectError> {
        let now = clock::now();
        let addresses = look_up(address, reach, now).await?;
        let (channel, sockets) = connect(address, addresses, false, reach, now).await?;
        let at = sockets.ends().map(|ends| ends.remote).into_iter().collect();
        let client = SutNodeClient::with_interceptor(channel, TokenHeader(reach.token.clone()));
        let Reach { tls, network, .. } = reach.clone();
        Ok(Caller {
            client: client.max_decoding_message_size(limits::MAX_MESSAGE_BYTES),
            timeout: reach.call_timeout,
            endpoint: Endpoint { address: address.clone(), at, tls, network, sockets: Arc::default() },
            transport,
            nonce: Bytes::copy_from_slice(&reach.nonce.0),
            address: address.clone(),
            us: us.to_owned(),
        })
    }

    pub(super) async fn name(&self, nonce: u64) -> Result<GetNameResponse, Status> {
        self.in_time(self.client.clone().get_name(GetNameRequest { nonce })).await
    }

    pub(super) async fn describe(&self, wire_version: u32) -> Result<DescribeResponse, Status> {
        let request = DescribeRequest { wire_version, nonce: self.nonce.clone() };
        self.in_time(self.client.clone().describe(request)).await
    }

    /// Asks for the node, for a new run whose samples are encoded with `codec`. Without a limit of time: a backend may
    /// have to be loaded.
    pub(super) async fn start(&self, codec: &str) -> Result<(RunPass, StartRunResponse), Status> {
        let run_id = random_bytes(limits::RUN_ID_BYTES)?;
        let request = StartRunRequest {
            run_id: run_id.clone(),
            wire_version: WIRE_VERSION,
            client: self.us.clone(),
            codec: codec.to_owned(),
            ..StartRunRequest::default()
        };
        let response = self.client.clone().start_run(request).await?.into_inner();
        Ok((RunPass::new(run_id, response.secret.clone()), response))
    }

    /// Asks for the node, for a new run with a tenant of each of these models; the run's id, and the terms.
    pub(super) async fn start_tenants(&self, models: &[&str]) -> Result<(Bytes, StartRunResponse), Status> {
        let run_id = random_bytes(limits::RUN_ID_BYTES)?;
        let tenant = |model: &&str| Tenant { model: (*model).to_owned(), ..Tenant::default() };
        let request = StartRunRequest {
            run_id: run_id.clone(),
            wire_version: WIRE_VERSION,
            client: self.us.clone(),
            tenants: models.iter().map(tenant).collect(),
            ..StartRunRequest::default()
        };
        self.in_time(self.client.clone().start_run(request)).await.map(|response| (run_id, response))
    }

    /// The same of a node that has been claimed before and should answer at once, whatever it says.
    pub(super) async fn start_again(&self) -> Result<(RunPass, StartRunResponse), Status> {
        tokio::time::timeout(self.timeout, self.start("")).await.unwrap_or_else(|_| Err(self.late()))
    }

    /// Without a limit of time: the caller has one.
    pub(super) async fn flush(&self, pass: &RunPass, samples_sent: u64) -> Result<(), Status> {
        self.client.clone().flush(pass.flush(samples_sent)).await.map(drop)
    }

    pub(super) async fn end(&self, pass: &RunPass) -> Result<EndRunResponse, Status> {
        self.in_time(self.client.clone().end_run(pass.end_run())).await
    }

    /// Opens a stream of the run.
    pub(super) async fn open(&self, pass: &RunPass) -> Result<DispatchStream, Status> {
        let open = DispatchStream::open(self.transport, self.endpoint.clone(), pass);
        tokio::time::timeout(self.timeout, open).await.unwrap_or_else(|_| Err(self.late()))
    }

    /// The error for a node that refuses to be checked at all.
    pub(super) fn refused(&self, call: &'static str, status: &Status) -> ConnectError {
        let (address, reason) = (self.address.clone(), printable(status.message()));
        match status.code() {
            tonic::Code::ResourceExhausted => ConnectError::Busy { address, call, reason },
            _ => ConnectError::Refused { address, call, reason },
        }
    }

    /// Returns the longest time of a call.
    pub(super) fn timeout(&self) -> Duration {
        self.timeout
    }

    async fn in_time<T>(&self, answer: impl Future<Output = Result<Response<T>, Status>>) -> Result<T, Status> {
        let answer = tokio::time::timeout(self.timeout, answer).await;
        answer.unwrap_or_else(|_| Err(self.late())).map(Response::into_inner)
    }

    fn late(&self) -> Status {
        Status::deadline_exceeded(format!("nothing came within {:?}", self.timeout))
    }
}

/// Bytes that nobody can guess.
pub(super) fn random_bytes(count: usize) -> Result<Bytes, Status> {
    let mut bytes = vec![0; count];
    random::fill(&mut bytes).map_err(|error| Status::internal(format!("no random bytes: {error}")))?;
    Ok(bytes.into())
}
