//! The bytes of elements, regrouped: the first bytes of all elements, then all second bytes, and so on. What elements
//! have in common (zeros above small numbers, exponents) then lies together.

/// Regroups `raw` into `out` of the same length. Bytes at the end that are less than an element stay there.
pub(super) fn shuffle(raw: &[u8], out: &mut [u8], size: usize) {
    match size {
        2 => shuffle_fixed::<2>(raw, out),
        4 => shuffle_fixed::<4>(raw, out),
        8 => shuffle_fixed::<8>(raw, out),
        _ => shuffle_any(raw, out, size),
    }
}

/// Undoes [`shuffle`]: writes the elements of `shuffled` to `out`, which has the same length.
pub(super) fn undo(shuffled: &[u8], out: &mut [u8], size: usize) {
    match size {
        2 => undo_fixed::<2>(shuffled, out),
        4 => undo_fixed::<4>(shuffled, out),
        8 => undo_fixed::<8>(shuffled, out),
        _ => undo_any(shuffled, out, size),
    }
}

fn shuffle_any(raw: &[u8], out: &mut [u8], size: usize) {
    let count = raw.len() / size;
    for (i, element) in raw.chunks_exact(size).enumerate() {
        element.iter().enumerate().for_each(|(place, byte)| out[place * count + i] = *byte);
    }
    out[count * size..].copy_from_slice(&raw[count * size..]);
}

fn undo_any(shuffled: &[u8], out: &mut [u8], size: usize) {
    let count = shuffled.len() / size;
    for (i, element) in out.chunks_exact_mut(size).enumerate() {
        element.iter_mut().enumerate().for_each(|(place, byte)| *byte = shuffled[place * count + i]);
    }
    out[count * size..].copy_from_slice(&shuffled[count * size..]);
}

/// Number of elements that are regrouped at a time: the compiler makes a few vector instructions of such a loop.
const BLOCK: usize = 16;

fn shuffle_fixed<const SIZE: usize>(raw: &[u8], out: &mut [u8]) {
    let count = raw.len() / SIZE;
    let blocks = count / BLOCK;
    for i in 0..blocks {
        let block = &raw[i * BLOCK * SIZE..(i + 1) * BLOCK * SIZE];
        for place in 0..SIZE {
            let start = place * count + i * BLOCK;
            let regrouped = &mut out[start..start + BLOCK];
            for (k, byte) in regrouped.iter_mut().enumerate() {
                *byte = block[k * SIZE + place];
            }
        }
    }
    for i in blocks * BLOCK..count {
        (0..SIZE).for_each(|place| out[place * count + i] = raw[i * SIZE + place]);
    }
    out[count * SIZE..].copy_from_slice(&raw[count * SIZE..]);
}

fn undo_fixed<const SIZE: usize>(shuffled: &[u8], out: &mut [u8]) {
    let (elements, tail) = out.as_chunks_mut::<SIZE>();
    let count = elements.len();
    let (blocks, last) = elements.as_chunks_mut::<BLOCK>();
    let done = blocks.len() * BLOCK;
    for (i, block) in blocks.iter_mut().enumerate() {
        let start = |place: usize| place * count + i * BLOCK;
        let places: [&[u8]; SIZE] = std::array::from_fn(|place| &shuffled[start(place)..start(place) + BLOCK]);
        for (k, element) in block.iter_mut().enumerate() {
            for (byte, regrouped) in element.iter_mut().zip(places) {
                *byte = regrouped[k];
            }
        }
    }
    for (i, element) in (done..).zip(last) {
        element.iter_mut().enumerate().for_each(|(place, byte)| *byte = shuffled[place * count + i]);
    }
    tail.copy_from_slice(&shuffled[count * SIZE..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fast_ways_do_what_the_plain_one_does() {
        for size in [2, 4, 8] {
            for len in (0..300).chain([4_099]) {
                let raw: Vec<u8> = (0..len).map(|i| (i * 7 / 3) as u8).collect();
                let (mut plain, mut fast, mut back) = (vec![0; len], vec![0; len], vec![0; len]);
                shuffle_any(&raw, &mut plain, size);
                shuffle(&raw, &mut fast, size);
                assert_eq!(plain, fast, "{size} {len}");
                undo(&fast, &mut back, size);
                assert_eq!(back, raw, "{size} {len}");
            }
        }
    }
}
