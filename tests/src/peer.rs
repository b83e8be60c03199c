//! A peer that speaks `lon.v1` and follows a script, to show a LoadGen node what no real SUT node does.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use lon_proto::WIRE_VERSION;
use lon_proto::v1::sut_node_server::{SutNode, SutNodeServer};
use lon_proto::v1::{
    Backend, DescribeRequest, DescribeResponse, DispatchRequest, DispatchResponse, EndRunRequest, EndRunResponse,
    FlushRequest, FlushResponse, GetNameRequest, GetNameResponse, ProbeRequest, StartRunRequest, StartRunResponse,
};
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tokio_stream::{Stream, StreamExt as _};
use tonic::{Request, Response, Status, Streaming};

/// What the peer does to each sample that is complete. `number` counts them from 0.
pub type Script = fn(number: u64, id: u64) -> Vec<Step>;

/// One thing to do.
pub enum Step {
    /// Send this.
    Send(DispatchResponse),
    /// End the stream with this.
    Fail(Status),
}

/// How the peer behaves beside its answers.
#[derive(Clone)]
pub struct Manners {
    /// Its name.
    pub name: String,
    /// The wire version it claims.
    pub wire_version: u32,
    /// Returns the nonce it was sent.
    pub honest_nonce: bool,
    /// Opens the stream that Dispatch asks for, instead of leaving the caller waiting.
    pub opens: bool,
    /// Another name, from the third time it is asked: at the end of a run.
    pub later_name: Option<String>,
    /// What it does to samples.
    pub script: Script,
}

impl Manners {
    /// A well-behaved node of this name.
    pub fn good(name: &str) -> Manners {
        Manners {
            name: name.to_owned(),
            wire_version: WIRE_VERSION,
            honest_nonce: true,
            opens: true,
            later_name: None,
            script: answer_once,
        }
    }
}

/// The well-behaved script.
pub fn answer_once(_number: u64, id: u64) -> Vec<Step> {
    vec![Step::Send(eight_bytes(id))]
}

/// A whole answer of eight bytes.
pub fn eight_bytes(id: u64) -> DispatchResponse {
    DispatchResponse { id, last: true, total_len: 8, data: Bytes::from_static(&[0; 8]), ..Default::default() }
}

/// Everything a peer was sent, in order of arrival.
#[derive(Default)]
pub struct Heard {
    /// GetName calls.
    pub nonces: Vec<u64>,
    /// StartRun calls.
    pub starts: Vec<StartRunRequest>,
    /// Dispatch messages.
    pub messages: Vec<DispatchRequest>,
    /// Flush calls.
    pub flushes: Vec<FlushRequest>,
    /// EndRun calls.
    pub ends: u64,
}

/// A running peer. Stops with the process: tests are short.
pub struct Peer {
    /// Where it listens.
    pub address: SocketAddr,
    heard: Arc<Mutex<Heard>>,
}

impl Peer {
    /// Starts it on a free port of 127.0.0.1.
    pub fn start(manners: Manners) -> Peer {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("its address");
        let heard = Arc::new(Mutex::default());
        let service = Scripted { manners, heard: Arc::clone(&heard) };
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async move {
                listener.set_nonblocking(true).expect("nonblocking");
                let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
                let server = tonic::transport::Server::builder().add_service(SutNodeServer::new(service));
                server.serve_with_incoming(TcpListenerStream::new(listener)).await.expect("serves");
            });
        });
        Peer { address, heard }
    }

    /// What it heard so far.
    pub fn heard(&self) -> std::sync::MutexGuard<'_, Heard> {
        self.heard.lock().expect("no test panicked with it")
    }
}

struct Scripted {
    manners: Manners,
    heard: Arc<Mutex<Heard>>,
}

#[tonic::async_trait]
impl SutNode for Scripted {
    async fn get_name(&self, request: Request<GetNameRequest>) -> Result<Response<GetNameResponse>, Status> {
        let nonce = request.into_inner().nonce;
        let mut heard = self.heard.lock().expect("lock");
        heard.nonces.push(nonce);
        let later = self.manners.later_name.clone().filter(|_| heard.nonces.len() >= 3);
        drop(heard);
        let returned = if self.manners.honest_nonce { nonce } else { nonce ^ 1 };
        Ok(Response::new(GetNameResponse { nonce: returned, name: later.unwrap_or_else(|| self.manners.name.clone()) }))
    }

    async fn describe(&self, request: Request<DescribeRequest>) -> Result<Response<DescribeResponse>, Status> {
        let theirs = request.into_inner().wire_version;
        if theirs != self.manners.wire_version {
            let ours = self.manners.wire_version;
            return Err(Status::failed_precondition(format!("this node speaks wire version {ours}, not {theirs}")));
        }
        Ok(Response::new(DescribeResponse {
            wire_version: self.manners.wire_version,
            name: self.manners.name.clone(),
            backend: Some(Backend { engine: "scripted".to_owned(), ..Backend::default() }),
            ..DescribeResponse::default()
        }))
    }

    async fn start_run(&self, request: Request<StartRunRequest>) -> Result<Response<StartRunResponse>, Status> {
        self.heard.lock().expect("lock").starts.push(request.into_inner());
        Ok(Response::new(StartRunResponse {
            max_samples_in_flight: 1024,
            max_bytes_in_flight: 1 << 30,
            max_sample_bytes: 1 << 30,
            busy_samples: 8,
        }))
    }

    async fn probe(&self, _request: Request<ProbeRequest>) -> Result<Response<StartRunResponse>, Status> {
        Err(Status::unimplemented("a scripted node cannot be probed"))
    }

    type DispatchStream = Pin<Box<dyn Stream<Item = Result<DispatchResponse, Status>> + Send>>;

    async fn dispatch(
        &self,
        request: Request<Streaming<DispatchRequest>>,
    ) -> Result<Response<Self::DispatchStream>, Status> {
        if !self.manners.opens {
            std::future::pending::<()>().await;
        }
        let mut incoming = request.into_inner();
        let (sender, receiver) = tokio::sync::mpsc::channel(1024);
        let (script, heard) = (self.manners.script, Arc::clone(&self.heard));
        tokio::spawn(async move {
            let mut number = 0;
            while let Some(Ok(message)) = incoming.next().await {
                let (id, whole) = (message.id, message.last && message.open.is_none());
                heard.lock().expect("lock").messages.push(message);
                if !whole {
                    continue;
                }
                for step in script(number, id) {
                    let item = match step {
                        Step::Send(message) => Ok(message),
                        Step::Fail(status) => Err(status),
                    };
                    if sender.send(item).await.is_err() {
                        return;
                    }
                }
                number += 1;
            }
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(receiver))))
    }

    async fn flush(&self, request: Request<FlushRequest>) -> Result<Response<FlushResponse>, Status> {
        self.heard.lock().expect("lock").flushes.push(request.into_inner());
        Ok(Response::new(FlushResponse {}))
    }

    async fn end_run(&self, _request: Request<EndRunRequest>) -> Result<Response<EndRunResponse>, Status> {
        self.heard.lock().expect("lock").ends += 1;
        Ok(Response::new(EndRunResponse::default()))
    }
}
