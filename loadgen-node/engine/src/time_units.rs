//! Units of time that a person types: `60s`, `2 ms`.

/// The units, in nanoseconds. Longer names come before those that they end with.
const TIMES: [(&str, f64); 8] =
    [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("min", 60e9), ("s", 1e9), ("m", 60e9), ("h", 3_600e9)];

/// The digits before a unit, and the nanoseconds of that unit; `None` without a unit.
pub(crate) fn split(text: &str) -> Option<(&str, f64)> {
    TIMES.iter().find_map(|(name, ns)| Some((text.strip_suffix(name)?.trim_end(), *ns)))
}
