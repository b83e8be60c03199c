//! Plan of a run, made from requested settings: effective values, loaded sets, and the size of every phase.
//!
//! | file | what it has |
//! |---|---|
//! | `checked` | [`Plan`]: settings and library, checked |
//! | [`predict`] | what the run of a plan will take, and why it cannot become VALID |

mod checked;
pub mod predict;

pub use checked::Plan;

pub use crate::effective::{Effective, MAX_DURATION_MS};
pub use crate::trace::{Generated, LoadableSet, MAX_SAMPLES_PER_PHASE, PhaseMode, PhasePlan};
pub use crate::traffic::PlanError;
