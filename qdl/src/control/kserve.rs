//! The control side of a server of KServe's protocol: is it there, what is it, does it have the model. Its calls with
//! samples are in `carry/kserve`.

use std::error::Error as _;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use bytes::Bytes;
use lon_machine::host::{Host, HostNonce, Machine};
use lon_net::address::NodeAddress;
use lon_proto::kserve;
use lon_proto::kserve::v2::grpc_inference_service_client::GrpcInferenceServiceClient;
use lon_proto::kserve::v2::model_metadata_response::TensorMetadata;
use lon_proto::kserve::v2::{
    ModelMetadataRequest, ModelMetadataResponse, ModelReadyRequest, ServerLiveRequest, ServerMetadataRequest,
    ServerMetadataResponse, ServerReadyRequest,
};
use lon_proto::run_identity::RunPass;
use lon_proto::sample::{Signature, TensorSpec};
use lon_proto::text::printable;
use tonic::transport::Channel;
use tonic::{Code, Response, Status};

use super::connect::Reach;
use super::describe::{AnswersChecked, NodeDescription};
use super::peer::{Claim, Claimed, Described, Peer};
use crate::account::report::SutCounts;
use crate::account::traffic::Sockets;
use crate::carry::Promise;
use crate::dispatch::Bounds;
use crate::error::{ConnectError, explain_status};
use crate::peer_kind::KSERVE_NO_COUNTERS;

/// Samples that a server is given before it has answered.
const MAX_SAMPLES_IN_FLIGHT: u64 = 4 << 10;
/// Bytes of samples that a server is given before it has answered.
const MAX_BYTES_IN_FLIGHT: u64 = 1 << 30;
/// Samples that are assumed to keep a server busy while nodes pull. The window grows from there as long as it is
/// emptied quickly.
const BUSY_SAMPLES: u64 = 16;

/// The control connection to one server.
#[derive(Debug)]
pub(super) struct Server {
    address: NodeAddress,
    /// The caller's name for it.
    name: String,
    model: String,
    client: GrpcInferenceServiceClient<Channel>,
    timeout: Duration,
    tls: bool,
    /// Advice to the user about a model that is not ready.
    advice: &'static str,
    sockets: Arc<Sockets>,
    nonce: HostNonce,
    /// It has answered a call, so it does speak the protocol.
    has_answered: AtomicBool,
}

impl Server {
    /// The server at the other end of a control connection.
    pub(super) fn new(
        address: &NodeAddress,
        name: &str,
        model: &str,
        (channel, sockets): (Channel, Arc<Sockets>),
        reach: &Reach,
    ) -> Server {
        Server {
            address: address.clone(),
            name: name.to_owned(),
            model: model.to_owned(),
            client: GrpcInferenceServiceClient::new(channel),
            timeout: reach.call_timeout,
            tls: reach.tls.is_some(),
            advice: match reach.wait_ready.is_zero() {
                true => "--model names another, --wait-ready waits for it",
                false => "--wait-ready has run out; --model names another",
            },
            sockets,
            nonce: reach.nonce,
            has_answered: AtomicBool::new(false),
        }
    }
}

/// Nothing is claimed, flushed or ended at such a server.
#[tonic::async_trait]
impl Peer for Server {
    async fn first_name(&self) -> Result<String, ConnectError> {
        self.check().await?;
        self.ask_name().await
    }

    /// The name is the caller's: servers have none of their own.
    async fn ask_name(&self) -> Result<String, ConnectError> {
        self.metadata().await.map(|_| self.name.clone())
    }

    async fn describe(&self) -> Result<Described, ConnectError> {
        let server = self.metadata().await?;
        let mut client = self.client.clone();
        let model = self.call("ModelMetadata", client.model_metadata(self.metadata_request())).await?;
        let ModelMetadataResponse { platform, inputs, outputs, .. } = model;
        let refused = |reason| ConnectError::Refused { address: self.address.clone(), call: "ModelMetadata", reason };
        let promise = Promise::new(&inputs, &outputs).map(Arc::new);
        let promise =
            promise.map_err(|error| refused(format!("its model's outputs: {}", printable(&error.to_string()))))?;
        let (kind, platform) = (printable(&server.name), printable(&platform));
        let node = NodeDescription {
            address: self.address.clone(),
            name: self.name.clone(),
            software: format!("{kind} {}", printable(&server.version)),
            ends: self.sockets.ends(),
            host: self.host(),
            engine: if platform.is_empty() { kind } else { format!("{kind}, {platform}") },
            model: self.model.clone(),
            model_sha256: String::new(),
            model_bytes: None,
            inputs: self.signature(&inputs)?,
            // Only shown: answers are held against the promise. A signature has no type for texts.
            outputs: self.signature(&outputs).unwrap_or_default(),
            answers_checked: AnswersChecked::with(promise.outputs()),
            codecs: Vec::new(),
            settings: Vec::new(),
            build: None,
            models: Vec::new(),
        };
        Ok(Described { node, promise })
    }

    async fn claim(&self, claim: &Claim) -> Result<Vec<Claimed>, ConnectError> {
        self.check().await?;
        let bounds =
            Bounds { max_samples: MAX_SAMPLES_IN_FLIGHT, max_bytes: MAX_BYTES_IN_FLIGHT, busy_samples: BUSY_SAMPLES };
        Ok(vec![Claimed { bounds, zero: None, pass: RunPass::new(claim.run_id.clone(), Bytes::new()) }])
    }

    async fn flush(&self, _: &RunPass, _: u64) -> Result<(), ConnectError> {
        Ok(())
    }

    async fn end_run(&self, _: &RunPass) -> Result<SutCounts, String> {
        Err(KSERVE_NO_COUNTERS.to_owned())
    }

    fn traffic(&self) -> (u64, u64) {
        self.sockets.read_and_written()
    }
}

impl Server {
    /// Checks that the server and the model are ready.
    async fn check(&self) -> Result<(), ConnectError> {
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

    /// Why the model is not ready, as far as the server tells.
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

    async fn metadata(&self) -> Result<ServerMetadataResponse, ConnectError> {
        let mut client = self.client.clone();
        self.call("ServerMetadata", client.server_metadata(ServerMetadataRequest {})).await
    }

    fn metadata_request(&self) -> ModelMetadataRequest {
        ModelMetadataRequest { name: self.model.clone(), version: String::new() }
    }

    fn signature(&self, tensors: &[TensorMetadata]) -> Result<Signature, ConnectError> {
        let spec = |tensor: &TensorMetadata| {
            let dims = tensor.shape.iter().map(|&dim| match dim {
                -1 => Some(None),
                dim => u32::try_from(dim).ok().map(Some),
            });
            let dtype = kserve::dtype(&tensor.datatype);
            dtype.zip(dims.collect()).map(|(dtype, dims)| TensorSpec::new(&tensor.name, dtype, dims))
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

    /// The server says nothing of its machine. Only whether it is this one can be found out.
    fn host(&self) -> Host {
        match self.sockets.ends() {
            Some(ends) if ends.are_here() => Machine::here().host_for(&self.nonce),
            _ => Host::default(),
        }
    }

    async fn call<T>(
        &self,
        call: &'static str,
        answer: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<T, ConnectError> {
        self.status(call, answer).await?.map_err(|status| self.refused(call, &status))
    }

    /// The server's answer within the timeout, which may be an error of the server's.
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

/// The answer to ModelReady says that there is no such model: as the protocol has it, or, as mlserver does, with an
/// exception that was not caught. A failure of the connection has the same code, and a source.
fn is_of_model(status: &Status) -> bool {
    match status.code() {
        Code::NotFound => true,
        Code::Unknown => status.source().is_none() && !status.message().is_empty(),
        _ => false,
    }
}

/// Returns a likely cause when a server hangs up before it has answered anything.
fn guess(tls: bool) -> &'static str {
    match tls {
        true => {
            "; is that its port for gRPC? If it is, perhaps it asks clients for a certificate (--tls-cert and \
             --tls-key)"
        }
        false => "; is that its port for gRPC? If it is, perhaps it speaks TLS (--tls-ca)",
    }
}

#[cfg(test)]
mod tests {
    use lon_proto::limits::HOST_NONCE_BYTES;
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
            nonce: HostNonce([0; HOST_NONCE_BYTES]),
            has_answered: AtomicBool::new(false),
        };
        let lost = || server.refused("ServerLive", &Status::unavailable("gone")).to_string();
        assert!(lost().contains("--tls-ca"), "{}", lost());
        let answer = async { Ok::<_, Status>(Response::new(())) };
        runtime.block_on(server.status("ServerLive", answer)).unwrap().unwrap();
        assert!(lost().ends_with("ServerLive: gone"), "{}", lost());
    }
}
