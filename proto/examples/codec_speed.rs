//! Ratio and speed of each codec on kinds of data: `cargo run --release -p lon-proto --example codec_speed`.
//!
//! One thread; ratio, and MB of raw bytes per second, over samples that differ, each at its fastest of many passes.
//! Arguments name the codecs to try, with levels; all at their default level otherwise.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program for developers that prints a table")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use bytes::Bytes;
use lon_proto::codec::{Codec, Encoder, Inflater, Layout};
use lon_proto::sample::{self, DType, Tensor};

const SAMPLES: u64 = 16;
const TIME: Duration = Duration::from_millis(250);

fn main() {
    let texts: Vec<String> = std::env::args().skip(1).collect();
    let mut codecs: Vec<Codec> = texts.iter().map(|text| text.parse().unwrap()).collect();
    if codecs.is_empty() {
        codecs = Codec::NAMES[1..].iter().map(|name| name.parse().unwrap()).collect();
    }
    println!("{:<22} {:<16} {:>6} {:>12} {:>13}", "data", "codec", "ratio", "encode MB/s", "inflate MB/s");
    for (name, make) in KINDS {
        let raws: Vec<Bytes> = (0..SAMPLES).map(|seed| sample::encode(&[make(seed)]).unwrap()).collect();
        for &codec in &codecs {
            let (ratio, encode, inflate) = measure(codec, &raws);
            println!("{name:<22} {:<16} {ratio:>6.2} {encode:>12.0} {inflate:>13.0}", codec.to_string());
        }
    }
}

fn measure(codec: Codec, raws: &[Bytes]) -> (f64, f64, f64) {
    let (mut encoder, mut inflater) = (Encoder::new(codec), Inflater::new(codec, 1 << 30));
    let encoded: Vec<Bytes> = raws.iter().map(|raw| encoder.encode(raw, Layout::Sample).unwrap()).collect();
    for (raw, encoded) in raws.iter().zip(&encoded) {
        assert!(inflater.inflate(encoded.clone()).unwrap() == *raw);
    }
    let bytes = |samples: &[Bytes]| samples.iter().map(Bytes::len).sum::<usize>() as f64;
    let speed = |seconds: f64| bytes(raws) / seconds / 1e6;
    let encode = fastest_s(raws, |raw| drop(black_box(encoder.encode(raw, Layout::Sample))));
    let inflate = fastest_s(&encoded, |encoded| drop(black_box(inflater.inflate(encoded.clone()))));
    (bytes(raws) / bytes(&encoded), speed(encode), speed(inflate))
}

/// Of each sample the fastest time of all passes, summed up: what it takes when nothing else has the core.
fn fastest_s(samples: &[Bytes], mut work: impl FnMut(&Bytes)) -> f64 {
    let begin = Instant::now();
    let mut times = vec![Duration::MAX; samples.len()];
    while begin.elapsed() < TIME {
        for (sample, fastest) in samples.iter().zip(&mut times) {
            let start = Instant::now();
            work(sample);
            *fastest = start.elapsed().min(*fastest);
        }
    }
    times.iter().sum::<Duration>().as_secs_f64()
}

type Make = fn(u64) -> Tensor;

const KINDS: [(&str, Make); 6] = [
    ("u8[224,224,3] noise 2", |seed| image(seed, false)),
    ("u8[3,224,224] noise 2", |seed| image(seed, true)),
    ("f32[3,224,224] of it", normalised),
    ("i64[384] token ids", |seed| tokens::<8>(seed, DType::I64)),
    ("i32[384] token ids", |seed| tokens::<4>(seed, DType::I32)),
    ("f32[1001] random", random),
];

/// 0 to 1.
fn units(seed: u64) -> impl FnMut() -> f32 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 24) as f32
    }
}

/// Waves, a bright square, and noise with a standard deviation of 2.
fn pixels(seed: u64) -> Vec<[u8; 3]> {
    let mut unit = units(seed);
    let (down, across) = (0.01 + unit() * 0.02, 0.01 + unit() * 0.02);
    let mut pixels = Vec::new();
    for (y, x) in (0..224).flat_map(|y| (0..224).map(move |x| (y, x))) {
        let light = 50.0 * (y as f32 * down).sin() + 40.0 * (x as f32 * across).cos();
        let square = if (60..140).contains(&y) && (80..180).contains(&x) { 30.0 } else { 0.0 };
        pixels.push([100.0, 120.0, 140.0].map(|level| {
            let noise = (0..4).map(|_| unit() - 0.5).sum::<f32>() * 1.732 * 2.0;
            (level + light + square + noise) as u8
        }));
    }
    pixels
}

fn image(seed: u64, is_planar: bool) -> Tensor {
    let pixels = pixels(seed);
    match is_planar {
        false => Tensor::new(DType::U8, &[224, 224, 3], pixels.concat().into()).unwrap(),
        true => Tensor::new(DType::U8, &[3, 224, 224], planes(&pixels).into()).unwrap(),
    }
}

fn planes(pixels: &[[u8; 3]]) -> Vec<u8> {
    (0..3).flat_map(|channel| pixels.iter().map(move |pixel| pixel[channel])).collect()
}

fn normalised(seed: u64) -> Tensor {
    let levels = planes(&pixels(seed)).into_iter().map(|level| (f32::from(level) / 255.0 - 0.45) / 0.22);
    let bytes: Vec<u8> = levels.flat_map(f32::to_le_bytes).collect();
    Tensor::new(DType::F32, &[3, 224, 224], bytes.into()).unwrap()
}

/// Few words often, many seldom: the logarithm of the rank is uniform, as it is under Zipf's law. Padded with zeros.
fn tokens<const BYTES: usize>(seed: u64, dtype: DType) -> Tensor {
    let mut unit = units(seed);
    let len = 64 + (unit().powi(2) * 320.0) as usize;
    let mut bytes = vec![0; 384 * BYTES];
    for id in bytes.chunks_exact_mut(BYTES).take(len) {
        let rank = 29_523f32.powf(unit()) as u32;
        id[..4].copy_from_slice(&(998 + rank).to_le_bytes());
    }
    Tensor::new(dtype, &[384], bytes.into()).unwrap()
}

fn random(seed: u64) -> Tensor {
    let mut unit = units(seed);
    let bytes: Vec<u8> = (0..1_001).flat_map(|_| (unit() - 0.5).to_le_bytes()).collect();
    Tensor::new(DType::F32, &[1_001], bytes.into()).unwrap()
}
