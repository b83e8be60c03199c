//! Certificates that last as long as their process: for `demo`, for tests, and for QUIC, which needs one.
//!
//! They are not for a real network: without their CA nobody can verify them.

use std::io::Write as _;
use std::path::Path;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};

use crate::tls::{ClientTls, ServerTls, TlsError, TlsFiles};

/// A new CA, and the one certificate that it signed before its key was dropped.
#[derive(Clone)]
pub struct Throwaway {
    /// The CA's certificate (PEM).
    pub ca: String,
    /// The certificate (PEM), good for servers and for clients.
    pub cert: String,
    /// Its private key (PEM).
    pub key: String,
}

/// Shows no key, so that none gets into a log.
impl std::fmt::Debug for Throwaway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Throwaway").finish_non_exhaustive()
    }
}

/// The error for a certificate that could not be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot make a throw-away certificate for {names}: {source}")]
pub struct ThrowawayError {
    names: String,
    source: rcgen::Error,
}

impl Throwaway {
    /// A certificate for a node that is reached by one of these names or addresses.
    ///
    /// # Errors
    /// One of the names cannot be in a certificate.
    pub fn new(names: &[&str]) -> Result<Throwaway, ThrowawayError> {
        make(names).map_err(|source| ThrowawayError { names: names.join(", "), source })
    }

    /// A client that trusts this CA alone, and shows no certificate.
    ///
    /// # Errors
    /// There are none with a value made by [`Throwaway::new`].
    pub fn client(&self) -> Result<ClientTls, TlsError> {
        ClientTls::from_pem(&self.ca, None)
    }

    /// A server that shows this certificate, and asks clients for none.
    ///
    /// # Errors
    /// There are none with a value made by [`Throwaway::new`].
    pub fn server(&self) -> Result<ServerTls, TlsError> {
        ServerTls::from_pem(&self.cert, &self.key, None)
    }

    /// Writes `ca.pem`, `cert.pem` and `key.pem` into `folder`; the key for this user's eyes only.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(&self, folder: &Path) -> std::io::Result<TlsFiles> {
        let [ca, cert, key] = ["ca.pem", "cert.pem", "key.pem"].map(|name| folder.join(name));
        std::fs::write(&ca, &self.ca)?;
        std::fs::write(&cert, &self.cert)?;
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(&key)?.write_all(self.key.as_bytes())?;
        Ok(TlsFiles { ca: Some(ca), cert: Some(cert), key: Some(key) })
    }
}

fn make(names: &[&str]) -> Result<Throwaway, rcgen::Error> {
    let mut ca = CertificateParams::new([])?;
    ca.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    let ca_key = KeyPair::generate()?;
    // A name of its own, so that a certificate of another throw-away CA is said to be from a stranger, not damaged.
    let mark = hex::encode(ca_key.public_key_raw().get(1..9).unwrap_or_default());
    ca.distinguished_name.push(DnType::CommonName, format!("lon throw-away CA {mark}"));
    let ca_pem = ca.self_signed(&ca_key)?.pem();

    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    let mut node = CertificateParams::new(names)?;
    node.distinguished_name.push(DnType::CommonName, "lon throw-away node");
    node.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    node.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    node.use_authority_key_identifier_extension = true;
    let key = KeyPair::generate()?;
    let cert = node.signed_by(&key, &Issuer::new(ca, ca_key))?.pem();
    Ok(Throwaway { ca: ca_pem, cert, key: key.serialize_pem() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_can_be_had() {
        let made = Throwaway::new(&["localhost", "127.0.0.1", "::1"]).unwrap();
        made.client().unwrap();
        made.server().unwrap();
        assert!(!format!("{made:?}").contains("PRIVATE"));
        assert!(Throwaway::new(&["näme"]).unwrap_err().to_string().contains("näme"));
    }

    #[cfg(unix)]
    #[test]
    fn the_key_is_private() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let files = Throwaway::new(&["localhost"]).unwrap().write(folder.path()).unwrap();
        let mode = std::fs::metadata(files.key.unwrap()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
