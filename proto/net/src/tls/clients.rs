//! Which clients a node with `--tls-ca` serves. A certificate of the CA is not enough: nodes have one as well, and a
//! node must not claim another.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms};
use rustls::pki_types::{CertificateDer, DnsName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{ParsedCertificate, VerifierBuilderError, WebPkiClientVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, OtherError, RootCertStore, SignatureScheme,
};
use webpki::EndEntityCert;

/// A name in the certificate of a client that is served: one of its DNS names, whole. Letters count alike, large or
/// small.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientName(String);

/// The error for a text that no certificate can have as a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not the name of one client: a DNS name of its certificate is wanted, whole and without '*'")]
pub struct ClientNameError(String);

impl FromStr for ClientName {
    type Err = ClientNameError;

    fn from_str(text: &str) -> Result<ClientName, ClientNameError> {
        match DnsName::try_from(text) {
            Ok(_) if !text.contains('*') => Ok(ClientName(text.to_ascii_lowercase())),
            _ => Err(ClientNameError(text.to_owned())),
        }
    }
}

/// Why a client with a certificate of the CA is not served. The node's log has it; the client is told that its
/// certificate is not accepted.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
enum Refusal {
    #[error("it shows this node's own key")]
    OwnKey,
    #[error(
        "its certificate can be a node's: give clients one of their own (extendedKeyUsage clientAuth and no other), or \
         name it by --allow-client"
    )]
    Nodes,
    #[error("none of the names in its certificate ({0}) is allowed by --allow-client")]
    NotNamed(String),
    #[error("its certificate cannot be read: {0}")]
    Unreadable(String),
}

/// In the same words: rustls shows what is inside an error of a certificate by its `Debug`.
impl fmt::Debug for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Asks for a certificate of the CA, and refuses those that are not a client's.
pub(super) struct Clients {
    /// Asks for a certificate of the CA.
    of_ca: Arc<dyn ClientCertVerifier>,
    roots: Arc<RootCertStore>,
    algorithms: WebPkiSupportedAlgorithms,
    own_key: SubjectPublicKeyInfoDer<'static>,
    /// Empty: all that cannot be a node.
    allowed: Vec<ClientName>,
}

/// The public key of a certificate.
pub(super) fn public_key(certificate: &CertificateDer<'_>) -> Result<SubjectPublicKeyInfoDer<'static>, Error> {
    EndEntityCert::try_from(certificate)
        .map(|certificate| certificate.subject_public_key_info())
        .map_err(|_| Error::InvalidCertificate(CertificateError::BadEncoding))
}

fn refused(refusal: Refusal) -> Error {
    Error::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(refusal))))
}

impl Clients {
    /// Clients of the CA in `roots` at a node with this public key; `allowed` as in
    /// [`for_clients`](super::ServerTls::for_clients).
    pub(super) fn new(
        roots: Arc<RootCertStore>,
        provider: Arc<CryptoProvider>,
        own_key: SubjectPublicKeyInfoDer<'static>,
        allowed: &[ClientName],
    ) -> Result<Clients, VerifierBuilderError> {
        let algorithms = provider.signature_verification_algorithms;
        let of_ca = WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), provider).build()?;
        Ok(Clients { of_ca, roots, algorithms, own_key, allowed: allowed.to_vec() })
    }

    /// Looks at a certificate of the CA.
    fn check(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), Refusal> {
        let unreadable = |error: &dyn fmt::Display| Refusal::Unreadable(error.to_string());
        let parsed = EndEntityCert::try_from(certificate).map_err(|error| unreadable(&error))?;
        if parsed.subject_public_key_info() == self.own_key {
            return Err(Refusal::OwnKey);
        }
        if self.allowed.is_empty() {
            let as_node = ParsedCertificate::try_from(certificate).map_err(|error| unreadable(&error))?;
            let usable = verify_server_cert_signed_by_trust_anchor(
                &as_node,
                &self.roots,
                intermediates,
                now,
                self.algorithms.all,
            );
            return if usable.is_ok() { Err(Refusal::Nodes) } else { Ok(()) };
        }
        let named = |name: &str| self.allowed.iter().any(|allowed| allowed.0.eq_ignore_ascii_case(name));
        if parsed.valid_dns_names().any(named) {
            return Ok(());
        }
        let names: Vec<&str> = parsed.valid_dns_names().collect();
        Err(Refusal::NotNamed(if names.is_empty() { "no DNS name".to_owned() } else { names.join(", ") }))
    }
}

impl fmt::Debug for Clients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clients").field("allowed", &self.allowed).finish_non_exhaustive()
    }
}

impl ClientCertVerifier for Clients {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.of_ca.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let verified = self.of_ca.verify_client_cert(certificate, intermediates, now)?;
        self.check(certificate, intermediates, now).map_err(refused)?;
        Ok(verified)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.of_ca.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.of_ca.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.of_ca.supported_verify_schemes()
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};

    use super::super::provider;
    use super::*;

    #[test]
    fn names_of_clients_are_whole() {
        let name = |text: &str| text.parse::<ClientName>();
        assert_eq!(name("LoadGen.lab").unwrap(), name("loadgen.lab").unwrap());
        for bad in ["", "*.lab", "a b", "a,b", "a..b", "-"] {
            assert!(name(bad).is_err(), "{bad}");
        }
    }

    /// A CA, and the certificates that it signs.
    struct Lab {
        issuer: Issuer<'static, KeyPair>,
        roots: Arc<RootCertStore>,
    }

    impl Lab {
        fn new() -> Lab {
            let mut ca = CertificateParams::new([]).unwrap();
            ca.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
            let key = KeyPair::generate().unwrap();
            let mut roots = RootCertStore::empty();
            roots.add(ca.self_signed(&key).unwrap().der().clone()).unwrap();
            Lab { issuer: Issuer::new(ca, key), roots: Arc::new(roots) }
        }

        fn sign(&self, names: &[&str], usages: &[ExtendedKeyUsagePurpose]) -> CertificateDer<'static> {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            let mut certificate = CertificateParams::new(names).unwrap();
            certificate.extended_key_usages = usages.to_vec();
            certificate.signed_by(&KeyPair::generate().unwrap(), &self.issuer).unwrap().der().clone()
        }

        /// Returns the verifier of clients at a node with this certificate.
        fn node(&self, own: &CertificateDer<'_>, allowed: &[&str]) -> Clients {
            let allowed: Vec<ClientName> = allowed.iter().map(|name| name.parse().unwrap()).collect();
            Clients::new(Arc::clone(&self.roots), provider(), public_key(own).unwrap(), &allowed).unwrap()
        }
    }

    fn verdict(node: &Clients, certificate: &CertificateDer<'_>) -> Result<(), String> {
        let verified = node.verify_client_cert(certificate, &[], UnixTime::now());
        verified.map(drop).map_err(|error| error.to_string())
    }

    #[test]
    fn a_node_is_no_client_of_another_node() {
        use ExtendedKeyUsagePurpose::{Any, ClientAuth, ServerAuth};
        let lab = Lab::new();
        let [own, other] =
            [&[ServerAuth, ClientAuth][..], &[ServerAuth, ClientAuth]].map(|of| lab.sign(&["n.lab"], of));
        let node = lab.node(&own, &[]);
        assert_eq!(verdict(&node, &lab.sign(&["l.lab"], &[ClientAuth])), Ok(()));
        assert_eq!(verdict(&node, &lab.sign(&[], &[ClientAuth])), Ok(()));
        assert!(verdict(&node, &own).unwrap_err().contains("own key"));
        for nodes in [other, lab.sign(&["l.lab"], &[])] {
            let error = verdict(&node, &nodes).unwrap_err();
            assert!(error.contains("clientAuth") && error.contains("--allow-client"), "{error}");
        }
        for no_client in [lab.sign(&["n.lab"], &[ServerAuth]), Lab::new().sign(&["l.lab"], &[ClientAuth])] {
            assert!(verdict(&node, &no_client).is_err());
        }
        // webpki knows no purpose "any": it is good for neither.
        assert!(verdict(&node, &lab.sign(&["l.lab"], &[Any])).is_err());
    }

    #[test]
    fn only_named_clients_are_served_where_some_are_named() {
        use ExtendedKeyUsagePurpose::{ClientAuth, ServerAuth};
        let lab = Lab::new();
        let own = lab.sign(&["l.lab"], &[ServerAuth, ClientAuth]);
        let node = lab.node(&own, &["l.lab", "M.lab"]);
        for names in [&["l.lab"][..], &["m.lab"], &["x.lab", "L.LAB"]] {
            assert_eq!(verdict(&node, &lab.sign(names, &[ClientAuth])), Ok(()), "{names:?}");
        }
        assert_eq!(verdict(&node, &lab.sign(&["l.lab"], &[ServerAuth, ClientAuth])), Ok(()), "named, so trusted");
        assert!(verdict(&node, &own).unwrap_err().contains("own key"), "whatever its name is");
        for names in [&["x.lab"][..], &["xl.lab"], &["l.lab.x"]] {
            let error = verdict(&node, &lab.sign(names, &[ClientAuth])).unwrap_err();
            assert!(error.contains(names[0]) && error.contains("--allow-client"), "{error}");
        }
        for unnamed in [&[][..], &["*.lab"]] {
            let error = verdict(&node, &lab.sign(unnamed, &[ClientAuth])).unwrap_err();
            assert!(error.contains("no DNS name"), "{error}");
        }
    }
}
