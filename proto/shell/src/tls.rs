//! The meaning of `--tls-ca`, `--tls-cert`, `--tls-key` and `--insecure`, the same in every command of both programs.
//!
//! Plain text stays on the host unless `--insecure` is given; each end decides that for itself.

use std::path::PathBuf;

use lon_net::tls::{ClientName, ClientTls, ServerTls, TlsError, TlsFiles};

/// The files that the three flags name; each may be absent. `allows_open_key`: a key that others can read is used.
pub fn files(ca: Option<&PathBuf>, cert: Option<&PathBuf>, key: Option<&PathBuf>, allows_open_key: bool) -> TlsFiles {
    TlsFiles { ca: ca.cloned(), cert: cert.cloned(), key: key.cloned(), allows_open_key }
}

/// Returns the settings with which a client verifies nodes; `None` when no file was given.
///
/// # Errors
/// Files that cannot be used.
pub fn client(files: &TlsFiles) -> Result<Option<ClientTls>, TlsError> {
    (!files.is_empty()).then(|| ClientTls::new(files)).transpose()
}

/// Returns the TLS settings of a node: the certificate that it shows its clients, and the clients that it serves. With
/// names in `allowed`, it serves only these clients. `None` when no file was given.
///
/// # Errors
/// Files that cannot be used, or names without a CA.
pub fn server(files: &TlsFiles, allowed: &[ClientName]) -> Result<Option<ServerTls>, TlsError> {
    match (files.is_empty(), allowed) {
        (true, []) => Ok(None),
        (true, _) => Err(TlsError::NoClientCa),
        (false, _) => ServerTls::for_clients(files, allowed).map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_file_means_no_tls_and_half_a_pair_is_an_error() {
        let none = files(None, None, None, false);
        assert!(client(&none).unwrap().is_none() && server(&none, &[]).unwrap().is_none());
        let half = files(None, Some(&"c.pem".into()), None, false);
        assert!(client(&half).unwrap_err().to_string().contains("--tls-key"));
        let named = ["loadgen.lab".parse().unwrap()];
        assert!(server(&none, &named).unwrap_err().to_string().contains("--tls-ca"));
        let missing = files(Some(&"/no/such.pem".into()), None, None, false);
        assert!(format!("{:#}", client(&missing).unwrap_err()).contains("/no/such.pem"));
    }
}
