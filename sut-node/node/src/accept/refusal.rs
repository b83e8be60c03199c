//! A node that will not serve: clients that wait for it are told why, before it ends. Without that they would wait on
//! for a node that does not come.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use lon_net::accept::{Accepted, accept};
use lon_net::socket::Socket;
use lon_net::tls::ServerTls;
use tokio::task::JoinSet;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::http;

use super::grpc::http2;
use super::listener::Listener;
use super::sockets::Sockets;
use crate::config::ServeConfig;

/// The time that another client is waited for after the last one. Those who wait are connected already.
const NEXT_CLIENT: Duration = Duration::from_millis(50);

/// The time that clients have in all, who need a few round trips.
const IN_ALL: Duration = Duration::from_secs(2);

/// Answers every call of the clients that wait for a node of this configuration with the reason why it will not serve,
/// for two seconds at most. Nobody who would have to show a token or a certificate is told it without.
///
/// Must run on a tokio runtime.
pub async fn refuse(sockets: Sockets, config: &ServeConfig, why: &str) {
    let reason = match config.token {
        Some(_) => "its own log says why",
        None => why,
    };
    let status = Arc::new(Status::aborted(format!("the node ends before it serves: {reason}")));
    let Ok(mut listener) = Listener::new(sockets.tcp) else { return };
    let mut tasks = JoinSet::new();
    let telling = async {
        while let Ok(Ok((socket, _client))) = tokio::time::timeout(NEXT_CLIENT, listener.accept()).await {
            tasks.spawn(tell(socket, config.tls.clone(), Arc::clone(&status)));
        }
        while tasks.join_next().await.is_some() {}
    };
    // Connections that are not over by then are closed.
    let _ = tokio::time::timeout(IN_ALL, telling).await;
}

/// Answers the calls of one connection until the client closes it.
async fn tell(socket: Socket, tls: Option<ServerTls>, status: Arc<Status>) {
    let Ok(Accepted::Grpc(stream)) = accept(socket, tls.as_ref()).await else { return };
    let answer = service_fn(move |_request| {
        let response: http::Response<Body> = Status::clone(&status).into_http();
        async move { Ok::<_, Infallible>(response) }
    });
    let connection = pin!(http2().serve_connection(TokioIo::new(stream), answer));
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a client that waited is gone");
    }
}

#[cfg(test)]
mod tests {
    use lon_net::token::Token;
    use lon_proto::v1::GetNameRequest;
    use lon_proto::v1::sut_node_client::SutNodeClient;
    use tonic::transport::Endpoint;

    use super::*;

    #[tokio::test]
    async fn a_client_that_waits_is_told_why_unless_it_has_to_show_a_token() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "0123456789abcdef").unwrap();
        let token = Token::read(file.path(), true).unwrap();
        for (token, part) in [(None, "no such model"), (Some(token), "its own log says why")] {
            let sockets = Sockets::bind("127.0.0.1:0").unwrap();
            let mut config = ServeConfig::new("n1".parse().unwrap());
            config.token = token;
            let endpoint = Endpoint::from_shared(format!("http://{}", sockets.address())).unwrap();
            let mut client = SutNodeClient::new(endpoint.connect().await.unwrap());
            let asking = async move { client.get_name(GetNameRequest { nonce: 1 }).await.unwrap_err() };
            let (status, ()) = tokio::join!(asking, refuse(sockets, &config, "no such model"));
            assert!(status.message().contains(part) && status.message().contains("ends before it serves"), "{status}");
        }
    }
}
