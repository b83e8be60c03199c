//! Order statistics of a few rounds, and percentiles of many samples.

/// Smallest, middle and largest of the rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) min: f64,
    pub(crate) median: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// `None` of nothing.
    pub(crate) fn of(values: &[f64]) -> Option<Spread> {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let middle = sorted.len() / 2;
        // Of an even number the mean of the two in the middle.
        let median = if sorted.len() % 2 == 1 { sorted[middle] } else { sorted[middle - 1].midpoint(sorted[middle]) };
        Some(Spread { min, median, max })
    }
}

/// The value at `share` (0 to 1) of the sorted samples; 0 of none. Sorts.
pub(crate) fn percentile(samples: &mut [u64], share: f64) -> u64 {
    let Some(last) = samples.len().checked_sub(1) else { return 0 };
    let at = ((last as f64 * share) as usize).min(last);
    *samples.select_nth_unstable(at).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_odd_and_even_numbers_of_rounds() {
        assert_eq!(Spread::of(&[]), None);
        assert_eq!(Spread::of(&[3.0]), Some(Spread { min: 3.0, median: 3.0, max: 3.0 }));
        assert_eq!(Spread::of(&[9.0, 1.0, 2.0]), Some(Spread { min: 1.0, median: 2.0, max: 9.0 }));
        assert_eq!(Spread::of(&[9.0, 1.0, 2.0, 4.0]), Some(Spread { min: 1.0, median: 3.0, max: 9.0 }));
    }

    #[test]
    fn percentiles_are_samples() {
        let mut samples: Vec<u64> = (0..=100).rev().collect();
        assert_eq!([0.0, 0.5, 0.99, 1.0].map(|share| percentile(&mut samples, share)), [0, 50, 99, 100]);
        assert_eq!(percentile(&mut [], 0.5), 0);
        assert_eq!(percentile(&mut [7], 0.99), 7);
    }
}
