//! One test of the LoadGen node over [the network](lon_world): from what is asked for to its finished run folder.
//!
//! | room | what it is for |
//! |---|---|
//! | `json_options` | a test as a JSON object, for programs that call the C library |
//! | `outputs` | what a run leaves behind: folder, logs, JSON documents, page, the result on the screen |
//! | `test_run` | one test as a value: what is asked for, its checks, its run, what is known afterwards |
//! | `live` | what is known of a run while it goes on, read by one reader |
//! | `probe` | what a fabric can carry, measured |
//! | `verdict` | reasons that make a result INVALID, or limit what it says: reasons, saturation, baseline |
//! | `audit` | compliance tests on finished runs: logs in, rows and verdicts out |
//! | `division` | the rules of the Network division, and what is found of them |
//! | `network` | what crossed the network, and what that means for a fabric |
//! | `nodes` | which SUT nodes there are, and how they are reached |
//! | `signals` | SIGINT and SIGTERM |
//! | `values` | values as users write them |
//! | `exit` | exit codes, and errors that carry one |
//! | `examples` | documents and facts that are made up, for unit tests |
//!
//! A room may use those below it, and no other. Nothing here knows a command line or the displays of a run; a probe
//! alone shows its progress. A program can make a [`TestSpec`], turn it into a [`Test`], run it, and [`record`] its
//! files; as many as it wants, one after the other.

pub mod audit;
pub mod division;
#[cfg(any(test, feature = "examples"))]
pub mod examples;
pub mod exit;
pub mod json_options;
pub mod live;
pub mod network;
pub mod nodes;
pub mod outputs;
pub mod probe;
pub mod signals;
pub mod test_run;
pub mod values;
pub mod verdict;

pub use division::{AccuracyRun, Division};
pub use exit::{Exit, Failure, Outcome};
pub use lon_world::pace::{PacingSpec, Spin};
pub use nodes::target::Target;
pub use outputs::documents;
pub use outputs::run_folder::folder::{FolderError, Place, RunFolder};
pub use outputs::run_folder::qdl_files;
pub use outputs::run_folder::record::{Recorded, record};
pub use outputs::run_folder::write_order::{NotWritten, Saved};
pub use signals::StopRequests;
pub use test_run::{
    Call, Claimed, Codecs, Connected, DataSpec, ExternalTest, FindPeakSpec, Finished, Label, LabelError, Labels,
    Limits, Measured, SettingsSpec, Taker, Test, TestSpec, open_samples,
};
pub use verdict::within::{WithinError, WithinLimits};
