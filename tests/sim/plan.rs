//! Plan of a seed: the nodes, the network, the test, and what goes wrong when.

use std::time::Duration;

use loadgen::settings::{Scenario, TestSettings};
use lon_sut::Limits;
use qdl::Transport;

use crate::pipe::{FAR, NEAR};
use crate::rng::Rng;

/// Number of samples in the library.
pub(crate) const SAMPLES: u64 = 12;

/// One simulation.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) transport: Transport,
    pub(crate) nodes: Vec<NodePlan>,
    pub(crate) connections: usize,
    pub(crate) settings: TestSettings,
    pub(crate) sample_bytes: Vec<usize>,
    pub(crate) answer_bytes: usize,
    pub(crate) response_timeout: Duration,
    pub(crate) silence_timeout: Duration,
    /// Number of connections, of a thousand, that come twice.
    pub(crate) doubled: u64,
    /// Each with the time from the beginning of the run.
    pub(crate) faults: Vec<(Duration, Fault)>,
}

/// One node of a simulation.
#[derive(Clone, Debug)]
pub(crate) struct NodePlan {
    pub(crate) latency: Duration,
    pub(crate) jitter_ms: u64,
    pub(crate) limits: Limits,
    pub(crate) is_inline: bool,
    pub(crate) most_ms: u64,
    pub(crate) workers: usize,
    pub(crate) max_batch: usize,
    pub(crate) max_delay: Duration,
}

/// Something that goes wrong.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    /// Nothing passes for a while.
    Dark { node: usize, lasts: Duration },
    /// All connections to a node break.
    Reset { node: usize },
    /// One end does nothing for a while.
    Stall { node: usize, side: usize, lasts: Duration },
    /// A node dies, alone or with its system, and comes back.
    Kill { node: usize, is_silent: bool, back_after: Duration },
    /// A node is told to stop, and comes back.
    Stop { node: usize, back_after: Duration },
    /// The user interrupts.
    Interrupt,
}

impl Plan {
    pub(crate) fn of(seed: u64) -> Plan {
        let mut rng = Rng::new(seed);
        let rng = &mut rng;
        let nodes: Vec<NodePlan> = (0..rng.of(&[1, 1, 2, 3, 4])).map(|_| NodePlan::of(rng)).collect();
        let mut sample_bytes: Vec<usize> = Vec::new();
        for _ in 0..SAMPLES {
            let most = rng.of(&[0, 1, 10, 100, 3_000, 70_000]);
            sample_bytes.push(rng.within(0..most + 1) as usize);
        }
        if rng.chance(80) {
            sample_bytes[3] = rng.within(1 << 20..3 << 20) as usize;
        }
        let answer_bytes =
            if rng.chance(30) { (1 << 20) + rng.within(0..1 << 20) as usize } else { rng.of(&[8, 8, 40, 5_000]) };
        let is_large = answer_bytes > 1 << 20 || sample_bytes[3] > 1 << 20;
        let faults = if rng.chance(250) { 0 } else { rng.within(1..4) };
        let faults = (0..faults).map(|_| (rng.millis(0..2500), Fault::of(rng, nodes.len()))).collect();
        Plan {
            transport: rng.of(&[Transport::TCP, Transport::GRPC]),
            connections: rng.of(&[1, 1, 2, 3]),
            settings: settings(rng, if is_large { 40 } else { 150 }),
            sample_bytes,
            answer_bytes,
            response_timeout: rng.of(&[2_000, 10_000, 60_000].map(Duration::from_millis)),
            silence_timeout: rng.of(&[2_000, 5_000].map(Duration::from_millis)),
            doubled: rng.of(&[0, 0, 0, 100, 500]),
            nodes,
            faults,
        }
    }
}

impl Plan {
    /// A simulation in which nothing goes wrong but what the nodes say.
    pub(crate) fn of_a_lie(seed: u64) -> Plan {
        let mut plan = Plan::of(seed);
        let mut rng = Rng::new(seed);
        (plan.transport, plan.doubled, plan.faults) = (Transport::TCP, 0, Vec::new());
        plan.settings = settings(&mut rng, 60);
        plan.sample_bytes.iter_mut().for_each(|bytes| *bytes %= 100_000);
        for node in &mut plan.nodes {
            node.limits =
                Limits { max_samples_in_flight: 512, max_bytes_in_flight: 1 << 30, max_sample_bytes: 4 << 20 };
            node.latency = node.latency.min(Duration::from_millis(5));
        }
        plan
    }
}

fn settings(rng: &mut Rng, most: u64) -> TestSettings {
    let count = rng.within(20..most);
    // A percentile that few queries are enough for.
    let common = TestSettings {
        min_duration_ms: 1,
        min_query_count: count,
        single_stream_target_latency_percentile: 0.5,
        multi_stream_target_latency_percentile: 0.5,
        server_target_latency_percentile: 0.5,
        ..TestSettings::default()
    };
    match rng.within(0..4) {
        0 => TestSettings { scenario: Scenario::SINGLE_STREAM, single_stream_expected_latency_ns: 1e7, ..common },
        1 => TestSettings {
            scenario: Scenario::MULTI_STREAM,
            multi_stream_expected_latency_ns: 1e7,
            multi_stream_samples_per_query: rng.within(2..6),
            ..common
        },
        2 => TestSettings {
            scenario: Scenario::SERVER,
            server_target_qps: rng.of(&[20, 200, 2_000]) as f64,
            server_target_latency_ns: 20_000_000_000,
            ..common
        },
        _ => TestSettings {
            scenario: Scenario::OFFLINE,
            offline_expected_qps: count as f64,
            min_duration_ms: 1_000,
            min_query_count: 1,
            ..common
        },
    }
}

impl NodePlan {
    fn of(rng: &mut Rng) -> NodePlan {
        let limits = Limits {
            max_samples_in_flight: rng.of(&[1, 2, 7, 64, 16 << 10]),
            max_bytes_in_flight: rng.of(&[1 << 16, 4 << 20, 1 << 30]),
            max_sample_bytes: 4 << 20,
        };
        NodePlan {
            latency: rng.of(&[0, 1, 5, 40].map(Duration::from_millis)),
            jitter_ms: rng.of(&[0, 0, 3, 30]),
            limits,
            is_inline: rng.chance(250),
            most_ms: rng.of(&[0, 2, 20, 100]),
            workers: rng.of(&[1, 1, 2, 3]),
            max_batch: rng.of(&[1, 4, 8]),
            max_delay: rng.of(&[0, 0, 5, 50].map(Duration::from_millis)),
        }
    }
}

impl Fault {
    fn of(rng: &mut Rng, nodes: usize) -> Fault {
        let node = rng.within(0..nodes as u64) as usize;
        match rng.within(0..12) {
            0..3 => Fault::Dark { node, lasts: rng.of(&[50, 700, 3_000, 8_000, 60_000].map(Duration::from_millis)) },
            3..5 => Fault::Reset { node },
            5..8 => {
                let lasts = rng.of(&[100, 900, 3_000, 9_000].map(Duration::from_millis));
                Fault::Stall { node, side: rng.of(&[NEAR, FAR]), lasts }
            }
            8..10 => Fault::Kill { node, is_silent: rng.chance(500), back_after: rng.millis(1..4_000) },
            10 => Fault::Stop { node, back_after: rng.millis(1_000..9_000) },
            _ => Fault::Interrupt,
        }
    }
}
