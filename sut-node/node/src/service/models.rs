//! Models as the node serves them: each with the queues of threads of its own.

use std::sync::Arc;

use tonic::Status;

use crate::backend::{Backend, Execution};
use crate::config::ModelConfig;
use crate::model::{Model, ModelName, Models};
use crate::run::state::ClaimedRun;
use crate::work::reader::Target;
use crate::work::threads::{Queues, busy_samples, inline_worker};

/// One model, and where its samples wait for the threads that compute.
pub(crate) struct ServedModel {
    pub(crate) name: ModelName,
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) config: ModelConfig,
    pub(crate) queues: Queues,
}

/// The models of the node, one at least.
pub(crate) struct ServedModels {
    first: ServedModel,
    others: Vec<ServedModel>,
}

impl ServedModel {
    /// Returns the number of samples that keep the model busy.
    pub(crate) fn busy_samples(&self) -> u64 {
        busy_samples(&self.config, &*self.backend)
    }

    /// Where the samples of `run`, which asks this model, are answered: without a codec as directly as can be.
    pub(crate) fn target(&self, run: &ClaimedRun) -> Result<Target, Status> {
        let decode = || Ok(Target::Decode(Arc::clone(&self.queues.decode)));
        if run.is_probe {
            return Ok(Target::Probe);
        }
        match self.backend.execution() {
            _ if self.config.preprocess.is_some() => decode(),
            // A worker encodes its answers itself, so only the samples' codec needs a decode thread.
            Execution::Workers if run.codecs.samples.is_none() => Ok(Target::Queue(Arc::clone(&self.queues.workers))),
            Execution::Inline if run.codecs.is_none() => {
                let worker = inline_worker(&*self.backend);
                Ok(Target::Inline(worker.map_err(|error| Status::internal(error.to_string()))?))
            }
            _ => decode(),
        }
    }
}

impl ServedModels {
    /// The models, each with what `serve` makes of it; `usual` is the configuration of models without one.
    ///
    /// # Errors
    /// The first error of `serve`.
    pub(crate) fn start<E>(
        models: Models,
        usual: &ModelConfig,
        mut serve: impl FnMut(&ModelName, &ModelConfig, &dyn Backend) -> Result<Queues, E>,
    ) -> Result<ServedModels, E> {
        let (first, others) = models.into_parts();
        let mut served = |Model { name, backend, config }: Model| {
            let config = config.unwrap_or_else(|| usual.clone());
            let queues = serve(&name, &config, &*backend)?;
            Ok(ServedModel { name, backend, config, queues })
        };
        Ok(ServedModels { first: served(first)?, others: others.into_iter().map(served).collect::<Result<_, E>>()? })
    }

    /// The model of clients that name none.
    pub(crate) fn first(&self) -> &ServedModel {
        &self.first
    }

    /// All of them, the first one first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &ServedModel> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// Returns true when there is one model alone.
    pub(crate) fn is_single(&self) -> bool {
        self.others.is_empty()
    }

    /// Returns the model of this name, and its number.
    pub(crate) fn named(&self, name: &str) -> Option<(usize, &ServedModel)> {
        self.iter().enumerate().find(|(_, model)| model.name.as_ref() == name)
    }

    /// The model that `run` asks.
    pub(crate) fn of(&self, run: &ClaimedRun) -> &ServedModel {
        run.model.checked_sub(1).and_then(|place| self.others.get(place)).unwrap_or(&self.first)
    }

    /// The names of all, with commas between them.
    pub(crate) fn names(&self) -> String {
        self.iter().map(|model| model.name.as_ref()).collect::<Vec<_>>().join(", ")
    }

    /// Ends a run, and all of it that still waits for its model.
    pub(crate) fn end(&self, run: &ClaimedRun) {
        self.of(run).queues.end(run);
    }
}
