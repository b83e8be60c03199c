//! Reads `result_summary.json`, and believes it where it fits together.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail};
use loadgen::official::DETAIL_FILE;
use lon_proto::files::{self, Limit};
use lon_proto::text::on_one_line;
use lon_qsl::accuracy::ScoreError;
use lon_shell::documents::of_text;

use super::result_summary::{FILE, ResultSummary, SCHEMA, Validity};
use crate::verdict::reasons::NO_TRUTHS;

/// Run folders that an error names at most.
const MOST_NAMED: usize = 8;

/// Of a folder with the logs of an official LoadGen, and without a result of this program: which command reads it.
pub fn of_official(folder: &Path) -> Option<String> {
    let is_official = folder.join(DETAIL_FILE).exists() && !folder.join(FILE).exists();
    let folder_text = || on_one_line(&folder.display().to_string());
    is_official.then(|| {
        format!(
            "{0} has the logs of an official LoadGen, which `loadgen-node replay --official {0}` judges",
            folder_text()
        )
    })
}

impl ResultSummary {
    /// The setting of the load that the SUT got, with its value. None where the scenario has no such setting, and
    /// in searches for the peak, whose trials have loads of their own.
    pub fn offered(&self) -> Option<(&'static str, f64)> {
        let settings = &self.settings;
        let load = settings.scenario.traffic().load(settings).filter(|_| self.find_peak.is_none())?;
        Some((load.setting, load.value))
    }

    /// Reads the file of a run folder.
    ///
    /// # Errors
    /// There is none, or it is not what a run writes.
    pub fn of_folder(folder: &Path) -> anyhow::Result<ResultSummary> {
        ResultSummary::with_text(folder).map(|(result, _)| result)
    }

    /// The same, and its text.
    ///
    /// # Errors
    /// As of [`Self::of_folder`].
    pub fn with_text(folder: &Path) -> anyhow::Result<(ResultSummary, String)> {
        let (path, path_text) = (folder.join(FILE), |path: &Path| on_one_line(&path.display().to_string()));
        if let Some(advice) = of_official(folder) {
            bail!("{advice}");
        }
        let text = files::text(&path, Limit::DOCUMENT).with_context(|| not_a_run(folder))?;
        let not_written = || format!("{} is not what a run writes", path_text(&path));
        Ok((ResultSummary::of_text(&text).with_context(not_written)?, text))
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// It is no such document, or is not [consistent](Self::consistent).
    pub(crate) fn of_text(text: &str) -> anyhow::Result<ResultSummary> {
        of_text::<ResultSummary>(text)?.consistent()
    }

    /// Returns true when nothing speaks against the run but that its accuracy target was not judged. The official
    /// script can still score its log. Results of earlier versions have sentences and no codes.
    pub fn lacks_only_a_score(&self) -> bool {
        let is_it = match self.reason_codes.is_empty() {
            false => self.reason_codes.iter().all(|code| code == NO_TRUTHS),
            true => self.reasons.iter().all(|why| ScoreError::is_no_truths(why)),
        };
        !self.interrupted && !self.reasons.is_empty() && is_it
    }

    /// The same, unless it contradicts itself: whoever reads VALID has to be able to rely on it.
    ///
    /// # Errors
    /// It is VALID with reasons against that, or of a run that was broken off; its reasons have other codes than
    /// sentences; or its form is of a later version.
    pub fn consistent(self) -> anyhow::Result<ResultSummary> {
        if self.schema > SCHEMA {
            bail!("{FILE} has form {}, and this program knows {SCHEMA}: a later version wrote it", self.schema);
        }
        let against = self.interrupted.then_some("the run was broken off").or(self.reasons.first().map(|why| &**why));
        let (reasons, codes) = (self.reasons.len(), self.reason_codes.len());
        if codes > 0 && codes != reasons {
            bail!("{FILE} contradicts itself, so no run has written it like this: {reasons} reasons, {codes} codes");
        }
        if let (Validity::Valid, Some(why)) = (self.result, against) {
            bail!("{FILE} contradicts itself, so no run has written it like this: VALID, but {}", on_one_line(why));
        }
        Ok(self)
    }
}

/// The reason why a folder is no run folder. Run folders below it are named: a mix that was killed has no more.
pub(crate) fn not_a_run(folder: &Path) -> String {
    let path_text = |path: &Path| on_one_line(&path.display().to_string());
    let below = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut runs: Vec<String> = below.filter(|path| path.join(FILE).is_file()).map(|path| path_text(&path)).collect();
    runs.sort();
    let more = match runs.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more (`loadgen-node list` shows them)"),
    };
    runs.truncate(MOST_NAMED);
    match runs.is_empty() {
        true => format!("{} is not a run folder: it has no readable {FILE}", path_text(folder)),
        false => {
            format!("{} is not a run folder, but has some: name one of {}{more}", path_text(folder), runs.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn invalid(reasons: &[&str], codes: &[&str]) -> ResultSummary {
        let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        ResultSummary { reasons: texts(reasons), reason_codes: texts(codes), ..ResultSummary::default() }
    }

    #[test]
    fn a_run_that_lacks_a_score_is_known_by_codes_and_in_old_results_by_words() {
        let reason = "the accuracy target top1 was not judged: the dataset has no labels";
        for (reasons, codes, lacks) in [
            (&["any words"][..], &[NO_TRUTHS][..], true),
            (&["any words", "others"], &[NO_TRUTHS, "stall"], false),
            (&[reason], &["accuracy"], false),
            (&[reason], &[], true),
            (&["any words"], &[], false),
            (&[], &[], false),
        ] {
            assert_eq!(invalid(reasons, codes).lacks_only_a_score(), lacks, "{reasons:?} {codes:?}");
        }
    }

    #[test]
    fn codes_stand_beside_all_reasons_or_none() {
        assert!(invalid(&["a", "b"], &["x", "y"]).consistent().is_ok() && invalid(&["a"], &[]).consistent().is_ok());
        let message = invalid(&["a", "b"], &["x"]).consistent().unwrap_err().to_string();
        assert!(message.contains("2 reasons, 1 codes"), "{message}");
    }
}
