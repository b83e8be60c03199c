//! Resizes as OpenCV's `INTER_LINEAR` does with bytes, bit by bit: whole numbers of 11 bits as weights, and rows that
//! are rounded down before they are added. Halving both sides takes the mean of four pixels, as there.

use crate::pixels::Pixels;

/// Bits of a weight.
const BITS: u32 = 11;
const ONE: f32 = (1u32 << BITS) as f32;

/// The two neighbours of a new row or column, and their weights.
#[derive(Clone, Copy)]
struct Step {
    at: [usize; 2],
    weights: [i32; 2],
}

/// The pixels of an image in another size.
pub(crate) fn resized(image: &Pixels, width: u32, height: u32) -> Vec<u8> {
    let (from_width, from_height) = (image.width(), image.height());
    if u64::from(from_width) == 2 * u64::from(width) && u64::from(from_height) == 2 * u64::from(height) {
        return halved(image.rgb(), 3 * width as usize);
    }
    let columns: Vec<Step> = (0..width).map(|place| column(place, from_width, width)).collect();
    let stride = 3 * from_width as usize;
    let wide = |row: usize| -> Vec<i32> {
        let row = &image.rgb()[row * stride..(row + 1) * stride];
        let pixel = |step: &Step, channel: usize| {
            let [one, other] = step.at.map(|at| i32::from(row[3 * at + channel]));
            (one * step.weights[0] + other * step.weights[1]) >> 4
        };
        columns.iter().flat_map(|step| [0, 1, 2].map(|channel| pixel(step, channel))).collect()
    };
    let mut resized = Vec::with_capacity(3 * width as usize * height as usize);
    // The rows that were made last; the next ones are often the same.
    let mut cache: [Option<(usize, Vec<i32>)>; 2] = [None, None];
    for place in 0..height {
        let step = step(place, from_height, height);
        let rows = step.at.map(|row| {
            let entry = cache.iter_mut().find(|entry| entry.as_ref().is_some_and(|(at, _)| *at == row));
            entry.and_then(Option::take).map_or_else(|| wide(row), |(_, values)| values)
        });
        let is_one_row = step.at[0] == step.at[1];
        let second = if is_one_row { &rows[0] } else { &rows[1] };
        let value = |(one, other): (&i32, &i32)| {
            let sum = ((step.weights[0] * one) >> 16) + ((step.weights[1] * other) >> 16);
            ((sum + 2) >> 2).clamp(0, 255) as u8
        };
        resized.extend(rows[0].iter().zip(second).map(value));
        let [first, second] = rows;
        cache = [Some((step.at[0], first)), Some((step.at[1], second))];
    }
    resized
}

/// The step of a row: beyond the edge the last row counts twice, with the weights of two.
fn step(place: u32, from: u32, to: u32) -> Step {
    let (below, share) = position(place, from, to);
    let last = i64::from(from) - 1;
    let at = [below, below + 1].map(|at| at.clamp(0, last) as usize);
    Step { at, weights: [weight(1.0 - share), weight(share)] }
}

/// The step of a column: beyond the edge the last column counts alone.
fn column(place: u32, from: u32, to: u32) -> Step {
    let (below, share) = position(place, from, to);
    let last = i64::from(from) - 1;
    let (below, share) = match below {
        ..0 => (0, 0.0),
        below if below >= last => (last, 0.0),
        below => (below, share),
    };
    let at = [below, (below + 1).min(last)].map(|at| at as usize);
    Step { at, weights: [weight(1.0 - share), weight(share)] }
}

/// The old row or column below the middle of a new one, and how far from it that middle is.
fn position(place: u32, from: u32, to: u32) -> (i64, f32) {
    let scale = 1.0 / (f64::from(to) / f64::from(from));
    let middle = ((f64::from(place) + 0.5) * scale - 0.5) as f32;
    let below = middle.floor();
    (below as i64, middle - below)
}

fn weight(share: f32) -> i32 {
    (share * ONE).round_ties_even() as i32
}

/// The means of four pixels each; `row_bytes` is the length of a new row.
fn halved(rgb: &[u8], row_bytes: usize) -> Vec<u8> {
    let pairs = rgb.chunks_exact(4 * row_bytes).map(|pair| pair.split_at(2 * row_bytes));
    let mean = |above: &[u8], below: &[u8], at: usize| {
        let place = 6 * (at / 3) + at % 3;
        let sum: u16 = [above[place], above[place + 3], below[place], below[place + 3]].map(u16::from).iter().sum();
        ((sum + 2) >> 2) as u8
    };
    pairs.flat_map(|(above, below)| (0..row_bytes).map(move |at| mean(above, below, at))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with the pixels of `cv2.resize` of opencv-python-headless 4.12 for this image.
    #[test]
    fn pixels_are_those_of_opencv() {
        let image: Vec<u8> = (0..5 * 4 * 3u32).map(|at| ((at * at * 37 + at * 11) % 256) as u8).collect();
        let image = Pixels::new(5, 4, image).unwrap();
        let expected = [58, 138, 163, 141, 164, 133, 88, 183, 223, 121, 116, 101, 125, 64, 77, 122, 132, 174];
        assert_eq!(resized(&image, 3, 2), expected);
        let expected = [
            82, 105, 201, 39, 232, 244, 90, 127, 195, 47, 212, 238, 109, 184, 177, 68, 158, 222, 129, 228, 159, 91,
            115, 207, 153, 176, 146, 117, 151, 196, 177, 124, 132, 143, 187, 184, 129, 101, 123, 148, 177, 177, 72, 82,
            113, 150, 160, 170, 51, 75, 110, 150, 154, 167,
        ];
        assert_eq!(resized(&image, 2, 9), expected);
        let even: Vec<u8> = image.rgb().chunks_exact(15).flat_map(|row| &row[..12]).copied().collect();
        let even = Pixels::new(4, 4, even).unwrap();
        assert_eq!(resized(&even, 2, 2), [77, 151, 171, 95, 165, 181, 119, 109, 109, 145, 131, 127]);
    }
}
