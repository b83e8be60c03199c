//! The place of a folder that a new job takes the name of. Nothing that was measured is deleted.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};

/// Gives a folder another name: `performance.1`.
///
/// # Errors
/// It cannot be renamed.
pub(crate) fn set_aside(folder: &Path) -> anyhow::Result<PathBuf> {
    let numbered = (1..).map(|number: u32| folder.with_extension(number.to_string()));
    let mut free = numbered.filter(|path| path.symlink_metadata().is_err());
    let aside = free.next().ok_or_else(|| anyhow!("no name is free beside {}", folder.display()))?;
    fs::rename(folder, &aside).with_context(|| format!("cannot rename {}", folder.display()))?;
    Ok(aside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_folder_keeps_what_is_in_it() {
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join("performance");
        for number in 1..3 {
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("a"), number.to_string()).unwrap();
            assert_eq!(set_aside(&folder).unwrap(), above.path().join(format!("performance.{number}")));
        }
        assert_eq!(fs::read_to_string(above.path().join("performance.2/a")).unwrap(), "2");
    }
}
