//! Values as the official logs print them.

use crate::world::TimeNs;

/// A key of the detail log, without its prefix, and its value.
pub type Entry = (String, Value);

/// A line of the summary file: its label as printed, with all blanks, and its value.
pub type Line = (String, Value);

/// A value of a log entry or a summary line.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// An unsigned integer.
    U64(u64),
    /// A signed integer.
    I64(i64),
    /// A real number, six significant digits.
    F64(f64),
    /// A real number: two decimals in the summary, six significant digits in the detail log.
    Fixed(f64),
    /// A real number in full precision. Only for keys of our own.
    Full(f64),
    /// True or false.
    Bool(bool),
    /// A text, without quotation marks.
    Text(String),
    /// A list of sample indices.
    List(Vec<u32>),
    /// A moment, printed as UTC wall-clock time.
    Wall(TimeNs),
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::U64(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::I64(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::F64(value)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl Value {
    /// The text of the value as the summary file has it.
    pub(crate) fn summary(&self) -> String {
        match self {
            Self::Fixed(value) => fixed(*value),
            Self::Bool(value) => u8::from(*value).to_string(),
            Self::Text(text) => text.clone(),
            other => other.detail(),
        }
    }

    /// The text of the value as the official detail log has it. For numbers that are not finite that is not JSON.
    pub(crate) fn detail(&self) -> String {
        match self {
            Self::U64(value) => value.to_string(),
            Self::I64(value) => value.to_string(),
            Self::F64(value) | Self::Fixed(value) => g(*value),
            Self::Full(value) => format!("{value}"),
            Self::Bool(value) => value.to_string(),
            Self::Text(text) => quoted(text),
            Self::List(list) => list_text(list),
            Self::Wall(at) => at.0.to_string(),
        }
    }

    /// As [`Value::detail`], but always JSON: numbers that are not finite become text.
    pub(crate) fn json(&self) -> String {
        match self {
            Self::F64(value) | Self::Fixed(value) | Self::Full(value) if !value.is_finite() => quoted(&g(*value)),
            other => other.detail(),
        }
    }
}

/// A string as JSON.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn list_text(list: &[u32]) -> String {
    let mut text = String::with_capacity(2 + list.len() * 6);
    text.push('[');
    for (i, item) in list.iter().enumerate() {
        if i > 0 {
            text.push(',');
        }
        text.push_str(&item.to_string());
    }
    text.push(']');
    text
}

/// Two decimals, C's `%.2f`.
fn fixed(value: f64) -> String {
    if value.is_finite() { format!("{value:.2}") } else { not_finite(value) }
}

/// Significant digits of `%g`.
const DIGITS: i32 = 6;

/// C's `%g`: six significant digits, trailing zeros removed, exponent when it is shorter.
pub(crate) fn g(value: f64) -> String {
    if !value.is_finite() {
        return not_finite(value);
    }
    if value == 0.0 {
        return if value.is_sign_negative() { "-0" } else { "0" }.to_owned();
    }
    let scientific = format!("{value:.*e}", DIGITS as usize - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..DIGITS).contains(&exponent) {
        let decimals = (DIGITS - 1 - exponent) as usize;
        return without_trailing_zeros(&format!("{value:.decimals$}")).to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", without_trailing_zeros(mantissa), exponent.abs())
}

fn without_trailing_zeros(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// x86 computes 0/0 with the sign bit set, so the official logs say `-nan`.
fn not_finite(value: f64) -> String {
    if value.is_nan() {
        "-nan"
    } else if value > 0.0 {
        "inf"
    } else {
        "-inf"
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g_is_that_of_c() {
        let cases = [
            (0.0, "0"),
            (1.0, "1"),
            (0.5, "0.5"),
            (126.0, "126"),
            (1e6, "1e+06"),
            (999_999.0, "999999"),
            (999_999.5, "1e+06"),
            (1_549_812.3, "1.54981e+06"),
            (0.0001, "0.0001"),
            (0.000_012_345_67, "1.23457e-05"),
            (0.999, "0.999"),
            (0.950_000_000_000_000_1, "0.95"),
            (1.662_71e-7, "1.66271e-07"),
            (-2.5, "-2.5"),
            (1e100, "1e+100"),
            (100.176_01, "100.176"),
            (f64::INFINITY, "inf"),
            (f64::NAN, "-nan"),
        ];
        for (value, text) in cases {
            assert_eq!(g(value), text);
        }
    }

    #[test]
    fn json_values_are_json_whatever_they_hold() {
        for value in [
            Value::F64(f64::NAN),
            Value::Fixed(f64::INFINITY),
            Value::Full(0.1),
            Value::Text("a \"quoted\"\n\\ text".to_owned()),
            Value::List(vec![3, 1]),
            Value::List(Vec::new()),
        ] {
            let text = value.json();
            assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{text}");
        }
    }
}
