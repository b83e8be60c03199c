//! The three files of TLS, and what is in them. The same flags at both ends.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lon_proto::files;
use rustls::RootCertStore;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, SubjectPublicKeyInfoDer};

use super::TlsError;
use super::clients::public_key;
use crate::key_file::{self, KeyFileError};

/// The values of `--tls-ca`, `--tls-cert` and `--tls-key`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsFiles {
    /// PEM: whom to trust. At a server: whose certificate clients must show.
    pub ca: Option<PathBuf>,
    /// PEM: the certificate to show, and those between it and the CA.
    pub cert: Option<PathBuf>,
    /// PEM: its private key.
    pub key: Option<PathBuf>,
    /// True when the key is read though others can read it, too; see [`crate::key_file`].
    pub allows_open_key: bool,
}

impl TlsFiles {
    /// No flag was given.
    pub fn is_empty(&self) -> bool {
        let TlsFiles { ca, cert, key, allows_open_key: _ } = self;
        ca.is_none() && cert.is_none() && key.is_none()
    }
}

/// PEM text, what it is for and where it came from.
#[derive(Clone)]
pub(super) struct Pem {
    pub(super) flag: &'static str,
    pub(super) origin: String,
    text: Vec<u8>,
}

impl Pem {
    pub(super) fn from_text(flag: &'static str, text: &str) -> Pem {
        Pem { flag, origin: "the text given".to_owned(), text: text.as_bytes().to_vec() }
    }

    fn read(flag: &'static str, path: &Path) -> Result<Pem, TlsError> {
        let text = files::user_file(path).and_then(|text| files::check_mark(&text).map(|()| text));
        let text = text.map_err(|source| TlsError::Unreadable { flag, path: path.to_owned(), source })?;
        Ok(Pem { flag, origin: path.display().to_string(), text })
    }

    /// The private key, which others must not be able to read.
    fn read_key(path: &Path, allows_open: bool) -> Result<Pem, TlsError> {
        let text = key_file::read(path, allows_open).map_err(|error| match error {
            KeyFileError::Io(source) => TlsError::Unreadable { flag: "key", path: path.to_owned(), source },
            source => TlsError::OpenKey { path: path.to_owned(), source },
        })?;
        Ok(Pem { flag: "key", origin: path.display().to_string(), text })
    }

    fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, TlsError> {
        let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&self.text).collect();
        let certificates = certificates.map_err(|error| self.damaged(&error))?;
        if certificates.is_empty() { Err(self.nothing("certificate", "CERTIFICATE")) } else { Ok(certificates) }
    }

    fn key(&self) -> Result<PrivateKeyDer<'static>, TlsError> {
        PrivateKeyDer::from_pem_slice(&self.text).map_err(|error| match error {
            pem::Error::NoItemsFound => self.nothing("private key", "PRIVATE KEY"),
            error => self.damaged(&error),
        })
    }

    fn nothing(&self, content: &'static str, label: &'static str) -> TlsError {
        TlsError::Nothing { flag: self.flag, origin: self.origin.clone(), content, label }
    }

    fn damaged(&self, error: &pem::Error) -> TlsError {
        TlsError::Damaged { flag: self.flag, origin: self.origin.clone(), why: error.to_string() }
    }

    pub(super) fn unusable(&self, error: impl std::error::Error + Send + Sync + 'static) -> TlsError {
        TlsError::Unusable { flag: self.flag, origin: self.origin.clone(), source: Box::new(error) }
    }
}

/// Certificate and key, as text.
#[derive(Clone)]
pub(super) struct Pair {
    pub(super) cert: Pem,
    pub(super) key: Pem,
}

impl Pair {
    /// The public key of the certificate that is shown.
    pub(super) fn public_key(&self) -> Result<SubjectPublicKeyInfoDer<'static>, TlsError> {
        let certificates = self.cert.certificates()?;
        let first = certificates.first().ok_or_else(|| self.cert.nothing("certificate", "CERTIFICATE"))?;
        public_key(first).map_err(|error| self.cert.unusable(error))
    }

    pub(super) fn read(files: &TlsFiles) -> Result<Option<Pair>, TlsError> {
        match (&files.cert, &files.key) {
            (None, None) => Ok(None),
            (Some(_), None) => Err(TlsError::Alone { flag: "cert", missing: "key" }),
            (None, Some(_)) => Err(TlsError::Alone { flag: "key", missing: "cert" }),
            (Some(cert), Some(key)) => {
                let (cert, key) = (Pem::read("cert", cert)?, Pem::read_key(key, files.allows_open_key)?);
                Ok(Some(Pair { cert, key }))
            }
        }
    }

    /// Hands both to `build`, and says what is wrong with them when it refuses.
    pub(super) fn build<T>(
        &self,
        build: impl FnOnce(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) -> Result<T, rustls::Error>,
    ) -> Result<T, TlsError> {
        let key = self.key.key()?;
        let is_p521 = key.secret_der().windows(P521.len()).any(|part| part == P521);
        build(self.cert.certificates()?, key).map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => {
                TlsError::WrongKey { cert: self.cert.origin.clone(), key: self.key.origin.clone() }
            }
            rustls::Error::InvalidCertificate(_) => self.cert.unusable(error),
            _ if is_p521 => self.key.unusable(UnusableKey::P521),
            error => self.key.unusable(UnusableKey::Other(error)),
        })
    }
}

/// The name of the curve P-521 in a key: the object identifier 1.3.132.0.35 in DER.
const P521: &[u8] = &[0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x23];

/// Kinds of keys that can be used.
pub(super) const KINDS: &str = "keys of RSA (2048 to 8192 bits), ECDSA (P-256 or P-384) and Ed25519 are supported";

/// Why a private key cannot be used.
#[derive(Debug, thiserror::Error)]
enum UnusableKey {
    #[error("its curve is P-521; {KINDS}")]
    P521,
    #[error("{0}; {KINDS}")]
    Other(rustls::Error),
}

/// Whom to trust.
#[derive(Clone)]
pub(super) struct Ca(pub(super) Pem);

impl Ca {
    pub(super) fn read(files: &TlsFiles) -> Result<Option<Ca>, TlsError> {
        files.ca.as_ref().map(|path| Ok(Ca(Pem::read("ca", path)?))).transpose()
    }

    pub(super) fn roots(&self) -> Result<Arc<RootCertStore>, TlsError> {
        let mut roots = RootCertStore::empty();
        for certificate in self.0.certificates()? {
            roots.add(certificate).map_err(|error| self.0.unusable(error))?;
        }
        Ok(Arc::new(roots))
    }
}
