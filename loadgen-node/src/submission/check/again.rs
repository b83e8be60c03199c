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
    let again = place.path().join("tree");
    built::build(submission, &again).context("--file")?;
    let root = tree.root().to_owned();
    for path in built::files(&again)? {
        let inner = path.strip_prefix(&again)?;
        let ours = files::bytes(&path, Limit::LOG).with_context(|| path.display().to_string())?;
        let theirs = root.join(inner);
        match is_file(&theirs).then(|| files::bytes(&theirs, Limit::bytes(ours.len() as u64))) {
            Some(Ok(bytes)) if bytes == ours => {}
            Some(_) => tree.found(&theirs, "is another file than `submission build` makes of the runs"),
            None => tree.found(&theirs, "is missing, and `submission build` makes it"),
        }
    }
    for path in built::files(&root)? {
        if !again.join(path.strip_prefix(&root)?).exists() {
            tree.found(&path, "is not made by `submission build`");
        }
    }
    Ok(())
}

fn is_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|data| data.is_file())
}
