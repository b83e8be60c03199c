//! The server: where it is, and one connection for each request.
//!
//! Not a pool: some servers close after every reply although they promise not to, and a request on a connection that
//! is about to close is lost. A new connection costs a round trip, and has no delayed acknowledgements behind it.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::time::{Duration, Instant};

use super::http::{Head, HttpAnswer};
use super::key::ApiKey;
use super::target::Target;
use super::{Failure, OpenAiError};

/// How long a connection may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long one read waits, so that whoever waits can also be told to stop.
const POLL: Duration = Duration::from_millis(50);
/// Bytes of a body that is read as a whole at most.
const MAX_BODY_BYTES: usize = 8 << 20;
/// Bytes of one read at most.
pub(super) const READ_BYTES: usize = 16 << 10;

/// See the module.
#[derive(Debug)]
pub(super) struct Server {
    /// Looked up once, so that no prompt waits for a name.
    addresses: Vec<SocketAddr>,
    pub(super) authority: String,
    key: Option<ApiKey>,
    /// How long it may be silent while somebody waits for it.
    patience: Duration,
}

/// A request that was sent, and its answer under way. Dropping it closes the connection, and the server sees that
/// nobody waits any more.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    patience: Duration,
    /// When anything came last.
    heard: Instant,
}

/// What one read brought.
#[derive(Debug)]
pub(super) enum Heard<'a> {
    Bytes(&'a [u8]),
    NothingYet,
    Closed,
}

impl Server {
    /// Looks the host up.
    pub(super) fn find(target: &Target, key: Option<ApiKey>, patience: Duration) -> Result<Server, OpenAiError> {
        let none = |reason: String| OpenAiError::Resolve { authority: target.authority.clone(), reason };
        let found = (target.host.as_str(), target.port).to_socket_addrs();
        let addresses: Vec<SocketAddr> = found.map_err(|error| none(error.to_string()))?.collect();
        if addresses.is_empty() {
            return Err(none("none was found".to_owned()));
        }
        if key.is_some() && !addresses.iter().all(|address| address.ip().to_canonical().is_loopback()) {
            tracing::warn!("the API key crosses the network to {} in plain text", target.authority);
        }
        Ok(Server { addresses, authority: target.authority.clone(), key, patience })
    }

    /// Sends a chat completion's request.
    pub(super) fn post(&self, body: &[u8]) -> Result<Connection, Failure> {
        let key = self.key.as_ref().map_or_else(String::new, ApiKey::header);
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\n{}Accept: text/event-stream\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n{key}\r\n",
            self.common_headers(),
            body.len(),
        );
        self.send(&[head.as_bytes(), body].concat())
    }

    /// Asks for a small document and waits for it.
    pub(super) fn get(&self, path: &str) -> Result<(Head, Vec<u8>), Failure> {
        let key = self.key.as_ref().map_or_else(String::new, ApiKey::header);
        let request = format!("GET {path} HTTP/1.1\r\n{}Accept: application/json\r\n{key}\r\n", self.common_headers());
        let mut connection = self.send(request.as_bytes())?;
        let (mut http, mut body, mut buffer) = (HttpAnswer::default(), Vec::new(), vec![0; READ_BYTES]);
        let mut is_closed = false;
        while !http.is_over() && !is_closed {
            match connection.receive(&mut buffer)? {
                Heard::Bytes(bytes) => http.feed(bytes, &mut body)?,
                Heard::NothingYet => {}
                Heard::Closed => is_closed = true,
            }
            if body.len() > MAX_BODY_BYTES {
                return Err(Failure::TooLong(MAX_BODY_BYTES));
            }
        }
        match http.head() {
            Some(head) if http.may_close() => Ok((head.clone(), body)),
            Some(_) => Err(Failure::Receive("closed in the middle of an answer".to_owned())),
            None => Err(Failure::NoAnswer),
        }
    }

    fn common_headers(&self) -> String {
        let software = concat!("sut-node/", env!("CARGO_PKG_VERSION"));
        format!("Host: {}\r\nUser-Agent: {software}\r\nConnection: close\r\n", self.authority)
    }

    fn send(&self, request: &[u8]) -> Result<Connection, Failure> {
        let mut stream = self.connect()?;
        let send = |stream: &mut TcpStream| {
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(POLL.min(self.patience)))?;
            stream.set_write_timeout(Some(self.patience))?;
            stream.write_all(request)
        };
        send(&mut stream).map_err(|error| Failure::Send(error.to_string()))?;
        Ok(Connection { stream, patience: self.patience, heard: Instant::now() })
    }

    /// To the first of its addresses that answers.
    fn connect(&self) -> Result<TcpStream, Failure> {
        let timeout = CONNECT_TIMEOUT.min(self.patience);
        let mut reason = String::new();
        for address in &self.addresses {
            match TcpStream::connect_timeout(address, timeout) {
                Ok(stream) => return Ok(stream),
                Err(error) => reason = format!("{address}: {error}"),
            }
        }
        Err(Failure::Connect(reason))
    }
}

impl Connection {
    /// Waits for bytes, but not for long.
    pub(super) fn receive<'b>(&mut self, buffer: &'b mut [u8]) -> Result<Heard<'b>, Failure> {
        match self.stream.read(buffer) {
            Ok(0) => Ok(Heard::Closed),
            Ok(len) => {
                self.heard = Instant::now();
                Ok(Heard::Bytes(&buffer[..len]))
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                let is_silent = self.heard.elapsed() >= self.patience;
                if is_silent { Err(Failure::Silent(self.patience)) } else { Ok(Heard::NothingYet) }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(Heard::NothingYet),
            Err(error) => Err(Failure::Receive(error.to_string())),
        }
    }
}
