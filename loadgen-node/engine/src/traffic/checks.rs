//! Checks of requested values that several scenarios share.

use super::error::PlanError;
use crate::value::g;

/// Refuses an expected latency outside its bounds: at least one generated query per ns, at most ten years.
pub(super) fn check_expected_latency(setting: &'static str, ns: f64) -> Result<(), PlanError> {
    if (1.0..=3.2e17).contains(&ns) { Ok(()) } else { Err(PlanError::value(setting, &ns, "from 1 ns to ten years")) }
}

/// A requested rate as it will be used. A negative rate becomes 1, and that is noted in `faults`, as the official
/// LoadGen does.
pub(super) fn effective_rate(
    setting: &'static str,
    requested: f64,
    faults: &mut Vec<String>,
) -> Result<f64, PlanError> {
    if requested < 0.0 {
        let digits = g(requested);
        faults.push(format!("Invalid value for {setting} requested. requested: {digits} using: 1"));
        return Ok(1.0);
    }
    if (1e-6..=1e15).contains(&requested) {
        Ok(requested)
    } else {
        Err(PlanError::value(setting, &requested, "a positive rate, from 1e-6 to 1e15 per second"))
    }
}
