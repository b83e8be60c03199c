//! Submissions: from one file that says what is submitted, to the runs that it needs, to the folders that the official
//! submission checker takes.
//!
//! Nothing is measured here. The command `submission` starts each run as a command of its own, whose words come from
//! `step`; its run folder then has a `record` that says what it was.
//!
//! | file | what it has |
//! |---|---|
//! | `file` | the file as it is written |
//! | `checked` | the same, with names looked up and values checked |
//! | `faults` | the faults of the file, all together |
//! | `kind` | what a run is for |
//! | `division` | the division that a submission is for |
//! | `entry`, `flags` | a benchmark of the file; flags of its runs |
//! | `step` | a run that the submission needs: its folder and its command |
//! | `run_result` | what finished runs say of themselves, whichever engine led them |
//! | `record` | what a finished run was made of; whether it still counts |
//! | `score` | `accuracy.txt`, as the official scripts print it |
//! | `system` | the description of the system, with the official keys |
//! | `suites` | the scenarios that the suites of a round ask for |
//! | `inferred` | results of the edge suite that follow from runs of other scenarios |
//! | `layout` | where a round has its files |
//! | `tree` | writes the folders |
//! | `check` | looks at the folders, more strictly than the official checker |
//! | `places` | the line of each key in the file |
//! | `template`, `blanks` | the file that `submission init` writes; what is still to be filled in |
//! | `truncated_log` | an accuracy log with both ends and its sum |

mod blanks;
pub(crate) mod check;
pub(crate) mod checked;
pub(crate) mod division;
mod entry;
mod faults;
pub(crate) mod file;
mod flags;
pub(crate) mod inferred;
pub(crate) mod kind;
mod layout;
mod places;
pub(crate) mod record;
pub(crate) mod run_result;
pub(crate) mod score;
pub(crate) mod step;
mod suites;
mod system;
pub(crate) mod template;
pub(crate) mod tree;
mod truncated_log;
