//! The network side of a run in a dozen lines at most, for the screen.

use std::fmt::Write as _;
use std::time::Duration;

use lon_proto::figures::bytes;
use qdl::{Comparable, NodeReport, comparable};

use crate::division::notes;
use crate::network::bandwidth::PerDirection;
use crate::network::fabric::rate;
use crate::outputs::documents::network_report::ratio;
use crate::outputs::documents::parts::LatencySplit;
use crate::test_run::finished::Finished;
use loadgen::run::End;

/// Title and text of each line.
pub(crate) fn lines(finished: &Finished) -> Vec<(&'static str, String)> {
    let mut lines = vec![("Network", codecs(finished)), ("", ends(finished))];
    let layers = |of: [fn(&qdl::NodeReport) -> u64; 4]| {
        let sum = |of: fn(&qdl::NodeReport) -> u64| finished.nodes.reports.iter().map(of).sum::<u64>();
        let [tensors, encoded, messages, sockets] = of.map(|of| bytes(sum(of)));
        let (whole, samples) = (sum(of[3]), sum(|report| report.counts.samples_sent));
        let each = (whole + samples / 2).checked_div(samples);
        let each = each.map_or(String::new(), |each| format!(" ({} a sample)", bytes(each)));
        format!("tensors {tensors}, encoded {encoded}, messages {messages}, sockets {sockets}{each}")
    };
    lines.push((
        " to SUT",
        layers([
            |r| r.counts.tensor_bytes_out,
            |r| r.counts.payload_bytes_out,
            |r| r.counts.message_bytes_out,
            |r| r.traffic.socket_bytes_out,
        ]) + ", ingress",
    ));
    lines.push((
        " from SUT",
        layers([
            |r| r.counts.tensor_bytes_in,
            |r| r.counts.payload_bytes_in,
            |r| r.counts.message_bytes_in,
            |r| r.traffic.socket_bytes_in,
        ]) + ", egress",
    ));
    let bandwidth = &finished.network.bandwidth;
    lines.push((" carried", both(&bandwidth.carried)));
    if let Some(formula) = &bandwidth.formula {
        lines.push((" required", format!("{} ({formula})", both(&bandwidth.required))));
    }
    if bandwidth.probed != PerDirection::default() {
        lines.push((" probed", both(&bandwidth.probed)));
    }
    if bandwidth.nic_claim != PerDirection::default() {
        lines.push((" claimed", format!("{} by the interfaces", rate(bandwidth.nic_claim.ingress))));
    }
    lines.push((" limit", finished.network.links.text()));
    lines.extend(links_fit(finished).map(|text| (" links", text)));
    if bandwidth.formula.is_some() {
        lines.push((" rules", format!("{} (Appendix B)", bandwidth.verdict)));
    }
    lines.extend(split(finished));
    lines.extend(slowest(finished).map(|text| (" slowest", text)));
    lines
}

/// The samples a second that the links carry. `None` where sockets that always had room are the only measure: they show
/// what was sent, and not what would fit.
fn links_fit(finished: &Finished) -> Option<String> {
    let network = &finished.network;
    let is_measured = network.fabric.is_some() || network.links.is_limit() != Some(false);
    let per_s = network.evidence.fits_per_s().filter(|_| is_measured)?;
    let by = if network.fabric.is_some() { "the probe found" } else { "the sockets took" };
    Some(format!("would carry {per_s:.0} samples/s like these with 1 % to spare, by what {by}"))
}

/// The node whose round trips are the longest, beside the fastest; None where fewer than two nodes answered.
fn slowest(finished: &Finished) -> Option<String> {
    let nodes = finished.nodes.described.iter().zip(finished.nodes.tally.by_node());
    let answered = nodes.filter_map(|(node, split)| Some((split?.round_trip_ns, node.name.as_str())));
    let mut by_p99: Vec<([u64; 3], &str)> = answered.collect();
    by_p99.sort_by_key(|([_, _, p99], _)| *p99);
    let ([fast, slow], true) = ([by_p99.first()?, by_p99.last()?], by_p99.len() > 1) else { return None };
    let node_text = |([p50, _, p99], name): &([u64; 3], &str)| {
        let [p50, p99] = [p50, p99].map(|ns| Duration::from_nanos(*ns));
        format!("{name}: round trip p99 {p99:.1?}, p50 {p50:.1?}")
    };
    Some(format!("{} (fastest {})", node_text(slow), node_text(fast)))
}

fn codecs(finished: &Finished) -> String {
    let ratio = |of| ratio(&finished.nodes.reports, of).map_or(String::new(), |ratio| format!(" (ratio {ratio:.2})"));
    let there = ratio(|counts| (counts.tensor_bytes_out, counts.payload_bytes_out));
    let back = ratio(|counts| (counts.tensor_bytes_in, counts.payload_bytes_in));
    let answers = finished.setup.codecs.answers;
    let samples = match finished.setup.codecs.samples {
        codec if codec.is_none() => "samples not compressed".to_owned(),
        codec => format!("samples {codec}{there}"),
    };
    let mut text = format!("{}, {samples}", finished.setup.link.transport.name());
    if !answers.is_none() {
        let _ = write!(text, ", answers {}{back}", answers);
    }
    text
}

/// Describes whether both ends counted the same.
fn ends(finished: &Finished) -> String {
    let node_count = finished.nodes.reports.iter().filter(|report| report.sut.is_ok()).count();
    let differences = finished.network.differences.len();
    match (node_count, differences) {
        (0, _) => {
            finished.setup.link.transport.peer_kind().no_counters.unwrap_or("no node gave its counters").to_owned()
        }
        (_, 0) if finished.nodes.reports.iter().all(|report| comparable(report) == Comparable::Nothing) => {
            format!("bytes not compared: {NOTHING_TO_COMPARE}")
        }
        (node_count, 0) if node_count == finished.nodes.reports.len() => {
            let exceptions = [uncompared(&finished.nodes.reports), notes::uncounted(&finished.nodes.reports)];
            exceptions
                .into_iter()
                .flatten()
                .fold("both ends counted the same bytes".to_owned(), |text, except| format!("{text}; {except}"))
        }
        (node_count, 0) => {
            format!("{node_count} of {} nodes gave counters, the same as ours", finished.nodes.reports.len())
        }
        (_, count) if finished.outcome.end != End::Completed => {
            format!("the ends differ in {count} counters: the run was broken off while samples were under way")
        }
        (_, count) => format!("the ends differ in {count} counters, see above"),
    }
}

/// Why the two ends of a node that gave its counters are not compared.
const NOTHING_TO_COMPARE: &str = "samples got no answer, or the node was lost";

/// At how many nodes the two ends are not compared, or in part, and why.
fn uncompared(reports: &[NodeReport]) -> Option<String> {
    let nodes = |how| reports.iter().filter(|report| comparable(report) == how).count();
    match (nodes(Comparable::Nothing), nodes(Comparable::Ingress)) {
        (0, 0) => None,
        (0, late) => Some(format!("answers not compared at {late} of {} nodes: some came late", reports.len())),
        (none, _) => Some(format!("not compared at {none} of {} nodes: {NOTHING_TO_COMPARE}", reports.len())),
    }
}

fn both(of: &PerDirection) -> String {
    let rate_text = |bits_per_s| if bits_per_s == Some(0.0) { "negligible".to_owned() } else { rate(bits_per_s) };
    format!("ingress {}, egress {}", rate_text(of.ingress), rate_text(of.egress))
}

/// Returns the parts of the latency at its median and at its 99th percentile. All samples of Offline are due at the
/// start, so that most of their latency is the time in which others were sent.
fn split(finished: &Finished) -> [(&'static str, String); 2] {
    let split = LatencySplit::from(finished.nodes.tally.all_nodes());
    let counts = finished.outcome.counts();
    let shape = finished.setup.plan.effective().shape;
    let of = match () {
        () if counts.issued > counts.completed => " (of answered samples)",
        // Its latencies are of whole queries.
        () if shape.has_query_latencies() => " (of samples)",
        () if shape.is_pulled() => " (all samples are due at the start)",
        () => "",
    };
    let split = |at| split.sum(shape.is_pulled(), at);
    [(" p50", split(|at| at.p50) + of), (" p99", split(|at| at.p99) + of)]
}
