//! The calls of a scripted peer, and how a Dispatch stream comes over gRPC.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use lon_net::grpc::{self, BodySource};
use lon_proto::v1::sut_node_server::{SutNode, SutNodeServer};
use lon_proto::v1::{
    Backend, DescribeRequest, DescribeResponse, DispatchRequest, DispatchResponse, EndRunRequest, EndRunResponse,
    FlushRequest, FlushResponse, GetNameRequest, GetNameResponse, GetProbeCountersRequest, ProbeCounters,
    ProbePeerRequest, ProbePeerResponse, ProbeRequest, StartRunRequest, StartRunResponse,
};
use tokio_stream::Empty;
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service as HttpService, http};
use tonic::{Request, Response, Status, Streaming};

use super::{BETWEEN_LOOKS, FlushManner, SECRET, Scripted, stream};

/// The peer as HTTP sees it.
#[derive(Clone)]
pub(super) struct ScriptedNode {
    peer: Arc<Scripted>,
    calls: SutNodeServer<Scripted>,
}

impl ScriptedNode {
    pub(super) fn new(peer: Arc<Scripted>) -> ScriptedNode {
        ScriptedNode { calls: SutNodeServer::from_arc(Arc::clone(&peer)), peer }
    }
}

impl HttpService<http::Request<Body>> for ScriptedNode {
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
        let peer = Arc::clone(&self.peer);
        Box::pin(async move {
            let answers = stream::open(&peer, BodySource::new(request.into_body())).await;
            Ok(grpc::response(answers))
        })
    }
}

#[tonic::async_trait]
impl SutNode for Scripted {
    async fn get_name(&self, request: Request<GetNameRequest>) -> Result<Response<GetNameResponse>, Status> {
        let nonce = request.into_inner().nonce;
        let mut heard = self.heard.lock();
        heard.nonces.push(nonce);
        let later = self.behaviour.later_name.clone().filter(|_| heard.nonces.len() >= 3);
        drop(heard);
        let returned = if self.behaviour.honest_nonce { nonce } else { nonce ^ 1 };
        Ok(Response::new(GetNameResponse {
            nonce: returned,
            name: later.unwrap_or_else(|| self.behaviour.name.clone()),
        }))
    }

    async fn describe(&self, request: Request<DescribeRequest>) -> Result<Response<DescribeResponse>, Status> {
        let theirs = request.into_inner().wire_version;
        if theirs != self.behaviour.wire_version {
            let ours = self.behaviour.wire_version;
            return Err(Status::failed_precondition(format!("this node speaks wire version {ours}, not {theirs}")));
        }
        Ok(Response::new(DescribeResponse {
            wire_version: self.behaviour.wire_version,
            name: self.behaviour.name.clone(),
            backend: Some(Backend {
                engine: "scripted".to_owned(),
                outputs: self.behaviour.outputs.clone(),
                ..Backend::default()
            }),
            codecs: self.behaviour.codecs.clone(),
            ..DescribeResponse::default()
        }))
    }

    async fn start_run(&self, request: Request<StartRunRequest>) -> Result<Response<StartRunResponse>, Status> {
        let request = request.into_inner();
        let (run_id, codec) = (request.run_id.clone(), request.codec.clone());
        self.heard.lock().starts.push(request);
        let secret = match self.behaviour.guards {
            true if !codec.is_empty() && !self.behaviour.codecs.contains(&codec) => {
                return Err(Status::unimplemented(format!("no codec '{codec}' here")));
            }
            true => self.guard.take(run_id)?,
            false => Bytes::from_static(&SECRET),
        };
        Ok(Response::new(StartRunResponse { secret, ..self.behaviour.bounds.clone() }))
    }

    async fn probe(&self, _request: Request<ProbeRequest>) -> Result<Response<StartRunResponse>, Status> {
        Err(Status::unimplemented("a scripted node cannot be probed"))
    }

    async fn get_probe_counters(&self, _: Request<GetProbeCountersRequest>) -> Result<Response<ProbeCounters>, Status> {
        Err(Status::unimplemented("no such call"))
    }

    async fn probe_peer(&self, _: Request<ProbePeerRequest>) -> Result<Response<ProbePeerResponse>, Status> {
        Err(Status::unimplemented("no such call"))
    }

    type DispatchStream = Empty<Result<DispatchResponse, Status>>;

    /// [`ScriptedNode`] takes these calls before the generated code sees them.
    async fn dispatch(
        &self,
        _request: Request<Streaming<DispatchRequest>>,
    ) -> Result<Response<Self::DispatchStream>, Status> {
        Err(Status::internal("a Dispatch stream that was not taken on its way in"))
    }

    async fn flush(&self, request: Request<FlushRequest>) -> Result<Response<FlushResponse>, Status> {
        let request = request.into_inner();
        if self.behaviour.guards {
            self.guard.admit(&request.run_id, &request.secret)?;
            while self.heard.lock().complete < request.samples_sent {
                tokio::time::sleep(BETWEEN_LOOKS).await;
            }
        }
        self.heard.lock().flushes.push(request);
        match self.behaviour.flush {
            FlushManner::Returns => Ok(Response::new(FlushResponse {})),
            FlushManner::Fails => Err(Status::internal("no flush today")),
            FlushManner::Hangs => std::future::pending().await,
        }
    }

    async fn end_run(&self, request: Request<EndRunRequest>) -> Result<Response<EndRunResponse>, Status> {
        let request = request.into_inner();
        if self.behaviour.guards {
            self.guard.admit(&request.run_id, &request.secret)?;
            self.guard.free();
        }
        let mut heard = self.heard.lock();
        heard.ends.push(request);
        let mut counters = heard.counters();
        if !self.behaviour.honest_sockets {
            (counters.socket_bytes_in, counters.socket_bytes_out) = (Some(0), Some(0));
        }
        if !self.behaviour.counts_sockets {
            (counters.socket_bytes_in, counters.socket_bytes_out) = (None, None);
        }
        if self.behaviour.miscounts {
            counters.samples_received += 1;
            counters.message_bytes_in += 100;
        }
        Ok(Response::new(counters))
    }
}
