//! What tests make of several tries.

use std::fmt::Debug;
use std::ops::RangeBounds;

/// The middle one (of an even number, the lower of the two).
///
/// # Panics
/// There is none.
pub fn median(values: &[f64]) -> f64 {
    assert!(!values.is_empty(), "no median of nothing");
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[(sorted.len() - 1) / 2]
}

/// Measures up to `tries` times (an odd number), until it is certain whether the median lies in `range`.
///
/// # Errors
/// It does not; what was measured.
pub fn median_within(
    range: impl RangeBounds<f64> + Debug,
    tries: usize,
    mut measure: impl FnMut() -> f64,
) -> Result<(), String> {
    let (mut measured, mut inside) = (Vec::new(), 0);
    while measured.len() < tries {
        let value = measure();
        measured.push(value);
        inside += usize::from(range.contains(&value));
        if inside > tries / 2 {
            return Ok(());
        }
        if measured.len() - inside > tries / 2 {
            break;
        }
    }
    Err(format!("{measured:?} are not within {range:?} for the most part"))
}

#[cfg(test)]
mod tests {
    use super::{median, median_within};

    #[test]
    fn no_more_is_measured_than_the_verdict_takes() {
        let verdict = |values: &[f64]| {
            let mut left = values.iter().copied();
            let verdict = median_within(1.0..=2.0, 3, || left.next().unwrap()).is_ok();
            (verdict, left.len())
        };
        assert_eq!(verdict(&[1.0, 2.0, 9.0]), (true, 1));
        assert_eq!(verdict(&[9.0, 1.5, 1.0]), (true, 0));
        assert_eq!(verdict(&[0.9, 2.1, 1.0]), (false, 1));
        assert_eq!(verdict(&[0.9, 1.0, f64::NAN]), (false, 0));
    }

    #[test]
    fn the_middle_one() {
        assert_eq!([median(&[3.0]), median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0])], [3.0, 2.0, 1.0]);
    }
}
