//! The answer to one question: do samples of a model share runs? As the user says, or as the proof finds.

use std::sync::Arc;

use tract_onnx::pb::ModelProto;

use super::batch::Bound;
use super::decoder::{Decoder, Layout};
use super::engine::{Engine, SpareSession};
use super::error::OnnxError;
use super::model::Model;
use super::proof::{self, Operators, SlowBatch, Unproven};
use lon_sut::backend::{BackendOptions, BatchDim};
use lon_sut::node_setting::Setting;

/// Decision whether samples share runs, and the node's report of it.
pub(super) struct Sharing {
    pub(super) shares_runs: bool,
    /// True when the leading dimension of the outputs may count rows of one sample.
    pub(super) counts_rows: bool,
    /// Settings that the node reports.
    pub(super) settings: Vec<Setting>,
}

impl Sharing {
    fn of(shares_runs: bool, counts_rows: bool, verdict: Option<&str>) -> Sharing {
        let settings = verdict.map(|verdict| Setting::of_speed("batches", verdict)).into_iter().collect();
        Sharing { shares_runs, counts_rows, settings }
    }

    /// Returns the decision of the user.
    ///
    /// # Errors
    /// The model does not allow it.
    fn of_flag(batch_dim: &BatchDim, model: &Model) -> Result<Sharing, String> {
        let sharing = match batch_dim {
            BatchDim::None => Sharing::of(false, true, None),
            BatchDim::Leading => model.batching.clone().map(|()| Sharing::of(true, false, None))?,
            BatchDim::Named(name) => match (model.batching.clone(), model.odd_name(Some(name))) {
                (Err(reason), _) | (Ok(()), Some(reason)) => return Err(reason),
                (Ok(()), None) => Sharing::of(true, false, None),
            },
        };
        Ok(Sharing { settings: vec![Setting::of_answers("batch_dim", batch_dim)], ..sharing })
    }

    /// Returns the decision that a proof finds. A session that the proof has used goes into `spare`.
    fn of_proof(
        model: &Model,
        proto: &ModelProto,
        engine: &dyn Engine,
        options: &BackendOptions,
        spare: &SpareSession,
    ) -> Sharing {
        // A leading dimension that has a name of its own may count rows.
        let may_count_rows = model.batching.is_err() || model.odd_name(None).is_some();
        if options.max_batch.get() == 1 {
            return Sharing::of(model.batching.is_ok(), may_count_rows, None);
        }
        if let Err(reason) = &model.batching {
            return Sharing::one_by_one(may_count_rows, reason, "");
        }
        // A missing session is reported where one is needed.
        let Ok(mut session) = engine.session() else { return Sharing::of(false, may_count_rows, None) };
        let bound = model.has_free_dims().then(|| Bound::new(engine.footprint(), options.max_run_bytes));
        let proved = proof::prove(model, &Operators::of(proto), session.as_mut(), bound.as_ref());
        spare.put(session);
        match proved {
            Ok(slow) => {
                if let Some(SlowBatch { size, factor }) = slow {
                    tracing::warn!(
                        samples = size,
                        factor = format!("{factor:.1}"),
                        "a sample in a batch takes so many times as long as alone: --max-batch 1 may be faster \
                         (sut-node bench --tune)"
                    );
                }
                Sharing::of(true, false, Some("proved"))
            }
            Err(Unproven { reason, has_one_row }) => {
                let counts_rows = has_one_row.map_or(may_count_rows, |has_one_row| !has_one_row);
                let remedy = match (has_one_row, model.has_free_dims()) {
                    (None, true) => {
                        "; --dims NAME=SIZE gives free sizes with which it may run, --batch-dim 0 has samples share \
                         runs without a proof"
                    }
                    _ => "; --batch-dim 0 has samples share runs all the same, --batch-dim none says that none do",
                };
                Sharing::one_by_one(counts_rows, &reason, remedy)
            }
        }
    }

    fn one_by_one(counts_rows: bool, reason: &str, remedy: &str) -> Sharing {
        Sharing::of(false, counts_rows, Some(&format!("samples run one by one: {reason}{remedy}")))
    }

    /// Finds out whether samples of this model share runs.
    ///
    /// # Errors
    /// What the user says is not so.
    pub(super) fn find(
        name: &str,
        (model, proto): (&Model, &ModelProto),
        engine: &dyn Engine,
        options: &BackendOptions,
        spare: &SpareSession,
    ) -> Result<Sharing, OnnxError> {
        let Some(batch_dim) = &options.batch_dim else {
            let sharing = Sharing::of_proof(model, proto, engine, options, spare);
            match sharing.settings.first() {
                Some(setting) if !sharing.shares_runs => warn(name, &setting.value),
                _ => {}
            }
            return Ok(sharing);
        };
        Sharing::of_flag(batch_dim, model).map_err(|reason| OnnxError::BatchDim {
            model: name.to_owned(),
            batch_dim: batch_dim.to_string(),
            reason,
        })
    }

    /// Finds out whether the slots of this decoder share runs.
    pub(super) fn of_slots(
        name: &str,
        layout: &Layout,
        engine: &dyn Engine,
        options: &BackendOptions,
        spare: &SpareSession,
    ) -> Sharing {
        if !layout.is_batched() || options.tokens.lanes() == 1 {
            return Sharing::of(layout.is_batched(), false, None);
        }
        if let Some(batch_dim) = &options.batch_dim {
            let settings = vec![Setting::of_answers("batch_dim", batch_dim)];
            return Sharing { settings, ..Sharing::of(*batch_dim != BatchDim::None, false, None) };
        }
        let Ok(session) = engine.session() else { return Sharing::of(false, false, None) };
        let mut decoder = Decoder::new(Arc::new(layout.clone()), session, engine.name(), options.tokens);
        let proved = decoder.prove();
        spare.put(decoder.into_session());
        match proved {
            Ok(()) => Sharing::of(true, false, Some("proved")),
            Err(reason) => {
                let sharing = Sharing::one_by_one(false, &reason, "; --batch-dim 0 has them share runs all the same");
                sharing.settings.iter().for_each(|setting| warn(name, &setting.value));
                sharing
            }
        }
    }
}

/// Says in the log that samples do not share runs.
fn warn(model: &str, why: &str) {
    tracing::warn!(model, why, "samples run one by one");
}
