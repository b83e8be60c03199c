//! The traffic of a phase: which samples are loaded, which queries are generated, due when, with which samples.
//!
//! | file | what it turns into what |
//! |---|---|
//! | `rng` | seeds -> draws, exactly as the official LoadGen draws |
//! | `sets` | the library -> loadable sets |
//! | `schedule` | an arrival process -> due times, and what was drawn of it |
//! | `recipe` | effective settings and a set -> the numbers from which traffic follows, and the count of queries |
//! | `choice` | these numbers -> at which sample of the set each query starts |
//! | `phase` | one phase of a test: its set and the size of its traffic |
//! | `queries` | a phase -> its queries, one after the other |
//! | `indices` | a phase -> the index in the library of each sample, for a run that is over |
//! | `picks` | which samples of a performance phase have their answers logged |
//!
//! Nothing is stored: every run over a phase generates its traffic again. Draws happen in the official order, so that
//! the same seeds give the same traffic.

mod choice;
mod indices;
mod phase;
mod picks;
mod queries;
mod recipe;
mod rng;
mod schedule;
mod sets;

pub use indices::Indices;
pub use phase::PhasePlan;
pub(crate) use picks::Picks;
pub use queries::{Query, Trace};
pub(crate) use recipe::{Demand, Recipe};
pub use recipe::{Generated, MAX_SAMPLES_PER_PHASE, PhaseMode};
pub(crate) use rng::Rng;
pub use schedule::Drawn;
pub use sets::LoadableSet;
pub(crate) use sets::{Cut, loadable_sets};
