//! The settings of a test: what benchmark, round, config files and caller say, laid over each other.

use std::path::Path;

use anyhow::Context as _;
use lon_proto::files;

use super::spec::SettingsSpec;
use crate::exit::{Exit, OrExit as _, Outcome};
use loadgen::conf::keys::Owner;
use loadgen::conf::origin::{File, Origin, Sourced, Strictness};
use loadgen::conf::rules::Rules;
use loadgen::plan::{Plan, PlanError};
use loadgen::settings::{Assigned, IntegerRule, Mode, Profile, Qsl, Scenario};

/// The benchmark and scenario of the settings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject<'a> {
    /// The benchmark's name in config files.
    pub(crate) model: &'a str,
    /// Settings that are known of the benchmark, as `[SCENARIO.]KEY=VALUE`.
    pub(crate) known: &'a [&'a str],
    /// The scenario, which decides which settings apply.
    pub(crate) scenario: Scenario,
}

/// Settings with the origin of each, and the round that they follow.
pub(crate) struct Layered {
    pub(crate) sourced: Sourced,
    pub(crate) rules: &'static Rules,
    /// By which release's rules traffic is generated.
    pub(crate) profile: Profile,
    /// An audit.config was read.
    pub(crate) audited: bool,
}

impl Layered {
    /// The test that these settings come to with a library.
    ///
    /// # Errors
    /// The settings cannot be run.
    pub(crate) fn plan(&self, qsl: Qsl) -> Result<Plan, PlanError> {
        let plan = Plan::with_profile(self.sourced.settings().clone(), qsl, self.profile)?;
        Ok(if self.audited { plan.audited() } else { plan })
    }
}

/// Lays the sources over each other, in the order that [`Sourced`] explains. Reads the config files.
///
/// A round's wildcards would give every benchmark of ours the ten minutes of a submission, so its settings apply to
/// the benchmarks of MLPerf and to callers that ask for a round; the others take its seeds.
pub(crate) fn layer(subject: Subject<'_>, spec: &SettingsSpec) -> Outcome<Layered> {
    let Subject { model, known, scenario } = subject;
    let rules = spec.rules.unwrap_or_else(Rules::newest);
    let mut sourced = Sourced::new(model, scenario);
    if spec.rules.is_some() || rules.knows(model) {
        sourced.apply_round(rules);
    } else {
        sourced.apply_seeds(rules);
    }
    for text in known {
        let origin = Origin::Benchmark(model.to_owned());
        let assignment = text.parse().and_then(|assignment| sourced.assign(&assignment, &origin));
        assignment.with_context(|| format!("benchmark {model}")).or_exit(Exit::Bug)?;
    }
    apply_file(&mut sourced, spec.mlperf_conf.as_deref(), Owner::Official, spec.strict_conf)?;
    apply_file(&mut sourced, spec.user_conf.as_deref(), Owner::User, spec.strict_conf)?;
    if let Some(mode) = spec.mode {
        sourced.set_mode(mode);
    }
    for assignment in &spec.set {
        let origin = Origin::Flag(format!("--set {assignment}"));
        if sourced.assign(assignment, &origin).context("--set").or_exit(Exit::Usage)? == Assigned::Nothing {
            tracing::debug!(%assignment, "--set changes nothing in this scenario");
        }
    }
    if let Some(found) = &spec.found {
        sourced.assign(found, &Origin::Found).or_exit(Exit::Bug)?;
    }
    apply_file(&mut sourced, spec.audit_conf.as_deref(), Owner::Audit, spec.strict_conf)?;
    let profile = profile(rules, spec.integers);
    Ok(Layered { sourced, rules, profile, audited: spec.audit_conf.is_some() })
}

/// The rules by which traffic is generated: those of the round, with another one for integers where that is asked for.
pub(crate) fn profile(rules: &Rules, integers: Option<IntegerRule>) -> Profile {
    Profile { integers: integers.unwrap_or(rules.profile.integers), ..rules.profile }
}

/// The field that a look at the nodes is to find, in modes in which it matters.
pub(crate) fn to_find(sourced: &Sourced) -> Option<&'static str> {
    let mode = sourced.settings().mode;
    let matters = mode.has_performance() && mode != Mode::FindPeakPerformance;
    sourced.to_find().next().filter(|_| matters)
}

fn apply_file(sourced: &mut Sourced, path: Option<&Path>, owner: Owner, strict: bool) -> Outcome<()> {
    let Some(path) = path else { return Ok(()) };
    let name = path.display().to_string();
    let bytes = files::given(path).with_context(|| format!("cannot read {name}")).or_exit(Exit::Usage)?;
    // Comments may be in any encoding; keys and values are ASCII.
    let text = String::from_utf8_lossy(&bytes);
    let strictness = if strict { Strictness::Refuse } else { Strictness::Warn };
    sourced.apply_file(File { name: &name, owner, text: &text }, strictness).or_exit(Exit::Usage)
}
