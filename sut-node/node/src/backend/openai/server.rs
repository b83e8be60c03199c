//! The server: where it is, how it is verified, and one connection for each request.
//!
//! Not a pool: some servers close after every reply although they promise not to, and a request on a connection that
//! is about to close is lost. A new connection costs a round trip, and has no delayed acknowledgements behind it.

use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use lon_net::lookup::{Lookup, stays_on_host};

use super::connection::{Connection, Heard, POLL, READ_BYTES, Stream};
use super::error::{OpenAiError, PromptFailure};
use super::http::{Head, HttpAnswer};
use super::key::ApiKey;
use super::options::OpenAiOptions;
use super::target::Target;
use super::tls::Tls;

/// Time limit for making a connection, and again for its TLS handshake.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of a body that is read as a whole at most.
const MAX_BODY_BYTES: usize = 8 << 20;

/// A server that requests can be sent to.
#[derive(Debug)]
pub(super) struct Server {
    /// The host's addresses, looked up once, so that no prompt waits for a name.
    addresses: Vec<SocketAddr>,
    /// Host and port as the URL has them.
    pub(super) authority: String,
    /// The URL without a path, for people: `http://HOST:PORT`.
    pub(super) origin: String,
    tls: Option<Tls>,
    key: Option<ApiKey>,
    /// Time that the server may be silent while a caller waits for it.
    patience: Duration,
}

impl Server {
    /// Looks the host up, and reads the CA that an `https://` server is verified with.
    ///
    /// # Errors
    /// The host has no address, the CA is missing or cannot be used, or plain text would go to another host.
    pub(super) fn find(target: &Target, key: Option<ApiKey>, options: &OpenAiOptions) -> Result<Server, OpenAiError> {
        let origin = target.origin();
        let tls = match (target.is_tls, options.server_ca.as_deref()) {
            (true, Some(ca)) => Some(Tls::new(&target.host, ca)?),
            (true, None) => return Err(OpenAiError::NoCa(origin)),
            (false, Some(_)) => return Err(OpenAiError::CaWithoutTls(origin)),
            (false, None) => None,
        };
        let none = |cause| OpenAiError::Resolve { origin: origin.clone(), cause };
        let host = if target.host.contains(':') { format!("[{}]", target.host) } else { target.host.clone() };
        let addresses = Lookup::anywhere().find_now(&format!("{host}:{}", target.port)).map_err(none)?;
        let is_local = addresses.iter().all(|address| stays_on_host(address.ip()));
        if tls.is_none() && !is_local {
            if !options.allows_plain_text {
                return Err(OpenAiError::PlainText(origin));
            }
            if key.is_some() {
                tracing::warn!(server = target.authority, "--insecure: the API key crosses the network in plain text");
            }
        }
        let (authority, patience) = (target.authority.clone(), options.server_timeout);
        Ok(Server { addresses, authority, origin, tls, key, patience })
    }

    /// Sends a chat completion's request.
    pub(super) fn post(&self, body: &[u8]) -> Result<Connection, PromptFailure> {
        let headers = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
        let head = self.head("POST", "/v1/chat/completions", "text/event-stream", &headers);
        self.send([head.as_bytes(), body].concat())
    }

    /// Asks for a small document and waits for it, `limit` at most.
    pub(super) fn get(&self, path: &str, limit: Duration) -> Result<(Head, Vec<u8>), PromptFailure> {
        let mut connection = self.send(self.head("GET", path, "application/json", "").into_bytes())?;
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
                return Err(PromptFailure::Late(limit));
            }
            if body.len() > MAX_BODY_BYTES {
                return Err(PromptFailure::TooLong(MAX_BODY_BYTES));
            }
        }
        match http.head() {
            Some(head) if http.may_close() => Ok((head.clone(), body)),
            Some(_) => Err(PromptFailure::Receive("closed in the middle of an answer".to_owned())),
            None => Err(PromptFailure::NoAnswer),
        }
    }

    /// The head of a request, its empty line included. `headers` are those that not all requests have.
    fn head(&self, method: &str, path: &str, accept: &str, headers: &str) -> String {
        let software = concat!("sut-node/", env!("CARGO_PKG_VERSION"));
        let key = self.key.as_ref().map_or_else(String::new, ApiKey::header);
        format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nUser-Agent: {software}\r\nConnection: close\r\n\
             Accept: {accept}\r\n{headers}{key}\r\n",
            self.authority,
        )
    }

    /// Sends what the connection takes at once; the rest goes while the answer is awaited.
    fn send(&self, request: Vec<u8>) -> Result<Connection, PromptFailure> {
        Connection::open(self.connect()?, request, self.patience)
    }

    /// Connects to the first of the host's addresses that answers.
    fn connect(&self) -> Result<Stream, PromptFailure> {
        let timeout = CONNECT_TIMEOUT.min(self.patience);
        let mut reason = String::new();
        for address in &self.addresses {
            match TcpStream::connect_timeout(address, timeout) {
                Ok(stream) => return self.prepare(stream, timeout),
                Err(error) => reason = format!("{address}: {error}"),
            }
        }
        Err(PromptFailure::Connect(reason))
    }

    fn prepare(&self, stream: TcpStream, timeout: Duration) -> Result<Stream, PromptFailure> {
        let set = |stream: &TcpStream| {
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(POLL.min(self.patience)))?;
            stream.set_write_timeout(Some(POLL.min(self.patience)))
        };
        set(&stream).map_err(|error| PromptFailure::Send(error.to_string()))?;
        match &self.tls {
            None => Ok(Stream::Plain(stream)),
            Some(tls) => Ok(Stream::Tls(Box::new(tls.handshake(stream, timeout)?))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_document_that_drips_is_not_waited_for() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let target = format!("http://{}/m", listener.local_addr().unwrap()).parse().unwrap();
        let server = Server::find(&target, None, &OpenAiOptions::default()).unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n").unwrap();
            while stream.write_all(b" ").is_ok() {
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        let limit = Duration::from_millis(200);
        assert_eq!(server.get("/v1/models", limit).unwrap_err(), PromptFailure::Late(limit));
    }

    #[test]
    fn plain_text_to_another_host_is_refused_unless_asked_for() {
        let target = "http://192.0.2.7:8080/m".parse().unwrap();
        let error = Server::find(&target, None, &OpenAiOptions::default()).unwrap_err().to_string();
        for part in ["http://192.0.2.7:8080", "https://", "--insecure"] {
            assert!(error.contains(part), "no '{part}' in: {error}");
        }
        Server::find(&target, None, &OpenAiOptions { allows_plain_text: true, ..OpenAiOptions::default() }).unwrap();
    }

    #[test]
    fn https_needs_a_ca_and_http_has_no_use_for_one() {
        let find = |url: &str, ca: Option<&str>| {
            let options = OpenAiOptions { server_ca: ca.map(Into::into), ..OpenAiOptions::default() };
            Server::find(&url.parse().unwrap(), None, &options).unwrap_err().to_string()
        };
        let error = find("https://127.0.0.1/m", None);
        assert!(error.contains("https://127.0.0.1") && error.contains("--server-ca"), "{error}");
        let error = find("http://127.0.0.1/m", Some("ca.pem"));
        assert!(error.contains("http://127.0.0.1") && error.contains("--server-ca"), "{error}");
    }
}
