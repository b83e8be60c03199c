//! Throw-away certificates, for the references and for ours: an authority, and a server on loopback signed by it. And
//! the TLS that references speak with them.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::version::TLS13;
use rustls::{ClientConfig, RootCertStore, ServerConfig};

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
        // Ours refuses a key that others can read.
        std::fs::set_permissions(&key, Permissions::from_mode(0o600))?;
        Ok(Files { authority, certificate, key })
    }
}

/// TLS 1.3 of a server that speaks the protocol of this name.
pub(super) fn server(certificate: &Path, key: &Path, protocol: &[u8]) -> Result<ServerConfig> {
    let chain = CertificateDer::pem_file_iter(certificate)?.collect::<Result<Vec<_>, _>>()?;
    let mut tls = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&TLS13])?
        .with_no_client_auth()
        .with_single_cert(chain, PrivateKeyDer::from_pem_file(key)?)?;
    tls.alpn_protocols = vec![protocol.to_vec()];
    Ok(tls)
}

/// TLS 1.3 of a client that trusts this authority alone.
pub(super) fn client(authority: &Path, protocol: &[u8]) -> Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(authority)?)?;
    let mut tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = vec![protocol.to_vec()];
    Ok(tls)
}
