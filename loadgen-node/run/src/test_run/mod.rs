//! One test, from what is asked for to what is known when it is over. A test is a value: it needs no command line, and
//! a process can make many, one after the other.
//!
//! | file | what it turns into what |
//! |---|---|
//! | `spec`, `labels` | the values that make a test: benchmark, scenario, nodes, options; its labels |
//! | `test` | a spec -> a [`Test`] whose samples, settings and files are checked |
//! | `samples`, `settings`, `system_facts`, `find_peak`, `kserve` | the parts of that check |
//! | `arrivals` | the text of an arrival process -> the same with the content of its files |
//! | `connected` | a test -> a [`Connected`] one, whose nodes take its samples -> a [`Claimed`] one |
//! | `claimed` | a claimed test -> a [`Measured`] one -> a [`Finished`] one |
//! | `tenants` | tests that run together -> claimed ones, whose nodes are claimed once |
//! | `external_engine` | a test whose samples another engine issues -> a [`Finished`] one |
//! | `gather` | the end of a run, whoever issued its samples |
//! | `auto_tune` | a setting that is `auto` -> its value, by a short look at the nodes |
//! | `warm_up` | a short run before the test, which nothing judges |
//! | `run` | the steps from a test to a finished one, in one call |
//! | `follow`, `score` | what happens to answers during the run, and after it |
//! | `finished` | the parts of a finished test |

pub(crate) mod arrivals;
mod auto_tune;
mod claimed;
mod connected;
mod external_engine;
pub mod find_peak;
pub(crate) mod finished;
mod follow;
mod gather;
pub mod kserve;
pub(crate) mod labels;
mod run;
pub mod samples;
pub(crate) mod score;
pub mod settings;
pub(crate) mod spec;
pub mod system_facts;
pub mod tenants;
mod test;
mod warm_up;

pub use self::claimed::{Claimed, Measured};
pub use self::connected::Connected;
pub use self::finished::Finished;
pub use self::labels::{Label, LabelError, Labels};
pub use self::samples::open_for_run as open_samples;
pub(crate) use self::spec::WarmUp;
pub use self::spec::{Call, Codecs, DataSpec, FindPeakSpec, Limits, SettingsSpec, TestSpec};
pub use self::test::Test;
pub use self::test::{findings_without_samples, predicted_without_samples};
pub use crate::test_run::external_engine::{ExternalTest, Taker};
