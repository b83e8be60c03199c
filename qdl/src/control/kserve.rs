//! The control side of a server: is it there, what is it, does it have the model.

use std::error::Error as _;
use std::future::Future;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use lon_net::host::Host;
use lon_proto::kserve;
use lon_proto::kserve::v2::grpc_inference_service_client::GrpcInferenceServiceClient;
use lon_proto::kserve::v2::model_metadata_response::TensorMetadata;
use lon_proto::kserve::v2::{
    ModelMetadataRequest, ModelMetadataResponse, ModelReadyRequest, ServerLiveRequest, ServerMetadataRequest,
    ServerMetadataResponse, ServerReadyRequest,
};
use lon_proto::sample::{Signature, TensorSpec};
use tonic::transport::Channel;
use tonic::{Code, Response, Status};

use super::promise::Promise;
use crate::address::NodeAddress;
use crate::config::Config;
use crate::control::{self, NameTrip, RETRY_PAUSE};
use crate::describe::NodeDescription;
use crate::error::{ConnectError, explain_status};
use crate::text::printable;
use crate::traffic::Sockets;

/// The control connection to one server.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    address: NodeAddress,
    /// What the caller calls it.
    name: String,
    model: String,
    client: GrpcInferenceServiceClient<Channel>,
    timeout: Duration,
    tls: bool,
    /// What to do about a model that is not ready.
    advice: &'static str,
    sockets: Arc<Sockets>,
    /// It has answered a call: whatever comes later, it speaks the protocol.
    has_answered: Arc<AtomicBool>,
    /// What it said of the model's outputs when it described itself.
    promise: Arc<OnceLock<Arc<Promise>>>,
}

impl Server {
    /// Connects, and waits until the server has its model ready and says its name; not longer than `wait_ready` says.
    pub(crate) async fn reach(
        address: NodeAddress,
        name: String,
        model: String,
        config: &Config,
    ) -> Result<(Server, String), ConnectError> {
        let deadline = Instant::now() + config.wait_ready;
        let mut server = Server::connect(&address, &name, &model, config, deadline).await?;
        loop {
            match server.ready_name().await {
                Ok(name) => return Ok((server, name)),
                Err(error) if !error.may_pass() || Instant::now() >= deadline => return Err(error),
                Err(error) => {
                    tracing::debug!("not there yet: {error}");
                    tokio::time::sleep(RETRY_PAUSE).await;
                    // A connection that nothing comes of is not waited for.
                    if !matches!(error, ConnectError::NotReady { .. }) {
                        server = Server::connect(&address, &name, &model, config, deadline).await?;
                    }
                }
            }
        }
    }

    async fn connect(
        address: &NodeAddress,
        name: &str,
        model: &str,
        config: &Config,
        deadline: Instant,
    ) -> Result<Server, ConnectError> {
        let (channel, sockets) = control::connect(address, config, deadline).await?;
        Ok(Server {
            address: address.clone(),
            name: name.to_owned(),
            model: model.to_owned(),
            client: GrpcInferenceServiceClient::new(channel),
            timeout: config.call_timeout,
            tls: config.tls.is_some(),
            advice: match config.wait_ready.is_zero() {
                true => "--model names another, --wait-ready waits for it",
                false => "--wait-ready has run out; --model names another",
            },
            sockets,
            has_answered: Arc::default(),
            promise: Arc::default(),
        })
    }

    async fn ready_name(&self) -> Result<String, ConnectError> {
        self.check().await?;
        self.name_or_error().await
    }

    /// What answers are held against; nothing before the server has described itself.
    pub(crate) fn promise(&self) -> Arc<Promise> {
        self.promise.get().cloned().unwrap_or_default()
    }

    /// The server and the model are ready.
    pub(crate) async fn check(&self) -> Result<(), ConnectError> {
        let mut client = self.client.clone();
        let is_live = self.call("ServerLive", client.server_live(ServerLiveRequest {})).await?.live;
        if !is_live {
            return Err(self.not_ready("the server is not live".to_owned()));
        }
        let model = ModelReadyRequest { name: self.model.clone(), version: String::new() };
        match self.status("ModelReady", client.model_ready(model)).await? {
            Ok(answer) if answer.ready => Ok(()),
            Ok(_) => Err(self.not_ready(self.why_not().await)),
            Err(status) if is_of_model(&status) => Err(self.not_ready(printable(status.message()))),
            Err(status) => Err(self.refused("ModelReady", &status)),
        }
    }

    /// What can be found out about a model that is not ready.
    async fn why_not(&self) -> String {
        let mut client = self.client.clone();
        if let Ok(Err(status)) = self.status("ModelMetadata", client.model_metadata(self.metadata_request())).await
            && !status.message().is_empty()
        {
            return printable(status.message());
        }
        match self.call("ServerReady", client.server_ready(ServerReadyRequest {})).await {
            Ok(server) if !server.ready => "the server is up and says that it is not ready".to_owned(),
            _ => "the server is up and says that the model is not".to_owned(),
        }
    }

    fn not_ready(&self, reason: String) -> ConnectError {
        let (address, name, model) = (self.address.clone(), self.name.clone(), self.model.clone());
        ConnectError::NotReady { address, name, model, reason, advice: self.advice }
    }

    /// One timed round trip. The name is the caller's: servers have none of their own.
    pub(crate) async fn name(&self) -> NameTrip {
        let started = Instant::now();
        let answer = self.name_or_error().await;
        let rtt = started.elapsed();
        NameTrip { name: answer.map_err(|error| error.to_string()), rtt }
    }

    async fn name_or_error(&self) -> Result<String, ConnectError> {
        self.metadata().await.map(|_| self.name.clone())
    }

    async fn metadata(&self) -> Result<ServerMetadataResponse, ConnectError> {
        let mut client = self.client.clone();
        self.call("ServerMetadata", client.server_metadata(ServerMetadataRequest {})).await
    }

    fn metadata_request(&self) -> ModelMetadataRequest {
        ModelMetadataRequest { name: self.model.clone(), version: String::new() }
    }

    pub(crate) async fn describe(&self) -> Result<NodeDescription, ConnectError> {
        let server = self.metadata().await?;
        let mut client = self.client.clone();
        let model = self.call("ModelMetadata", client.model_metadata(self.metadata_request())).await?;
        let ModelMetadataResponse { platform, inputs, outputs, .. } = model;
        let _ = self.promise.set(Arc::new(Promise::new(&outputs)));
        let (kind, platform) = (printable(&server.name), printable(&platform));
        Ok(NodeDescription {
            address: self.address.clone(),
            name: self.name.clone(),
            software: format!("{kind} {}", printable(&server.version)),
            host: self.host().await,
            engine: if platform.is_empty() { kind } else { format!("{kind}, {platform}") },
            model: self.model.clone(),
            model_sha256: String::new(),
            inputs: self.signature(&inputs)?,
            // For people: answers are held against the promise. Texts have no type here.
            outputs: self.signature(&outputs).unwrap_or_default(),
            codecs: Vec::new(),
        })
    }

    fn signature(&self, tensors: &[TensorMetadata]) -> Result<Signature, ConnectError> {
        let spec = |tensor: &TensorMetadata| {
            let dims = tensor.shape.iter().map(|&dim| match dim {
                -1 => Some(None),
                dim => u32::try_from(dim).ok().map(Some),
            });
            let name = printable(&tensor.name);
            let dtype = kserve::dtype(&tensor.datatype);
            dtype.zip(dims.collect()).map(|(dtype, dims)| TensorSpec::new(name, dtype, dims))
        };
        let unreadable = |tensor: &TensorMetadata| ConnectError::Refused {
            address: self.address.clone(),
            call: "ModelMetadata",
            reason: format!(
                "tensor '{}' of model '{}' is {}{:?}, which samples cannot be",
                printable(&tensor.name),
                self.model,
                printable(&tensor.datatype),
                tensor.shape
            ),
        };
        let specs = tensors.iter().map(|tensor| spec(tensor).ok_or_else(|| unreadable(tensor)));
        specs.collect::<Result<_, _>>().map(Signature::new)
    }

    /// Nothing is said of the machine; only whether it is this one can be seen.
    async fn host(&self) -> Host {
        match self.sockets.local() {
            Some(local) if self.is_here(local).await => Host::here(),
            _ => Host::default(),
        }
    }

    /// Whoever is reached from its own address is reached without leaving the machine.
    async fn is_here(&self, local: IpAddr) -> bool {
        let addresses = tokio::net::lookup_host(self.address.to_string()).await;
        local.is_loopback() || addresses.is_ok_and(|mut all| all.any(|address| address.ip() == local))
    }

    /// Bytes in and out on this connection until now.
    pub(crate) fn traffic(&self) -> (u64, u64) {
        let counters = self.sockets.counters();
        (counters.read(), counters.written())
    }

    async fn call<T>(
        &self,
        call: &'static str,
        answer: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<T, ConnectError> {
        self.status(call, answer).await?.map_err(|status| self.refused(call, &status))
    }

    /// The answer in time, whatever it is.
    async fn status<T>(
        &self,
        call: &'static str,
        answer: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<Result<T, Status>, ConnectError> {
        match tokio::time::timeout(self.timeout, answer).await {
            Ok(answer) => {
                self.has_answered.fetch_or(answer.is_ok(), Relaxed);
                Ok(answer.map(Response::into_inner))
            }
            Err(_) => Err(ConnectError::Timeout { address: self.address.clone(), call, timeout: self.timeout }),
        }
    }

    fn refused(&self, call: &'static str, status: &Status) -> ConnectError {
        let address = self.address.clone();
        match status.code() {
            Code::Unimplemented => ConnectError::NotKserve { address, call, reason: printable(status.message()) },
            Code::Unknown | Code::Internal | Code::Cancelled | Code::Unavailable => {
                let reason = format!("{call}: {}", explain_status(status));
                let guess = if self.has_answered.load(Relaxed) { "" } else { guess(self.tls) };
                ConnectError::Unreachable { address, reason: format!("{reason}{guess}") }
            }
            code => {
                ConnectError::Refused { address, call, reason: printable(&format!("{code:?}: {}", status.message())) }
            }
        }
    }
}

/// Asked whether a model is ready, the server says that there is none: in the protocol's way, or, as mlserver, with an
/// exception that nobody has caught. What became of the connection has the same code, and a source.
fn is_of_model(status: &Status) -> bool {
    match status.code() {
        Code::NotFound => true,
        Code::Unknown => status.source().is_none() && !status.message().is_empty(),
        _ => false,
    }
}

/// What may be wrong with a server that hangs up before it has answered anything.
fn guess(tls: bool) -> &'static str {
    match tls {
        true => {
            "; is that its port for gRPC? If it is, perhaps it asks clients for a certificate (--tls-cert and --tls-key)"
        }
        false => "; is that its port for gRPC? If it is, perhaps it speaks TLS (--tls-ca)",
    }
}

#[cfg(test)]
mod tests {
    use tonic::transport::Endpoint;

    use super::*;

    #[test]
    fn nothing_is_guessed_of_a_server_that_has_answered() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _inside = runtime.enter();
        let server = Server {
            address: "127.0.0.1:1".parse().unwrap(),
            name: "a".to_owned(),
            model: "m".to_owned(),
            client: GrpcInferenceServiceClient::new(Endpoint::from_static("http://127.0.0.1:1").connect_lazy()),
            timeout: Duration::from_secs(1),
            tls: false,
            advice: "",
            sockets: Arc::default(),
            has_answered: Arc::default(),
            promise: Arc::default(),
        };
        let lost = || server.refused("ServerLive", &Status::unavailable("gone")).to_string();
        assert!(lost().contains("--tls-ca"), "{}", lost());
        let answer = async { Ok::<_, Status>(Response::new(())) };
        runtime.block_on(server.status("ServerLive", answer)).unwrap().unwrap();
        assert!(lost().ends_with("ServerLive: gone"), "{}", lost());
    }
}
