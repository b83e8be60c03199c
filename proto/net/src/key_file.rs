//! Files with secrets in them: private keys, tokens, API keys. They are not read when others could read them, too.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use lon_proto::files;

/// The mode bits that others must not have: all of them.
const OTHERS: u32 = 0o007;
/// The mode bits that the group must not have when the file belongs to the reader.
const GROUP: u32 = 0o070;
/// The mode bits that the group must not have when the file belongs to root. The group may read such a file.
const GROUP_CHANGES: u32 = 0o030;

/// The error for a file with a secret that was not read.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// The operating system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Others can read or change the file.
    #[error(
        "can be read or changed by others (mode {mode:03o}): take that away (chmod 600), or give \
         --allow-open-key-files where the mode says nothing"
    )]
    Open {
        /// The file's permission bits.
        mode: u32,
    },
}

/// Reads a file with a secret. Only its owner may read it, or, when it is root's and not the reader's own, its group:
/// so files are handed to services. `allows_open`: whatever its mode is.
///
/// # Errors
/// It cannot be read, or others can read it as well.
pub fn read(path: &Path, allows_open: bool) -> Result<Vec<u8>, KeyFileError> {
    let file = File::open(path)?;
    // Of the file that is open, whatever links lead to it.
    let metadata = file.metadata()?;
    let mode = metadata.mode() & 0o777;
    if !allows_open && mode & forbidden(metadata.uid(), nix::unistd::geteuid().as_raw()) != 0 {
        return Err(KeyFileError::Open { mode });
    }
    Ok(files::whole_user_file(&file)?)
}

/// The permission bits that a file of this owner must not have for this reader.
fn forbidden(owner: u32, reader: u32) -> u32 {
    let of_group = if owner == 0 && reader != 0 { GROUP_CHANGES } else { GROUP };
    OTHERS | of_group
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn what_others_can_read_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, "secret").unwrap();
        for (mode, is_read) in [(0o600, true), (0o400, true), (0o640, false), (0o604, false), (0o644, false)] {
            set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let outcome = read(&path, false);
            assert_eq!(outcome.is_ok(), is_read, "{mode:o}: {outcome:?}");
            if let Err(error) = outcome {
                let text = error.to_string();
                assert!(text.contains(&format!("mode {mode:o}")) && text.contains("--allow-open-key-files"), "{text}");
            }
            assert_eq!(read(&path, true).unwrap(), b"secret", "{mode:o}");
        }
        assert!(matches!(read(&folder.path().join("none"), false), Err(KeyFileError::Io(_))));
        // A link has a mode of its own, which says nothing.
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(read(&link, false).is_err());
    }

    #[test]
    fn a_pipe_of_the_user_is_read() {
        use std::io::Write as _;
        use std::os::fd::AsRawFd as _;
        let (reader, mut writer) = io::pipe().unwrap();
        writer.write_all(b"secret").unwrap();
        drop(writer);
        assert_eq!(read(Path::new(&format!("/dev/fd/{}", reader.as_raw_fd())), false).unwrap(), b"secret");
    }

    #[test]
    fn the_group_may_read_what_root_hands_to_it() {
        let (root, service) = (0, 1000);
        assert_eq!(forbidden(root, service) & 0o440, 0);
        assert_eq!(forbidden(root, service) & 0o640, 0);
        for mode in [0o660, 0o444] {
            assert_ne!(forbidden(root, service) & mode, 0);
        }
        assert_ne!(forbidden(service, service) & 0o440, 0);
        assert_ne!(forbidden(root, root) & 0o440, 0);
    }
}
