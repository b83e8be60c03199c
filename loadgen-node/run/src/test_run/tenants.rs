//! Tests that run together over nodes that are claimed once: the tenants of a mix.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use qdl::{Qdl, Sink, TenantStart};

use super::claimed::{Claimed, TenantSeat};
use super::connected::{Connected, Prepared};
use super::test::Test;
use crate::exit::{Exit, OrExit as _, Outcome};
use crate::network::nics;
use loadgen::plan::Plan;
use loadgen::settings::Mode;
use lon_world::inbox::Inbox;
use lon_world::mix::Mix;

/// A tenant goes on for this many times as long as the longest one is planned to take, if that needs more time.
const ROOM: f64 = 4.0;

/// Queries for which a tenant without a schedule has room at least: a plan cannot know how quick its answers will be.
const ROOM_OF_PULLED_QUERIES: u64 = 1 << 20;

/// A test that is to run beside others, and when it starts on their clock.
pub struct Tenant {
    /// The test, with its nodes connected.
    pub test: Connected,
    /// The time of its start, on the clock of the mix.
    pub start: Duration,
}

/// Claims the nodes for all tenants at once; the claimed tests in their order. `nodes` has the nodes of all of them.
///
/// # Errors
/// A node that is lost, busy or refuses the run (4).
pub fn claim(nodes: &Qdl, tenants: Vec<Tenant>, mix: &Mix, stop: &Arc<AtomicBool>) -> Outcome<Vec<Claimed>> {
    let longest = tenants.iter().map(|tenant| tenant.start + planned(&tenant.test.test.setup.plan)).max();
    let starts: Vec<Duration> = tenants.iter().map(|tenant| tenant.start).collect();
    let mut prepared = Vec::with_capacity(tenants.len());
    for Tenant { mut test, start } in tenants {
        let plan = &test.test.setup.plan;
        let span = longest.unwrap_or_default().saturating_sub(start);
        test.test.options.goes_on = Some(room(plan, span));
        test.test.setup.beside_others = true;
        prepared.push(test.prepare(None)?);
    }
    let inboxes: Vec<Arc<Inbox>> = prepared.iter().map(|_| Arc::default()).collect();
    let starting = prepared.iter().zip(&inboxes).map(|(ready, inbox): (&Prepared, _)| TenantStart {
        qdl: &ready.qdl,
        config: ready.config(),
        sink: Arc::clone(inbox) as Arc<dyn Sink>,
    });
    let counters: Vec<nics::Counters> = prepared.iter().map(|_| nics::Counters::now()).collect();
    let runs = nodes.start_together(starting.collect()).or_exit(Exit::Network)?;
    let origin = Instant::now();
    let parts = prepared.into_iter().zip(counters).zip(runs).zip(inboxes).zip(starts).enumerate();
    let claimed = parts.map(|(place, ((((ready, counters), run), inbox), start))| {
        let seat = TenantSeat { seat: mix.seat(place), origin, start };
        Claimed { seat: Some(seat), ..ready.hold(counters, run).claimed(Arc::clone(stop), inbox) }
    });
    Ok(claimed.collect())
}

impl Test {
    /// Refuses a test that cannot go on until others have what they need.
    pub fn check_beside_others(&self) -> Outcome<()> {
        let may_go_on = may_go_on(&self.setup.plan).map_err(|why| anyhow!(why));
        if self.setup.v05.is_some() { Err(anyhow!(OF_V0_5)) } else { may_go_on }.or_exit(Exit::Usage)
    }
}

/// Reason why a test of round v0.5 is no tenant.
const OF_V0_5: &str = "--rules v0.5 is not for tenants: the engine of that round runs alone";

/// Reason why a test of one query is no tenant.
pub const ONE_QUERY: &str = "Offline is one query with all samples, so it cannot be part of a mix: use Server, Closed, \
                             Burst, SingleStream or MultiStream";

/// # Errors
/// Reason why the traffic of a plan ends by itself.
fn may_go_on(plan: &Plan) -> Result<(), &'static str> {
    let effective = plan.effective();
    Err(match plan.phases() {
        _ if effective.mode != Mode::PerformanceOnly => {
            "a tenant runs in mode PerformanceOnly: for accuracy, run its model without --mix (--model NAME --mode \
             AccuracyOnly)"
        }
        _ if effective.settings.server_coalesce_queries => "a tenant cannot merge queries (coalesce_queries)",
        [phase] if phase.unit().is_some() => return Ok(()),
        _ if effective.shape.is_pulled() => ONE_QUERY,
        _ => {
            "its traffic ends by itself (performance_issue_unique, or a trace), and a tenant goes on until all are done"
        }
    })
}

/// Time for which the plan issues queries, by its expectations.
fn planned(plan: &Plan) -> Duration {
    plan.phases().iter().map(|phase| Duration::from_nanos(phase.generated.duration_ns)).sum()
}

/// Number of times the planned queries for which there is to be room, where the tenants take so long together.
fn room(plan: &Plan, span: Duration) -> NonZeroU64 {
    let own_s = planned(plan).as_secs_f64();
    let times = if own_s > 0.0 { ROOM * span.as_secs_f64() / own_s } else { ROOM };
    let queries: u64 = plan.phases().iter().map(|phase| phase.generated.queries).sum();
    let is_pulled = !plan.effective().shape.has_schedule();
    let by_queries = if is_pulled { ROOM_OF_PULLED_QUERIES / queries.max(1) } else { 0 };
    NonZeroU64::MIN.saturating_add(by_queries.max(times.ceil() as u64))
}
