//! Post-processing of RetinaNet: from what its heads give to boxes, as MLPerf's reference implementation does it
//! (`vision/classification_and_detection/python/models/resnext50/retinanet.py`). Scores above 0.05, the best thousand
//! of each level, boxes from anchors, within the image; of boxes of one class that overlap by more than half the best;
//! 300 at most.
//!
//! A box is seven f32, as the accuracy scripts read them: 0 (the node does not know the number of the sample; scripts
//! take that of the log), top, left, bottom and right as shares of the image, score, class.

use std::cmp::Ordering;

/// A score that is not above this is no box.
const LEAST_SCORE: f32 = 0.05;
/// Most boxes of a level before those that overlap are left out.
const MOST_OF_LEVEL: usize = 1_000;
/// Boxes of one class that overlap by more are of one object.
const OVERLAP: f32 = 0.5;
/// Most boxes of an image.
const MOST: usize = 300;
/// The sides of the smallest anchors of each level, in pixels.
const SIDES: [f32; 5] = [32.0, 64.0, 128.0, 256.0, 512.0];
/// Heights of anchors as shares of their widths.
const RATIOS: [f32; 3] = [0.5, 1.0, 2.0];
/// Anchors at each place: three sizes in three shapes.
const ANCHORS: usize = 9;
/// Number of times that the image is halved before the first level.
const HALVED: u32 = 3;
/// The largest number that becomes a side by `exp`: ln(1000 / 16).
const LARGEST_EXPONENT: f32 = 4.135_166_6;
/// Numbers of a box in an answer.
pub(super) const BOX: usize = 7;

/// The size of the images that a model takes, in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageSize {
    /// Number of rows.
    pub height: u32,
    /// Number of pixels in a row.
    pub width: u32,
}

/// A box that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Detection {
    /// Edges of the box: left, top, right and bottom, in pixels.
    corners: [f32; 4],
    score: f32,
    class: usize,
}

impl ImageSize {
    /// The number of rows that the heads give for an image.
    pub(super) fn anchors(self) -> usize {
        (0..SIDES.len()).map(|level| self.level(level)).map(|(rows, columns)| rows * columns * ANCHORS).sum()
    }

    /// Rows and columns of places at a level.
    fn level(self, level: usize) -> (usize, usize) {
        let halved = |side: u32| (0..HALVED + level as u32).fold(side, |side, _| side.div_ceil(2)) as usize;
        (halved(self.height), halved(self.width))
    }

    /// The boxes of one image. `logits` has a number for each anchor and class, `offsets` four for each anchor: where
    /// the middle of its box is, and how wide and high the box is.
    ///
    /// # Errors
    /// The numbers are not those of so many anchors; the text says so.
    pub(super) fn boxes(self, logits: &[f32], offsets: &[f32]) -> Result<Vec<f32>, String> {
        let anchors = self.anchors();
        let classes = logits.len() / anchors.max(1);
        if classes == 0 || logits.len() != classes * anchors || offsets.len() != 4 * anchors {
            let (logits, offsets) = (logits.len(), offsets.len());
            return Err(format!("{logits} logits and {offsets} offsets are not those of {anchors} anchors"));
        }
        let (mut detections, mut first) = (Vec::new(), 0);
        for level in 0..SIDES.len() {
            let (rows, columns) = self.level(level);
            let count = rows * columns * ANCHORS;
            for (place, score) in best(&logits[first * classes..(first + count) * classes]) {
                let (anchor, class) = (place / classes, place % classes);
                let four = &offsets[4 * (first + anchor)..4 * (first + anchor) + 4];
                let corners = self.decoded(self.anchor(level, anchor), [four[0], four[1], four[2], four[3]]);
                detections.push(Detection { corners, score, class });
            }
            first += count;
        }
        Ok(self.answer(&without_overlaps(detections)))
    }

    /// The boxes of a model that leaves nothing to be done but their form: corners in pixels, scores from the highest
    /// one on, and classes.
    pub(super) fn finished(self, corners: &[f32], scores: &[f32], classes: &[f32]) -> Vec<f32> {
        let all = corners.as_chunks::<4>().0.iter().zip(scores).zip(classes);
        let detections =
            all.map(|((corners, score), class)| Detection { corners: *corners, score: *score, class: *class as usize });
        // As there, one that is too low ends the list.
        let detections: Vec<Detection> = detections.take_while(|detection| detection.score >= LEAST_SCORE).collect();
        self.answer(&detections)
    }

    fn answer(self, detections: &[Detection]) -> Vec<f32> {
        let (height, width) = (self.height as f32, self.width as f32);
        let seven = |detection: &Detection| {
            let [left, top, right, bottom] = detection.corners;
            [0.0, top / height, left / width, bottom / height, right / width, detection.score, detection.class as f32]
        };
        detections.iter().flat_map(seven).collect()
    }

    /// The corners of an anchor, by its number within a level.
    fn anchor(self, level: usize, number: usize) -> [f32; 4] {
        let (rows, columns) = self.level(level);
        let (place, kind) = (number / ANCHORS, number % ANCHORS);
        let down = (place / columns) as f32 * (self.height as usize / rows) as f32;
        let right = (place % columns) as f32 * (self.width as usize / columns) as f32;
        let high = RATIOS[kind / 3].sqrt();
        // Whole pixels, rounded down in f64.
        let side = (f64::from(SIDES[level]) * 2f64.powf((kind % 3) as f64 / 3.0)).trunc() as f32;
        let [width, height] = [(1.0 / high) * side, high * side];
        let half = |side: f32| (side / 2.0).round_ties_even();
        [right - half(width), down - half(height), right + half(width), down + half(height)]
    }

    /// The corners of the box that is meant by an anchor and four offsets, within the image.
    fn decoded(self, [left, top, right, bottom]: [f32; 4], [dx, dy, dw, dh]: [f32; 4]) -> [f32; 4] {
        let side = |from: f32, to: f32, shift: f32, exponent: f32, most: u32| {
            let length = to - from;
            let middle = shift * length + (from + 0.5 * length);
            let half = 0.5 * (exponent.min(LARGEST_EXPONENT).exp() * length);
            [middle - half, middle + half].map(|end| end.clamp(0.0, most as f32))
        };
        let [left, right] = side(left, right, dx, dw, self.width);
        let [top, bottom] = side(top, bottom, dy, dh, self.height);
        [left, top, right, bottom]
    }
}

/// The places of the best scores of a level, with the scores, best first.
fn best(logits: &[f32]) -> Vec<(usize, f32)> {
    let scores = logits.iter().map(|logit| 1.0 / (1.0 + (-logit).exp()));
    // A NaN is not above anything.
    let mut scores: Vec<(usize, f32)> = scores.enumerate().filter(|(_, score)| *score > LEAST_SCORE).collect();
    scores.sort_by(|(_, one), (_, other)| highest_first(*one, *other));
    scores.truncate(MOST_OF_LEVEL);
    scores
}

fn highest_first(one: f32, other: f32) -> Ordering {
    other.partial_cmp(&one).unwrap_or(Ordering::Equal)
}

/// Those that do not overlap a better one of their class, best first.
fn without_overlaps(mut candidates: Vec<Detection>) -> Vec<Detection> {
    candidates.sort_by(|one, other| highest_first(one.score, other.score));
    let mut detections: Vec<Detection> = Vec::new();
    for one in candidates {
        let is_same = |better: &Detection| better.class == one.class && overlap(better, &one) > OVERLAP;
        if !detections.iter().any(is_same) {
            detections.push(one);
        }
        if detections.len() == MOST {
            break;
        }
    }
    detections
}

/// The area that both have, as a share of the area that at least one has.
fn overlap(one: &Detection, other: &Detection) -> f32 {
    let area = |[left, top, right, bottom]: [f32; 4]| (right - left) * (bottom - top);
    let ([a, b, c, d], [e, f, g, h]) = (one.corners, other.corners);
    let both = (c.min(g) - a.max(e)).max(0.0) * (d.min(h) - b.max(f)).max(0.0);
    both / (area(one.corners) + area(other.corners) - both)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: ImageSize = ImageSize { height: 128, width: 128 };

    /// Heads that find nothing, but for these: an anchor, a class, a logit.
    fn heads(hits: &[(usize, usize, f32)]) -> Vec<f32> {
        let mut logits = vec![-20.0; 2 * SMALL.anchors()];
        hits.iter().for_each(|(anchor, class, logit)| logits[2 * anchor + class] = *logit);
        SMALL.boxes(&logits, &vec![0.0; 4 * SMALL.anchors()]).unwrap()
    }

    #[test]
    fn anchors_are_those_of_the_reference() {
        assert_eq!((SMALL.anchors(), ImageSize { height: 800, width: 800 }.anchors()), (3_069, 120_087));
        assert_eq!(SMALL.anchor(0, 0), [-23.0, -11.0, 23.0, 11.0]);
        assert_eq!(SMALL.anchor(0, 4), [-20.0, -20.0, 20.0, 20.0]);
        // The second place of the second row, 16 to a row and 8 pixels apart.
        assert_eq!(SMALL.anchor(0, 17 * 9 + 3), [-8.0, -8.0, 24.0, 24.0]);
        // At the last level of 800 pixels, 7 places are 114 pixels apart.
        assert_eq!(ImageSize { height: 800, width: 800 }.anchor(4, 9 + 3), [-142.0, -256.0, 370.0, 256.0]);
    }

    #[test]
    fn boxes_by_hand() {
        // The middle of the third row and place: 16 pixels, a square of 32.
        let middle = (2 * 16 + 2) * 9 + 3;
        let boxes = heads(&[(middle, 1, 0.0)]);
        assert_eq!(boxes, [0.0, 0.0, 0.0, 0.25, 0.25, 0.5, 1.0]);
        // A logit of -3 is a score of less than 0.05.
        assert_eq!(heads(&[(middle, 1, -3.0)]), [0f32; 0]);
        // The next place overlaps by 24 of 40 columns: one object, unless the class is another.
        assert_eq!(heads(&[(middle, 1, 0.0), (middle + 9, 1, 1.0)]).len(), BOX);
        assert_eq!(heads(&[(middle, 1, 0.0), (middle + 9, 0, 1.0)]).len(), 2 * BOX);
        // The place after that overlaps by 16 of 48.
        let two = heads(&[(middle, 1, 0.0), (middle + 18, 1, 1.0)]);
        assert!(two.len() == 2 * BOX && two[5] > two[12], "{two:?}");
        assert!(SMALL.boxes(&[0.0; 7], &[0.0; 4]).unwrap_err().contains("3069 anchors"));
    }

    #[test]
    fn offsets_move_and_stretch_a_box_within_the_image() {
        let decoded = |offsets| SMALL.decoded([0.0, 0.0, 32.0, 32.0], offsets);
        assert_eq!(decoded([0.5, 0.0, 0.0, 0.0]), [16.0, 0.0, 48.0, 32.0]);
        assert_eq!(decoded([1.0, 1.0, 2f32.ln(), 0.0]), [16.0, 32.0, 80.0, 64.0]);
        assert_eq!(decoded([-1.0, 0.0, 90.0, 90.0]), [0.0, 0.0, 128.0, 128.0]);
    }

    #[test]
    fn finished_boxes_end_at_the_first_low_score() {
        let corners = [0.0, 32.0, 64.0, 128.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 2.0, 2.0];
        let boxes = SMALL.finished(&corners, &[0.9, 0.01, 0.8], &[7.0, 1.0, 2.0]);
        assert_eq!(boxes, [0.0, 0.25, 0.0, 1.0, 0.5, 0.9, 7.0]);
    }
}
