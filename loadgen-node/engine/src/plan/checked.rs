//! A plan: settings and library, checked, with the phases of the test.
//!
//! A [`Plan`] exists only if its run cannot crash or exhaust the engine; everything after this point relies on it.
//! No traffic is stored here: phases know how to generate theirs again ([`crate::trace`]).

use crate::effective::Effective;
use crate::mode::{Mode, Qsl};
use crate::scenarios::TestSettings;
use crate::settings::Profile;
use crate::trace::{Cut, LoadableSet, PhaseMode, PhasePlan, loadable_sets};
use crate::traffic::arrivals::DueTimes;
use crate::traffic::{Arrivals, Load, PlanError, arrivals_text};
use crate::world::{QuerySeq, SampleSeq};

/// Least and largest share by which a search for the peak may widen at once.
const MIN_STEP_SIZE: f64 = 1e-3;
const MAX_STEP_SIZE: f64 = 1e6;
/// Decimals that a rate can have.
const MAX_DECIMALS: i32 = 15;

/// The official warning of a run with an audit.config.
const AUDITED: &str = "Found Audit Config file (audit.config). Overriding TestSettings from audit.config file.";
/// The official warning of compliance test 05.
const TEST05: &str = "Test05 flag detected Overriding random seeds";

/// A test that can be run.
#[derive(Clone, Debug)]
pub struct Plan {
    effective: Effective,
    qsl: Qsl,
    profile: Profile,
    /// A file audit.config had its say.
    audited: bool,
    faults: Vec<String>,
    phases: Vec<PhasePlan>,
}

impl Plan {
    /// Checks settings against a library and works out what a test with them consists of, by the newest rules.
    ///
    /// # Errors
    /// The settings have no run, or one that would never end or not fit in memory.
    pub fn new(requested: TestSettings, qsl: Qsl) -> Result<Self, PlanError> {
        Self::with_profile(requested, qsl, Profile::NEWEST)
    }

    /// As [`Plan::new`], with traffic by the rules of another release.
    ///
    /// # Errors
    /// The same as for [`Plan::new`].
    pub fn with_profile(requested: TestSettings, qsl: Qsl, profile: Profile) -> Result<Self, PlanError> {
        Self::with_due_times(requested, qsl, profile, None)
    }

    /// As [`Plan::with_profile`], with the due times of the trace that the arrivals name.
    ///
    /// # Errors
    /// The same as for [`Plan::new`]; and the arrivals name a trace, and its due times are missing.
    pub fn with_due_times(
        requested: TestSettings,
        qsl: Qsl,
        profile: Profile,
        times: Option<DueTimes>,
    ) -> Result<Self, PlanError> {
        let mut plan = Self { profile, ..Self::for_judging(requested, qsl)? };
        plan.take_due_times(times)?;
        plan.check_library()?;
        plan.add_phases()?;
        Ok(plan)
    }

    fn take_due_times(&mut self, times: Option<DueTimes>) -> Result<(), PlanError> {
        let Arrivals::Listed(listed) = &self.effective.arrivals else { return Ok(()) };
        let Some(times) = times else { return Err(PlanError::NoTrace { file: listed.source.clone() }) };
        if times.due_ns.is_empty() {
            return Err(PlanError::EmptyLibrary { count: "the number of queries in the trace" });
        }
        self.effective.set_due_times(times);
        Ok(())
    }

    /// The effective settings alone: enough to judge results, without generating anything.
    ///
    /// # Errors
    /// A value is outside its range.
    pub fn for_judging(requested: TestSettings, qsl: Qsl) -> Result<Self, PlanError> {
        let (effective, faults) = Effective::of(requested, qsl)?;
        Ok(Self { effective, qsl, profile: Profile::NEWEST, audited: false, faults, phases: Vec::new() })
    }

    /// The plan of a test that another engine of this crate leads, with the values and phases that it has worked out.
    pub(crate) fn with_values(
        self,
        effective: Effective,
        profile: Profile,
        faults: Vec<String>,
        phases: Vec<PhasePlan>,
    ) -> Self {
        Self { effective, profile, faults, phases, ..self }
    }

    /// The requested settings, with compliance test 05 applied.
    pub fn requested(&self) -> &TestSettings {
        &self.effective.settings
    }

    /// The effective settings.
    pub fn effective(&self) -> &Effective {
        &self.effective
    }

    /// The sizes that the library reported.
    pub fn qsl(&self) -> Qsl {
        self.qsl
    }

    /// The release by whose rules traffic is generated.
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// Notes that a file audit.config was among the sources of the settings, of which the logs warn.
    pub fn audited(self) -> Self {
        Self { audited: true, ..self }
    }

    /// Returns the warnings that the logs have before the settings (`warning_generic_message`), in the official words.
    pub fn warnings(&self) -> Vec<&'static str> {
        let warnings = [(self.audited, AUDITED), (self.requested().test05, TEST05)];
        warnings.into_iter().filter(|(applies, _)| *applies).map(|(_, text)| text).collect()
    }

    /// Objections that do not stop a test but are logged as errors (`error_invalid_test_settings`).
    pub fn faults(&self) -> &[String] {
        &self.faults
    }

    /// Describes the requested settings that this engine treats in another way, as a sentence for the user.
    pub fn unsupported(&self) -> Option<String> {
        self.effective.scenario.traffic().without_effect(self.requested())
    }

    /// The text of the arrival process: as it was set, or the name of the one that the scenario has.
    pub fn arrivals_text(&self) -> String {
        let text = arrivals_text(self.requested());
        text.unwrap_or_else(|| self.effective.arrivals.name()).to_owned()
    }

    /// The phases, in order: accuracy, one per loadable set, then performance.
    pub fn phases(&self) -> &[PhasePlan] {
        &self.phases
    }

    fn check_library(&self) -> Result<(), PlanError> {
        let empty = |count| Err(PlanError::EmptyLibrary { count });
        if self.qsl.total == 0 {
            return empty("the total sample count");
        }
        if self.qsl.total >= u64::from(u32::MAX) {
            return Err(PlanError::value("qsl.total", &self.qsl.total, "at most 4294967294 samples"));
        }
        if self.effective.mode.has_performance() && self.effective.performance_sample_count == 0 {
            return empty("the performance sample count");
        }
        Ok(())
    }

    fn add_phases(&mut self) -> Result<(), PlanError> {
        let mode = self.effective.mode;
        if mode == Mode::FindPeakPerformance {
            self.check_search()?;
        }
        if mode.has_accuracy() {
            for set in self.sets(self.effective.accuracy_sample_count) {
                self.add_phase(PhaseMode::AccuracyOnly, set)?;
            }
        }
        if mode.has_performance() {
            let sets = self.sets(self.effective.performance_sample_count);
            for set in sets.into_iter().take(1) {
                self.add_phase(PhaseMode::PerformanceOnly, set)?;
            }
        }
        Ok(())
    }

    /// The load that a search for the peak turns, where the settings have one.
    pub fn load(&self) -> Option<Load> {
        self.effective.scenario.traffic().load(self.requested())
    }

    /// The same test with another load, alone, with ids from the given ones on: a trial of a search for the peak. It
    /// has a share of the least duration and of the least number of queries.
    pub(crate) fn at_load(
        &self,
        value: f64,
        share: f64,
        query: QuerySeq,
        sample: SampleSeq,
    ) -> Result<Self, PlanError> {
        let mut requested = self.effective.scenario.traffic().at_load(self.requested(), value);
        if share < 1.0 {
            requested.min_duration_ms = (requested.min_duration_ms as f64 * share) as u64;
            requested.min_query_count = ((requested.min_query_count as f64 * share) as u64).max(1);
        }
        let mut plan = Self { profile: self.profile, ..Self::for_judging(requested, self.qsl)? };
        let padding = plan.padding();
        for phase in &self.phases {
            let (set, integers) = (phase.set.with_padding(padding), self.profile.integers);
            plan.phases.push(PhasePlan::new(&plan.effective, phase.mode, set, integers, query, sample)?);
        }
        Ok(plan)
    }

    /// A search for the peak has a scenario with rates, and numbers that let it end.
    fn check_search(&self) -> Result<(), PlanError> {
        let scenario = self.effective.scenario;
        if self.load().is_none() {
            return Err(PlanError::no_peak(scenario.name(), scenario.traffic().expected()));
        }
        let step_size = self.requested().server_find_peak_qps_boundary_step_size;
        if !(MIN_STEP_SIZE..=MAX_STEP_SIZE).contains(&step_size) {
            let name = "server_find_peak_qps_boundary_step_size";
            return Err(PlanError::value(name, &step_size, "a share from 0.001 to 1000000"));
        }
        let decimals = self.requested().server_find_peak_qps_decimals_of_precision;
        if !(0..=MAX_DECIMALS).contains(&decimals) {
            let name = "server_find_peak_qps_decimals_of_precision";
            return Err(PlanError::value(name, &decimals, "from 0 to 15"));
        }
        Ok(())
    }

    fn add_phase(&mut self, mode: PhaseMode, set: LoadableSet) -> Result<(), PlanError> {
        let (query, sample) = match self.phases.last() {
            Some(last) => (last.end_query(), last.end_sample()),
            None => (QuerySeq(0), SampleSeq(0)),
        };
        self.phases.push(PhasePlan::new(&self.effective, mode, set, self.profile.integers, query, sample)?);
        Ok(())
    }

    /// Entries by which each set is longer than its samples.
    fn padding(&self) -> u64 {
        self.effective.shape.layout.set_padding(self.effective.samples_per_query)
    }

    fn sets(&self, count: u64) -> Vec<LoadableSet> {
        loadable_sets(Cut {
            count,
            total: self.qsl.total as u32,
            per_set: self.effective.performance_sample_count,
            padding: self.padding(),
            seed: self.effective.settings.qsl_rng_seed,
            profile: self.profile,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenarios::Scenario;

    const QSL: Qsl = Qsl { total: 100, performance: 40 };

    fn with(scenario: Scenario, change: impl FnOnce(&mut TestSettings)) -> TestSettings {
        let mut settings = TestSettings { scenario, min_duration_ms: 0, ..TestSettings::default() };
        change(&mut settings);
        settings
    }

    fn error_of(settings: TestSettings, qsl: Qsl) -> String {
        Plan::new(settings, qsl).map(|_| ()).unwrap_err().to_string()
    }

    #[test]
    fn what_crashes_or_exhausts_the_official_one_is_an_error() {
        const SERVER: Scenario = Scenario::SERVER;
        const SINGLE_STREAM: Scenario = Scenario::SINGLE_STREAM;
        const MULTI_STREAM: Scenario = Scenario::MULTI_STREAM;
        const OFFLINE: Scenario = Scenario::OFFLINE;
        let cases: [(TestSettings, &str); 12] = [
            (with(SERVER, |s| s.min_query_count = 0), "nothing to issue"),
            (with(SERVER, |s| s.server_target_qps = 0.0), "server_target_qps"),
            (with(SERVER, |s| s.server_target_qps = f64::INFINITY), "server_target_qps"),
            (with(SINGLE_STREAM, |s| s.single_stream_expected_latency_ns = 0.0), "single_stream_expected_latency_ns"),
            (with(MULTI_STREAM, |s| s.multi_stream_samples_per_query = 0), "multi_stream_samples_per_query"),
            (with(OFFLINE, |s| s.min_query_count = 0), "nothing to issue"),
            (with(OFFLINE, |s| s.offline_expected_qps = 0.0), "offline_expected_qps"),
            (
                with(MULTI_STREAM, |s| {
                    s.performance_issue_unique = true;
                    s.sample_concatenate_permutation = true;
                }),
                "performance_issue_unique",
            ),
            (
                with(SERVER, |s| {
                    s.performance_issue_same = true;
                    s.performance_issue_same_index = 40;
                }),
                "performance_issue_same_index",
            ),
            (
                with(OFFLINE, |s| s.mode = Mode::FindPeakPerformance),
                "FindPeakPerformance is not available for Offline: all its samples are due at once, so PerformanceOnly \
                 measures the highest rate already",
            ),
            (
                with(SINGLE_STREAM, |s| s.mode = Mode::FindPeakPerformance),
                "FindPeakPerformance is not available for SingleStream: its queries wait for answers",
            ),
            (
                with(SERVER, |s| {
                    s.mode = Mode::FindPeakPerformance;
                    s.server_find_peak_qps_boundary_step_size = 0.0;
                }),
                "boundary_step_size",
            ),
        ];
        for (settings, named) in cases {
            let text = error_of(settings, QSL);
            assert!(text.contains(named), "{named}: {text}");
        }
    }

    #[test]
    fn empty_libraries_are_errors_in_every_mode() {
        let empty = Qsl { total: 0, performance: 0 };
        assert!(error_of(with(Scenario::SERVER, |s| s.mode = Mode::AccuracyOnly), empty).contains("total"));
        let none_fit = Qsl { total: 5, performance: 0 };
        assert!(error_of(with(Scenario::SERVER, |_| ()), none_fit).contains("performance sample count"));
    }

    #[test]
    fn endless_generation_is_an_error() {
        let text = error_of(
            with(Scenario::SERVER, |s| {
                s.server_target_qps = 1e12;
                s.min_duration_ms = 600_000;
            }),
            QSL,
        );
        assert!(text.contains("more than"), "{text}");
    }

    #[test]
    fn a_negative_rate_becomes_one_and_is_logged() {
        let plan = Plan::new(with(Scenario::SERVER, |s| s.server_target_qps = -3.0), QSL).unwrap();
        assert_eq!(plan.effective().target_qps, 1.0);
        assert_eq!(plan.faults(), ["Invalid value for server_target_qps requested. requested: -3 using: 1"]);
    }

    #[test]
    fn issuing_threads_have_no_effect_and_say_so() {
        let plan = |scenario, threads| {
            Plan::new(with(scenario, |s| s.server_num_issue_query_threads = threads), QSL).unwrap().unsupported()
        };
        assert!(plan(Scenario::SERVER, 4).is_some_and(|text| text.contains("server_num_issue_query_threads = 4")));
        assert_eq!((plan(Scenario::SERVER, 1), plan(Scenario::OFFLINE, 4)), (None, None));
    }

    #[test]
    fn audits_are_warned_of_before_test_05() {
        let plan = |test05| Plan::new(with(Scenario::SERVER, |s| s.test05 = test05), QSL).unwrap();
        assert!(plan(false).warnings().is_empty());
        assert_eq!(plan(false).audited().warnings(), [AUDITED]);
        assert_eq!(plan(true).audited().warnings(), [AUDITED, TEST05]);
    }

    #[test]
    fn ids_count_on_over_phases() {
        let plan = Plan::new(with(Scenario::SERVER, |s| s.mode = Mode::SubmissionRun), QSL).unwrap();
        let firsts: Vec<u64> = plan.phases().iter().map(|phase| phase.first_sample.0).collect();
        assert_eq!(firsts, [0, 40, 80, 100]);
    }
}
