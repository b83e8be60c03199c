//! Due times of arrival processes, from the engine alone: a whole phase of each, with no query issued.

use std::hint::black_box;
use std::io::Write as _;
use std::time::Instant;

use anyhow::{Context as _, Result};
use loadgen::plan::Plan;
use loadgen::settings::{OFFICIAL_SEEDS, Profile, Qsl, Scenario, TestSettings};
use loadgen::trace::Trace;
use loadgen::traffic::arrivals::DueTimes;

const QUERIES: u64 = 5_000_000;
const QSL: Qsl = Qsl { total: 50_000, performance: 1_024 };
/// Queries per second of the processes that have no rate of their own.
const RATE: f64 = 1e6;

/// Due times per second of the slowest process.
pub(crate) fn slowest(processes: &[String]) -> Result<f64> {
    let mut slowest = f64::INFINITY;
    for process in processes {
        let rate = rate(process).with_context(|| process.clone())?;
        writeln!(std::io::stderr(), "  {process}: {:.1} M due times per second", rate / 1e6)?;
        slowest = slowest.min(rate);
    }
    Ok(slowest)
}

fn rate(process: &str) -> Result<f64> {
    let mut settings = TestSettings {
        scenario: Scenario::from_name("Server").context("no scenario has due times")?,
        min_duration_ms: 0,
        min_query_count: QUERIES,
        server_target_qps: RATE,
        ..TestSettings::default()
    };
    settings.set(&format!("arrivals={process}"))?;
    settings.set_seeds(OFFICIAL_SEEDS[3].seeds);
    let plan = Plan::with_due_times(settings, QSL, Profile::NEWEST, Some(traced()))?;
    let phase = plan.phases().first().context("the plan has no phase")?;
    let begin = Instant::now();
    black_box(Trace::new(phase).map(|query| query.due_ns).fold(0, u64::wrapping_add));
    Ok(phase.generated.queries as f64 / begin.elapsed().as_secs_f64())
}

/// The due times that a trace's file would give: a query each microsecond, again and again.
fn traced() -> DueTimes {
    let due_ns = (0..1_000_000).map(|query| query * 1_000).collect();
    DueTimes { due_ns, samples: None, repeat_ns: Some(1_000_000_000) }
}
