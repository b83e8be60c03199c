//! mAP: the mean of the average precision over categories and ten thresholds of overlap, as `COCOeval` of the package
//! `pycocotools` computes `stats[0]` for boxes. MLPerf's scripts for detection call it
//! (`vision/classification_and_detection/tools/accuracy-coco.py` and `accuracy-openimages.py`).

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::boxes::{Boxes, Detection, Object};

/// The number of thresholds of overlap: 0.50, 0.55 and so on to 0.95.
const THRESHOLDS: usize = 10;
/// The number of recalls at which precision is taken: 0, 0.01 and so on to 1.
const RECALLS: usize = 101;
/// The most boxes of one category that count in an image: those with the highest scores.
const MOST: usize = 100;
/// The largest area that counts, in square pixels.
const LARGEST: f64 = 1e10;

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

/// Returns the mAP from 0 to 1; `detections` has the boxes of the answer to each sample. None when the file has no box
/// that counts.
pub(super) fn mean_average_precision(boxes: &Boxes, detections: &[Vec<Detection>]) -> Option<f64> {
    let mut categories: BTreeMap<i64, BTreeMap<i64, Scene<'_>>> = BTreeMap::new();
    for (image, found) in boxes.images.iter().zip(detections) {
        for object in &image.objects {
            categories.entry(object.category).or_default().entry(image.id).or_default().objects.push(object);
        }
        for detection in found.iter().filter(|found| boxes.categories.contains(&found.category)) {
            categories.entry(detection.category).or_default().entry(image.id).or_default().detections.push(detection);
        }
    }
    let sums: Vec<f64> = categories.into_values().filter_map(sum_of_precisions).collect();
    (!sums.is_empty()).then(|| sums.iter().sum::<f64>() / (sums.len() * THRESHOLDS * RECALLS) as f64)
}

/// The sum of the precision at all thresholds and recalls of one category; none when it has no object that counts.
/// Images are in the order of their numbers, by which equal scores of two images are ordered.
fn sum_of_precisions(scenes: BTreeMap<i64, Scene<'_>>) -> Option<f64> {
    let count = scenes.values().flat_map(|scene| &scene.objects).filter(|object| !is_ignored(object)).count();
    if count == 0 {
        return None;
    }
    let mut judged: Vec<Judged> = scenes.into_values().flat_map(judge).collect();
    judged.sort_by(|one, other| highest_first(one.score, other.score));
    Some((0..THRESHOLDS).map(|at| precisions(&judged, at, count)).sum())
}

/// The order of scores; they are no NaN.
fn highest_first(one: f64, other: f64) -> Ordering {
    other.partial_cmp(&one).unwrap_or(Ordering::Equal)
}

/// The threshold at a place, with the digits that NumPy gives it.
fn threshold(at: usize) -> f64 {
    if at + 1 == THRESHOLDS { 0.95 } else { at as f64 * ((0.95 - 0.5) / 9.0) + 0.5 }
}

/// Tells whether it does not matter if an object is found.
fn is_ignored(object: &Object) -> bool {
    object.is_crowd || !(0.0..=LARGEST).contains(&object.area)
}

/// Judges the boxes of one category in one image, the highest score first.
fn judge(mut scene: Scene<'_>) -> Vec<Judged> {
    scene.objects.sort_by_key(|object| is_ignored(object));
    scene.detections.sort_by(|one, other| highest_first(one.score, other.score));
    scene.detections.truncate(MOST);
    let (objects, detections) = (&scene.objects, &scene.detections);
    let overlaps: Vec<Vec<f64>> =
        detections.iter().map(|found| objects.iter().map(|object| found.place.overlap(object)).collect()).collect();
    let fresh = |found: &&Detection| {
        let is_odd = !(0.0..=LARGEST).contains(&found.place.area());
        Judged { score: found.score, is_hit: [false; THRESHOLDS], is_ignored: [is_odd; THRESHOLDS] }
    };
    let mut judged: Vec<Judged> = detections.iter().map(fresh).collect();
    for at in 0..THRESHOLDS {
        let mut is_taken = vec![false; objects.len()];
        for (judged, overlaps) in judged.iter_mut().zip(&overlaps) {
            let Some(best) = best(objects, overlaps, &is_taken, threshold(at)) else { continue };
            is_taken[best] = true;
            // Without an area of its own that counts, a box is ignored only when it was not found to be any object.
            judged.is_hit[at] = !objects[best].has_id_0;
            let is_odd = judged.is_ignored[at] && objects[best].has_id_0;
            judged.is_ignored[at] = is_ignored(objects[best]) || is_odd;
        }
    }
    judged
}

/// Returns the object that a box is taken for: of those with the largest overlap the last. Objects that are ignored
/// come last, and are looked at only when no other fits. An object is taken once, a crowd as often as it fits.
fn best(objects: &[&Object], overlaps: &[f64], is_taken: &[bool], threshold: f64) -> Option<usize> {
    let (mut best, mut least) = (None, threshold);
    for (place, object) in objects.iter().enumerate() {
        if is_taken[place] && !object.is_crowd {
            continue;
        }
        if best.is_some_and(|best: usize| !is_ignored(objects[best])) && is_ignored(object) {
            break;
        }
        if overlaps[place] >= least {
            (best, least) = (Some(place), overlaps[place]);
        }
    }
    best
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
    let wanted = (0..RECALLS).map(|place| if place + 1 == RECALLS { 1.0 } else { place as f64 * 0.01 });
    wanted.filter_map(|wanted| precisions.get(recalls.partition_point(|recall| *recall < wanted))).sum()
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

    fn found(left: f64, width: f64, score: f64) -> Detection {
        Detection { category: 1, score, place: Place { left, top: 0.0, width, height: 10.0 } }
    }

    fn score(objects: &[String], found: &[Detection]) -> Option<f64> {
        mean_average_precision(&boxes(&objects.join(",")), &[found.to_vec()])
    }

    #[test]
    fn precision_by_hand() {
        let two = [object(1, 0.0, 0), object(2, 50.0, 0)];
        let close = |found: &[Detection], wanted: f64| {
            let got = score(&two, found).unwrap();
            assert!((got - wanted).abs() < 1e-12, "{got} is not {wanted}");
        };
        close(&[found(0.0, 10.0, 0.9), found(50.0, 10.0, 0.8)], 1.0);
        // Half of the objects: 51 of 101 recalls.
        close(&[found(0.0, 10.0, 0.9)], 51.0 / 101.0);
        // A miss with the highest score halves the precision; one with the lowest does not matter.
        close(&[found(20.0, 10.0, 0.9), found(0.0, 10.0, 0.8)], 25.5 / 101.0);
        close(&[found(20.0, 10.0, 0.1), found(0.0, 10.0, 0.8)], 51.0 / 101.0);
        // An overlap of 0.8 passes seven of ten thresholds; of 0.5 one.
        close(&[found(0.0, 8.0, 0.9)], 0.7 * 51.0 / 101.0);
        close(&[found(0.0, 5.0, 0.9)], 0.1 * 51.0 / 101.0);
        // The same object twice: the second is a miss.
        close(
            &[found(0.0, 10.0, 0.9), found(0.0, 10.0, 0.8), found(50.0, 10.0, 0.7)],
            (51.0 + 50.0 * 2.0 / 3.0) / 101.0,
        );
        close(&[], 0.0);
    }

    #[test]
    fn what_is_found_in_a_crowd_does_not_count() {
        let objects = [object(1, 0.0, 0), object(2, 50.0, 1)];
        let all = [found(50.0, 10.0, 0.9), found(50.0, 5.0, 0.8), found(0.0, 10.0, 0.7)];
        assert!((score(&objects, &all).unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(score(&[object(1, 0.0, 1)], &all), None);
        assert_eq!(score(&[], &all), None);
    }
}
