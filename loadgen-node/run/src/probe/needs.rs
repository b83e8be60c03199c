//! The other way round: what rates of samples need of a fabric like the one that was measured, and what would be the
//! first to limit them.
//!
//! All of it is arithmetic on what a probe found. What the measured goodput was limited by is concluded: by an end
//! whose processor was full; by the wire, where the interface's rate was reached or both ends had time to spare; else
//! by the kernels, whose buffers and queues are what is left. An end whose threads waited for a core explains it before
//! the way between the ends does.

use lon_proto::figures::bit_rate;
use lon_qsl::Codec;
use lon_qsl::bandwidth::Direction;
use lon_qsl::benchmark::Benchmark;
use lon_qsl::codec_advice::Figures;
use qdl::Transport;
use serde::{Deserialize, Serialize};

use crate::network::ends::{End, STARVED, Spent};
use crate::network::fabric::{Fabric, NodeFabric};

/// Bytes of a frame on the wire beside the packet in it: preamble, heads and check of Ethernet, and the gap behind it.
const FRAME_BYTES: f64 = 38.0;
/// The largest packet that a wire carries; what is larger is loopback's.
const LARGEST_MTU: u32 = 9_600;
/// The MTU, and the payload of a TCP segment in it, where those of the connections are not a wire's.
const USUAL_MTU: u32 = 1_500;
const USUAL_SEGMENT: u32 = 1_448;
/// A processor that is used to this share is full.
const FULL: f64 = 0.9;
/// Ends that use less of a processor have time to spare.
const IDLE: f64 = 0.5;
/// An interface that carries this share of what it can is full.
const LINE_FULL: f64 = 0.85;

/// A rate of samples that is required.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    /// The benchmark of the samples.
    pub benchmark: &'static Benchmark,
    /// Rate of the samples, per second.
    pub samples_per_s: f64,
}

/// Demand of all required samples together, with one codec.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demand {
    pub(crate) codec: Codec,
    pub(crate) up_bits_per_s: f64,
    pub(crate) down_bits_per_s: f64,
    /// Processors that inflate all the time.
    pub(crate) inflating_cores: f64,
}

/// A kind of limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    /// A link, or something on the way that limits its rate.
    Wire,
    /// Buffers and queues of the operating systems.
    Kernel,
    /// Processors that move bytes.
    Cpu,
    /// Processors that inflate samples.
    Codec,
}

/// Something that is there to some amount.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Limit {
    /// The kind of thing.
    pub kind: LimitKind,
    /// The resource, its available amount and its share of the need, in words.
    pub what: String,
    /// Available amount over the amount that is needed; below 1 it is too little.
    pub share: f64,
}

/// Needs of required rates with one codec.
#[derive(Clone, Debug, PartialEq)]
pub struct Need {
    pub(crate) demand: Demand,
    /// Bits per second that links have to carry, including packet headers.
    pub(crate) line_up_bits_per_s: f64,
    pub(crate) line_down_bits_per_s: f64,
    /// The protocol and the MTU that packet headers are counted by, in words.
    pub(crate) line_over: String,
    /// Number of links like the measured one. `None` when goodput is not known both ways.
    pub(crate) links: Option<u64>,
    /// Number of connections to each node, over as many links. `None` when it is not known.
    pub(crate) connections: Option<u64>,
    /// Limits of everything that is needed, the scarcest first.
    pub(crate) limits: Vec<Limit>,
}

impl Need {
    /// Returns true when every limit leaves room for the demand.
    pub(crate) fn is_carried(&self) -> bool {
        self.limits.first().is_none_or(|scarcest| scarcest.share >= 1.0)
    }
}

/// The demand without a codec, and with each codec that one of the benchmarks may use; the others go without it then.
/// `figures` are of the benchmarks, in their order. A benchmark whose needs are not known is an error that names it.
pub fn demands(rates: &[Rate], figures: &[Vec<Figures>], codecs: &[Codec]) -> Result<Vec<Demand>, String> {
    let demand = |codec: Codec| {
        let mut sum = Demand { codec, up_bits_per_s: 0.0, down_bits_per_s: 0.0, inflating_cores: 0.0 };
        for (rate, figures) in rates.iter().zip(figures) {
            let unknown = || format!("--require {}: the bytes of its samples are not fixed", rate.benchmark.name);
            let formula = rate.benchmark.bandwidth_or_inputs().ok_or_else(unknown)?;
            let bits = |direction| formula.sample_bytes(direction) as f64 * 8.0 * rate.samples_per_s;
            let by = figures.iter().find(|figures| figures.codec == codec && figures.ratio > 1.0);
            sum.up_bits_per_s += bits(Direction::Ingress) / by.map_or(1.0, |figures| figures.ratio);
            sum.down_bits_per_s += bits(Direction::Egress);
            let inflating = |figures: &Figures| bits(Direction::Ingress) / 8.0 / figures.inflate_bytes_per_s;
            sum.inflating_cores += by.map_or(0.0, inflating);
        }
        Ok(sum)
    };
    let is_used = |codec: &&Codec| figures.iter().flatten().any(|own| own.codec == **codec && own.ratio > 1.0);
    [Codec::None].into_iter().chain(codecs.iter().filter(is_used).copied()).map(demand).collect()
}

/// Returns the needs of a demand on a fabric like this one.
pub fn need(demand: Demand, fabric: &Fabric) -> Need {
    let (share, line_over) = line(fabric);
    let (up, down) = (demand.up_bits_per_s, demand.down_bits_per_s);
    let over = |needed: f64, there: f64| if needed > 0.0 { (needed / there).ceil().max(1.0) as u64 } else { 1 };
    let measured = fabric.together.up.zip(fabric.together.down);
    let links = measured.map(|(there_up, there_down)| over(up, there_up).max(over(down, there_down)));
    let mut limits: Vec<Limit> = Vec::new();
    for (direction, needed, there) in
        [(FlowDirection::Up, up, fabric.together.up), (FlowDirection::Down, down, fabric.together.down)]
    {
        if needed <= 0.0 {
            continue;
        }
        // Claims of interfaces and costs of processors are no proof without a goodput.
        let unknown = || Limit {
            kind: LimitKind::Wire,
            what: format!("goodput {} was not measured", direction.name()),
            share: 0.0,
        };
        limits.push(there.map_or_else(unknown, |there| measured_limit(fabric, direction, needed, there, share)));
        limits.extend(wire_limits(fabric, direction, needed, share));
        limits.extend(cpu_limits(fabric, direction, needed));
    }
    if demand.inflating_cores > 0.0 {
        let decoders = fabric.decoders();
        let there = if decoders > 0 { format!("has {decoders}") } else { "reports none".to_owned() };
        let what = format!("decompression needs {:.1} decode threads, the SUT {there}", demand.inflating_cores);
        limits.push(Limit { kind: LimitKind::Codec, what, share: f64::from(decoders) / demand.inflating_cores });
    }
    limits.sort_by(|a, b| a.share.total_cmp(&b.share));
    let connections = links.and_then(|links| connections(fabric, up / links as f64, down / links as f64));
    let (line_up_bits_per_s, line_down_bits_per_s) = (up / share, down / share);
    Need { demand, line_up_bits_per_s, line_down_bits_per_s, line_over, links, connections, limits }
}

/// Returns true when the speed of decompression alone decides that no need is carried.
pub fn decompression_decides(needs: &[Need]) -> bool {
    let is_short_by_it = |need: &Need| {
        let mut short = need.limits.iter().filter(|limit| limit.share < 1.0).peekable();
        short.peek().is_some() && short.all(|limit| limit.kind == LimitKind::Codec && limit.share > 0.0)
    };
    !needs.iter().any(Need::is_carried) && needs.iter().any(is_short_by_it)
}

#[derive(Clone, Copy)]
enum FlowDirection {
    Up,
    Down,
}

impl FlowDirection {
    fn name(self) -> &'static str {
        match self {
            FlowDirection::Up => "up",
            FlowDirection::Down => "down",
        }
    }

    fn spent(self, end: &End) -> Spent {
        match self {
            FlowDirection::Up => end.spent.up,
            FlowDirection::Down => end.spent.down,
        }
    }

    fn cost(self, end: &End) -> Option<f64> {
        self.spent(end).cpu_s_per_gb
    }
}

/// The share of a line that is payload, by the segments of the connections, and the words for it. The usual one where
/// nothing was measured.
pub fn line(fabric: &Fabric) -> (f64, String) {
    let paths = fabric.nodes.iter().filter_map(|node| node.loadgen.as_ref()?.path.as_ref());
    let is_wire = |mtu_bytes: u32| (576..=LARGEST_MTU).contains(&mtu_bytes);
    let segments = paths.filter(|path| is_wire(path.mtu_bytes) && path.segment_bytes > 0);
    let sizes = segments.map(|path| (path.segment_bytes, path.mtu_bytes)).next();
    let transport = Transport::named(fabric.transport).ok();
    let protocol = transport.filter(|_| sizes.is_some()).map_or("TCP", |transport| transport.segments());
    let (segment, mtu) = sizes.unwrap_or((USUAL_SEGMENT, USUAL_MTU));
    (f64::from(segment) / (f64::from(mtu) + FRAME_BYTES), format!("{protocol} over MTU {mtu}"))
}

/// A limit with its share of the need in words: `what`, the rate that is there, and what else is known of it.
fn limit(kind: LimitKind, what: &str, there: f64, needed: f64, why: &str) -> Limit {
    let (rate, share) = (bit_rate(there), there / needed);
    // The percentage is rounded down, so that 100 % is enough.
    let what = format!("{what}, {rate}, is {:.0} % of the need{why}", (share * 100.0).floor());
    Limit { kind, what, share }
}

/// Returns the limit that was measured, with its cause.
fn measured_limit(fabric: &Fabric, direction: FlowDirection, needed: f64, there: f64, share: f64) -> Limit {
    let ends =
        fabric.nodes.iter().flat_map(|node| [("the LoadGen node", &node.loadgen), (node.name.as_str(), &node.sut)]);
    // Seconds of processor time in a second, of the end that is busiest.
    let each = |name: &str| if name == "the LoadGen node" { there } else { there / fabric.nodes.len().max(1) as f64 };
    let waits = ends.clone().filter_map(|(name, end)| Some((name, direction.spent(end.as_ref()?).core_wait_s_per_s?)));
    let starved = waits.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, wait)| *wait >= STARVED);
    let used = ends.filter_map(|(name, end)| Some((name, direction.cost(end.as_ref()?)? * each(name) / 8e9)));
    let busiest = used.max_by(|a, b| a.1.total_cmp(&b.1));
    let line = fabric.nodes.iter().filter_map(|node| speed(node.loadgen.as_ref()?)).reduce(f64::max);
    let is_loopback = fabric.nodes.iter().all(|node| node.loadgen.as_ref().is_some_and(|end| end.interface.is_none()));
    let is_line_full = line.is_some_and(|line| there >= LINE_FULL * line * share);
    let (kind, why) = match (busiest, starved) {
        _ if is_line_full => (LimitKind::Wire, "the interface is full".to_owned()),
        (Some((name, used)), _) if used >= FULL => (LimitKind::Cpu, format!("{name} uses {used:.1} processors for it")),
        (_, Some((name, wait))) => {
            (LimitKind::Cpu, format!("threads of {name} had no core for {wait:.2} s of each second"))
        }
        (Some((_, used)), None) if used < IDLE && !is_loopback => (
            LimitKind::Wire,
            "no processor of either end is full, so the network limits it: interface, cable, switch or shaper"
                .to_owned(),
        ),
        _ => (LimitKind::Kernel, "no processor and no interface is full".to_owned()),
    };
    limit(kind, &format!("goodput {} as measured", direction.name()), there, needed, &format!("; {why}"))
}

fn speed(end: &End) -> Option<f64> {
    end.interface.as_ref()?.speed_mbit_s.map(|mbit_s| mbit_s as f64 * 1e6)
}

/// Returns the limits that the interfaces claim: the LoadGen node's, and those of all nodes together.
fn wire_limits(fabric: &Fabric, direction: FlowDirection, needed: f64, share: f64) -> Vec<Limit> {
    let own = fabric.nodes.iter().filter_map(|node| speed(node.loadgen.as_ref()?)).reduce(f64::max);
    let each: Option<Vec<f64>> = fabric.nodes.iter().map(|node| speed(node.sut.as_ref()?)).collect();
    let limit = |whose: &str, line: f64| {
        let what = format!("payload {} by the interface of {whose}", direction.name());
        limit(LimitKind::Wire, &what, line * share, needed, "")
    };
    let own = own.map(|line| limit("the LoadGen node", line));
    let sut = each.filter(|each| !each.is_empty()).map(|each| limit("all SUT nodes", each.iter().sum()));
    own.into_iter().chain(sut).collect()
}

/// Returns the limits that the processors would set if all of them did nothing else.
fn cpu_limits(fabric: &Fabric, direction: FlowDirection, needed: f64) -> Vec<Limit> {
    let bits = |end: &End| Some(f64::from(end.cores) * 8e9 / direction.cost(end).filter(|cost| *cost > 0.0)?);
    let limit = |whose: &str, there: f64| {
        let what = format!("payload {} by all processors of {whose}", direction.name());
        limit(LimitKind::Cpu, &what, there, needed, "")
    };
    let own = fabric.nodes.iter().filter_map(|node| bits(node.loadgen.as_ref()?)).reduce(f64::min);
    let each: Option<Vec<f64>> = fabric.nodes.iter().map(|node| bits(node.sut.as_ref()?)).collect();
    let own = own.map(|there| limit("the LoadGen node", there));
    let sut = each.filter(|each| !each.is_empty()).map(|each| limit("the SUT nodes", each.iter().sum()));
    own.into_iter().chain(sut).collect()
}

/// The fewest connections to each node that bring its share. Where even the most that were tried do not, and each of
/// them added something, as many as would at the same pace; else those that fill the link.
fn connections(fabric: &Fabric, up: f64, down: f64) -> Option<u64> {
    let nodes = fabric.nodes.len().max(1) as f64;
    let of_node = |node: &NodeFabric| {
        let brings = |tried: &&crate::network::fabric::AtConnections| {
            tried.up.is_some_and(|there| there >= up / nodes) && tried.down.is_some_and(|there| there >= down / nodes)
        };
        let last = node.by_connections.last()?;
        let enough = node.by_connections.iter().find(brings).map(|tried| tried.connections as u64);
        let is_growing = node.fills_with == Some(last.connections) && node.by_connections.len() > 1;
        let pace = |there: Option<f64>, needed: f64| Some(needed / nodes / there.filter(|there| *there > 0.0)?);
        let more = || {
            let times = pace(last.up, up)?.max(pace(last.down, down)?);
            Some((times * last.connections as f64).ceil() as u64).filter(|_| is_growing)
        };
        enough.or_else(more).or(node.fills_with.map(|fills| fills as u64))
    };
    fabric.nodes.iter().map(of_node).collect::<Option<Vec<u64>>>()?.into_iter().max()
}

#[cfg(test)]
mod tests {
    use lon_machine::nic::Interface;
    use lon_net::path::Path;

    use super::*;
    use crate::network::by_way::ByWay;
    use crate::network::fabric::{AtConnections, Goodput};

    /// One node behind links of this speed, of which one connection brings `each` and all together `most`; each end has
    /// 8 processors and spends so much on a gigabyte.
    fn fabric(speed_mbit_s: u64, each: f64, most: f64, cost: f64) -> Fabric {
        let spent = Spent { cpu_s_per_gb: Some(cost), core_wait_s_per_s: Some(0.0) };
        let end = |segment_bytes| End {
            spent: ByWay { up: spent, down: spent, both: spent },
            path: Some(Path { segment_bytes, mtu_bytes: 1500, congestion_control: "cubic".to_owned() }),
            interface: Some(Interface { speed_mbit_s: Some(speed_mbit_s), ..Interface::default() }),
            cores: 8,
            ..End::default()
        };
        let at = |connections: usize| {
            let rate = Some((each * connections as f64).min(most));
            AtConnections { connections, up: rate, down: rate }
        };
        let by_connections = vec![at(1), at(2), at(4)];
        let fills_with = crate::network::fabric::fills_with(&by_connections);
        let node = NodeFabric {
            name: "N1".to_owned(),
            by_connections,
            fills_with,
            loadgen: Some(end(1448)),
            sut: Some(end(1448)),
            ..NodeFabric::default()
        };
        let best = Some(most.min(each * 4.0));
        let together = Goodput { up: best, down: best, ..Goodput::default() };
        Fabric { transport: "tcp", nodes: vec![node], together, ..Fabric::default() }
    }

    fn demand(up_bits_per_s: f64) -> Demand {
        Demand { codec: Codec::None, up_bits_per_s, down_bits_per_s: 0.0, inflating_cores: 0.0 }
    }

    #[test]
    fn a_full_interface_is_the_first_limit_and_more_links_help() {
        let full = fabric(10_000, 4.7e9, 9.4e9, 0.1);
        let need = need(demand(20e9), &full);
        assert_eq!((need.links, need.connections), (Some(3), Some(2)), "6.7 Gbit/s each");
        assert_eq!(need.limits[0].kind, LimitKind::Wire);
        let what = "goodput up as measured, 9.40 Gbit/s, is 47 % of the need; the interface is full";
        assert_eq!(need.limits[0].what, what);
        assert!((need.limits[0].share - 0.47).abs() < 0.01, "{:?}", need.limits);
        let line = need.line_up_bits_per_s / 20e9;
        assert!((line - 1538.0 / 1448.0).abs() < 1e-9, "{line}");
    }

    #[test]
    fn what_is_enough_needs_one_link_and_few_connections() {
        let need = need(demand(3e9), &fabric(10_000, 4.7e9, 9.4e9, 0.1));
        assert_eq!((need.links, need.connections), (Some(1), Some(1)));
        assert!(need.limits[0].share > 3.0, "{:?}", need.limits);
    }

    #[test]
    fn an_end_that_is_full_is_told_from_the_kernel_and_the_wire() {
        // 20 Gbit/s of 100: 2.5 GB/s.
        let kind = |cost| need(demand(40e9), &fabric(100_000, 10e9, 20e9, cost)).limits[0].kind;
        assert_eq!(kind(0.4), LimitKind::Cpu, "a whole processor");
        assert_eq!(kind(0.28), LimitKind::Kernel, "neither full nor idle");
        assert_eq!(kind(0.1), LimitKind::Wire, "idle ends, and the interface not full: something on the way");
    }

    #[test]
    fn an_end_that_waits_for_a_core_is_the_limit_and_not_the_way() {
        let mut sample_fabric = fabric(100_000, 10e9, 20e9, 0.1);
        sample_fabric.nodes[0].sut.as_mut().unwrap().spent.up.core_wait_s_per_s = Some(0.79);
        let first = need(demand(40e9), &sample_fabric).limits.remove(0);
        assert_eq!(first.kind, LimitKind::Cpu);
        assert!(first.what.ends_with("threads of N1 had no core for 0.79 s of each second"), "{first:?}");
    }

    #[test]
    fn rates_are_not_carried_by_what_was_not_measured() {
        let mut unknown = fabric(10_000, 4.7e9, 9.4e9, 0.1);
        unknown.together.up = None;
        let of_unknown = need(demand(1e9), &unknown);
        assert!(!of_unknown.is_carried() && of_unknown.limits[0].what.contains("was not measured"), "{of_unknown:?}");
        unknown.together = Goodput { up: Some(9.4e9), ..Goodput::default() };
        assert!(need(demand(1e9), &unknown).is_carried(), "nothing goes down");
    }

    #[test]
    fn headers_are_counted_by_the_mtu_that_was_found_or_the_usual_one() {
        let over = |mtu_bytes, segment_bytes| {
            let mut sample_fabric = fabric(10_000, 4.7e9, 9.4e9, 0.1);
            let loadgen = sample_fabric.nodes[0].loadgen.as_mut().unwrap();
            loadgen.path = Some(Path { segment_bytes, mtu_bytes, congestion_control: String::new() });
            let need = need(demand(1e9), &sample_fabric);
            (need.line_over, (need.line_up_bits_per_s / 1e5).round() / 1e4)
        };
        assert_eq!(over(9000, 8948), ("TCP over MTU 9000".to_owned(), 1.0101));
        assert_eq!(over(65_535, 65_483), ("TCP over MTU 1500".to_owned(), 1.0622), "of loopback");
    }

    #[test]
    fn connections_grow_with_what_each_brings() {
        let need = need(demand(40e9), &fabric(100_000, 5e9, 1e12, 0.1));
        assert_eq!((need.links, need.connections), (Some(2), Some(4)));
    }

    #[test]
    fn a_codec_saves_bytes_and_costs_processors() {
        let resnet50 = Benchmark::find("resnet50").unwrap();
        let zstd: Codec = "zstd:1".parse().unwrap();
        let figures = Figures { codec: zstd, ratio: 2.0, encode_bytes_per_s: 1e9, inflate_bytes_per_s: 1e8 };
        let rates = [Rate { benchmark: resnet50, samples_per_s: 20_000.0 }];
        let demands = demands(&rates, &[vec![figures]], &[zstd, "lz4".parse().unwrap()]).unwrap();
        assert_eq!(demands.len(), 2, "none and zstd; nobody measured lz4");
        let raw = 150_528.0 * 8.0 * 20_000.0;
        assert_eq!((demands[0].up_bits_per_s, demands[1].up_bits_per_s), (raw, raw / 2.0));
        assert!((demands[1].inflating_cores - 30.1).abs() < 0.1, "{:?}", demands[1]);
        let need = need(demands[1], &fabric(100_000, 25e9, 90e9, 0.01));
        assert_eq!(need.limits[0].kind, LimitKind::Codec, "8 processors of 30: {:?}", need.limits);
        assert_eq!(need.limits[0].what, "decompression needs 30.1 decode threads, the SUT has 8");
        assert!(decompression_decides(std::slice::from_ref(&need)), "the link carries it");
        let narrow = super::need(demands[1], &fabric(1_000, 25e6, 90e6, 0.01));
        assert!(!decompression_decides(&[narrow]), "the link does not carry it either");
        let carried = super::need(demands[1], &fabric(100_000, 25e9, 90e9, 0.01));
        let enough = Need { limits: Vec::new(), ..carried };
        assert!(!decompression_decides(&[need, enough]), "another way is enough");
    }

    #[test]
    fn samples_of_free_size_are_an_error_that_names_the_benchmark() {
        let synthetic = Benchmark::find("synthetic").unwrap();
        let rates = [Rate { benchmark: synthetic, samples_per_s: 1.0 }];
        assert!(demands(&rates, &[Vec::new()], &[]).unwrap_err().contains("synthetic"));
    }
}
