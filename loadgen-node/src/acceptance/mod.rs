//! `probe --against FILE`: whether a fabric is still what it was, and if not, what differs and where that likely is.
//!
//! Two documents are compared, so a stored probe and a new one are the same kind of thing. All of it is arithmetic.
//!
//! | file | what it has |
//! |---|---|
//! | `compare` | each quantity of both probes, side by side, and the verdict |
//! | `pair` | what both probes have: each node, side by side |
//! | `likely` | from which quantities are worse, and from what both ends counted, where the cause is |
//! | `text` | the verdict for people |

mod compare;
mod likely;
mod pair;
#[cfg(test)]
mod tests;
mod text;

pub(crate) use compare::compare;
pub(crate) use text::text;
