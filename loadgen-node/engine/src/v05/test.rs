//! A whole test over a world: its series in their order, with loading before and unloading after them.

use thiserror::Error;

use super::effective::Effective;
use super::judge::{Judgement, Measured, sorted};
use super::search::{Part, Peak, Search, Step};
use super::series::{SeriesError, SeriesRun, run_series};
use super::settings::Settings;
use super::traffic::{First, phase, sets};
use crate::settings::{IntegerRule, Mode, Qsl};
use crate::trace::{LoadableSet, PhasePlan, Picks};
use crate::traffic::PlanError;
use crate::world::World;

/// The reasons for which a test has no result.
#[derive(Debug, Error)]
pub enum TestError {
    /// The settings cannot be run.
    #[error("the settings cannot be run: {0}")]
    Plan(#[from] PlanError),
    /// The library could not load a set.
    #[error("the samples cannot be loaded: {0}")]
    Load(String),
    /// A series has no result.
    #[error(transparent)]
    Series(#[from] SeriesError),
}

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

/// A trial of a search: the step that wanted it, and its result. Its series has the same position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// The part of the search.
    pub part: Part,
    /// The highest value that had passed.
    pub lower: Option<Peak>,
    /// The lowest value that had failed.
    pub upper: Option<Peak>,
    /// The value that was tried.
    pub value: Peak,
    /// The rule on latencies was kept.
    pub passed: bool,
}

/// A search that was run.
#[derive(Debug, Default)]
pub struct SearchOutcome {
    /// All trials, in order.
    pub trials: Vec<Trial>,
    /// The bounds after widening; `None`: the requested value failed.
    pub boundaries: Option<(Peak, Peak)>,
    /// The highest value that passed.
    pub found: Option<Peak>,
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
#[derive(Debug, Default)]
pub struct TestOutcome {
    /// All series, in order.
    pub series: Vec<SeriesOutcome>,
    /// The errors of the log, in order.
    pub errors: Vec<String>,
    /// The search, if the test was one.
    pub search: Option<SearchOutcome>,
    /// The series that is reported; `None` in accuracy tests.
    pub reported: Option<Reported>,
}

/// Runs a test from the first load to the last unload.
///
/// # Errors
/// The settings cannot be run, a set cannot be loaded, or a series has no result.
pub fn run_test<W: World>(input: &TestInput, world: &mut W) -> Result<TestOutcome, TestError> {
    let mut outcome = TestOutcome::default();
    let effective = Effective::new(&input.settings, input.qsl, &mut outcome.errors)?;
    let settings = &input.settings;
    let picks = Picks::new(settings.accuracy_log_rng_seed, settings.accuracy_log_probability);
    let mut test = Test { input, world, picks, first: First::default(), loads: 0, outcome };
    if settings.mode.has_accuracy() {
        test.accuracy(&effective)?;
    }
    match settings.mode {
        Mode::FindPeakPerformance => test.find_peak(&effective)?,
        mode if mode.has_performance() => test.performance(&effective)?,
        _ => {}
    }
    Ok(test.outcome)
}

struct Test<'a, W: World> {
    input: &'a TestInput,
    world: &'a mut W,
    picks: Picks,
    first: First,
    loads: usize,
    outcome: TestOutcome,
}

impl<W: World> Test<'_, W> {
    fn accuracy(&mut self, effective: &Effective) -> Result<(), TestError> {
        for set in sets(effective, self.input.qsl, self.input.integers)? {
            self.loaded(&set, |test| test.series(effective, true, set.clone()))?;
        }
        Ok(())
    }

    fn performance(&mut self, effective: &Effective) -> Result<(), TestError> {
        let set = self.performance_set(effective)?;
        self.loaded(&set, |test| test.series(effective, false, set.clone()))?;
        self.report(self.outcome.series.len() - 1, |latencies| latencies.to_vec());
        Ok(())
    }

    /// Each base and widening trial loads a set of its own; halving keeps the one of the value that failed.
    fn find_peak(&mut self, effective: &Effective) -> Result<(), TestError> {
        let Some(mut search) = Search::new(effective) else {
            self.outcome.errors.push("FindPeakPerformance is not supported for this scenario.".to_owned());
            return Ok(());
        };
        let mut found = SearchOutcome::default();
        while let Step::Try { part: Part::Base | Part::Widen, value, .. } = search.next() {
            let effective = self.at(value)?;
            let set = self.performance_set(&effective)?;
            self.loaded(&set, |test| test.trial(&mut search, &mut found, &effective, set.clone()))?;
        }
        found.boundaries = search.bounds();
        if let Some((_, upper)) = found.boundaries {
            let set = self.performance_set(&self.at(upper)?)?;
            self.loaded(&set, |test| {
                while let Step::Try { value, .. } = search.next() {
                    let effective = test.at(value)?;
                    test.trial(&mut search, &mut found, &effective, set.clone())?;
                }
                Ok(())
            })?;
        }
        let best = match search.next() {
            Step::Found(value) => {
                found.found = Some(value);
                found.trials.iter().rposition(|trial| trial.value == value && trial.passed)
            }
            _ => {
                self.outcome.errors.push("FindPeakPerformance: The base settings fail.".to_owned());
                found.trials.len().checked_sub(1)
            }
        };
        self.outcome.search = Some(found);
        if let Some(best) = best {
            self.report(best, sorted);
        }
        Ok(())
    }

    fn trial(
        &mut self,
        search: &mut Search,
        found: &mut SearchOutcome,
        effective: &Effective,
        set: LoadableSet,
    ) -> Result<(), TestError> {
        let Step::Try { part, lower, upper, value } = search.next() else { return Ok(()) };
        self.series(effective, false, set)?;
        let measured = self.outcome.series.last().map(|series| Measured::new(effective, &series.run.record));
        let judgement = Judgement::new(effective, &measured.unwrap_or_default());
        let passed = judgement.latency.unwrap_or(true);
        found.trials.push(Trial { part, lower, upper, value, passed });
        search.answer(passed);
        Ok(())
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
    fn loaded(
        &mut self,
        set: &LoadableSet,
        work: impl FnOnce(&mut Self) -> Result<(), TestError>,
    ) -> Result<(), TestError> {
        self.world.load(&set.indices).map_err(TestError::Load)?;
        self.loads += 1;
        let done = work(self);
        self.world.unload(&set.indices);
        done
    }

    fn series(&mut self, effective: &Effective, is_accuracy: bool, set: LoadableSet) -> Result<(), TestError> {
        let phase = phase(effective, is_accuracy, set, self.input.integers, self.first)?;
        let run = run_series(effective, &phase, &mut self.picks, self.world)?;
        self.outcome.errors.extend(run.stop.error().map(str::to_owned));
        self.first = First { query: phase.end_query(), sample: phase.end_sample() };
        let effective = effective.clone();
        self.outcome.series.push(SeriesOutcome { effective, phase, loaded_set: self.loads - 1, run });
        Ok(())
    }

    fn report(&mut self, position: usize, order: impl FnOnce(&[u64]) -> Vec<u64>) {
        let Some(series) = self.outcome.series.get(position) else { return };
        let measured = Measured::new(&series.effective, &series.run.record);
        let judgement = Judgement::new(&series.effective, &measured);
        let latencies_ns = order(&measured.sample_latencies_ns);
        self.outcome.reported = Some(Reported { series: position, measured, judgement, latencies_ns });
    }
}
