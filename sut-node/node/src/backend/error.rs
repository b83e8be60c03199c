//! Why a backend cannot run, and why a sample has no answer.

use super::openai::error::{OpenAiError, PromptFailure};
use super::openai::prompt::PromptError;
use super::synthetic::spec::SpecError;
use crate::tensor::Mismatch;

/// Why a backend could not be brought up: its configuration or its model is at fault. Found before any sample.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    /// The text of `--backend` names no backend.
    #[error("'{text}' is not a backend: give {forms}")]
    Unknown {
        /// Text that was given.
        text: String,
        /// Texts that may be given.
        forms: String,
    },
    /// A flag was given that another kind of backend has a use for.
    #[error("{flag} is for {form}, not for '{text}'")]
    OfOtherKind {
        /// The flag, with its dashes.
        flag: &'static str,
        /// Form of `--backend` for the kind that the flag is for.
        form: &'static str,
        /// Text of `--backend`.
        text: String,
    },
    /// The SPEC of `synthetic:SPEC` cannot be read.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// A backend that answers token by token was to run on the thread that reads samples.
    #[error("{0} answers token by token, which needs worker threads")]
    NotInline(String),
    /// The server of `openai:URL` cannot be used.
    #[error(transparent)]
    OpenAi(#[from] OpenAiError),
    /// A backend of another crate cannot be used: its model, or the engine that should run it.
    #[error(transparent)]
    Added(Box<dyn std::error::Error + Send + Sync>),
}

/// Why one sample has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InferError {
    /// The sample's tensors are not what the model takes.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    /// The sample is so large that the model would take more memory than it may.
    #[error(
        "the sample is {shapes}: the model takes about {needed} bytes of memory for it, {max_bytes} are set aside for \
         one inference (sut-node --memory)"
    )]
    Memory {
        /// The tensors of the sample.
        shapes: String,
        /// About how many bytes of memory the model takes.
        needed: u64,
        /// The bytes that it may take.
        max_bytes: u64,
    },
    /// The sample is not a prompt.
    #[error(transparent)]
    Prompt(#[from] PromptError),
    /// The server behind the node gave no answer.
    #[error(transparent)]
    Server(#[from] PromptFailure),
    /// The engine failed on the batch this sample was in.
    #[error("{engine} failed on a batch of {batch}: {reason}")]
    Engine {
        /// The engine that runs the model.
        engine: String,
        /// Number of samples in the batch.
        batch: usize,
        /// The reason, in the engine's words.
        reason: String,
    },
    /// This sample alone cannot be answered, or its answer broke off.
    #[error("{engine}: {reason}")]
    Failed {
        /// The engine that should have answered it.
        engine: String,
        /// The reason, in the engine's words.
        reason: String,
    },
}
