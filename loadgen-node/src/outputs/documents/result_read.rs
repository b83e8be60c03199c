//! Reads `result_summary.json`, and believes it where it fits together.

use anyhow::bail;
use lon_proto::text::on_one_line;

use super::result_summary::{FILE, ResultSummary, SCHEMA, Validity};

impl ResultSummary {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// It is no such document, or is not [consistent](Self::consistent).
    pub(crate) fn of_text(text: &str) -> anyhow::Result<ResultSummary> {
        serde_json::from_str::<ResultSummary>(text)?.consistent()
    }

    /// The same, unless it contradicts itself: whoever reads VALID has to be able to rely on it.
    ///
    /// # Errors
    /// It is VALID with reasons against that, or of a run that was broken off; or its form is of a later version.
    pub(crate) fn consistent(self) -> anyhow::Result<ResultSummary> {
        if self.schema > SCHEMA {
            bail!("{FILE} has form {}, and this program knows {SCHEMA}: a later version wrote it", self.schema);
        }
        let against = self.interrupted.then_some("the run was broken off").or(self.reasons.first().map(|why| &**why));
        if let (Validity::Valid, Some(why)) = (self.result, against) {
            bail!("{FILE} contradicts itself, so no run has written it like this: VALID, but {}", on_one_line(why));
        }
        Ok(self)
    }
}
