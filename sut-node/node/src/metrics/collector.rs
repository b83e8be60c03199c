//! The values of the metrics at the moment in which somebody asks.

use std::fmt;
use std::sync::Arc;

use lon_proto::direction::Direction;
use lon_proto::node_name::NodeName;
use lon_proto::setup::Build;
use lon_shell::metrics::family::{Family, Value};
use lon_shell::metrics::histogram::Buckets;
use lon_shell::metrics::source::{Metrics, Source, Teller};

use strum::VariantArray as _;

use super::families;
use crate::config::ServeConfig;
use crate::run::durations::STAGES;
use crate::run::failure::FailureKind;
use crate::run::ledger::{Ledger, Sum, Sums};
use crate::service::claim::Claim;
use crate::service::describe::build;
use crate::service::models::{ServedModel, ServedModels};
use crate::work::queue::BatchSizes;

/// Where the values are read.
pub(crate) struct NodeMetrics {
    pub(crate) info: NodeInfo,
    pub(crate) models: Arc<ServedModels>,
    pub(crate) claim: Claim,
    pub(crate) ledger: Arc<Ledger>,
}

/// Properties that do not change while the node serves.
pub(crate) struct NodeInfo {
    node: NodeName,
    build: Build,
}

impl NodeInfo {
    /// Collects the properties of a node of this configuration.
    pub(crate) fn new(config: &ServeConfig) -> NodeInfo {
        NodeInfo { node: config.node.clone(), build: build(&config.features) }
    }
}

impl NodeMetrics {
    /// Returns the metrics with these values. Every metric has the name of the node.
    pub(crate) fn metrics(self) -> Metrics {
        let node = self.info.node.to_string();
        Metrics::new([("node", &node)], self)
    }

    fn encode_info(&self, teller: &mut Teller<'_>) -> fmt::Result {
        let build = &self.info.build;
        let features = build.features.join(",");
        let built = [("version", &*build.version), ("revision", &*build.revision), ("features", &*features)];
        families::BUILD.encode(teller, [(&built[..], Value::Present)])?;
        let labels = self.models.iter().map(|model| {
            let info = model.backend.info();
            let sha256 = info.model_sha256.as_deref().unwrap_or_default();
            self.labels("name", model, [("engine", &*info.engine), ("model", &*info.model), ("model_sha256", sha256)])
        });
        let labels: Vec<_> = labels.collect();
        families::MODEL.encode(teller, labels.iter().map(|labels| (&labels[..], Value::Present)))
    }

    /// Adds the name of a model to the labels of one of its metrics, where the node has several models.
    fn labels<'a, const N: usize>(
        &self,
        label: &'a str,
        model: &'a ServedModel,
        labels: [(&'a str, &'a str); N],
    ) -> Vec<(&'a str, &'a str)> {
        let name = (!self.models.is_single()).then(|| (label, model.name.as_ref()));
        name.into_iter().chain(labels).collect()
    }

    /// Encodes the state of the node at this moment.
    fn encode_state(&self, teller: &mut Teller<'_>) -> fmt::Result {
        let runs = self.claim.tenants();
        let claimed = |probe: bool| Value::Number(runs.first().is_some_and(|run| run.is_probe == probe).into());
        let purposes = PURPOSES.map(|purpose| [("purpose", purpose)]);
        families::CLAIMED.encode(teller, purposes.iter().zip([false, true]).map(|(it, is)| (&it[..], claimed(is))))?;
        let streams = runs.iter().map(|run| run.streams() as u64).sum();
        families::STREAMS.encode_one(teller, Value::Number(streams))?;
        let loads: Vec<(u64, u64)> = runs.iter().map(|run| run.admission.load()).collect();
        families::IN_FLIGHT_SAMPLES
            .encode_one(teller, Value::Number(loads.iter().map(|(samples, _)| samples).sum()))?;
        families::IN_FLIGHT_BYTES.encode_one(teller, Value::Number(loads.iter().map(|(_, bytes)| bytes).sum()))?;
        self.encode_queues(teller)
    }

    /// Encodes what waits for each model, and the batches that its workers took.
    fn encode_queues(&self, teller: &mut Teller<'_>) -> fmt::Result {
        let (mut waiting, mut batches) = (Vec::new(), Vec::new());
        for model in self.models.iter() {
            let (for_worker, sizes) = model.queues.workers.counts();
            for (queue, samples) in [("decode", model.queues.decode.waiting()), ("worker", for_worker)] {
                waiting.push((self.labels(MODEL, model, [("queue", queue)]), samples as u64));
            }
            batches.push((self.labels(MODEL, model, []), buckets(sizes)));
        }
        families::WAITING
            .encode(teller, waiting.iter().map(|(labels, samples)| (&labels[..], Value::Number(*samples))))?;
        families::BATCH.encode(teller, batches.iter().map(|(labels, sizes)| (&labels[..], Value::Buckets(sizes))))
    }

    fn encode_durations(&self, teller: &mut Teller<'_>) -> fmt::Result {
        let (mut by_stage, mut wholes) = (Vec::new(), Vec::new());
        for (model, durations) in self.models.iter().zip(&self.ledger.durations) {
            let (stages, whole) = durations.sums();
            let stages = STAGES.iter().copied().zip(stages);
            by_stage.extend(stages.map(|(stage, sum)| (self.labels(MODEL, model, [("stage", stage)]), sum)));
            wholes.push((self.labels(MODEL, model, []), whole));
        }
        families::STAGE.encode(teller, by_stage.iter().map(|(labels, sum)| (&labels[..], Value::Buckets(sum))))?;
        families::SAMPLE.encode(teller, wholes.iter().map(|(labels, sum)| (&labels[..], Value::Buckets(sum))))
    }
}

impl NodeMetrics {
    /// The sums over the runs of each model, and over all probes.
    fn labelled(&self, sums: Sums) -> Vec<Labelled<'_>> {
        let [run, probe] = PURPOSES.map(|purpose| [("purpose", purpose)]);
        let runs = self.models.iter().zip(sums.runs);
        let runs = runs.map(|(model, sum)| Labelled { labels: self.labels(MODEL, model, run), sum });
        runs.chain([Labelled { labels: probe.to_vec(), sum: sums.probes }]).collect()
    }

    fn encode_sums(&self, teller: &mut Teller<'_>, sums: Sums) -> fmt::Result {
        let sums = &self.labelled(sums)[..];
        encode_each(families::RUNS_BEGUN, teller, sums, |sum| sum.begun)?;
        encode_parts(families::RUNS_ENDED, teller, sums, |sum| {
            vec![([("end", "client")], sum.ended), ([("end", "lapsed")], sum.lapsed)]
        })?;
        encode_each(families::RECEIVED, teller, sums, |sum| sum.received)?;
        encode_each(families::ANSWERED, teller, sums, |sum| sum.answered)?;
        encode_parts(families::FAILED, teller, sums, |sum| {
            let kinds = FailureKind::VARIANTS.iter().zip(sum.failed);
            kinds.map(|(kind, number)| ([("reason", kind.name())], number)).collect()
        })?;
        encode_each(families::NAN, teller, sums, |sum| sum.nan)?;
        encode_parts(families::NETWORK, teller, sums, |sum| {
            let of_layer = |(layer, bytes)| {
                directions(bytes).map(|(direction, number)| ([("layer", layer), ("direction", direction)], number))
            };
            layers(sum).into_iter().flat_map(of_layer).collect()
        })?;
        encode_each(families::RETRANSMITS, teller, sums, |sum| sum.retransmits)?;
        encode_parts(families::HEARTBEATS, teller, sums, |sum| {
            directions(sum.heartbeats).map(|(direction, number)| ([("direction", direction)], number)).to_vec()
        })
    }
}

impl Source for NodeMetrics {
    fn tell(&self, teller: &mut Teller<'_>) -> fmt::Result {
        self.encode_info(teller)?;
        self.encode_state(teller)?;
        let (sums, refused) = self.ledger.sums();
        families::REFUSED.encode_one(teller, Value::Number(refused))?;
        self.encode_sums(teller, sums)?;
        self.encode_durations(teller)
    }
}

impl fmt::Debug for NodeMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeMetrics").field("node", &self.info.node).finish_non_exhaustive()
    }
}

/// The label with the name of a model.
const MODEL: &str = "model";

/// Purposes that the node can be claimed for.
const PURPOSES: [&str; 2] = ["run", "probe"];

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

/// A sum, and the labels of its numbers.
struct Labelled<'a> {
    labels: Vec<(&'a str, &'a str)>,
    sum: Sum,
}

/// Encodes one number of each sum.
fn encode_each(family: Family, teller: &mut Teller<'_>, sums: &[Labelled<'_>], number: fn(&Sum) -> u64) -> fmt::Result {
    family.encode(teller, sums.iter().map(|it| (&it.labels[..], Value::Number(number(&it.sum)))))
}

/// Numbers of a sum, each with so many more labels.
type Parts<const L: usize> = Vec<([(&'static str, &'static str); L], u64)>;

/// Encodes several numbers of each sum, each with more labels.
fn encode_parts<'a, const L: usize>(
    family: Family,
    teller: &mut Teller<'_>,
    sums: &[Labelled<'a>],
    parts: fn(&Sum) -> Parts<L>,
) -> fmt::Result {
    let mut series: Vec<(Vec<(&'a str, &'a str)>, u64)> = Vec::new();
    for it in sums {
        let labelled = |(more, number)| (it.labels.iter().copied().chain(more).collect(), number);
        series.extend(parts(&it.sum).into_iter().map(labelled));
    }
    family.encode(teller, series.iter().map(|(labels, number)| (&labels[..], Value::Number(*number))))
}

fn buckets(sizes: BatchSizes) -> Buckets {
    let bounds = BatchSizes::BOUNDS.map(f64::from);
    Buckets::new(&bounds, &[&sizes.counts[..], &[0]].concat(), sizes.samples as f64)
}
