//! One benchmark and scenario of a system: where its files are, and what the round holds of it.

use std::path::PathBuf;

use loadgen::conf::rules::Rules;
use loadgen::settings::Scenario;
use lon_qsl::benchmark::{Benchmark, Official};

use super::super::inferred;
use super::super::kind::Kind;
use super::super::layout::Layout;
use crate::audit::Detail;
use crate::division::Division;
use crate::outputs::audit_folder::{ACCURACY, PERFORMANCE};

/// A benchmark and a scenario of a system.
pub(super) struct Place {
    pub(super) layout: Layout,
    pub(super) division: Division,
    pub(super) rules: &'static Rules,
    /// The name of its folder.
    pub(super) folder: String,
    pub(super) benchmark: &'static Benchmark,
    pub(super) official: &'static Official,
    pub(super) scenario: Scenario,
    /// Whether the system is one of the edge suite, in which results may follow from runs of other scenarios.
    pub(super) is_edge: bool,
    /// Whether performance runs were shortened and the dataset may be a small one, as the tree says.
    pub(super) is_rehearsal: bool,
}

impl Place {
    /// What the round holds of the benchmark with this folder, and our benchmark for it.
    pub(super) fn benchmark(folder: &str, round: &str) -> Option<(&'static Official, &'static Benchmark)> {
        let checker = if folder == "resnet50" { "resnet" } else { folder };
        let official = Official::named(checker, round)?;
        Some((official, Benchmark::find(official.benchmark()).ok()?))
    }

    /// The scenario of a run here: that of the folder, unless its result may follow from a run of another.
    pub(super) fn scenario_of(&self, detail: &Detail) -> Scenario {
        let name = detail.text("effective_scenario").unwrap_or_default();
        let logged = Scenario::ALL.into_iter().find(|known| known.name() == name);
        let other = logged.filter(|logged| self.is_edge && inferred::is_allowed(self.scenario, *logged));
        other.unwrap_or(self.scenario)
    }

    /// The folder with the logs of a run.
    pub(super) fn logs(&self, kind: Kind) -> PathBuf {
        let results = self.layout.results(&self.folder, self.scenario);
        match kind {
            Kind::Accuracy => results.join(ACCURACY),
            Kind::Performance => results.join(PERFORMANCE),
            Kind::Compliance(test) => self.test(test.name()).join(PERFORMANCE),
        }
    }

    /// The folder of a compliance test.
    pub(super) fn test(&self, name: &str) -> PathBuf {
        self.layout.compliance(&self.folder, self.scenario).join(name)
    }

    /// The compliance tests that a submission must have.
    pub(super) fn tests(&self) -> Vec<&'static str> {
        match self.division {
            Division::Network => self.official.compliance_tests(self.rules.round.name),
            Division::Open => Vec::new(),
        }
    }
}
