//! The quantities that are compared.

use lon_proto::figures::{bit_rate, bytes, duration_ns};

use super::interval::Drawn;
use lon_run::outputs::documents::comparison::Better;
use lon_run::outputs::documents::parts::LatencySpread;
use lon_run::outputs::documents::result_summary::MetricDocument;
use lon_run::outputs::report::{Series, Source};

/// Unit of a quantity's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Ns,
    PerSecond,
    Bytes,
    BitsPerSecond,
    Cores,
    /// As the run has it: of scores.
    Plain,
}

impl Unit {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Unit::Ns => "ns",
            Unit::PerSecond => "1/s",
            Unit::Bytes => "bytes",
            Unit::BitsPerSecond => "bit/s",
            Unit::Cores => "cores",
            Unit::Plain => "",
        }
    }

    /// The unit with this name.
    pub(crate) fn named(name: &str) -> Unit {
        let all = [Unit::Ns, Unit::PerSecond, Unit::Bytes, Unit::BitsPerSecond, Unit::Cores];
        all.into_iter().find(|unit| unit.name() == name).unwrap_or(Unit::Plain)
    }

    /// A value as people read it.
    pub(crate) fn text(self, value: f64) -> String {
        match self {
            Unit::Ns => duration_ns(value as i64),
            Unit::PerSecond => format!("{value:.2}/s"),
            Unit::Bytes => bytes(value.round() as u64),
            Unit::BitsPerSecond => bit_rate(value),
            Unit::Cores => format!("{value:.2} cores"),
            Unit::Plain => format!("{value:.3}"),
        }
    }
}

/// Way in which the noise of a quantity is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Noise {
    /// By drawing blocks of the timeline again.
    Drawn(Drawn),
    /// It was counted, and is nearly the same each time.
    Counted,
    /// From repeats alone.
    Repeats,
}

/// A quantity that runs have, or may have.
pub(crate) struct Metric {
    /// Its word in `--fail-if`.
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) unit: Unit,
    pub(super) better: Better,
    pub(super) noise: Noise,
    pub(crate) of: fn(&Source) -> Option<f64>,
}

const fn metric(
    name: &'static str,
    about: &'static str,
    unit: Unit,
    better: Better,
    noise: Noise,
    of: fn(&Source) -> Option<f64>,
) -> Metric {
    Metric { name, about, unit, better, noise, of }
}

/// Words of the quantities that are about the limits of `--within`.
pub(super) const WITHIN: [&str; 2] = ["within_share", "within_rate"];

/// All of them, in the order in which they are shown.
pub(crate) const METRICS: [Metric; 27] = [
    metric(
        "metric_rate",
        "metric, by LoadGen's formula",
        Unit::PerSecond,
        Better::Higher,
        Noise::Drawn(Drawn::Rate),
        |run| judged(run, "samples/s"),
    ),
    metric("metric_latency", "the scenario's metric", Unit::Ns, Better::Lower, Noise::Repeats, |run| judged(run, "ns")),
    metric(
        "rate",
        "all answers, per second of the phase",
        Unit::PerSecond,
        Better::Higher,
        Noise::Drawn(Drawn::Rate),
        rate,
    ),
    metric("mean", "mean latency", Unit::Ns, Better::Lower, Noise::Drawn(Drawn::Mean), |run| {
        latency(
            run,
            |spread| spread.mean,
            |series| (run.result.counts.unanswered() == 0).then(|| series.latencies.mean()),
        )
    }),
    metric("p50", "latency, p50", Unit::Ns, Better::Lower, Noise::Drawn(Drawn::P50), |run| {
        latency(run, |spread| spread.p50, |series| percentile(run, series, 0.5))
    }),
    metric("p90", "latency, p90", Unit::Ns, Better::Lower, Noise::Drawn(Drawn::P90), |run| {
        latency(run, |spread| spread.p90, |series| percentile(run, series, 0.9))
    }),
    metric("p99", "latency, p99", Unit::Ns, Better::Lower, Noise::Drawn(Drawn::P99), |run| {
        latency(run, |spread| spread.p99, |series| percentile(run, series, 0.99))
    }),
    metric("p99.9", "latency, p99.9", Unit::Ns, Better::Lower, Noise::Drawn(Drawn::P999), |run| {
        latency(run, |spread| spread.p99_9, |series| percentile(run, series, 0.999))
    }),
    metric("max", "largest latency", Unit::Ns, Better::Lower, Noise::Repeats, |run| {
        Some(run.result.latency_ns?.max? as f64)
    }),
    metric("ttft_p99", "time to first token, p99", Unit::Ns, Better::Lower, Noise::Repeats, |run| {
        Some(run.result.tokens?.ttft_ns?.p99? as f64)
    }),
    metric("tpot_p99", "time per output token, p99", Unit::Ns, Better::Lower, Noise::Repeats, |run| {
        Some(run.result.tokens?.tpot_ns?.p99? as f64)
    }),
    metric("tokens", "tokens per second", Unit::PerSecond, Better::Higher, Noise::Repeats, |run| {
        run.result.tokens?.tokens_per_s
    }),
    metric(WITHIN[0], "share of queries within --within", Unit::Plain, Better::Higher, Noise::Repeats, |run| {
        run.result.within?.share
    }),
    metric(WITHIN[1], "queries within --within", Unit::PerSecond, Better::Higher, Noise::Repeats, |run| {
        run.result.within?.queries_per_s
    }),
    metric("outside_p50", "network and both ends, p50", Unit::Ns, Better::Lower, Noise::Repeats, |run| {
        some(run.result.network.latency_split_ns.outside_sut.p50)
    }),
    metric("outside_p99", "network and both ends, p99", Unit::Ns, Better::Lower, Noise::Repeats, |run| {
        some(run.result.network.latency_split_ns.outside_sut.p99)
    }),
    metric("decode_p50", "decode, p50", Unit::Ns, Better::Lower, Noise::Repeats, |run| {
        some(run.result.network.latency_split_ns.decode.p50)
    }),
    metric("queue_p99", "wait in the queue, p99", Unit::Ns, Better::Lower, Noise::Repeats, |run| {
        some(run.result.network.latency_split_ns.queue.p99)
    }),
    metric("inference_p50", "inference, p50", Unit::Ns, Better::Lower, Noise::Repeats, |run| {
        some(run.result.network.latency_split_ns.inference.p50)
    }),
    metric("lag_p99", "schedule lag, p99", Unit::Ns, Better::Lower, Noise::Repeats, |run| {
        // Where all samples are due at the start, it is the time of others.
        some(run.result.schedule_lag_ns.filter(|_| !run.is_pulled())?.p99)
    }),
    metric("name_rtt", "round trip of an empty request, mean", Unit::Ns, Better::Lower, Noise::Repeats, |run| {
        let trips = &run.result.network.name_round_trips;
        let sum: u64 = trips.iter().map(|trip| trip.rtt_ns).sum();
        (!trips.is_empty()).then(|| sum as f64 / trips.len() as f64)
    }),
    metric("sent", "bytes to the SUT for each sample", Unit::Bytes, Better::Lower, Noise::Counted, |run| {
        let total = run.network.as_ref()?.total;
        each_sample(run, total.socket_bytes.ingress.loadgen)
    }),
    metric("received", "bytes back for each sample", Unit::Bytes, Better::Lower, Noise::Counted, |run| {
        let total = run.network.as_ref()?.total;
        each_sample(run, total.socket_bytes.egress.loadgen)
    }),
    metric("carried_in", "carried to the SUT", Unit::BitsPerSecond, Better::Neither, Noise::Repeats, |run| {
        Some(run.result.network.bandwidth_gbit_s.carried.ingress? * 1e9)
    }),
    metric("carried_out", "carried back", Unit::BitsPerSecond, Better::Neither, Noise::Repeats, |run| {
        Some(run.result.network.bandwidth_gbit_s.carried.egress? * 1e9)
    }),
    metric("accuracy", "score of the answers", Unit::Plain, Better::Neither, Noise::Repeats, |run| {
        Some(run.result.accuracy.as_ref()?.value)
    }),
    metric("cores", "cores of the LoadGen node", Unit::Cores, Better::Lower, Noise::Repeats, |run| {
        Some(run.result.saturation.as_ref()?.process_cores).filter(|cores| *cores > 0.0)
    }),
];

fn some(ns: u64) -> Option<f64> {
    (ns > 0).then_some(ns as f64)
}

fn judged(run: &Source, unit: &str) -> Option<f64> {
    match run.result.metric.as_ref()? {
        MetricDocument::Performance(metric) if metric.unit == unit => metric.value,
        _ => None,
    }
}

fn rate(run: &Source) -> Option<f64> {
    let series = run.series.as_ref()?;
    let answered: u64 = series.steps.iter().map(|step| step.answered).sum();
    (answered > 0).then(|| answered as f64 / (series.steps.len() as f64 * series.step_s))
}

/// The latency that the result has. Where it has none, it comes from the curves, whose latencies have three digits.
fn latency(
    run: &Source,
    of_result: impl Fn(LatencySpread) -> Option<i64>,
    of_curves: impl Fn(&Series) -> Option<f64>,
) -> Option<f64> {
    match run.result.latency_ns {
        Some(spread) => of_result(spread).map(|ns| ns as f64),
        None => run.series.as_ref().filter(|series| !series.latencies.is_empty()).and_then(of_curves),
    }
}

/// Of all samples: the slowest are those without an answer, whose latency nobody knows.
fn percentile(run: &Source, series: &Series, share: f64) -> Option<f64> {
    let answered = series.latencies.len() as f64;
    let share_of_answered = share * (answered + run.result.counts.unanswered() as f64) / answered;
    (share_of_answered <= 1.0).then(|| series.latencies.value_at_quantile(share_of_answered) as f64)
}

fn each_sample(run: &Source, bytes: u64) -> Option<f64> {
    let samples: u64 = run.network.as_ref()?.nodes.iter().map(|node| node.samples).sum();
    (samples > 0).then(|| bytes as f64 / samples as f64)
}
