use jpeg_encoder::{ColorType, Encoder, SamplingFactor};

use super::*;

fn encoded(data: &[u8], width: u16, height: u16, kind: ColorType, progressive: bool) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, 95);
    encoder.set_sampling_factor(SamplingFactor::F_1_1);
    encoder.set_progressive(progressive);
    encoder.encode(data, width, height, kind).unwrap();
    file
}

/// Returns pixels: the left half has one colour, the right half another.
fn halves(width: u16, height: u16, left: &[u8], right: &[u8]) -> Vec<u8> {
    let row = (0..width).flat_map(|x| if x < width / 2 { left } else { right }).copied();
    let row: Vec<u8> = row.collect();
    row.repeat(usize::from(height))
}

fn rgb_at(pixels: &Pixels, x: u32, y: u32) -> [u8; 3] {
    let at = 3 * (y * pixels.width() + x) as usize;
    pixels.rgb()[at..at + 3].try_into().unwrap()
}

fn assert_near(actual: [u8; 3], expected: [u8; 3], what: &str) {
    let far = actual.iter().zip(expected).any(|(actual, expected)| actual.abs_diff(expected) > 4);
    assert!(!far, "{what}: {actual:?}, not {expected:?}");
}

#[test]
fn every_kind_of_colour_becomes_rgb() {
    let ink = |cyan: u8, magenta: u8, yellow: u8, black: u8| {
        [cyan, magenta, yellow].map(|ink| (f64::from(255 - ink) * f64::from(255 - black) / 255.0).round() as u8)
    };
    let (one, other) = ([10, 200, 30, 0], [90, 20, 160, 100]);
    let inks = [ink(one[0], one[1], one[2], one[3]), ink(other[0], other[1], other[2], other[3])];
    let rgb: [&[u8]; 2] = [&[200, 30, 90], &[20, 180, 240]];
    for progressive in [false, true] {
        for (kind, left, right, expected) in [
            (ColorType::Rgb, rgb[0], rgb[1], [[200, 30, 90], [20, 180, 240]]),
            (ColorType::Luma, &[40][..], &[220][..], [[40; 3], [220; 3]]),
            (ColorType::Cmyk, &one[..], &other[..], inks),
            (ColorType::CmykAsYcck, &one[..], &other[..], inks),
        ] {
            let file = encoded(&halves(64, 24, left, right), 64, 24, kind, progressive);
            let pixels = decode_jpeg(&file).unwrap();
            assert_eq!((pixels.width(), pixels.height(), pixels.rgb().len()), (64, 24, 64 * 24 * 3));
            let what = format!("{kind:?} progressive={progressive}");
            assert_near(rgb_at(&pixels, 3, 3), expected[0], &what);
            assert_near(rgb_at(&pixels, 60, 20), expected[1], &what);
        }
    }
}

#[test]
fn one_pixel_is_a_picture() {
    let pixels = decode_jpeg(&encoded(&[250, 128, 3], 1, 1, ColorType::Rgb, false)).unwrap();
    assert_eq!((pixels.width(), pixels.height()), (1, 1));
    assert_near(rgb_at(&pixels, 0, 0), [250, 128, 3], "one pixel");
}

#[test]
fn a_file_that_was_cut_off_anywhere_is_an_error() {
    let noise: Vec<u8> = (0..48 * 48 * 3u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    for progressive in [false, true] {
        let file = encoded(&noise, 48, 48, ColorType::Rgb, progressive);
        assert!(decode_jpeg(&file).is_ok());
        for len in 0..file.len() {
            let error = decode_jpeg(&file[..len]).expect_err("a truncated file");
            assert!(!error.to_string().is_empty() && !error.to_string().contains('\n'), "{error}");
        }
        let error = decode_jpeg(&file[..file.len() - 2]).unwrap_err();
        assert_eq!(error, ImageError::Truncated(file.len() - 2));
        // Bytes behind the end are no harm.
        assert!(decode_jpeg(&[file.as_slice(), &[0; 9]].concat()).is_ok());
    }
}

#[test]
fn data_that_end_early_are_an_error_though_the_file_has_an_end() {
    let noise: Vec<u8> = (0..48 * 48 * 3u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    for interval in [0, 3] {
        let mut file = Vec::new();
        let mut encoder = Encoder::new(&mut file, 95);
        encoder.set_restart_interval(interval);
        encoder.encode(&noise, 48, 48, ColorType::Rgb).unwrap();
        assert!(decode_jpeg(&file).is_ok());
        let scan = file.windows(2).position(|pair| pair == [0xff, 0xda]).unwrap() + 14;
        for len in (scan..file.len() - 8).step_by(7) {
            let cut = [&file[..len], &[0xff, 0xd9]].concat();
            let error = decode_jpeg(&cut).expect_err("pixels are missing").to_string();
            assert!(error.contains("is cut") || error.contains("cannot be decoded"), "{len}: {error}");
        }
        // A picture of few bytes that claims to be large.
        let frame = file.windows(2).position(|pair| pair == [0xff, 0xc0]).unwrap();
        file[frame + 5..frame + 9].copy_from_slice(&[0x02, 0xff, 0x02, 0xff]);
        assert!(decode_jpeg(&file).is_err());
    }
    // The last scan of a progressive file.
    let file = encoded(&noise, 48, 48, ColorType::Rgb, true);
    let scan = file.windows(2).rposition(|pair| pair == [0xff, 0xda]).unwrap();
    for len in (scan + 10..file.len() - 8).step_by(7) {
        assert!(decode_jpeg(&[&file[..len], &[0xff, 0xd9]].concat()).is_err(), "{len}");
    }
}

/// Pictures of one colour have data of few bytes, and of every number of bits.
#[test]
fn data_of_any_length_are_whole() {
    for progressive in [false, true] {
        for grey in 0..=255 {
            for size in [1, 7, 8, 9, 16, 33] {
                let data = vec![grey; usize::from(size) * usize::from(size)];
                let file = encoded(&data, size, size, ColorType::Luma, progressive);
                assert!(decode_jpeg(&file).is_ok(), "{grey} {size} {progressive}: {:?}", decode_jpeg(&file));
            }
        }
    }
}

#[test]
fn damage_is_no_panic() {
    let file = encoded(&halves(40, 40, &[9, 99, 199], &[77, 7, 177]), 40, 40, ColorType::Rgb, false);
    let mut state = 1u64;
    for _ in 0..4_000 {
        let mut damaged = file.clone();
        for _ in 0..3 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = (state >> 33) as usize % damaged.len();
            damaged[at] = (state >> 25) as u8;
        }
        let _ = decode_jpeg(&damaged);
    }
}

#[test]
fn what_is_no_jpeg_is_named() {
    for (file, part) in [
        (&b""[..], "empty"),
        (b"\x89PNG\r\n\x1a\n", "a PNG"),
        (b"GIF89a", "a GIF"),
        (b"RIFFxxxxWEBP", "WebP"),
        (b"hello", "FF D8 FF"),
    ] {
        let error = decode_jpeg(file).unwrap_err().to_string();
        assert!(error.contains("not a JPEG") && error.contains(part), "{error}");
    }
}

#[test]
fn absurd_sizes_take_no_memory() {
    let mut file = encoded(&[1, 2, 3], 1, 1, ColorType::Rgb, false);
    let frame = file.windows(2).position(|pair| pair == [0xff, 0xc0]).unwrap();
    file[frame + 5..frame + 9].copy_from_slice(&[0xff, 0xff, 0xff, 0xff]);
    let error = decode_jpeg(&file).unwrap_err();
    assert_eq!(error, ImageError::Large { width: 65_535, height: 65_535 });
    assert!(Pixels::new(2, 2, vec![0; 11]).is_err() && Pixels::new(0, 2, Vec::new()).is_err());
}

/// A file whose header says this size; nothing follows the header.
fn header_of(width: u16, height: u16) -> Vec<u8> {
    let mut file = encoded(&[0; 3 * 64], 8, 8, ColorType::Rgb, false);
    let frame = file.windows(2).position(|pair| pair == [0xff, 0xc0]).unwrap();
    file[frame + 5..frame + 7].copy_from_slice(&height.to_be_bytes());
    file[frame + 7..frame + 9].copy_from_slice(&width.to_be_bytes());
    file
}

#[test]
fn the_memory_of_an_image_is_known_before_it_is_decoded() {
    for progressive in [false, true] {
        let file = encoded(&[0; 3 * 640 * 480], 640, 480, ColorType::Rgb, progressive);
        let size = jpeg_size(&file).unwrap();
        assert_eq!((size.width, size.height), (640, 480));
        let bytes = size.decoding_bytes;
        assert!((3 * 640 * 480..12 * 640 * 640 + 1).contains(&bytes), "{bytes}");
        assert!(decode_jpeg_within(&file, bytes).is_ok());
        let message = decode_jpeg_within(&file, bytes - 1).unwrap_err().to_string();
        assert!(message.contains("640x480 pixels take up to") && message.contains("are allowed"), "{message}");
    }
    let large = header_of(8_000, 8_000);
    assert!(jpeg_size(&large).unwrap().decoding_bytes > 700_000_000);
    assert!(matches!(decode_jpeg_within(&large, 1 << 20), Err(ImageError::Memory { .. })));
    for none in [&b""[..], b"\xff\xd8", b"\xff\xd8\xff\xe0\x00", b"\xff\xd8\xff\xda\x00\x02", &[0xff; 5_000]] {
        assert_eq!(jpeg_size(none), None, "{none:?}");
    }
    // Segments without end and without a frame.
    assert_eq!(jpeg_size(&[b"\xff\xd8".to_vec(), b"\xff\xe0\x00\x02".repeat(2_000)].concat()), None);
}

/// A file with this value of Orientation in an EXIF segment behind its JFIF segment.
fn lying(file: &[u8], value: u8) -> Vec<u8> {
    let before = b"\xff\xe1\x00\x22Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0";
    let exif = [&before[..], &[value], &[0; 6]];
    let (head, tail) = file.split_at(20);
    [head, &exif.concat(), tail].concat()
}

#[test]
fn pictures_are_turned_as_their_exif_segment_says() {
    let file = encoded(&halves(64, 24, &[200, 30, 90], &[20, 180, 240]), 64, 24, ColorType::Rgb, false);
    let (left, right) = ([200, 30, 90], [20, 180, 240]);
    for (value, size, first, last) in [
        (1, (64, 24), left, right),
        (3, (64, 24), right, left),
        (6, (24, 64), left, right),
        (8, (24, 64), right, left),
        (9, (64, 24), left, right),
    ] {
        let file = lying(&file, value);
        let (pixels, header) = (decode_jpeg(&file).unwrap(), jpeg_size(&file).unwrap());
        assert_eq!((pixels.width(), pixels.height()), size, "{value}");
        assert_eq!((header.width, header.height), size, "{value}");
        assert_near(rgb_at(&pixels, 3, 3), first, &format!("first corner of {value}"));
        assert_near(rgb_at(&pixels, size.0 - 4, size.1 - 4), last, &format!("last corner of {value}"));
        let more =
            header.decoding_bytes - jpeg_size(&lying(&file, 1)).unwrap().decoding_bytes.min(header.decoding_bytes);
        assert_eq!(more > 0, matches!(value, 3 | 6 | 8), "turning {value} takes a copy");
    }
}
