//! The request for a search of a mix, as the flags have it.

use anyhow::{Context as _, Result, bail};

use lon_run::test_run::FindPeakSpec;

/// The request for a search.
#[derive(Clone, Debug)]
pub(crate) struct SearchRequest {
    /// The tenant whose load is searched for, by its place; `None`: one factor for all rates.
    pub(super) tenant: Option<usize>,
    pub(super) spec: FindPeakSpec,
}

impl SearchRequest {
    /// The search that these flags ask for.
    ///
    /// # Errors
    /// A flag that is for the search of one test.
    pub(super) fn new(spec: &FindPeakSpec, names: &[&str]) -> Result<SearchRequest> {
        let FindPeakSpec { resume, by_decimals, goals, give_up_early, .. } = spec;
        let of_one_test = [
            ("--find-peak-resume", resume.is_some()),
            ("--find-peak-precision decimals", *by_decimals),
            ("--find-peak-goal", !goals.is_empty()),
            ("--find-peak-give-up", *give_up_early),
        ];
        if let Some((flag, _)) = of_one_test.into_iter().find(|(_, is_given)| *is_given) {
            bail!("{flag} is for the search of one test: leave it out with --mix");
        }
        let place = |name: &String| {
            let message = || format!("--find-peak-tenant {name}: the mix has {}", names.join(", "));
            names.iter().position(|other| other == name).with_context(message)
        };
        Ok(SearchRequest { tenant: spec.tenant.as_ref().map(place).transpose()?, spec: spec.clone() })
    }
}
