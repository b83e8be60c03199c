//! A scripted chat server: speaks OpenAI's protocol, as badly as it is told, and TLS where it is given a certificate.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use lon_net::throwaway::Throwaway;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

/// Time that a hanging server sends nothing, unless the client leaves first.
const HANG: Duration = Duration::from_secs(600);

/// Act of a server on a connection. After the last act the server closes the connection.
#[derive(Clone, Debug)]
pub enum Act {
    /// Sends this.
    Send(String),
    /// Sends this, each byte by itself.
    Trickle(String),
    /// Sends nothing until the client leaves.
    Hang,
}

/// Request of a client.
#[derive(Clone, Debug)]
pub struct ChatRequest {
    /// Request line and headers.
    pub head: String,
    /// The body; null when there was none.
    pub body: Value,
}

impl ChatRequest {
    /// The prompt of a chat completion, empty when this is none.
    pub fn prompt(&self) -> &str {
        self.body.pointer("/messages/0/content").and_then(Value::as_str).unwrap_or_default()
    }
}

/// The server. It ends when dropped.
pub struct ChatServer {
    /// Where it listens.
    pub address: String,
    scheme: &'static str,
    state: Arc<State>,
    listener: Option<JoinHandle<()>>,
}

/// Function that returns a server's acts for a request.
type Script = Box<dyn Fn(&ChatRequest) -> Vec<Act> + Send + Sync>;

struct State {
    tls: Option<Arc<ServerConfig>>,
    script: Script,
    requests: Mutex<Vec<ChatRequest>>,
    hangups: AtomicUsize,
    stop: AtomicBool,
}

impl ChatServer {
    /// A server with a model `tiny` that does as the script says for each prompt. The first prompt of a node,
    /// `Hello`, is answered well.
    pub fn start(script: impl Fn(&str) -> Vec<Act> + Send + Sync + 'static) -> ChatServer {
        ChatServer::raw(well_begun(script))
    }

    /// The same inside TLS, with this certificate.
    pub fn start_tls(certificate: &Throwaway, script: impl Fn(&str) -> Vec<Act> + Send + Sync + 'static) -> ChatServer {
        ChatServer::open(Some(server_config(certificate)), Box::new(well_begun(script)))
    }

    /// A server that does as the script says for each request.
    pub fn raw(script: impl Fn(&ChatRequest) -> Vec<Act> + Send + Sync + 'static) -> ChatServer {
        ChatServer::open(None, Box::new(script))
    }

    fn open(tls: Option<Arc<ServerConfig>>, script: Script) -> ChatServer {
        let scheme = if tls.is_some() { "https" } else { "http" };
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address").to_string();
        let (requests, hangups) = (Mutex::default(), AtomicUsize::new(0));
        let state = Arc::new(State { tls, script, requests, hangups, stop: AtomicBool::new(false) });
        let shared = Arc::clone(&state);
        let listener = std::thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                if shared.stop.load(SeqCst) {
                    return;
                }
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || accept(&shared, stream));
            }
        });
        ChatServer { address, scheme, state, listener: Some(listener) }
    }

    /// As `--backend` has it, with this model.
    pub fn backend(&self, model: &str) -> String {
        format!("openai:{}://{}/{model}", self.scheme, self.address)
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<ChatRequest> {
        self.state.requests.lock().expect("no test panicked here").clone()
    }

    /// Clients that left while the server hung.
    pub fn hangups(&self) -> usize {
        self.state.hangups.load(SeqCst)
    }
}

impl Drop for ChatServer {
    fn drop(&mut self) {
        self.state.stop.store(true, SeqCst);
        // Wakes it up.
        let _ = TcpStream::connect(&self.address);
        let _ = self.listener.take().map(JoinHandle::join);
    }
}

/// A script in which the list of models and a node's first prompt are answered well.
fn well_begun(script: impl Fn(&str) -> Vec<Act>) -> impl Fn(&ChatRequest) -> Vec<Act> {
    move |request| match (request.head.starts_with("GET /v1/models "), request.prompt()) {
        (true, _) => vec![Act::Send(models(&["tiny"]))],
        (false, "Hello") => vec![Act::Send(stream(&[&text("Hi"), FINISH, &usage(1), DONE]))],
        (false, prompt) => script(prompt),
    }
}

fn server_config(certificate: &Throwaway) -> Arc<ServerConfig> {
    let chain = CertificateDer::from_pem_slice(certificate.cert.as_bytes()).expect("a certificate");
    let key = PrivateKeyDer::from_pem_slice(certificate.key.as_bytes()).expect("a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.expect("ring has what TLS 1.3 needs").with_no_client_auth();
    Arc::new(builder.with_single_cert(vec![chain], key).expect("a pair"))
}

fn accept(state: &State, mut stream: TcpStream) {
    let _ = stream.set_read_timeout(Some(HANG));
    let _ = stream.set_nodelay(true);
    match &state.tls {
        None => serve(state, &mut stream),
        Some(config) => {
            let connection = ServerConnection::new(Arc::clone(config)).expect("a good configuration");
            serve(state, &mut StreamOwned::new(connection, stream));
        }
    }
}

/// One request and its answer; a client that leaves ends it.
fn serve(state: &State, stream: &mut (impl Read + Write)) {
    let Some(request) = read(stream) else { return };
    state.requests.lock().expect("no test panicked here").push(request.clone());
    for act in (state.script)(&request) {
        let done = match act {
            Act::Send(text) => stream.write_all(text.as_bytes()),
            Act::Trickle(text) => text.bytes().try_for_each(|byte| stream.write_all(&[byte])),
            Act::Hang => {
                let is_closed = matches!(stream.read(&mut [0]), Ok(0));
                state.hangups.fetch_add(usize::from(is_closed), SeqCst);
                return;
            }
        };
        if done.is_err() {
            return;
        }
    }
}

fn read(stream: &mut impl Read) -> Option<ChatRequest> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some(ChatRequest { head, body: serde_json::from_slice(&body).unwrap_or_default() })
}

/// The end of a stream.
pub const DONE: &str = "[DONE]";
/// A chunk with nothing but the role.
pub const ROLE: &str = r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":null}}]}"#;
/// A chunk with nothing but the reason for the end.
pub const FINISH: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}"#;

/// A chunk with text.
pub fn text(text: &str) -> String {
    json!({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": null}]}).to_string()
}

/// A chunk of its own with the count of tokens.
pub fn usage(completion_tokens: u64) -> String {
    json!({"choices": [], "usage": {"completion_tokens": completion_tokens, "prompt_tokens": 1}}).to_string()
}

/// Events as the body of an answer that promises to keep the connection and does not.
pub fn stream(events: &[&str]) -> String {
    cut_stream(events) + "0\r\n\r\n"
}

/// The same without the end of the body.
pub fn cut_stream(events: &[&str]) -> String {
    let chunk = |event: &&str| format!("{:x}\r\ndata: {event}\n\n\r\n", event.len() + 8);
    let head = "HTTP/1.1 200 OK\r\nServer: scripted\r\nContent-Type: text/event-stream\r\nConnection: keep-alive\r\n\
                Keep-Alive: timeout=5\r\nTransfer-Encoding: chunked\r\n\r\n";
    head.to_owned() + &events.iter().map(chunk).collect::<String>()
}

/// An answer as a whole.
pub fn whole(status: &str, content_type: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\r\n{body}")
}

/// A list of models.
pub fn models(ids: &[&str]) -> String {
    let data: Vec<Value> = ids.iter().map(|id| json!({"id": id, "object": "model"})).collect();
    whole("200 OK", "application/json", &json!({"object": "list", "data": data}).to_string())
}
