//! A whole test over a world: its series in their order, with loading before and unloading after them.

use std::collections::VecDeque;

use super::effective::Effective;
use super::issuer::Stop;
use super::judge::{Judgement, Measured, sorted};
use super::search::{Part, Peak, Search, Step, Wish};
use super::series::{SeriesInput, SeriesRun, run_series};
use super::settings::Settings;
use super::traffic::{First, phase, sets};
use super::trial::Trial;
use crate::run::{self, End, Observer, PhaseOutcome, RunOptions, SearchEnd, TrialStart};
use crate::settings::{IntegerRule, Mode, Qsl};
use crate::trace::{LoadableSet, PhasePlan, Picks};
use crate::traffic::PlanError;
use crate::world::World;

/// The settings of a test, and the rules and sizes that it depends on.
#[derive(Clone, Debug)]
pub struct TestInput {
    /// The settings as requested.
    pub settings: Settings,
    /// The sizes that the library reports.
    pub qsl: Qsl,
    /// The rule by which a draw of the random engine becomes an integer.
    pub integers: IntegerRule,
}

/// One series that was run.
#[derive(Debug)]
pub struct SeriesOutcome {
    /// The settings in force.
    pub effective: Effective,
    /// The queries of the series.
    pub phase: PhasePlan,
    /// Number of sets that were loaded before its own.
    pub loaded_set: usize,
    /// The outcome of the series.
    pub run: SeriesRun,
}

/// A search that was run.
#[derive(Debug)]
pub struct SearchOutcome {
    /// All trials, in order.
    pub trials: Vec<Trial>,
    /// The bounds after widening; `None`: the requested value failed.
    pub boundaries: Option<(Peak, Peak)>,
    /// The highest value that passed, its verifications included.
    pub peak: Option<Peak>,
    /// End of the search.
    pub end: SearchEnd,
}

/// The performance series that is judged and reported.
#[derive(Debug)]
pub struct Reported {
    /// Position among the series.
    pub series: usize,
    /// Its counts, times and latencies.
    pub measured: Measured,
    /// The rules that it keeps.
    pub judgement: Judgement,
    /// The latencies that are handed to the SUT: in the order of samples, sorted after a search.
    pub latencies_ns: Vec<u64>,
}

/// The outcome of a test.
#[derive(Debug)]
pub struct TestOutcome {
    /// All series, in order.
    pub series: Vec<SeriesOutcome>,
    /// The same as displays and files have it. Only the reported series has its samples.
    pub phases: Vec<PhaseOutcome>,
    /// The errors of the log, in order.
    pub errors: Vec<String>,
    /// The search, if the test was one.
    pub search: Option<SearchOutcome>,
    /// The series that is reported; `None` in accuracy tests.
    pub reported: Option<Reported>,
    /// End of the test.
    pub end: End,
}

impl TestOutcome {
    /// The outcome of a test of which nothing was run.
    pub(super) fn not_run(end: End) -> Self {
        let (series, phases, errors) = (Vec::new(), Vec::new(), Vec::new());
        Self { series, phases, errors, search: None, reported: None, end }
    }
}

/// A cause that ends a test early.
enum Cut {
    /// The settings cannot be run.
    Plan(PlanError),
    /// The world says stop.
    End(End),
    /// The search goes no further.
    Search(SearchEnd),
}

impl From<PlanError> for Cut {
    fn from(error: PlanError) -> Self {
        Self::Plan(error)
    }
}

/// Runs a test from the first load to the last unload. `observer` gets answers and progress, on the calling thread.
///
/// # Errors
/// The settings cannot be run.
pub fn run_test<W: World, O: Observer + ?Sized>(
    input: &TestInput,
    options: &RunOptions,
    world: &mut W,
    observer: &mut O,
) -> Result<TestOutcome, PlanError> {
    let mut errors = Vec::new();
    let effective = Effective::new(&input.settings, input.qsl, &mut errors)?;
    let settings = &input.settings;
    let picks = Picks::new(settings.accuracy_log_rng_seed, settings.accuracy_log_probability);
    let outcome = TestOutcome { errors, ..TestOutcome::not_run(End::Completed) };
    let prior = options.find_peak.prior.iter();
    let known_verifications = prior.filter(|trial| trial.is_verification).cloned().collect();
    let mut test = Test {
        input,
        options,
        world,
        observer,
        picks,
        first: First::default(),
        loads: 0,
        known_verifications,
        outcome,
    };
    match test.all(&effective) {
        Ok(()) => {}
        Err(Cut::End(end)) => test.outcome.end = end,
        Err(Cut::Plan(error)) => return Err(error),
        // `find_peak` keeps the end of its search.
        Err(Cut::Search(_)) => {}
    }
    Ok(test.outcome)
}

struct Test<'a, W: World, O: ?Sized> {
    input: &'a TestInput,
    options: &'a RunOptions,
    world: &'a mut W,
    observer: &'a mut O,
    picks: Picks,
    first: First,
    loads: usize,
    /// Verifications of an earlier search that are not used yet, in order.
    known_verifications: VecDeque<run::Trial>,
    outcome: TestOutcome,
}

impl<W: World, O: Observer + ?Sized> Test<'_, W, O> {
    fn all(&mut self, effective: &Effective) -> Result<(), Cut> {
        let mode = self.input.settings.mode;
        if mode.has_accuracy() {
            self.accuracy(effective)?;
        }
        match mode {
            Mode::FindPeakPerformance => self.find_peak(effective),
            mode if mode.has_performance() => self.performance(effective),
            _ => Ok(()),
        }
    }

    fn accuracy(&mut self, effective: &Effective) -> Result<(), Cut> {
        for set in sets(effective, self.input.qsl, self.input.integers)? {
            self.loaded(&set, |test| test.series(effective, true, set.clone()))?;
        }
        Ok(())
    }

    fn performance(&mut self, effective: &Effective) -> Result<(), Cut> {
        let set = self.performance_set(effective)?;
        let before = self.outcome.series.len();
        let ran = self.loaded(&set, |test| test.series(effective, false, set.clone()));
        self.report(before, <[u64]>::to_vec);
        ran
    }

    /// Each base and widening trial loads a set of its own; halving keeps the one of the value that failed.
    fn find_peak(&mut self, effective: &Effective) -> Result<(), Cut> {
        let Some(mut search) = Search::new(effective) else {
            self.outcome.errors.push("FindPeakPerformance is not supported for this scenario.".to_owned());
            return Ok(());
        };
        let mut record = SearchOutcome { trials: Vec::new(), boundaries: None, peak: None, end: SearchEnd::Stopped };
        let searched = match self.search(&mut search, &mut record) {
            Ok(end) | Err(Cut::Search(end)) => {
                record.end = end;
                Ok(())
            }
            Err(cut) => Err(cut),
        };
        let (reported, searched) = match searched.and_then(|()| self.measured_best(&mut record)) {
            Ok(series) => (series, Ok(())),
            Err(cut) => {
                let mut passed = record.trials.iter().rev().filter(|trial| trial.passed());
                (passed.find_map(|trial| trial.series), Err(cut))
            }
        };
        if record.end == SearchEnd::BaseFails {
            self.outcome.errors.push("FindPeakPerformance: The base settings fail.".to_owned());
        }
        self.outcome.search = Some(record);
        self.report(reported.unwrap_or(0), sorted);
        searched
    }

    /// Position of the series to report: the one at the peak. When its trial was only known, it has to be run now.
    fn measured_best(&mut self, record: &mut SearchOutcome) -> Result<Option<usize>, Cut> {
        let Some(&Trial { wish, series, .. }) = best(record) else { return Ok(None) };
        if series.is_some() {
            return Ok(series);
        }
        let effective = self.at(wish.value)?;
        let set = self.performance_set(&effective)?;
        let again = Wish { part: Part::Verify, ..wish };
        self.loaded(&set, |test| test.ran(record, again, &effective, set.clone()).map(|_| ()))?;
        Ok(record.trials.last().and_then(|trial| trial.series))
    }

    fn search(&mut self, search: &mut Search, record: &mut SearchOutcome) -> Result<SearchEnd, Cut> {
        self.widen(search, record)?;
        record.boundaries = search.bounds();
        if let Some((_, upper)) = record.boundaries {
            let set = self.performance_set(&self.at(upper)?)?;
            self.loaded(&set, |test| {
                while let Step::Try(wish) = search.next() {
                    let passed = match test.prior_verdict(record, wish) {
                        Some(passed) => passed,
                        None => test.tried(record, wish, &test.at(wish.value)?, set.clone())?,
                    };
                    search.answer(passed);
                }
                Ok(())
            })?;
        }
        match search.next() {
            Step::Found(value) => self.verify(record, value),
            Step::BaseFails => Ok(SearchEnd::BaseFails),
            Step::Try { .. } => Ok(SearchEnd::Stopped),
        }
    }

    /// The requested value and larger ones, until one fails.
    fn widen(&mut self, search: &mut Search, record: &mut SearchOutcome) -> Result<(), Cut> {
        let out_of_reach = |error: PlanError| Cut::Search(SearchEnd::OutOfReach(error.to_string()));
        while let Step::Try(wish @ Wish { part: part @ (Part::Base | Part::Widen), .. }) = search.next() {
            if let Some(passed) = self.prior_verdict(record, wish) {
                search.answer(passed);
                continue;
            }
            let effective = match (part, self.at(wish.value)) {
                (Part::Widen, Err(error)) => return Err(out_of_reach(error)),
                (_, effective) => effective?,
            };
            let set = self.performance_set(&effective)?;
            let ran = self.loaded(&set, |test| {
                search.answer(test.tried(record, wish, &effective, set.clone())?);
                Ok(())
            });
            match ran {
                // More than can be generated, which its phase finds out.
                Err(Cut::Plan(error)) if part == Part::Widen => return Err(out_of_reach(error)),
                ran => ran?,
            }
        }
        Ok(())
    }

    /// Runs the value that was found as often as the options ask for, and lower ones until one passes each time. Every
    /// run loads the set of its value.
    fn verify(&mut self, record: &mut SearchOutcome, mut value: Peak) -> Result<SearchEnd, Cut> {
        let options = &self.options.find_peak;
        let (count, step_back) = (options.verifications, options.step_back);
        loop {
            let mut passed = true;
            for number in 1..=count {
                let (lower, upper) = record.boundaries.unzip();
                let wish = Wish { part: Part::Verify, lower, upper, value };
                passed = match self.prior_verification(record, wish, number == count) {
                    Some(passed) => passed,
                    None => self.verification(record, wish)?,
                };
                if !passed {
                    break;
                }
            }
            if passed {
                record.peak = Some(value);
                return Ok(SearchEnd::Found);
            }
            match Search::below(value, step_back) {
                Some(lower) => value = lower,
                None => return Ok(SearchEnd::NotVerified),
            }
        }
    }

    /// Runs a verification. Returns true when it passed.
    fn verification(&mut self, record: &mut SearchOutcome, wish: Wish) -> Result<bool, Cut> {
        let effective = self.at(wish.value)?;
        let set = self.performance_set(&effective)?;
        let mut passed = false;
        self.loaded(&set, |test| {
            passed = test.tried(record, wish, &effective, set.clone())?;
            Ok(())
        })?;
        Ok(passed)
    }

    /// The result of a trial that an earlier search has run, and need not be run again.
    fn prior_verdict(&mut self, record: &mut SearchOutcome, wish: Wish) -> Option<bool> {
        let load = wish.value.number();
        let mut prior = self.options.find_peak.prior.iter().rev();
        let earlier = prior.find(|trial| !trial.is_verification && trial.is_at(load))?;
        record.trials.push(Trial::from_prior(wish, earlier));
        Some(earlier.passed)
    }

    /// The same of a verification. A run of this search is reported, so that the last one is always measured.
    fn prior_verification(&mut self, record: &mut SearchOutcome, wish: Wish, is_last: bool) -> Option<bool> {
        let load = wish.value.number();
        let counts = |trial: &run::Trial| trial.is_at(load) && !(trial.passed && is_last);
        let earlier = self.known_verifications.pop_front_if(|trial| counts(trial))?;
        record.trials.push(Trial::from_prior(wish, &earlier));
        Some(earlier.passed)
    }

    /// Runs a trial, if the search may have another one. Returns true when it passed.
    fn tried(
        &mut self,
        record: &mut SearchOutcome,
        wish: Wish,
        effective: &Effective,
        set: LoadableSet,
    ) -> Result<bool, Cut> {
        let ran = record.trials.iter().filter(|trial| trial.series.is_some()).count() as u64;
        if ran >= self.options.find_peak.max_trials {
            return Err(Cut::Search(SearchEnd::TooManyTrials));
        }
        self.ran(record, wish, effective, set)
    }

    /// Runs a trial. Returns true when it passed.
    fn ran(
        &mut self,
        record: &mut SearchOutcome,
        wish: Wish,
        effective: &Effective,
        set: LoadableSet,
    ) -> Result<bool, Cut> {
        let (number, load, is_verification) = (record.trials.len() + 1, wish.value.number(), wish.is_verification());
        self.observer.trial_started(TrialStart { number, load, is_verification, bracket: wish.bracket() });
        self.series(effective, false, set)?;
        let (world, outcome) = (&mut *self.world, &self.outcome);
        let Some((series, phase)) = outcome.series.last().zip(outcome.phases.last()) else { return Ok(false) };
        let position = outcome.series.len() - 1;
        let (effective, run_record) = (&series.effective, &series.run.record);
        let trial = world.meanwhile(|| Trial::of_series(wish, position, effective, run_record, phase));
        self.observer.trial_ended(&trial.result);
        let passed = trial.passed();
        record.trials.push(trial);
        Ok(passed)
    }

    /// The values in force when another value is tried.
    fn at(&self, value: Peak) -> Result<Effective, PlanError> {
        let mut settings = self.input.settings.clone();
        match value {
            Peak::Samples(samples) => settings.multi_stream_samples_per_query = samples,
            Peak::Rate(qps) => settings.server_target_qps = qps,
        }
        // Objections to the requested settings are in the log already.
        Effective::new(&settings, self.input.qsl, &mut Vec::new())
    }

    fn performance_set(&self, effective: &Effective) -> Result<LoadableSet, PlanError> {
        let mut sets = sets(effective, self.input.qsl, self.input.integers)?;
        // There is a first one: an empty library was refused.
        Ok(sets.swap_remove(0))
    }

    /// Loads a set, does something with it, and unloads it.
    fn loaded(&mut self, set: &LoadableSet, work: impl FnOnce(&mut Self) -> Result<(), Cut>) -> Result<(), Cut> {
        self.world.load(&set.indices).map_err(|text| Cut::End(End::LoadFailed(text)))?;
        self.loads += 1;
        let done = work(self);
        self.world.unload(&set.indices);
        done
    }

    fn series(&mut self, effective: &Effective, is_accuracy: bool, set: LoadableSet) -> Result<(), Cut> {
        let phase = phase(effective, is_accuracy, set, self.input.integers, self.first)?;
        let input = SeriesInput { effective, phase: &phase, options: self.options };
        let (run, outcome) = run_series(&input, &mut self.picks, self.world, self.observer);
        let stop = run.stop;
        self.outcome.errors.extend(stop.error().map(str::to_owned));
        self.first = First::after(&phase);
        let effective = effective.clone();
        self.outcome.series.push(SeriesOutcome { effective, phase, loaded_set: self.loads - 1, run });
        self.outcome.phases.push(outcome);
        match stop {
            Stop::Interrupted => Err(Cut::End(End::Interrupted)),
            Stop::Broken => Err(Cut::End(End::Broken)),
            _ => Ok(()),
        }
    }

    /// Reports the series at this position, if it was run; samples of others are kept no longer.
    fn report(&mut self, position: usize, order: fn(&[u64]) -> Vec<u64>) {
        let others = self.outcome.phases.iter_mut().enumerate().filter(|(other, _)| *other != position);
        others.for_each(|(_, phase)| phase.timeline = None);
        let Some(series) = self.outcome.series.get(position) else { return };
        let (measured, judgement) = self.world.meanwhile(|| judged(series));
        let latencies_ns = order(&measured.sample_latencies_ns);
        self.outcome.reported = Some(Reported { series: position, measured, judgement, latencies_ns });
    }
}

/// The trial to report: the last one that passed at the value that was found, else the best that there is.
fn best(record: &SearchOutcome) -> Option<&Trial> {
    let mut latest = record.trials.iter().rev();
    match record.end {
        SearchEnd::Found => latest.find(|trial| Some(trial.wish.value) == record.peak && trial.passed()),
        SearchEnd::BaseFails | SearchEnd::NotVerified => latest.next(),
        // Of a search that is broken off, the best so far is better than none.
        _ => latest.find(|trial| trial.passed()),
    }
}

/// Measurements of a series, and the rules that it keeps.
fn judged(series: &SeriesOutcome) -> (Measured, Judgement) {
    let measured = Measured::new(&series.effective, &series.run.record);
    let judgement = Judgement::new(&series.effective, &measured);
    (measured, judgement)
}
