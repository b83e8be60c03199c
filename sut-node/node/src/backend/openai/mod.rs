//! Asks a server that speaks OpenAI's protocol (llama.cpp, vLLM and the like): each sample is a prompt, sent as a
//! streaming `POST /v1/chat/completions`, and the answer is its text.
//!
//! - `options`: what the flags say of the server
//! - `target`: the URL of `--backend`, taken apart
//! - `key`: the API key, if there is one
//! - `prompt`: a sample as a prompt, and a prompt as the body of a request
//! - `tls`: how the server of an `https://` URL is verified
//! - `connection`: sends one request, receives its answer, and knows how long the server has been silent
//! - `http`: head and body of an answer in the bytes of a connection; without a socket
//! - `sse`: the events in that body; without a socket
//! - `answer`: text, tokens and the end of an answer in these events; without a socket
//! - `reply`: `http`, `sse` and `answer` in a row; without a socket
//! - `server`: the server's address, and a new connection for each request
//! - `call`: a prompt under way; the worker's half of the backend (its `Streamer`)
//! - `start`: the list of models and a first prompt, before any sample
//! - `error`: why a server cannot be used, and why a prompt has no answer
//!
//! A sample is `u8[LEN]`, the prompt in UTF-8, and optionally a scalar `i32[]`, the most tokens of its answer. The
//! first token is the text of the first chunk that has any (a chunk with a role alone is none), and it is told as soon
//! as the read returns that brought it; the answer is the whole text. Tokens are counted as the server counts them
//! (`usage.completion_tokens`). Where it does not, chunks with text are counted, and the name of the engine and the log
//! say so. An answer without text is a failure, even when it ends well; so is one whose end the server does not tell,
//! and one of fewer tokens, by the server's own count, than were asked for (`min_tokens`).
//!
//! A worker holds one prompt and waits; `--workers` is how many prompts the server has at one time. A server's
//! reply is awaited as long as it sends anything; after `--server-timeout` of silence the sample fails.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use self::answer::shorten;
use self::call::{Caller, Shared};
use self::key::ApiKey;
use self::prompt::Lengths;
use self::reply::Reply;
use self::server::Server;
use self::start::WarmUp;
use self::target::Target;
use super::{Backend, BackendError, BackendInfo, BackendOptions, Half};
use crate::node_setting::Setting;
use crate::tensor::DType;

mod answer;
mod call;
mod connection;
pub(super) mod error;
mod http;
mod key;
pub(super) mod options;
pub(super) mod prompt;
mod reply;
mod server;
mod sse;
mod start;
mod target;
mod tls;

pub use error::{OpenAiError, PromptFailure};
pub use http::HttpError;
pub use options::OpenAiOptions;
pub use prompt::PromptError;
pub use sse::EventTooLong;
pub use target::TargetError;

/// Time limit for the list of models and the first prompt together, unless --server-timeout is longer.
const START_LIMIT: Duration = Duration::from_secs(60);
/// Bytes of a prompt where the user does not say how many.
const USUAL_PROMPT_BYTES: u32 = 64;

/// A server and one of its models, ready to be asked.
#[derive(Debug)]
pub struct OpenAi {
    info: BackendInfo,
    shared: Arc<Shared>,
}

impl OpenAi {
    /// Opens the server and model that `text` names (`http://HOST:PORT/MODEL`). Both are tried at once: the list of
    /// models, then a first small prompt, which may take a minute.
    ///
    /// # Errors
    /// The server cannot be used; see [`OpenAiError`].
    pub fn open(text: &str, options: &BackendOptions) -> Result<OpenAi, OpenAiError> {
        OpenAi::open_within(text, options, START_LIMIT.max(options.openai.server_timeout))
    }

    fn open_within(text: &str, options: &BackendOptions, limit: Duration) -> Result<OpenAi, OpenAiError> {
        let begun_at = Instant::now();
        let target: Target = text.parse()?;
        let variable = std::env::var_os("OPENAI_API_KEY").map(|text| text.to_string_lossy().into_owned());
        let key = ApiKey::find(options.openai.api_key_file.as_deref(), options.openai.allows_open_key, variable)?;
        let server = Server::find(&target, key, &options.openai)?;
        start::check_model(&server, &target.model, limit)?;
        let [least, most] = [options.tokens.min_tokens, options.tokens.max_tokens.get()]
            .map(|tokens| u32::try_from(tokens).unwrap_or(u32::MAX));
        let tokens = Lengths { least, most };
        let (has_warned, has_named) = (AtomicBool::new(false), AtomicBool::new(false));
        let shared = Arc::new(Shared { server, model: target.model.clone(), tokens, has_warned, has_named });
        let warm_up = start::warm_up(&shared, begun_at, limit)?;
        let info = BackendInfo::without_model(engine(&shared.server.origin, &warm_up), "text", DType::U8, &[None]);
        let settings = vec![
            Setting::of_answers("max_tokens", most),
            Setting::of_answers("min_tokens", least),
            Setting::of_speed("server_timeout", format!("{:?}", options.openai.server_timeout)),
        ];
        Ok(OpenAi { info: BackendInfo { model: target.model, inputs: prompt::inputs(), settings, ..info }, shared })
    }
}

impl Backend for OpenAi {
    fn info(&self) -> &BackendInfo {
        &self.info
    }

    fn cores_per_inference(&self) -> usize {
        0
    }

    fn slots(&self) -> Option<NonZeroUsize> {
        Some(NonZeroUsize::MIN)
    }

    fn usual_size(&self) -> Option<u32> {
        Some(USUAL_PROMPT_BYTES)
    }

    fn worker(&self) -> Result<Half, BackendError> {
        Ok(Half::Stream(Box::new(Caller::new(Arc::clone(&self.shared)))))
    }
}

/// The name of this engine in results: the server's URL, its software, and who counts its tokens.
fn engine(origin: &str, warm_up: &WarmUp) -> String {
    let server = shorten(warm_up.server.as_bytes());
    let server = if server.is_empty() { server } else { format!(", {server}") };
    let counting = if warm_up.chunks_counted { ", tokens counted as chunks" } else { "" };
    format!("openai ({origin}{server}{counting})")
}

/// Reads the answer of a server, in pieces as they come, until it ends. For the fuzz targets.
///
/// # Panics
/// It does not end although the connection does.
pub(crate) fn fuzz_reply<'b>(pieces: impl Iterator<Item = &'b [u8]>) {
    let mut reply = Reply::new(Lengths::up_to(16));
    for piece in pieces {
        if reply.feed(piece).end.is_some() {
            return;
        }
    }
    assert!(reply.close().end.is_some(), "a closed connection ends a reply");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engine_says_who_answers_and_who_counts() {
        let name =
            |server: &str, chunks_counted| engine("http://h:1", &WarmUp { server: server.to_owned(), chunks_counted });
        assert_eq!(name("", false), "openai (http://h:1)");
        assert_eq!(name("llama.cpp", false), "openai (http://h:1, llama.cpp)");
        assert_eq!(name("uvicorn", true), "openai (http://h:1, uvicorn, tokens counted as chunks)");
    }

    #[test]
    fn a_server_that_never_comes_to_its_answer_is_told() {
        use std::io::{Read as _, Write as _};

        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/m", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            let (mut list, _) = listener.accept().unwrap();
            let _ = list.read(&mut [0; 4096]);
            let _ = list.write_all(b"HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n");
            let (mut prompt, _) = listener.accept().unwrap();
            let _ = prompt.write_all(b"HTTP/1.1 200 OK\r\nX: ");
            while prompt.write_all(b"y").is_ok() {
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        // The list has to come within it, too.
        let limit = Duration::from_secs(5);
        let error = OpenAi::open_within(&url, &BackendOptions::default(), limit).unwrap_err();
        assert!(matches!(error, OpenAiError::WarmUp { cause: PromptFailure::Late(_), .. }), "{error}");
    }
}
