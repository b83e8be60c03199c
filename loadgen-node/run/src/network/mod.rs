//! The network side of a run: what crossed it, counted at both ends, and what that says about the fabric.
//!
//! - `traffic`: bytes per second while it goes on; `nics`: what the interfaces carried;
//! - `fabric`: what a probe found that can be carried; `by_direction`, `by_way`: one value for
//!   each; `ends`: what both ends spent and counted meanwhile; `spread`:
//!   the mean of repeats; `matrix`: what the ways between the nodes carry;
//! - `bandwidth`: required, carried, probed and claimed; `links`: how much of each link was used;
//! - `cause`: what held the run back.
//!
//! Nothing here counts: the QDL and the SUT nodes do, in the path.

pub(crate) mod bandwidth;
pub mod by_direction;
pub mod by_way;
pub(crate) mod cause;
pub mod ends;
pub mod fabric;
pub(crate) mod links;
pub(crate) mod matrix;
pub(crate) mod nics;
pub mod spread;
pub(crate) mod traffic;

use std::time::{Duration, Instant};

use lon_qsl::bandwidth::Formula;
use qdl::NodeReport;

use self::bandwidth::{Bandwidth, Sources};
use self::cause::{Evidence, HostTime, Spent};
use self::fabric::Fabric;
use self::links::Links;
use self::nics::{Counters, NicUse};
use self::traffic::{Bytes, Look, Looks};
use loadgen::run::RunOutcome;
use loadgen::world::TimeNs;
use lon_world::threads::ThreadLook;

/// The facts of the network that are known when a run is over, beside the reports of its nodes.
pub struct NetworkFacts {
    /// The counters once a second.
    pub(crate) looks: Vec<Look>,
    /// The interfaces of this host that the run used.
    pub(crate) nics: Vec<NicUse>,
    /// The findings of a probe before the run. `None` when no probe was wanted.
    pub(crate) fabric: Option<Fabric>,
    /// Bytes of the connections for control, which are no part of the run's.
    pub(crate) control: Bytes,
    pub(crate) bandwidth: Bandwidth,
    /// The use of each link.
    pub(crate) links: Links,
    /// The measurements of everything that can hold a run back.
    pub(crate) evidence: Evidence,
    /// The differences between the counts of the two ends, in words.
    pub(crate) differences: Vec<String>,
}

/// The sources of the facts.
pub(crate) struct Gathered<'a> {
    /// The benchmark's formula of bandwidth, with the types that are sent.
    pub(crate) formula: Option<&'a Formula>,
    pub(crate) outcome: &'a RunOutcome,
    pub(crate) reports: &'a [NodeReport],
    pub(crate) looks: Looks,
    /// Looks at the threads right before the run and after it.
    pub(crate) threads: Vec<ThreadLook>,
    /// The start of the run's clock.
    pub(crate) origin: Instant,
    /// The issuing thread never sleeps while it waits for a due time.
    pub(crate) issuer_spins: bool,
    /// The time of samples at the percentile that is judged.
    pub(crate) spent: Spent,
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
        let mut looks = from.looks.threads;
        looks.extend(from.threads);
        looks.sort_by_key(|look| look.at);
        let timed = timed(from.outcome, from.origin);
        let host = timed.and_then(|timed| HostTime::between(&looks, timed, from.issuer_spins));
        let fabric = from.fabric.as_ref();
        let (outcome, reports, spent) = (from.outcome, from.reports, from.spent);
        let evidence = Evidence::new(&cause::Sources { outcome, reports, fabric, host, spent });
        let links = Links::new(bandwidth.samples_per_s, reports, &evidence.routes, fabric);
        let control = from.control.iter().map(|&(egress, ingress)| Bytes { ingress, egress });
        let control = control.fold(Bytes::default(), Bytes::plus);
        let differences = from.reports.iter().flat_map(qdl::reconcile).map(|difference| difference.to_string());
        let differences = differences.collect();
        let (looks, fabric) = (from.looks.traffic, from.fabric);
        NetworkFacts { looks, nics, fabric, control, bandwidth, links, evidence, differences }
    }
}

/// From when to when the judged phase, or else the last one, was timed.
fn timed(outcome: &RunOutcome, origin: Instant) -> Option<[Instant; 2]> {
    let phase = outcome.performance().or(outcome.phases.last())?;
    let at = |time: TimeNs| origin + Duration::from_nanos(time.0);
    Some([at(phase.started), at(phase.latest_end)])
}

/// Where the run's connections to a node leave this host, and what crossed them.
fn sockets(report: &NodeReport) -> Option<(std::net::IpAddr, Bytes)> {
    let bytes = Bytes { ingress: report.traffic.socket_bytes_out, egress: report.traffic.socket_bytes_in };
    Some((report.local?, bytes))
}
