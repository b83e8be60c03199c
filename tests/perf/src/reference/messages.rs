//! A gRPC service by hand, so that no code has to be generated: one unary method, one stream.

use std::convert::Infallible;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use tonic::body::Body;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::codegen::{BoxFuture, Service, http};
use tonic::server::Grpc;
use tonic::{Request, Response, Status, Streaming};
use tonic_prost::ProstCodec;

use super::common::ANSWER;

/// A request with its payload.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Ask {
    #[prost(uint64, tag = "1")]
    pub(crate) id: u64,
    #[prost(bytes = "bytes", tag = "2")]
    pub(crate) payload: Bytes,
}

/// An answer of eight bytes.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Answer {
    #[prost(uint64, tag = "1")]
    pub(crate) id: u64,
    #[prost(bytes = "bytes", tag = "2")]
    pub(crate) payload: Bytes,
}

const ONE: &str = "/lon.perf.Reference/One";
const MANY: &str = "/lon.perf.Reference/Many";

/// The path of the unary method.
pub(crate) fn one() -> PathAndQuery {
    PathAndQuery::from_static(ONE)
}

/// The path of the stream.
pub(crate) fn many() -> PathAndQuery {
    PathAndQuery::from_static(MANY)
}

/// Answers at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answering;

fn answer(ask: &Ask) -> Answer {
    Answer { id: ask.id, payload: Bytes::from_static(&[0; ANSWER]) }
}

impl Service<http::Request<Body>> for Answering {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        Box::pin(async move {
            let mut grpc = Grpc::new(ProstCodec::default());
            Ok(match request.uri().path() {
                ONE => grpc.unary(One, request).await,
                MANY => grpc.streaming(Many, request).await,
                _ => Status::unimplemented("no such method").into_http(),
            })
        })
    }
}

struct One;

impl Service<Request<Ask>> for One {
    type Response = Response<Answer>;
    type Error = Status;
    type Future = std::future::Ready<Result<Response<Answer>, Status>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Ask>) -> Self::Future {
        std::future::ready(Ok(Response::new(answer(request.get_ref()))))
    }
}

struct Many;

impl Service<Request<Streaming<Ask>>> for Many {
    type Response = Response<BoxStream<'static, Result<Answer, Status>>>;
    type Error = Status;
    type Future = std::future::Ready<Result<Self::Response, Status>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Streaming<Ask>>) -> Self::Future {
        let answers = request.into_inner().map(|ask| ask.map(|ask| answer(&ask))).boxed();
        std::future::ready(Ok(Response::new(answers)))
    }
}
