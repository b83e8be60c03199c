//! AUC: the area under the curve of the receiver operating characteristic, as `roc_auc_score` of scikit-learn computes
//! it, which MLPerf's script for DLRM calls (`recommendation/dlrm_v2/pytorch/tools/accuracy-dlrm.py`).

/// Returns the probability that an item of the right class has a higher score than another one, from 0 to 1; equal
/// scores count as a half. Each item has its score and whether it is of the class. None when all or no items are of the
/// class, or when a score is a NaN.
pub fn auc(mut items: Vec<(f32, bool)>) -> Option<f64> {
    if items.iter().any(|(score, _)| score.is_nan()) {
        return None;
    }
    // Zeros of both signs become the same.
    items.iter_mut().for_each(|(score, _)| *score += 0.0);
    items.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
    // Twice the number of pairs in the right order, so that it is whole.
    let (mut pairs, mut inside, mut outside) = (0_u128, 0_u128, 0_u128);
    for equal in items.chunk_by(|one, other| one.0 == other.0) {
        let of_class = equal.iter().filter(|(_, is_inside)| *is_inside).count() as u128;
        let others = equal.len() as u128 - of_class;
        pairs += of_class * (2 * outside + others);
        inside += of_class;
        outside += others;
    }
    (inside > 0 && outside > 0).then(|| pairs as f64 / 2.0 / inside as f64 / outside as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_by_hand() {
        // Of the pairs (0.4, 0.3), (0.4, 0.5), (0.8, 0.3) and (0.8, 0.5) three are in order.
        assert_eq!(auc(vec![(0.4, true), (0.3, false), (0.5, false), (0.8, true)]), Some(0.75));
        assert_eq!(auc(vec![(0.5, true), (0.5, false), (0.0, true), (-0.0, false)]), Some(0.5));
        assert_eq!(auc(vec![(f32::INFINITY, true), (1.0, false)]), Some(1.0));
        assert_eq!(auc(vec![(0.1, true), (0.9, false)]), Some(0.0));
    }

    #[test]
    fn one_class_has_no_area() {
        assert_eq!(auc(vec![(0.1, true), (0.9, true)]), None);
        assert_eq!(auc(vec![(0.1, false)]), None);
        assert_eq!(auc(vec![]), None);
        assert_eq!(auc(vec![(f32::NAN, true), (0.9, false)]), None);
    }
}
