//! Values of flags: what is typed, checked.

use std::num::NonZeroUsize;
use std::time::Duration;

use lon_shell::duration::parse_duration;

/// A number from 1 to `MAX`.
pub(super) fn up_to<const MAX: usize>(text: &str) -> Result<NonZeroUsize, String> {
    let number = text.parse().ok().filter(|number: &NonZeroUsize| number.get() <= MAX);
    number.ok_or_else(|| format!("a number from 1 to {MAX}"))
}

/// As many tokens as an answer may have at most, or none.
pub(super) fn some_tokens(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number: &usize| *number <= 1_048_576);
    number.ok_or_else(|| "a number from 0 to 1048576".to_owned())
}

/// A day at most, as whole seconds or as a duration with its unit.
pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let refusal = || {
        format!("'{text}' is not a time: give whole seconds (10), or a number with a unit (500ms, 2min); a day at most")
    };
    let bare = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let time = if bare { text.parse().map(Duration::from_secs).ok() } else { parse_duration(text).ok() };
    time.filter(|time| !time.is_zero() && *time <= Duration::from_secs(86_400)).ok_or_else(refusal)
}

/// A duration that is not 0.
pub(super) fn some_time(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text).map_err(|error| error.to_string())?;
    if time.is_zero() { Err("a time of 0 is over before it began".to_owned()) } else { Ok(time) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_may_have_a_unit() {
        for (text, ms) in [("1", 1000), ("10", 10_000), ("2s", 2000), ("500ms", 500), ("1min", 60_000)] {
            assert_eq!(seconds(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for bad in ["", "0", "0s", "-1", "1.5", "86401", "1441min", "25h", "99999999999999999999"] {
            assert!(seconds(bad).unwrap_err().starts_with(&format!("'{bad}'")), "{bad}");
        }
    }
}
