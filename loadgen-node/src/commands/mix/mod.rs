//! The command `run --mix`: several tests at once over the same nodes, each in a run folder of its own.

mod search;
mod tenant_runs;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use qdl::Qdl;

use self::tenant_runs::{Ended, Running};
use super::io::{path_text, print_in, print_text};
use super::test_series::{LiveOutput, end_metrics};
use crate::cli::Format;
use crate::display::metrics::Boards;
use crate::display::show::Show;
use crate::display::steps;
use crate::display::viewer::Tenants;
use crate::mix::{self, CheckedMix, CheckedTenant, MixSearch};
use lon_run::exit::{Exit, Failure, OrExit as _, Outcome};
use lon_run::live::latest_snapshot::Board;
use lon_run::outputs::documents;
use lon_run::outputs::documents::mix_result::FILE;
use lon_run::outputs::report;
use lon_run::outputs::run_folder::folder::{Place, write_file};
use lon_run::signals::{Leaves, Signals, StopRequests as _};
use lon_run::test_run::{Connected, Test};

/// Time within which nodes are free after a run that they were lost to.
const FREED_WITHIN: Duration = Duration::from_secs(15);

/// Runs the tenants of a mix, or searches for their highest load, and shows how they did together.
pub(crate) fn mix(mix: &CheckedMix, folder: &Path, form: Format, live: LiveOutput) -> Outcome {
    Place::At(folder.to_owned()).check().or_exit(Exit::Usage)?;
    let boards = mix.tenants.iter().map(|tenant| (tenant.name.clone(), Board::default())).collect::<Vec<_>>();
    let metrics = live.metrics.start(Boards::Tenants(boards.clone()));
    let metrics = metrics.context("--metrics-listen").or_exit(Exit::Usage)?;
    let signals = Signals::catch(Leaves::Folder).context("cannot handle signals").or_exit(Exit::Bug)?;
    let tests: Vec<Test> = mix.tenants.iter().map(|tenant| tenant.test(true)).collect::<Outcome<_>>()?;
    let search = mix.search.as_ref().map(|request| MixSearch::new(mix, request, &tests)).transpose();
    let search = search.context("--mode FindPeakPerformance").or_exit(Exit::Usage)?;
    let qdl = mix.connect()?;
    let running = Running { folder, boards: &boards, signals: &signals, qdl: &qdl };
    let stop = signals.test_begins().context("cannot listen to signals").or_exit(Exit::Bug)?;
    // One display for all tenants, through all their runs.
    let show = Show::start(Tenants(boards.clone()), live.ui.available(), Arc::clone(&stop));
    let Ended { result, exit, failure } = match search {
        None => {
            let connected = connected(&mix.tenants, &qdl, tests)?;
            let alone = running.alone(mix)?;
            running.together(&mix.tenants, connected, "", &alone)?
        }
        Some(search) => {
            if mix.alone_first.is_some() {
                tracing::info!("a search runs no tenant alone: alone_first is left out");
            }
            running.search(search)?
        }
    };
    drop(show);
    write_file(&folder.join(FILE), |out| documents::write(out, &result)).or_exit(Exit::Bug)?;
    let has_page = mix.tenants.iter().any(|tenant| tenant.spec.report);
    if has_page {
        let page = mix::page(&result, folder);
        write_file(&folder.join(report::FILE), |out| out.write_all(page.as_bytes())).or_exit(Exit::Bug)?;
    }
    let report =
        if has_page { format!("Page      {}\n", path_text(&folder.join(report::FILE))) } else { String::new() };
    let text = || print_text(&format!("{}{report}Files     {}\n", result.text(), path_text(folder)));
    print_in(form, &result, text, || if form == Format::Csv { result.columns() } else { result.table() })?;
    end_metrics(metrics, &stop)?;
    failure.map_or(Ok(exit), Err)
}

/// The tests over their nodes and models.
fn connected(tenants: &[CheckedTenant], qdl: &Qdl, tests: Vec<Test>) -> Outcome<Vec<Connected>> {
    tenants.iter().zip(tests).map(|(tenant, test)| tenant.over(qdl, test)).collect()
}

impl CheckedMix {
    /// Reaches the nodes of all tenants.
    fn connect(&self) -> Outcome<Qdl> {
        let mut target = self.target()?.clone();
        if self.alone_first.is_some() {
            target.wait_ready = target.wait_ready.max(FREED_WITHIN);
        }
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

    /// Its test. Its samples are checked where `verifies`.
    fn test(&self, verifies: bool) -> Outcome<Test> {
        let _entered = self.span().entered();
        let test = Test::new(self.spec.clone()).map_err(|failure| self.named(failure))?;
        test.check_beside_others().map_err(|failure| self.named(failure))?;
        if verifies {
            test.verify(&steps::steps("verifying files")).map_err(|failure| self.named(failure))?;
        }
        Ok(test)
    }

    /// Its test over its own nodes and model.
    fn over(&self, qdl: &Qdl, test: Test) -> Outcome<Connected> {
        let _entered = self.span().entered();
        let target = &self.spec.target;
        let view = target.of_tenant(qdl, target.model.as_deref(), self.nodes.as_deref());
        view.and_then(|view| Connected::over(test, view)).map_err(|failure| self.named(failure))
    }
}
