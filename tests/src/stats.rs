//! What tests make of several tries.

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

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn the_middle_one() {
        assert_eq!([median(&[3.0]), median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0])], [3.0, 2.0, 1.0]);
    }
}
