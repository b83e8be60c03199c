//! From the text of `--backend` to a backend.

use std::sync::Arc;

#[cfg(feature = "onnx")]
use super::onnx;
use super::{Backend, BackendError, BackendOptions, null, openai, synthetic};

/// Opens the backend that `text` names: `null`, `synthetic:SPEC`, `onnx:PATH` or `openai:URL`.
///
/// # Errors
/// See [`BackendError`]; each says what to give instead.
pub fn open(text: &str, options: &BackendOptions) -> Result<Arc<dyn Backend>, BackendError> {
    let (kind, rest) = text.split_once(':').map_or((text, None), |(kind, rest)| (kind, Some(rest)));
    match (kind, rest) {
        ("null", None) => Ok(Arc::new(null::Null::new())),
        ("synthetic", Some(spec)) => Ok(Arc::new(synthetic::Synthetic::new(&spec.parse()?, &options.tokens))),
        ("onnx", Some(path)) if !path.is_empty() => open_onnx(path, options),
        ("openai", Some(url)) if !url.is_empty() => Ok(Arc::new(openai::OpenAi::open(url, options)?)),
        _ => Err(BackendError::Unknown(text.to_owned())),
    }
}

#[cfg(feature = "onnx")]
fn open_onnx(path: &str, options: &BackendOptions) -> Result<Arc<dyn Backend>, BackendError> {
    Ok(Arc::new(onnx::Onnx::open(path.as_ref(), options)?))
}

#[cfg(not(feature = "onnx"))]
fn open_onnx(_path: &str, _options: &BackendOptions) -> Result<Arc<dyn Backend>, BackendError> {
    Err(BackendError::NoOnnx)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_the_flag_becomes_a_backend() {
        let engine = |text: &str| open(text, &BackendOptions::default()).map(|b| b.info().engine.clone());
        assert_eq!(engine("null").unwrap(), "null");
        assert_eq!(engine("synthetic:constant=2ms").unwrap(), "synthetic:constant=2ms");
        for bad in ["", "nul", "null:", "null:x", "synthetic", "onnx", "onnx:", "openai", "openai:", "tensorrt:x"] {
            let error = engine(bad).unwrap_err().to_string();
            assert!(error.contains(&format!("'{bad}'")) && error.contains("onnx:MODEL.onnx"), "{error}");
        }
        let error = engine("onnx:/no/such/model.onnx").unwrap_err().to_string();
        let part = if cfg!(feature = "onnx") { "/no/such/model.onnx" } else { "built without ONNX support" };
        assert!(error.contains(part), "{error}");
    }
}
