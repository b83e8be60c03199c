//! Load of the LoadGen node against its limits: a part of `result_summary.json`.

use lon_net::slice::Priority;
use serde::{Deserialize, Serialize};

use super::parts::to_thousandths;
use crate::verdict::saturation::Saturation;
use loadgen::run::RunOutcome;

/// Load of the LoadGen node against its limits while it measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SaturationDocument {
    /// Samples under way.
    pub in_flight: InFlightDocument,
    /// Samples that found every node full.
    pub refused: u64,
    /// Cores that the issuing thread used on average, to a thousandth; at most 1, and 1 while it spins.
    pub issuer_cores: f64,
    /// Cores that the whole process used on average, to a thousandth.
    pub process_cores: f64,
    /// Threads for the network beside the issuing one; 0: that one does it all.
    pub io_threads: usize,
    /// Priority of the threads that issue and carry samples: `realtime` or `normal`; empty in results of earlier
    /// versions.
    #[serde(default)]
    pub priority: String,
    /// Time before a due time at which the issuing thread stops sleeping and spins, ns.
    pub spin_ns: u64,
}

/// Samples under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct InFlightDocument {
    /// Most at any moment.
    pub max: u64,
    /// Number of samples that all nodes together take.
    pub limit: u64,
}

impl SaturationDocument {
    pub(super) fn new(saturation: &Saturation, outcome: &RunOutcome, refused: u64) -> SaturationDocument {
        let pending = outcome.phases.iter().map(|phase| phase.max_pending);
        SaturationDocument {
            in_flight: InFlightDocument { max: pending.max().unwrap_or(0), limit: saturation.capacity },
            refused,
            issuer_cores: to_thousandths(saturation.issuer_cores),
            process_cores: to_thousandths(saturation.process_cores),
            io_threads: saturation.pacing.io_threads,
            priority: Priority::name(saturation.realtime).to_owned(),
            spin_ns: u64::try_from(saturation.pacing.spin.as_nanos()).unwrap_or(u64::MAX),
        }
    }
}
