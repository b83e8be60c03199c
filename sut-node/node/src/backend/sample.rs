//! One sample as a backend sees it.

use bytes::Bytes;

use crate::tensor::Tensor;

/// One sample as a backend sees it.
#[derive(Clone, Debug, Default)]
pub struct BackendSample {
    /// The payload as it came, inflated if the run has a codec.
    pub bytes: Bytes,
    /// Its tensors. Empty for a backend with [`Input::Opaque`](super::Input::Opaque).
    pub tensors: Vec<Tensor>,
}
