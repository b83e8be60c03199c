//! The values of the metrics at the moment in which somebody asks.

use std::fmt;
use std::sync::Arc;

use lon_proto::direction::Direction;
use lon_proto::node_name::NodeName;
use lon_proto::setup::Build;
use lon_shell::metrics::family::{Family, Value};
use lon_shell::metrics::histogram::Buckets;
use lon_shell::metrics::source::{Metrics, Source, Teller};

use super::families;
use crate::backend::BackendInfo;
use crate::config::ServeConfig;
use crate::run::durations::STAGES;
use crate::run::failure::FailureKind;
use crate::run::ledger::{Ledger, Sum, Sums};
use crate::service::claim::Claim;
use crate::service::describe::build;
use crate::work::queue::BatchSizes;
use crate::work::threads::Queues;

/// Where the values are read.
pub(crate) struct NodeMetrics {
    pub(crate) info: NodeInfo,
    pub(crate) queues: Queues,
    pub(crate) claim: Claim,
    pub(crate) ledger: Arc<Ledger>,
}

/// Properties that do not change while the node serves.
pub(crate) struct NodeInfo {
    node: NodeName,
    build: Build,
    engine: String,
    model: String,
    model_sha256: String,
}

impl NodeInfo {
    /// Collects the properties of a node of this configuration, and those of its backend.
    pub(crate) fn new(config: &ServeConfig, backend: &BackendInfo) -> NodeInfo {
        let BackendInfo { engine, model, model_sha256, .. } = backend;
        let model_sha256 = model_sha256.clone().unwrap_or_default();
        let (node, build) = (config.node.clone(), build(&config.features));
        NodeInfo { node, build, engine: engine.clone(), model: model.clone(), model_sha256 }
    }
}

impl NodeMetrics {
    /// Returns the metrics with these values. Every metric has the name of the node.
    pub(crate) fn metrics(self) -> Metrics {
        let node = self.info.node.to_string();
        Metrics::new([("node", &node)], self)
    }

    fn encode_info(&self, teller: &mut Teller<'_>) -> fmt::Result {
        let NodeInfo { build, engine, model, model_sha256, .. } = &self.info;
        let features = build.features.join(",");
        let built = [("version", &*build.version), ("revision", &*build.revision), ("features", &*features)];
        families::BUILD.encode(teller, [(&built[..], Value::Present)])?;
        let model = [("engine", &**engine), ("model", &**model), ("model_sha256", &**model_sha256)];
        families::MODEL.encode(teller, [(&model[..], Value::Present)])
    }

    /// Encodes the state of the node at this moment.
    fn encode_state(&self, teller: &mut Teller<'_>) -> fmt::Result {
        let run = self.claim.current();
        let claimed = |probe: bool| Value::Number(run.as_ref().is_some_and(|run| run.is_probe == probe).into());
        let purposes = PURPOSES.map(|purpose| [("purpose", purpose)]);
        families::CLAIMED.encode(teller, purposes.iter().zip([false, true]).map(|(it, is)| (&it[..], claimed(is))))?;
        let streams = run.as_ref().map_or(0, |run| run.streams() as u64);
        families::STREAMS.encode_one(teller, Value::Number(streams))?;
        let (samples, bytes) = run.as_ref().map_or((0, 0), |run| run.admission.held());
        families::IN_FLIGHT_SAMPLES.encode_one(teller, Value::Number(samples))?;
        families::IN_FLIGHT_BYTES.encode_one(teller, Value::Number(bytes))?;
        let (for_worker, sizes) = self.queues.workers.counts();
        let waiting = [("decode", self.queues.decode.waiting()), ("worker", for_worker)];
        let waiting = waiting.map(|(queue, samples)| ([("queue", queue)], Value::Number(samples as u64)));
        families::WAITING.encode(teller, waiting.iter().map(|(labels, value)| (&labels[..], *value)))?;
        families::BATCH.encode_one(teller, Value::Buckets(&buckets(sizes)))
    }

    fn encode_durations(&self, teller: &mut Teller<'_>) -> fmt::Result {
        let (stages, whole) = self.ledger.durations.sums();
        let labels: Vec<[(&str, &str); 1]> = STAGES.iter().map(|stage| [("stage", *stage)]).collect();
        let series = labels.iter().zip(&stages).map(|(labels, stage)| (&labels[..], Value::Buckets(stage)));
        families::STAGE.encode(teller, series)?;
        families::SAMPLE.encode_one(teller, Value::Buckets(&whole))
    }
}

impl Source for NodeMetrics {
    fn tell(&self, teller: &mut Teller<'_>) -> fmt::Result {
        self.encode_info(teller)?;
        self.encode_state(teller)?;
        let (sums, refused) = self.ledger.sums();
        families::REFUSED.encode_one(teller, Value::Number(refused))?;
        encode_sums(teller, &sums)?;
        self.encode_durations(teller)
    }
}

impl fmt::Debug for NodeMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeMetrics").field("node", &self.info.node).finish_non_exhaustive()
    }
}

/// Purposes that the node can be claimed for.
const PURPOSES: [&str; 2] = ["run", "probe"];

/// Encodes the sums over all runs and over all probes.
fn encode_sums(teller: &mut Teller<'_>, sums: &Sums) -> fmt::Result {
    let both = PURPOSES.into_iter().zip([sums.runs, sums.probes]);
    let each = |number: fn(&Sum) -> u64| {
        both.clone().map(move |(purpose, sum)| Series::new([("purpose", purpose)], number(&sum)))
    };
    encode_all(families::RUNS_BEGUN, teller, each(|sum| sum.begun))?;
    let ended = both.clone().flat_map(|(purpose, sum)| {
        let ends = [("client", sum.ended), ("lapsed", sum.lapsed)];
        ends.map(|(end, number)| Series::new([("purpose", purpose), ("end", end)], number))
    });
    encode_all(families::RUNS_ENDED, teller, ended)?;
    encode_all(families::RECEIVED, teller, each(|sum| sum.received))?;
    encode_all(families::ANSWERED, teller, each(|sum| sum.answered))?;
    let failed = both.clone().flat_map(|(purpose, sum)| {
        let kinds = FailureKind::ALL.into_iter().zip(sum.failed);
        kinds.map(move |(kind, number)| Series::new([("purpose", purpose), ("reason", kind.name())], number))
    });
    encode_all(families::FAILED, teller, failed)?;
    encode_all(families::NAN, teller, each(|sum| sum.nan))?;
    let bytes = both.clone().flat_map(|(purpose, sum)| {
        layers(&sum).into_iter().flat_map(move |(layer, bytes)| {
            directions(bytes).map(|(direction, number)| {
                Series::new([("purpose", purpose), ("layer", layer), ("direction", direction)], number)
            })
        })
    });
    encode_all(families::NETWORK, teller, bytes)?;
    encode_all(families::RETRANSMITS, teller, each(|sum| sum.retransmits))?;
    let heartbeats = both.flat_map(|(purpose, sum)| {
        directions(sum.heartbeats).map(|(way, number)| Series::new([("purpose", purpose), ("direction", way)], number))
    });
    encode_all(families::HEARTBEATS, teller, heartbeats)
}

/// The layers in which bytes are counted, by the names that `network_report.json` has for them.
fn layers(sum: &Sum) -> [(&'static str, [u64; 2]); 4] {
    let Sum { tensor_bytes, encoded_bytes, message_bytes, socket_bytes, .. } = *sum;
    [("tensor", tensor_bytes), ("encoded", encoded_bytes), ("message", message_bytes), ("socket", socket_bytes)]
}

/// Two numbers by their direction.
fn directions(numbers: [u64; 2]) -> [(&'static str, u64); 2] {
    let [ingress, egress] = numbers;
    let [in_name, out_name] = Direction::ALL.map(Direction::name);
    [(in_name, ingress), (out_name, egress)]
}

/// One number and its labels.
struct Series<const N: usize> {
    labels: [(&'static str, &'static str); N],
    number: u64,
}

impl<const N: usize> Series<N> {
    fn new(labels: [(&'static str, &'static str); N], number: u64) -> Series<N> {
        Series { labels, number }
    }
}

fn encode_all<const N: usize>(
    family: Family,
    teller: &mut Teller<'_>,
    series: impl Iterator<Item = Series<N>>,
) -> fmt::Result {
    let series: Vec<Series<N>> = series.collect();
    family.encode(teller, series.iter().map(|it| (&it.labels[..], Value::Number(it.number))))
}

fn buckets(sizes: BatchSizes) -> Buckets {
    let bounds = BatchSizes::BOUNDS.map(f64::from);
    Buckets::new(&bounds, &[&sizes.counts[..], &[0]].concat(), sizes.samples as f64)
}
