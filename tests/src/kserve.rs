//! A server of the Open Inference Protocol that follows a script, down to the frames of HTTP/2: to show a LoadGen node
//! what servers do to it, and what none should.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{BufMut as _, Bytes, BytesMut};
use h2::server::{Connection, SendResponse};
use h2::{Reason, RecvStream};
use lon_net::accept::{Accepted, accept};
use lon_net::io::NetStream;
use lon_net::tls::ServerTls;
use lon_proto::kserve::INFER_PATH;
use lon_proto::kserve::v2::model_infer_response::InferOutputTensor;
use lon_proto::kserve::v2::model_metadata_response::TensorMetadata;
use lon_proto::kserve::v2::{
    ModelInferRequest, ModelInferResponse, ModelMetadataRequest, ModelMetadataResponse, ModelReadyRequest,
    ModelReadyResponse, ServerLiveResponse, ServerMetadataResponse, ServerReadyResponse,
};
use prost::Message;
use tokio::net::TcpListener;
use tokio::sync::{Notify, oneshot};
use tonic::codegen::http::{HeaderMap, HeaderValue, Request, Response};
use tonic::{Code, Status};

/// Function that chooses the server's step for each inference. `number` counts the inferences from 0, over all
/// connections.
pub type Script = fn(number: u64, request: &ModelInferRequest) -> Step;

/// One thing to do to a call.
#[derive(Debug)]
pub enum Step {
    /// Answer it.
    Answer(ModelInferResponse),
    /// Refuse it with a status, which is all there is.
    Refuse(Status),
    /// Reset its stream.
    Reset(Reason),
    /// Begin an answer and never end it.
    Silence,
    /// An answer without a status behind it.
    NoStatus(ModelInferResponse),
    /// Close the connection without a word.
    HangUp,
}

/// Behaviour of the server beside its answers.
#[derive(Clone, Debug)]
pub struct Behaviour {
    /// The one model that it has.
    pub model: String,
    /// Number of answers that the model is not ready, before it is.
    pub unready: u64,
    /// Status that the server returns instead while the model is not ready.
    pub unready_status: Option<Status>,
    /// Inputs of the model, as the server reports them.
    pub inputs: Vec<TensorMetadata>,
    /// Outputs of the model, as the server reports them.
    pub outputs: Vec<TensorMetadata>,
    /// Says goodbye on a connection after so many calls of inference, while the last of them is under way.
    pub farewell_after: Option<u64>,
    /// Calls at a time on one connection.
    pub max_streams: u32,
    /// Script for each inference.
    pub script: Script,
}

impl Behaviour {
    /// A well-behaved server of a model that takes 64 bytes.
    pub fn good() -> Behaviour {
        Behaviour {
            model: "m".to_owned(),
            unready: 0,
            unready_status: None,
            inputs: vec![tensor("x", "UINT8", &[-1, 64])],
            outputs: vec![tensor("y", "FP32", &[-1, 2])],
            farewell_after: None,
            max_streams: 100,
            script: |_, request| Step::Answer(floats(request)),
        }
    }

    /// The same with another script.
    pub fn scripted(script: Script) -> Behaviour {
        Behaviour { script, ..Behaviour::good() }
    }
}

/// As a model's metadata has it.
pub fn tensor(name: &str, datatype: &str, shape: &[i64]) -> TensorMetadata {
    TensorMetadata { name: name.to_owned(), datatype: datatype.to_owned(), shape: shape.to_vec() }
}

/// As an answer has it, without its data.
pub fn output(datatype: &str, shape: &[i64]) -> InferOutputTensor {
    InferOutputTensor { name: "y".into(), datatype: datatype.into(), shape: shape.into(), contents: None }
}

/// A good answer: two floats.
pub fn floats(request: &ModelInferRequest) -> ModelInferResponse {
    let data = [1.0f32, -2.0].map(f32::to_le_bytes).concat();
    raw(request, vec![output("FP32", &[1, 2])], vec![data.into()])
}

/// An answer of raw outputs.
pub fn raw(request: &ModelInferRequest, outputs: Vec<InferOutputTensor>, data: Vec<Bytes>) -> ModelInferResponse {
    ModelInferResponse {
        model_name: request.model_name.clone(),
        id: request.id.clone(),
        outputs,
        raw_output_contents: data,
        ..ModelInferResponse::default()
    }
}

/// Everything that the server was asked.
#[derive(Debug, Default)]
pub struct Heard {
    /// ServerMetadata calls: the round trips of the name.
    pub names: u64,
    /// ModelReady calls.
    pub ready_calls: u64,
    /// Inferences.
    pub requests: Vec<ModelInferRequest>,
    /// Connections that an inference came on.
    pub connections: u64,
}

/// A running server. Stops when dropped.
#[derive(Debug)]
pub struct Server {
    /// Where it listens.
    pub address: SocketAddr,
    heard: Arc<Mutex<Heard>>,
    _stop: oneshot::Sender<()>,
}

impl Server {
    /// Starts it on a free port of 127.0.0.1, without TLS.
    pub fn start(behaviour: Behaviour) -> Server {
        Server::start_with(behaviour, None)
    }

    /// The same with TLS, if given.
    pub fn start_with(behaviour: Behaviour, tls: Option<ServerTls>) -> Server {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let heard = Arc::<Mutex<Heard>>::default();
        let scripted = Arc::new(Scripted { behaviour, heard: Arc::clone(&heard) });
        let (stop, stopped) = oneshot::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                listener.set_nonblocking(true).expect("a socket");
                let listener = TcpListener::from_std(listener).expect("a listener");
                let serve = async {
                    while let Ok((tcp, _)) = listener.accept().await {
                        let (scripted, tls) = (Arc::clone(&scripted), tls.clone());
                        tokio::spawn(async move {
                            let _ = tcp.set_nodelay(true);
                            // Others are callers that were refused: the test sees what they make of it.
                            if let Ok(Accepted::Grpc(stream)) = accept(tcp, tls.as_ref()).await {
                                scripted.serve(stream).await;
                            }
                        });
                    }
                };
                tokio::select! {
                    () = serve => {}
                    // An error: the sender is gone, and with it the server.
                    _ = stopped => {}
                }
            });
        });
        Server { address, heard, _stop: stop }
    }

    /// As `--sut` has it.
    pub fn named(&self, name: &str) -> String {
        format!("{name}={}", self.address)
    }

    /// Returns the calls that the server has received so far.
    pub fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Scripted {
    behaviour: Behaviour,
    heard: Arc<Mutex<Heard>>,
}

impl Scripted {
    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One connection until it ends.
    async fn serve(self: Arc<Scripted>, stream: NetStream) {
        let shaken = h2::server::Builder::new()
            .max_concurrent_streams(self.behaviour.max_streams)
            .initial_window_size(1 << 20)
            .initial_connection_window_size(1 << 20)
            .handshake(stream)
            .await;
        let Ok(mut connection): Result<Connection<NetStream, Bytes>, _> = shaken else { return };
        let hang_up = Arc::new(Notify::new());
        let mut inferences = 0;
        loop {
            let accepted = tokio::select! {
                accepted = connection.accept() => accepted,
                () = hang_up.notified() => return,
            };
            let Some(Ok((request, respond))) = accepted else { return };
            if request.uri().path() == INFER_PATH {
                inferences += 1;
                self.heard().connections += u64::from(inferences == 1);
                if self.behaviour.farewell_after.is_some_and(|after| inferences == after) {
                    connection.graceful_shutdown();
                }
            }
            tokio::spawn(Arc::clone(&self).handle(request, respond, Arc::clone(&hang_up)));
        }
    }

    async fn handle(self: Arc<Scripted>, request: Request<RecvStream>, respond: SendResponse<Bytes>, up: Arc<Notify>) {
        let path = request.uri().path().to_owned();
        let Some(message) = message(request.into_body()).await else { return };
        if path != INFER_PATH {
            return self.control(path.rsplit('/').next().unwrap_or_default(), &message, respond);
        }
        let request = ModelInferRequest::decode(message).expect("a request that can be read");
        let number = {
            let mut heard = self.heard();
            heard.requests.push(request.clone());
            heard.requests.len() as u64 - 1
        };
        match (self.behaviour.script)(number, &request) {
            Step::Answer(answer) => send(respond, Ok(answer.encode_to_vec())),
            Step::Refuse(status) => send(respond, Err(status)),
            Step::Reset(reason) => reset(respond, reason),
            Step::Silence => {
                let mut respond = respond;
                let stream = respond.send_response(head(), false).expect("a stream");
                // Until the connection ends.
                std::future::pending::<()>().await;
                drop(stream);
            }
            Step::NoStatus(answer) => {
                let mut respond = respond;
                let mut stream = respond.send_response(head(), false).expect("a stream");
                let _ = stream.send_data(framed(&answer.encode_to_vec()), true);
            }
            Step::HangUp => up.notify_one(),
        }
    }

    fn control(&self, call: &str, message: &Bytes, respond: SendResponse<Bytes>) {
        let behaviour = &self.behaviour;
        let unknown = |model: &str| Status::not_found(format!("Request for unknown model: '{model}' is not found"));
        let answer = match call {
            "ServerLive" => Ok(ServerLiveResponse { live: true }.encode_to_vec()),
            "ServerReady" => Ok(ServerReadyResponse { ready: true }.encode_to_vec()),
            "ServerMetadata" => {
                self.heard().names += 1;
                let (name, version) = ("scripted".to_owned(), "1.2.3".to_owned());
                Ok(ServerMetadataResponse { name, version, extensions: Vec::new() }.encode_to_vec())
            }
            "ModelReady" => {
                let request = ModelReadyRequest::decode(&message[..]).expect("a request that can be read");
                let mut heard = self.heard();
                heard.ready_calls += 1;
                let ready = request.name == behaviour.model && heard.ready_calls > behaviour.unready;
                let answer = Ok(ModelReadyResponse { ready }.encode_to_vec());
                behaviour.unready_status.clone().filter(|_| !ready).map_or(answer, Err)
            }
            "ModelMetadata" => {
                let request = ModelMetadataRequest::decode(&message[..]).expect("a request that can be read");
                let metadata = ModelMetadataResponse {
                    name: request.name.clone(),
                    platform: "script".to_owned(),
                    inputs: behaviour.inputs.clone(),
                    outputs: behaviour.outputs.clone(),
                    ..ModelMetadataResponse::default()
                };
                if request.name == behaviour.model { Ok(metadata.encode_to_vec()) } else { Err(unknown(&request.name)) }
            }
            other => Err(Status::unimplemented(format!("no call {other}"))),
        };
        send(respond, answer);
    }
}

/// The message in a request's body.
async fn message(mut body: RecvStream) -> Option<Bytes> {
    let mut bytes = BytesMut::new();
    while let Some(data) = body.data().await {
        let data = data.ok()?;
        body.flow_control().release_capacity(data.len()).ok()?;
        bytes.extend_from_slice(&data);
    }
    let mut whole = bytes.freeze();
    (whole.len() >= 5).then(|| whole.split_off(5))
}

fn head() -> Response<()> {
    let mut response = Response::new(());
    response.headers_mut().insert("content-type", HeaderValue::from_static("application/grpc"));
    response
}

fn framed(message: &[u8]) -> Bytes {
    let mut bytes = BytesMut::new();
    bytes.put_u8(0);
    bytes.put_u32(message.len() as u32);
    bytes.put_slice(message);
    bytes.freeze()
}

/// Ends a call. What the other end does not want to hear any more is not said.
fn send(mut respond: SendResponse<Bytes>, answer: Result<Vec<u8>, Status>) {
    let mut response = head();
    match answer {
        Err(status) => {
            status.add_header(response.headers_mut()).expect("a status");
            let _ = respond.send_response(response, true);
        }
        Ok(message) => {
            let Ok(mut stream) = respond.send_response(response, false) else { return };
            // Cut where no message would be cut.
            let mut first = framed(&message);
            let tail = first.split_off(first.len().min(3));
            let _ = stream.send_data(first, false).and_then(|()| stream.send_data(tail, false));
            let mut trailers = HeaderMap::new();
            trailers.insert("grpc-status", HeaderValue::from(Code::Ok as i32));
            let _ = stream.send_trailers(trailers);
        }
    }
}

fn reset(mut respond: SendResponse<Bytes>, reason: Reason) {
    respond.send_reset(reason);
}
