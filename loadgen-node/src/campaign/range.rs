//! Ranges of numbers, as an axis has them: `1000..8000 x2` multiplies, `8..64 +8` adds.

use anyhow::{Result, bail, ensure};
use toml::Value;

/// The most numbers of a range: more are a slip.
const MOST: usize = 1000;
/// A number this much above the end, as a share of a step, is still the end: sums of fractions are not exact.
const NEARLY: f64 = 1e-9;

/// The numbers of a range. None: the text is no range.
///
/// # Errors
/// It is a range that has no end, or too many numbers.
pub(super) fn numbers(text: &str) -> Result<Option<Vec<Value>>> {
    let Some((ends, step)) = text.trim().rsplit_once(' ') else { return Ok(None) };
    let Some((low, high)) = ends.split_once("..") else { return Ok(None) };
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    let (Some(low), Some(high)) = (number(low), number(high)) else { return Ok(None) };
    let (by, is_product) = match (step.strip_prefix('x'), step.strip_prefix('+')) {
        (Some(factor), _) => (number(factor), true),
        (None, Some(step)) => (number(step), false),
        (None, None) => (None, false),
    };
    let Some(by) = by else {
        bail!("'{text}': behind a range stands x and a factor, or + and a step: 1000..8000 x2, 8..64 +8")
    };
    ensure!(low <= high, "'{text}': the first number is larger than the last one");
    match is_product {
        true => ensure!(by > 1.0 && low > 0.0, "'{text}': a factor is above 1, and the first number above 0"),
        false => ensure!(by > 0.0, "'{text}': a step is above 0"),
    }
    let mut values = Vec::new();
    for at in 0.. {
        let next = if is_product { low * by.powi(at) } else { low + by * f64::from(at) };
        let room = NEARLY * if is_product { next } else { by };
        if next > high + room {
            break;
        }
        values.push(value(next));
        ensure!(values.len() <= MOST, "'{text}' has more than {MOST} numbers");
    }
    Ok(Some(values))
}

/// A whole number is written without a point, as it is typed.
fn value(number: f64) -> Value {
    let whole = number.round();
    let is_whole = (number - whole).abs() <= NEARLY * whole.abs().max(1.0) && whole.abs() < 9e15;
    if is_whole { Value::Integer(whole as i64) } else { Value::Float(number) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(range: &str) -> Vec<String> {
        numbers(range).unwrap().unwrap().iter().map(crate::keys::key::text).collect()
    }

    #[test]
    fn ranges_multiply_or_add_up_to_their_end() {
        assert_eq!(texts("1000..8000 x2"), ["1000", "2000", "4000", "8000"]);
        assert_eq!(texts("8..64 +8"), ["8", "16", "24", "32", "40", "48", "56", "64"]);
        assert_eq!(texts("1..9 +4"), ["1", "5", "9"]);
        assert_eq!(texts("1..10 x3"), ["1", "3", "9"]);
        assert_eq!(texts("0.1..0.3 +0.1").len(), 3);
        assert_eq!(texts("0.5..2 x2"), ["0.5", "1", "2"]);
        assert_eq!(texts("7..7 x2"), ["7"]);
    }

    #[test]
    fn other_texts_are_no_ranges_and_bad_ranges_are_errors() {
        for text in ["grpc", "1..2", "uniform=1..5", "a..b x2", "h:8000-8003"] {
            assert_eq!(numbers(text).unwrap(), None, "{text}");
        }
        for (text, why) in [
            ("1..8 *2", "x and a factor"),
            ("8..1 x2", "larger than the last"),
            ("1..8 x1", "above 1"),
            ("0..8 x2", "above 0"),
            ("1..8 +0", "above 0"),
            ("1..9000 +1", "more than 1000"),
        ] {
            let message = numbers(text).unwrap_err().to_string();
            assert!(message.contains(why), "{message}");
        }
    }
}
