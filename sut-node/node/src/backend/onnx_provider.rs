//! The names of ONNX Runtime's execution providers, as `--ep` takes them. The library says which of them it has.

use std::fmt;
use std::str::FromStr;

/// An execution provider of ONNX Runtime: what it computes on. One of those that this program can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Provider(&'static str);

impl Provider {
    /// All providers that can be asked for, by ONNX Runtime's names without their common ending (`ExecutionProvider`).
    pub const NAMES: [&str; 15] = [
        "ACL",
        "Azure",
        "CANN",
        "CPU",
        "CUDA",
        "Dnnl",
        "MIGraphX",
        "NvTensorRTRTX",
        "OpenVINO",
        "QNN",
        "ROCM",
        "Tensorrt",
        "VitisAI",
        "WebGpu",
        "Xnnpack",
    ];

    /// The name without the common ending, for example `CUDA` or `Tensorrt`.
    pub fn name(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// The error for a text that names no provider.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not an execution provider (known: {names})", names = Provider::NAMES.join(", "))]
pub struct UnknownProvider(String);

/// Upper and lower case are the same, and the full name (`CUDAExecutionProvider`) is accepted.
impl FromStr for Provider {
    type Err = UnknownProvider;

    fn from_str(text: &str) -> Result<Provider, UnknownProvider> {
        let lower = text.to_ascii_lowercase();
        let short = lower.strip_suffix("executionprovider").unwrap_or(&lower);
        let entry = Provider::NAMES.into_iter().find(|name| name.eq_ignore_ascii_case(short));
        entry.map(Provider).ok_or_else(|| UnknownProvider(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_known_in_any_capitals_or_not_at_all() {
        for text in ["cuda", "CUDA", "CUDAExecutionProvider"] {
            assert_eq!(text.parse::<Provider>().unwrap().name(), "CUDA");
        }
        for text in ["", "gpu", "ExecutionProvider"] {
            let error = text.parse::<Provider>().unwrap_err().to_string();
            assert!(error.contains(&format!("'{text}'")) && error.contains("CPU, CUDA"), "{error}");
        }
    }
}
