//! The bytes of elements, regrouped: the first bytes of all elements, then all second bytes, and so on. What elements
//! have in common (zeros above small numbers, exponents) comes to lie together.

/// `raw` regrouped into `out` of the same length; what is less than an element at the end stays at the end.
pub(super) fn shuffle(raw: &[u8], out: &mut [u8], size: usize) {
    match size {
        2 => shuffle_fixed::<2>(raw, out),
        4 => shuffle_fixed::<4>(raw, out),
        8 => shuffle_fixed::<8>(raw, out),
        _ => shuffle_any(raw, out, size),
    }
}

/// Undoes [`shuffle`].
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

fn shuffle_fixed<const SIZE: usize>(raw: &[u8], out: &mut [u8]) {
    shuffle_any(raw, out, SIZE);
}

fn undo_fixed<const SIZE: usize>(shuffled: &[u8], out: &mut [u8]) {
    undo_any(shuffled, out, SIZE);
}
