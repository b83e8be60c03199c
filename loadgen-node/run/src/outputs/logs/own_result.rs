//! The result of a run folder, held against the logs beside it: a result that was put into another run's folder says
//! nothing of that run.

use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use lon_proto::files::{self, Limit};
use lon_proto::sums;
use lon_proto::text::on_one_line;

use super::{DETAIL, SUMMARY};
use crate::outputs::documents::mix_result::{self, MixResult, TenantResult};
use crate::outputs::documents::result_summary::{FILE, FileDocument, ResultSummary, Validity};

/// The longest file that is summed; of longer ones the length is looked at.
const MAX_SUMMED_BYTES: u64 = 64 << 20;

/// Reads the result of a run folder.
///
/// # Errors
/// As of [`ResultSummary::of_folder`], or it is not of this folder.
pub fn read(folder: &Path) -> Result<ResultSummary> {
    let result = ResultSummary::of_folder(folder)?;
    check(folder, &result)?;
    Ok(result)
}

/// Reads the result of a mix's folder; `None`: it has none.
///
/// # Errors
/// It cannot be read, or says VALID of a tenant whose own folder does not.
pub fn read_mix(folder: &Path) -> Result<Option<MixResult>> {
    let path = folder.join(mix_result::FILE);
    if !path.exists() {
        return Ok(None);
    }
    let path_text = || on_one_line(&path.display().to_string());
    let text = files::text(&path, Limit::DOCUMENT).with_context(path_text)?;
    let mix: MixResult = serde_json::from_str(&text).with_context(path_text)?;
    for tenant in mix.tenants.iter().filter(|tenant| tenant.result == Validity::Valid) {
        if read(&tenant_folder(folder, tenant)?)?.result != Validity::Valid {
            bail!("{} says VALID of tenant {}, whose folder does not", path_text(), on_one_line(&tenant.name));
        }
    }
    Ok(Some(mix))
}

/// The run folder of a tenant, below that of its mix.
///
/// # Errors
/// Its path leads elsewhere.
pub fn tenant_folder(mix: &Path, tenant: &TenantResult) -> Result<PathBuf> {
    let path = Path::new(&tenant.folder);
    if tenant.folder.is_empty() || !path.components().all(|part| matches!(part, Component::Normal(_))) {
        bail!("tenant {} has no folder below {}", on_one_line(&tenant.name), on_one_line(&mix.display().to_string()));
    }
    Ok(mix.join(path))
}

/// Checks that the official logs of a folder are those that its result lists. VALID asks for both. The timeline is held
/// against the list where it is read.
///
/// # Errors
/// One is another file, or missing.
pub fn check(folder: &Path, result: &ResultSummary) -> Result<()> {
    let path_text = |name: &str| on_one_line(&folder.join(name).display().to_string());
    let is_valid = result.result == Validity::Valid;
    for name in [SUMMARY, DETAIL] {
        let is_there = folder.join(name).exists();
        match result.files.get(name) {
            None if is_valid => bail!("{} is VALID and lists no {name}: no run writes that", path_text(FILE)),
            Some(_) if is_valid && !is_there => {
                bail!("{} is VALID, and {name}, which it lists, is not beside it", path_text(FILE))
            }
            Some(listed) if is_there && !is_listed(&folder.join(name), listed)? => {
                bail!("{} is not of the run of this folder: {name} beside it is another one", path_text(FILE))
            }
            _ => {}
        }
    }
    Ok(())
}

fn is_listed(path: &Path, listed: &FileDocument) -> Result<bool> {
    let cannot = || format!("cannot read {}", on_one_line(&path.display().to_string()));
    let file = files::open(path, Limit::DATA).with_context(cannot)?;
    let has_length = file.metadata()?.len() == listed.bytes;
    Ok(has_length && (listed.bytes > MAX_SUMMED_BYTES || sums::of(file)?.0 == listed.sha256))
}
