//! The network side of a run: what crossed it, counted at both ends, and what that says about the fabric.
//!
//! - `traffic`: bytes per second while it goes on; `nics`: what the interfaces carried;
//! - `fabric`: what a probe found that can be carried; `ends`: what both ends spent and counted meanwhile; `spread`:
//!   the mean of repeats; `matrix`: what the ways between the nodes carry;
//! - `bandwidth`: required, carried, probed and claimed.
//!
//! Nothing here counts: the QDL and the SUT nodes do, in the path.

pub(crate) mod bandwidth;
pub(crate) mod ends;
pub(crate) mod fabric;
pub(crate) mod matrix;
pub(crate) mod nics;
pub(crate) mod spread;
pub(crate) mod traffic;

use lon_qsl::bandwidth::Formula;
use qdl::NodeReport;

use self::bandwidth::{Bandwidth, Sources};
use self::fabric::Fabric;
use self::nics::{Counters, NicUse};
use self::traffic::{Bytes, Look};
use loadgen::run::RunOutcome;

/// What is known of the network when a run is over, beside the reports of its nodes.
pub(crate) struct NetworkFacts {
    /// The counters once a second.
    pub(crate) looks: Vec<Look>,
    /// The interfaces of this host that the run used.
    pub(crate) nics: Vec<NicUse>,
    /// What a probe found before the run. `None` when no probe was wanted.
    pub(crate) fabric: Option<Fabric>,
    /// Bytes of the connections for control, which are no part of the run's.
    pub(crate) control: Bytes,
    pub(crate) bandwidth: Bandwidth,
    /// What the two ends do not agree on, in words.
    pub(crate) differences: Vec<String>,
}

/// What the facts are made of.
pub(crate) struct Gathered<'a> {
    /// The benchmark's formula of bandwidth, with the types that are sent.
    pub(crate) formula: Option<&'a Formula>,
    pub(crate) outcome: &'a RunOutcome,
    pub(crate) reports: &'a [NodeReport],
    pub(crate) looks: Vec<Look>,
    /// The interfaces' counters before the run.
    pub(crate) counters: &'a Counters,
    pub(crate) fabric: Option<Fabric>,
    /// Bytes in and bytes out of each node's control connection.
    pub(crate) control: Vec<(u64, u64)>,
}

impl NetworkFacts {
    /// Reads the interfaces once more and puts everything together.
    pub(crate) fn gather(from: Gathered<'_>) -> NetworkFacts {
        let sockets: Vec<_> = from.reports.iter().filter_map(sockets).collect();
        let nics = from.counters.since(&sockets);
        let bandwidth = Bandwidth::new(&Sources {
            formula: from.formula,
            outcome: from.outcome,
            reports: from.reports,
            probed: from.fabric.as_ref().map(|fabric| fabric.together),
            nics: &nics,
        });
        let control = from.control.iter().map(|&(egress, ingress)| Bytes { ingress, egress });
        let control = control.fold(Bytes::default(), Bytes::plus);
        let differences = from.reports.iter().flat_map(qdl::reconcile).map(|difference| difference.to_string());
        let differences = differences.collect();
        NetworkFacts { looks: from.looks, nics, fabric: from.fabric, control, bandwidth, differences }
    }
}

/// Where the run's connections to a node leave this host, and what crossed them.
fn sockets(report: &NodeReport) -> Option<(std::net::IpAddr, Bytes)> {
    let bytes = Bytes { ingress: report.traffic.socket_bytes_out, egress: report.traffic.socket_bytes_in };
    Some((report.local?, bytes))
}
