//! DICE: how far two segmentations of a volume overlap, as MLPerf's script for 3D-UNet computes it
//! (`vision/medical_imaging/3d-unet-kits19/accuracy_kits.py`).

/// The number that the script adds to both sides of the fraction. It gives a class without voxels the score 1.
const SMOOTH: f64 = 1e-6;
/// The number of classes of KiTS19: background, kidney and tumor.
pub(super) const KITS_CLASSES: usize = 3;

/// Returns the mean DICE of all classes but the first, which is the background; from 0 to 1. Both have the class of
/// each voxel. None when a class is not below `classes`, the lengths differ, or there is only the background.
pub fn dice(answer: impl ExactSizeIterator<Item = i64>, right: &[u8], classes: usize) -> Option<f64> {
    let mut counts = vec![Overlap::default(); classes];
    if answer.len() != right.len() || classes < 2 {
        return None;
    }
    for (answer, right) in answer.zip(right.iter().map(|class| usize::from(*class))) {
        let answer = usize::try_from(answer).ok()?;
        counts.get_mut(answer)?.answer += 1;
        counts.get_mut(right)?.right += 1;
        counts[answer].both += u64::from(answer == right);
    }
    let scores = counts[1..].iter().map(Overlap::score);
    Some(scores.sum::<f64>() / (classes - 1) as f64)
}

/// The numbers of voxels of a class: in the answer, in the right answer, and in both.
#[derive(Clone, Default)]
struct Overlap {
    answer: u64,
    right: u64,
    both: u64,
}

impl Overlap {
    fn score(&self) -> f64 {
        (2.0 * self.both as f64 + SMOOTH) / (self.right as f64 + self.answer as f64 + SMOOTH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_by_hand() {
        let of = |answer: &[i64], right: &[u8]| dice(answer.iter().copied(), right, 3);
        // Class 1: 2 * 1 of 2 + 1; class 2: 2 * 1 of 1 + 2.
        let score = of(&[0, 1, 1, 2], &[0, 1, 2, 2]).unwrap();
        assert!((score - 2.0 / 3.0).abs() < 1e-6, "{score}");
        // A class that neither has is right; one that only one has is wrong.
        assert_eq!(of(&[0, 0], &[0, 0]), Some(1.0));
        assert!(of(&[1, 1], &[0, 0]).unwrap() - 0.5 < 1e-6);
    }

    #[test]
    fn what_is_no_segmentation() {
        assert_eq!(dice([0, 1].into_iter(), &[0], 3), None);
        assert_eq!(dice([3].into_iter(), &[0], 3), None);
        assert_eq!(dice([-1].into_iter(), &[0], 3), None);
        assert_eq!(dice([0].into_iter(), &[3], 3), None);
        assert_eq!(dice([0].into_iter(), &[0], 1), None);
    }
}
