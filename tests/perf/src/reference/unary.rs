//! Reference of gRPC as its tutorials use it: a unary call for each query, on a few connections.

use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use anyhow::Result;
use bytes::Bytes;
use futures_util::future::try_join_all;
use tonic::Request;
use tonic::client::Grpc;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Endpoint, Server};
use tonic_prost::ProstCodec;

use super::common::payloads;
use super::messages::{Answer, Answering, Ask, one};

const CONNECTIONS: usize = 4;
/// Calls without an answer, over all connections.
const CALLS: usize = 64;

/// Answers calls until it is killed.
pub(crate) async fn serve(listener: TcpListener) -> Result<()> {
    listener.set_nonblocking(true)?;
    let incoming = TcpIncoming::from(tokio::net::TcpListener::from_std(listener)?).with_nodelay(Some(true));
    Ok(Server::builder().serve_with_incoming(Answering, incoming).await?)
}

/// Calls per second.
pub(crate) async fn drive(address: SocketAddr, size: usize, seconds: f64) -> Result<f64> {
    let payloads: Vec<Bytes> = payloads(size).into_iter().map(Bytes::from).collect();
    let mut channels = Vec::new();
    for _ in 0..CONNECTIONS {
        channels.push(Endpoint::from_shared(format!("http://{address}"))?.tcp_nodelay(true).connect().await?);
    }
    let begin = Instant::now();
    let end = begin + Duration::from_secs_f64(seconds);
    let caller = |number: usize| {
        let mut client = Grpc::new(channels[number % CONNECTIONS].clone());
        let payloads = payloads.clone();
        async move {
            let mut calls = 0_u64;
            while Instant::now() < end {
                let payload = payloads[(number + calls as usize) % payloads.len()].clone();
                client.ready().await?;
                let codec = ProstCodec::<Ask, Answer>::default();
                client.unary(Request::new(Ask { id: calls, payload }), one(), codec).await?;
                calls += 1;
            }
            Ok::<_, anyhow::Error>(calls)
        }
    };
    // Tasks, as an application would have them: a caller is woken alone.
    let tasks: Vec<_> = (0..CALLS).map(|number| tokio::spawn(caller(number))).collect();
    let mut calls = 0;
    for task in try_join_all(tasks).await? {
        calls += task?;
    }
    Ok(calls as f64 / begin.elapsed().as_secs_f64())
}
