//! `probe --against FILE`: each goodput of a fabric beside the one before, the verdict, and the likely place of a loss.
//!
//! Two documents are compared, so a stored probe and a new one are the same kind of thing. All of it is arithmetic.
//!
//! | file | what it has |
//! |---|---|
//! | `compare` | each quantity of both probes, side by side, and the verdict |
//! | `pair` | what both probes have: each node, side by side |
//! | `cause` | from which quantities are worse, and from what both ends counted, where the cause is |
//! | `steady` | the goodputs of a probe that scatter too much for a baseline, and the line on one that was saved |
//! | `text` | the verdict for people |

mod cause;
mod compare;
mod pair;
mod steady;
#[cfg(test)]
mod tests;
mod text;

pub(crate) use compare::{comparable, compare, same_flags, same_nodes};
pub(crate) use steady::{saved, starved, unsteady};
pub(crate) use text::text;
