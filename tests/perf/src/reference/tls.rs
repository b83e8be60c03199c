//! Throw-away certificates, for the references and for ours: an authority, and a server on loopback signed by it.

use std::path::{Path, PathBuf};

use anyhow::Result;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

/// The paths of the PEM files.
#[derive(Debug)]
pub(crate) struct Files {
    pub(crate) authority: PathBuf,
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

impl Files {
    /// Makes them in `folder`.
    pub(crate) fn make(folder: &Path) -> Result<Files> {
        let [authority, certificate, key] = ["ca.pem", "cert.pem", "key.pem"].map(|name| folder.join(name));
        let authority_key = KeyPair::generate()?;
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        std::fs::write(&authority, params.self_signed(&authority_key)?.pem())?;
        let issuer = Issuer::new(params, authority_key);
        let server_key = KeyPair::generate()?;
        let server = CertificateParams::new(["localhost".to_owned(), "127.0.0.1".to_owned()])?;
        std::fs::write(&certificate, server.signed_by(&server_key, &issuer)?.pem())?;
        std::fs::write(&key, server_key.serialize_pem())?;
        Ok(Files { authority, certificate, key })
    }
}
