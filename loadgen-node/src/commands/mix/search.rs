//! The search of a mix: whole mixes at the loads that the engine's search asks for.

use anyhow::Context as _;
use loadgen::run::SearchEnd;

use super::connected;
use super::tenant_runs::{Alone, Ended, Running};
use crate::mix::{MixSearch, TRIALS};
use lon_run::exit::{Exit, OrExit as _, Outcome};
use lon_run::outputs::documents;
use lon_run::outputs::documents::mix_result::FILE;
use lon_run::outputs::documents::mix_search::MixSearched;
use lon_run::outputs::documents::result_summary::Validity;
use lon_run::outputs::run_folder::folder::write_file;

impl Running<'_> {
    /// Runs the mix at one load after the other. Reported is the run at the load that was found, else the last one that
    /// passed, else the first.
    ///
    /// # Errors
    /// The first run cannot be made. A later failure ends the search; it is that of the result.
    pub(super) fn search(&self, mut mix_search: MixSearch<'_>) -> Outcome<Ended> {
        let mut searched = mix_search.document();
        let mut best: Option<Ended> = None;
        let mut broken = None;
        loop {
            let step = mix_search.search.next();
            let Some(load) = step.load() else {
                searched.end = SearchEnd::of(step).unwrap_or(SearchEnd::Stopped);
                break;
            };
            if searched.trials.len() as u64 >= mix_search.most_trials {
                searched.end = SearchEnd::TooManyTrials;
                break;
            }
            let folder = format!("{TRIALS}/{:02}", searched.trials.len() + 1);
            let ended = match self.trial(&mix_search, load, step.is_verification(), &folder) {
                Ok(ended) => ended,
                Err(failure) if best.is_none() => return Err(failure),
                Err(failure) if failure.exit == Exit::Usage => {
                    searched.end = SearchEnd::OutOfReach(failure.one_line());
                    break;
                }
                Err(failure) => {
                    broken = Some((failure.exit, Some(failure)));
                    break;
                }
            };
            let trial = ended.result.trial(load, step.is_verification(), folder);
            tracing::info!(load = trial.load, outcome = searched.line(&trial), "a run of the search has ended");
            let passed = trial.passed;
            searched.trials.push(trial);
            if !matches!(ended.exit, Exit::Ok | Exit::Invalid) || ended.failure.is_some() {
                broken = Some((ended.exit, None));
                best = best.or(Some(ended));
                break;
            }
            if mix_search.search.is_best(passed) || best.is_none() {
                best = Some(ended);
            }
            mix_search.search.answer(passed);
        }
        searched.bracket = mix_search.search.verified_bracket();
        let Ended { result, exit, failure } = best.context("a search has a run").or_exit(Exit::Bug)?;
        let result = result.of_search(searched);
        let exit = if result.result == Validity::Valid { exit } else { exit.worse(Exit::Invalid) };
        let (worst, last) = broken.unwrap_or((Exit::Ok, None));
        Ok(Ended { result, exit: exit.worse(worst), failure: failure.or(last) })
    }

    /// Runs all tenants at this load. Its folder has the result of the run.
    fn trial(&self, mix_search: &MixSearch<'_>, load: f64, is_whole_run: bool, folder: &str) -> Outcome<Ended> {
        let _entered = tracing::info_span!("trial", load).entered();
        let tenants = mix_search.tenants(load, is_whole_run);
        let tests = tenants.iter().map(|tenant| tenant.test(false)).collect::<Outcome<Vec<_>>>()?;
        let ended = self.together(&tenants, connected(&tenants, self.qdl, tests)?, folder, &Alone::default())?;
        let path = self.folder.join(folder).join(FILE);
        write_file(&path, |out| documents::write(out, &ended.result)).or_exit(Exit::Bug)?;
        Ok(ended)
    }
}

impl MixSearch<'_> {
    fn document(&self) -> MixSearched {
        MixSearched {
            tenant: self.tenant.clone(),
            setting: self.setting.clone(),
            unit: self.unit.clone(),
            end: SearchEnd::Stopped,
            bracket: self.search.verified_bracket(),
            trials: Vec::new(),
        }
    }
}
