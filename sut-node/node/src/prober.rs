//! The node as one that measures: it probes another node for the client that has claimed it.
//!
//! A node that opens connections where others tell it to can be misused. So it does this only for clients that had to
//! show something, only towards the addresses that its operator has listed, once at a time, and within the limits of
//! the wire contract on time and bytes.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use lon_proto::limits::{MAX_ERROR_BYTES, MAX_PEER_PROBE_BYTES, MAX_PEER_PROBE_COUNT, MAX_PEER_PROBE_TIME};
use lon_proto::node_name::NodeName;
use lon_proto::text::printable_within;
use lon_proto::v1::{ProbePeerRequest, ProbePeerResponse};
use qdl::{Config, PeerKind, PeerOrder, PeerResult, Peers, Transport};
use tokio::sync::oneshot;
use tonic::Status;

use crate::config::{PeerProbes, ServeConfig};

/// Interval at which the prober checks whether the client still has the node.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// Time that the answers may take beyond the time of the measurement.
const LAST_ANSWERS: Duration = Duration::from_secs(60);

/// Probes other nodes, if this node may.
pub(crate) struct Prober {
    node: NodeName,
    peers: Option<PeerProbes>,
    /// Clients have to show a certificate or a token.
    is_guarded: bool,
    is_busy: Arc<AtomicBool>,
}

impl Prober {
    /// The prober of a node that serves like this.
    pub(crate) fn new(config: &ServeConfig) -> Prober {
        let is_guarded = config.token.is_some() || config.tls.as_ref().is_some_and(|tls| tls.asks_clients());
        Prober { node: config.node.clone(), peers: config.probe_peers.clone(), is_guarded, is_busy: Arc::default() }
    }

    /// Measures what is asked for. Ends early when `is_over` says that the client does not have the node any more, or
    /// when the call is dropped.
    ///
    /// # Errors
    /// This node may not measure that, or is measuring already.
    pub(crate) async fn probe(
        &self,
        request: &ProbePeerRequest,
        is_over: impl Fn() -> bool,
    ) -> Result<ProbePeerResponse, Status> {
        let peers = self.permitted()?;
        let order = order(request).map_err(Status::invalid_argument)?;
        if !peers.allowed.contains(&order.address) {
            return Err(Status::permission_denied(format!(
                "node {} may not measure {}: it is not in its --probe-peers",
                self.node, order.address
            )));
        }
        let busy = Busy::take(&self.is_busy)
            .ok_or_else(|| Status::resource_exhausted(format!("node {} is measuring another node", self.node)))?;
        let mut config = Config::new(Peers::sut_nodes(vec![order.address.clone()], order.transport));
        config.client = format!("SUT node {}", self.node);
        config.tls = peers.tls.clone();
        config.token = peers.token.clone();
        config.lookup = peers.lookup.clone();
        tracing::info!(address = %order.address, transport = order.transport.name(), "measuring another node");
        let measurement = measured(config, order, busy, is_over).await?;
        Ok(response(&measurement))
    }

    /// The nodes that may be measured.
    fn permitted(&self) -> Result<&PeerProbes, Status> {
        let node = &self.node;
        if !self.is_guarded {
            return Err(Status::permission_denied(format!(
                "node {node} measures other nodes only where its clients have to show a token or a certificate: start \
                 it with --token-file or --tls-ca, and with --probe-peers"
            )));
        }
        let none = || format!("node {node} measures no other nodes: start it with --probe-peers and their addresses");
        self.peers.as_ref().ok_or_else(|| Status::permission_denied(none()))
    }
}

/// Measures on a thread of its own, since the QDL blocks. The thread stops soon after nobody waits for it any more.
async fn measured(
    config: Config,
    order: PeerOrder,
    busy: Busy,
    is_over: impl Fn() -> bool,
) -> Result<PeerResult, Status> {
    let stop = StopOnDrop(Arc::default());
    let (stop_flag, (sender, mut receiver)) = (Arc::clone(&stop.0), oneshot::channel());
    let body = move || {
        let measurement = lon_probe::measure_peer(config, &order, &stop_flag);
        drop(busy);
        // The send fails when the caller does not wait for the result any more.
        let _ = sender.send(measurement);
    };
    std::thread::Builder::new()
        .name("peer-probe".to_owned())
        .spawn(body)
        .map_err(|error| Status::internal(format!("no thread to measure with: {error}")))?;
    let until = tokio::time::Instant::now() + MAX_PEER_PROBE_TIME + LAST_ANSWERS;
    loop {
        match tokio::time::timeout(LOOK_INTERVAL, &mut receiver).await {
            Ok(measurement) => return measurement.map_err(|_| Status::internal("the thread that measures is gone")),
            Err(_) if tokio::time::Instant::now() > until => {
                return Err(Status::deadline_exceeded("the other node takes too long to answer"));
            }
            Err(_) if is_over() => return Err(Status::aborted("the claim ended before it was measured")),
            Err(_) => {}
        }
    }
}

/// Returns the order of a request, within the limits of the wire contract. The error describes the fault of the
/// request, in words.
fn order(request: &ProbePeerRequest) -> Result<PeerOrder, String> {
    let count = |what: &str, count: u32| {
        let within = NonZeroUsize::new(count as usize).filter(|_| count <= MAX_PEER_PROBE_COUNT);
        within.ok_or_else(|| format!("{count} {what} are asked for: 1 to {MAX_PEER_PROBE_COUNT} can be had"))
    };
    let address = request.address.parse().map_err(|error| format!("the address to probe: {error}"))?;
    let transport = Transport::named(&request.transport).ok();
    let to_sut_nodes = transport.filter(|transport| transport.peer_kind() == PeerKind::SUT_NODE);
    let none = || format!("no transport '{}' reaches a SUT node", printable_within(&request.transport, 40));
    let transport = to_sut_nodes.ok_or_else(none)?;
    let (connections, repeats) = (count("connections", request.connections)?, count("repeats", request.repeats)?);
    let time = Duration::from_nanos(request.time_ns);
    if time.is_zero() || time.saturating_mul(2).saturating_mul(request.repeats) > MAX_PEER_PROBE_TIME {
        return Err(format!(
            "{time:?} each way, {repeats} times, are asked for: more than 0, and {MAX_PEER_PROBE_TIME:?} in all, can \
             be had"
        ));
    }
    if !(1..=MAX_PEER_PROBE_BYTES).contains(&request.max_bytes) {
        return Err(format!("{} bytes are asked for: 1 to {MAX_PEER_PROBE_BYTES} can be had", request.max_bytes));
    }
    Ok(PeerOrder { address, transport, connections, time, max_bytes: request.max_bytes, repeats })
}

fn response(measurement: &PeerResult) -> ProbePeerResponse {
    let bytes = |rates: &[f64]| rates.iter().map(|bits_per_s| (bits_per_s / 8.0) as u64).collect();
    ProbePeerResponse {
        name: measurement.name.clone(),
        rtt_ns: measurement.rtt.map(|rtt| u64::try_from(rtt.as_nanos()).unwrap_or(u64::MAX)),
        sent_bytes_per_s: bytes(&measurement.sent_bits_per_s),
        received_bytes_per_s: bytes(&measurement.received_bits_per_s),
        error: printable_within(measurement.error.as_deref().unwrap_or_default(), MAX_ERROR_BYTES),
    }
}

/// The right to measure, which one holds at a time.
struct Busy(Arc<AtomicBool>);

impl Busy {
    fn take(flag: &Arc<AtomicBool>) -> Option<Busy> {
        (!flag.swap(true, SeqCst)).then(|| Busy(Arc::clone(flag)))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.store(false, SeqCst);
    }
}

/// Tells the thread that measures to stop.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use lon_net::token::Token;

    use lon_net::lookup::Lookup;

    use super::*;

    fn request() -> ProbePeerRequest {
        ProbePeerRequest {
            address: "127.0.0.1:9".to_owned(),
            transport: "tcp".to_owned(),
            connections: 1,
            time_ns: 2_000_000_000,
            max_bytes: 1 << 20,
            repeats: 3,
            ..ProbePeerRequest::default()
        }
    }

    fn prober(token: bool, allowed: Option<&str>) -> Prober {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        std::fs::write(&file, "sixteen-characters").unwrap();
        let mut config = ServeConfig::new("N1".parse().unwrap());
        config.token = token.then(|| Token::read(&file, true).unwrap());
        config.probe_peers = allowed.map(|address| PeerProbes {
            allowed: vec![address.parse().unwrap()],
            tls: None,
            token: config.token.clone(),
            lookup: Lookup::on_this_host(),
        });
        Prober::new(&config)
    }

    async fn refused(prober: &Prober) -> String {
        prober.probe(&request(), || false).await.unwrap_err().message().to_owned()
    }

    #[tokio::test]
    async fn a_node_without_guards_or_without_a_list_measures_nothing() {
        let open = refused(&prober(false, Some("127.0.0.1:9"))).await;
        assert!(open.contains("--token-file") && open.contains("--probe-peers"), "{open}");
        let no_list = refused(&prober(true, None)).await;
        assert!(no_list.contains("measures no other nodes") && no_list.contains("--probe-peers"), "{no_list}");
    }

    #[tokio::test]
    async fn only_what_is_listed_is_measured_and_once_at_a_time() {
        let other = refused(&prober(true, Some("127.0.0.1:10"))).await;
        assert!(other.contains("127.0.0.1:9") && other.contains("--probe-peers"), "{other}");
        let busy = prober(true, Some("127.0.0.1:9"));
        let taken = Busy::take(&busy.is_busy).unwrap();
        assert!(refused(&busy).await.contains("is measuring another node"));
        drop(taken);
        // No program listens on the discard port: the node tries it, and reports the failure.
        let answer = busy.probe(&request(), || false).await.unwrap();
        assert!(answer.error.contains("127.0.0.1:9") && answer.name.is_empty(), "{answer:?}");
        assert!(Busy::take(&busy.is_busy).is_some(), "free again");
    }

    #[test]
    fn what_is_beyond_the_limits_is_named() {
        type Spoil = fn(&mut ProbePeerRequest);
        let wrong: [(Spoil, &str); 8] = [
            (|it| it.address = "http://a".to_owned(), "no scheme"),
            (|it| it.transport = "kserve".to_owned(), "'kserve'"),
            (|it| it.connections = 0, "0 connections"),
            (|it| it.repeats = 257, "257 repeats"),
            (|it| it.time_ns = 0, "more than 0"),
            (|it| it.time_ns = 101_000_000_000, "600s in all"),
            (|it| it.time_ns = u64::MAX, "600s in all"),
            (|it| it.max_bytes = 0, "0 bytes"),
        ];
        for (spoil, part) in wrong {
            let mut request = request();
            spoil(&mut request);
            let error = order(&request).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
        let peer_order = order(&request()).unwrap();
        assert_eq!(
            (peer_order.time, peer_order.repeats.get(), peer_order.transport),
            (Duration::from_secs(2), 3, Transport::TCP)
        );
    }

    #[test]
    fn what_was_found_is_told_in_bytes() {
        let measurement =
            PeerResult { sent_bits_per_s: vec![8e9], error: Some("lost".to_owned()), ..PeerResult::default() };
        let answer = response(&measurement);
        assert_eq!((answer.sent_bytes_per_s, answer.received_bytes_per_s), (vec![1_000_000_000], vec![]));
        assert_eq!((answer.rtt_ns, answer.error.as_str()), (None, "lost"));
    }
}
