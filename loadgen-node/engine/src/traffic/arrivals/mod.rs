//! Arrival processes: the rule by which queries with due times follow one another.
//!
//! | file | what it has |
//! |---|---|
//! | `process_text` | the text of a process, `gamma:cv=3` -> [`Arrivals`] |
//! | `process` | [`Arrivals`], the processes as checked values, with the mean and variation that each one promises |
//! | `profile` | [`Profile`]: a rate that changes over time |
//! | `rate_integral` | the time at which so many queries of a profile are due |
//! | `modulated` | [`Modulated`]: a rate that jumps between states at random |
//! | `weibull` | shape and variation of Weibull distributions |
//!
//! The draws themselves are in `trace/schedule`. Formulas: Gamma and Weibull gaps with the given shape and the target
//! rate as mean rate; Markov-modulated Poisson processes after Fischer and Meier-Hellstern (1993).

mod modulated;
mod process;
mod process_text;
mod profile;
mod rate_integral;
mod weibull;

pub use modulated::Modulated;
pub use process::{Arrivals, DueTimes, Listed, Promise};
pub use process_text::{check, parse};
pub use profile::Profile;
pub(crate) use rate_integral::Inverse;
