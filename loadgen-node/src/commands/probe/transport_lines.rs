//! The table of `probe --transport all`: the transports side by side.

use std::fmt::Write as _;
use std::time::Duration;

use lon_run::network::ends::End;
use lon_run::network::fabric::{Fabric, NodeFabric, rate};

/// A line for each transport; empty with fewer than two.
pub(super) fn text(fabrics: &[Fabric]) -> String {
    if fabrics.len() < 2 {
        return String::new();
    }
    let mut text = format!(
        "\nTransports, all nodes at once\n  {:<12}{:>12}{:>14}{:>14}{:>26}{:>24}{:>10}\n",
        "transport", "RTT p50", "up", "down", "both ways at once (sum)", "CPU s/GB up, LoadGen", "SUT"
    );
    for fabric in fabrics {
        let [up, down, both] = [fabric.together.up, fabric.together.down, fabric.together.both].map(rate);
        let [own, sut] = [cost(fabric, |node| node.loadgen.as_ref()), cost(fabric, |node| node.sut.as_ref())];
        let (name, p50) = (fabric.transport, round_trip(fabric));
        let _ = writeln!(text, "  {name:<12}{p50:>12}{up:>14}{down:>14}{both:>26}{own:>24}{sut:>10}");
    }
    text
}

/// The median round trip of the smallest request, to the node with the longest.
fn round_trip(fabric: &Fabric) -> String {
    let p50s = fabric.nodes.iter().filter_map(|node| Some(node.rtt.first()?.percentiles.p50_ns));
    p50s.max().map_or_else(|| "-".to_owned(), |ns| format!("{:.1?}", Duration::from_nanos(ns)))
}

/// The highest processor time for a gigabyte towards the SUT, at one end of the connections to each node.
fn cost(fabric: &Fabric, end: fn(&NodeFabric) -> Option<&End>) -> String {
    let costs = fabric.nodes.iter().filter_map(|node| end(node)?.spent.up.cpu_s_per_gb);
    costs.reduce(f64::max).map_or_else(|| "-".to_owned(), |seconds| format!("{seconds:.2}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lon_run::network::by_way::ByWay;
    use lon_run::network::ends::Spent;
    use lon_run::network::fabric::{Goodput, Percentiles, Rtt};

    #[test]
    fn each_transport_has_a_line_with_what_was_measured() {
        let spent = Spent { cpu_s_per_gb: Some(0.25), core_wait_s_per_s: None };
        let node = NodeFabric {
            rtt: vec![Rtt { bytes: 64, trips: 9, percentiles: Percentiles { p50_ns: 96_500, p90_ns: 1, p99_ns: 1 } }],
            loadgen: Some(End { spent: ByWay { up: spent, ..ByWay::default() }, ..End::default() }),
            ..NodeFabric::default()
        };
        let together = Goodput { up: Some(13.3e9), ..Goodput::default() };
        let tcp = Fabric { transport: "tcp", nodes: vec![node], together, ..Fabric::default() };
        let quic = Fabric { transport: "quic", ..Fabric::default() };
        assert_eq!(text(std::slice::from_ref(&tcp)), "", "nothing stands beside it");
        let text = text(&[tcp, quic]);
        let rows: Vec<Vec<&str>> = text.lines().skip(3).map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[0], ["tcp", "96.5\u{b5}s", "13.3", "Gbit/s", "-", "-", "0.25", "-"]);
        assert_eq!(rows[1], ["quic", "-", "-", "-", "-", "-", "-"]);
    }
}
