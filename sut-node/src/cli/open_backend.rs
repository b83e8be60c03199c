//! From the flags of what answers to a backend.

use std::num::NonZeroUsize;
use std::sync::Arc;

use anyhow::anyhow;
use lon_shell::failure::OrExit as _;
use lon_sut::backend::openai::OpenAiOptions;
use lon_sut::backend::{Backend, BackendOptions, Backends, OnnxEngine, TokenOptions};
use lon_sut::pipeline::post::Postprocess;
use lon_sut::{Memory, Model, ModelConfig};

use super::args::ComputeArgs;
use super::backend_args::{BackendArgs, OpenAiArgs, PipelineArgs, TokenArgs, TrustArgs};
use super::exit::{Exit, Failure};
use super::for_model::value_for;
use super::named_backend::NamedBackend;

/// Opens all backends that the flags name: each is a model, with a share of the memory.
///
/// `shared_workers` is the number of workers that models share.
///
/// # Errors
/// The names are not those of one node, flags are for one model alone, or a backend cannot be opened.
pub(super) fn load_all(
    args: &BackendArgs,
    compute: &ComputeArgs,
    shared_workers: Option<NonZeroUsize>,
    backends: &Backends,
) -> Result<Vec<Model>, Failure> {
    let names = args.names()?;
    compute.check(&names)?;
    check_for_many(args, backends)?;
    let count = NonZeroUsize::new(names.len()).unwrap_or(NonZeroUsize::MIN);
    let model = |named: &NamedBackend| {
        let name = named.name();
        let mut config = match shared_workers.filter(|_| !computes_elsewhere(named, backends)) {
            Some(workers) => compute.with_workers(workers, &name, &args.pipeline),
            None => compute.model(&name, &args.pipeline),
        };
        config.memory = config.memory.shared_by(count);
        let backend = load(args, named, Some(&config), backends).map_err(|failure| match count.get() {
            1 => failure,
            _ => Failure::new(failure.exit, failure.error.context(format!("model {name}"))),
        })?;
        Ok(Model { name, backend, config: Some(config) })
    };
    args.backend.iter().map(model).collect()
}

/// Returns true for a model of another server.
fn computes_elsewhere(named: &NamedBackend, backends: &Backends) -> bool {
    backends.kind(&named.text).is_some_and(|kind| kind.computes_elsewhere)
}

/// Checks that no flag is given with several models that can only be right for one.
fn check_for_many(args: &BackendArgs, backends: &Backends) -> Result<(), Failure> {
    if args.backend.len() < 2 {
        return Ok(());
    }
    let PipelineArgs { inputs, outputs, allow_empty, batch_dim, dims, .. } = &args.pipeline;
    let servers = args.backend.iter().filter(|named| computes_elsewhere(named, backends)).count();
    let flags = [
        ("--inputs", !inputs.is_empty()),
        ("--outputs", !outputs.is_empty()),
        ("--allow-empty", *allow_empty),
        ("--batch-dim", batch_dim.is_some()),
        ("--dims", !dims.is_empty()),
        ("--api-key-file", args.openai.api_key_file.is_some() && servers > 1),
    ];
    match flags.into_iter().find(|(_, is_set)| *is_set) {
        Some((flag, _)) => {
            let why = anyhow!(
                "{flag} is for one model, and there are several --backend: serve that model on a node alone, or export \
                 it so that \
                 it needs no {flag}"
            );
            Err(Failure::new(Exit::Usage, why))
        }
        None => Ok(()),
    }
}

/// Opens a backend of the flags, an ONNX model with the engine that is there. Flags that are for another kind
/// of backend are refused.
pub(super) fn load(
    args: &BackendArgs,
    named: &NamedBackend,
    config: Option<&ModelConfig>,
    backends: &Backends,
) -> Result<Arc<dyn Backend>, Failure> {
    let backend = load_quietly(args, named, config, backends)?;
    let threads = args.threads(&named.name());
    if threads.get() > 1 && backend.cores_per_inference() == 1 {
        tracing::warn!(
            engine = backend.info().engine,
            threads,
            "an inference of this backend runs on one thread, and --threads has no effect: use --workers"
        );
    }
    Ok(backend)
}

/// The same, for a caller that knows that some backends have no use for threads.
pub(super) fn load_quietly(
    args: &BackendArgs,
    named: &NamedBackend,
    config: Option<&ModelConfig>,
    backends: &Backends,
) -> Result<Arc<dyn Backend>, Failure> {
    load_on(OnnxEngine::Auto, args, named, config, backends)
}

/// The same with this engine.
pub(super) fn load_on(
    engine: OnnxEngine,
    args: &BackendArgs,
    named: &NamedBackend,
    config: Option<&ModelConfig>,
    backends: &Backends,
) -> Result<Arc<dyn Backend>, Failure> {
    let (name, text) = (named.name(), &named.text);
    let (max_batch, workers) = config.map_or((NonZeroUsize::MIN, NonZeroUsize::MIN), |it| (it.max_batch, it.workers));
    let memory = config.map_or_else(Memory::of_host, |config| config.memory);
    let TokenArgs { slots, max_tokens, min_tokens, beams, eos, max_context } = args.tokens;
    let tokens = TokenOptions { slots, max_tokens, min_tokens, beams, eos, max_context };
    let OpenAiArgs { server_timeout, api_key_file, server_ca } = args.openai.clone();
    let TrustArgs { insecure: allows_plain_text, allow_open_key_files: allows_open_key } = args.trust;
    let openai = OpenAiOptions { server_timeout, api_key_file, server_ca, allows_plain_text, allows_open_key };
    let PipelineArgs { ep, inputs, outputs, allow_empty, batch_dim, dims, .. } = &args.pipeline;
    let (ep, postprocess) = (value_for(ep, &name).copied(), args.pipeline.postprocess(&name));
    for (flag, is_set) in [
        ("--ep", ep.is_some()),
        ("--postprocess", postprocess != Postprocess::None),
        ("--inputs", !inputs.is_empty()),
        ("--outputs", !outputs.is_empty()),
        ("--allow-empty", *allow_empty),
        ("--batch-dim", batch_dim.is_some()),
        ("--dims", !dims.is_empty()),
        ("--beams", beams.get() > 1),
    ] {
        if is_set {
            backends.check_flag(flag, text).or_exit(Exit::Usage)?;
        }
    }
    let options = BackendOptions {
        threads: args.threads(&name),
        max_batch,
        workers,
        engine,
        provider: ep,
        postprocess,
        inputs: inputs.clone(),
        outputs: outputs.clone(),
        allows_empty: *allow_empty,
        batch_dim: batch_dim.clone(),
        dims: dims.clone(),
        tokens,
        openai,
        max_run_bytes: memory.inference_bytes(workers),
    };
    backends.open(text, &options).or_exit(Exit::Usage)
}
