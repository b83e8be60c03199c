//! A run as metrics for programs that ask every few seconds, and as a file at its end.
//!
//! - here: from the newest snapshot to metrics; `families`: their names;
//! - `options`: what is asked for.

mod families;
pub(crate) mod options;

use std::fmt;

use lon_shell::metrics::family::{Family, Value};
use lon_shell::metrics::histogram::{Buckets, DURATION_BOUNDS_NS};
use lon_shell::metrics::native::Native;
use lon_shell::metrics::source::{Metrics, Parts, Source, Teller};
use lon_shell::version::REVISION;
use qdl::Direction;

use self::families as f;
use lon_run::live::latencies::Latencies;
use lon_run::live::latest_snapshot::{Board, Newest};
use lon_run::live::run_facts::About;
use lon_run::live::snapshot::{Node, Snapshot};
use lon_world::failures::REASONS;

/// The boards of a command's runs.
#[derive(Clone, Debug)]
pub(crate) enum Boards {
    /// The board of one run at a time.
    One(Board),
    /// The boards of tenants, by their names.
    Tenants(Vec<(String, Board)>),
}

impl Boards {
    /// Everything that the boards have, for those who ask. With tenants each series has the label `tenant`.
    fn metrics(&self) -> Metrics {
        match self {
            Boards::One(board) => Metrics::new([], RunMetrics(board.clone())),
            Boards::Tenants(boards) => {
                let sources = boards.iter().map(|(name, board)| (name.clone(), RunMetrics(board.clone())));
                Metrics::new([], Parts::new("tenant", sources))
            }
        }
    }
}

/// The metrics of a run.
#[derive(Debug)]
struct RunMetrics(Board);

/// One number with its labels.
struct Series<'a> {
    labels: Vec<(&'a str, &'a str)>,
    value: Value<'a>,
}

impl<'a> Series<'a> {
    fn new<const N: usize>(labels: [(&'a str, &'a str); N], number: u64) -> Series<'a> {
        Series { labels: labels.into(), value: Value::Number(number) }
    }
}

fn encode(family: Family, teller: &mut Teller<'_>, series: &[Series<'_>]) -> fmt::Result {
    family.encode(teller, series.iter().map(|series| (series.labels.as_slice(), series.value)))
}

impl Source for RunMetrics {
    fn tell(&self, teller: &mut Teller<'_>) -> fmt::Result {
        let build = [("version", env!("CARGO_PKG_VERSION")), ("revision", REVISION.unwrap_or("not known"))];
        f::BUILD.encode(teller, [(&build[..], Value::Present)])?;
        // Before the run there is nothing but the program.
        let Some(Newest { about, snapshot, is_valid }) = self.0.newest() else { return Ok(()) };
        run(teller, &about, &snapshot, is_valid)?;
        samples(teller, &snapshot)?;
        nodes(teller, &snapshot.nodes)?;
        durations(teller, &about, &snapshot)
    }
}

fn run(teller: &mut Teller<'_>, about: &About, snapshot: &Snapshot, is_valid: Option<bool>) -> fmt::Result {
    let mut labels = vec![
        ("benchmark", about.benchmark.as_str()),
        ("scenario", about.scenario),
        ("transport", about.transport),
        ("sut", about.sut_name.as_str()),
    ];
    labels.extend(about.labels.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    f::RUN.encode(teller, [(&labels[..], Value::Present)])?;
    let phase = snapshot.phase.as_ref().map_or(0, |phase| phase.number);
    f::PHASE.encode_one(teller, Value::Number(phase))?;
    let rules: Vec<Series<'_>> = snapshot
        .standing
        .checks
        .iter()
        .map(|check| Series::new([("rule", check.name.as_str())], check.state as u64))
        .collect();
    encode(f::RULES, teller, &rules)?;
    f::FINISHED.encode_one(teller, Value::Number(u64::from(is_valid.is_some())))?;
    // As long as it is not known, there is no such number.
    is_valid.map_or(Ok(()), |is_valid| f::VALID.encode_one(teller, Value::Number(u64::from(is_valid))))
}

fn samples(teller: &mut Teller<'_>, snapshot: &Snapshot) -> fmt::Result {
    f::QUERIES.encode_one(teller, Value::Number(snapshot.queries))?;
    f::ISSUED.encode_one(teller, Value::Number(snapshot.issued))?;
    f::ANSWERED.encode_one(teller, Value::Number(snapshot.ended.saturating_sub(snapshot.failed())))?;
    let failed = |reason| snapshot.failures.iter().find(|failed| failed.reason == reason).map_or(0, |it| it.samples);
    let failed = REASONS.map(|reason| Series::new([("reason", reason)], failed(reason)));
    encode(f::FAILED, teller, &failed)?;
    f::OUTSTANDING.encode_one(teller, Value::Number(snapshot.outstanding()))
}

fn nodes(teller: &mut Teller<'_>, nodes: &[Node]) -> fmt::Result {
    let each = |number: fn(&Node) -> u64| -> Vec<Series<'_>> {
        nodes.iter().map(|node| Series::new([("node", node.now.name.as_str())], number(node))).collect()
    };
    encode(f::SENT, teller, &each(|node| node.now.counts.samples_sent))?;
    encode(f::IN_FLIGHT, teller, &each(|node| node.now.outstanding))?;
    encode(f::LOST, teller, &each(|node| u64::from(node.now.lost.is_some())))?;
    let bytes: Vec<Series<'_>> = nodes.iter().flat_map(network).collect();
    encode(f::NETWORK, teller, &bytes)?;
    let retransmits = |node: &Node| node.now.traffic.retransmits;
    let counts = nodes.iter().filter_map(|node| Some((node, retransmits(node)?)));
    let series: Vec<Series<'_>> =
        counts.map(|(node, count)| Series::new([("node", node.now.name.as_str())], count)).collect();
    encode(f::RETRANSMITS, teller, &series)?;
    let bad = nodes.iter().flat_map(|node| {
        let counts = &node.now.counts;
        let kinds = [("duplicate", counts.duplicate), ("late", counts.late), ("foreign", counts.foreign)];
        kinds.map(|(kind, count)| Series::new([("node", node.now.name.as_str()), ("kind", kind)], count))
    });
    encode(f::BAD_ANSWERS, teller, &bad.collect::<Vec<_>>())
}

/// The bytes of one node by layer and direction, under the names that `network_report.json` has for them.
fn network(node: &Node) -> Vec<Series<'_>> {
    let (counts, traffic) = (&node.now.counts, &node.now.traffic);
    let layers = [
        ("tensor", counts.tensor_bytes_out, counts.tensor_bytes_in),
        ("encoded", counts.payload_bytes_out, counts.payload_bytes_in),
        ("message", counts.message_bytes_out, counts.message_bytes_in),
        ("socket", traffic.socket_bytes_out, traffic.socket_bytes_in),
    ];
    let [ingress, egress] = [Direction::Ingress, Direction::Egress].map(Direction::name);
    let series = |(layer, out, back)| {
        let labels = |direction| [("node", node.now.name.as_str()), ("layer", layer), ("direction", direction)];
        [Series::new(labels(ingress), out), Series::new(labels(egress), back)]
    };
    layers.into_iter().flat_map(series).collect()
}

fn durations(teller: &mut Teller<'_>, about: &About, snapshot: &Snapshot) -> fmt::Result {
    let lag = snapshot.lag;
    let statistics = [("p50", lag.p50_ns), ("p99", lag.p99_ns), ("max", lag.max_ns)];
    let seconds = |(statistic, ns): (&'static str, u64)| Series {
        labels: vec![("statistic", statistic)],
        value: Value::Real(ns as f64 / 1e9),
    };
    encode(f::LAG, teller, &statistics.map(seconds))?;
    let totals = &snapshot.totals;
    f::LATENCY.encode_one(teller, Value::Buckets(&buckets(&totals.latency)))?;
    if about.terms.tokens.is_none() {
        return Ok(());
    }
    f::FIRST_TOKEN.encode_one(teller, Value::Buckets(&buckets(&totals.first_token)))?;
    f::PER_TOKEN.encode_one(teller, Value::Buckets(&buckets(&totals.per_token)))?;
    f::TOKENS.encode_one(teller, Value::Number(totals.tokens))
}

/// The histogram in classic and in native buckets.
fn buckets(latencies: &Latencies) -> Buckets {
    let within = latencies.within(DURATION_BOUNDS_NS);
    let ends = within.into_iter().chain([latencies.count()]);
    let mut before = 0;
    let alone: Vec<u64> = ends.map(|end| end - std::mem::replace(&mut before, end)).collect();
    let mut native = Native::default();
    latencies.counts().for_each(|(ns, count)| native.add(ns, count));
    let bounds = DURATION_BOUNDS_NS.map(|ns| ns as f64 / 1e9);
    Buckets::new(&bounds, &alone, latencies.sum_ns() as f64 / 1e9).with_native(native)
}

#[cfg(test)]
mod tests;
