//! What a probe found out about a fabric.

use std::fmt::Write as _;
use std::time::Duration;

use super::traffic::Bytes;

/// Percentiles of round trips, in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Percentiles {
    pub(crate) p50_ns: u64,
    pub(crate) p90_ns: u64,
    pub(crate) p99_ns: u64,
}

/// Round trips of requests of one size, answered by eight bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rtt {
    pub(crate) bytes: u64,
    pub(crate) trips: u64,
    pub(crate) percentiles: Percentiles,
}

/// Payload that came through, in bit/s; what is none was not measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Goodput {
    /// Towards the SUT, with nothing coming back.
    pub(crate) up: Option<f64>,
    /// Back from the SUT, with nothing going there.
    pub(crate) down: Option<f64>,
    /// Both at once, added up.
    pub(crate) both: Option<f64>,
    /// What is none of these was stopped by --max-bytes.
    pub(crate) is_cut: bool,
}

/// What was found out about one node; what could not be measured any more is missing.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeFabric {
    pub(crate) name: String,
    pub(crate) address: String,
    pub(crate) rtt: Vec<Rtt>,
    pub(crate) goodput: Goodput,
    /// Round trips of 64 bytes while both directions were full.
    pub(crate) loaded: Option<Percentiles>,
}

/// What was found out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fabric {
    pub(crate) transport: &'static str,
    pub(crate) nodes: Vec<NodeFabric>,
    /// All nodes at once.
    pub(crate) together: Goodput,
    /// What all of it took on the sockets, which is no part of a run's bytes.
    pub(crate) socket_bytes: Bytes,
}

impl Percentiles {
    /// By nearest rank; sorts what it is given.
    pub(crate) fn of(trips_ns: &mut [u64]) -> Percentiles {
        trips_ns.sort_unstable();
        let at = |share: f64| {
            let rank = (share * trips_ns.len() as f64).ceil() as usize;
            trips_ns.get(rank.saturating_sub(1)).copied().unwrap_or(0)
        };
        Percentiles { p50_ns: at(0.50), p90_ns: at(0.90), p99_ns: at(0.99) }
    }
}

/// Why a goodput is none.
pub(crate) const CUT: &str = "stopped by --max-bytes before there was enough to measure";

impl Goodput {
    fn columns(&self) -> String {
        [self.up, self.down, self.both].map(|bits| format!("{:>14}", rate(bits))).concat()
    }
}

impl Fabric {
    /// The measured fabric as text for people.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("Round trip over {}, answered by 8 bytes\n", self.transport);
        let _ = writeln!(text, "  {:<22}{:>10}{:>14}{:>12}{:>12}{:>10}", "node", "bytes", "p50", "p90", "p99", "trips");
        for node in &self.nodes {
            for rtt in &node.rtt {
                row(&mut text, &node.name, &rtt.bytes.to_string(), rtt.percentiles, Some(rtt.trips));
            }
            if let Some(loaded) = node.loaded {
                row(&mut text, &node.name, "64, loaded", loaded, None);
            }
        }
        let _ = writeln!(text, "\nGoodput (payload)");
        let _ = writeln!(text, "  {:<22}{:>14}{:>14}{:>14}", "node", "up", "down", "both, sum");
        for node in &self.nodes {
            let _ = writeln!(text, "  {:<22}{}", node.name, node.goodput.columns());
        }
        if self.nodes.len() > 1 {
            let _ = writeln!(text, "  {:<22}{}", "all at once", self.together.columns());
        }
        if self.together.is_cut || self.nodes.iter().any(|node| node.goodput.is_cut) {
            let _ = writeln!(text, "  -: {CUT}");
        }
        text
    }
}

fn row(text: &mut String, name: &str, bytes: &str, at: Percentiles, trips: Option<u64>) {
    let [p50, p90, p99] = [at.p50_ns, at.p90_ns, at.p99_ns].map(|ns| format!("{:.1?}", Duration::from_nanos(ns)));
    let trips = trips.map(|trips| trips.to_string()).unwrap_or_default();
    let _ = writeln!(text, "  {name:<22}{bytes:>10}{p50:>14}{p90:>12}{p99:>12}{trips:>10}");
}

/// Decimal Gbit/s with six significant digits: enough for any link, and no noise.
pub(crate) fn gbit_s(bits_per_s: f64) -> f64 {
    let gbit = bits_per_s / 1e9;
    if gbit == 0.0 || !gbit.is_finite() {
        return 0.0;
    }
    let scale = 10f64.powi(5 - gbit.abs().log10().floor() as i32);
    (gbit * scale).round() / scale
}

/// A rate for people; a dash when it is not known.
pub(crate) fn rate(bits_per_s: Option<f64>) -> String {
    bits_per_s.map_or("-".to_owned(), lon_qsl::bandwidth::rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_by_nearest_rank() {
        let mut trips: Vec<u64> = (1..=200).rev().collect();
        assert_eq!(Percentiles::of(&mut trips), Percentiles { p50_ns: 100, p90_ns: 180, p99_ns: 198 });
        assert_eq!(Percentiles::of(&mut [7]), Percentiles { p50_ns: 7, p90_ns: 7, p99_ns: 7 });
        assert_eq!(Percentiles::of(&mut []), Percentiles::default());
    }

    #[test]
    fn rates_have_six_digits_in_files_and_units_on_screen() {
        assert_eq!(gbit_s(94_123_456.7), 0.0941235);
        assert_eq!(gbit_s(31_234_567_890.0), 31.2346);
        assert_eq!(gbit_s(0.0), 0.0);
        assert_eq!(
            [Some(94.12e6), Some(31.2e9), Some(1234.0), None].map(rate),
            ["94.1 Mbit/s", "31.2 Gbit/s", "1.23 kbit/s", "-"]
        );
    }

    #[test]
    fn what_was_not_measured_is_a_dash() {
        let node = NodeFabric { name: "N1".to_owned(), address: "a:1".to_owned(), ..NodeFabric::default() };
        let fabric = Fabric { transport: "tcp", nodes: vec![node], ..Fabric::default() };
        assert!(fabric.text().contains('-'), "{}", fabric.text());
        assert!(!fabric.text().contains("--max-bytes"), "nobody stopped it: {}", fabric.text());
        let mut cut = fabric;
        cut.nodes[0].goodput.is_cut = true;
        assert!(cut.text().contains("stopped by --max-bytes"), "{}", cut.text());
    }
}
