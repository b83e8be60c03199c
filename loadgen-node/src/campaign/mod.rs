//! Campaigns: from one file to many runs, and to one table of all of them.
//!
//! Nothing is measured here. The command `campaign` makes each run by a command of its own, in an ordinary run folder.
//!
//! | file | what it has |
//! |---|---|
//! | `file` | the file as it is written, each key with its line |
//! | `range` | ranges of numbers: `1000..8000 x2` |
//! | `axes` | what varies: axes, zips and cases |
//! | `expand` | every combination, without those that are excluded |
//! | `name` | names of cells, made of what varies |
//! | `checked` | the whole file, checked, with its cells |
//! | `order` | the order of the runs |
//! | `jobs` | the runs of the cells, in their order |
//! | `job_command` | the command of a run, checked as it would be when it is typed |
//! | `stored_plan` | the plan that is kept in the folder of the campaign |
//! | `record` | what came of a run; whether it has to be made |
//! | `rows` | the table: a row for each cell, from the files of its runs |
//! | `forms` | the table as text, CSV and Markdown |
//! | `chart` | two columns of the table over each other |
//! | `page` | the table as an HTML page |
//! | `dli` | the tables of the DLI benchmark |
//! | `import` | from DLI's configuration of a benchmark to the file of a campaign |
//! | `doctor` | what is known of nodes before a campaign, and what would spoil it |
//! | `condition` | memory, clock rates and stolen time of this machine |
//! | `render` | the campaign as a job of Slurm or Kubernetes |
//! | `template` | the file that `campaign init` writes |

mod axes;
pub(crate) mod chart;
pub(crate) mod checked;
#[cfg(test)]
mod checked_tests;
mod condition;
pub(crate) mod dli;
pub(crate) mod doctor;
mod expand;
mod file;
pub(crate) mod forms;
pub(crate) mod import;
pub(crate) mod job_command;
pub(crate) mod jobs;
mod name;
mod order;
pub(crate) mod page;
mod range;
pub(crate) mod record;
pub(crate) mod render;
pub(crate) mod rows;
pub(crate) mod stored_plan;
pub(crate) mod template;
