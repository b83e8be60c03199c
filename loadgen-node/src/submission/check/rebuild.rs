//! The tree against what `submission build` makes of the same runs: byte by byte.

use std::path::Path;

use anyhow::{Context as _, Result};
use lon_proto::files::{self, Limit};

use super::super::checked::Submission;
use super::super::tree as built;
use super::tree::Tree;

/// Names every file that the runs do not lead to.
///
/// # Errors
/// The runs are not all there, or files cannot be read or written.
pub(super) fn check(tree: &mut Tree, submission: &Submission) -> Result<()> {
    let place = tempfile::tempdir().context("cannot make a folder for the comparison")?;
    let own_root = place.path().join("tree");
    built::build(submission, &own_root).context("--file")?;
    let root = tree.root().to_owned();
    for path in built::files(&own_root)? {
        let inner = path.strip_prefix(&own_root)?;
        let ours = files::bytes(&path, Limit::LOG).with_context(|| path.display().to_string())?;
        let theirs = root.join(inner);
        match is_file(&theirs).then(|| files::bytes(&theirs, Limit::bytes(ours.len() as u64))) {
            Some(Ok(bytes)) if bytes == ours => {}
            Some(_) => tree.add_fault(&theirs, "is another file than `submission build` makes of the runs"),
            None => tree.add_fault(&theirs, "is missing, and `submission build` makes it"),
        }
    }
    for path in built::files(&root)? {
        if !own_root.join(path.strip_prefix(&root)?).exists() {
            tree.add_fault(&path, "is not made by `submission build`");
        }
    }
    Ok(())
}

fn is_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|data| data.is_file())
}
