//! The control connections: names, descriptions, claims, flushes and ends. Apart from the hot path, so that a full
//! pipe never delays them; each node has one.

use std::future::Future;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;
use lon_proto::v1::sut_node_client::SutNodeClient;
use lon_proto::v1::{
    self, DescribeRequest, EndRunRequest, FlushRequest, GetNameRequest, ProbeRequest, StartRunRequest, StartRunResponse,
};
use lon_proto::{WIRE_VERSION, limits};
use tokio::sync::oneshot;
use tonic::transport::Channel;
use tonic::{Code, Request, Response, Status};

use crate::address::NodeAddress;
use crate::config::Config;
use crate::describe::NodeDescription;
use crate::error::{ConnectError, explain, explain_status};
use crate::remote::Remote;
use crate::text::printable;
use crate::traffic::Sockets;

/// Pause between attempts to reach a node that is not there yet.
pub(crate) const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// A thread with a runtime on which control calls run, whatever the caller's thread is doing.
pub(crate) struct ControlThread {
    handle: tokio::runtime::Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ControlThread {
    pub(crate) fn start() -> Result<ControlThread, ConnectError> {
        let os = |what| move |error: std::io::Error| ConnectError::Os { what, reason: error.to_string() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(os("cannot build a runtime"))?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        let body = move || {
            // The sender's drop is as good as its word.
            let _ = runtime.block_on(stopped);
        };
        let thread = std::thread::Builder::new().name("qdl-control".to_owned()).spawn(body);
        Ok(ControlThread { handle, stop: Some(stop), thread: Some(thread.map_err(os("cannot start a thread"))?) })
    }

    /// Runs a future there and waits for it here.
    pub(crate) fn wait<T: Send + 'static>(&self, future: impl Future<Output = T> + Send + 'static) -> Option<T> {
        let (sender, receiver) = mpsc::sync_channel(1);
        self.spawn(async move {
            let _ = sender.send(future.await);
        });
        receiver.recv().ok()
    }

    /// Runs a future there.
    pub(crate) fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        self.handle.spawn(future);
    }
}

impl Drop for ControlThread {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A connection for control calls, tried again until `deadline` when the node is not there yet; and what is counted of it.
pub(crate) async fn connect(
    address: &NodeAddress,
    config: &Config,
    deadline: Instant,
) -> Result<(Channel, Arc<Sockets>), ConnectError> {
    let remote = Remote { address: address.clone(), tls: config.tls.clone(), sockets: Arc::default() };
    let unreachable = |reason| ConnectError::Unreachable { address: address.clone(), reason };
    loop {
        let channel = remote.channel(config.call_timeout, |io| io);
        match tokio::time::timeout(config.call_timeout, channel).await {
            Ok(Ok(channel)) => return Ok((channel, remote.sockets)),
            Ok(Err(error)) if Instant::now() >= deadline => return Err(unreachable(explain(&error))),
            Err(_) if Instant::now() >= deadline => {
                return Err(unreachable(format!("no connection within {:?}", config.call_timeout)));
            }
            _ => tokio::time::sleep(RETRY_PAUSE).await,
        }
    }
}

/// The control connection to one node.
#[derive(Clone, Debug)]
pub(crate) struct Control {
    pub(crate) address: NodeAddress,
    client: SutNodeClient<Channel>,
    timeout: Duration,
    tls: bool,
    sockets: Arc<Sockets>,
}

/// What a node is claimed for.
#[derive(Clone, Debug)]
pub(crate) enum Purpose {
    /// A run, with the codecs of samples and answers.
    Run { codec: String, response_codec: String },
    /// To measure the fabric.
    Probe,
}

/// One round trip for a node's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameTrip {
    /// The name it gave, or why it gave none.
    pub name: Result<String, String>,
    /// From sending to receiving.
    pub rtt: Duration,
}

impl NameTrip {
    /// The nonce came back as it was sent: a name with another nonce is not taken for one.
    pub fn nonce_ok(&self) -> bool {
        self.name.is_ok()
    }
}

impl Control {
    /// Connects and asks for the name, trying again until `wait_ready` has passed when the node is not there yet. A port
    /// that accepts and says nothing is a node that still loads, or something in front of one.
    pub(crate) async fn reach(address: NodeAddress, config: &Config) -> Result<(Control, String), ConnectError> {
        let deadline = Instant::now() + config.wait_ready;
        loop {
            let control = Control::connect(address.clone(), config, deadline).await?;
            match control.first_name().await {
                Ok(name) => return Ok((control, name)),
                Err(error) if error.may_pass() && Instant::now() < deadline => {
                    tracing::debug!("not there yet: {error}");
                    tokio::time::sleep(RETRY_PAUSE).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn connect(address: NodeAddress, config: &Config, deadline: Instant) -> Result<Control, ConnectError> {
        let (channel, sockets) = connect(&address, config, deadline).await?;
        let client = SutNodeClient::new(channel).max_decoding_message_size(limits::MAX_MESSAGE_BYTES);
        Ok(Control { address, client, timeout: config.call_timeout, tls: config.tls.is_some(), sockets })
    }

    /// One timed round trip for the name, whatever comes of it.
    pub(crate) async fn name(&self) -> NameTrip {
        let started = Instant::now();
        let answer = self.name_or_error().await;
        let rtt = started.elapsed();
        NameTrip { name: answer.map_err(|error| error.to_string()), rtt }
    }

    /// The name, asked on a connection that was just made: a node that does not want it as it is, hangs up now.
    async fn first_name(&self) -> Result<String, ConnectError> {
        let perhaps = match self.tls {
            true => "it asks clients for a certificate (--tls-cert and --tls-key), or does not accept this one",
            false => "it speaks TLS (--tls-ca)",
        };
        self.name_or_error().await.map_err(|error| match error {
            ConnectError::Unreachable { address, reason } => {
                ConnectError::Unreachable { address, reason: format!("it hung up ({reason}); perhaps {perhaps}") }
            }
            error => error,
        })
    }

    /// Asks for the name, with a fresh nonce.
    pub(crate) async fn name_or_error(&self) -> Result<String, ConnectError> {
        let nonce = getrandom::u64()
            .map_err(|error| ConnectError::Os { what: "no random bytes for a nonce", reason: error.to_string() })?;
        let mut client = self.client.clone();
        let answer = self.call("GetName", client.get_name(GetNameRequest { nonce })).await?;
        if answer.nonce != nonce {
            return Err(ConnectError::Nonce { address: self.address.clone() });
        }
        Ok(answer.name)
    }

    pub(crate) async fn describe(&self) -> Result<NodeDescription, ConnectError> {
        let mut client = self.client.clone();
        let request = DescribeRequest { wire_version: WIRE_VERSION };
        let description = self.call("Describe", client.describe(request)).await?;
        if description.wire_version != WIRE_VERSION {
            let reason = format!("it speaks version {}", description.wire_version);
            return Err(ConnectError::WireVersion { address: self.address.clone(), ours: WIRE_VERSION, reason });
        }
        NodeDescription::read(self.address.clone(), description)
    }

    /// Claims the node; a busy node is asked again until `deadline`.
    pub(crate) async fn claim(
        &self,
        run_id: Bytes,
        client_name: String,
        purpose: Purpose,
        deadline: Instant,
    ) -> Result<StartRunResponse, ConnectError> {
        let call = match purpose {
            Purpose::Run { .. } => "StartRun",
            Purpose::Probe => "Probe",
        };
        loop {
            let claiming = self.claim_once(run_id.clone(), client_name.clone(), purpose.clone());
            match tokio::time::timeout(self.timeout, claiming).await {
                Ok(Ok(response)) => return Ok(response.into_inner()),
                Ok(Err(status)) if status.code() == Code::ResourceExhausted && Instant::now() < deadline => {
                    tokio::time::sleep(RETRY_PAUSE).await;
                }
                Ok(Err(status)) => return Err(self.refused(call, &status)),
                Err(_) => return Err(self.timed_out(call)),
            }
        }
    }

    async fn claim_once(
        &self,
        run_id: Bytes,
        client: String,
        purpose: Purpose,
    ) -> Result<Response<StartRunResponse>, Status> {
        let (mut calls, wire_version) = (self.client.clone(), WIRE_VERSION);
        match purpose {
            Purpose::Run { codec, response_codec } => {
                calls.start_run(StartRunRequest { run_id, wire_version, client, codec, response_codec }).await
            }
            Purpose::Probe => calls.probe(ProbeRequest { run_id, wire_version, client }).await,
        }
    }

    /// Bytes in and out on this connection until now.
    pub(crate) fn traffic(&self) -> (u64, u64) {
        let counters = self.sockets.counters();
        (counters.read(), counters.written())
    }

    /// Returns when the node has answered `samples_sent` samples. Takes as long as that takes.
    pub(crate) async fn flush(&self, run_id: Bytes, samples_sent: u64) -> Result<(), ConnectError> {
        let mut client = self.client.clone();
        let answer = client.flush(FlushRequest { run_id, samples_sent }).await;
        answer.map(|_| ()).map_err(|status| self.refused("Flush", &status))
    }

    pub(crate) async fn end_run(&self, run_id: Bytes) -> Result<v1::EndRunResponse, ConnectError> {
        let mut client = self.client.clone();
        self.call("EndRun", client.end_run(Request::new(EndRunRequest { run_id }))).await
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
            // Another version answers a call that it does not know; another program answers with what is no gRPC.
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
