//! TLS, or where plain text is allowed: decided before anything is sent.

use std::net::{SocketAddr, ToSocketAddrs as _};

use anyhow::{anyhow, bail};
use lon_net::tls::{ClientTls, TlsFiles};
use lon_shell::tls::stays_on_host;
use qdl::{NodeAddress, Transport};

/// How these nodes are verified: by the files, if any is given. `None` is plain text, or an unverified certificate over
/// QUIC; that is refused for nodes on other hosts unless `insecure` allows it.
pub(crate) fn tls(
    files: &TlsFiles,
    insecure: bool,
    transport: Transport,
    nodes: &[NodeAddress],
) -> anyhow::Result<Option<ClientTls>> {
    let tls = lon_shell::tls::client(files)?;
    if tls.is_none() && !insecure {
        nodes.iter().try_for_each(|node| check_loopback(node, transport))?;
    }
    Ok(tls)
}

/// Refuses a node that is not on this host. Every address of its name has to be a loopback address.
fn check_loopback(node: &NodeAddress, transport: Transport) -> anyhow::Result<()> {
    let way = transport.without_tls();
    let text = node.to_string();
    let resolved: Vec<SocketAddr> = text
        .to_socket_addrs()
        .map_err(|error| anyhow!("--sut: whether {text} is on this host is not known: {error}; {}", advice(way)))?
        .collect();
    match resolved.iter().find(|address| !stays_on_host(address.ip())) {
        None => Ok(()),
        Some(address) if address.to_string() == text => bail!("--sut: {text} is another host; {}", advice(way)),
        Some(address) => bail!("--sut: {text} ({address}) is another host; {}", advice(way)),
    }
}

fn advice(way: &str) -> String {
    format!("without TLS samples would travel {way}: give --tls-ca, or --insecure on a network that you trust")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(files: &TlsFiles, insecure: bool, transport: Transport, nodes: &[&str]) -> Option<String> {
        let nodes: Vec<NodeAddress> = nodes.iter().map(|node| node.parse().unwrap()).collect();
        tls(files, insecure, transport, &nodes).err().map(|error| format!("{error:#}"))
    }

    #[test]
    fn plain_text_stays_on_this_host_unless_asked_for() {
        let none = TlsFiles::default();
        for transport in [Transport::GRPC, Transport::TCP, Transport::QUIC] {
            assert_eq!(
                refused(&none, false, transport, &["127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "localhost:1"]),
                None
            );
            let error = refused(&none, false, transport, &["127.0.0.1:1", "192.0.2.7:8000"]).unwrap();
            for part in ["192.0.2.7:8000", "--tls-ca", "--insecure", "--sut"] {
                assert!(error.contains(part), "no '{part}' in: {error}");
            }
            assert_eq!(refused(&none, true, transport, &["192.0.2.7:8000", "no.such.host.invalid:1"]), None);
        }
        let error = refused(&none, false, Transport::GRPC, &["no.such.host.invalid:1"]).unwrap();
        assert!(error.contains("no.such.host.invalid:1") && error.contains("--insecure"), "{error}");
    }

    #[test]
    fn tls_files_must_be_usable() {
        let args = TlsFiles { cert: Some("c.pem".into()), ..TlsFiles::default() };
        assert!(refused(&args, false, Transport::GRPC, &["a:1"]).unwrap().contains("--tls-key"));
        let args = TlsFiles { ca: Some("/no/such.pem".into()), ..TlsFiles::default() };
        assert!(refused(&args, false, Transport::QUIC, &["a:1"]).unwrap().contains("/no/such.pem"));
    }
}
