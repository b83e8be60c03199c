//! mAP: the mean of the average precision over categories and ten thresholds of overlap, as `COCOeval` of the package
//! `pycocotools` computes `stats[0]` for boxes. MLPerf's scripts for detection call it
//! (`vision/classification_and_detection/tools/accuracy-coco.py` and `accuracy-openimages.py`). `stats[1]` to
//! `stats[5]`
//! are the same at one threshold, or for objects of some areas.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Range;

use super::boxes::{Boxes, Detection, Object};

/// The number of thresholds of overlap: 0.50, 0.55 and so on to 0.95.
const THRESHOLDS: usize = 10;
/// The number of recalls at which precision is taken: 0, 0.01 and so on to 1.
const RECALLS: usize = 101;
/// The most boxes of one category that count in an image: those with the highest scores.
const MOST: usize = 100;
/// The largest area that counts, in square pixels.
const LARGEST: f64 = 1e10;
/// The areas of small objects end here, and those of large ones begin at the second number.
const AREAS: [f64; 2] = [1024.0, 9216.0];

/// A choice of thresholds and areas: one of the first six numbers of `COCOeval`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Precision {
    /// The places of the thresholds that count.
    thresholds: Range<usize>,
    /// The least and the largest area that counts, in square pixels.
    areas: [f64; 2],
}

impl Precision {
    /// The mean over all thresholds, for objects of any area: `stats[0]`.
    pub(super) const ALL: Precision = Precision { thresholds: 0..THRESHOLDS, areas: [0.0, LARGEST] };
    /// An overlap of half is enough: `stats[1]`.
    pub(super) const HALF: Precision = Precision { thresholds: 0..1, ..Precision::ALL };
    /// An overlap of three quarters is enough: `stats[2]`.
    pub(super) const THREE_QUARTERS: Precision = Precision { thresholds: 5..6, ..Precision::ALL };
    /// Objects of up to 32 x 32 pixels: `stats[3]`.
    pub(super) const SMALL: Precision = Precision { areas: [0.0, AREAS[0]], ..Precision::ALL };
    /// Objects of 32 x 32 to 96 x 96 pixels: `stats[4]`.
    pub(super) const MEDIUM: Precision = Precision { areas: AREAS, ..Precision::ALL };
    /// Objects of 96 x 96 pixels and more: `stats[5]`.
    pub(super) const LARGE: Precision = Precision { areas: [AREAS[1], LARGEST], ..Precision::ALL };

    fn has(&self, area: f64) -> bool {
        (self.areas[0]..=self.areas[1]).contains(&area)
    }

    /// Tells whether it does not matter if an object is found.
    fn ignores(&self, object: &Object) -> bool {
        object.is_crowd || !self.has(object.area)
    }

    /// Returns the precision from 0 to 1; `detections` has the boxes of the answer to each sample. None when the file
    /// has no box that counts.
    pub(super) fn of(&self, boxes: &Boxes, detections: &[Vec<Detection>]) -> Option<f64> {
        let mut categories: BTreeMap<i64, BTreeMap<i64, Scene<'_>>> = BTreeMap::new();
        for (image, image_detections) in boxes.images.iter().zip(detections) {
            for object in &image.objects {
                categories.entry(object.category).or_default().entry(image.id).or_default().objects.push(object);
            }
            for detection in image_detections.iter().filter(|one| boxes.categories.contains(&one.category)) {
                let images = categories.entry(detection.category).or_default();
                images.entry(image.id).or_default().detections.push(detection);
            }
        }
        let sums: Vec<f64> = categories.into_values().filter_map(|scenes| self.sum_of_precisions(scenes)).collect();
        let each = self.thresholds.len() * RECALLS;
        (!sums.is_empty()).then(|| sums.iter().sum::<f64>() / (sums.len() * each) as f64)
    }

    /// The sum of the precision at its thresholds and all recalls of one category; none when it has no object that
    /// counts. Images are in the order of their numbers, by which equal scores of two images are ordered.
    fn sum_of_precisions(&self, scenes: BTreeMap<i64, Scene<'_>>) -> Option<f64> {
        let count = scenes.values().flat_map(|scene| &scene.objects).filter(|object| !self.ignores(object)).count();
        if count == 0 {
            return None;
        }
        let mut judged: Vec<Judged> = scenes.into_values().flat_map(|scene| self.judge(scene)).collect();
        judged.sort_by(|one, other| highest_first(one.score, other.score));
        Some(self.thresholds.clone().map(|at| precisions(&judged, at, count)).sum())
    }

    /// Judges the boxes of one category in one image, the highest score first.
    fn judge(&self, mut scene: Scene<'_>) -> Vec<Judged> {
        scene.objects.sort_by_key(|object| self.ignores(object));
        scene.detections.sort_by(|one, other| highest_first(one.score, other.score));
        scene.detections.truncate(MOST);
        let (objects, detections) = (&scene.objects, &scene.detections);
        let overlaps: Vec<Vec<f64>> = detections
            .iter()
            .map(|detection| objects.iter().map(|object| detection.place.overlap(object)).collect())
            .collect();
        let fresh = |detection: &&Detection| {
            let is_odd = !self.has(detection.place.area());
            Judged { score: detection.score, is_hit: [false; THRESHOLDS], is_ignored: [is_odd; THRESHOLDS] }
        };
        let mut judged: Vec<Judged> = detections.iter().map(fresh).collect();
        for at in self.thresholds.clone() {
            let mut is_taken = vec![false; objects.len()];
            for (judged, overlaps) in judged.iter_mut().zip(&overlaps) {
                let Some(best) = self.best(objects, overlaps, &is_taken, threshold(at)) else { continue };
                is_taken[best] = true;
                // Without an area of its own that counts, a box is ignored only when it was not found to be any object.
                judged.is_hit[at] = !objects[best].has_id_0;
                let is_odd = judged.is_ignored[at] && objects[best].has_id_0;
                judged.is_ignored[at] = self.ignores(objects[best]) || is_odd;
            }
        }
        judged
    }

    /// Returns the object that a box is taken for: of those with the largest overlap the last. Objects that are ignored
    /// come last, and are looked at only when no other fits. An object is taken once, a crowd as often as it fits.
    fn best(&self, objects: &[&Object], overlaps: &[f64], is_taken: &[bool], threshold: f64) -> Option<usize> {
        let (mut best, mut least) = (None, threshold);
        for (place, object) in objects.iter().enumerate() {
            if is_taken[place] && !object.is_crowd {
                continue;
            }
            if best.is_some_and(|best: usize| !self.ignores(objects[best])) && self.ignores(object) {
                break;
            }
            if overlaps[place] >= least {
                (best, least) = (Some(place), overlaps[place]);
            }
        }
        best
    }
}

/// One category in one image.
#[derive(Default)]
struct Scene<'a> {
    objects: Vec<&'a Object>,
    detections: Vec<&'a Detection>,
}

/// The judgement on a box of an answer, at each threshold.
#[derive(Clone, Copy)]
struct Judged {
    score: f64,
    is_hit: [bool; THRESHOLDS],
    is_ignored: [bool; THRESHOLDS],
}

/// The order of scores; they are no NaN.
fn highest_first(one: f64, other: f64) -> Ordering {
    other.partial_cmp(&one).unwrap_or(Ordering::Equal)
}

/// The threshold at a place, with the digits that NumPy gives it.
fn threshold(at: usize) -> f64 {
    if at + 1 == THRESHOLDS { 0.95 } else { at as f64 * ((0.95 - 0.5) / 9.0) + 0.5 }
}

/// The sum of the precision at all recalls, for one threshold. The precision at a recall is the best one at that recall
/// or a larger one, and 0 at a recall that is not reached.
fn precisions(judged: &[Judged], at: usize, count: usize) -> f64 {
    let (mut hits, mut misses) = (0_u32, 0_u32);
    let (mut recalls, mut precisions) = (Vec::with_capacity(judged.len()), Vec::with_capacity(judged.len()));
    for judged in judged {
        let counts = !judged.is_ignored[at];
        hits += u32::from(counts && judged.is_hit[at]);
        misses += u32::from(counts && !judged.is_hit[at]);
        let (hits, misses) = (f64::from(hits), f64::from(misses));
        recalls.push(hits / count as f64);
        precisions.push(hits / (misses + hits + f64::EPSILON));
    }
    for place in (1..precisions.len()).rev() {
        if precisions[place] > precisions[place - 1] {
            precisions[place - 1] = precisions[place];
        }
    }
    let levels = (0..RECALLS).map(|place| if place + 1 == RECALLS { 1.0 } else { place as f64 * 0.01 });
    levels.filter_map(|level| precisions.get(recalls.partition_point(|recall| *recall < level))).sum()
}

#[cfg(test)]
mod tests {
    use super::super::boxes::Place;
    use super::*;

    fn boxes(objects: &str) -> Boxes {
        let text = format!(
            r#"{{"images": [{{"id": 1, "height": 100, "width": 100}}], "annotations": [{objects}],
                "categories": [{{"id": 1}}, {{"id": 2}}]}}"#
        );
        Boxes::from_json(text.as_bytes()).unwrap()
    }

    fn object(id: u32, left: f64, is_crowd: u8) -> String {
        format!(
            r#"{{"id": {id}, "image_id": 1, "category_id": 1, "area": 100, "bbox": [{left}, 0, 10, 10],
                "iscrowd": {is_crowd}}}"#
        )
    }

    fn detection(left: f64, width: f64, score: f64) -> Detection {
        Detection { category: 1, score, place: Place { left, top: 0.0, width, height: 10.0 } }
    }

    fn score(objects: &[String], detections: &[Detection]) -> Option<f64> {
        Precision::ALL.of(&boxes(&objects.join(",")), &[detections.to_vec()])
    }

    #[test]
    fn precision_by_hand() {
        let two = [object(1, 0.0, 0), object(2, 50.0, 0)];
        let close = |detections: &[Detection], expected: f64| {
            let value = score(&two, detections).unwrap();
            assert!((value - expected).abs() < 1e-12, "{value} is not {expected}");
        };
        close(&[detection(0.0, 10.0, 0.9), detection(50.0, 10.0, 0.8)], 1.0);
        // Half of the objects: 51 of 101 recalls.
        close(&[detection(0.0, 10.0, 0.9)], 51.0 / 101.0);
        // A miss with the highest score halves the precision; one with the lowest does not matter.
        close(&[detection(20.0, 10.0, 0.9), detection(0.0, 10.0, 0.8)], 25.5 / 101.0);
        close(&[detection(20.0, 10.0, 0.1), detection(0.0, 10.0, 0.8)], 51.0 / 101.0);
        // An overlap of 0.8 passes seven of ten thresholds; of 0.5 one.
        close(&[detection(0.0, 8.0, 0.9)], 0.7 * 51.0 / 101.0);
        close(&[detection(0.0, 5.0, 0.9)], 0.1 * 51.0 / 101.0);
        // The same object twice: the second is a miss.
        close(
            &[detection(0.0, 10.0, 0.9), detection(0.0, 10.0, 0.8), detection(50.0, 10.0, 0.7)],
            (51.0 + 50.0 * 2.0 / 3.0) / 101.0,
        );
        close(&[], 0.0);
    }

    #[test]
    fn thresholds_and_areas_by_hand() {
        let sized = |id: u32, left: f64, side: f64| {
            let area = side * side;
            format!(
                r#"{{"id": {id}, "image_id": 1, "category_id": 1, "area": {area},
                     "bbox": [{left}, 0, {side}, {side}]}}"#
            )
        };
        let three = boxes(&[sized(1, 0.0, 32.0), sized(2, 200.0, 96.0), sized(3, 400.0, 100.0)].join(","));
        let place = |left: f64, width: f64, height: f64| Place { left, top: 0.0, width, height };
        // All of the first, 0.83 of the second, 0.5 of the third.
        let places = [place(0.0, 32.0, 32.0), place(200.0, 96.0, 79.68), place(400.0, 100.0, 50.0)];
        let detections = places.map(|place| Detection { category: 1, score: 0.5, place });
        let of = |precision: Precision| precision.of(&three, &[detections.to_vec()]).unwrap();
        let close = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-12, "{value} is not {expected}");
        close(of(Precision::HALF), 1.0);
        // Two of three: 67 of 101 recalls.
        close(of(Precision::THREE_QUARTERS), 67.0 / 101.0);
        // An area of 32 x 32 is small and medium, one of 96 x 96 medium and large.
        close(of(Precision::SMALL), 1.0);
        close(of(Precision::MEDIUM), (7.0 + 3.0 * 51.0 / 101.0) / 10.0);
        // The third box has a medium area; it counts where it finds a large object, at 0.50 alone.
        close(of(Precision::LARGE), (1.0 + 6.0 * 51.0 / 101.0) / 10.0);
        let small = boxes(&sized(1, 0.0, 8.0));
        assert_eq!(Precision::LARGE.of(&small, &[Vec::new()]), None);
        assert_eq!(Precision::SMALL.of(&small, &[Vec::new()]), Some(0.0));
    }

    #[test]
    fn what_is_found_in_a_crowd_does_not_count() {
        let objects = [object(1, 0.0, 0), object(2, 50.0, 1)];
        let all = [detection(50.0, 10.0, 0.9), detection(50.0, 5.0, 0.8), detection(0.0, 10.0, 0.7)];
        assert!((score(&objects, &all).unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(score(&[object(1, 0.0, 1)], &all), None);
        assert_eq!(score(&[], &all), None);
    }
}
