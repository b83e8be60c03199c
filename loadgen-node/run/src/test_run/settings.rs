//! The settings of a test: what benchmark, round, config files and caller say, laid over each other.

use std::path::Path;

use anyhow::{Context as _, anyhow};
use lon_proto::files;
use lon_qsl::Preprocess;
use lon_qsl::benchmark::Benchmark;

use super::arrivals;
use super::spec::{Codecs, SettingsSpec, TestSpec};
use crate::division::{AccuracyRun, Data, Planned, Settings};
use crate::exit::{Exit, OrExit as _, Outcome};
use loadgen::conf::keys::Owner;
use loadgen::conf::origin::{File, FileError, Origin, Sourced, Strictness};
use loadgen::conf::rules::{RULES, Rules};
use loadgen::plan::{Plan, PlanError, predict};
use loadgen::settings::{Assigned, Assignment, IntegerRule, Mode, Profile, Qsl, Scenario};
use loadgen::traffic::arrivals::DueTimes;
use loadgen::v05::{self, test::TestInput};

/// The benchmark and scenario of the settings.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The benchmark's name in config files.
    pub model: &'a str,
    /// Settings that are known of the benchmark, as `[SCENARIO.]KEY=VALUE`.
    pub benchmark_settings: &'a [&'a str],
    /// The scenario, which decides which settings apply.
    pub scenario: Scenario,
}

impl Subject<'_> {
    /// The subject of a test.
    pub(crate) fn of(spec: &TestSpec) -> Subject<'_> {
        let Benchmark { name, settings, .. } = spec.benchmark;
        Subject { model: name, benchmark_settings: settings, scenario: spec.scenario }
    }
}

/// Settings with the origin of each, and the round that they follow.
pub struct Layered {
    /// Each setting with its origin.
    pub sourced: Sourced,
    /// The round that they follow.
    pub rules: &'static Rules,
    /// By which release's rules traffic is generated.
    pub profile: Profile,
    /// The round gives its seeds alone, as it does for a benchmark of our own where no round was asked for.
    pub is_seeds_only: bool,
    /// An audit.config was read.
    pub audited: bool,
    /// Due times of the trace that the arrivals name.
    due_times: Option<DueTimes>,
    /// The settings of a test of round v0.5, which `sourced` has by the names of today.
    pub v05: Option<v05::origin::Sourced>,
}

/// A test as the rules of the Network division see it before any node is asked.
#[derive(Clone, Debug)]
pub struct Beforehand<'a> {
    /// The benchmark whose samples are sent.
    pub benchmark: &'static Benchmark,
    /// The scenario of the test.
    pub scenario: Scenario,
    /// The codecs of samples and answers.
    pub codecs: Codecs,
    /// The preprocessing that the caller asks for.
    pub preprocess: Option<&'a Preprocess>,
    /// Why nodes of this kind have no counters, see [`Planned`].
    pub no_counters: Option<&'static str>,
    /// The accuracy run that belongs to this one.
    pub accuracy_run: Option<AccuracyRun>,
}

impl<'a> From<&'a TestSpec> for Beforehand<'a> {
    fn from(spec: &'a TestSpec) -> Beforehand<'a> {
        Beforehand {
            benchmark: spec.benchmark,
            scenario: spec.scenario,
            codecs: spec.codecs,
            preprocess: spec.data.preprocess.as_ref(),
            no_counters: spec.target.kind().no_counters,
            accuracy_run: spec.accuracy_run.clone(),
        }
    }
}

impl Layered {
    /// The settings of a test, with the due times of its trace.
    ///
    /// # Errors
    /// The settings cannot be read (exit code 2).
    pub(crate) fn of_test(spec: &TestSpec) -> Outcome<Layered> {
        layer(Subject::of(spec), &spec.settings)?.with_due_times()
    }

    /// The plan against which the rules of the Network division are checked, as far as it is known before the nodes
    /// are.
    pub fn planned(&self, test: Beforehand<'_>, data: Option<Data>, plan: Option<&Plan>) -> Planned {
        let Beforehand { benchmark, scenario, codecs, preprocess, no_counters, accuracy_run } = test;
        Planned {
            benchmark,
            scenario,
            mode: self.sourced.settings().mode,
            round: self.rules.round.name,
            settings: Settings::of(&self.sourced, self.rules, benchmark.name),
            samples_per_query: plan.map(|plan| plan.effective().samples_per_query),
            data,
            codec: codecs.samples,
            response_codec: codecs.answers,
            no_counters,
            preprocess: preprocess.or(benchmark.preprocess()).map(ToString::to_string),
            accuracy_run,
        }
    }

    /// Returns true when LoadGen's decimals of a search for the peak are set.
    pub(crate) fn sets_decimals(&self) -> bool {
        *self.sourced.origin("server_find_peak_qps_decimals_of_precision") != Origin::Default
    }

    /// Reads the trace that the arrivals name, where they name one.
    ///
    /// # Errors
    /// The file cannot be read, or is no trace.
    pub fn with_due_times(mut self) -> Outcome<Layered> {
        self.due_times = arrivals::due_times(self.sourced.settings())?;
        Ok(self)
    }

    /// The test that these settings come to with a library.
    ///
    /// # Errors
    /// The settings cannot be run.
    pub fn plan(&self, qsl: Qsl) -> Result<Plan, PlanError> {
        if let Some(input) = self.v05(qsl) {
            return v05::later_records::plan(&input);
        }
        let (settings, times) = (self.sourced.settings().clone(), self.due_times.clone());
        let plan = Plan::with_due_times(settings, qsl, self.profile, times)?;
        Ok(if self.audited { plan.audited() } else { plan })
    }

    /// The same as a test of round v0.5; none of another round.
    pub(crate) fn v05(&self, qsl: Qsl) -> Option<TestInput> {
        let settings = self.v05.as_ref()?.settings().clone();
        Some(TestInput { settings, qsl, integers: self.profile.integers })
    }
}

/// Lays the sources over each other, in the order that [`Sourced`] explains. Reads the config files.
///
/// A round's wildcards would give every benchmark of ours the ten minutes of a submission, so its settings apply to
/// the benchmarks of MLPerf and to callers that ask for a round; the others take its seeds.
pub fn layer(subject: Subject<'_>, spec: &SettingsSpec) -> Outcome<Layered> {
    let Subject { model, benchmark_settings, scenario } = subject;
    let rules = spec.rules.unwrap_or_else(Rules::newest);
    if rules.is_v0_5() {
        return layer_v0_5(subject, spec, rules);
    }
    let mut sourced = Sourced::new(model, scenario).with_benchmarks(known_names());
    let is_seeds_only = spec.rules.is_none() && !rules.knows(model);
    match is_seeds_only {
        false => sourced.apply_round(rules),
        true => sourced.apply_seeds(rules),
    }
    for text in benchmark_settings {
        let origin = Origin::Benchmark(model.to_owned());
        let assignment = text.parse().and_then(|assignment| sourced.assign(&assignment, &origin));
        assignment.with_context(|| format!("benchmark {model}")).or_exit(Exit::Bug)?;
    }
    let apply = |path: Option<&Path>, owner, sourced: &mut Sourced| {
        with_file(path, owner, spec.strict_conf, |file, strictness| sourced.apply_file(file, strictness))
    };
    apply(spec.mlperf_conf.as_deref(), Owner::Official, &mut sourced)?;
    apply(spec.user_conf.as_deref(), Owner::User, &mut sourced)?;
    if let Some(mode) = spec.mode {
        sourced.set_mode(mode);
    }
    for assignment in &spec.set {
        let origin = Origin::Flag(format!("--set {assignment}"));
        if sourced.assign(assignment, &origin).context("--set").or_exit(Exit::Usage)? == Assigned::Nothing {
            tracing::debug!(%assignment, "--set changes nothing in this scenario");
        }
    }
    offset_seeds(&mut sourced, spec.seed_offset)?;
    if let Some(text) = &spec.arrivals {
        if !scenario.traffic().keys().iter().any(|key| key.name == "arrivals") {
            let name = scenario.name();
            let message = format!("{name} has no arrival process: --arrivals is for Server");
            return Err(anyhow!(message)).or_exit(Exit::Usage);
        }
        let assignment = Assignment::of("arrivals", arrivals::resolved(text)?);
        let origin = Origin::Flag(format!("--arrivals {text}"));
        sourced.assign(&assignment, &origin).context("--arrivals").or_exit(Exit::Usage)?;
    }
    if let Some(assignment) = &spec.auto_value {
        sourced.assign(assignment, &Origin::Found).or_exit(Exit::Bug)?;
    }
    apply(spec.audit_conf.as_deref(), Owner::Audit, &mut sourced)?;
    let profile = profile(rules, spec.integers);
    let audited = spec.audit_conf.is_some();
    Ok(Layered { sourced, rules, profile, is_seeds_only, audited, due_times: None, v05: None })
}

/// Adds to the seeds of the round. Seeds that the caller sets stay as they are.
fn offset_seeds(sourced: &mut Sourced, offset: u64) -> Outcome<()> {
    let settings = sourced.settings();
    let seeds = [
        ("qsl_rng_seed", settings.qsl_rng_seed),
        ("sample_index_rng_seed", settings.sample_index_rng_seed),
        ("schedule_rng_seed", settings.schedule_rng_seed),
    ];
    for (key, seed) in seeds {
        if offset == 0 || matches!(sourced.origin(key), Origin::Flag(_)) {
            continue;
        }
        let assignment = Assignment::of(key, seed.wrapping_add(offset).to_string());
        let origin = Origin::Flag(format!("--mix: tenant {}", offset + 1));
        sourced.assign(&assignment, &origin).or_exit(Exit::Bug)?;
    }
    Ok(())
}

/// The same for round v0.5, by the keys of its config files. Facts about a benchmark are taken as far as the round has
/// the key, and numbers are never looked for.
fn layer_v0_5(subject: Subject<'_>, spec: &SettingsSpec, rules: &'static Rules) -> Outcome<Layered> {
    let Subject { model, benchmark_settings, scenario } = subject;
    let scenario = v05::scenario::Scenario::from_name(scenario.name());
    let scenario = scenario.context("round v0.5 has no such scenario").or_exit(Exit::Usage)?;
    let mut sourced = v05::origin::Sourced::new(model, scenario);
    sourced.apply_round();
    for assignment in benchmark_settings.iter().filter_map(|text| text.parse::<Assignment>().ok()) {
        let has_key = v05::conf::field(&assignment.key, scenario).is_some();
        if has_key && !assignment.is_auto() {
            let assigned = sourced.assign(&assignment, &Origin::Benchmark(model.to_owned()));
            assigned.with_context(|| format!("benchmark {model}")).or_exit(Exit::Bug)?;
        }
    }
    let apply = |path: Option<&Path>, owner, sourced: &mut v05::origin::Sourced| {
        with_file(path, owner, spec.strict_conf, |file, strictness| sourced.apply_file(file, strictness))
    };
    apply(spec.mlperf_conf.as_deref(), Owner::Official, &mut sourced)?;
    apply(spec.user_conf.as_deref(), Owner::User, &mut sourced)?;
    if let Some(mode) = spec.mode {
        sourced.set_mode(mode);
    }
    for assignment in &spec.set {
        let origin = Origin::Flag(format!("--set {assignment}"));
        sourced.assign(assignment, &origin).context("--set").or_exit(Exit::Usage)?;
    }
    apply(spec.audit_conf.as_deref(), Owner::Audit, &mut sourced)?;
    let (translation, profile) = (sourced.later_record(), profile(rules, spec.integers));
    let (is_seeds_only, audited) = (false, false);
    Ok(Layered { sourced: translation, rules, profile, is_seeds_only, audited, due_times: None, v05: Some(sourced) })
}

/// The rules by which traffic is generated: those of the round, with another one for integers where that is asked for.
pub fn profile(rules: &Rules, integers: Option<IntegerRule>) -> Profile {
    Profile { integers: integers.unwrap_or(rules.profile.integers), ..rules.profile }
}

/// The names that lines of config files can have: benchmarks of all rounds, and those of this program.
fn known_names() -> Vec<String> {
    let own = Benchmark::all().iter().map(|benchmark| benchmark.name.to_owned());
    let mut names: Vec<String> = RULES.iter().flat_map(Rules::models).chain(own).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The doubts about a run with these settings, in words: what is odd, and what keeps its result from becoming VALID.
pub fn doubts(layered: &Layered, plan: &Plan, extended: bool) -> Vec<String> {
    let mut doubts = plan.faults().to_vec();
    doubts.extend(default_rate(layered, plan).map(str::to_owned));
    doubts.extend(plan.unsupported());
    match to_find(&layered.sourced) {
        None => {
            let doubt_of = |obstacle| format!("the run cannot become VALID: {obstacle}");
            doubts.extend(predict::obstacles(plan, extended).into_iter().map(doubt_of));
        }
        Some(field) => doubts
            .push(format!("{field} is auto: a run finds it first, so that the size of the run is not known before")),
    }
    doubts
}

/// The doubt about a rate that neither file nor flag gives.
pub(crate) fn default_rate(layered: &Layered, plan: &Plan) -> Option<&'static str> {
    let is_asked = plan.load().is_some_and(|load| load.setting == "target_qps" && load.value == 1.0);
    let is_default = layered.v05.is_none() && *layered.sourced.origin("server_target_qps") == Origin::Default;
    (is_asked && is_default && plan.effective().mode.has_performance())
        .then_some("target_qps is LoadGen's default, 1: give a rate with --set target_qps=N, or --set target_qps=auto")
}

/// The field that a look at the nodes is to find, in modes in which it matters.
pub fn to_find(sourced: &Sourced) -> Option<&'static str> {
    let mode = sourced.settings().mode;
    let matters = mode.has_performance() && mode != Mode::FindPeakPerformance;
    sourced.to_find().next().filter(|_| matters)
}

/// Reads a config file, where one is given, and applies it.
fn with_file(
    path: Option<&Path>,
    owner: Owner,
    strict: bool,
    apply: impl FnOnce(File<'_>, Strictness) -> Result<(), FileError>,
) -> Outcome<()> {
    let Some(path) = path else { return Ok(()) };
    let name = path.display().to_string();
    let bytes = files::user_file(path).with_context(|| format!("cannot read {name}")).or_exit(Exit::Usage)?;
    // Comments may be in any encoding; keys and values are ASCII.
    let text = String::from_utf8_lossy(&bytes);
    let strictness = if strict { Strictness::Refuse } else { Strictness::Warn };
    apply(File { name: &name, owner, text: &text }, strictness).or_exit(Exit::Usage)
}
