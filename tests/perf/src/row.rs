//! Rows of the table: a figure of ours, the reference that it is compared with, and the goal.

use crate::args::Kind;
use crate::stats::Spread;

/// Bytes of a small sample: what is measured is the cost of a query.
pub(crate) const SMALL: usize = 64;
/// An image of 224 x 224 x 3 as bytes.
pub(crate) const IMAGE: usize = 150_528;
/// The same as 32-bit floats.
pub(crate) const LARGE: usize = 602_112;

/// A row to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// One line for the reader.
    pub(crate) what: &'static str,
    pub(crate) unit: Unit,
    pub(crate) reference: Reference,
    pub(crate) ours: Ours,
    pub(crate) goal: Goal,
}

/// Unit of the figures of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// A time in nanoseconds.
    Time,
    /// Bytes per second.
    Goodput,
    /// Samples per second.
    Rate,
}

/// Goal for the ratio of ours to the reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Goal {
    AtMost(f64),
    AtLeast(f64),
    /// This far from 1 at most.
    Within(f64),
}

impl Goal {
    pub(crate) fn is_met(self, ratio: f64) -> bool {
        match self {
            Goal::AtMost(limit) => ratio <= limit,
            Goal::AtLeast(limit) => ratio >= limit,
            Goal::Within(distance) => (ratio - 1.0).abs() <= distance,
        }
    }
}

/// Reference that ours is compared with.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reference {
    /// Two processes of this program; `size` bytes a request.
    Pair { kind: Kind, size: usize },
    /// One process that sleeps to a Poisson schedule.
    Sleeper { rate: u32 },
    /// The well-known program.
    Iperf,
    /// Ours with a single node.
    OneNode,
    /// Ours with one test that has all users.
    OneTenant,
    /// The same backend in process, without a network: `sut-node bench`.
    Bench(Model),
    /// Ours with batches of one.
    BatchOne,
    /// The official LoadGen with a SUT that answers in its own process.
    InProcess(Face),
    /// Server at a rate that is easy: median latency of `loadgen-node run`.
    RunLatency { rate: u32 },
    /// Offline with images: goodput of `loadgen-node run`.
    RunOffline,
    /// Due times of the Poisson process, which the official LoadGen has.
    PoissonDueTimes,
    /// The beginning of the very same run.
    FirstTenth,
}

/// Language in which the official LoadGen reaches our QDL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Face {
    /// In C++, by tests/peers/official_rate.cpp.
    Cpp,
    /// In Python, by tests/peers/wheel_rate.py.
    Python,
}

/// Figure of ours that is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ours {
    /// SingleStream: median latency.
    Single { size: usize, transport: Transport, busy_poll: bool },
    /// Server: the largest rate that holds.
    ServerRate,
    /// Offline: bytes of samples per second.
    Offline { transport: Transport, tls: bool },
    /// Server: 99th percentile of the schedule lag.
    Lag { rate: u32 },
    /// Offline against several nodes that take their time.
    Nodes(usize),
    /// Rate of so many tenants of one node together, in a closed loop.
    Tenants(u32),
    /// Offline on a model.
    Model(Model),
    /// Server: the largest rate that holds its p99 with batches of so many.
    Batching(u32),
    /// Server under the official LoadGen: answers per second where more is asked than can be answered.
    OfficialRate(Face),
    /// The same at a rate that is easy: median latency.
    OfficialLatency { rate: u32 },
    /// Offline with images under the official LoadGen: bytes of samples per second.
    OfficialOffline,
    /// Due times of the slowest other arrival process.
    DueTimes,
    /// Server, for long.
    Soak,
}

/// A model, and how nodes run it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Model {
    /// The one in the repository.
    Digits,
    /// The shape of ResNet50, as tests/models/make.py writes it; LON_TEST_MODELS names the folder.
    Resnet50,
}

/// Transport of the queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    Grpc,
    Tcp,
    Quic,
}

impl Transport {
    /// The name on the product's command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Transport::Grpc => "grpc",
            Transport::Tcp => "tcp",
            Transport::Quic => "quic",
        }
    }
}

/// CPU seconds of our processes and the samples they were spent on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cpu {
    pub(crate) loadgen_s: f64,
    pub(crate) sut_s: f64,
    pub(crate) samples: u64,
}

impl Cpu {
    /// Seconds of the LoadGen node and of the SUT nodes for 100,000 samples; start and end of the processes included.
    pub(crate) fn per_100k(self) -> Option<[f64; 2]> {
        let share = 1e5 / self.samples as f64;
        (self.samples > 0).then_some([self.loadgen_s * share, self.sut_s * share])
    }
}

/// One round's figure of ours.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    pub(crate) value: f64,
    pub(crate) cpu: Cpu,
}

/// A measured row.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) row: Row,
    pub(crate) reference: Vec<f64>,
    pub(crate) ours: Vec<Figure>,
    /// Why it is not whole.
    pub(crate) failure: Option<String>,
    /// True when everything that the goal wants beside the ratio is there.
    pub(crate) is_otherwise_met: bool,
    /// Cores that other programs kept busy meanwhile.
    pub(crate) others: Option<f64>,
    /// Further remark on the row.
    pub(crate) note: Option<String>,
}

/// Ours over the reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ratio {
    pub(crate) of_medians: f64,
    /// Disturbances that come and go between rounds weigh less here.
    pub(crate) median_of_rounds: f64,
}

impl Outcome {
    /// Nothing measured yet.
    pub(crate) fn new(row: Row) -> Outcome {
        let (reference, ours) = (Vec::new(), Vec::new());
        Outcome { row, reference, ours, failure: None, is_otherwise_met: true, others: None, note: None }
    }

    pub(crate) fn values(&self) -> Vec<f64> {
        self.ours.iter().map(|figure| figure.value).collect()
    }

    pub(crate) fn ratio(&self) -> Option<Ratio> {
        let values = self.values();
        let rounds: Vec<f64> = values.iter().zip(&self.reference).map(|(ours, reference)| ours / reference).collect();
        Some(Ratio {
            of_medians: Spread::of(&values)?.median / Spread::of(&self.reference)?.median,
            median_of_rounds: Spread::of(&rounds)?.median,
        })
    }

    /// Medians over the rounds, LoadGen node and SUT nodes.
    pub(crate) fn cpu_per_100k(&self) -> Option<[f64; 2]> {
        let rounds: Vec<[f64; 2]> = self.ours.iter().filter_map(|figure| figure.cpu.per_100k()).collect();
        let median = |end: usize| Spread::of(&rounds.iter().map(|round| round[end]).collect::<Vec<_>>());
        Some([median(0)?.median, median(1)?.median])
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn outcome(reference: &[f64], ours: &[f64]) -> Outcome {
        let row = crate::rows::all()[0];
        let cpu = Cpu { loadgen_s: 0.5, sut_s: 0.25, samples: 50_000 };
        let ours = ours.iter().map(|&value| Figure { value, cpu }).collect();
        Outcome { reference: reference.to_vec(), ours, ..Outcome::new(row) }
    }

    #[test]
    fn two_kinds_of_ratio() {
        let outcome = outcome(&[100.0, 100.0, 200.0], &[110.0, 130.0, 220.0]);
        assert_eq!(outcome.ratio(), Some(Ratio { of_medians: 1.3, median_of_rounds: 1.1 }));
        assert_eq!(outcome.cpu_per_100k(), Some([1.0, 0.5]));
        assert_eq!(super::tests::outcome(&[], &[]).ratio(), None);
    }

    #[test]
    fn goals() {
        assert!(Goal::AtMost(1.2).is_met(1.2) && !Goal::AtMost(1.2).is_met(1.21));
        assert!(Goal::AtLeast(4.0).is_met(4.0) && !Goal::AtLeast(4.0).is_met(3.9));
        assert!(Goal::Within(0.05).is_met(0.96) && !Goal::Within(0.05).is_met(1.06));
        assert!(!Goal::AtMost(1.0).is_met(f64::NAN) && !Goal::AtLeast(1.0).is_met(f64::NAN));
    }
}
