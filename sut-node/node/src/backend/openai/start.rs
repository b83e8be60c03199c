//! Checks of a server before the first sample: whether it has the model, and whether it can chat.

use std::time::{Duration, Instant};

use serde::Deserialize;

use super::answer::{message_of, shorten};
use super::call::{Call, Shared};
use super::connection::READ_BYTES;
use super::error::{OpenAiError, PromptFailure};
use super::prompt::Prompt;
use super::server::Server;

/// Tokens that the first prompt asks for.
const WARM_UP_TOKENS: u32 = 8;
/// Models that an error names.
const NAMED_MODELS: usize = 10;

/// Findings of the first prompt.
#[derive(Debug, Default)]
pub(super) struct WarmUp {
    /// Name that the server gives its software; empty when it gives none.
    pub(super) server: String,
    pub(super) chunks_counted: bool,
}

#[derive(Deserialize)]
struct Models {
    data: Vec<Model>,
}

#[derive(Deserialize)]
struct Model {
    id: String,
}

/// Asks the server which models it has. A server without such a list is used with a warning.
///
/// # Errors
/// There is no server, it is not ready, or it has other models.
pub(super) fn check_model(server: &Server, model: &str, limit: Duration) -> Result<(), OpenAiError> {
    let origin = || server.origin.clone();
    let answer = server.get("/v1/models", limit);
    let (head, body) = answer.map_err(|cause| OpenAiError::Unreachable { origin: origin(), cause })?;
    match head.status {
        200 => {}
        status @ (404 | 405 | 501) => {
            let server = origin();
            tracing::warn!(server, status, model, "the server does not list its models: the model is not checked");
            return Ok(());
        }
        status @ (401 | 403) => {
            return Err(OpenAiError::Refused { origin: origin(), status, message: message_of(&body) });
        }
        status => {
            let cause = PromptFailure::Status { status, message: message_of(&body) };
            return Err(OpenAiError::NotReady { origin: origin(), cause });
        }
    }
    let models: Models = serde_json::from_slice(&body)
        .map_err(|_| OpenAiError::NotAList { origin: origin(), text: format!("'{}'", shorten(&body)) })?;
    let ids: Vec<&str> = models.data.iter().map(|model| model.id.as_str()).collect();
    if ids.contains(&model) {
        return Ok(());
    }
    Err(OpenAiError::NoModel { origin: origin(), model: model.to_owned(), there: name_some(&ids) })
}

fn name_some(ids: &[&str]) -> String {
    let named: Vec<String> = ids.iter().take(NAMED_MODELS).map(|id| format!("'{}'", shorten(id.as_bytes()))).collect();
    match ids.len() {
        0 => "none".to_owned(),
        count if count > NAMED_MODELS => format!("{} and {} more", named.join(", "), count - NAMED_MODELS),
        _ => named.join(", "),
    }
}

/// Sends a first small prompt: what the server loads late is loaded now, and a server that lists models and cannot chat
/// is found out before anybody measures it. A prompt whose answer has begun within `limit` of `start`, and has no end
/// by then, is dropped.
///
/// # Errors
/// The prompt has no answer in time, or a failure for one.
pub(super) fn warm_up(shared: &Shared, start: Instant, limit: Duration) -> Result<WarmUp, OpenAiError> {
    let failed = |cause| OpenAiError::WarmUp { origin: shared.server.origin.clone(), cause };
    let prompt = Prompt { text: "Hello", tokens: shared.tokens.with_most(WARM_UP_TOKENS.min(shared.tokens.most)) };
    let mut call = Call::start(&shared.server, &shared.model, &prompt).map_err(failed)?;
    let mut buffer = vec![0; READ_BYTES];
    let end = loop {
        if let Some(end) = call.step(&mut buffer).end {
            break end;
        }
        if start.elapsed() > limit {
            if !call.has_head() {
                return Err(failed(PromptFailure::Late(limit)));
            }
            let limit_ms = limit.as_millis() as u64;
            let (server, prompt) = (&shared.server.authority, prompt.text);
            tracing::warn!(server, prompt, limit_ms, "the answer takes longer than the limit");
            return Ok(WarmUp { server: call.server().to_owned(), chunks_counted: false });
        }
    };
    let server = call.server().to_owned();
    match end {
        Ok(completion) => {
            shared.warn(&completion);
            Ok(WarmUp { server, chunks_counted: completion.chunks_counted })
        }
        // A model may have nothing to say to this one.
        Err(PromptFailure::Empty) => {
            tracing::warn!(server = shared.server.authority, prompt = prompt.text, "the answer has no text");
            Ok(WarmUp { server, chunks_counted: false })
        }
        Err(PromptFailure::Status { status: status @ (401 | 403), message }) => {
            Err(OpenAiError::Refused { origin: shared.server.origin.clone(), status, message })
        }
        Err(cause) => Err(failed(cause)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_named_but_not_all_of_them() {
        assert_eq!(name_some(&[]), "none");
        assert_eq!(name_some(&["a", "b"]), "'a', 'b'");
        let many = name_some(&["m"; NAMED_MODELS + 3]);
        assert!(many.ends_with("'m' and 3 more"), "{many}");
    }
}
