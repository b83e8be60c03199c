//! The orientation of the picture in a file, by the tag Orientation of its EXIF segment, and the turn to upright.
//!
//! The reference implementations of MLPerf read pictures with OpenCV's `imread`, which turns them so.

use crate::pixels::{ImageError, Pixels};

/// The start of a segment with EXIF data.
const EXIF: &[u8] = b"Exif\0\0";
/// The tag Orientation (EXIF 2.32, 4.6.4).
const TAG: u16 = 0x0112;
/// Bytes of an entry in a directory.
const ENTRY_BYTES: usize = 12;

/// Steps from the rows of a file to the upright picture: first transposed, then mirrored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Orientation {
    is_transposed: bool,
    mirrors_columns: bool,
    mirrors_rows: bool,
}

impl Orientation {
    /// The orientation that the content of a segment APP1 states. None: it is no EXIF segment, or it states none.
    pub(crate) fn of_segment(content: &[u8]) -> Option<Orientation> {
        let tiff = content.strip_prefix(EXIF)?;
        let is_little = match tiff.get(..4)? {
            b"II*\0" => true,
            b"MM\0*" => false,
            _ => return None,
        };
        let bytes = |at: usize| tiff.get(at..);
        let short = |at: usize| {
            let short = *bytes(at)?.first_chunk()?;
            Some(if is_little { u16::from_le_bytes(short) } else { u16::from_be_bytes(short) })
        };
        let long = *bytes(4)?.first_chunk()?;
        let directory = if is_little { u32::from_le_bytes(long) } else { u32::from_be_bytes(long) } as usize;
        // Only the first directory is about the picture; others are about its thumbnail.
        let entries = (0..usize::from(short(directory)?)).map(|entry| directory + 2 + ENTRY_BYTES * entry);
        let mut entries = entries.take_while(|entry| *entry < tiff.len());
        let value = short(entries.find(|entry| short(*entry) == Some(TAG))? + 8)?;
        (1..=8).contains(&value).then_some(Orientation {
            is_transposed: value >= 5,
            mirrors_columns: matches!(value, 2 | 3 | 6 | 7),
            mirrors_rows: matches!(value, 3 | 4 | 7 | 8),
        })
    }

    /// Width and height of the upright picture.
    pub(crate) fn size(self, width: u32, height: u32) -> (u32, u32) {
        if self.is_transposed { (height, width) } else { (width, height) }
    }

    /// Bytes of the copy that turning makes, for a picture of this many bytes.
    pub(crate) fn copy_bytes(self, picture: u64) -> u64 {
        if self == Orientation::default() { 0 } else { picture }
    }

    /// The upright picture.
    ///
    /// # Errors
    /// As of [`Pixels::new`], which takes all pixels of a picture.
    pub(crate) fn upright(self, pixels: Pixels) -> Result<Pixels, ImageError> {
        if self == Orientation::default() {
            return Ok(pixels);
        }
        let (width, height) = self.size(pixels.width(), pixels.height());
        let stride = pixels.width() as usize;
        let (from, mut rgb) = (pixels.rgb(), Vec::with_capacity(pixels.rgb().len()));
        for row in 0..height {
            let row = if self.mirrors_rows { height - 1 - row } else { row };
            for column in 0..width {
                let column = if self.mirrors_columns { width - 1 - column } else { column };
                let (row, column) = (row as usize, column as usize);
                let (x, y) = if self.is_transposed { (row, column) } else { (column, row) };
                let at = 3 * (y * stride + x);
                rgb.extend_from_slice(&from[at..at + 3]);
            }
        }
        Pixels::new(width, height, rgb)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A segment whose directory has another entry, and then Orientation.
    fn segment(is_little: bool, value: u16) -> Vec<u8> {
        let short = |value: u16| if is_little { value.to_le_bytes() } else { value.to_be_bytes() };
        let long = |value: u32| if is_little { value.to_le_bytes() } else { value.to_be_bytes() };
        let entry = |tag, value| [&short(tag)[..], &short(3), &long(1), &short(value), &[0, 0]].concat();
        let head: &[u8] = if is_little { b"II*\0" } else { b"MM\0*" };
        [EXIF, head, &long(8), &short(2), &entry(0x0100, 6), &entry(TAG, value), &long(0)].concat()
    }

    /// Rows of letters, each letter a pixel.
    fn letters(pixels: &Pixels) -> Vec<String> {
        let row = |row: &[u8]| row.chunks(3).map(|rgb| char::from(rgb[0])).collect();
        pixels.rgb().chunks(3 * pixels.width() as usize).map(row).collect()
    }

    /// Compares with the picture that `cv2.imread` of opencv-python-headless 4.12 makes of a file with each value.
    #[test]
    fn all_eight_ways_to_lie_become_upright() {
        let lying = Pixels::new(3, 2, b"abcdef".iter().flat_map(|letter| [*letter; 3]).collect()).unwrap();
        for (value, upright) in [
            (1, vec!["abc", "def"]),
            (2, vec!["cba", "fed"]),
            (3, vec!["fed", "cba"]),
            (4, vec!["def", "abc"]),
            (5, vec!["ad", "be", "cf"]),
            (6, vec!["da", "eb", "fc"]),
            (7, vec!["fc", "eb", "da"]),
            (8, vec!["cf", "be", "ad"]),
        ] {
            for is_little in [true, false] {
                let of = Orientation::of_segment(&segment(is_little, value)).unwrap();
                assert_eq!(letters(&of.upright(lying.clone()).unwrap()), upright, "{value}");
                assert_eq!(of.size(3, 2), (upright[0].len() as u32, upright.len() as u32), "{value}");
            }
        }
    }

    #[test]
    fn damaged_or_other_segments_say_nothing() {
        let good = segment(true, 6);
        for odd in [0, 9, 65_535] {
            assert_eq!(Orientation::of_segment(&segment(false, odd)), None, "{odd}");
        }
        for len in 0..good.len() - 6 {
            assert_eq!(Orientation::of_segment(&good[..len]), None, "{len}");
        }
        let far = [EXIF, b"MM\0*", &[0xff; 4], &[0xff; 40]].concat();
        assert_eq!([&b"JFIF\0"[..], &far].map(Orientation::of_segment), [None; 2]);
    }
}
