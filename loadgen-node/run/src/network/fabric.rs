//! The findings of a probe on a fabric.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::Duration;

use lon_proto::figures::bit_rate;

pub use lon_probe::{Percentiles, Rtt};

use super::by_way::ByWay;
use super::ends::{self, End};
use super::spread;
use super::traffic::Bytes;

/// Payload that came through, in bit/s; what is none was not measured.
pub type Goodput = ByWay<Option<f64>>;

/// Why a goodput that was tried is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// --max-bytes stopped every measurement.
    Cut,
    /// Too little came through within this time, the duration of a measurement.
    Little(Duration),
}

/// Every repeat of a goodput, in bit/s.
pub type Repeats = ByWay<Vec<f64>>;

/// Goodput over so many connections.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AtConnections {
    pub(crate) connections: usize,
    pub(crate) up: Option<f64>,
    pub(crate) down: Option<f64>,
}

/// The findings on one node. Values that could not be measured any more are missing.
#[derive(Clone, Debug, Default)]
pub struct NodeFabric {
    /// Unique name of the node.
    pub name: String,
    /// Its address, `host:port`.
    pub address: String,
    /// Round trips of each size.
    pub rtt: Vec<Rtt>,
    /// Over the number of connections that fills the link.
    pub goodput: Goodput,
    /// Why those goodputs that are none are, as far as they were tried.
    pub missing: ByWay<Option<Missing>>,
    /// Goodput of each repeat.
    pub repeats: Repeats,
    /// Over each number of connections that was tried, the fewest first.
    pub by_connections: Vec<AtConnections>,
    /// The fewest connections that bring what more of them bring, too.
    pub fills_with: Option<usize>,
    /// Round trips of 64 bytes while both directions were full.
    pub loaded: Option<Rtt>,
    /// This end of the connections to the node.
    pub loadgen: Option<End>,
    /// The node's end; none when it does not tell.
    pub sut: Option<End>,
    /// The threads with which the node decompresses; none where it does not report them.
    pub decode_threads: Option<u32>,
    /// The id of the start of the node's host; empty where it is not known.
    pub boot_id: String,
    /// Cores of the host, whoever may use them; 0 where they are not known.
    pub host_cores: u32,
}

/// The findings on all nodes.
#[derive(Clone, Debug, Default)]
pub struct Fabric {
    /// Name of the transport.
    pub transport: &'static str,
    /// The findings on each node.
    pub nodes: Vec<NodeFabric>,
    /// All nodes at once.
    pub together: Goodput,
    /// Why those of them that are none are, as far as they were tried.
    pub together_missing: ByWay<Option<Missing>>,
    /// Goodput of all nodes in each repeat.
    pub together_repeats: Repeats,
    /// The bytes of the whole probe on the sockets. They are no part of a run's bytes.
    pub socket_bytes: Bytes,
}

/// A duration that may be enough, as a multiple of one that was not.
const LONGER: u32 = 5;

impl Missing {
    fn text(self) -> String {
        match self {
            Missing::Cut => "stopped by --max-bytes before there was enough to measure".to_owned(),
            Missing::Little(time) => {
                format!("too little came through within {time:?} to measure it (try --duration {:?})", time * LONGER)
            }
        }
    }
}

impl ByWay<Option<Missing>> {
    /// The goodputs that were tried and are not known, with their reasons, in words. `None` where there is none.
    pub(crate) fn reason(self) -> Option<String> {
        let named = ["up", "down", "both ways at once"].into_iter().zip(self.each());
        let directions: Vec<(&str, Missing)> = named.filter_map(|(direction, why)| Some((direction, why?))).collect();
        let by_reason = directions.chunk_by(|(_, a), (_, b)| a == b).map(|same| {
            let names: Vec<&str> = same.iter().map(|(direction, _)| *direction).collect();
            format!("{}: {}", names.join(", "), same[0].1.text())
        });
        (!directions.is_empty()).then(|| by_reason.collect::<Vec<_>>().join("; "))
    }
}

impl ByWay<String> {
    /// The three texts below the heads of the table of goodputs.
    fn columns(&self) -> String {
        format!("{:>14}{:>14}{:>26}", self.up, self.down, self.both)
    }
}

/// More connections that bring less than this share more are not worth it: what one measurement scatters.
const WORTH_IT: f64 = 0.05;

/// The fewest connections that bring, in both directions, what the best number brings; none when nothing was measured
/// both ways.
pub(crate) fn fills_with(tried: &[AtConnections]) -> Option<usize> {
    let best = |of: fn(&AtConnections) -> Option<f64>| tried.iter().filter_map(of).reduce(f64::max);
    let (up, down) = (best(|it| it.up)?, best(|it| it.down)?);
    // Of both directions, the share of the best that is there.
    let share = |it: &AtConnections| Some((it.up? / up).min(it.down? / down));
    let shares: Vec<(usize, f64)> = tried.iter().filter_map(|it| Some((it.connections, share(it)?))).collect();
    // No number may be the best of both directions.
    let most = shares.iter().map(|(_, share)| *share).fold(0.0, f64::max);
    shares.iter().find(|(_, share)| *share >= most * (1.0 - WORTH_IT)).map(|(connections, _)| *connections)
}

/// Nodes that are shown one by one.
const NODES: usize = 16;

/// Of more nodes, as many of the worst in each respect.
const WORST: usize = 4;

impl Fabric {
    /// The lower goodput of the two directions, of all nodes at once; 0 where it is not known.
    pub fn narrower(&self) -> f64 {
        self.together.up.unwrap_or(0.0).min(self.together.down.unwrap_or(0.0))
    }

    /// Threads of all SUT nodes that can decompress at the same time; 0 where no node reports its cores. Nodes on one
    /// host share the cores of that host.
    pub fn decoders(&self) -> u32 {
        let mut hosts: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
        for node in &self.nodes {
            let cores = node.sut.as_ref().map_or(0, |end| end.cores);
            let id = if node.boot_id.is_empty() { &node.name } else { &node.boot_id };
            let (decoders, most) = hosts.entry(id).or_default();
            let threads = node.decode_threads.map_or(cores, |threads| threads.min(cores));
            *decoders = decoders.saturating_add(threads);
            *most = cores.max(node.host_cores).max(*most);
        }
        hosts.into_values().map(|(decoders, most)| decoders.min(most)).fold(0, u32::saturating_add)
    }

    /// The measured fabric as text for people.
    pub fn text(&self) -> String {
        let mut text = format!("Round trip over {}, answered by 8 bytes\n", self.transport);
        let _ = writeln!(text, "  {:<18}{:>26}{:>12}{:>12}{:>12}{:>10}", "node", "bytes", "p50", "p90", "p99", "trips");
        let nodes = self.table_nodes();
        for node in &nodes {
            for rtt in &node.rtt {
                row(&mut text, &node.name, &rtt.bytes.to_string(), rtt);
            }
            if let Some(loaded) = &node.loaded {
                row(&mut text, &node.name, &format!("{}, both directions full", loaded.bytes), loaded);
            }
        }
        let _ = writeln!(text, "\nGoodput (payload)");
        let _ = writeln!(text, "  {:<22}{:>14}{:>14}{:>26}", "node", "up", "down", "both ways at once (sum)");
        for node in &nodes {
            goodput_rows(&mut text, &node.name, &node.goodput, &node.repeats, node.chosen());
        }
        if self.nodes.len() > 1 {
            let most = nodes.iter().filter_map(|node| node.chosen()).max();
            goodput_rows(&mut text, "all at once", &self.together, &self.together_repeats, most);
        }
        for (name, reason) in self.missing() {
            let _ = writeln!(text, "  - {name}, {reason}");
        }
        connections_text(&mut text, &nodes);
        if nodes.iter().any(|node| node.loadgen.is_some()) {
            ends::head(&mut text);
            nodes.iter().for_each(|node| {
                ends::rows(&mut text, &node.name, node.loadgen.as_ref(), node.sut.as_ref());
            });
        }
        if nodes.len() < self.nodes.len() {
            let _ = writeln!(
                text,
                "\nOf {} nodes the first, the {WORST} with the longest round trips and the {WORST} with the least \
                 goodput (--json has all)",
                self.nodes.len()
            );
        }
        text
    }

    /// The nodes with a goodput that was tried and is not known, and the reason. Of many the first ones.
    pub fn missing(&self) -> Vec<(&str, String)> {
        let nodes = self.nodes.iter().map(|node| (node.name.as_str(), node.missing));
        let together = (self.nodes.len() > 1).then_some(("all at once", self.together_missing));
        let reasons = nodes.chain(together).filter_map(|(name, missing)| Some((name, missing.reason()?)));
        reasons.take(NODES).collect()
    }

    /// All nodes; of many the first and the worst, in their order.
    fn table_nodes(&self) -> Vec<&NodeFabric> {
        if self.nodes.len() <= NODES {
            return self.nodes.iter().collect();
        }
        let p99_ns = |node: &NodeFabric| node.rtt.iter().map(|rtt| rtt.percentiles.p99_ns).max();
        let least = |node: &NodeFabric| node.goodput.up.unwrap_or(0.0).min(node.goodput.down.unwrap_or(0.0));
        let mut slowest: Vec<usize> = (0..self.nodes.len()).collect();
        let mut narrowest = slowest.clone();
        slowest.sort_by_key(|&at| std::cmp::Reverse(p99_ns(&self.nodes[at])));
        narrowest.sort_by(|&a, &b| least(&self.nodes[a]).total_cmp(&least(&self.nodes[b])));
        let worst = slowest.into_iter().take(WORST).chain(narrowest.into_iter().take(WORST));
        worst.chain([0]).collect::<BTreeSet<usize>>().into_iter().map(|at| &self.nodes[at]).collect()
    }
}

impl NodeFabric {
    /// The number of connections that its goodput is of, where several were tried.
    fn chosen(&self) -> Option<usize> {
        self.fills_with.filter(|_| self.by_connections.len() > 1)
    }
}

/// Writes the goodput of several numbers of connections, where several were tried.
fn connections_text(text: &mut String, nodes: &[&NodeFabric]) {
    if nodes.iter().all(|node| node.by_connections.len() < 2) {
        return;
    }
    let _ = writeln!(text, "\nConnections\n  {:<22}{:>14}{:>14}{:>14}", "node", "connections", "up", "down");
    for node in nodes {
        for tried in &node.by_connections {
            let is_best = node.fills_with == Some(tried.connections);
            let fills = if is_best { format!("  {}", filled(node, tried)) } else { String::new() };
            let [up, down] = [tried.up, tried.down].map(rate);
            let _ = writeln!(text, "  {:<22}{:>14}{up:>14}{down:>14}{fills}", node.name, tried.connections);
        }
    }
}

/// The reason for the number of connections that fills the link, and the round trip that it costs, in words.
fn filled(node: &NodeFabric, chosen: &AtConnections) -> String {
    let best = |of: fn(&AtConnections) -> Option<f64>| node.by_connections.iter().filter_map(of).reduce(f64::max);
    let share = |it: &AtConnections, of: fn(&AtConnections) -> Option<f64>| Some(of(it)? / best(of)?);
    let lower = |it: &AtConnections| {
        let (up, down) = (share(it, |it| it.up)?, share(it, |it| it.down)?);
        Some(if up < down { ("up", up) } else { ("down", down) })
    };
    let fewer = node.by_connections.iter().rfind(|it| it.connections < chosen.connections);
    let why = match (lower(chosen), fewer.and_then(lower)) {
        (Some((direction, share)), _) if share < 1.0 - WORTH_IT => {
            format!("nearest to the best goodput ({direction} is {:.0} % below it)", (1.0 - share) * 100.0)
        }
        (_, Some((direction, _))) => {
            format!("the fewest within 5 % of the best goodput (fewer lose some of {direction})")
        }
        _ => "the fewest within 5 % of the best goodput".to_owned(),
    };
    let p50 = |rtt: Rtt| Duration::from_nanos(rtt.percentiles.p50_ns);
    let loaded = node.loaded.map(|rtt| format!(", 64 B with both directions full p50 {:.1?}", p50(rtt)));
    why + &loaded.unwrap_or_default()
}

/// The goodput of a node, and its repeats. `connections`: where several numbers were tried, the one that it is of.
fn goodput_rows(text: &mut String, name: &str, goodput: &Goodput, repeats: &Repeats, connections: Option<usize>) {
    let over = connections.map(|count| format!("  connections {count}")).unwrap_or_default();
    let _ = writeln!(text, "  {name:<22}{}{over}", goodput.map(rate).columns());
    let width = |values: &Vec<f64>| spread::half_width(values).map(|share| format!("\u{b1}{:.1} %", share * 100.0));
    let intervals = repeats.as_ref().map(|values| width(values).unwrap_or_default()).columns();
    let count = repeats.up.len().max(repeats.down.len());
    if !intervals.trim().is_empty() {
        let _ = writeln!(text, "  {:<22}{intervals}  95 % confidence, {count} repeats", "");
    }
}

/// The round trips of one size. A percentile is shown from as many of them on as leave one above it.
fn row(text: &mut String, name: &str, bytes: &str, rtt: &Rtt) {
    let Rtt { trips, percentiles: Percentiles { p50_ns, p90_ns, p99_ns }, .. } = *rtt;
    let [p50, p90, p99] = [(p50_ns, 1), (p90_ns, 10), (p99_ns, 100)].map(|(ns, least)| match trips >= least {
        true => format!("{:.1?}", Duration::from_nanos(ns)),
        false => "-".to_owned(),
    });
    let _ = writeln!(text, "  {name:<18}{bytes:>26}{p50:>12}{p90:>12}{p99:>12}{trips:>10}");
}

/// Decimal Gbit/s with six significant digits.
pub fn gbit_s(bits_per_s: f64) -> f64 {
    six_digits(bits_per_s / 1e9)
}

/// Rounds to six significant digits: enough for any link, and no noise.
pub(crate) fn six_digits(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    let scale = 10f64.powi(5 - value.abs().log10().floor() as i32);
    (value * scale).round() / scale
}

/// A rate for people; a dash when it is not known.
pub fn rate(bits_per_s: Option<f64>) -> String {
    bits_per_s.map_or("-".to_owned(), bit_rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_on_one_host_share_its_cores() {
        let node = |name: &str, boot_id: &str, decode_threads| NodeFabric {
            name: name.to_owned(),
            sut: Some(End { cores: 2, ..End::default() }),
            decode_threads,
            boot_id: boot_id.to_owned(),
            ..NodeFabric::default()
        };
        let decoders = |nodes: &[NodeFabric]| Fabric { nodes: nodes.to_vec(), ..Fabric::default() }.decoders();
        assert_eq!(decoders(&[node("N1", "a", None)]), 2);
        assert_eq!(decoders(&[node("N1", "a", Some(1))]), 1);
        assert_eq!(decoders(&[node("N1", "a", None), node("N2", "a", None)]), 2, "both are on one host");
        assert_eq!(decoders(&[node("N1", "a", None), node("N2", "b", None)]), 4);
        assert_eq!(decoders(&[node("N1", "", None), node("N2", "", None)]), 4, "the hosts are not known");
        let larger = NodeFabric { host_cores: 64, ..node("N1", "a", None) };
        assert_eq!(decoders(&[larger.clone(), larger]), 4, "each may use two of many");
        assert_eq!(decoders(&[NodeFabric::default()]), 0);
        let boastful =
            |name| NodeFabric { sut: Some(End { cores: u32::MAX, ..End::default() }), ..node(name, name, None) };
        assert_eq!(decoders(&[boastful("N1"), boastful("N2")]), u32::MAX);
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
    fn the_fewest_connections_that_fill_the_link_are_named() {
        let at = |connections, gbit_s: f64| AtConnections { connections, up: Some(gbit_s * 1e9), down: Some(10e9) };
        assert_eq!(fills_with(&[at(1, 9.9), at(2, 10.0), at(4, 9.8)]), Some(1), "within what is not worth it");
        assert_eq!(fills_with(&[at(1, 4.0), at(2, 8.0), at(4, 9.8), at(8, 10.0)]), Some(4));
        let one_sided = AtConnections { down: Some(5e9), ..at(2, 10.0) };
        assert_eq!(fills_with(&[at(1, 6.0), one_sided]), Some(1), "none is the best both ways");
        assert_eq!(fills_with(&[]), None);
        assert_eq!(fills_with(&[AtConnections { down: None, ..at(1, 1.0) }]), None, "one way only");
    }

    #[test]
    fn the_direction_that_decides_is_named() {
        let at = |connections, up: f64, down: f64| AtConnections { connections, up: Some(up), down: Some(down) };
        let of = |tried: &[AtConnections]| {
            let node =
                NodeFabric { by_connections: tried.to_vec(), loaded: Some(rtt(9, 1_500_000)), ..NodeFabric::default() };
            let fills = fills_with(tried).unwrap();
            filled(&node, tried.iter().find(|it| it.connections == fills).unwrap())
        };
        let loaded = ", 64 B with both directions full p50 1.5ms";
        assert_eq!(
            of(&[at(1, 10.0, 5.0), at(2, 10.0, 10.0)]),
            format!("the fewest within 5 % of the best goodput (fewer lose some of down){loaded}")
        );
        assert_eq!(
            of(&[at(1, 10.0, 9.9), at(2, 9.0, 10.0)]),
            format!("the fewest within 5 % of the best goodput{loaded}")
        );
        let torn = of(&[at(1, 6.0, 10.0), at(2, 10.0, 7.0)]);
        assert_eq!(torn, format!("nearest to the best goodput (down is 30 % below it){loaded}"));
    }

    #[test]
    fn repeats_say_how_far_their_mean_may_be_off() {
        let repeats = Repeats { up: vec![99e6, 100e6, 101e6], ..Repeats::default() };
        let mut text = String::new();
        goodput_rows(&mut text, "N1", &repeats.as_ref().map(|values| spread::mean(values)), &repeats, None);
        assert!(text.contains("100 Mbit/s") && text.contains("\u{b1}2.5 %") && text.contains("3 repeats"), "{text}");
        let once = Repeats { up: vec![1e6], ..Repeats::default() };
        text.clear();
        goodput_rows(&mut text, "N1", &once.as_ref().map(|values| spread::mean(values)), &once, None);
        assert_eq!(text.lines().count(), 1, "{text}");
    }

    #[test]
    fn of_many_nodes_the_first_and_the_worst_are_shown() {
        let node = |number: u64| NodeFabric {
            name: format!("N{number}"),
            rtt: vec![rtt(9, if number == 77 { 900_000 } else { 1_000 })],
            goodput: Goodput { up: Some(1e9), down: Some(if number == 500 { 1e6 } else { 1e9 }), ..Goodput::default() },
            ..NodeFabric::default()
        };
        let many = Fabric { transport: "tcp", nodes: (0..1_000).map(node).collect(), ..Fabric::default() };
        let text = many.text();
        for part in ["  N0 ", "  N77 ", "  N500 ", "Of 1000 nodes", "all at once"] {
            assert!(text.contains(part), "no '{part}' in {text}");
        }
        assert!(text.lines().count() < 40, "{text}");
        let few = Fabric { transport: "tcp", nodes: (0..16).map(node).collect(), ..Fabric::default() }.text();
        assert!(few.contains("  N15 ") && !few.contains("Of 16 nodes"), "{few}");
    }

    #[test]
    fn what_was_not_measured_is_a_dash() {
        let node = NodeFabric { name: "N1".to_owned(), address: "a:1".to_owned(), ..NodeFabric::default() };
        let fabric = Fabric { transport: "tcp", nodes: vec![node], ..Fabric::default() };
        assert!(fabric.text().contains('-'), "{}", fabric.text());
        assert!(!fabric.text().contains("--max-bytes"), "nobody stopped it: {}", fabric.text());
        let mut cut = fabric;
        let little = Some(Missing::Little(Duration::from_secs(2)));
        cut.nodes[0].missing = ByWay { up: little, down: little, both: Some(Missing::Cut) };
        let lines = "  - N1, up, down: too little came through within 2s to measure it (try --duration 10s); \
                     both ways at once: stopped by --max-bytes";
        assert!(cut.text().contains(lines), "{}", cut.text());
    }

    #[test]
    fn percentiles_take_enough_round_trips() {
        let row_text = |trips| {
            let mut text = String::new();
            row(&mut text, "N1", "64", &rtt(trips, 389_000_000));
            text.split_whitespace().map(str::to_owned).collect::<Vec<_>>()[2..].join(" ")
        };
        assert_eq!(row_text(1), "389.0ms - - 1");
        assert_eq!(row_text(10), "389.0ms 389.0ms - 10");
        assert_eq!(row_text(100), "389.0ms 389.0ms 389.0ms 100");
    }

    /// Round trips that took the same time.
    fn rtt(trips: u64, ns: u64) -> Rtt {
        Rtt { bytes: 64, trips, percentiles: Percentiles { p50_ns: ns, p90_ns: ns, p99_ns: ns } }
    }
}
