//! The Network division: what its rules ask of a run, rule by rule, with what is known of the run. Pure: facts in,
//! findings out.
//!
//! `network` refuses a run that breaks a rule before it starts, and makes it INVALID where the rule is found broken
//! afterwards. `none` runs everything; then every output says what a Network result would not have had. It is not
//! MLPerf's Open division, which has rules of its own. Either way nothing here makes a result official.
//!
//! | file | what it has |
//! |---|---|
//! | `rule` | what a rule is, and what is found of it |
//! | `facts` | what is planned, what the nodes say, what the run has shown |
//! | `rules` | all rules, in the order of the sections of the rules |
//! | `findings` | the findings on all rules, and the words for them |
//! | `settings` | durations, counts, limits, seeds |
//! | `dataset` | what is sent |
//! | `accuracy` | scores and the runs that they are from |
//! | `suite` | scenario, benchmark and round |
//! | `generation` | how models generate answers |
//! | `identity` | what an engine and a model are known by |
//! | `one_sut` | whether the nodes have the same model, engine and options |
//! | `hosts` | machines, fabric and backends |
//! | `transfer` | names, counters and what the QDL does |
//! | `codecs` | compression |
//! | `bandwidth` | what Appendix B requires |
//! | `notes` | what every output says beside the findings |

mod accuracy;
mod bandwidth;
mod codecs;
mod dataset;
pub(crate) mod facts;
mod findings;
mod generation;
mod hosts;
pub(crate) mod identity;
pub(crate) mod notes;
pub(crate) mod one_sut;
mod rule;
mod rules;
mod settings;
mod suite;
#[cfg(test)]
mod tests;
mod transfer;

pub use self::facts::AccuracyRun;
pub use self::facts::{Data, Facts, NodeFacts, Planned, RunFacts, Settings, fields};
pub use self::findings::{Findings, place};
pub(crate) use self::rule::Finding;
pub use self::rules::judge;

/// The division whose rules a run has to keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Division {
    /// No division: every run is made, and its result names the broken rules of the Network division.
    #[default]
    None,
    /// Server and Offline of the Datacenter suite over a network, by the rules of the Network division.
    Network,
}

impl Division {
    /// As typed, and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Division::None => "none",
            Division::Network => "network",
        }
    }

    /// The division of this name.
    ///
    /// # Errors
    /// There is no such division.
    pub fn named(name: &str) -> Result<Division, &'static str> {
        [Division::None, Division::Network].into_iter().find(|known| known.name() == name).ok_or("none or network")
    }
}
