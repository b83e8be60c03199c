//! The server: where it is, and one connection for each request.
//!
//! Not a pool: some servers close after every reply although they promise not to, and a request on a connection that
//! is about to close is lost. A new connection costs a round trip, and has no delayed acknowledgements behind it.

use std::io::{self, ErrorKind, Read as _, Write as _};
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
    request: Vec<u8>,
    /// Bytes of the request that are on their way.
    sent: usize,
    /// When anything went or came last.
    moved: Instant,
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
        self.send([head.as_bytes(), body].concat())
    }

    /// Asks for a small document and waits for it, `limit` at most.
    pub(super) fn get(&self, path: &str, limit: Duration) -> Result<(Head, Vec<u8>), Failure> {
        let key = self.key.as_ref().map_or_else(String::new, ApiKey::header);
        let request = format!("GET {path} HTTP/1.1\r\n{}Accept: application/json\r\n{key}\r\n", self.common_headers());
        let mut connection = self.send(request.into_bytes())?;
        let start = Instant::now();
        let (mut http, mut body, mut buffer) = (HttpAnswer::default(), Vec::new(), vec![0; READ_BYTES]);
        let mut is_closed = false;
        while !http.is_over() && !is_closed {
            match connection.receive(&mut buffer)? {
                Heard::Bytes(bytes) => http.feed(bytes, &mut body)?,
                Heard::NothingYet => {}
                Heard::Closed => is_closed = true,
            }
            if start.elapsed() > limit && !http.is_over() {
                return Err(Failure::Late(limit));
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

    /// Sends what the connection takes at once; the rest goes while the answer is awaited.
    fn send(&self, request: Vec<u8>) -> Result<Connection, Failure> {
        let stream = self.connect()?;
        let prepare = |stream: &TcpStream| {
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(POLL.min(self.patience)))?;
            stream.set_write_timeout(Some(POLL.min(self.patience)))
        };
        prepare(&stream).map_err(|error| Failure::Send(error.to_string()))?;
        let mut connection = Connection { stream, patience: self.patience, request, sent: 0, moved: Instant::now() };
        connection.send_more().map_err(|error| Failure::Send(error.to_string()))?;
        Ok(connection)
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
    /// Sends more of the request and waits for bytes, but not for long. A server may answer before it has read all.
    pub(super) fn receive<'b>(&mut self, buffer: &'b mut [u8]) -> Result<Heard<'b>, Failure> {
        let before = self.sent;
        let refused = self.send_more().err();
        if self.is_sending() && self.sent > before {
            return Ok(Heard::NothingYet);
        }
        match (self.stream.read(buffer), refused) {
            (Ok(len @ 1..), _) => {
                self.moved = Instant::now();
                Ok(Heard::Bytes(&buffer[..len]))
            }
            (_, Some(error)) => Err(Failure::Send(error.to_string())),
            (Ok(_), None) => Ok(Heard::Closed),
            (Err(error), None) if is_wait(&error) => match self.moved.elapsed() >= self.patience {
                false => Ok(Heard::NothingYet),
                true if self.is_sending() => Err(Failure::Stuck(self.patience)),
                true => Err(Failure::Silent(self.patience)),
            },
            (Err(error), None) => Err(Failure::Receive(error.to_string())),
        }
    }

    /// Sends what is taken within a moment: whoever waits can also be told to stop.
    fn send_more(&mut self) -> io::Result<()> {
        let until = Instant::now() + POLL;
        while self.is_sending() {
            match self.stream.write(&self.request[self.sent..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(len) => {
                    self.moved = Instant::now();
                    self.sent += len;
                }
                Err(error) if is_wait(&error) => {}
                Err(error) => return Err(error),
            }
            if Instant::now() >= until {
                break;
            }
        }
        Ok(())
    }

    fn is_sending(&self) -> bool {
        self.sent < self.request.len()
    }
}

/// Nothing is wrong, only nothing happened.
fn is_wait(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn server(listener: &TcpListener, patience: Duration) -> Server {
        let target = format!("http://{}/m", listener.local_addr().unwrap()).parse().unwrap();
        Server::find(&target, None, patience).unwrap()
    }

    #[test]
    fn a_prompt_that_the_server_does_not_take_fails_and_is_not_waited_for() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let patience = Duration::from_millis(200);
        // More than the buffers of both ends hold; the connection waits to be accepted for ever.
        let mut connection = server(&listener, patience).post(&vec![b'x'; 64 << 20]).unwrap();
        assert!(connection.is_sending(), "what is not taken at once is kept");
        let mut buffer = [0; 16];
        let failure = loop {
            match connection.receive(&mut buffer) {
                Ok(heard) => assert!(matches!(heard, Heard::NothingYet)),
                Err(failure) => break failure,
            }
        };
        assert_eq!(failure, Failure::Stuck(patience));
    }

    #[test]
    fn a_large_prompt_arrives_whole_while_its_answer_is_awaited() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = server(&listener, Duration::from_secs(20));
        let body = vec![0; 32 << 20];
        let reader = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            std::thread::sleep(Duration::from_millis(150));
            let (mut left, mut buffer) = (32 << 20, vec![0; 1 << 20]);
            while left > 0 {
                let len = stream.read(&mut buffer).unwrap();
                assert!(len > 0, "closed");
                left -= buffer[..len].iter().filter(|byte| **byte == 0).count();
            }
            stream.write_all(b"done").unwrap();
        });
        let mut connection = server.post(&body).unwrap();
        let mut buffer = [0; 16];
        loop {
            match connection.receive(&mut buffer).unwrap() {
                Heard::Bytes(bytes) => break assert_eq!(bytes, b"done"),
                heard => assert!(matches!(heard, Heard::NothingYet)),
            }
        }
        reader.join().unwrap();
    }

    #[test]
    fn a_document_that_drips_is_not_waited_for() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = server(&listener, Duration::from_secs(20));
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n").unwrap();
            while stream.write_all(b" ").is_ok() {
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        let limit = Duration::from_millis(200);
        assert_eq!(server.get("/v1/models", limit).unwrap_err(), Failure::Late(limit));
    }
}
