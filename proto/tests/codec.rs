//! Codecs from the outside: what is encoded comes back, and nothing else is taken.
#![allow(clippy::unwrap_used, reason = "a test that cannot set up has failed")]

use bytes::Bytes;
use lon_proto::codec::{Codec, CodecError, Encoder, Inflater, Layout, ZstdLevel};
use lon_proto::sample::{self, DType, Tensor};

const MAX_RAW_BYTES: u64 = 64 << 20;

fn codec(text: &str) -> Codec {
    text.parse().unwrap()
}

fn all() -> impl Iterator<Item = Codec> {
    Codec::NAMES.into_iter().map(codec)
}

fn with_frames() -> impl Iterator<Item = Codec> {
    all().filter(|codec| !codec.is_none())
}

/// Between smooth and noisy, so that every codec has something to find and something to leave.
fn content(len: usize, seed: u64) -> Bytes {
    let mut state = seed;
    let bytes = (0..len).map(|i| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((i / 40) as u8).wrapping_add((state >> 62) as u8)
    });
    bytes.collect::<Vec<u8>>().into()
}

fn tensor(dtype: DType, dims: &[u32]) -> Tensor {
    let len = dtype.bytes_of(dims.iter().product::<u32>().into()).unwrap() as usize;
    Tensor::new(dtype, dims, content(len, u64::from(dtype.code()))).unwrap()
}

fn images(dims: &[u32]) -> Bytes {
    sample::encode(&[tensor(DType::U8, dims)]).unwrap()
}

fn encode(codec: Codec, raw: &Bytes, layout: Layout) -> Bytes {
    Encoder::new(codec).encode(raw, layout).unwrap()
}

fn inflate(codec: Codec, encoded: impl Into<Bytes>) -> Result<Bytes, String> {
    Inflater::new(codec, MAX_RAW_BYTES).inflate(encoded.into()).map_err(|error| error.to_string())
}

fn refused(codec: Codec, encoded: impl Into<Bytes>) -> String {
    inflate(codec, encoded).unwrap_err()
}

#[test]
fn names_and_levels_are_read_as_they_are_shown() {
    assert_eq!(Codec::NAMES.len(), all().count());
    for name in Codec::NAMES {
        let by_default = codec(name);
        assert_eq!((by_default.name(), by_default.is_none()), (name, name == "none"));
        assert_eq!(codec(&by_default.to_string()), by_default);
        assert_eq!(by_default.level().is_some(), name.ends_with("zstd"));
    }
    for level in ZstdLevel::RANGE {
        assert_eq!(codec(&format!("zstd:{level}")), Codec::Zstd(ZstdLevel::new(level).unwrap()));
    }
    assert_eq!(codec("delta-zstd"), codec("delta-zstd:1"));
    assert_eq!(codec("shuffle-zstd:19").to_string(), "shuffle-zstd:19");
    assert_eq!(Codec::default(), Codec::None);
}

#[test]
fn what_is_no_codec_is_said_with_what_would_be_one() {
    for (text, parts) in [
        ("brotli", &["'brotli'", "none, zstd, lz4, shuffle-zstd, delta-zstd"][..]),
        ("", &["''"]),
        ("Zstd", &["'Zstd'"]),
        ("zstd:0", &["'0'", "zstd", "1 to 19"]),
        ("zstd:20", &["'20'", "1 to 19"]),
        ("zstd:-1", &["'-1'"]),
        ("zstd:+3", &["'+3'"]),
        ("zstd:99999999999", &["'99999999999'"]),
        ("zstd:", &["''", "zstd:1"]),
        ("delta-zstd:fast", &["'fast'", "delta-zstd"]),
        ("lz4:9", &["lz4 has no levels", "lz4:9"]),
        ("none:1", &["none has no levels"]),
    ] {
        let error = text.parse::<Codec>().unwrap_err();
        parts.iter().for_each(|part| assert!(error.to_string().contains(part), "{text}: {error}"));
    }
    assert!(matches!("zstd:20".parse::<Codec>(), Err(CodecError::Level { codec: "zstd", .. })));
}

#[test]
fn samples_of_every_type_and_shape_come_back() {
    let shapes: [&[u32]; 12] = [
        &[],
        &[0],
        &[1],
        &[7],
        &[2, 0, 3],
        &[3, 3],
        &[5, 4, 3],
        &[4, 5, 4],
        &[3, 17, 19],
        &[1, 2, 1, 2, 1, 2, 1, 2],
        &[9, 21, 2],
        &[1_003],
    ];
    for codec in all() {
        let (mut encoder, mut inflater) = (Encoder::new(codec), Inflater::new(codec, MAX_RAW_BYTES));
        for &dtype in DType::ALL {
            for dims in shapes {
                for tensors in [vec![tensor(dtype, dims)], vec![tensor(DType::U8, &[3, 3]), tensor(dtype, dims)]] {
                    let raw = sample::encode(&tensors).unwrap();
                    let encoded = encoder.encode(&raw, Layout::Sample).unwrap();
                    assert_eq!(inflater.inflate(encoded).unwrap(), raw, "{codec} {dtype} {dims:?}");
                }
            }
        }
        let many: Vec<Tensor> = (0..sample::MAX_TENSORS as u32)
            .map(|i| tensor(DType::ALL[i as usize % DType::ALL.len()], &[i % 7, 3]))
            .collect();
        let raw = sample::encode(&many).unwrap();
        assert_eq!(inflater.inflate(encoder.encode(&raw, Layout::Sample).unwrap()).unwrap(), raw, "{codec}");
    }
}

#[test]
fn answers_of_any_length_and_element_come_back() {
    for codec in all() {
        let (mut encoder, mut inflater) = (Encoder::new(codec), Inflater::new(codec, MAX_RAW_BYTES));
        for element_bytes in 1..=8 {
            for len in (0..70).chain([255, 1_000, 65_534, 65_535, 65_536, 300_001]) {
                let raw = content(len, 7);
                let encoded = encoder.encode(&raw, Layout::Elements { element_bytes }).unwrap();
                assert_eq!(inflater.inflate(encoded).unwrap(), raw, "{codec} {element_bytes} {len}");
            }
        }
    }
}

#[test]
fn nothing_is_copied_without_a_codec() {
    let raw = images(&[8, 8, 3]);
    let encoded = encode(Codec::None, &raw, Layout::Sample);
    assert_eq!(encoded.as_ptr(), raw.as_ptr());
    assert_eq!(inflate(Codec::None, encoded).unwrap().as_ptr(), raw.as_ptr());
}

#[test]
fn filters_find_what_they_are_for() {
    let ratio =
        |codec: &str, raw: &Bytes| raw.len() as f64 / encode(self::codec(codec), raw, Layout::Sample).len() as f64;
    // Per channel another level; along a row each channel rises.
    let pixel = |i: u32| [(i / 3) as u8, 90u8.wrapping_add((i / 2) as u8), 200u8.wrapping_sub((i / 5) as u8)];
    let interleaved: Vec<u8> = (0..64 * 64).flat_map(pixel).collect();
    let planes: Vec<u8> = (0..3).flat_map(|c| (0..64 * 64).map(move |i| pixel(i)[c])).collect();
    for (dims, data) in [([64, 64, 3], interleaved), ([3, 64, 64], planes)] {
        let raw = sample::encode(&[Tensor::new(DType::U8, &dims, data.into()).unwrap()]).unwrap();
        let (plain, delta) = (ratio("zstd", &raw), ratio("delta-zstd", &raw));
        assert!(delta > 1.5 * plain, "{dims:?}: {plain} {delta}");
    }
    let mut state = 1u64;
    let mut small = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 52) as i32
    };
    let ids: Vec<u8> = (0..4_096).flat_map(|_| small().to_le_bytes()).collect();
    let raw = sample::encode(&[Tensor::new(DType::I32, &[4_096], ids.into()).unwrap()]).unwrap();
    let (plain, shuffled) = (ratio("zstd", &raw), ratio("shuffle-zstd", &raw));
    assert!(shuffled > 1.1 * plain, "{plain} {shuffled}");
}

#[test]
fn the_same_bytes_are_encoded_the_same_whatever_came_before() {
    // Words of a small vocabulary: more repetitions than any match finder keeps, so that it has to choose.
    let sentence = |len: usize, seed: u64| {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 54) as usize
        };
        let text = std::iter::repeat_with(|| format!("{:x} ", next().pow(3))).flat_map(String::into_bytes);
        Bytes::from(text.take(len).collect::<Vec<u8>>())
    };
    for codec in ["zstd:1", "zstd:3", "zstd:6", "zstd:9", "zstd:13", "zstd:19", "lz4", "shuffle-zstd"].map(codec) {
        let mut used = Encoder::new(codec);
        for (seed, len) in [(1, 20), (2, 5_000), (3, 150_000), (4, 80_000), (5, 3_000)] {
            let layout = Layout::Elements { element_bytes: 4 };
            used.encode(&sentence(len + 1_000, seed + 10), layout).unwrap();
            let encoded = used.encode(&sentence(len, seed), layout).unwrap();
            assert!(encoded == encode(codec, &sentence(len, seed), layout), "{codec} {len}");
        }
    }
}

#[test]
fn what_is_cut_short_or_goes_on_is_refused() {
    for codec in with_frames() {
        for raw in [images(&[12, 11, 3]), images(&[1])] {
            let encoded = encode(codec, &raw, Layout::Sample);
            for len in 0..encoded.len() {
                refused(codec, encoded.slice(..len));
            }
            for trailing in [&b"\0"[..], b"\0\0\0\0", &[0xff; 40], &encoded[..], &encoded[12..]] {
                refused(codec, [&encoded[..], trailing].concat());
            }
        }
        let nothing = encode(codec, &Bytes::new(), Layout::Elements { element_bytes: 1 });
        assert!(refused(codec, [&nothing[..], b"x"].concat()).contains("1 bytes follow"));
    }
}

#[test]
fn no_flipped_bit_goes_unnoticed() {
    for codec in with_frames() {
        let tensors = [tensor(DType::U8, &[12, 11, 3]), tensor(DType::I32, &[40])];
        let raw = sample::encode(&tensors).unwrap();
        let encoded = encode(codec, &raw, Layout::Sample).to_vec();
        let mut inflater = Inflater::new(codec, MAX_RAW_BYTES);
        for at in 0..encoded.len() {
            for bit in 0..8 {
                let mut flipped = encoded.clone();
                flipped[at] ^= 1 << bit;
                if let Ok(inflated) = inflater.inflate(flipped.into()) {
                    assert_eq!(inflated, raw, "{codec}, bit {bit} of byte {at}");
                }
            }
        }
        assert_eq!(inflater.inflate(encoded.into()).unwrap(), raw, "{codec}: it goes on after damage");
    }
}

#[test]
fn sizes_are_checked_before_memory_is_taken() {
    for codec in with_frames() {
        let raw = images(&[12, 11, 3]);
        let encoded = encode(codec, &raw, Layout::Sample).to_vec();
        let saying = |len: u64| [&len.to_le_bytes(), &encoded[8..]].concat();
        assert!(refused(codec, saying(u64::MAX)).contains("are allowed"), "{codec}");
        assert!(refused(codec, saying(MAX_RAW_BYTES + 1)).contains("are allowed"), "{codec}");
        for len in [0, 1, raw.len() as u64 - 1, raw.len() as u64 + 1, MAX_RAW_BYTES] {
            refused(codec, saying(len));
        }
        let mut exact = Inflater::new(codec, raw.len() as u64);
        assert_eq!(exact.inflate(encoded.clone().into()).unwrap(), raw);
        let message = Inflater::new(codec, raw.len() as u64 - 1).inflate(encoded.into()).unwrap_err().to_string();
        assert!(message.starts_with(&codec.to_string()) && message.contains(&raw.len().to_string()), "{message}");
    }
    let message = Inflater::new(Codec::None, 3).inflate(Bytes::from_static(b"four")).unwrap_err().to_string();
    assert!(message.contains("4 bytes") && message.contains("3 are allowed"), "{message}");
}

/// A frame of a few bytes that says it is a gigabyte: its body could not hold it.
#[test]
fn bombs_are_seen_by_their_size() {
    let len = 1u64 << 30;
    // A zstd frame header: magic, single segment with a content size of 8 bytes, then one last block of 4 bytes.
    let zstd = [&[0x28, 0xb5, 0x2f, 0xfd, 0xe0][..], &len.to_le_bytes(), &[0x03, 0x00, 0x10, 0x00]].concat();
    for (name, filter, body) in [
        ("zstd", &[][..], zstd.clone()),
        ("delta-zstd", &[1], zstd.clone()),
        ("shuffle-zstd", &[4], zstd),
        ("lz4", &[], vec![0xff; 60]),
    ] {
        let bomb = [&len.to_le_bytes()[..], &[0; 4], filter, &body].concat();
        let message = Inflater::new(codec(name), len).inflate(bomb.into()).unwrap_err().to_string();
        assert!(message.contains("at most"), "{message}");
    }
}

#[test]
fn real_repetition_is_no_bomb() {
    let raw = Bytes::from(vec![0; MAX_RAW_BYTES as usize]);
    for codec in with_frames() {
        let encoded = encode(codec, &raw, Layout::Elements { element_bytes: 8 });
        assert!(encoded.len() < raw.len() / 200, "{codec}");
        assert!(inflate(codec, encoded).unwrap() == raw, "{codec}");
    }
}

#[test]
fn frames_of_other_codecs_are_refused() {
    let raw = images(&[20, 20, 3]);
    for own in with_frames() {
        let encoded = encode(own, &raw, Layout::Sample);
        for other in with_frames().filter(|&other| other != own) {
            refused(other, encoded.clone());
        }
        refused(own, raw.clone());
    }
}

#[test]
fn encoders_say_what_they_do_not_take() {
    let no_sample = Bytes::from_static(b"\xff\xffnot a sample");
    for name in ["shuffle-zstd", "delta-zstd:3"] {
        let mut encoder = Encoder::new(codec(name));
        let message = encoder.encode(&no_sample, Layout::Sample).unwrap_err().to_string();
        assert!(message.contains("not a sample: 255 tensors") && message.contains(name), "{message}");
        for element_bytes in [0, 9] {
            let message = encoder.encode(&no_sample, Layout::Elements { element_bytes }).unwrap_err().to_string();
            assert!(message.contains("1 to 8"), "{message}");
        }
        encoder.encode(&images(&[2, 2, 3]), Layout::Sample).unwrap();
    }
    encode(codec("zstd"), &no_sample, Layout::Sample);
}

/// Bytes as written today: a change of the frame is a change of the wire contract.
#[test]
fn the_frame_is_the_documented_one() {
    let raw = Bytes::from_static(&[0, 1, 0, 2, 0, 3, 0, 4, 0]);
    let encoded = encode(codec("shuffle-zstd"), &raw, Layout::Elements { element_bytes: 2 });
    assert_eq!(encoded[..8], 9u64.to_le_bytes());
    assert_eq!(encoded[12], 2);
    // Too short to compress: zstd stores the regrouped bytes as they are, at the end of its frame.
    assert!(encoded.ends_with(&[0, 0, 0, 0, 1, 2, 3, 4, 0]));
    let delta = encode(codec("delta-zstd"), &Bytes::from_static(&[5, 6, 8, 7]), Layout::Elements { element_bytes: 1 });
    assert!(delta.ends_with(&[5, 1, 2, 255]));
    let lz4 = encode(codec("lz4"), &Bytes::from_static(&[5, 6, 8, 7]), Layout::Elements { element_bytes: 1 });
    assert_eq!((&lz4[..8], &lz4[12..]), (&4u64.to_le_bytes()[..], &[0x40, 5, 6, 8, 7][..]));
}

#[test]
fn original_leaves_the_file_as_it_is() {
    let codec: Codec = "original".parse().unwrap();
    assert_eq!((codec, codec.to_string().as_str(), codec.level()), (Codec::Original, "original", None));
    assert!(!codec.is_none() && !Codec::NAMES.contains(&codec.name()));
    assert!("original:1".parse::<Codec>().is_err());
    let raw = Bytes::from_static(&[1, 2, 1, 3, 0, 0, 0, 0, 7, 8, 9]);
    let encoded = Encoder::new(codec).encode(&raw, Layout::Sample).unwrap();
    assert_eq!((&encoded, codec.declared_bytes(&encoded)), (&raw, 11));
    assert_eq!(Inflater::new(codec, 11).inflate(encoded.clone()).unwrap(), raw);
    assert!(Inflater::new(codec, 10).inflate(encoded).is_err());
}
