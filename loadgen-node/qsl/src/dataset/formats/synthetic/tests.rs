use lon_proto::codec::Codec;

use super::*;
use crate::dataset::Dataset;

#[test]
fn floating_point_noise_is_ordinary_numbers() {
    let tensor = |text: &str| parse(text).unwrap().tensors(3).unwrap().remove(0).data().clone();
    let f32s = tensor("synthetic:f32[999]x4");
    let values: Vec<f32> = f32s.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    assert!(values.iter().all(|value| (1.0..2.0).contains(value)), "{values:?}");
    let mean = values.iter().sum::<f32>() / values.len() as f32;
    assert!((1.45..1.55).contains(&mean), "{mean}");
    let f64s = tensor("synthetic:f64[99]x4");
    assert!(f64s.as_chunks().0.iter().all(|bytes| (1.0..2.0).contains(&f64::from_le_bytes(*bytes))));
    let f16s = tensor("synthetic:f16[99]x4");
    assert!(f16s.as_chunks().0.iter().all(|bytes| u16::from_le_bytes(*bytes) >> 10 == 15));
}

/// Small ones of every kind.
const KINDS: [&str; 6] = [
    "synthetic:f32[3, 5]x10",
    "synthetic:image-u8[32,40,3]x10",
    "synthetic:image-u8[3,32,40]x10",
    "synthetic:image-u8[5,7,1]x10",
    "synthetic:tokens-i64[24]x10",
    "synthetic:tokens-i32[2,24]x10",
];

fn payload(text: &str, index: usize) -> Bytes {
    let mut dataset = Dataset::from(open(text).unwrap());
    dataset.load([index].into_iter()).unwrap();
    dataset.payload(index)
}

fn ratio(text: &str, codec: &str) -> f64 {
    let mut dataset = Dataset::from(open(text).unwrap());
    dataset.set_codec(codec.parse::<Codec>().unwrap());
    dataset.load(0..dataset.total_count()).unwrap();
    dataset.loaded().ratio()
}

#[test]
fn samples_differ_and_are_the_same_again() {
    for text in KINDS {
        assert_eq!(payload(text, 3), payload(text, 3), "{text}");
        assert_ne!(payload(text, 3), payload(text, 4), "{text}");
    }
    assert_eq!(payload(KINDS[0], 3).len(), 16 + 60);
}

/// Both layouts of one image hold the same pixels.
#[test]
fn channels_may_come_first_or_last() {
    let (last, first) = (payload("synthetic:image-u8[6,9,3]x2", 1), payload("synthetic:image-u8[3,6,9]x2", 1));
    for pixel in 0..54 {
        for channel in 0..3 {
            assert_eq!(last[16 + pixel * 3 + channel], first[16 + channel * 54 + pixel]);
        }
    }
}

/// Checks ratios against the published ones for such data. zstd gains little on photographs and more on differences;
/// padded texts shrink several times.
#[test]
fn ratios_are_those_of_natural_data() {
    let images = "synthetic:image-u8[224,224,3]x16";
    let (plain, delta) = (ratio(images, "zstd"), ratio(images, "delta-zstd"));
    assert!((1.1..1.4).contains(&plain), "{plain}");
    assert!((1.8..2.5).contains(&delta), "{delta}");
    let planes = ratio("synthetic:image-u8[3,224,224]x16", "delta-zstd");
    assert!((planes / delta - 1.0).abs() < 0.1, "{planes} {delta}");
    let texts = ratio("synthetic:tokens-i64[384]x64", "zstd");
    assert!((6.0..12.0).contains(&texts), "{texts}");
    let random = ratio("synthetic:u8[150528]x4", "delta-zstd");
    assert!((0.99..1.0).contains(&random), "{random}");
}

#[test]
fn samples_may_have_several_tensors() {
    let text = "synthetic:tokens-i64[24]+ones-i32[2,2]+zeros-u8[3]+ones-f32[]x9";
    let tensors = parse(text).unwrap().tensors(3).unwrap();
    let shapes: Vec<String> = tensors.iter().map(ToString::to_string).collect();
    assert_eq!(shapes, ["i64[24]", "i32[2,2]", "u8[3]", "f32[]"]);
    assert_eq!(tensors[0], parse("synthetic:tokens-i64[24]x9").unwrap().tensors(3).unwrap()[0]);
    let data: Vec<&[u8]> = tensors[1..].iter().map(|tensor| &tensor.data()[..]).collect();
    assert_eq!(data, [&[1, 0, 0, 0].repeat(4)[..], &[0; 3], &1f32.to_le_bytes()]);
    let two = parse("synthetic:2*u8[64]+i16[]x1").unwrap().tensors(0).unwrap();
    assert_eq!(two.iter().map(ToString::to_string).collect::<Vec<_>>(), ["u8[64]", "u8[64]", "i16[]"]);
    assert_ne!(two[0].data(), two[1].data());
}

#[test]
fn what_is_wrong_with_the_text_is_said() {
    for (text, part) in [
        ("synthetic:u8", "'['"),
        ("synthetic:u9[64]x4", "u9"),
        ("synthetic:u8[64", "']'"),
        ("synthetic:u8[6a]x4", "6a"),
        ("synthetic:u8[64]", "xCOUNT"),
        ("synthetic:u8[64]x0", "1 to"),
        ("synthetic:u8[0]x4", "1 to"),
        ("synthetic:u8[1073741824]+u8[1]x4", "1 to"),
        ("synthetic:u8[4]+u9[4]x4", "u9"),
        ("synthetic:u8[4]+x4", "'xCOUNT'"),
        ("synthetic:0*u8[4]x4", "1 to 64 tensors"),
        ("synthetic:60*u8[4]+5*u8[4]x4", "1 to 64 tensors"),
        ("synthetic:u8[4]u8[4]x4", "dimensions '4]u8[4'"),
        ("synthetic:f64[4294967295,4294967295]x4", "1 to"),
        ("synthetic:music-u8[64]x4", "'music' is not a kind"),
        ("synthetic:image-f32[8,8,3]x4", "image-u8"),
        ("synthetic:image-u8[64]x4", "[height,width,channels]"),
        ("synthetic:image-u8[8,8,5]x4", "1 to 4 channels"),
        ("synthetic:tokens-u8[64]x4", "tokens-i32 or tokens-i64"),
        ("synthetic:tokens-[64]x4", "''"),
    ] {
        let error = open(text).err().unwrap().to_string();
        assert!(error.contains(part) && error.contains(text), "{error}");
    }
}
