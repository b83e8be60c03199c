//! What the commands do that serve nobody.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::str::FromStr as _;
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use lon_proto::node_name::NodeName;
use lon_qsl::dataset::{Dataset, OpenOptions as DatasetOptions};
use lon_shell::documents::DescribeDocument;
use lon_shell::failure::OrExit as _;
use lon_sut::backend::openai::OpenAiOptions;
use lon_sut::backend::{Backend, BackendOptions, Backends, OnnxEngine, TokenOptions};
use lon_sut::bench::measure;
use lon_sut::bench::report::Report;
use lon_sut::bench::samples::{MOST_BYTES, Samples};
use lon_sut::pipeline::Preprocessing;
use lon_sut::pipeline::post::Postprocess;
use lon_sut::tensor::Signature;
use lon_sut::{Memory, ServeConfig, ServeError, describe};

use super::args::{BenchArgs, ComputeArgs, DescribeArgs};
use super::backend_args::{BackendArgs, OpenAiArgs, PipelineArgs, TokenArgs, TrustArgs};
use super::exit::{Exit, Failure};
use super::healthcheck::{HealthError, HealthcheckArgs, healthcheck};
use super::{trial, tune};

/// `sut-node describe`: prints what a node would say of itself.
pub(super) fn run_describe(args: DescribeArgs, backends: &Backends) -> Result<(), Failure> {
    let node = args.node.map_or_else(host_name, Ok)?;
    let (backend, tried) = match args.try_engines {
        false => (load(&args.backend, None, backends)?, Vec::new()),
        true => {
            backends.check_flag("--try", &args.backend.backend).or_exit(Exit::Usage)?;
            trial::of_engines(&args.backend, backends)?
        }
    };
    let description = describe::document(&node, backend.as_ref(), args.backend.pipeline.preprocess.as_ref());
    let description = DescribeDocument { tried, ..description };
    let shown = match args.text {
        true => describe::text(&description),
        false => serde_json::to_string_pretty(&description).or_exit(Exit::Bug)? + "\n",
    };
    write!(std::io::stdout(), "{shown}").or_exit(Exit::Bug)
}

/// `sut-node bench`: measures the backend, prints the result, and writes it to a file if one was named.
pub(super) fn run_bench(args: &BenchArgs, backends: &Backends) -> Result<(), Failure> {
    let node = NodeName::from_str("bench").or_exit(Exit::Bug)?;
    if args.tune {
        return tune::run(args, &node, backends);
    }
    let config = args.compute.config(node, &args.backend.pipeline);
    if let Some(file) = &args.out {
        check_writable(file).with_context(|| cannot_write(file)).or_exit(Exit::Usage)?;
    }
    let backend = load(&args.backend, Some(&args.compute), backends)?;
    let samples = bench_samples(args, &config, backend.as_ref())?;
    let measured = measure::run(&config, backend.as_ref(), &samples, args.phase()).map_err(bench_failure)?;
    if let (0, Some(reason)) = (measured.saturation.samples, &measured.failure) {
        return Err(Failure::new(Exit::Usage, anyhow!("no sample was answered: {reason}")));
    }
    let report = Report {
        info: backend.info(),
        config: &config,
        threads: args.backend.threads.get(),
        postprocess: args.backend.pipeline.postprocess.to_string(),
        samples: &samples,
        phase: args.phase(),
        measured: &measured,
    };
    let document = serde_json::to_string_pretty(&report.document()).or_exit(Exit::Bug)? + "\n";
    let shown = if args.json { document.clone() } else { report.text() };
    write!(std::io::stdout(), "{shown}").or_exit(Exit::Bug)?;
    let write =
        |file: &PathBuf| std::fs::write(file, &document).with_context(|| cannot_write(file)).or_exit(Exit::Usage);
    args.out.as_ref().map_or(Ok(()), write)
}

/// The failure of a backend that cannot be measured.
pub(super) fn bench_failure(error: ServeError) -> Failure {
    match error {
        ServeError::Os { .. } => Failure::new(Exit::Bug, error),
        error => Failure::new(Exit::Usage, error),
    }
}

/// What the backend is asked: the user's samples, else samples that are made for the model.
pub(super) fn bench_samples(args: &BenchArgs, config: &ServeConfig, backend: &dyn Backend) -> Result<Samples, Failure> {
    let takes_files = config.preprocess.as_ref().is_some_and(Preprocessing::takes_files);
    let inputs = || describe::inputs(backend.info(), config.preprocess.as_ref());
    match &args.samples {
        Some(folder) if takes_files => Samples::jpegs(folder).or_exit(Exit::Usage),
        Some(path) => samples_of(path, &inputs()).context("--samples").or_exit(Exit::Usage),
        None if config.preprocess.is_some() => Samples::synthetic(&inputs(), args.free_size).or_exit(Exit::Usage),
        None => Samples::for_backend(backend, args.free_size).or_exit(Exit::Usage),
    }
}

/// The most samples of a dataset that are taken.
const MOST_SAMPLES: usize = 1024;

/// The first samples of a dataset, as `loadgen-node run --dataset` takes it, for a model of these inputs.
fn samples_of(path: &Path, inputs: &Signature) -> anyhow::Result<Samples> {
    let text = path.to_str().with_context(|| format!("{} is not UTF-8", path.display()))?;
    let mut dataset = Dataset::open(text, &DatasetOptions::default())?;
    dataset.fit_to(inputs)?;
    dataset.fits_model(inputs)?;
    let fit = (MOST_BYTES as u64 / dataset.sample_bytes()?.max(1)).max(1);
    let count = dataset.total_count().min(MOST_SAMPLES).min(usize::try_from(fit).unwrap_or(usize::MAX));
    dataset.load(0..count)?;
    let payloads = (0..count).map(|index| dataset.payload(index)).collect();
    Ok(Samples::given(payloads, format!("{} of {text}", dataset.first_sample()?.shapes()))?)
}

fn cannot_write(file: &Path) -> String {
    format!("cannot write {} (--out)", file.display())
}

/// Checks, before anything is measured, that the file can be written. Leaves no trace.
fn check_writable(file: &Path) -> std::io::Result<()> {
    match OpenOptions::new().write(true).create_new(true).open(file) {
        Ok(_) => std::fs::remove_file(file),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => OpenOptions::new().write(true).open(file).map(|_| ()),
        Err(error) => Err(error),
    }
}

/// `sut-node healthcheck`: asks a node whether it serves.
pub(super) fn run_healthcheck(args: HealthcheckArgs) -> Result<(), Failure> {
    healthcheck(args).map_err(|error| match error {
        HealthError::Tls(_) | HealthError::Address(_) => Failure::new(Exit::Usage, error),
        // The same exit code as a bug: callers look for 0 or 1.
        _ => Failure::new(Exit::Bug, error),
    })
}

/// Opens the backend that the flags name, an ONNX model with the engine that is there. Flags that are for another kind
/// of backend are refused.
pub(super) fn load(
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
        ..BackendOptions::default()
    };
    backends.open(&args.backend, &options).or_exit(Exit::Usage)
}

/// The node's name where none was given.
pub(super) fn host_name() -> Result<NodeName, Failure> {
    let name = nix::unistd::gethostname().context("the host name cannot be read; give --node").or_exit(Exit::Usage)?;
    name.to_string_lossy().parse().context("the host name will not do; give --node").or_exit(Exit::Usage)
}
