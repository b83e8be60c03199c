//! The command `run --mix`: several tests at once over the same nodes, each in a run folder of its own.

use std::path::Path;
use std::thread;

use anyhow::{Context as _, anyhow};
use qdl::{NodeTraffic, Qdl};

use super::begun::{INCOMPLETE, LiveOutput, end_metrics};
use super::io::{print_in, print_text, shown};
use crate::cli::Format;
use crate::display::metrics::Boards;
use crate::display::steps;
use crate::display::ui::Ui;
use crate::exit::{Exit, Failure, OrExit as _, Outcome};
use crate::live::board::Board;
use crate::mix::{ALONE, CheckedMix, CheckedTenant};
use crate::outputs::documents;
use crate::outputs::documents::mix_result::{FILE, MixResult, TenantResult};
use crate::outputs::documents::result_summary::{ResultSummary, Validity};
use crate::outputs::folder::{Place, write_file};
use crate::outputs::record::{self, Recorded};
use crate::signals::{Leaves, Signals, StopRequests as _};
use crate::test_run::tenants::{self, Tenant};
use crate::test_run::{Claimed, Connected, Finished, Test, TestSpec};
use loadgen::settings::Assignment;
use lon_world::mix::Mix;

/// Runs the tenants of a mix, first each alone where that is wanted, and shows how they did together.
pub(crate) fn mix(mix: &CheckedMix, folder: &Path, form: Format, live: LiveOutput) -> Outcome {
    Place::At(folder.to_owned()).check().or_exit(Exit::Usage)?;
    let boards = mix.tenants.iter().map(|tenant| (tenant.name.clone(), Board::default())).collect::<Vec<_>>();
    let metrics = live.metrics.start(Boards::Tenants(boards.clone()));
    let metrics = metrics.context("--metrics-listen").or_exit(Exit::Usage)?;
    let signals = Signals::catch(Leaves::Folder).context("cannot handle signals").or_exit(Exit::Bug)?;
    let tests: Vec<Test> = mix.tenants.iter().map(CheckedTenant::test).collect::<Outcome<_>>()?;
    let qdl = mix.connect()?;
    let connected = mix.tenants.iter().zip(tests).map(|(tenant, test)| tenant.over(&qdl, test));
    let connected: Vec<Connected> = connected.collect::<Outcome<_>>()?;
    // The dashboard shows one run; tenants have a line each.
    let ui = if live.ui == Ui::None { Ui::None } else { Ui::Line };
    let running = Running { mix, folder, ui, boards: &boards, signals: &signals };
    let alone = match running.alone(&qdl)? {
        Alone::Ended(alone) => alone,
        Alone::Broken(exit) => return Ok(exit),
    };
    let stop = signals.test_begins().context("cannot listen to signals").or_exit(Exit::Bug)?;
    let shared = Mix::new(mix.tenants.len());
    let starting = mix.tenants.iter().zip(connected).map(|(tenant, test)| Tenant { test, start: tenant.start });
    let claimed = tenants::claim(&qdl, starting.collect(), &shared, &stop)?;
    let ended = running.together(claimed);
    let (result, exit, failure) = running.result(ended, &alone, &shared);
    write_file(&folder.join(FILE), |out| documents::write(out, &result)).or_exit(Exit::Bug)?;
    let text = || print_text(&format!("{}Files     {}\n", result.text(), shown(folder)));
    print_in(form, &result, text, || result.table())?;
    end_metrics(metrics, &stop)?;
    failure.map_or(Ok(exit), Err)
}

/// A mix whose nodes have been reached.
struct Running<'a> {
    mix: &'a CheckedMix,
    folder: &'a Path,
    ui: Ui,
    /// The board of each tenant by its name.
    boards: &'a [(String, Board)],
    signals: &'a Signals,
}

/// Outcome of the runs alone.
enum Alone {
    /// The run of each tenant; empty where none was wanted.
    Ended(Vec<Finished>),
    /// One was interrupted, or has lost a node, and no further run makes sense.
    Broken(Exit),
}

impl Running<'_> {
    /// Runs each tenant alone, where that is wanted.
    fn alone(&self, qdl: &Qdl) -> Outcome<Alone> {
        let mut ended = Vec::new();
        let Some(time) = self.mix.alone_first else { return Ok(Alone::Ended(ended)) };
        for tenant in &self.mix.tenants {
            let _entered = tracing::info_span!("alone", name = tenant.name).entered();
            tracing::info!(time_s = time.as_secs_f64(), "a tenant runs alone first");
            let claimed = tenant.over(qdl, tenant.alone(time).test()?)?.claim(self.signals)?;
            let place = Place::At(self.folder.join(ALONE).join(&tenant.name));
            let Recorded { finished, written, .. } = record::record_shown(claimed, &place, self.ui, &Board::default())?;
            written.context(INCOMPLETE).or_exit(Exit::Bug)?;
            match finished.exit() {
                Exit::Ok | Exit::Invalid => ended.push(finished),
                exit => return Ok(Alone::Broken(exit)),
            }
        }
        Ok(Alone::Ended(ended))
    }

    /// Runs all tenants, each on a thread of its own.
    fn together(&self, claimed: Vec<Claimed>) -> Vec<Outcome<Recorded>> {
        thread::scope(|scope| {
            let mut started = Vec::with_capacity(claimed.len());
            for ((tenant, (_, board)), test) in self.mix.tenants.iter().zip(self.boards).zip(claimed) {
                let named = thread::Builder::new().name(tenant.name.chars().take(15).collect());
                let thread = named.spawn_scoped(scope, move || {
                    let _entered = tenant.span().entered();
                    record::record_shown(test, &Place::At(self.folder.join(&tenant.name)), self.ui, board)
                });
                started.push(thread.context("cannot start a thread").or_exit(Exit::Bug));
            }
            let end = |thread: Outcome<thread::ScopedJoinHandle<'_, Outcome<Recorded>>>| {
                thread?.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            started.into_iter().map(end).collect()
        })
    }

    /// The result of all tenants, the worst of their exit codes, and the first failure of one that has left no result.
    fn result(
        &self,
        ended: Vec<Outcome<Recorded>>,
        alone: &[Finished],
        shared: &Mix,
    ) -> (MixResult, Exit, Option<Failure>) {
        let (mut exit, mut failure, mut results) = (Exit::Ok, None, Vec::with_capacity(ended.len()));
        for (place, (tenant, recorded)) in self.mix.tenants.iter().zip(ended).enumerate() {
            let Recorded { finished, written, .. } = match recorded {
                Ok(recorded) => recorded,
                Err(failed) => {
                    let failed = tenant.named(failed);
                    results.push(tenant.without_result(&failed.one_line()));
                    failure.get_or_insert(failed);
                    continue;
                }
            };
            exit = worse(exit, if written.is_ok() { finished.exit() } else { Exit::Bug });
            let result = TenantResult { left_early: shared.left_early(place), ..tenant.result(&finished) };
            results.push(match alone.get(place) {
                Some(alone) => result.with_alone(format!("{ALONE}/{}", tenant.name), &ResultSummary::from(alone)),
                None => result,
            });
        }
        let result = MixResult::new(self.mix.alone_first, results);
        let is_invalid = exit == Exit::Ok && result.result == Validity::Invalid;
        (result, if is_invalid { Exit::Invalid } else { exit }, failure)
    }
}

/// The exit code that says more: a bug, a lost node, an interruption, an INVALID result.
fn worse(one: Exit, other: Exit) -> Exit {
    let weight =
        |exit: Exit| [Exit::Ok, Exit::Invalid, Exit::Interrupted, Exit::Network].iter().position(|at| *at == exit);
    // Codes that are not listed are the worst.
    if weight(other).unwrap_or(usize::MAX) > weight(one).unwrap_or(usize::MAX) { other } else { one }
}

impl CheckedMix {
    /// Reaches the nodes of all tenants.
    fn connect(&self) -> Outcome<Qdl> {
        let first = self.tenants.first().context("a mix has tenants").or_exit(Exit::Bug)?;
        let target = &first.spec.target;
        if target.kind().no_counters.is_some() {
            let reason = "--mix is for SUT nodes: servers of --transport kserve have no claims, tenants or counters";
            return Err(anyhow!(reason)).or_exit(Exit::Usage);
        }
        target.connect_all()
    }
}

impl CheckedTenant {
    /// The span of its lines in the log.
    fn span(&self) -> tracing::Span {
        tracing::info_span!("tenant", name = self.name)
    }

    fn named(&self, failure: Failure) -> Failure {
        Failure { error: failure.error.context(format!("tenant '{}'", self.name)), ..failure }
    }

    /// Its test, with checked samples.
    fn test(&self) -> Outcome<Test> {
        let _entered = self.span().entered();
        let test = Test::new(self.spec.clone()).map_err(|failure| self.named(failure))?;
        test.check_beside_others().map_err(|failure| self.named(failure))?;
        test.verify(&steps::steps("verifying files")).map_err(|failure| self.named(failure))?;
        Ok(test)
    }

    /// The same test for this time alone.
    fn alone(&self, time: std::time::Duration) -> CheckedTenant {
        let mut spec: TestSpec = self.spec.clone();
        let settings = [("min_duration", format!("{}ms", time.as_millis())), ("min_query_count", "1".to_owned())];
        spec.settings.set.extend(settings.map(|(key, value)| Assignment::of(key, value)));
        spec.anyway = true;
        CheckedTenant { name: self.name.clone(), start: self.start, nodes: self.nodes.clone(), spec }
    }

    /// Its test over its own nodes and model.
    fn over(&self, qdl: &Qdl, test: Test) -> Outcome<Connected> {
        let _entered = self.span().entered();
        let target = &self.spec.target;
        let view = target.of_tenant(qdl, target.model.as_deref(), self.nodes.as_deref());
        view.and_then(|view| Connected::over(test, view)).map_err(|failure| self.named(failure))
    }

    /// Its part of the result where it has left none.
    fn without_result(&self, why: &str) -> TenantResult {
        let (name, reasons) = (self.name.clone(), vec![why.to_owned()]);
        TenantResult { name, reasons, result: Validity::Invalid, ..TenantResult::default() }
    }

    /// Its part of the result.
    fn result(&self, finished: &Finished) -> TenantResult {
        let summary = ResultSummary::from(finished);
        let effective = finished.setup.plan.effective();
        let rates = finished.outcome.summary.as_ref().map(|summary| summary.rates);
        let traffic =
            |bytes: fn(&NodeTraffic) -> u64| finished.nodes.reports.iter().map(|node| bytes(&node.traffic)).sum();
        TenantResult {
            name: self.name.clone(),
            folder: self.name.clone(),
            model: self.spec.target.model.clone(),
            nodes: finished.nodes.reports.iter().map(|node| node.name.clone()).collect(),
            start_ns: self.start.as_nanos() as u64,
            target_per_s: effective.shape.has_schedule().then_some(effective.target_qps),
            achieved_per_s: rates.map(|rates| rates.completed_samples_per_s).filter(|rate| rate.is_finite()),
            socket_bytes: [traffic(|node| node.socket_bytes_out), traffic(|node| node.socket_bytes_in)],
            ..TenantResult::of(&summary)
        }
    }
}
