//! The server's side of a new connection over TCP, up to where messages begin.
//!
//! One port serves HTTP/2 and plain TCP; the client's first bytes say which it is. A client that speaks neither, or TLS
//! on a port without it, is reported differently from one that closed, so that a log line can say what to change.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

use crate::io::{Counted, NetStream};
use crate::socket::Socket;
use crate::tcp::MAGIC;
use crate::tls::ServerTls;

/// The longest time for a client to send the bytes that say which protocol it speaks.
pub const GREETING_TIMEOUT: Duration = Duration::from_secs(5);

/// The first bytes of HTTP/2 with prior knowledge.
const HTTP2: [u8; 8] = *b"PRI * HT";

/// The first byte of a TLS record that holds a handshake. Neither our magic nor a text of HTTP begins with it.
const TLS_HANDSHAKE: u8 = 0x16;

/// An accepted connection, by the protocol that its client speaks.
#[derive(Debug)]
pub enum Accepted {
    /// HTTP/2; its preface is still to be read.
    Grpc(NetStream),
    /// A connection with framed messages. Its magic is read already; the first message comes next.
    Tcp(NetStream),
}

/// The error for a connection that was not accepted. Its socket is closed.
#[derive(Debug, thiserror::Error)]
pub enum AcceptError {
    /// The client closed before it sent anything, as port scanners and load balancers' checks do.
    #[error("the client hung up without a word")]
    HungUp,
    /// The client took too long to say which protocol it speaks.
    #[error("the client did not say what it speaks within {} s", .0.as_secs_f64())]
    Silent(Duration),
    /// The client speaks TLS on a port without TLS.
    #[error(
        "the client speaks TLS, this node does not: start the node with --tls-cert and --tls-key, or the client \
         without --tls-ca"
    )]
    TlsOnPlain,
    /// The client speaks plain text on a port with TLS.
    #[error("this node speaks TLS, the client does not (it sent {0}): start the client with --tls-ca")]
    PlainOnTls(Greeting),
    /// One end refused the other's certificate, or the handshake failed otherwise.
    #[error("TLS handshake: {0}")]
    Handshake(io::Error),
    /// The client speaks another protocol.
    #[error("the client speaks neither gRPC over HTTP/2 nor plain lon.v1 (it sent {0}): is it meant for this port?")]
    Stranger(Greeting),
    /// The socket failed.
    #[error("the connection broke: {0}")]
    Broken(#[from] io::Error),
}

impl AcceptError {
    /// Returns true when the two ends disagree about TLS, so that one of them needs another configuration.
    pub fn is_tls(&self) -> bool {
        matches!(self, AcceptError::TlsOnPlain | AcceptError::PlainOnTls(_) | AcceptError::Handshake(_))
    }
}

/// The first bytes that a client sent, eight at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Greeting {
    bytes: [u8; 8],
    len: usize,
}

impl Greeting {
    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Which protocols can begin with these bytes.
    fn begins(&self, whole: [u8; 8]) -> bool {
        whole.starts_with(self.bytes())
    }
}

impl fmt::Display for Greeting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bytes {
            _ if self.len == 0 => f.write_str("nothing"),
            HTTP2 => f.write_str("HTTP/2 in plain text"),
            MAGIC => f.write_str("lon.v1 in plain text"),
            _ => write!(f, "\"{}\"", self.bytes().escape_ascii()),
        }
    }
}

/// Makes the TLS handshake if `tls` is given, and finds out which protocol the client speaks. Turns off Nagle's delay
/// first.
///
/// # Errors
/// See [`AcceptError`]. A client that has not said which protocol it speaks after [`GREETING_TIMEOUT`] is an error.
pub async fn accept(socket: impl Into<Socket>, tls: Option<&ServerTls>) -> Result<Accepted, AcceptError> {
    accept_within(socket.into(), tls, GREETING_TIMEOUT).await
}

async fn accept_within(socket: Socket, tls: Option<&ServerTls>, limit: Duration) -> Result<Accepted, AcceptError> {
    tokio::time::timeout(limit, greet(socket, tls)).await.unwrap_or(Err(AcceptError::Silent(limit)))
}

/// The same for a client that speaks HTTP/1.1, on a port where nothing else is spoken. Nothing of it is read yet.
///
/// # Errors
/// See [`AcceptError`].
pub async fn accept_http(socket: impl Into<Socket>, tls: Option<&ServerTls>) -> Result<NetStream, AcceptError> {
    let secured = secured(socket.into(), tls.map(ServerTls::http));
    tokio::time::timeout(GREETING_TIMEOUT, secured).await.unwrap_or(Err(AcceptError::Silent(GREETING_TIMEOUT)))
}

/// The connection, with TLS made if there is to be any.
async fn secured(socket: Socket, tls: Option<Arc<ServerConfig>>) -> Result<NetStream, AcceptError> {
    socket.set_nodelay()?;
    let Some(tls) = tls else { return Ok(NetStream::plain(Counted::new(socket, Arc::default()))) };
    // The bytes are looked at before the handshake, whose own error would not say what came.
    let mut greeting = Greeting { bytes: [0; 8], len: 0 };
    greeting.len = socket.peek(&mut greeting.bytes).await?;
    match greeting.bytes().first() {
        None => return Err(AcceptError::HungUp),
        Some(&TLS_HANDSHAKE) => {}
        Some(_) => return Err(AcceptError::PlainOnTls(greeting)),
    }
    let socket = Counted::new(socket, Arc::default());
    Ok(NetStream::tls(TlsAcceptor::from(tls).accept(socket).await.map_err(AcceptError::Handshake)?))
}

async fn greet(socket: Socket, tls: Option<&ServerTls>) -> Result<Accepted, AcceptError> {
    let mut stream = secured(socket, tls.map(ServerTls::stream)).await?;
    let greeting = first_bytes(&mut stream).await?;
    match greeting.bytes {
        HTTP2 => {
            stream.put_back(Bytes::copy_from_slice(&HTTP2));
            Ok(Accepted::Grpc(stream))
        }
        MAGIC => Ok(Accepted::Tcp(stream)),
        _ if greeting.len == 0 => Err(AcceptError::HungUp),
        [TLS_HANDSHAKE, ..] if !stream.is_tls() => Err(AcceptError::TlsOnPlain),
        _ => Err(AcceptError::Stranger(greeting)),
    }
}

/// Reads eight bytes, or fewer when these already belong to no protocol that is served.
async fn first_bytes(stream: &mut (impl AsyncRead + Unpin)) -> Result<Greeting, AcceptError> {
    let mut greeting = Greeting { bytes: [0; 8], len: 0 };
    while greeting.len < 8 && (greeting.begins(HTTP2) || greeting.begins(MAGIC)) {
        let count = stream.read(&mut greeting.bytes[greeting.len..]).await?;
        if count == 0 {
            break;
        }
        greeting.len += count;
    }
    Ok(greeting)
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;
    use tokio::net::{TcpListener, TcpStream};

    use super::*;
    use crate::dial::dial;
    use crate::throwaway::Throwaway;
    use crate::tls::{ClientTls, Protocol};

    /// One connection: what the node made of it, and what the client did.
    async fn meet<T>(
        server: Option<&ServerTls>,
        client: impl AsyncFnOnce(String) -> T,
    ) -> (Result<Accepted, AcceptError>, T) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let node = async { accept(listener.accept().await.unwrap().0, server).await };
        tokio::join!(node, client(address))
    }

    /// A client that sends `bytes` and stays until the node has made up its mind.
    async fn outcome_of(server: Option<&ServerTls>, bytes: &[u8]) -> Result<Accepted, AcceptError> {
        let (accepted, _client) = meet(server, async |address| {
            let mut tcp = TcpStream::connect(address).await.unwrap();
            tcp.write_all(bytes).await.unwrap();
            tcp
        })
        .await;
        accepted
    }

    fn tls_pair() -> (ClientTls, ServerTls) {
        let certificates = Throwaway::new(&["127.0.0.1"]).unwrap();
        (certificates.client().unwrap(), certificates.server().unwrap())
    }

    async fn dialled(address: &str, tls: Option<&ClientTls>, protocol: Protocol) -> io::Result<NetStream> {
        dial(address, tls, protocol, Arc::default()).await
    }

    async fn one_way(from: &mut NetStream, to: &mut NetStream) {
        from.write_all(b"a message").await.unwrap();
        from.flush().await.unwrap();
        let mut bytes = [0; 9];
        to.read_exact(&mut bytes).await.unwrap();
        assert_eq!(&bytes, b"a message");
    }

    async fn both_ways(near: &mut NetStream, far: &mut NetStream) {
        one_way(near, far).await;
        one_way(far, near).await;
    }

    #[tokio::test]
    async fn what_is_spoken_is_found_out_with_and_without_tls() {
        let (client, server) = tls_pair();
        for (client, server) in [(None, None), (Some(&client), Some(&server))] {
            let (accepted, near) = meet(server, async |a| dialled(&a, client, Protocol::Tcp).await).await;
            let (Ok(Accepted::Tcp(mut far)), Ok(mut near)) = (accepted, near) else { panic!() };
            both_ways(&mut near, &mut far).await;
            assert!([&near, &far].iter().all(|end| end.socket().tcp().unwrap().nodelay().unwrap()));
            assert_eq!((near.is_tls(), far.is_tls()), (client.is_some(), client.is_some()));
            assert_eq!(near.counters().written(), far.counters().read());

            let (accepted, near) = meet(server, async |a| {
                let mut near = dialled(&a, client, Protocol::Grpc).await?;
                near.write_all(b"PRI * HTTP/2.0\r\n").await?;
                near.flush().await?;
                Ok::<_, io::Error>(near)
            })
            .await;
            let (Ok(Accepted::Grpc(mut far)), Ok(mut near)) = (accepted, near) else { panic!() };
            let mut preface = [0; 16];
            far.read_exact(&mut preface).await.unwrap();
            assert_eq!(&preface, b"PRI * HTTP/2.0\r\n");
            both_ways(&mut near, &mut far).await;
        }
    }

    /// Nothing is sent to a client unasked: had it unread bytes, its close would be a reset.
    #[tokio::test]
    async fn what_a_client_that_only_writes_wrote_last_arrives() {
        let (client, server) = tls_pair();
        let (accepted, near) = meet(Some(&server), async |a| dialled(&a, Some(&client), Protocol::Tcp).await).await;
        let (Ok(Accepted::Tcp(mut far)), Ok(mut near)) = (accepted, near) else { panic!() };
        near.write_all(&[7; 300_000]).await.unwrap();
        near.shutdown().await.unwrap();
        drop(near);
        let mut content = Vec::new();
        far.read_to_end(&mut content).await.unwrap();
        assert_eq!(content, [7; 300_000]);
    }

    #[tokio::test]
    async fn bytes_that_come_one_by_one_are_waited_for() {
        let (accepted, _near) = meet(None, async |address| {
            let mut tcp = TcpStream::connect(address).await.unwrap();
            tcp.set_nodelay(true).unwrap();
            for byte in MAGIC {
                tcp.write_all(&[byte]).await.unwrap();
                tokio::task::yield_now().await;
            }
            tcp
        })
        .await;
        assert!(matches!(accepted, Ok(Accepted::Tcp(_))));
    }

    #[tokio::test]
    async fn strangers_are_told_apart() {
        let error = outcome_of(None, b"GET / HTTP/1.1\r\n\r\n").await.unwrap_err();
        assert!(matches!(error, AcceptError::Stranger(_)) && !error.is_tls());
        assert!(error.to_string().contains(r#"it sent "GET / HT""#), "{error}");
        // Not one byte more is waited for than is needed to know.
        let error = outcome_of(None, b"\xFFx\n").await.unwrap_err();
        assert!(error.to_string().contains(r#"it sent "\xffx\n""#), "{error}");
        let (hung_up, ()) = meet(None, async |address| drop(TcpStream::connect(address).await.unwrap())).await;
        assert!(matches!(hung_up, Err(AcceptError::HungUp)));
    }

    #[tokio::test]
    async fn disagreement_about_tls_is_told() {
        let (client, server) = tls_pair();
        let (accepted, dialled) = meet(None, async |a| dialled(&a, Some(&client), Protocol::Grpc).await).await;
        let error = accepted.unwrap_err();
        assert!(matches!(error, AcceptError::TlsOnPlain) && error.is_tls());
        assert!(error.to_string().contains("the client speaks TLS, this node does not"));
        assert!(dialled.is_err());

        for (bytes, what) in [
            (&b"PRI * HTTP/2.0\r\n"[..], "HTTP/2 in plain text"),
            (&MAGIC, "lon.v1 in plain text"),
            (b"GET / HTTP/1.1\r\n", "\"GET / HT\""),
        ] {
            let error = outcome_of(Some(&server), bytes).await.unwrap_err();
            assert!(error.is_tls() && error.to_string().contains(what), "{error}");
        }
    }

    /// A node that answers a TLS client in plain text: the client says what that means.
    #[tokio::test]
    async fn a_client_recognises_a_node_without_tls() {
        let (client, _) = tls_pair();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let node = async {
            let (mut tcp, _) = listener.accept().await.unwrap();
            tcp.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
            tcp
        };
        let (_tcp, dialled) = tokio::join!(node, dialled(&address, Some(&client), Protocol::Tcp));
        let error = dialled.unwrap_err().to_string();
        assert!(error.contains(&address) && error.contains("does not speak TLS here"), "{error}");
    }

    #[tokio::test]
    async fn a_client_verifies_the_node() {
        let (client, _) = tls_pair();
        let (_, other) = tls_pair();
        let (accepted, dialled) = meet(Some(&other), async |a| dialled(&a, Some(&client), Protocol::Tcp).await).await;
        let error = dialled.unwrap_err().to_string();
        assert!(error.contains("--tls-ca must be the CA"), "{error}");
        assert!(matches!(accepted, Err(AcceptError::Handshake(_))));

        let elsewhere = Throwaway::new(&["elsewhere.example"]).unwrap();
        let (client, server) = (elsewhere.client().unwrap(), elsewhere.server().unwrap());
        let (_, dialled) = meet(Some(&server), async |a| self::dialled(&a, Some(&client), Protocol::Tcp).await).await;
        let error = dialled.unwrap_err().to_string();
        assert!(error.contains("have 127.0.0.1 put into it"), "{error}");
    }

    /// TLS 1.3: a client without certificate believes that it is connected, and learns otherwise when it reads.
    #[tokio::test]
    async fn a_node_verifies_its_clients_when_it_has_a_ca() {
        let certificates = Throwaway::new(&["127.0.0.1"]).unwrap();
        let stranger = Throwaway::new(&["127.0.0.1"]).unwrap();
        let server = ServerTls::from_pem(&certificates.cert, &certificates.key, Some(&certificates.ca)).unwrap();
        let pair = |from: &Throwaway| (from.client_cert.clone(), from.client_key.clone());
        let own = (certificates.cert.clone(), certificates.key.clone());
        for (pair, welcome) in
            [(None, false), (Some(pair(&stranger)), false), (Some(own), false), (Some(pair(&certificates)), true)]
        {
            let pair = pair.as_ref().map(|(cert, key)| (cert.as_str(), key.as_str()));
            let client = ClientTls::from_pem(&certificates.ca, pair).unwrap();
            let (accepted, dialled) =
                meet(Some(&server), async |a| dialled(&a, Some(&client), Protocol::Tcp).await).await;
            if welcome {
                assert!(matches!(accepted, Ok(Accepted::Tcp(_))));
                continue;
            }
            assert!(matches!(accepted, Err(AcceptError::Handshake(_))), "{accepted:?}");
            if let Ok(mut near) = dialled {
                assert!(near.read_u8().await.is_err());
            }
        }
    }

    #[tokio::test]
    async fn a_silent_client_is_given_up() {
        let (_, server) = tls_pair();
        for (tls, greeting) in [(None, &b""[..]), (None, b"PRI "), (Some(&server), b""), (Some(&server), b"\x16\x03")] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let mut near = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            near.write_all(greeting).await.unwrap();
            let far = Socket::Tcp(listener.accept().await.unwrap().0);
            let accepted = accept_within(far, tls, Duration::from_millis(30)).await;
            assert!(matches!(accepted, Err(AcceptError::Silent(_))), "{accepted:?}");
            // The server closes the connection: with a reset when it left something unread.
            assert!(near.read_u8().await.is_err());
        }
    }
}
