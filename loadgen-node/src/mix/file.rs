//! The file of a mix, as it is written: TOML, by one struct. Unknown keys are errors.

use serde::Deserialize;
use toml::Spanned;

use crate::keys::key_values::Keys;

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MixFile {
    /// Duration for which each tenant runs alone before: `60s`. Its latencies alone are what those beside others are
    /// compared with. Absent: no tenant runs alone.
    pub(super) alone_first: Option<Spanned<String>>,
    /// The tenants. Their keys are `name`, `start`, `nodes`, `settings.KEY`, and the flags of `loadgen-node run`
    /// without dashes in front.
    pub(super) tenant: Vec<Spanned<Keys>>,
}
