//! From the flags of what answers to a backend.

use std::num::NonZeroUsize;
use std::sync::Arc;

use lon_shell::failure::OrExit as _;
use lon_sut::Memory;
use lon_sut::backend::openai::OpenAiOptions;
use lon_sut::backend::{Backend, BackendOptions, Backends, OnnxEngine, TokenOptions};
use lon_sut::pipeline::post::Postprocess;

use super::args::ComputeArgs;
use super::backend_args::{BackendArgs, OpenAiArgs, PipelineArgs, TokenArgs, TrustArgs};
use super::exit::{Exit, Failure};

/// Opens the backend that the flags name, an ONNX model with the engine that is there. Flags that are for another kind
/// of backend are refused.
pub(super) fn load(
    args: &BackendArgs,
    compute: Option<&ComputeArgs>,
    backends: &Backends,
) -> Result<Arc<dyn Backend>, Failure> {
    let backend = load_quietly(args, compute, backends)?;
    if args.threads.get() > 1 && backend.cores_per_inference() == 1 {
        tracing::warn!(
            engine = backend.info().engine,
            threads = args.threads,
            "an inference of this backend runs on one thread, and --threads has no effect: use --workers"
        );
    }
    Ok(backend)
}

/// The same, for a caller that knows that some backends have no use for threads.
pub(super) fn load_quietly(
    args: &BackendArgs,
    compute: Option<&ComputeArgs>,
    backends: &Backends,
) -> Result<Arc<dyn Backend>, Failure> {
    load_on(OnnxEngine::Auto, args, compute, backends)
}

/// The same with this engine.
pub(super) fn load_on(
    engine: OnnxEngine,
    args: &BackendArgs,
    compute: Option<&ComputeArgs>,
    backends: &Backends,
) -> Result<Arc<dyn Backend>, Failure> {
    let (max_batch, workers) = compute.map_or((NonZeroUsize::MIN, NonZeroUsize::MIN), |it| (it.max_batch, it.workers));
    let memory = compute.map_or_else(Memory::of_host, ComputeArgs::memory);
    let TokenArgs { slots, max_tokens, min_tokens, beams, eos, max_context } = args.tokens;
    let tokens = TokenOptions { slots, max_tokens, min_tokens, beams, eos, max_context };
    let OpenAiArgs { server_timeout, api_key_file, server_ca } = args.openai.clone();
    let TrustArgs { insecure: allows_plain_text, allow_open_key_files: allows_open_key } = args.trust;
    let openai = OpenAiOptions { server_timeout, api_key_file, server_ca, allows_plain_text, allows_open_key };
    let PipelineArgs { ep, postprocess, ref inputs, ref outputs, allow_empty, ref batch_dim, ref dims, .. } =
        args.pipeline;
    for (flag, given) in [
        ("--ep", ep.is_some()),
        ("--postprocess", postprocess != Postprocess::None),
        ("--inputs", !inputs.is_empty()),
        ("--outputs", !outputs.is_empty()),
        ("--allow-empty", allow_empty),
        ("--batch-dim", batch_dim.is_some()),
        ("--dims", !dims.is_empty()),
        ("--beams", beams.get() > 1),
    ] {
        if given {
            backends.check_flag(flag, &args.backend).or_exit(Exit::Usage)?;
        }
    }
    let options = BackendOptions {
        threads: args.threads,
        max_batch,
        workers,
        engine,
        provider: ep,
        postprocess,
        inputs: inputs.clone(),
        outputs: outputs.clone(),
        allows_empty: allow_empty,
        batch_dim: batch_dim.clone(),
        dims: dims.clone(),
        tokens,
        openai,
        max_run_bytes: memory.inference_bytes(workers),
    };
    backends.open(&args.backend, &options).or_exit(Exit::Usage)
}
