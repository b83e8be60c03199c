//! Differences between neighbouring pixels: in smooth images they are small numbers around zero.

/// Writes to `out`, which has the length of `raw`, each byte minus the byte `stride` places before it.
pub(super) fn delta(raw: &[u8], out: &mut [u8], stride: usize) {
    let first = stride.min(raw.len());
    out[..first].copy_from_slice(&raw[..first]);
    let before = &raw[..raw.len() - first];
    for ((out, this), before) in out[first..].iter_mut().zip(&raw[first..]).zip(before) {
        *out = this.wrapping_sub(*before);
    }
}

/// Undoes [`delta`] in place.
pub(super) fn undo(bytes: &mut [u8], stride: usize) {
    match stride {
        1 => undo_fixed::<1>(bytes),
        2 => undo_fixed::<2>(bytes),
        3 => undo_fixed::<3>(bytes),
        4 => undo_fixed::<4>(bytes),
        _ => (stride..bytes.len()).for_each(|i| bytes[i] = bytes[i].wrapping_add(bytes[i - stride])),
    }
}

fn undo_fixed<const STRIDE: usize>(bytes: &mut [u8]) {
    let (pixels, tail) = bytes.as_chunks_mut::<STRIDE>();
    let mut sum = [0u8; STRIDE];
    for pixel in pixels {
        for (sum, byte) in sum.iter_mut().zip(pixel) {
            *sum = sum.wrapping_add(*byte);
            *byte = *sum;
        }
    }
    for (sum, byte) in sum.iter().zip(tail) {
        *byte = byte.wrapping_add(*sum);
    }
}
