//! What the commands do.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::num::NonZeroUsize;
use std::path::Path;
use std::str::FromStr as _;
use std::sync::Arc;

use anyhow::Context as _;
use tokio::signal::unix::{SignalKind, signal};

use super::args::{BackendArgs, BenchArgs, DescribeArgs, OpenAiArgs, PipelineArgs, ServeArgs, TokenArgs};
use super::{Failure, bug, usage};
use crate::backend::openai::OpenAiOptions;
use crate::backend::{self, Backend, BackendOptions, TokenOptions};
use crate::bench::{self, report::Report, samples::Samples};
use crate::cli::healthcheck::{HealthError, HealthcheckArgs, healthcheck};
use crate::pipeline::images;
use crate::pipeline::post::Postprocess;
use crate::{NodeName, Sockets, serve};

pub(super) fn run_serve(args: ServeArgs) -> Result<(), Failure> {
    let node = args.node.map_or_else(host_name, Ok)?;
    let mut config = args.crew.config(node.clone(), &args.backend.pipeline);
    config.io_threads = args.io_threads;
    config.busy_poll = args.busy_poll;
    let sockets = Sockets::bind(&args.listen).map_err(usage)?;
    let address = sockets.address();
    config.tls = args.security.tls(address).map_err(usage)?;
    let backend = load(&args.backend, args.crew.max_batch)?;
    let engine = backend.info().engine.clone();
    if let Err(error) = lon_net::slice::shorten() {
        tracing::debug!("the time slice stays as it is: {error}");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(bug)?;
    runtime.block_on(async {
        let mut term = signal(SignalKind::terminate()).map_err(bug)?;
        let mut int = signal(SignalKind::interrupt()).map_err(bug)?;
        let shutdown = async move {
            tokio::select! { _ = term.recv() => {}, _ = int.recv() => {} }
            tracing::info!("shutting down: answering what was taken in");
        };
        let ready = || {
            // The one line on standard output: scripts wait for it and read the port from it.
            let _ = writeln!(std::io::stdout(), "sut-node {node} serving {engine} on {address}");
        };
        serve(sockets, config, backend, shutdown, ready).await.map_err(|error| match error {
            crate::ServeError::Backend(_) | crate::ServeError::Preprocess(_) => usage(error),
            _ => bug(error),
        })
    })
}

pub(super) fn run_describe(args: DescribeArgs) -> Result<(), Failure> {
    let node = args.node.map_or_else(host_name, Ok)?;
    let backend = load(&args.backend, NonZeroUsize::MIN)?;
    let json = crate::describe_json(&node, backend.as_ref(), args.backend.pipeline.preprocess.is_some());
    let text = serde_json::to_string_pretty(&json).map_err(bug)?;
    writeln!(std::io::stdout(), "{text}").map_err(bug)
}

pub(super) fn run_bench(args: &BenchArgs) -> Result<(), Failure> {
    let node = NodeName::from_str("bench").map_err(bug)?;
    let config = args.crew.config(node, &args.backend.pipeline);
    if args.samples.is_some() && config.preprocess.is_none() {
        return Err(usage(anyhow::anyhow!(
            "--samples are JPEGs, of which --preprocess has to make what the model takes"
        )));
    }
    let cannot_write = |file: &Path| format!("cannot write {} (--json)", file.display());
    if let Some(file) = &args.json {
        check_writable(file).with_context(|| cannot_write(file)).map_err(usage)?;
    }
    let backend = load(&args.backend, args.crew.max_batch)?;
    let samples = match &args.samples {
        Some(folder) => Samples::jpegs(folder),
        None if config.preprocess.is_some() => Samples::synthetic(&images::inputs(), args.free_size),
        None => Samples::for_backend(backend.as_ref(), args.free_size),
    };
    let samples = samples.map_err(usage)?;
    let phase = args.seconds;
    let measured = bench::run(&config, backend.as_ref(), &samples, phase).map_err(|error| match error {
        crate::ServeError::Os { .. } => bug(error),
        error => usage(error),
    })?;
    if let (0, Some(reason)) = (measured.saturation.samples, &measured.failure) {
        return Err(usage(anyhow::anyhow!("no sample was answered: {reason}")));
    }
    let report = Report {
        info: backend.info(),
        config: &config,
        threads: args.backend.threads.get(),
        postprocess: args.backend.pipeline.postprocess.to_string(),
        samples: &samples,
        phase,
        measured: &measured,
    };
    write!(std::io::stdout(), "{}", report.text()).map_err(bug)?;
    let Some(file) = &args.json else { return Ok(()) };
    std::fs::write(file, format!("{:#}\n", report.json())).with_context(|| cannot_write(file)).map_err(usage)
}

/// Found out before anything is measured. Leaves no trace.
fn check_writable(file: &Path) -> std::io::Result<()> {
    match OpenOptions::new().write(true).create_new(true).open(file) {
        Ok(_) => std::fs::remove_file(file),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => OpenOptions::new().write(true).open(file).map(|_| ()),
        Err(error) => Err(error),
    }
}

pub(super) fn run_healthcheck(args: HealthcheckArgs) -> Result<(), Failure> {
    healthcheck(args).map_err(|error| match error {
        HealthError::Tls(_) | HealthError::Address(_) => usage(error),
        // The same exit code as a bug, because those who ask look for 0 or 1.
        _ => bug(error),
    })
}

fn load(args: &BackendArgs, max_batch: NonZeroUsize) -> Result<Arc<dyn Backend>, Failure> {
    let TokenArgs { slots, max_tokens, eos, max_context } = args.tokens;
    let tokens = TokenOptions { slots, max_tokens, eos, max_context };
    let OpenAiArgs { server_timeout, api_key_file } = args.openai.clone();
    let openai = OpenAiOptions { server_timeout, api_key_file };
    let PipelineArgs { ep, postprocess, ref inputs, .. } = args.pipeline;
    let is_onnx = args.backend.starts_with("onnx:");
    for (flag, given) in
        [("--ep", ep.is_some()), ("--postprocess", postprocess != Postprocess::None), ("--inputs", !inputs.is_empty())]
    {
        if given && !is_onnx {
            return Err(usage(anyhow::anyhow!("{flag} is for onnx:MODEL.onnx, not for '{}'", args.backend)));
        }
    }
    let options = BackendOptions {
        threads: args.threads,
        max_batch,
        provider: ep,
        postprocess,
        inputs: inputs.clone(),
        tokens,
        openai,
        ..BackendOptions::default()
    };
    backend::open(&args.backend, &options).map_err(usage)
}

fn host_name() -> Result<NodeName, Failure> {
    let name = nix::unistd::gethostname().context("the host name cannot be read; give --node").map_err(usage)?;
    name.to_string_lossy().parse().context("the host name will not do; give --node").map_err(usage)
}
