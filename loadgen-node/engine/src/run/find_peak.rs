//! FindPeakPerformance: performance phases at the rates that `search` asks for, until it is done.
//!
//! The set is loaded as the official LoadGen does it: anew for the base rate and for each step of widening, once for
//! all of the halving. Ids and the choice of logged samples go on over all trials. A trial passes when every sample
//! was answered once and the latency target is met, even if other rules are not met. What is reported is the run at
//! the peak, judged by all rules.

use super::issuer::Stop;
use super::observer::Observer;
use super::outcome::{End, FindPeakOutcome, PhaseOutcome};
use super::phases::Run;
use super::reasons::verdict_of;
use super::search::{Search, SearchEnd, Step, Trial, TrialStart};
use crate::judge::PERCENTILES;
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
}

impl<'r, 'a, W: World, O: Observer + ?Sized> Hunt<'r, 'a, W, O> {
    pub(super) fn new(run: &'r mut Run<'a, W, O>) -> Self {
        let requested = run.plan.requested();
        let search = Search::new(
            run.plan.effective().target_qps,
            requested.server_find_peak_qps_boundary_step_size,
            requested.server_find_peak_qps_decimals_of_precision,
        );
        let next_ids = (QuerySeq(0), SampleSeq(0));
        Self { run, search, trials: Vec::new(), ran: 0, loaded: false, best: None, next_ids }
    }

    /// Searches to the end.
    pub(super) fn hunt(mut self) -> (End, FindPeakOutcome) {
        let ended = self.steps().and_then(|found| self.measure_if_only_known().map(|()| found));
        let (end, search_end) = match ended {
            Ok(search_end) => (End::Completed, search_end),
            Err(Ended::Search(search_end)) => (End::Completed, search_end),
            Err(Ended::Run(end)) => (end, SearchEnd::Stopped),
        };
        if self.loaded {
            self.run.unload(self.set());
        }
        let reported = self.best.take().map(|(plan, _)| Box::new(plan));
        let bracket = self.search.bracket();
        (end, FindPeakOutcome { end: search_end, trials: self.trials, bracket, reported })
    }

    /// Step by step; an end for a reason of the search's own is a result, too.
    fn steps(&mut self) -> Result<SearchEnd, Ended> {
        loop {
            let step = self.search.next();
            if let Some(text) = step.message() {
                self.note(&text);
            }
            let Some(qps) = step.qps() else { return Ok(self.settled(step)) };
            let passed = match self.known(qps) {
                Some(passed) => passed,
                None if self.ran >= self.run.options.find_peak.max_trials => return Ok(SearchEnd::TooManyTrials),
                None => match self.measure(qps) {
                    Ok(passed) => passed,
                    Err(Ended::Search(end)) => return Ok(end),
                    Err(ended) => return Err(ended),
                },
            };
            self.search.answer(passed);
            if let (Step::Widen { low, qps }, false) = (step, passed) {
                self.note(&format!("FindPeakPerformance: Found boundaries: [{low:.6}, {qps:.6})"));
                self.load()?;
                self.loaded = true;
            }
        }
    }

    fn settled(&mut self, step: Step) -> SearchEnd {
        if matches!(step, Step::Found { .. }) {
            return SearchEnd::Found;
        }
        let now = self.run.world.now();
        let text =
            "FindPeakPerformance: the requested rate does not meet the latency target, so there is no lower bound";
        self.run.events.error(now, text);
        SearchEnd::BaseFails
    }

    /// The result of a trial that need not be run.
    fn known(&mut self, qps: f64) -> Option<bool> {
        let prior = self.run.options.find_peak.prior.iter().rev().find(|trial| trial.is_at(qps))?;
        let trial = Trial { known: true, ..prior.clone() };
        let passed = trial.passed;
        self.log(&trial);
        self.trials.push(trial);
        Some(passed)
    }

    /// The run at the peak is what is reported; when its trial was only known, it has to be run now.
    fn measure_if_only_known(&mut self) -> Result<(), Ended> {
        let bracket = self.search.bracket();
        let Some(qps) = bracket.low_qps.or(bracket.high_qps) else { return Ok(()) };
        let best = self.best.as_ref().map(|(plan, _)| plan.effective().target_qps);
        if best == Some(qps) {
            return Ok(());
        }
        self.note(&format!("FindPeakPerformance: running the known peak again: {qps:.6}"));
        self.measure(qps)?;
        Ok(())
    }

    /// Runs a trial; whether it passed.
    fn measure(&mut self, qps: f64) -> Result<bool, Ended> {
        let (query, sample) = self.next_ids;
        let plan = self.run.plan.at_rate(qps, query, sample).map_err(|error| {
            Ended::Search(SearchEnd::OutOfReach(format!("{qps} queries per second cannot be run: {error}")))
        })?;
        let Some(phase) = plan.phases().first() else { return Err(Ended::Search(SearchEnd::Stopped)) };
        self.next_ids = (phase.end_query(), phase.end_sample());
        let number = self.trials.len() + 1;
        self.run.observer.trial_started(TrialStart { number, qps, bracket: self.search.bracket() });
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
        let Run { world, phases, .. } = &mut *self.run;
        let trial = world.meanwhile(|| trial(&plan, &phases[position], qps));
        // Before anything has passed, and when the run breaks off, the first run is better than none.
        let passed = trial.passed && broke.is_none();
        let peak_again = self.search.next().qps().is_none();
        if passed || peak_again || self.best.is_none() {
            self.keep(plan, position);
        } else {
            self.run.phases[position].timeline = None;
        }
        match broke {
            Some(end) => Err(Ended::Run(end)),
            None => {
                self.log(&trial);
                self.run.observer.trial_ended(&trial);
                self.trials.push(trial);
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
        let entries: [(&'static str, Value); 8] = [
            ("lon_trial_qps", Value::Full(trial.qps)),
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
fn trial(plan: &Plan, phase: &PhaseOutcome, qps: f64) -> Trial {
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
        qps,
        passed: verdict.is_whole()
            && summary.is_some_and(|summary| summary.checks.performance_constraints == Some(true)),
        official_valid: verdict.official() == Some(true),
        reason: reasons.join("; "),
        queries: phase.queries_issued,
        p99_ns: latency.percentiles_ns[p99],
        target_percentile_ns: latency.target_ns,
        lag_p99_ns: phase.lag.p99_ns,
        known: false,
    }
}
