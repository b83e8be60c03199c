//! A Dispatch stream as the bodies of one HTTP/2 exchange: gRPC for every peer, without the copies of an encoder.
//!
//! The generated code encodes each message into a buffer, payload included. These bodies give HTTP/2 the payloads as
//! they are, each as DATA of its own behind the DATA with its head. Payloads that arrive in this form are not copied
//! either.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use bytes::Bytes;
use http_body::{Body as _, Frame};
use tonic::codegen::http::{self, HeaderMap, HeaderValue, header};
use tonic::{Code, Status};

use crate::clock;
use crate::flow::{Fill, Filled, Source};
use crate::framing::{Inbound, Outbound};

/// The path of the Dispatch stream.
pub const DISPATCH_PATH: &str = "/lon.v1.SutNode/Dispatch";

/// The content type of gRPC.
const CONTENT_TYPE: HeaderValue = HeaderValue::from_static("application/grpc");

/// Which end sends a body: only a server ends with a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Client,
    Server,
}

/// A body that sends what a [`Fill`] has.
struct FillBody<F> {
    fill: F,
    out: Outbound,
    role: Role,
    ended: bool,
    /// Since when HTTP/2 has what it was given last. It asks for more at once where it may send more.
    chunk_at: Option<Instant>,
}

impl<F> FillBody<F> {
    fn new(fill: F, role: Role) -> FillBody<F> {
        FillBody { fill, out: Outbound::default(), role, ended: false, chunk_at: None }
    }
}

impl<F: Fill> http_body::Body for FillBody<F> {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = &mut *self;
        if let Some(chunk_at) = this.chunk_at.take() {
            this.fill.record_wait(clock::now().saturating_duration_since(chunk_at));
        }
        loop {
            if let Some(chunk) = this.out.pop() {
                this.chunk_at = (this.role == Role::Client).then(clock::now);
                return Poll::Ready(Some(Ok(Frame::data(chunk))));
            }
            if this.ended {
                return Poll::Ready(None);
            }
            if let Filled::End(how) = ready!(this.fill.poll_fill(cx, &mut this.out)) {
                this.ended = true;
                return Poll::Ready(match (this.role, how) {
                    (Role::Client, Ok(())) => None,
                    (Role::Client, Err(status)) => Some(Err(status)),
                    (Role::Server, how) => Some(Ok(Frame::trailers(trailers(how)))),
                });
            }
        }
    }
}

fn trailers(how: Result<(), Status>) -> HeaderMap {
    let status = how.err().unwrap_or_else(|| Status::ok(""));
    let mut trailers = HeaderMap::new();
    if status.add_header(&mut trailers).is_err() {
        trailers.insert("grpc-status", HeaderValue::from(Code::Internal as u16));
    }
    trailers
}

/// The request that opens a Dispatch stream. The connection's channel adds scheme and authority.
pub fn request(fill: impl Fill) -> http::Request<tonic::body::Body> {
    let mut request = http::Request::new(tonic::body::Body::new(FillBody::new(fill, Role::Client)));
    *request.method_mut() = http::Method::POST;
    *request.uri_mut() = http::Uri::from_static(DISPATCH_PATH);
    *request.version_mut() = http::Version::HTTP_2;
    request.headers_mut().insert(header::TE, HeaderValue::from_static("trailers"));
    request.headers_mut().insert(header::CONTENT_TYPE, CONTENT_TYPE);
    request
}

/// The response to it.
pub fn response(fill: impl Fill) -> http::Response<tonic::body::Body> {
    let mut response = http::Response::new(tonic::body::Body::new(FillBody::new(fill, Role::Server)));
    response.headers_mut().insert(header::CONTENT_TYPE, CONTENT_TYPE);
    response
}

/// The answering half of a stream, once the other end has accepted it.
///
/// # Errors
/// The other end refused the stream; the error is its status.
pub fn accepted(response: http::Response<tonic::body::Body>) -> Result<BodySource, Status> {
    if let Some(status) = Status::from_header_map(response.headers())
        && status.code() != Code::Ok
    {
        return Err(status);
    }
    if response.status() != http::StatusCode::OK {
        return Err(Status::unimplemented(format!("HTTP {}: not a gRPC server", response.status())));
    }
    Ok(BodySource::new(response.into_body()))
}

/// Reads a stream from a body.
pub struct BodySource {
    body: tonic::body::Body,
}

impl BodySource {
    /// Reads the bytes of `body`, and the status in its trailers.
    pub fn new(body: tonic::body::Body) -> BodySource {
        BodySource { body }
    }
}

impl Source for BodySource {
    fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut Inbound) -> Poll<Result<bool, Status>> {
        loop {
            let frame = match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                None => return Poll::Ready(Ok(false)),
                Some(Err(status)) => return Poll::Ready(Err(status)),
                Some(Ok(frame)) => frame,
            };
            match frame.into_data() {
                Ok(data) if data.is_empty() => {}
                Ok(data) => {
                    into.push(data);
                    return Poll::Ready(Ok(true));
                }
                Err(frame) => {
                    let status = frame.trailers_ref().and_then(Status::from_header_map);
                    return Poll::Ready(match status {
                        Some(status) if status.code() != Code::Ok => Err(status),
                        _ => Ok(false),
                    });
                }
            }
        }
    }
}
