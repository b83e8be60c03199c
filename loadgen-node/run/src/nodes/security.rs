//! Where samples may travel without TLS: decided by the addresses that are dialled, before anything is sent.

use anyhow::anyhow;
use qdl::{ConnectError, Transport};

use crate::exit::{Exit, Failure};

/// The failure of a connection to nodes. Plain text to another host is refused as a matter of how the program was
/// called: samples would travel in plain text, or over QUIC to any node that answers.
pub(crate) fn refused(error: ConnectError, transport: Transport) -> Failure {
    let first = match &error {
        ConnectError::Several { first, .. } => first,
        alone => alone,
    };
    let ConnectError::AnotherHost { address, found: host_address } = first else {
        return Failure::new(Exit::Network, error);
    };
    let (address, host_address) = (address.to_string(), host_address.to_string());
    let host = if address == host_address { address } else { format!("{address} ({host_address})") };
    let carriage = transport.without_tls();
    let advice = "give --tls-ca, or --insecure on a network that you trust";
    Failure::new(
        Exit::Usage,
        anyhow!("--sut: {host} is another host; without TLS samples would travel {carriage}: {advice}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused_at(address: &str, transport: Transport) -> Failure {
        let address = address.parse().unwrap();
        refused(ConnectError::AnotherHost { address, found: "192.0.2.7:8000".parse().unwrap() }, transport)
    }

    #[test]
    fn plain_text_to_another_host_is_an_error_of_usage_with_what_to_do() {
        for transport in [Transport::GRPC, Transport::TCP, Transport::QUIC] {
            for address in ["192.0.2.7:8000", "node:8000"] {
                let failure = refused_at(address, transport);
                let line = failure.one_line();
                assert_eq!(failure.exit, Exit::Usage, "{line}");
                for part in [address, "192.0.2.7:8000", "--tls-ca", "--insecure", "--sut"] {
                    assert!(line.contains(part), "no '{part}' in: {line}");
                }
            }
        }
        let failure = refused(ConnectError::NoNodes, Transport::GRPC);
        assert_eq!(failure.exit, Exit::Network);
    }
}
