//! Files with a token, certificates and keys that their owner alone can read.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// The files, in a folder of their own.
pub struct Secrets(TempDir);

impl Default for Secrets {
    fn default() -> Secrets {
        Secrets::new()
    }
}

impl Secrets {
    /// A folder with a token in it.
    pub fn new() -> Secrets {
        let secrets = Secrets(tempfile::tempdir().unwrap());
        secrets.write("token", "a-token-of-these-nodes");
        secrets
    }

    /// Where they are.
    pub fn folder(&self) -> &Path {
        self.0.path()
    }

    /// Where the file of this name is.
    pub fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    /// Writes a file that its owner alone can read.
    pub fn write(&self, name: &str, text: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        let path = PathBuf::from(self.path(name));
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    }

    /// Flags, of which those with a file have its name here.
    pub fn flags(&self, flags: &[(&str, &str)]) -> Vec<String> {
        flags.iter().flat_map(|(flag, file)| [(*flag).to_owned(), self.path(file)]).collect()
    }
}

/// Flags as arguments.
pub fn texts(flags: &[String]) -> Vec<&str> {
    flags.iter().map(String::as_str).collect()
}
