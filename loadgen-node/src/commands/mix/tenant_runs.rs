//! Tenants that run together, and before each alone.

use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use loadgen::settings::Assignment;
use lon_world::mix::Mix;
use qdl::{NodeTraffic, Qdl};

use crate::commands::test_series::INCOMPLETE;
use crate::display::show::Show;
use crate::display::ui::Ui;
use crate::mix::{ALONE, CheckedMix, CheckedTenant};
use lon_run::exit::{Exit, Failure, OrExit as _, Outcome};
use lon_run::live::latest_snapshot::Board;
use lon_run::outputs::documents::mix_result::{MixResult, TenantResult};
use lon_run::outputs::documents::parts::LatencySplit;
use lon_run::outputs::documents::result_summary::{ResultSummary, Validity};
use lon_run::outputs::run_folder::folder::Place;
use lon_run::outputs::run_folder::record::{self, Recorded};
use lon_run::signals::{Signals, StopRequests as _};
use lon_run::test_run::tenants::{self, Tenant};
use lon_run::test_run::{Claimed, Connected, Finished};

/// A mix whose nodes have been reached.
pub(super) struct Running<'a> {
    pub(super) folder: &'a Path,
    /// The board of each tenant by its name.
    pub(super) boards: &'a [(String, Board)],
    pub(super) signals: &'a Signals,
    pub(super) qdl: &'a Qdl,
}

/// The runs of tenants alone.
#[derive(Default)]
pub(super) struct Alone {
    /// Duration of each; `None`: none was wanted.
    time: Option<Duration>,
    runs: Vec<Finished>,
}

/// Tenants that have run together.
pub(super) struct Ended {
    pub(super) result: MixResult,
    /// The worst of their exit codes.
    pub(super) exit: Exit,
    /// The first failure of one that has left no result.
    pub(super) failure: Option<Failure>,
}

impl Running<'_> {
    /// Runs each tenant alone, where that is wanted.
    pub(super) fn alone(&self, mix: &CheckedMix) -> Outcome<Alone> {
        let Some(time) = mix.alone_first else { return Ok(Alone::default()) };
        let mut alone = Alone { time: Some(time), ..Alone::default() };
        for (tenant, (_, board)) in mix.tenants.iter().zip(self.boards) {
            let _entered = tracing::info_span!("alone", name = tenant.name).entered();
            tracing::info!(time_s = time.as_secs_f64(), "a tenant runs alone first");
            let claimed = tenant.over(self.qdl, tenant.alone(time).test(false)?)?.claim(self.signals)?;
            let place = Place::At(self.folder.join(ALONE).join(&tenant.name));
            let Recorded { finished, written, .. } = record::record_shown(claimed, &place, board, Show::of(Ui::None))?;
            written.context(INCOMPLETE).or_exit(Exit::Bug)?;
            if finished.exit() == Exit::Interrupted {
                return Err(anyhow!("interrupted while tenant '{}' ran alone: the mix has no result", tenant.name))
                    .or_exit(Exit::Interrupted);
            }
            // The run alone is a measure for the one beside others, and has a verdict of its own.
            alone.runs.push(finished);
        }
        Ok(alone)
    }

    /// Claims the nodes and runs the tenants, each in its folder below `below`, a folder of the mix.
    ///
    /// # Errors
    /// The nodes cannot be claimed.
    pub(super) fn together(
        &self,
        tenants: &[CheckedTenant],
        connected: Vec<Connected>,
        below: &str,
        alone: &Alone,
    ) -> Outcome<Ended> {
        let stop = self.signals.test_begins().context("cannot listen to signals").or_exit(Exit::Bug)?;
        let shared = Mix::new(tenants.len());
        let starting = tenants.iter().zip(connected).map(|(tenant, test)| Tenant { test, start: tenant.start });
        let claimed = tenants::claim(self.qdl, starting.collect(), &shared, &stop)?;
        let (mut exit, mut failure, mut results) = (Exit::Ok, None, Vec::with_capacity(tenants.len()));
        let mut has_result = false;
        let recorded = self.recorded(tenants, claimed, below);
        for (place, (tenant, recorded)) in tenants.iter().zip(recorded).enumerate() {
            let Recorded { finished, written, .. } = match recorded {
                Ok(recorded) => recorded,
                Err(failed) => {
                    let failed = tenant.named(failed);
                    results.push(tenant.without_result(&failed.one_line()));
                    failure.get_or_insert(failed);
                    continue;
                }
            };
            has_result = true;
            exit = exit.worse(if written.is_ok() { finished.exit() } else { Exit::Bug });
            // An interruption ends all tenants, one a moment before the other.
            let left_early = shared.left_early(place) && finished.exit() != Exit::Interrupted;
            let result = TenantResult { left_early, ..tenant.result(&finished, below) };
            results.push(match alone.runs.get(place) {
                Some(alone) => result.with_alone(format!("{ALONE}/{}", tenant.name), &ResultSummary::from(alone)),
                None => result,
            });
        }
        // A mix of which nothing ran has left nothing.
        if let Some(failure) = failure.take_if(|_| !has_result) {
            return Err(failure);
        }
        let result = MixResult::new(alone.time, results);
        let is_invalid = exit == Exit::Ok && result.result == Validity::Invalid;
        Ok(Ended { result, exit: if is_invalid { Exit::Invalid } else { exit }, failure })
    }

    /// Runs all tenants, each on a thread of its own.
    fn recorded(&self, tenants: &[CheckedTenant], claimed: Vec<Claimed>, below: &str) -> Vec<Outcome<Recorded>> {
        let folder = self.folder.join(below);
        thread::scope(|scope| {
            let mut started = Vec::with_capacity(claimed.len());
            for ((tenant, (_, board)), test) in tenants.iter().zip(self.boards).zip(claimed) {
                let named = thread::Builder::new().name(tenant.name.chars().take(15).collect());
                let place = Place::At(folder.join(&tenant.name));
                let thread = named.spawn_scoped(scope, move || {
                    let _entered = tenant.span().entered();
                    record::record_shown(test, &place, board, Show::of(Ui::None))
                });
                started.push(thread.context("cannot start a thread").or_exit(Exit::Bug));
            }
            let end = |thread: Outcome<thread::ScopedJoinHandle<'_, Outcome<Recorded>>>| {
                thread?.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            started.into_iter().map(end).collect()
        })
    }
}

impl CheckedTenant {
    /// The same test for this time alone.
    fn alone(&self, time: Duration) -> CheckedTenant {
        let mut spec = self.spec.clone();
        let settings = [("min_duration", format!("{}ms", time.as_millis())), ("min_query_count", "1".to_owned())];
        spec.settings.set.extend(settings.map(|(key, value)| Assignment::of(key, value)));
        spec.anyway = true;
        CheckedTenant { name: self.name.clone(), start: self.start, nodes: self.nodes.clone(), spec }
    }

    /// Its part of the result where it has left none.
    fn without_result(&self, why: &str) -> TenantResult {
        TenantResult {
            name: self.name.clone(),
            model: self.spec.target.model.clone(),
            benchmark: self.spec.benchmark.name.to_owned(),
            scenario: self.spec.scenario.name().to_owned(),
            start_ns: self.start.as_nanos() as u64,
            reasons: vec![why.to_owned()],
            result: Validity::Invalid,
            ..TenantResult::default()
        }
    }

    /// Its part of the result; its run folder lies below `below`.
    fn result(&self, finished: &Finished, below: &str) -> TenantResult {
        let summary = ResultSummary::from(finished);
        let effective = finished.setup.plan.effective();
        let performance = finished.outcome.summary.as_ref();
        let rate = performance.map(|summary| summary.rates.completed_samples_per_s);
        let traffic =
            |bytes: fn(&NodeTraffic) -> u64| finished.nodes.reports.iter().map(|node| bytes(&node.traffic)).sum();
        let is_within_limit = performance.and_then(|summary| summary.checks.performance_constraints);
        TenantResult {
            name: self.name.clone(),
            folder: if below.is_empty() { self.name.clone() } else { format!("{below}/{}", self.name) },
            model: self.spec.target.model.clone(),
            nodes: finished.nodes.reports.iter().map(|node| node.name.clone()).collect(),
            start_ns: self.start.as_nanos() as u64,
            is_whole: finished.outcome.verdict.is_whole() && performance.is_some(),
            is_within_limit,
            target_per_s: effective.shape.has_schedule().then_some(effective.target_qps),
            achieved_per_s: rate.filter(|rate| rate.is_finite()),
            latency_split_ns: LatencySplit::from(finished.nodes.tally.all_nodes()),
            socket_bytes: [traffic(|node| node.socket_bytes_out), traffic(|node| node.socket_bytes_in)],
            ..TenantResult::of(&summary)
        }
    }
}
