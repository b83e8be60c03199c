//! Engines that can run a model: `describe --try`.

use std::sync::Arc;

use anyhow::anyhow;
use lon_shell::documents::TriedEngine;
use lon_sut::backend::{Backend, Backends, OnnxEngine};

use super::backend_args::BackendArgs;
use super::exit::{Exit, Failure};
use super::named_backend::NamedBackend;
use super::open_backend::load_on;

/// The engines that are tried, each with its name where it cannot be opened.
const ENGINES: [(OnnxEngine, &str); 2] =
    [(OnnxEngine::OnnxRuntime, "onnxruntime"), (OnnxEngine::Tract, "tract, the embedded engine")];

/// Opens a session of the model with each engine, and runs it once. Returns the first backend that runs it, and the
/// outcome of each.
///
/// # Errors
/// No engine runs the model: the errors of all.
pub(super) fn of_engines(
    args: &BackendArgs,
    named: &NamedBackend,
    backends: &Backends,
) -> Result<(Arc<dyn Backend>, Vec<TriedEngine>), Failure> {
    let (mut running, mut tried, mut failed) = (None, Vec::new(), None);
    for (engine, name) in ENGINES {
        let opened = load_on(engine, args, named, None, backends);
        let name = opened.as_ref().map_or_else(|_| name.to_owned(), |backend| backend.info().engine.clone());
        let ran = opened.and_then(|backend| match backend.worker() {
            Ok(_) => Ok(backend),
            Err(error) => Err(Failure::new(Exit::Usage, error)),
        });
        let reason = ran.as_ref().err().map(Failure::one_line);
        match ran {
            Ok(backend) => drop(running.get_or_insert(backend)),
            Err(failure) => failed = Some(failure),
        }
        tried.push(TriedEngine { engine: name, runs: reason.is_none(), reason });
    }
    match (running, failed) {
        (Some(backend), _) => Ok((backend, tried)),
        (None, Some(failure)) => Err(refused_by_all(&tried, failure)),
        (None, None) => unreachable!("each engine runs the model or fails"),
    }
}

/// The error of a model that no engine runs: that of each, or the one where all say the same of the model.
fn refused_by_all(tried: &[TriedEngine], last: Failure) -> Failure {
    let reasons = || tried.iter().filter_map(|engine| Some((&engine.engine, engine.reason.as_ref()?)));
    if reasons().all(|(_, reason)| *reason == last.one_line()) {
        return last;
    }
    let each: Vec<String> = reasons().map(|(engine, reason)| format!("{engine}: {reason}")).collect();
    Failure::new(last.exit, anyhow!("no engine runs the model; {}", each.join("; ")))
}
