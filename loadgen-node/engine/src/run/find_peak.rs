//! FindPeakPerformance: performance phases at the rates that `search` asks for, until it is done.
//!
//! The set is loaded as the official LoadGen does it: anew for the base rate and for each step of widening, once for
//! all of the halving. Ids and the choice of logged samples go on over all trials. A trial passes when every sample
//! was answered once and the latency target is met, even if other rules are not met. The load that is found can be
//! verified by whole runs, which must be VALID; each failure lowers it. What is reported is the run at the peak, judged
//! by all rules.

use std::collections::VecDeque;

use super::goal::Goal;
use super::issuer::Stop;
use super::observer::Observer;
use super::outcome::{End, FindPeakOutcome, PhaseOutcome};
use super::phases::Run;
use super::reasons::verdict_of;
use super::search::{Precision, Search, Step};
use super::search_record::{SearchEnd, Trial, TrialStart};
use crate::judge::{PERCENTILES, Summary};
use crate::plan::Plan;
use crate::value::Value;
use crate::world::{QuerySeq, SampleIndex, SampleSeq, World};

/// Why a search goes no further.
enum Ended {
    Search(SearchEnd),
    Run(End),
}

/// A search while it goes on.
pub(super) struct Hunt<'r, 'a, W, O: ?Sized> {
    run: &'r mut Run<'a, W, O>,
    search: Search,
    trials: Vec<Trial>,
    ran: u64,
    /// The set stays loaded over several trials.
    loaded: bool,
    /// Run that will be reported, unless a better run comes: its plan, and the position of its phase.
    best: Option<(Plan, usize)>,
    next_ids: (QuerySeq, SampleSeq),
    /// Verifications of an earlier search that are not used yet, in order.
    verified: VecDeque<Trial>,
}

impl<'r, 'a, W: World, O: Observer + ?Sized> Hunt<'r, 'a, W, O> {
    pub(super) fn new(run: &'r mut Run<'a, W, O>) -> Self {
        let (requested, options) = (run.plan.requested(), &run.options.find_peak);
        let decimals = Precision::Decimals(requested.server_find_peak_qps_decimals_of_precision);
        let load = run.plan.load();
        // A rate as it is in force: a negative one becomes 1.
        let base = load.filter(|load| load.is_whole).map_or(run.plan.effective().target_qps, |load| load.value);
        let search = Search::new(
            base,
            requested.server_find_peak_qps_boundary_step_size,
            options.precision.map_or(decimals, Precision::Share),
            load.is_some_and(|load| load.is_whole),
        )
        .with_verifications(options.verifications, options.step_back);
        let verified = options.prior.iter().filter(|trial| trial.is_verification).cloned().collect();
        let next_ids = (QuerySeq(0), SampleSeq(0));
        Self { run, search, trials: Vec::new(), ran: 0, loaded: false, best: None, next_ids, verified }
    }

    /// Searches to the end.
    pub(super) fn hunt(mut self) -> (End, FindPeakOutcome) {
        let ended = self.steps().and_then(|end| self.measure_if_only_known().map(|()| end));
        let (end, search_end) = match ended {
            Ok(search_end) => (End::Completed, search_end),
            Err(Ended::Search(search_end)) => (End::Completed, search_end),
            Err(Ended::Run(end)) => (end, SearchEnd::Stopped),
        };
        if self.loaded {
            self.run.unload(self.set());
        }
        let reported = self.best.take().map(|(plan, _)| Box::new(plan));
        (
            end,
            FindPeakOutcome { end: search_end, trials: self.trials, bracket: self.search.verified_bracket(), reported },
        )
    }

    /// Step by step; an end for a reason of the search's own is a result, too.
    fn steps(&mut self) -> Result<SearchEnd, Ended> {
        loop {
            let step = self.search.next();
            if let Some(text) = step.message() {
                self.note(&text);
            }
            let Some(load) = step.load() else { return Ok(self.settled(step)) };
            let passed = match self.prior_verdict(step, load) {
                Some(passed) => passed,
                None if self.ran >= self.run.options.find_peak.max_trials => return Ok(SearchEnd::TooManyTrials),
                None => match self.measure(load, step.is_verification()) {
                    Ok(passed) => passed,
                    Err(Ended::Search(end)) if !step.is_verification() => return Ok(end),
                    Err(ended) => return Err(ended),
                },
            };
            // A moment in which the host was busy ends no search of ours at its first trial.
            let is_first = matches!(step, Step::Base { .. }) && self.trials.len() == 1;
            let options = &self.run.options.find_peak;
            if !passed && is_first && options.precision.is_some() && self.ran < options.max_trials {
                self.note("FindPeakPerformance: the first load failed, and is tried once more");
                continue;
            }
            self.search.answer(passed);
            match (step, self.search.next()) {
                (Step::Widen { low, load }, _) if !passed => {
                    self.note(&format!("FindPeakPerformance: Found boundaries: [{low:.6}, {load:.6})"));
                    self.load()?;
                    self.loaded = true;
                }
                (Step::Verify { load, .. }, Step::Verify { load: lower, .. }) if !passed => {
                    self.note(&format!("FindPeakPerformance: {load:.6} failed its verification, {lower:.6} is next"));
                }
                _ => {}
            }
        }
    }

    fn settled(&mut self, step: Step) -> SearchEnd {
        if step == Step::BaseFails {
            let now = self.run.world.now();
            let text =
                "FindPeakPerformance: the requested rate does not meet the latency target, so there is no lower bound";
            self.run.events.error(now, text);
        }
        SearchEnd::of(step).unwrap_or(SearchEnd::Stopped)
    }

    /// The result of a step that need not be run.
    fn prior_verdict(&mut self, step: Step, load: f64) -> Option<bool> {
        let Step::Verify { number, count, .. } = step else { return self.prior_trial_verdict(load) };
        // A run of this search is reported, so that one is always measured.
        let counts = |trial: &&Trial| trial.is_at(load) && (!trial.passed || number < count);
        let trial = self.verified.front().filter(counts).cloned()?;
        self.verified.pop_front();
        let passed = trial.passed;
        self.record(Trial { known: true, ..trial });
        Some(passed)
    }

    /// The result of a trial that need not be run.
    fn prior_trial_verdict(&mut self, load: f64) -> Option<bool> {
        let prior =
            self.run.options.find_peak.prior.iter().rev().find(|trial| !trial.is_verification && trial.is_at(load))?;
        let trial = Trial { known: true, ..prior.clone() };
        let passed = trial.passed;
        self.record(trial);
        Some(passed)
    }

    fn record(&mut self, trial: Trial) {
        self.log(&trial);
        self.trials.push(trial);
    }

    /// The run at the peak is what is reported; when its trial was only known, it has to be run now.
    fn measure_if_only_known(&mut self) -> Result<(), Ended> {
        let bracket = self.search.bracket();
        let verified = self.search.verified_bracket().low;
        let Some(load) = verified.or(bracket.low).or(bracket.high) else { return Ok(()) };
        let reported = self.best.as_ref().and_then(|(plan, _)| plan.load());
        let is_measured = reported.is_some_and(|reported| reported.value == load);
        // Of a search whose verifications failed the last of them is reported.
        let is_unverified = self.run.options.find_peak.verifications > 0 && verified.is_none() && reported.is_some();
        if is_measured || is_unverified {
            return Ok(());
        }
        self.note(&format!("FindPeakPerformance: running the known peak again: {load:.6}"));
        self.measure(load, true)?;
        Ok(())
    }

    /// Runs a load; whether it passed.
    fn measure(&mut self, load: f64, is_verification: bool) -> Result<bool, Ended> {
        let (query, sample) = self.next_ids;
        let share = if is_verification { 1.0 } else { self.run.options.find_peak.trial_share };
        let plan = self.run.plan.at_load(load, share, query, sample).map_err(|error| {
            Ended::Search(SearchEnd::OutOfReach(format!("{load} queries per second cannot be run: {error}")))
        })?;
        let Some(phase) = plan.phases().first() else { return Err(Ended::Search(SearchEnd::Stopped)) };
        self.next_ids = (phase.end_query(), phase.end_sample());
        let number = self.trials.len() + 1;
        let start = TrialStart { number, load, is_verification, bracket: self.search.bracket() };
        self.run.observer.trial_started(start);
        if !self.loaded {
            self.load()?;
        }
        let stop = self.run.phase(plan.effective(), phase);
        if !self.loaded {
            self.run.unload(self.set());
        }
        self.ran += 1;
        let broke = match stop {
            Stop::Interrupted => Some(End::Interrupted),
            Stop::Broken => Some(End::Broken),
            _ => None,
        };
        let position = self.run.phases.len() - 1;
        let Run { world, phases, options, .. } = &mut *self.run;
        let goals = &options.find_peak.goals;
        let mut trial = world.meanwhile(|| trial(&plan, &phases[position], load, goals));
        trial.is_verification = is_verification;
        trial.passed &= !is_verification || trial.official_valid;
        // Before anything has passed, and when the run breaks off, the first run is better than none.
        let passed = trial.passed && broke.is_none();
        if self.search.is_best(passed) || self.best.is_none() {
            self.keep(plan, position);
        } else {
            self.run.phases[position].timeline = None;
        }
        match broke {
            Some(end) => Err(Ended::Run(end)),
            None => {
                self.run.observer.trial_ended(&trial);
                self.record(trial);
                Ok(passed)
            }
        }
    }

    /// Makes a run the one to report, and drops the record of the one before.
    fn keep(&mut self, plan: Plan, position: usize) {
        if let Some((_, before)) = self.best.replace((plan, position)) {
            self.run.phases[before].timeline = None;
        }
    }

    fn load(&mut self) -> Result<(), Ended> {
        self.run.load(self.set()).map_err(|text| Ended::Run(End::LoadFailed(text)))
    }

    /// All trials use the same set.
    fn set(&self) -> &'a [SampleIndex] {
        self.run.plan.phases().first().map(|phase| phase.set.indices.as_slice()).unwrap_or_default()
    }

    fn note(&mut self, text: &str) {
        let now = self.run.world.now();
        self.run.events.info(now, "generic_message", text);
    }

    fn log(&mut self, trial: &Trial) {
        let now = self.run.world.now();
        let entries: [(&'static str, Value); 9] = [
            ("lon_trial_load", Value::Full(trial.load)),
            ("lon_trial_is_verification", trial.is_verification.into()),
            ("lon_trial_passed", trial.passed.into()),
            ("lon_trial_official_valid", trial.official_valid.into()),
            ("lon_trial_reason", trial.reason.as_str().into()),
            ("lon_trial_query_count", trial.queries.into()),
            ("lon_trial_99.00_percentile_latency_ns", trial.p99_ns.into()),
            ("lon_trial_lag_99.00_percentile_ns", trial.lag_p99_ns.into()),
            ("lon_trial_known", trial.known.into()),
        ];
        for (key, value) in entries {
            self.run.events.info(now, key, value);
        }
    }
}

/// Judges the run of a trial.
fn trial(plan: &Plan, phase: &PhaseOutcome, load: f64, goals: &[Goal]) -> Trial {
    let effective = plan.effective();
    let summary = phase.timeline.as_ref().map(|timeline| effective.judge(timeline.measured(effective)));
    let verdict = verdict_of(effective, summary.as_ref(), &phase.counts);
    let mut reasons: Vec<String> = verdict.reasons().iter().map(|reason| reason.text.clone()).collect();
    if let Stop::GivenUp { late } = phase.stop {
        reasons.push(format!("given up after {late} late samples"));
    }
    let latency = summary.as_ref().map(|summary| summary.latency).unwrap_or_default();
    let p99 = PERCENTILES.iter().position(|fraction| *fraction == 0.99).unwrap_or_default();
    Trial {
        load,
        passed: verdict.is_whole() && summary.is_some_and(|summary| has_passed(&summary, goals)),
        is_verification: false,
        official_valid: verdict.official() == Some(true),
        reason: reasons.join("; "),
        queries: phase.queries_issued,
        p99_ns: latency.percentiles_ns[p99],
        target_percentile_ns: latency.target_ns,
        lag_p99_ns: phase.lag.p99_ns,
        known: false,
    }
}

/// A run passes by the goals of the search, where it has any, else by the limit of the scenario.
fn has_passed(summary: &Summary, goals: &[Goal]) -> bool {
    if goals.is_empty() {
        return summary.checks.performance_constraints == Some(true);
    }
    goals.iter().all(|goal| goal.is_met(summary))
}
