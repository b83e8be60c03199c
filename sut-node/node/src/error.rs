//! Why a node does not serve.

use std::io;

use lon_net::throwaway::ThrowawayError;
use lon_net::tls::TlsError;

use crate::backend::BackendError;
use crate::model::ModelName;
use crate::pipeline::preprocessing::PreprocessError;

/// Why a node could not serve, or stopped serving.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The backend could not be brought up.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// One of several models could not be brought up.
    #[error("model {model}: {source}")]
    Model {
        /// The name of the model.
        model: ModelName,
        /// Why it could not.
        source: Box<ServeError>,
    },
    /// Workers were to be shared, and fewer than two models have workers that take batches.
    #[error(
        "--shared-workers is for two or more models whose workers take batches: give --backend several times, or leave \
         it out"
    )]
    NothingToShare,
    /// The model does not take what pre-processing makes.
    #[error(transparent)]
    Preprocess(#[from] PreprocessError),
    /// `bench` was asked for something that the node does not do.
    #[error("bench: {0}")]
    Bench(String),
    /// The operating system refused a thread, a runtime or a socket.
    #[error("{what}: {source}")]
    Os {
        /// Description of the attempt that failed.
        what: &'static str,
        /// The operating system's answer.
        source: io::Error,
    },
    /// A node without TLS could not make the certificate that QUIC needs.
    #[error(transparent)]
    Throwaway(#[from] ThrowawayError),
    /// The certificate that was made for QUIC cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// A transport failed as a whole. The failure of one connection only ends that connection.
    #[error("serving failed: {0}")]
    Transport(#[from] tonic::transport::Error),
}

/// Makes the [`ServeError`] for something that the operating system refused.
pub(crate) fn os(what: &'static str) -> impl Fn(io::Error) -> ServeError {
    move |source| ServeError::Os { what, source }
}
