//! Trusting whoever answers. Only for QUIC, which knows no plain text: where plain text would be allowed, so is this.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};

use super::{Pair, Protocol, TlsError, TlsFiles, client_config, provider};

/// A client that accepts any certificate: encrypted, but anyone may be at the other end.
///
/// A type of its own, so that it cannot be dialled with over TCP. Whoever makes one answers for it: on loopback, or
/// because the user said `--insecure`.
#[derive(Clone, Debug)]
pub struct Unverified {
    config: Arc<ClientConfig>,
}

impl Unverified {
    /// With the certificate that `files` name to show, if they do; their `ca` is not looked at.
    ///
    /// # Errors
    /// Certificate and key are not a usable pair.
    pub fn new(files: &TlsFiles) -> Result<Unverified, TlsError> {
        let pair = Pair::read(files)?;
        let provider = provider();
        let anyone = Arc::new(Anyone { algorithms: provider.signature_verification_algorithms });
        let config = client_config(&provider, pair.as_ref(), Protocol::Tcp, |builder| {
            builder.dangerous().with_custom_certificate_verifier(anyone)
        })?;
        Ok(Unverified { config })
    }

    pub(crate) fn config(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.config)
    }
}

/// Does not ask whose certificate it is, only whether the other end has its key.
#[derive(Debug)]
struct Anyone {
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
