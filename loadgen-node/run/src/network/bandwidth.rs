//! Bandwidth: what the benchmark's rules require for the measured throughput (MLPerf Inference rules, Appendix B), what
//! was carried, what a probe found possible, and what the interfaces claim. Pure.

use lon_qsl::bandwidth::{BandwidthVerdict, Formula, Judged, Probed, judge};
use qdl::NodeReport;

use super::by_direction::ByDirection;
use super::fabric::Goodput;
use super::nics::NicUse;
use loadgen::run::RunOutcome;

/// Bit/s; what is none is not known.
pub(crate) type PerDirection = ByDirection<Option<f64>>;

/// The four figures, and what follows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bandwidth {
    /// Samples answered per second, which the first two are for.
    pub(crate) samples_per_s: Option<f64>,
    pub(crate) required: PerDirection,
    /// Dispatch messages of so many samples.
    pub(crate) carried: PerDirection,
    pub(crate) probed: PerDirection,
    pub(crate) nic_claim: PerDirection,
    /// The explanation of `required`; `None` for benchmarks without a formula.
    pub(crate) formula: Option<String>,
    /// The verdict in words: if the probed bandwidth is enough for the required one.
    pub(crate) verdict: String,
    /// The same for each direction; none where nothing is required.
    pub(crate) judged: Option<[Judged; 2]>,
}

/// The sources of the figures.
pub(crate) struct Sources<'a> {
    pub(crate) formula: Option<&'a Formula>,
    pub(crate) outcome: &'a RunOutcome,
    pub(crate) reports: &'a [NodeReport],
    pub(crate) probed: Option<Goodput>,
    pub(crate) nics: &'a [NicUse],
}

impl Bandwidth {
    pub(crate) fn new(from: &Sources<'_>) -> Bandwidth {
        let samples_per_s = samples_per_s(from.outcome);
        let required = from.formula.zip(samples_per_s).map(|(formula, rate)| formula.required(rate));
        let probed = from
            .probed
            .map_or_else(PerDirection::default, |goodput| PerDirection { ingress: goodput.up, egress: goodput.down });
        let probed_bits = Probed { ingress_bits_per_s: probed.ingress, egress_bits_per_s: probed.egress };
        let judged = required.map(|required| judge(required, probed_bits));
        let verdict = match (from.formula, judged) {
            (None, _) => "nothing is required: not a benchmark of the Network division".to_owned(),
            (Some(_), None) => "what is required is not known: nothing was answered".to_owned(),
            (Some(_), Some(judged)) => judged.map(|judged| judged.to_string()).join("; "),
        };
        let required = required.map_or_else(PerDirection::default, |required| PerDirection {
            ingress: Some(required.ingress_bits_per_s),
            egress: Some(required.egress_bits_per_s),
        });
        Bandwidth {
            samples_per_s,
            required,
            carried: carried(samples_per_s, from.reports),
            probed,
            nic_claim: nic_claim(from.nics, from.reports),
            formula: from.formula.map(Formula::explain),
            verdict,
            judged,
        }
    }

    /// The verdict on both directions together; none where nothing is required, or nothing was answered.
    pub(crate) fn worst(&self) -> Option<BandwidthVerdict> {
        self.judged.as_ref().map(BandwidthVerdict::of)
    }
}

/// Of the judged phase, or else of the last one: answered samples over the time from its start to its last answer.
fn samples_per_s(outcome: &RunOutcome) -> Option<f64> {
    let phase = outcome.performance().or(outcome.phases.last())?;
    let took_s = phase.latest_end.0.saturating_sub(phase.started.0) as f64 / 1e9;
    (phase.counts.completed > 0 && took_s > 0.0).then(|| phase.counts.completed as f64 / took_s)
}

fn carried(samples_per_s: Option<f64>, reports: &[NodeReport]) -> PerDirection {
    let sum = |of: fn(&NodeReport) -> u64| reports.iter().map(of).sum::<u64>();
    let samples = sum(|report| report.counts.samples_sent);
    let Some(rate) = samples_per_s.filter(|_| samples > 0) else { return PerDirection::default() };
    let bits_per_s = |bytes: u64| Some(bytes as f64 / samples as f64 * rate * 8.0);
    PerDirection {
        ingress: bits_per_s(sum(|report| report.counts.message_bytes_out)),
        egress: bits_per_s(sum(|report| report.counts.message_bytes_in)),
    }
}

/// The slower of both ends: our interfaces together, the nodes' interfaces together. None when one of them does not
/// say, as on loopback and in virtual machines.
fn nic_claim(ours: &[NicUse], reports: &[NodeReport]) -> PerDirection {
    let total = |speeds: &mut dyn Iterator<Item = Option<u64>>| -> Option<u64> { speeds.sum() };
    let ours = total(&mut ours.iter().map(|nic| nic.interface.speed_mbit_s)).filter(|_| !ours.is_empty());
    let theirs = total(&mut reports.iter().map(|report| {
        let nic = report.sut.as_ref().ok()?.nic.as_ref()?;
        nic.interface.speed_mbit_s
    }));
    let claim = ours.zip(theirs).map(|(ours, theirs)| ours.min(theirs) as f64 * 1e6);
    PerDirection { ingress: claim, egress: claim }
}

#[cfg(test)]
mod tests {
    use lon_qsl::bandwidth::Direction;
    use lon_qsl::benchmark::Benchmark;

    use super::*;

    /// The case that a table of defaults gets wrong: 32-bit floats need four times what bytes need.
    #[test]
    fn floats_need_four_times_the_bandwidth_of_bytes() {
        let resnet50 = Benchmark::find("resnet50").unwrap();
        let [bytes, floats] = ["u8", "f32"].map(|dtype| {
            let formula = resnet50.bandwidth_of(&[dtype.parse().unwrap()], &["i64".parse().unwrap()]).unwrap();
            formula.required(4036.0).ingress_bits_per_s / 1e9
        });
        assert!((bytes - 4.86).abs() < 0.01 && (floats - 19.44).abs() < 0.01, "{bytes} {floats}");
    }

    #[test]
    fn the_worse_direction_decides() {
        let llama = Benchmark::find("llama2-70b").unwrap();
        let llama = llama.bandwidth_of(&["i32".parse().unwrap()], &["i64".parse().unwrap()]).unwrap();
        assert_eq!(
            [Direction::Ingress, Direction::Egress].map(|direction| llama.sample_bytes(direction)),
            [4096, 8192]
        );
        let probed = Probed { ingress_bits_per_s: Some(1e9), egress_bits_per_s: Some(1e6) };
        let judged = Some(judge(llama.required(100.0), probed));
        let bandwidth = Bandwidth { judged, ..Bandwidth::default() };
        assert_eq!(bandwidth.worst(), Some(BandwidthVerdict::TooLittle));
        assert_eq!(Bandwidth::default().worst(), None);
    }
}
