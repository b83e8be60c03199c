//! Burst: many one-sample queries that are due at once, again and again; the latency runs from the due time.
//!
//! Bursts are due every `burst_interval`, answered or not (an open loop). With an interval of 0 the next burst is due
//! when the last answer of the one before has arrived.

use super::arrivals::Arrivals;
use super::error::PlanError;
use super::shape::{Expected, LatencyStart, Layout, Shape, Trigger};
use super::test_settings::{Load, Request, Sanitised, TestSettings, Traffic};
use crate::further_settings::{FurtherKey, FurtherValue, Quantity};

/// The traffic of Burst.
pub(crate) struct Burst;

/// Queries in a burst.
static SIZE: FurtherKey = FurtherKey {
    name: "burst_size",
    field: "burst_size",
    quantity: Quantity::Count { least: 1, most: 1 << 24 },
    default: 16.0,
    help: "Queries in a burst, all due at once.",
};

/// Time between the due times of two bursts.
static INTERVAL: FurtherKey = FurtherKey {
    name: "burst_interval",
    field: "burst_interval_ns",
    quantity: Quantity::Time,
    default: 1e9,
    help: "Time between two bursts; 0: the next burst is due when the last one is answered.",
};

/// Limit of the latency.
static LIMIT: FurtherKey = FurtherKey {
    name: "target_latency",
    field: "burst_target_latency_ns",
    quantity: Quantity::Time,
    default: 1e8,
    help: "Limit of the judged percentile of the latency, from the due time of the burst.",
};

/// The judged percentile.
static PERCENTILE: FurtherKey = FurtherKey {
    name: "target_latency_percentile",
    field: "burst_target_latency_percentile",
    quantity: Quantity::Percentile,
    default: 0.99,
    help: "The judged percentile of the latency.",
};

/// Highest rate of bursts per second where each waits for the one before. The number of queries that can be issued
/// follows from it.
const MOST_BURSTS_PER_S: f64 = 10_000.0;

/// The interval of bursts in ns; `None` where each waits for the answers to the one before.
fn interval_ns(settings: &TestSettings) -> Option<u64> {
    Some(settings.further.whole(&INTERVAL)).filter(|ns| *ns > 0)
}

impl Traffic for Burst {
    fn shape(&self, request: &Request<'_>) -> Result<Shape, PlanError> {
        let size = request.settings.further.whole(&SIZE);
        let (trigger, latency_start) = match interval_ns(request.settings) {
            Some(_) => (Trigger::Schedule, LatencyStart::Due),
            None => (Trigger::Bursts { size }, LatencyStart::Burst),
        };
        Ok(Shape { layout: Layout::One, trigger, latency_start, duration_factor: 1, group: size })
    }

    fn keys(&self) -> &'static [&'static FurtherKey] {
        static KEYS: [&FurtherKey; 4] = [&SIZE, &INTERVAL, &LIMIT, &PERCENTILE];
        &KEYS
    }

    fn arrivals(&self, request: &Request<'_>) -> Result<Arrivals, PlanError> {
        let size = request.settings.further.whole(&SIZE);
        Ok(match interval_ns(request.settings) {
            Some(every_ns) => Arrivals::Bursts { size, every_ns, is_exponential: false },
            None => Arrivals::Constant,
        })
    }

    fn expected(&self) -> Expected {
        Expected::Bursts
    }

    fn sanitise(&self, request: &Request<'_>, _faults: &mut Vec<String>) -> Result<Sanitised, PlanError> {
        let s = request.settings;
        let size = s.further.whole(&SIZE);
        let bursts_per_s = interval_ns(s).map_or(MOST_BURSTS_PER_S, |every_ns| 1e9 / every_ns as f64);
        Ok(Sanitised {
            samples_per_query: 1,
            target_qps: size as f64 * bursts_per_s,
            target_latency_ns: s.further.whole(&LIMIT),
            target_latency_percentile: s.further.real(&PERCENTILE),
            max_async_queries: 0,
            target_duration_ms: s.min_duration_ms,
            min_query_count: s.min_query_count,
        })
    }

    fn load(&self, settings: &TestSettings) -> Option<Load> {
        let value = settings.further.whole(&SIZE) as f64;
        Some(Load { setting: SIZE.name, value, unit: "queries", is_whole: true, has_limit: true })
    }

    fn at_load(&self, settings: &TestSettings, value: f64) -> TestSettings {
        let mut settings = settings.clone();
        settings.further.set(&SIZE, FurtherValue::Whole(value as u64));
        settings
    }
}
