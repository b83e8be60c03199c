//! Why TLS could not be set up.

use std::path::PathBuf;

use crate::key_file::KeyFileError;

/// A certificate, key or flag that is of no use. Names it and says what is wanted instead.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file could not be read.
    #[error("cannot read {path} (--tls-{flag}): {source}", path = path.display())]
    Unreadable {
        /// The flag's name behind `--tls-`.
        flag: &'static str,
        /// The file that was given.
        path: PathBuf,
        /// The operating system's answer.
        source: std::io::Error,
    },
    /// A private key that others can read.
    #[error("{path} (--tls-key) {source}", path = path.display())]
    OpenKey {
        /// The file that was given.
        path: PathBuf,
        /// The reason: who can read the file, and the remedy.
        source: KeyFileError,
    },
    /// Names of clients at a node that asks for no certificates.
    #[error("--allow-client needs --tls-ca: the CA certificate (PEM) that the clients' certificates are signed with")]
    NoClientCa,
    /// A file is there, but what it is wanted for is not in it.
    #[error("{origin} (--tls-{flag}) has no {content} in it: a PEM file with a section 'BEGIN {label}' is wanted")]
    Nothing {
        /// The flag's name behind `--tls-`.
        flag: &'static str,
        /// The file, or where else the text came from.
        origin: String,
        /// Certificate or key.
        content: &'static str,
        /// The name of the wanted section in PEM.
        label: &'static str,
    },
    /// A file is damaged.
    #[error("{origin} (--tls-{flag}) is no valid PEM file: {why}")]
    Damaged {
        /// The flag's name behind `--tls-`.
        flag: &'static str,
        /// The file, or where else the text came from.
        origin: String,
        /// The fault in the file.
        why: String,
    },
    /// One of a pair.
    #[error("--tls-{flag} needs --tls-{missing}: a certificate is of no use without its private key, nor the reverse")]
    Alone {
        /// The flag that was given.
        flag: &'static str,
        /// The flag that must come with it.
        missing: &'static str,
    },
    /// A server without certificate.
    #[error(
        "a node that serves TLS needs --tls-cert and --tls-key: the certificate it shows (and --tls-ca only when \
         clients must show one, too)"
    )]
    NoCertificate,
    /// A client that trusts nobody.
    #[error("TLS needs --tls-ca: the CA certificate (PEM) that the nodes' certificates are signed with")]
    NoCa,
    /// The key belongs to another certificate.
    #[error(
        "{key} (--tls-key) is not the private key of the first certificate in {cert} (--tls-cert): give the key \
         that the certificate was made for; in a chain the node's own certificate comes first"
    )]
    WrongKey {
        /// Where the certificate is.
        cert: String,
        /// Where the key is.
        key: String,
    },
    /// The pieces are there and cannot be used.
    #[error("{origin} (--tls-{flag}) cannot be used: {source}")]
    Unusable {
        /// The flag's name behind `--tls-`.
        flag: &'static str,
        /// The file, or where else the text came from.
        origin: String,
        /// The error of the TLS library.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}
