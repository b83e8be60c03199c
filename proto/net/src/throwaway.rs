//! Certificates that last as long as their process: for `demo`, for tests, and for QUIC, which needs one.
//!
//! They are not for a real network: without their CA nobody can verify them.

use std::io::Write as _;
use std::path::Path;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};

use crate::tls::{ClientTls, ServerTls, TlsError, TlsFiles};

/// A new CA, and the two certificates that it signed before its key was dropped: a node's, and a client's.
#[derive(Clone)]
pub struct Throwaway {
    /// The CA's certificate (PEM).
    pub ca: String,
    /// The node's certificate (PEM), good for servers and for nothing else.
    pub cert: String,
    /// Its private key (PEM).
    pub key: String,
    /// The client's certificate (PEM), good for clients and for nothing else; its name is [`CLIENT_NAME`].
    pub client_cert: String,
    /// Its private key (PEM).
    pub client_key: String,
}

/// The name in the certificate of a throw-away client.
pub const CLIENT_NAME: &str = "loadgen.test";

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

    /// Writes `ca.pem`, `cert.pem` and `key.pem` into `folder`: the node's, its key for this user's eyes only.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(&self, folder: &Path) -> std::io::Result<TlsFiles> {
        self.write_pair(folder, ["cert.pem", "key.pem"], &self.cert, &self.key)
    }

    /// The same for the client: `ca.pem`, `client.pem` and `client.key`.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write_client(&self, folder: &Path) -> std::io::Result<TlsFiles> {
        self.write_pair(folder, ["client.pem", "client.key"], &self.client_cert, &self.client_key)
    }

    fn write_pair(&self, folder: &Path, names: [&str; 2], cert: &str, key: &str) -> std::io::Result<TlsFiles> {
        let (ca, files) = (folder.join("ca.pem"), names.map(|name| folder.join(name)));
        std::fs::write(&ca, &self.ca)?;
        std::fs::write(&files[0], cert)?;
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(&files[1])?.write_all(key.as_bytes())?;
        let [cert, key] = files.map(Some);
        Ok(TlsFiles { ca: Some(ca), cert, key, allows_open_key: false })
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

    let issuer = Issuer::new(ca, ca_key);
    let signed = |names: &[&str], of: &str, usage: ExtendedKeyUsagePurpose| {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let mut certificate = CertificateParams::new(names)?;
        certificate.distinguished_name.push(DnType::CommonName, format!("lon throw-away {of}"));
        certificate.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        certificate.extended_key_usages = vec![usage];
        certificate.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        Ok::<_, rcgen::Error>((certificate.signed_by(&key, &issuer)?.pem(), key.serialize_pem()))
    };
    let (cert, key) = signed(names, "node", ExtendedKeyUsagePurpose::ServerAuth)?;
    let (client_cert, client_key) = signed(&[CLIENT_NAME], "client", ExtendedKeyUsagePurpose::ClientAuth)?;
    Ok(Throwaway { ca: ca_pem, cert, key, client_cert, client_key })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_can_be_had() {
        let certificates = Throwaway::new(&["localhost", "127.0.0.1", "::1"]).unwrap();
        certificates.client().unwrap();
        certificates.server().unwrap();
        assert!(!format!("{certificates:?}").contains("PRIVATE"));
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
