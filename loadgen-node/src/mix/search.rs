//! The search of a mix: for one factor of all rates, or for the load of one tenant while the others keep theirs.

use std::time::Duration;

use anyhow::{Result, bail};

use super::checked::{CheckedMix, CheckedTenant};
use super::search_request::SearchRequest;
use loadgen::run::{DEFAULT_MAX_TRIALS, Precision, Search};
use loadgen::settings::Assignment;
use loadgen::traffic::Load;
use lon_run::test_run::find_peak::{PRECISION, TRIAL_SHARE};
use lon_run::test_run::{FindPeakSpec, Test};

/// Name of the load that is one factor for all rates.
pub(crate) const FACTOR: &str = "factor";

/// A search that is ready: where it begins, and how each of its runs is made.
pub(crate) struct MixSearch<'a> {
    mix: &'a CheckedMix,
    pub(crate) search: Search,
    pub(crate) most_trials: u64,
    trial_share: f64,
    /// The load of each tenant that the search changes, and its length.
    bases: Vec<Base>,
    /// The tenant whose load is searched for; `None`: one factor for all rates.
    pub(crate) tenant: Option<String>,
    /// The setting that is searched for, and its unit.
    pub(crate) setting: String,
    pub(crate) unit: String,
}

/// A tenant as the file has it.
struct Base {
    /// `None`: the search leaves it as it is.
    load: Option<Load>,
    min_duration_ms: u64,
    min_query_count: u64,
}

impl<'a> MixSearch<'a> {
    /// The search over this mix, whose tests are those of `tests`.
    ///
    /// # Errors
    /// No tenant has a load that can be searched for.
    pub(crate) fn new(mix: &'a CheckedMix, request: &SearchRequest, tests: &[Test]) -> Result<MixSearch<'a>> {
        let bases: Vec<Base> =
            tests.iter().enumerate().map(|(place, test)| Base::of(test, request.tenant, place)).collect();
        let first = bases.iter().find_map(|base| base.load);
        let (setting, unit, base, is_whole) = match (request.tenant, first) {
            (None, Some(_)) => (FACTOR.to_owned(), String::new(), 1.0, false),
            (Some(_), Some(load)) => (load.setting.to_owned(), load.unit.to_owned(), load.value, load.is_whole),
            (None, None) => bail!("no tenant has a rate: a search needs one in Server with a limit"),
            (Some(place), None) => {
                let name = &mix.tenants[place].name;
                bail!("tenant '{name}' has no load with a limit that a search could keep: Server and Burst have one")
            }
        };
        let FindPeakSpec { max_trials, precision, verifications, step_back, trial_share, .. } = request.spec;
        let (precision, verifications) = (precision.unwrap_or(PRECISION), verifications.unwrap_or(1));
        let search = Search::new(base, GROWTH, Precision::Share(precision), is_whole)
            .with_verifications(verifications, step_back.unwrap_or(precision));
        Ok(MixSearch {
            mix,
            search,
            most_trials: max_trials.unwrap_or(DEFAULT_MAX_TRIALS),
            trial_share: trial_share.unwrap_or(if verifications > 0 { TRIAL_SHARE } else { 1.0 }),
            bases,
            tenant: request.tenant.map(|place| mix.tenants[place].name.clone()),
            setting,
            unit,
        })
    }

    /// The tenants of a run at this load: a whole run, or a trial, which is shorter.
    pub(crate) fn tenants(&self, load: f64, is_whole_run: bool) -> Vec<CheckedTenant> {
        let share = if is_whole_run { 1.0 } else { self.trial_share };
        let pairs = self.mix.tenants.iter().zip(&self.bases);
        pairs.map(|(tenant, base)| base.tenant(tenant, self.setting != FACTOR, load, share)).collect()
    }
}

/// Share by which loads grow until one fails, as LoadGen's own setting has it.
const GROWTH: f64 = 1.0;

impl Base {
    fn of(test: &Test, tenant_place: Option<usize>, place: usize) -> Base {
        let (plan, effective) = (test.plan(), test.plan().effective());
        let is_meant = |load: &Load| match tenant_place {
            Some(tenant_place) => tenant_place == place,
            // A factor of whole numbers would change the shares between tenants.
            None => !load.is_whole,
        };
        Base {
            load: plan.load().filter(|load| load.has_limit && is_meant(load)),
            min_duration_ms: effective.settings.min_duration_ms,
            min_query_count: effective.min_query_count,
        }
    }

    fn tenant(&self, tenant: &CheckedTenant, is_absolute: bool, load: f64, share: f64) -> CheckedTenant {
        let mut spec = tenant.spec.clone();
        if let Some(Load { setting, value, .. }) = self.load {
            let value = if is_absolute { load } else { value * load };
            spec.settings.auto_value = Some(Assignment::of(setting, value.to_string()));
            spec.settings.auto_reason = "the search of the mix".to_owned();
        }
        let mut start = tenant.start;
        if share < 1.0 {
            let part = |all: u64| ((all as f64 * share) as u64).max(1);
            let (duration, count) = (part(self.min_duration_ms), part(self.min_query_count));
            let settings = [("min_duration", format!("{duration}ms")), ("min_query_count", count.to_string())];
            spec.settings.set.extend(settings.map(|(key, value)| Assignment::of(key, value)));
            spec.anyway = true;
            start = Duration::from_secs_f64(start.as_secs_f64() * share);
        }
        CheckedTenant { name: tenant.name.clone(), start, nodes: tenant.nodes.clone(), spec }
    }
}
