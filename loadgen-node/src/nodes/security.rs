//! Where samples may travel without TLS: decided before anything is sent.

use std::net::{SocketAddr, ToSocketAddrs as _};

use anyhow::{anyhow, bail};
use lon_shell::tls::stays_on_host;
use qdl::{NodeAddress, Transport};

/// Refuses nodes on other hosts when there is no TLS: samples would travel in plain text, or over QUIC to any node that
/// answers. Host names are resolved for this.
pub(crate) fn check_plain_text(transport: Transport, nodes: &[NodeAddress]) -> anyhow::Result<()> {
    nodes.iter().try_for_each(|node| check_loopback(node, transport))
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

    fn refused(transport: Transport, nodes: &[&str]) -> Option<String> {
        let nodes: Vec<NodeAddress> = nodes.iter().map(|node| node.parse().unwrap()).collect();
        check_plain_text(transport, &nodes).err().map(|error| format!("{error:#}"))
    }

    #[test]
    fn plain_text_stays_on_this_host() {
        for transport in [Transport::GRPC, Transport::TCP, Transport::QUIC] {
            assert_eq!(refused(transport, &["127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "localhost:1"]), None);
            let error = refused(transport, &["127.0.0.1:1", "192.0.2.7:8000"]).unwrap();
            for part in ["192.0.2.7:8000", "--tls-ca", "--insecure", "--sut"] {
                assert!(error.contains(part), "no '{part}' in: {error}");
            }
        }
        let error = refused(Transport::GRPC, &["no.such.host.invalid:1"]).unwrap();
        assert!(error.contains("no.such.host.invalid:1") && error.contains("--insecure"), "{error}");
    }
}
