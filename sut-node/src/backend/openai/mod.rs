//! Asks a server that speaks OpenAI's protocol (llama.cpp, vLLM and the like): each sample is a prompt, sent as a
//! streaming `POST /v1/chat/completions`, and the answer is its text.
//!
//! ```text
//! target ── http://HOST:PORT/MODEL
//! key    ── the API key, if there is one
//! prompt ── sample -> prompt -> body of a request
//! server ── a connection for each request
//! http ─> sse ─> answer ── bytes -> body -> events -> text and tokens; pure
//! reply  ── these three in a row; pure
//! call   ── a prompt under way; the worker's half (the Streamer)
//! ```
//!
//! A sample is `u8[LEN]`, the prompt in UTF-8, and optionally a scalar `i32[]`, the most tokens of its answer. The first
//! token is the text of the first chunk that has any (a chunk with a role alone is none); the answer is the whole
//! text. Tokens are counted as the server counts (`usage.completion_tokens`); where it does not, chunks with text are
//! counted, and the name of the engine and the log say so. An answer without text is a failure, however well it ends.
//!
//! A worker holds one prompt and waits; `--workers` is how many prompts the server has at one time. A server's
//! reply is awaited as long as it sends anything; after `--server-timeout` of silence the sample fails.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use serde::Deserialize;

use self::answer::{message_of, shorten};
use self::call::{Call, Caller, Shared};
use self::http::Head;
use self::key::ApiKey;
use self::prompt::Prompt;
use self::server::{READ_BYTES, Server};
use self::target::Target;
use super::{Backend, BackendError, BackendInfo, BackendOptions, Execution, Half, Input};

mod answer;
mod call;
mod error;
mod http;
mod key;
mod prompt;
mod reply;
mod server;
mod sse;
mod target;

pub use error::{Failure, OpenAiError};
pub use http::HttpError;
pub use prompt::PromptError;
pub use sse::EventTooLong;
pub use target::TargetError;

/// How long the list of models and the first prompt may take together, unless --server-timeout is longer. A prompt whose
/// answer has begun by then is left where it is.
const START_LIMIT: Duration = Duration::from_secs(60);
/// Tokens that the first prompt asks for.
const WARM_UP_TOKENS: u32 = 8;
/// Bytes of a prompt where nobody says how many.
const USUAL_PROMPT_BYTES: u32 = 64;
/// Models that an error names.
const NAMED_MODELS: usize = 10;

/// See the module.
#[derive(Debug)]
pub struct OpenAi {
    info: BackendInfo,
    shared: Arc<Shared>,
}

/// How a server is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenAiOptions {
    /// A sample fails when the server sends nothing for this long while its answer is awaited. Not 0.
    pub server_timeout: Duration,
    /// The file with the API key; without one the environment's `OPENAI_API_KEY`, else no key.
    pub api_key_file: Option<PathBuf>,
}

impl Default for OpenAiOptions {
    fn default() -> OpenAiOptions {
        OpenAiOptions { server_timeout: Duration::from_secs(60), api_key_file: None }
    }
}

/// What the first prompt showed.
#[derive(Debug, Default)]
struct WarmUp {
    server: String,
    chunks_counted: bool,
}

impl OpenAi {
    /// The server and model that `text` names: `http://HOST:PORT/MODEL`. Both are asked before anything else is: the
    /// list of models, then a first small prompt, which may take a minute.
    ///
    /// # Errors
    /// See [`OpenAiError`].
    pub fn open(text: &str, options: &BackendOptions) -> Result<OpenAi, OpenAiError> {
        OpenAi::open_within(text, options, START_LIMIT.max(options.openai.server_timeout))
    }

    fn open_within(text: &str, options: &BackendOptions, limit: Duration) -> Result<OpenAi, OpenAiError> {
        let start = Instant::now();
        let target: Target = text.parse()?;
        let variable = std::env::var_os("OPENAI_API_KEY").map(|text| text.to_string_lossy().into_owned());
        let key = ApiKey::find(options.openai.api_key_file.as_deref(), variable)?;
        let server = Server::find(&target, key, options.openai.server_timeout)?;
        check_model(&server, &target.model, limit)?;
        let max_tokens = u32::try_from(options.tokens.max_tokens.get()).unwrap_or(u32::MAX);
        let has_warned = AtomicBool::new(false);
        let shared = Arc::new(Shared { server, model: target.model.clone(), max_tokens, has_warned });
        let warm_up = warm_up(&shared, start, limit)?;
        let info = BackendInfo::without_model(engine(&target.authority, &warm_up));
        Ok(OpenAi { info: BackendInfo { model: target.model, inputs: prompt::inputs(), ..info }, shared })
    }
}

impl Backend for OpenAi {
    fn info(&self) -> &BackendInfo {
        &self.info
    }

    fn execution(&self) -> Execution {
        Execution::Workers
    }

    fn input(&self) -> Input {
        Input::Tensors
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

/// What results call this engine.
fn engine(authority: &str, warm_up: &WarmUp) -> String {
    let server = shorten(warm_up.server.as_bytes());
    let server = if server.is_empty() { server } else { format!(", {server}") };
    let counting = if warm_up.chunks_counted { ", tokens counted as chunks" } else { "" };
    format!("openai (http://{authority}{server}{counting})")
}

#[derive(Deserialize)]
struct Models {
    data: Vec<Model>,
}

#[derive(Deserialize)]
struct Model {
    id: String,
}

/// Asks the server which models it has. One without such a list is taken at its word.
fn check_model(server: &Server, model: &str, limit: Duration) -> Result<(), OpenAiError> {
    let authority = || server.authority.clone();
    let answer = server.get("/v1/models", limit);
    let (head, body) = answer.map_err(|cause| OpenAiError::Unreachable { authority: authority(), cause })?;
    let Head { status, .. } = head;
    match status {
        200 => {}
        404 | 405 | 501 => {
            tracing::warn!("http://{} does not list its models (HTTP {status}): '{model}' is not checked", authority());
            return Ok(());
        }
        401 | 403 => {
            return Err(OpenAiError::Refused { authority: authority(), status, message: message_of(&body) });
        }
        _ => {
            let cause = Failure::Status { status, message: message_of(&body) };
            return Err(OpenAiError::NotReady { authority: authority(), cause });
        }
    }
    let models: Models = serde_json::from_slice(&body)
        .map_err(|_| OpenAiError::NotAList { authority: authority(), text: format!("'{}'", shorten(&body)) })?;
    let ids: Vec<&str> = models.data.iter().map(|model| model.id.as_str()).collect();
    if ids.contains(&model) {
        return Ok(());
    }
    Err(OpenAiError::NoModel { authority: authority(), model: model.to_owned(), there: name_some(&ids) })
}

fn name_some(ids: &[&str]) -> String {
    let named: Vec<String> = ids.iter().take(NAMED_MODELS).map(|id| format!("'{}'", shorten(id.as_bytes()))).collect();
    match ids.len() {
        0 => "none".to_owned(),
        count if count > NAMED_MODELS => format!("{} and {} more", named.join(", "), count - NAMED_MODELS),
        _ => named.join(", "),
    }
}

/// A first small prompt: what is loaded late is loaded now, and a server that lists models and cannot chat is found
/// out before anybody measures it.
fn warm_up(shared: &Shared, start: Instant, limit: Duration) -> Result<WarmUp, OpenAiError> {
    let failed = |cause| OpenAiError::WarmUp { authority: shared.server.authority.clone(), cause };
    let prompt = Prompt { text: "Hello", max_tokens: WARM_UP_TOKENS.min(shared.max_tokens) };
    let mut call = Call::start(&shared.server, &shared.model, &prompt).map_err(failed)?;
    let mut buffer = vec![0; READ_BYTES];
    let end = loop {
        if let Some(end) = call.step(&mut buffer).end {
            break end;
        }
        if start.elapsed() > limit {
            if !call.has_head() {
                return Err(failed(Failure::Late(limit)));
            }
            tracing::warn!("{} answers {prompt:?} for more than {limit:?}", shared.server.authority);
            return Ok(WarmUp { server: call.server().to_owned(), chunks_counted: false });
        }
    };
    let server = call.server().to_owned();
    match end {
        Ok(completion) => {
            if completion.chunks_counted {
                shared.warn_of_chunks();
            }
            Ok(WarmUp { server, chunks_counted: completion.chunks_counted })
        }
        // A model may have nothing to say to this one.
        Err(Failure::Empty) => {
            tracing::warn!("{} answers {prompt:?} without any text", shared.server.authority);
            Ok(WarmUp { server, chunks_counted: false })
        }
        Err(Failure::Status { status: status @ (401 | 403), message }) => {
            Err(OpenAiError::Refused { authority: shared.server.authority.clone(), status, message })
        }
        Err(cause) => Err(failed(cause)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engine_says_who_answers_and_who_counts() {
        let name = |server: &str, chunks_counted| engine("h:1", &WarmUp { server: server.to_owned(), chunks_counted });
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
        let limit = Duration::from_millis(300);
        let error = OpenAi::open_within(&url, &BackendOptions::default(), limit).unwrap_err();
        assert!(matches!(error, OpenAiError::WarmUp { cause: Failure::Late(_), .. }), "{error}");
    }

    #[test]
    fn models_are_named_but_not_all_of_them() {
        assert_eq!(name_some(&[]), "none");
        assert_eq!(name_some(&["a", "b"]), "'a', 'b'");
        let many = name_some(&["m"; NAMED_MODELS + 3]);
        assert!(many.ends_with("'m' and 3 more"), "{many}");
    }
}
