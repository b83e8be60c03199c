//! Audits: whether a finished run has the properties that MLPerf's compliance tests look for.
//!
//! Nothing is read or written here. Facts come from the logs, findings go into documents and files.
//!
//! | file | what it has |
//! |---|---|
//! | `run` | what is known of a run whose folder is audited |
//! | `detail`, `answers` | logs as the official scripts read them |
//! | `test01`, `test04`, `test05`, `test06`, `test07`, `test08`, `test09` | one audit each: runs -> rows |
//! | `second_chance` | TEST01 where answers differ: the scores of both logs |
//! | `custom` | the custom dataset test, which has no script |
//! | `default_mode`, `unix_mode`, `rates` | what the official scripts compute, and the text that they write |
//! | `pair`, `settings`, `sampled`, `accuracy_run` | rules of this program that the scripts do not have |
//! | `label` | the types by which answers are read |
//! | `script` | verdict and text of a script |
//! | `check`, `findings` | rows, and what they come to |
//! | `config` | the config file with which the audit is run |

use std::fmt;
use std::str::FromStr;

mod accuracy_run;
mod answers;
mod check;
pub mod config;
pub mod custom;
mod default_mode;
mod detail;
mod findings;
mod label;
mod pair;
mod rates;
mod run;
mod sampled;
mod script;
pub mod second_chance;
mod settings;
pub mod test01;
pub mod test04;
pub mod test05;
pub mod test06;
pub mod test07;
pub mod test08;
pub mod test09;
mod unix_mode;

pub use answers::AnswerLog;
pub use check::{AuditCheck, CheckOutcome, CheckRule};
pub use config::config;
pub use detail::Detail;
pub use findings::Findings;
pub use label::LabelType;
pub use pair::{VERSION_ROW, same_setup};
pub use run::{AccuracyRunFacts, AuditedRun, OwnFacts, RunScore};
pub use sampled::picks;
pub use settings::{LENGTHS, LENGTHS_ROW, VERDICT_ROW};

/// A compliance test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditTest {
    /// Answers while measured against those of the accuracy run.
    Test01,
    /// One sample again and again against many.
    Test04,
    /// The same traffic with other seeds.
    Test05,
    /// Tokens as they were reported.
    Test06,
    /// A score of the answers while measured.
    Test07,
    /// Predictions within a tolerance.
    Test08,
    /// Numbers of tokens.
    Test09,
    /// A dataset that is not the official one.
    Custom,
}

impl AuditTest {
    /// Every test, by its official name, with the page that says what it proves.
    const ALL: [(AuditTest, &'static str, &'static str); 8] = [
        (AuditTest::Test01, "TEST01", include_str!("explain/TEST01.txt")),
        (AuditTest::Test04, "TEST04", include_str!("explain/TEST04.txt")),
        (AuditTest::Test05, "TEST05", include_str!("explain/TEST05.txt")),
        (AuditTest::Test06, "TEST06", include_str!("explain/TEST06.txt")),
        (AuditTest::Test07, "TEST07", include_str!("explain/TEST07.txt")),
        (AuditTest::Test08, "TEST08", include_str!("explain/TEST08.txt")),
        (AuditTest::Test09, "TEST09", include_str!("explain/TEST09.txt")),
        (AuditTest::Custom, "CUSTOM", include_str!("explain/CUSTOM.txt")),
    ];

    /// Its official name.
    pub fn name(self) -> &'static str {
        self.entry().1
    }

    /// Returns the explanation of the test: its proof, the things that it cannot see, and its way of judging.
    pub fn explanation(self) -> &'static str {
        self.entry().2
    }

    /// Returns true when a submission has the answers of the test.
    pub fn keeps_answers(self) -> bool {
        !matches!(self, AuditTest::Test04 | AuditTest::Test05 | AuditTest::Custom)
    }

    /// Returns true when the test compares a run with a reference.
    pub fn has_reference(self) -> bool {
        !matches!(self, AuditTest::Test06 | AuditTest::Test07 | AuditTest::Test09)
    }

    /// Returns true when the run of the test asks every sample of a dataset once, or some, however short that takes.
    pub fn sets_length(self) -> bool {
        matches!(self, AuditTest::Test06 | AuditTest::Test07 | AuditTest::Test09)
    }

    /// Returns true when a submission has the logs of the measured run.
    pub fn keeps_logs(self) -> bool {
        self != AuditTest::Test06
    }

    fn entry(self) -> &'static (AuditTest, &'static str, &'static str) {
        AuditTest::ALL.iter().find(|(test, ..)| *test == self).unwrap_or(&AuditTest::ALL[0])
    }
}

impl fmt::Display for AuditTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for AuditTest {
    type Err = String;

    fn from_str(text: &str) -> Result<AuditTest, String> {
        let entry = AuditTest::ALL.iter().find(|(_, name, _)| name.eq_ignore_ascii_case(text));
        let names = || AuditTest::ALL.map(|(_, name, _)| name).join(", ");
        entry.map(|(test, ..)| *test).ok_or_else(|| format!("the tests are {}", names()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_test_has_its_name_and_a_page() {
        for (test, name, page) in AuditTest::ALL {
            assert_eq!((name.parse(), test.name()), (Ok(test), name));
            let heads = ["Purpose", "Not covered", "Criteria"];
            assert!(page.starts_with(name) && heads.iter().all(|head| page.contains(head)), "{name}");
            let lines = page.lines().count();
            assert!((30..=75).contains(&lines) && page.lines().all(|line| line.len() <= 80), "{name}: {lines} lines");
        }
    }
}
