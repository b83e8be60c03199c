//! Why a server cannot be used, and why a prompt has no answer.

use std::path::PathBuf;
use std::time::Duration;

use lon_net::lookup::LookupError;

use super::http::HttpError;
use super::sse::EventTooLong;
use super::target::TargetError;

/// Why this backend could not be brought up. A URL without a path is `http://HOST:PORT` or `https://HOST:PORT`.
#[derive(Debug, thiserror::Error)]
pub enum OpenAiError {
    /// The text behind `openai:` names no server and model.
    #[error("openai:: {0}")]
    Target(#[from] TargetError),
    /// The file of `--api-key-file` cannot be read, or holds no key.
    #[error("the API key cannot be read from {path} (--api-key-file): {reason}")]
    KeyFile {
        /// The file that was named.
        path: PathBuf,
        /// Reason why the file cannot be used.
        reason: String,
    },
    /// The variable `OPENAI_API_KEY` holds no key.
    #[error("OPENAI_API_KEY {0}")]
    KeyVariable(&'static str),
    /// The file of `--server-ca` cannot be read, or holds no CA certificate.
    #[error("no CA can be read from {path} (--server-ca): {reason}")]
    CaFile {
        /// The file that was named.
        path: PathBuf,
        /// Reason why the file cannot be used.
        reason: String,
    },
    /// An `https://` server, and no CA to verify it with.
    #[error(
        "{0} needs --server-ca: the CA certificate (PEM) that the server's certificate is signed with. The public CAs \
         are in a file of the system, on many /etc/ssl/certs/ca-certificates.crt"
    )]
    NoCa(String),
    /// A CA, and an `http://` server that it cannot verify.
    #[error("{0} is plain text, and --server-ca is for https://: leave it out, or give the URL with https://")]
    CaWithoutTls(String),
    /// Prompts and answers would leave this host in plain text.
    #[error(
        "{0} is another host, and prompts, answers and the API key would travel in plain text: give the URL with \
         https:// and --server-ca, or --insecure on a network that you trust"
    )]
    PlainText(String),
    /// No certificate can be for this host.
    #[error("'{0}' is neither a host name nor an address, so no certificate can be for it")]
    HostName(String),
    /// The host's name has no address.
    #[error("{origin} cannot be found: {cause}")]
    Resolve {
        /// The server's URL without a path.
        origin: String,
        /// Error of the lookup.
        cause: LookupError,
    },
    /// The server gives no answer, or none that is understood.
    #[error("{origin} is no server that can be asked: {cause}; start it before the node, or correct the URL")]
    Unreachable {
        /// The server's URL without a path.
        origin: String,
        /// Why the list of models did not come.
        cause: PromptFailure,
    },
    /// The server wants an API key, or another one.
    #[error(
        "{origin} refuses the request (HTTP {status}: {message}): give its API key in a file (--api-key-file) or in \
         OPENAI_API_KEY"
    )]
    Refused {
        /// The server's URL without a path.
        origin: String,
        /// The HTTP status.
        status: u16,
        /// The server's words, shortened.
        message: String,
    },
    /// The server is up, but not ready.
    #[error("{origin} is not ready: {cause}; start the node when the server's model is loaded")]
    NotReady {
        /// The server's URL without a path.
        origin: String,
        /// Answer of the server.
        cause: PromptFailure,
    },
    /// The server answers, but not with a list of models.
    #[error("{origin}/v1/models is not a list of models: {text}; is this an OpenAI-style server?")]
    NotAList {
        /// The server's URL without a path.
        origin: String,
        /// Beginning of the server's answer.
        text: String,
    },
    /// The server has other models.
    #[error("{origin} has no model '{model}'; it has {there}")]
    NoModel {
        /// The server's URL without a path.
        origin: String,
        /// The model that was asked for.
        model: String,
        /// The models that the server has, some of them when there are many.
        there: String,
    },
    /// The first small prompt has no answer.
    #[error("{origin} does not answer a first prompt: {cause}")]
    WarmUp {
        /// The server's URL without a path.
        origin: String,
        /// Why there is no answer.
        cause: PromptFailure,
    },
}

/// Why a prompt has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PromptFailure {
    /// No connection could be made.
    #[error("the server cannot be reached: {0}")]
    Connect(String),
    /// There is a connection, but no TLS on it: the server does not speak it, or its certificate was refused.
    #[error("the server cannot be reached by TLS: {0}")]
    Tls(String),
    /// The request was not taken.
    #[error("the request could not be sent: {0}")]
    Send(String),
    /// The server does not read the request.
    #[error("the request could not be sent: the server took nothing for {0:?} (--server-timeout)")]
    Stuck(Duration),
    /// The server sends something now and then, but no answer in time.
    #[error("the server did not answer within {0:?}")]
    Late(Duration),
    /// The connection broke while the answer was awaited.
    #[error("the connection to the server broke: {0}")]
    Receive(String),
    /// The server sends nothing at all.
    #[error("the server sent nothing for {0:?} (--server-timeout)")]
    Silent(Duration),
    /// The connection was closed before the head of an answer was there.
    #[error("the server closed the connection without an answer")]
    NoAnswer,
    /// The server sends bytes that are not HTTP.
    #[error("the server sent what is {0}")]
    Http(#[from] HttpError),
    /// The server answers with an HTTP status that is not 200.
    #[error("HTTP {status}: {message}")]
    Status {
        /// The HTTP status.
        status: u16,
        /// The server's words, shortened.
        message: String,
    },
    /// The server does not stream.
    #[error("the server answers with {content_type} and not with a stream of events: {message}")]
    NotAStream {
        /// The type of what it sent.
        content_type: String,
        /// The server's words, shortened.
        message: String,
    },
    /// An event is not JSON, or not a chunk of a chat completion.
    #[error("the server sent '{text}', which is not a chunk of a chat completion: {reason}")]
    NotAChunk {
        /// Beginning of the event.
        text: String,
        /// Error of the JSON reader.
        reason: String,
    },
    /// An event does not end.
    #[error("the server sent {0}")]
    EventTooLong(#[from] EventTooLong),
    /// The answer has more bytes than are kept.
    #[error("the server's answer has more than {0} bytes")]
    TooLong(usize),
    /// The server gave up in the middle, and says why.
    #[error("the server says: {0}")]
    ServerError(String),
    /// The server ended the answer for a reason that is no end of an answer.
    #[error("the server ended its answer with finish_reason '{0}', not with stop or length")]
    Stopped(String),
    /// The server counts more tokens than were asked for.
    #[error("the server counts {tokens} tokens, {limit} were asked for at most")]
    TooManyTokens {
        /// The server's count (`usage.completion_tokens`).
        tokens: u64,
        /// Most tokens that the request asks for (`max_tokens`).
        limit: u32,
    },
    /// The server counts fewer tokens than were asked for.
    #[error(
        "the server counts {tokens} tokens, {limit} were asked for at least: it may not know min_tokens, and \
         --min-tokens 0 asks for none"
    )]
    TooFewTokens {
        /// The server's count (`usage.completion_tokens`).
        tokens: u64,
        /// Least tokens that the request asks for (`min_tokens`).
        limit: u32,
    },
    /// The server counts no tokens in an answer that has text.
    #[error("the server counts 0 tokens in an answer with text")]
    NoTokens,
    /// The stream ended in the middle.
    #[error("the server closed mid-stream, after {chunks} chunks with text and without a finish_reason")]
    Cut {
        /// Chunks with text that came.
        chunks: u64,
    },
    /// The stream ended in good order, and the server does not say that the answer did.
    #[error(
        "the server ended its stream after {chunks} chunks with text, without a finish_reason and without a count of \
         tokens that agrees"
    )]
    Unfinished {
        /// Chunks with text that came.
        chunks: u64,
    },
    /// A chunk has text, and none of it is the answer's.
    #[error("the server sent '{text}' as {part}, which is not known as a part of an answer")]
    Unread {
        /// The part of the chunk.
        part: String,
        /// Text of that part, shortened.
        text: String,
    },
    /// The answer has no text, and an answer that says nothing must not count as a fast one.
    #[error("the server answered OK, but without any text")]
    Empty,
}
