//! Reads the results of finished runs of either engine: whether they can be submitted, their score, and the engine that
//! made them.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, anyhow, ensure};
use lon_proto::files::{self, Limit};
use lon_shell::documents::of_text;
use serde::de::DeserializeOwned;

use super::checked::Engine;
use super::kind::Kind;
use super::step::Step;
use loadgen::official::DETAIL_FILE;
use lon_run::audit::{Detail, LabelType};
use lon_run::outputs::documents::accuracy::AccuracyDocument;
use lon_run::outputs::documents::other_score::OtherScore;
use lon_run::outputs::documents::qdl_result::{self, QdlResult, QdlState};
use lon_run::outputs::documents::result_summary::{self, FileDocument, ResultSummary, Validity};
use lon_run::outputs::logs::audit_folder::sum_of;

/// Name in the folder of an accuracy run that the official LoadGen led: what `accuracy --json` printed.
pub(crate) const SCORE_FILE: &str = "accuracy_score.json";

/// A finished run.
pub(super) struct RunResult {
    /// The engine that led it, with its version.
    pub(super) engine: String,
    /// When it began, UTC.
    pub(super) started_utc: String,
    /// The scores of an accuracy run; none: nothing here has computed them.
    pub(super) score: Option<Scored>,
}

/// The scores of the answers of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Scored {
    /// The score in the benchmark's first metric, in its unit.
    pub(super) value: f64,
    pub(super) samples: usize,
    pub(super) others: Vec<OtherScore>,
}

impl From<AccuracyDocument> for Scored {
    fn from(AccuracyDocument { value, samples, others, .. }: AccuracyDocument) -> Scored {
        Scored { value, samples, others }
    }
}

impl Step<'_> {
    /// The name of the document that says what came of a run.
    pub(super) fn result_file(&self) -> &'static str {
        match self.submission.engine {
            Engine::Own => result_summary::FILE,
            Engine::Official(_) => qdl_result::FILE,
        }
    }

    /// A document of the run folder.
    pub(super) fn document<T: DeserializeOwned>(&self, name: &str) -> Result<T> {
        let path = self.folder().join(name);
        let text = files::text(&path, Limit::DOCUMENT);
        let text = text.with_context(|| format!("cannot read {}", path.display()))?;
        of_text(&text).with_context(|| path.display().to_string())
    }

    /// The type of the answers, which folders of other engines do not say to an audit. None: it is not known.
    pub(super) fn answers(&self) -> Option<LabelType> {
        let document: QdlResult = self.document(qdl_result::FILE).ok()?;
        LabelType::of(document.network.rows()?.dtype())
    }

    /// The detail log of the run.
    pub(super) fn detail(&self) -> Result<Detail> {
        let path = self.folder().join(DETAIL_FILE);
        let text = files::text(&path, Limit::LOG).with_context(|| format!("cannot read {}", path.display()))?;
        Detail::read(&text).map_err(|why| anyhow!("{}: {why}", path.display()))
    }

    /// Returns the engine, start and score of the run, as its documents state them.
    ///
    /// # Errors
    /// A document is missing or cannot be read.
    pub(super) fn run_result(&self) -> Result<RunResult> {
        if self.submission.engine == Engine::Own {
            let summary = self.document::<ResultSummary>(result_summary::FILE)?.consistent()?;
            let score = summary.accuracy.map(Scored::from);
            return Ok(RunResult { engine: summary.loadgen_version, started_utc: summary.made.started_utc, score });
        }
        let result: QdlResult = self.document(qdl_result::FILE)?;
        let version = self.detail()?.text("loadgen_version").unwrap_or_default().to_owned();
        let is_scored = self.kind == Kind::Accuracy && self.folder().join(SCORE_FILE).is_file();
        let score: Option<AccuracyDocument> = is_scored.then(|| self.document(SCORE_FILE)).transpose()?;
        Ok(RunResult {
            engine: format!("Official LoadGen {version} over {}", result.qdl_version),
            started_utc: result.made.started_utc,
            score: score.map(Scored::from),
        })
    }

    /// Refuses a run that no submission can have.
    ///
    /// # Errors
    /// The run is INVALID or cannot be used, or a file of it was changed; the text says which.
    pub(super) fn refuse_unusable(&self) -> Result<()> {
        if self.submission.engine == Engine::Own {
            let summary = self.document::<ResultSummary>(result_summary::FILE)?.consistent()?;
            let broken = summary.reasons.join("; ");
            // The official script may score it: without its text the step has no score.
            let is_to_score = self.kind == Kind::Accuracy && summary.lacks_only_a_score();
            ensure!(summary.result == Validity::Valid || is_to_score, "the run is INVALID: {broken}");
            let official = summary.official_result.is_none_or(|result| result == Validity::Valid);
            ensure!(official, "the run is INVALID by the official rules");
            ensure!(summary.find_peak.is_none(), "the run was a search for the peak");
            return self.unaltered(&summary.files);
        }
        let result: QdlResult = self.document(qdl_result::FILE)?;
        ensure!(result.state == QdlState::Usable, "the run cannot be used: {}", result.reasons.join("; "));
        self.unaltered(&result.files)?;
        let detail = self.detail()?;
        ensure!(!detail.has_errors() && detail.error_lines() == 0, "the official LoadGen has logged errors");
        let is_valid = self.kind == Kind::Accuracy || detail.is_valid();
        ensure!(is_valid, "the run is INVALID: the summary of the official LoadGen says why");
        let (round, seed) = (self.submission.rules.round, detail.whole("effective_qsl_rng_seed"));
        let message = "the official LoadGen that led the run is of another round: its seeds are not those of";
        ensure!(seed == Some(round.seeds.qsl), "{message} {}", round.name);
        Ok(())
    }

    /// Refuses a folder in which a file is another one than the run wrote.
    fn unaltered(&self, files: &BTreeMap<String, FileDocument>) -> Result<()> {
        for (name, listed) in files {
            let path = self.folder().join(name);
            let sum = sum_of(&path).with_context(|| format!("cannot read {}", path.display()))?;
            ensure!(sum == listed.sha256, "{name} was changed after the run");
        }
        Ok(())
    }
}
