//! `sut-node healthcheck`: asks a node by the standard gRPC health service whether it takes work, for those who start
//! nodes and wait for them (containers, schedulers, scripts). One question, one answer, bounded in time.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use lon_net::lookup::Lookup;
use lon_net::tls::{ClientTls, TlsError};
use lon_proto::v1::sut_node_server::SERVICE_NAME;
use lon_shell::duration::parse_duration;
use lon_shell::tls;
use qdl::{AddressError, Endpoint, NodeAddress};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

/// Which node to ask, and how.
#[derive(Args, Debug)]
pub(crate) struct HealthcheckArgs {
    /// The node to ask, host:port. With TLS, the host is what its certificate was made for.
    // The LoadGen node's flag for the same is forgiven.
    #[arg(long, alias = "sut", default_value = "127.0.0.1:8000", env = "LON_HEALTHCHECK_ADDRESS")]
    address: String,
    /// A node that has not answered after this long is not healthy (for example 500us, 2ms).
    #[arg(long, default_value = "3s", value_parser = parse_duration, env = "LON_HEALTHCHECK_TIMEOUT")]
    timeout: Duration,
    /// The node speaks TLS: the CA (PEM) that its certificate is signed by.
    #[arg(long, value_name = "FILE", env = "LON_HEALTHCHECK_TLS_CA")]
    tls_ca: Option<PathBuf>,
    /// The certificate (PEM) to show to a node that asks for one.
    #[arg(long, value_name = "FILE", env = "LON_HEALTHCHECK_TLS_CERT")]
    tls_cert: Option<PathBuf>,
    /// The certificate's private key (PEM).
    #[arg(long, value_name = "FILE", env = "LON_HEALTHCHECK_TLS_KEY")]
    tls_key: Option<PathBuf>,
    /// Read --tls-key though others can read it, too.
    #[arg(long, env = "LON_HEALTHCHECK_ALLOW_OPEN_KEY_FILES")]
    allow_open_key_files: bool,
}

/// The error for a node that is not healthy, or could not be asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HealthError {
    /// A certificate cannot be used. No node was asked.
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("--address: {0}")]
    Address(#[from] AddressError),
    #[error("cannot run: {0}")]
    Os(#[from] io::Error),
    #[error("{address} cannot be asked: {reason}")]
    Unreachable { address: String, reason: String },
    #[error("{address} has not answered within {timeout:?}")]
    Silent { address: String, timeout: Duration },
    #[error("{address} answers that it is not serving")]
    NotServing { address: String },
}

/// Asks and waits for the answer.
///
/// # Errors
/// Everything but "serving", each naming the node.
pub(crate) fn healthcheck(args: HealthcheckArgs) -> Result<(), HealthError> {
    let HealthcheckArgs { address, timeout, tls_ca, tls_cert, tls_key, allow_open_key_files } = args;
    let files = tls::files(tls_ca.as_ref(), tls_cert.as_ref(), tls_key.as_ref(), allow_open_key_files);
    let tls = tls::client(&files)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let status = runtime.block_on(async { tokio::time::timeout(timeout, ask(&address, tls, timeout)).await });
    match status {
        Ok(Ok(ServingStatus::Serving)) => Ok(()),
        Ok(Ok(_)) => Err(HealthError::NotServing { address }),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(HealthError::Silent { address, timeout }),
    }
}

async fn ask(address: &str, tls: Option<ClientTls>, timeout: Duration) -> Result<ServingStatus, HealthError> {
    let node: NodeAddress = address.parse()?;
    let unreachable = |error: &dyn std::error::Error, perhaps: &str| {
        // The outermost says "transport error", the innermost why.
        let mut cause = error;
        while let Some(source) = cause.source() {
            cause = source;
        }
        HealthError::Unreachable { address: address.to_owned(), reason: format!("{cause}{perhaps}") }
    };
    // The limit of the whole is reached before that of the connection, and says that nothing was answered.
    // One that does not accept the connection as it is hangs up at the first call.
    let perhaps = match tls {
        Some(_) => "; perhaps it asks for a certificate (--tls-cert and --tls-key), or does not accept this one",
        None => "; perhaps it speaks TLS (--tls-ca), or is no SUT node",
    };
    let at = Lookup::anywhere().find(&node.to_string()).await.map_err(|error| unreachable(&error, ""))?;
    let channel = Endpoint::new(node, at, tls).channel(2 * timeout).await.map_err(|error| unreachable(&error, ""))?;
    let request = HealthCheckRequest { service: SERVICE_NAME.to_owned() };
    let answer = HealthClient::new(channel).check(request).await.map_err(|status| unreachable(&status, perhaps))?;
    Ok(answer.into_inner().status())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::num::NonZeroUsize;
    use std::thread::JoinHandle;

    use lon_net::throwaway::Throwaway;
    use lon_net::tls::{ServerTls, TlsFiles};
    use lon_sut::backend::{BackendOptions, Backends};
    use lon_sut::{ServeConfig, Sockets, serve};
    use tokio::sync::oneshot;

    use super::*;

    fn check(address: &str, tls: TlsFiles) -> Result<(), HealthError> {
        let TlsFiles { ca: tls_ca, cert: tls_cert, key: tls_key, allows_open_key: allow_open_key_files } = tls;
        let timeout = Duration::from_secs(300);
        let address = address.to_owned();
        healthcheck(HealthcheckArgs { address, timeout, tls_ca, tls_cert, tls_key, allow_open_key_files })
    }

    struct Node {
        address: String,
        stop: oneshot::Sender<()>,
        thread: JoinHandle<()>,
    }

    fn node(tls: Option<ServerTls>) -> Node {
        let sockets = Sockets::bind("127.0.0.1:0").unwrap();
        let address = sockets.address().to_string();
        let mut config = ServeConfig::new("N1".parse().unwrap());
        config.tls = tls;
        let options = BackendOptions { max_batch: NonZeroUsize::MIN, ..BackendOptions::default() };
        let backend = Backends::new().open("null", &options).unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let stopped = async {
                let _ = stopped.await;
            };
            runtime.block_on(serve(sockets, config, backend, stopped, || {})).unwrap();
        });
        Node { address, stop, thread }
    }

    #[test]
    fn a_node_is_healthy_until_it_is_gone() {
        let node = node(None);
        check(&node.address, TlsFiles::default()).unwrap();
        node.stop.send(()).unwrap();
        node.thread.join().unwrap();
        let gone = check(&node.address, TlsFiles::default()).unwrap_err();
        assert!(matches!(gone, HealthError::Unreachable { .. }), "{gone}");
        assert!(gone.to_string().contains(&node.address), "{gone}");
    }

    #[test]
    fn a_node_with_tls_is_verified() {
        let folder = tempfile::tempdir().unwrap();
        let certificates = Throwaway::new(&["127.0.0.1"]).unwrap();
        let files = certificates.write(folder.path()).unwrap();
        let node = node(Some(certificates.server().unwrap()));
        check(&node.address, files).unwrap();
        let plain = check(&node.address, TlsFiles::default()).unwrap_err();
        assert!(plain.to_string().contains("perhaps it speaks TLS (--tls-ca)"), "{plain}");
        let (folder, other) = (tempfile::tempdir().unwrap(), Throwaway::new(&["127.0.0.1"]).unwrap());
        let stranger = check(&node.address, other.write(folder.path()).unwrap()).unwrap_err();
        assert!(matches!(stranger, HealthError::Unreachable { .. }), "{stranger}");
        node.stop.send(()).unwrap();
        node.thread.join().unwrap();
    }

    /// A port that takes connections and never says a word: what a node is while it loads its model.
    #[test]
    fn silence_is_not_health() {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = silent.local_addr().unwrap().to_string();
        let (tls_ca, tls_cert, tls_key, allow_open_key_files) = (None, None, None, false);
        let timeout = Duration::from_millis(50);
        let args = HealthcheckArgs { address, timeout, tls_ca, tls_cert, tls_key, allow_open_key_files };
        assert!(matches!(healthcheck(args), Err(HealthError::Silent { .. })));
    }

    #[test]
    fn what_cannot_be_an_address_is_said_so() {
        for bad in ["", "a b:1", "no port:"] {
            let error = check(bad, TlsFiles::default()).unwrap_err();
            assert!(matches!(error, HealthError::Address(_)), "{bad}: {error}");
        }
    }
}
