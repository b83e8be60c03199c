//! The server of `GET /metrics`: HTTP/1.1, one request a connection.
//!
//! It has a thread of its own which gives way to all others, so that asking costs what is measured as little as can
//! be. What strangers can take is bounded: so many connections, so much time and so many bytes of request each. Where
//! there are more connections, the oldest is closed for the newest.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use lon_net::accept::accept_http;
use lon_net::slice;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::{AbortHandle, JoinSet};

use super::port::MetricsPort;
use super::reply::reply;
use super::source::Metrics;

/// The most connections at one time.
const MAX_CONNECTIONS: usize = 16;

/// The longest time of a connection, from the first byte of its handshake to the last of its answer.
const CONNECTION_TIME: Duration = Duration::from_secs(10);

/// The most bytes of a request that are kept.
const MAX_REQUEST_BYTES: usize = 16 << 10;

/// The pause in accepting when the operating system has no descriptors left, or fails otherwise.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The time that connections get to end when the server ends.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

/// A server on a thread of its own. It ends when this is dropped, within a second.
#[derive(Debug)]
pub struct MetricsServer {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    address: SocketAddr,
}

impl MetricsServer {
    /// Serves what `metrics` holds on `port`.
    ///
    /// # Errors
    /// There is no thread to be had, or it cannot use the port.
    pub fn start(port: MetricsPort, metrics: Metrics) -> io::Result<MetricsServer> {
        let address = port.address();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let run = move || {
            if let Err(error) = slice::yield_to_others() {
                tracing::debug!(%error, "the thread of metrics keeps its weight");
            }
            let stopped = async {
                let _ = stopped.await;
            };
            if let Err(error) = runtime.block_on(serve(port, metrics, stopped)) {
                tracing::warn!(%error, "metrics are not served");
            }
        };
        let thread = std::thread::Builder::new().name("metrics".to_owned()).spawn(run);
        let thread = thread.map_err(|error| io::Error::new(error.kind(), format!("cannot start a thread: {error}")))?;
        Ok(MetricsServer { stop: Some(stop), thread: Some(thread), address })
    }

    /// Address and port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for MetricsServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        // A panic there was logged, and concerns nobody else.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Serves what `metrics` holds on `port` until `shutdown` resolves; then answers whoever is connected, within a
/// second.
///
/// # Errors
/// The runtime cannot use the port.
pub async fn serve(port: MetricsPort, metrics: Metrics, shutdown: impl Future<Output = ()>) -> io::Result<()> {
    let MetricsPort { listener, tls, token, .. } = port;
    let listener = TcpListener::from_std(listener)?;
    let visit = Arc::new(Visit { metrics, tls, token });
    let mut visits = Visits::default();
    let mut shutdown = pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            biased;
            () = &mut shutdown => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, client)) => visits.begin(Arc::clone(&visit).serve(stream, client)),
            Err(error) => {
                tracing::debug!(%error, "a connection for metrics could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    let _ = tokio::time::timeout(LAST_ANSWERS, visits.end()).await;
    Ok(())
}

/// The connections that there are.
#[derive(Default)]
struct Visits {
    /// Aborts its tasks when it is dropped.
    tasks: JoinSet<()>,
    oldest_first: VecDeque<AbortHandle>,
}

impl Visits {
    fn begin(&mut self, visit: impl Future<Output = ()> + Send + 'static) {
        while self.tasks.try_join_next().is_some() {}
        self.oldest_first.retain(|handle| !handle.is_finished());
        if self.oldest_first.len() >= MAX_CONNECTIONS
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            oldest.abort();
        }
        self.oldest_first.push_back(self.tasks.spawn(visit));
    }

    async fn end(&mut self) {
        while self.tasks.join_next().await.is_some() {}
    }
}

/// The values that the server needs for every connection.
struct Visit {
    metrics: Metrics,
    tls: Option<lon_net::tls::ServerTls>,
    token: Option<lon_net::token::Token>,
}

impl Visit {
    async fn serve(self: Arc<Self>, stream: TcpStream, client: SocketAddr) {
        match tokio::time::timeout(CONNECTION_TIME, self.answer(stream)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%client, %error, "a connection for metrics ended"),
            Err(_) => {
                let limit_ms = CONNECTION_TIME.as_millis();
                tracing::debug!(%client, limit_ms, "a connection for metrics took too long");
            }
        }
    }

    async fn answer(&self, stream: TcpStream) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let stream = accept_http(stream, self.tls.as_ref()).await?;
        let service = service_fn(|request| {
            let reply = reply(&request, &self.metrics, self.token.as_ref());
            async move { Ok::<_, Infallible>(reply) }
        });
        let mut http = http1::Builder::new();
        http.keep_alive(false).max_buf_size(MAX_REQUEST_BYTES);
        http.serve_connection(TokioIo::new(stream), service).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Read as _, Write as _};
    use std::net::TcpStream;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use lon_net::throwaway::Throwaway;
    use rustls::pki_types::pem::PemObject as _;
    use rustls::pki_types::{CertificateDer, ServerName};
    use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

    use super::super::family::{Family, Kind, Value};
    use super::super::source::{Source, Teller};
    use super::*;

    /// One counter.
    #[derive(Clone, Debug, Default)]
    struct Counter(Arc<AtomicU64>);

    impl Source for Counter {
        fn tell(&self, teller: &mut Teller<'_>) -> std::fmt::Result {
            let family = Family { name: "samples", kind: Kind::Counter, unit: "", help: "Samples." };
            family.encode_one(teller, Value::Number(self.0.load(Relaxed)))
        }
    }

    fn server(tls: Option<lon_net::tls::ServerTls>) -> (MetricsServer, Counter) {
        let port = MetricsPort::bind("127.0.0.1:0", tls, false).unwrap();
        let counter = Counter::default();
        (MetricsServer::start(port, Metrics::new([], counter.clone())).unwrap(), counter)
    }

    fn dialled(server: &MetricsServer) -> TcpStream {
        let stream = TcpStream::connect(server.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(300))).unwrap();
        stream
    }

    /// Everything that the server sends back; the connection ends with it.
    fn answer_to(stream: &mut (impl io::Read + io::Write), request: &str) -> String {
        stream.write_all(request.as_bytes()).unwrap();
        stream.flush().unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    const GET: &str = "GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n";

    #[test]
    fn counters_are_told_as_they_are_now() {
        let (server, counter) = server(None);
        for count in 0..3 {
            let answer = answer_to(&mut dialled(&server), GET);
            let (head, body) = answer.split_once("\r\n\r\n").unwrap();
            assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
            assert!(head.to_lowercase().contains("content-type: application/openmetrics-text"), "{head}");
            assert!(body.contains(&format!("\nsamples_total {count}\n")) && body.ends_with("# EOF\n"), "{body}");
            counter.0.fetch_add(1, Relaxed);
        }
        let head = answer_to(&mut dialled(&server), "HEAD /metrics HTTP/1.1\r\nHost: here\r\n\r\n");
        assert!(head.ends_with("\r\n\r\n") && head.to_lowercase().contains("content-length: "), "{head}");
    }

    #[test]
    fn with_tls_the_certificate_is_the_programs_own() {
        let certificates = Throwaway::new(&["127.0.0.1"]).unwrap();
        let (server, _counter) = server(Some(certificates.server().unwrap()));
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(certificates.ca.as_bytes()).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let mut config = config.with_root_certificates(roots).with_no_client_auth();
        // Prometheus offers these two protocols.
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let connection = ClientConnection::new(Arc::new(config), name).unwrap();
        let answer = answer_to(&mut StreamOwned::new(connection, dialled(&server)), GET);
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        let mut plain = dialled(&server);
        plain.write_all(GET.as_bytes()).unwrap();
        let mut answer = Vec::new();
        let ended = plain.read_to_end(&mut answer);
        assert!(!answer.starts_with(b"HTTP"), "{ended:?} {answer:?}");
    }

    /// Far more silent clients than there may be: whoever speaks is answered, and the oldest silent ones are closed.
    #[test]
    fn the_silent_are_in_nobodys_way() {
        let (server, _counter) = server(None);
        let mut silent: Vec<TcpStream> = (0..3 * MAX_CONNECTIONS).map(|_| dialled(&server)).collect();
        assert!(answer_to(&mut dialled(&server), GET).starts_with("HTTP/1.1 200 OK\r\n"));
        let closed = silent[0].read(&mut [0]);
        assert!(matches!(&closed, Ok(0)) || closed.is_err_and(|it| it.kind() == ErrorKind::ConnectionReset));
        let last = silent.last_mut().unwrap();
        last.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        assert_eq!(last.read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock, "it is still open");
    }

    #[test]
    fn a_request_without_end_is_refused() {
        let (server, _counter) = server(None);
        let mut stream = dialled(&server);
        let endless = format!("GET /metrics HTTP/1.1\r\nX: {}", "x".repeat(2 * MAX_REQUEST_BYTES));
        stream.write_all(endless.as_bytes()).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(!answer.starts_with(b"HTTP/1.1 200"), "{answer:?}");
    }

    #[test]
    fn the_port_is_closed_when_the_server_is_dropped() {
        let (server, _counter) = server(None);
        let (address, _silent) = (server.address(), dialled(&server));
        let began = std::time::Instant::now();
        drop(server);
        assert!(began.elapsed() < 10 * LAST_ANSWERS);
        assert!(TcpStream::connect(address).is_err());
    }
}
