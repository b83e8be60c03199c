//! Why a server cannot be used, and why a prompt has no answer.

use std::path::PathBuf;
use std::time::Duration;

use super::http::HttpError;
use super::sse::EventTooLong;
use super::target::TargetError;

/// Why this backend could not be brought up.
#[derive(Debug, thiserror::Error)]
pub enum OpenAiError {
    /// What follows `openai:`.
    #[error("openai:: {0}")]
    Target(#[from] TargetError),
    /// The file with the API key.
    #[error("the API key cannot be read from {path} (--api-key-file): {reason}")]
    KeyFile {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The variable with the API key.
    #[error("OPENAI_API_KEY {0}")]
    KeyVariable(&'static str),
    /// The host's name has no address.
    #[error("http://{authority} has no address: {reason}")]
    Resolve {
        /// Host and port.
        authority: String,
        /// Why not.
        reason: String,
    },
    /// No answer, or none that is understood.
    #[error("http://{authority} is no server that can be asked: {cause}; start it before the node, or correct the URL")]
    Unreachable {
        /// Host and port.
        authority: String,
        /// Why.
        cause: Failure,
    },
    /// It wants a key, or another.
    #[error(
        "http://{authority} refuses the request (HTTP {status}: {message}): give its API key in a file \
         (--api-key-file) or in OPENAI_API_KEY"
    )]
    Refused {
        /// Host and port.
        authority: String,
        /// The status.
        status: u16,
        /// In the server's words.
        message: String,
    },
    /// It is up, but not ready.
    #[error("http://{authority} is not ready: {cause}; start the node when the server's model is loaded")]
    NotReady {
        /// Host and port.
        authority: String,
        /// What it says.
        cause: Failure,
    },
    /// It answers, but is something else.
    #[error("http://{authority}/v1/models is not a list of models: {text}; is this an OpenAI-style server?")]
    NotAList {
        /// Host and port.
        authority: String,
        /// How the answer begins.
        text: String,
    },
    /// It has other models.
    #[error("http://{authority} has no model '{model}'; it has {there}")]
    NoModel {
        /// Host and port.
        authority: String,
        /// The model.
        model: String,
        /// Which there are.
        there: String,
    },
    /// A first small request went wrong.
    #[error("http://{authority} does not answer a first prompt: {cause}")]
    WarmUp {
        /// Host and port.
        authority: String,
        /// Why.
        cause: Failure,
    },
}

/// Why a prompt has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// No connection.
    #[error("the server cannot be reached: {0}")]
    Connect(String),
    /// The request was not taken.
    #[error("the request could not be sent: {0}")]
    Send(String),
    /// The server does not read.
    #[error("the request could not be sent: the server took nothing for {0:?} (--server-timeout)")]
    Stuck(Duration),
    /// The server sends something now and then, but no answer.
    #[error("the server did not answer within {0:?}")]
    Late(Duration),
    /// The connection broke.
    #[error("the connection to the server broke: {0}")]
    Receive(String),
    /// The server hangs.
    #[error("the server sent nothing for {0:?} (--server-timeout)")]
    Silent(Duration),
    /// The connection was closed before the head of an answer was there.
    #[error("the server closed the connection without an answer")]
    NoAnswer,
    /// What came is not HTTP.
    #[error("the server sent what is {0}")]
    Http(#[from] HttpError),
    /// The server says no.
    #[error("HTTP {status}: {message}")]
    Status {
        /// The status.
        status: u16,
        /// The server's words, shortened.
        message: String,
    },
    /// The server does not stream.
    #[error("the server answers with {content_type} and not with a stream of events: {message}")]
    NotAStream {
        /// What it sent.
        content_type: String,
        /// How that begins.
        message: String,
    },
    /// An event that is not JSON, or not a chunk of a chat completion.
    #[error("the server sent '{text}', which is not a chunk of a chat completion: {reason}")]
    NotAChunk {
        /// How it begins.
        text: String,
        /// What is wrong.
        reason: String,
    },
    /// An event without end.
    #[error("the server sent {0}")]
    EventTooLong(#[from] EventTooLong),
    /// An answer without end.
    #[error("the server's answer has more than {0} bytes")]
    TooLong(usize),
    /// The server gave up in the middle, and says so.
    #[error("the server says: {0}")]
    Told(String),
    /// The server ended the answer for a reason of its own.
    #[error("the server ended its answer with finish_reason '{0}', not with stop or length")]
    Stopped(String),
    /// A count that is no count of this answer.
    #[error("the server counts {tokens} tokens, {asked} were asked for at most")]
    TooManyTokens {
        /// What it says (`usage.completion_tokens`).
        tokens: u64,
        /// What was asked for (`max_tokens`).
        asked: u32,
    },
    /// The same, where there was text.
    #[error("the server counts 0 tokens in an answer with text")]
    NoTokens,
    /// The stream ended in the middle.
    #[error("the server closed mid-stream, after {chunks} chunks with text and without a finish_reason or [DONE]")]
    Cut {
        /// Chunks with text that came.
        chunks: u64,
    },
    /// An answer that says nothing, which is nothing to be fast with.
    #[error("the server answered OK, but without any text")]
    Empty,
}
