//! Where ONNX Runtime's shared library is. It is found by looking, never by the dynamic loader's own search: which
//! engine runs a model must not depend on what else happens to be installed.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use lon_sut::backend::OnnxEngine;
use lon_sut::backend_files::{self, Limit};

use super::error::OnnxError;

/// A library file and how it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Library {
    pub(super) path: PathBuf,
    pub(super) origin: &'static str,
}

impl Library {
    pub(super) fn unusable(&self, reason: impl Into<String>) -> OnnxError {
        OnnxError::Library { path: self.path.clone(), origin: self.origin, reason: reason.into() }
    }

    /// The error when the library works, but does not have the execution provider.
    pub(super) fn unusable_for(&self, reason: impl Into<String>) -> OnnxError {
        OnnxError::Provider { path: self.path.clone(), reason: reason.into() }
    }
}

/// The library to use; `None`: the embedded engine is to be used instead.
pub(super) fn locate(engine: OnnxEngine) -> Result<Option<Library>, OnnxError> {
    let folder = std::env::current_exe().ok().and_then(|program| program.parent().map(Path::to_owned));
    locate_in(engine, std::env::var_os("ORT_DYLIB_PATH"), folder.as_deref())
}

fn locate_in(engine: OnnxEngine, named: Option<OsString>, folder: Option<&Path>) -> Result<Option<Library>, OnnxError> {
    if engine == OnnxEngine::Tract {
        return Ok(None);
    }
    if let Some(named) = named.filter(|path| !path.is_empty()) {
        let library = Library { path: PathBuf::from(named), origin: "named by ORT_DYLIB_PATH" };
        return match fs::metadata(&library.path) {
            Ok(metadata) if metadata.is_file() => Ok(Some(library)),
            Ok(_) => Err(library.unusable("it is not a file")),
            Err(error) => Err(library.unusable(error.to_string())),
        };
    }
    let neighbour = folder.and_then(newest_in).map(|path| Library { path, origin: "found beside the program" });
    match (neighbour, engine) {
        (None, OnnxEngine::OnnxRuntime) => Err(OnnxError::NoLibrary),
        (neighbour, _) => Ok(neighbour),
    }
}

/// `libonnxruntime.so`, else the `libonnxruntime.so.VERSION` with the highest version.
fn newest_in(folder: &Path) -> Option<PathBuf> {
    let plain = folder.join(LIBRARY);
    if plain.is_file() {
        return Some(plain);
    }
    let files = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).filter(|path| path.is_file());
    let versioned = files.filter_map(|path| Some((numbers(&version_in_name(&path)?), path)));
    versioned.max().map(|(_, path)| path)
}

const LIBRARY: &str = "libonnxruntime.so";

fn version_in_name(path: &Path) -> Option<String> {
    let version = path.file_name()?.to_str()?.strip_prefix(LIBRARY)?.strip_prefix('.')?;
    version.starts_with(|c: char| c.is_ascii_digit()).then(|| version.to_owned())
}

fn numbers(version: &str) -> Vec<u64> {
    version.split('.').map(|number| number.parse().unwrap_or(0)).collect()
}

/// The library's version, for people to read. The crate that calls the library checks the version but does not report
/// it. It is taken from the file name (links followed), else from the version that the library gives its symbols.
pub(super) fn version(path: &Path) -> Option<String> {
    let name = fs::canonicalize(path).ok().and_then(|file| version_in_name(&file));
    name.or_else(|| symbol_version(&backend_files::bytes(path, Limit::LIST).ok()?))
}

fn symbol_version(library: &[u8]) -> Option<String> {
    const MARK: &[u8] = b"\0VERS_";
    let at = library.windows(MARK.len()).position(|bytes| bytes == MARK)?;
    let tail = &library[at + MARK.len()..];
    let end = tail.iter().position(|&byte| byte == 0)?;
    let version = std::str::from_utf8(&tail[..end]).ok()?;
    (end < 20 && version.starts_with(|c: char| c.is_ascii_digit())).then(|| version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_wins_and_is_never_passed_over_in_silence() {
        let folder = tempfile::tempdir().unwrap();
        let find = |engine, named: &str| locate_in(engine, Some(named.into()), Some(folder.path()));
        assert_eq!(find(OnnxEngine::Auto, "").unwrap(), None);
        assert!(matches!(find(OnnxEngine::OnnxRuntime, ""), Err(OnnxError::NoLibrary)));
        let error = find(OnnxEngine::Auto, "/no/libonnxruntime.so").unwrap_err().to_string();
        assert!(error.contains("/no/libonnxruntime.so (named by ORT_DYLIB_PATH)") && error.contains("No such file"));
        let error = find(OnnxEngine::Auto, "/").unwrap_err().to_string();
        assert!(error.contains("not a file"), "{error}");
        assert_eq!(find(OnnxEngine::Tract, "/no/libonnxruntime.so").unwrap(), None);
    }

    #[test]
    fn beside_the_program_the_newest_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str| fs::write(folder.path().join(name), b"").unwrap();
        let file_name = || {
            let library = locate_in(OnnxEngine::Auto, None, Some(folder.path())).unwrap();
            library.map(|library| library.path.file_name().unwrap().to_str().unwrap().to_owned())
        };
        put("libonnxruntime_providers_shared.so");
        put("libonnxruntime.so.old");
        assert_eq!(file_name(), None);
        put("libonnxruntime.so.1.9.0");
        put("libonnxruntime.so.1.31.1");
        assert_eq!(file_name().as_deref(), Some("libonnxruntime.so.1.31.1"));
        put("libonnxruntime.so");
        assert_eq!(file_name().as_deref(), Some("libonnxruntime.so"));
    }

    #[test]
    fn the_version_is_in_the_name_or_in_the_symbols() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str, content: &[u8]| {
            let path = folder.path().join(name);
            fs::write(&path, content).unwrap();
            path
        };
        assert_eq!(version(&path("libonnxruntime.so.1.31.1", b"")).as_deref(), Some("1.31.1"));
        assert_eq!(version(&path("libonnxruntime.so", b"..\0VERS_1.24.4\0..")).as_deref(), Some("1.24.4"));
        assert_eq!(version(&path("other.so", b"\0VERS_")), None);
        std::os::unix::fs::symlink("libonnxruntime.so.1.31.1", folder.path().join("link.so")).unwrap();
        assert_eq!(version(&folder.path().join("link.so")).as_deref(), Some("1.31.1"));
    }
}
