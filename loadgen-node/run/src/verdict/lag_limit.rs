//! Limit of the LoadGen node's lateness in a valid result, with its reason. Pure.

use std::time::Duration;

use loadgen::plan::Effective;

/// The least that is allowed: what a quiet host of its own keeps.
const LEAST: Duration = Duration::from_millis(1);

/// Limit where the nodes take turns with the LoadGen node on its cores: a few time slices.
const SHARED: Duration = Duration::from_millis(50);

/// The largest schedule lag (p99), and the longest stall, of a valid result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LagLimit {
    pub(crate) limit: Duration,
    pub(crate) origin: LagOrigin,
}

/// Where the limit comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LagOrigin {
    /// The user has set it.
    Flag,
    /// A hundredth of the latency that is judged, 1 ms at least.
    Usual,
    /// SUT nodes run on this machine, and it has too few cores for all.
    SharedCores { cores: usize, nodes: usize },
}

impl LagLimit {
    /// The limit of a run, before it is known where the nodes are.
    pub(crate) fn new(flag: Option<Duration>, effective: &Effective) -> LagLimit {
        match flag {
            Some(limit) => LagLimit { limit, origin: LagOrigin::Flag },
            None => LagLimit { limit: usual(effective), origin: LagOrigin::Usual },
        }
    }

    /// The limit when so many of the nodes run on this machine. Each wants a core beside its inference's, and so does
    /// the LoadGen node.
    pub(crate) fn with_nodes_here(self, cores: usize, nodes: usize) -> LagLimit {
        let is_shared = nodes > 0 && cores < 2 * (nodes + 1);
        match self.origin {
            LagOrigin::Usual if is_shared && self.limit < SHARED => {
                LagLimit { limit: SHARED, origin: LagOrigin::SharedCores { cores, nodes } }
            }
            _ => self,
        }
    }

    /// The limit in ns.
    pub(crate) fn ns(self) -> u64 {
        u64::try_from(self.limit.as_nanos()).unwrap_or(u64::MAX)
    }

    /// Why it is this limit, in words.
    pub(crate) fn why(self) -> String {
        match self.origin {
            LagOrigin::Flag => "as set for this run with --max-lag".to_owned(),
            LagOrigin::Usual => "1 % of the latency limit and at least 1 ms; --max-lag sets another".to_owned(),
            LagOrigin::SharedCores { cores, nodes } => {
                let (nodes, s) =
                    (if nodes == 1 { "a SUT node".to_owned() } else { format!("{nodes} SUT nodes") }, plural(cores));
                format!("because {nodes} and the LoadGen node share {cores} core{s}; --max-lag sets another")
            }
        }
    }
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// A hundredth of the latency that a sample may have, in token runs of that to its first token; 1 ms at least.
fn usual(effective: &Effective) -> Duration {
    let target_ns = if effective.settings.use_token_latencies {
        effective.settings.server_ttft_latency
    } else {
        effective.target_latency_ns
    };
    LEAST.max(Duration::from_nanos(target_ns / 100))
}

#[cfg(test)]
mod tests {
    use loadgen::plan::Plan;
    use loadgen::settings::{Qsl, Scenario, TestSettings};

    use super::*;

    fn limit(flag: Option<Duration>, use_token_latencies: bool, server_ttft_latency: u64) -> LagLimit {
        let scenario = Scenario::SERVER;
        let target = TestSettings { scenario, server_target_latency_ns: 500_000_000, ..TestSettings::default() };
        let settings = TestSettings { use_token_latencies, server_ttft_latency, ..target };
        LagLimit::new(flag, Plan::for_judging(settings, Qsl { total: 8, performance: 8 }).unwrap().effective())
    }

    #[test]
    fn the_lag_that_is_usual_follows_the_latency_that_is_judged() {
        assert_eq!(limit(None, false, 2_000_000_000).ns(), 5_000_000);
        assert_eq!(limit(None, true, 2_000_000_000).ns(), 20_000_000);
        assert_eq!(limit(None, true, 50_000_000).ns(), 1_000_000);
    }

    #[test]
    fn nodes_on_the_same_cores_make_it_longer_unless_it_was_set() {
        let usual = limit(None, false, 0);
        assert_eq!(usual.with_nodes_here(2, 0), usual);
        assert_eq!(usual.with_nodes_here(8, 2), usual, "cores enough");
        let shared = usual.with_nodes_here(2, 2);
        assert_eq!((shared.limit, shared.ns()), (SHARED, 50_000_000));
        assert!(shared.why().contains("2 SUT nodes") && shared.why().contains("2 cores"), "{}", shared.why());
        let set = limit(Some(LEAST), false, 0);
        assert_eq!(set.with_nodes_here(2, 2), set);
    }
}
