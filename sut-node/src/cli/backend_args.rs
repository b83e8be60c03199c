//! The flags of what answers: the backend, and what is done around it.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use lon_sut::ModelName;
use lon_sut::backend::{BatchDim, DimSize, Provider};
use lon_sut::pipeline::Preprocessing;
use lon_sut::pipeline::post::Postprocess;

use super::exit::Failure;
use super::for_model::{self, ForModel, value_for};
use super::named_backend::{self, NamedBackend};
use super::values::{some_time, some_tokens, up_to};

// Under which headings help lists the flags.
pub(super) const ANSWERS: &str = "Backend";
pub(super) const NETWORK: &str = "Network";
pub(super) const SPEED: &str = "Speed and memory";

#[derive(Args, Clone, Debug)]
pub(super) struct BackendArgs {
    /// Backend that answers samples: onnx:MODEL.onnx, openai:http://HOST:PORT/MODEL, null, or synthetic:SPEC
    /// (constant=2ms; the grammar is at the end of `sut-node serve --help`).
    ///
    /// null answers at once and needs no model. NAME=BACKEND, given several times or separated by semicolons, serves
    /// several models. A name has letters, digits, '.', '_' and '-'. A LoadGen node that names no model asks the first.
    /// --workers, --threads, --max-batch, --max-delay, --ep, --preprocess and --postprocess hold for every model, and
    /// with NAME=VALUE for one: --workers chat=8.
    #[arg(long, value_name = "BACKEND", required = true, value_delimiter = ';', env = "LON_BACKEND",
          help_heading = ANSWERS)]
    pub(super) backend: Vec<NamedBackend>,
    /// Threads inside one inference.
    #[arg(long, default_value = "1", value_name = "COUNT", value_delimiter = ',',
          value_parser = |text: &str| ForModel::read(text, up_to::<1024>), env = "LON_THREADS", help_heading = SPEED)]
    pub(super) threads: Vec<ForModel<NonZeroUsize>>,
    #[command(flatten)]
    pub(super) tokens: TokenArgs,
    #[command(flatten)]
    pub(super) openai: OpenAiArgs,
    #[command(flatten)]
    pub(super) pipeline: PipelineArgs,
    #[command(flatten)]
    pub(super) trust: TrustArgs,
}

/// Options that allow things that are not safe everywhere.
#[derive(Args, Clone, Copy, Debug)]
pub(super) struct TrustArgs {
    /// Plain text to and from other hosts, for networks that you trust.
    ///
    /// A node is served without TLS on an address that is not loopback, and a server of openai:http:// that is
    /// elsewhere is asked.
    #[arg(long, env = "LON_INSECURE", help_heading = NETWORK)]
    pub(super) insecure: bool,
    /// Read --tls-key, --token-file and --api-key-file though others can read them, too.
    #[arg(long, env = "LON_ALLOW_OPEN_KEY_FILES", help_heading = NETWORK, hide_short_help = true)]
    pub(super) allow_open_key_files: bool,
}

/// Hardware that models run on, and the steps before and after a model.
#[allow(rustdoc::broken_intra_doc_links, reason = "the help text of --preprocess is shown as it stands")]
#[derive(Args, Clone, Debug)]
pub(super) struct PipelineArgs {
    /// Execution provider that ONNX Runtime computes on, one that its library has, such as CUDA or OpenVINO; its CPU
    /// unless given.
    #[arg(long, value_name = "NAME", value_parser = |text: &str| ForModel::read(text, str::parse::<Provider>),
          env = "LON_EP", help_heading = ANSWERS, hide_short_help = true)]
    pub(super) ep: Vec<ForModel<Provider>>,
    /// An ONNX model's inputs by name, in the order in which samples have them; the model's own order unless given.
    #[arg(long, value_name = "NAME,NAME...", value_delimiter = ',', env = "LON_INPUTS",
          help_heading = ANSWERS, hide_short_help = true)]
    pub(super) inputs: Vec<String>,
    /// An ONNX model's outputs that an answer has, by name, in this order; all of them in the model's own order unless
    /// given. Accuracy is scored by the first of them.
    #[arg(long, value_name = "NAME,NAME...", value_delimiter = ',', env = "LON_OUTPUTS",
          help_heading = ANSWERS, hide_short_help = true)]
    pub(super) outputs: Vec<String>,
    /// Empty answers of an ONNX model are answers: a detector that found nothing. Without the flag such a sample fails.
    #[arg(long, env = "LON_ALLOW_EMPTY", help_heading = ANSWERS, hide_short_help = true)]
    pub(super) allow_empty: bool,
    /// Dimension of an ONNX model's tensors that counts samples: 0, the leading one (or its name), so that samples
    /// share runs; or none. Unless given, a node of --max-batch above 1 finds it out at its start, on samples that it
    /// makes up: only where they are answered together as they are alone do samples share runs.
    #[arg(long, value_name = "0|NAME|none", env = "LON_BATCH_DIM", help_heading = ANSWERS, hide_short_help = true)]
    pub(super) batch_dim: Option<BatchDim>,
    /// Sizes that an ONNX model leaves free, by their names in the model, for example seq=128; TENSOR:AXIS=SIZE where
    /// it has no name. Samples must have them.
    #[arg(long, value_name = "NAME=SIZE,...", value_delimiter = ',', env = "LON_DIMS",
          help_heading = ANSWERS, hide_short_help = true)]
    pub(super) dims: Vec<DimSize>,
    /// Steps that prepare images for the model, for example resize=256,crop=224,layout=nchw,dtype=f32 (a preset's name
    /// may stand first). Samples are then JPEGs (--compression original) or pixels u8[HEIGHT,WIDTH,3]. Or
    /// token-ids=SEPARATOR: samples are token ids alone (loadgen-node run --ids-alone), and mask, segments and
    /// positions are made of them; SEPARATOR is the id that ends a text, 102 for BERT.
    #[arg(long, value_name = "SPEC", value_parser = |text: &str| ForModel::read(text, str::parse::<Preprocessing>),
          env = "LON_PREPROCESS", help_heading = ANSWERS, hide_short_help = true)]
    pub(super) preprocess: Vec<ForModel<Preprocessing>>,
    /// Step that turns an ONNX model's outputs into an answer: none, argmax, top-k=5, softmax, threshold=0.5,
    /// retinanet=800 (boxes in images of so many pixels, in the reference's form).
    #[arg(long, value_name = "WHAT", default_value = "none", env = "LON_POSTPROCESS",
          value_parser = |text: &str| ForModel::read(text, str::parse::<Postprocess>),
          help_heading = ANSWERS, hide_short_help = true)]
    pub(super) postprocess: Vec<ForModel<Postprocess>>,
}

impl BackendArgs {
    /// The names of the models.
    ///
    /// # Errors
    /// They are not those of one node, or a flag has a value for a model that is not there.
    pub(super) fn names(&self) -> Result<Vec<ModelName>, Failure> {
        let names = named_backend::names(&self.backend)?;
        for_model::check("--threads", &self.threads, &names)?;
        for_model::check("--ep", &self.pipeline.ep, &names)?;
        for_model::check("--preprocess", &self.pipeline.preprocess, &names)?;
        for_model::check("--postprocess", &self.pipeline.postprocess, &names)?;
        Ok(names)
    }

    /// The only backend, for a command that has to do with one.
    ///
    /// # Errors
    /// There are several, or a flag has a value for another.
    pub(super) fn only(&self) -> Result<&NamedBackend, Failure> {
        self.names()?;
        named_backend::only(&self.backend)
    }

    /// The threads inside one inference of this model.
    pub(super) fn threads(&self, model: &ModelName) -> NonZeroUsize {
        value_for(&self.threads, model).copied().unwrap_or(NonZeroUsize::MIN)
    }
}

impl PipelineArgs {
    /// The step before this model, if there is one.
    pub(super) fn preprocess(&self, model: &ModelName) -> Option<&Preprocessing> {
        value_for(&self.preprocess, model)
    }

    /// The step after this model.
    pub(super) fn postprocess(&self, model: &ModelName) -> Postprocess {
        value_for(&self.postprocess, model).copied().unwrap_or_default()
    }
}

/// For backends that answer token by token.
#[derive(Args, Clone, Debug)]
pub(super) struct TokenArgs {
    /// Samples that a worker answers at one time, token by token.
    #[arg(long, default_value = "8", value_parser = up_to::<4096>, env = "LON_SLOTS",
          help_heading = SPEED, hide_short_help = true)]
    pub(super) slots: NonZeroUsize,
    /// Tokens of an answer at most; a sample may ask for fewer.
    #[arg(long, default_value = "128", value_parser = up_to::<1048576>, env = "LON_MAX_TOKENS",
          help_heading = ANSWERS, hide_short_help = true)]
    pub(super) max_tokens: NonZeroUsize,
    /// Tokens of an answer at least, if it may have as many: until then --eos is not taken. A server of openai:URL is
    /// asked for them by min_tokens, which vLLM knows.
    #[arg(long, default_value = "0", value_parser = some_tokens, env = "LON_MIN_TOKENS",
          help_heading = ANSWERS, hide_short_help = true)]
    pub(super) min_tokens: usize,
    /// Width of the beam search for an answer of an ONNX model: 4 is that of GPT-J in MLPerf, 1 takes the likeliest
    /// token each time. Each beam needs the memory of a slot.
    #[arg(long, default_value = "1", value_parser = up_to::<64>, env = "LON_BEAMS",
          help_heading = ANSWERS, hide_short_help = true)]
    pub(super) beams: NonZeroUsize,
    /// The token that ends an answer; without it every answer has --max-tokens of them.
    #[arg(long, value_name = "ID", env = "LON_EOS", help_heading = ANSWERS, hide_short_help = true)]
    pub(super) eos: Option<i64>,
    /// Tokens of a sample and its answer together at most: what each slot has memory for.
    #[arg(long, default_value = "2048", value_parser = up_to::<1048576>, env = "LON_MAX_CONTEXT",
          help_heading = ANSWERS, hide_short_help = true)]
    pub(super) max_context: NonZeroUsize,
}

/// For servers of openai:URL.
#[derive(Args, Clone, Debug)]
pub(super) struct OpenAiArgs {
    /// openai: a sample fails when the server sends nothing for this long while its answer is awaited.
    #[arg(long, default_value = "60s", value_parser = some_time, env = "LON_SERVER_TIMEOUT",
          help_heading = ANSWERS, hide_short_help = true)]
    pub(super) server_timeout: Duration,
    /// openai: the file with the server's API key; without it OPENAI_API_KEY, if set. Never logged.
    #[arg(long, value_name = "FILE", env = "LON_API_KEY_FILE", help_heading = ANSWERS, hide_short_help = true)]
    pub(super) api_key_file: Option<PathBuf>,
    /// openai: the CA certificate (PEM) that verifies the server of an https:// URL; needed there.
    #[arg(long, value_name = "FILE", env = "LON_SERVER_CA", help_heading = ANSWERS, hide_short_help = true)]
    pub(super) server_ca: Option<PathBuf>,
}
