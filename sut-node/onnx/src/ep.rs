//! Execution providers: which of them ONNX Runtime's library has, and how a session is told to use one.
//!
//! A library has the providers that it was built with. One that is there may still not work on this machine (no such
//! device, no driver); then making a session fails with the library's reason. Nothing falls back to the CPU in silence,
//! but for single operators that a provider does not have: ONNX Runtime runs those on the CPU, and logs it.

use lon_sut::backend::Provider;
use ort::ep::{self, ExecutionProvider as _, ExecutionProviderDispatch};

/// Functions over all of [`Provider::NAMES`], made from one line for each.
macro_rules! providers {
    ($($name:literal => $kind:ident,)*) => {
        /// Returns true when the library has this provider.
        fn is_there(name: &str) -> ort::Result<bool> {
            match name {
                $($name => ep::$kind::is_available(),)*
                _ => Ok(false),
            }
        }

        /// Returns the session setting that uses this provider.
        fn build(name: &str) -> Option<ExecutionProviderDispatch> {
            match name {
                $($name => Some(ep::$kind::default().build().error_on_failure()),)*
                _ => None,
            }
        }

        /// Each provider has the name that ONNX Runtime has for it.
        #[cfg(test)]
        const FULL_NAMES: [(&str, &str); Provider::NAMES.len()] = [$(($name, ep::$kind::NAME)),*];
    };
}

providers! {
    "ACL" => ACL,
    "Azure" => Azure,
    "CANN" => CANN,
    "CPU" => CPU,
    "CUDA" => CUDA,
    "Dnnl" => OneDNN,
    "MIGraphX" => MIGraphX,
    "NvTensorRTRTX" => NVRTX,
    "OpenVINO" => OpenVINO,
    "QNN" => QNN,
    "ROCM" => ROCm,
    "Tensorrt" => TensorRT,
    "VitisAI" => Vitis,
    "WebGpu" => WebGPU,
    "Xnnpack" => XNNPACK,
}

/// Checks that the library, which must be open, has this provider.
///
/// # Errors
/// It has not; the text says which ones it has.
pub(super) fn check(provider: Provider) -> Result<(), String> {
    let there = |name: &&str| is_there(name).unwrap_or(false);
    if there(&provider.name()) {
        return Ok(());
    }
    let names: Vec<&str> = Provider::NAMES.into_iter().filter(there).collect();
    let names = if names.is_empty() { "none that can be named here".to_owned() } else { names.join(", ") };
    Err(format!("it was built without the execution provider {provider} (--ep); it has {names}"))
}

/// Returns the session setting that computes on this provider.
pub(super) fn dispatch(provider: Option<Provider>) -> Option<ExecutionProviderDispatch> {
    // A session uses the CPU without being told.
    provider.map(Provider::name).filter(|&name| name != "CPU").and_then(build)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_every_name_once_and_as_the_library_has_it() {
        assert_eq!(FULL_NAMES.map(|(name, _)| name), Provider::NAMES);
        for (name, full) in FULL_NAMES {
            assert_eq!(full.strip_suffix("ExecutionProvider"), Some(name));
        }
    }
}
