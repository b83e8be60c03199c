//! The SUT nodes of several hosts: one file names them, and each action goes over the user's own ssh.
//!
//! What is said on a host is one line for a POSIX shell, made by `script` of words that are quoted; nothing of ours has
//! to be there but `sut-node`. What comes back are lines of a word and a value, read by `answers`.
//!
//! | file | what it has |
//! |---|---|
//! | `file`, `secrets` | the file as it is written; what must not stand in it |
//! | `checked` | the same with every value checked, and defaults filled in |
//! | `value_checks` | the checks of single values |
//! | `script` | the lines for the shells of the hosts |
//! | `answers` | what they answer |
//! | `shell` | one line at one host: how it is started, its end, its time limit |
//! | `clock` | the offset of a host's clock |
//! | `dial` | what the node itself answers at its address |
//! | `node_access` | a node with what is needed to act on it |
//! | `file_copy`, `copy` | a file by its content; its copy to a host |
//! | `node_state`, `start` | checks and status of a node; its start |
//! | `plan` | what an action does at one node, and what would be pasted instead |
//! | `node_threads` | all nodes at the same time, within a bound |

mod answers;
pub(crate) mod checked;
mod clock;
mod copy;
mod dial;
mod file;
pub(crate) mod file_copy;
mod node_access;
mod node_state;
mod node_threads;
pub(crate) mod plan;
mod script;
mod secrets;
mod shell;
mod start;
mod value_checks;

pub(crate) use self::plan::Action;

/// The file that `fleet init` writes.
pub(crate) const TEMPLATE: &str = include_str!("template.toml");
