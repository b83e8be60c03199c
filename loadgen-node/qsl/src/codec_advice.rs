//! The gain of each codec on a dataset, measured. This is advice; the user chooses the codec.
//!
//! # When a codec wins
//!
//! A sample of `n` raw bytes takes `8 n / B` seconds over a link of `B` bits per second. Encoded it takes
//! `8 n / (r B)` on the link, where `r` is the ratio, and then `n / v` to inflate, where `v` is the speed of inflating
//! in raw bytes per second. Encoding is done before any clock starts. The encoded sample arrives sooner when
//! `8 n / (r B) + n / v < 8 n / B`, that is when
//!
//! `B < 8 v (1 - 1 / r)`
//!
//! This compares one sample on an idle link with one thread. With many samples in flight the link sends one while
//! others are inflated, and several threads inflate at the same time. Then throughput counts, and the limit is higher
//! by a factor: the number of threads that have a core of their own.

use std::hint::black_box;
use std::time::{Duration, Instant};

use bytes::Bytes;
use lon_proto::codec::{Codec, EncodeError, Encoder, InflateError, Inflater, Layout};
use lon_proto::limits::MAX_SAMPLE_BYTES;

use crate::dataset::{Dataset, DatasetError};

/// No further pass begins after this time. It applies to encoding with one codec, and again to inflating.
const TIME: Duration = Duration::from_millis(150);
/// The largest number of passes over all samples.
const MAX_PASSES: usize = 50;

/// The figures of one codec on samples of a dataset, measured on one thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// The codec that was measured.
    pub codec: Codec,
    /// Raw bytes divided by encoded bytes, of all samples together.
    pub ratio: f64,
    /// Raw bytes that are encoded per second; infinite for [`Codec::None`].
    pub encode_bytes_per_s: f64,
    /// Raw bytes that are inflated per second; infinite for [`Codec::None`].
    pub inflate_bytes_per_s: f64,
}

impl Figures {
    /// Returns the bandwidth in bits per second below which this codec wins (see [the module](self)); none when it
    /// never wins.
    pub fn break_even_bits_per_s(&self) -> Option<f64> {
        (self.ratio > 1.0).then(|| 8.0 * self.inflate_bytes_per_s * (1.0 - 1.0 / self.ratio))
    }
}

/// Measures each codec on up to `samples` samples (at least one), spread evenly over the dataset. The loaded samples of
/// the dataset and its codec do not matter and do not change. It takes about 0.3 s for each codec, or the time of one
/// pass over the samples when that is longer.
///
/// # Errors
/// A sample cannot be read, encoded or inflated.
pub fn measure(dataset: &Dataset, codecs: &[Codec], samples: usize) -> Result<Vec<Figures>, DatasetError> {
    let total = dataset.total_count();
    let samples = samples.clamp(1, total.max(1));
    let spread = |sample: usize| (sample as u128 * total as u128 / samples as u128) as usize;
    let raws: Vec<(usize, Bytes)> =
        (0..samples).map(spread).map(|index| Ok((index, dataset.raw(index)?))).collect::<Result<_, DatasetError>>()?;
    codecs.iter().map(|&codec| figures(dataset, codec, &raws)).collect()
}

/// Returns, for each codec, the raw bytes of all samples divided by their encoded bytes. All samples are encoded, so
/// the dataset should be small.
///
/// # Errors
/// A sample cannot be read or encoded.
pub fn ratios(dataset: &Dataset, codecs: &[Codec]) -> Result<Vec<f64>, DatasetError> {
    let mut encoders: Vec<Encoder> = codecs.iter().map(|&codec| Encoder::new(codec)).collect();
    let (mut raw_bytes, mut encoded_bytes) = (0, vec![0; codecs.len()]);
    for index in 0..dataset.total_count() {
        let raw = dataset.raw(index)?;
        raw_bytes += raw.len();
        for (encoder, bytes) in encoders.iter_mut().zip(&mut encoded_bytes) {
            let codec_error = |source| DatasetError::Codec { dataset: dataset.name().to_owned(), index, source };
            *bytes += encoder.encode(&raw, Layout::Sample).map_err(codec_error)?.len();
        }
    }
    Ok(encoded_bytes.into_iter().map(|bytes| raw_bytes as f64 / bytes.max(1) as f64).collect())
}

fn figures(dataset: &Dataset, codec: Codec, raws: &[(usize, Bytes)]) -> Result<Figures, DatasetError> {
    if codec.is_none() {
        let none = f64::INFINITY;
        return Ok(Figures { codec, ratio: 1.0, encode_bytes_per_s: none, inflate_bytes_per_s: none });
    }
    let name = || dataset.name().to_owned();
    let mut encoder = Encoder::new(codec);
    let (encoded, encoding_s) = fastest(raws, |index, raw| {
        let frame = encoder.encode(raw, Layout::Sample);
        frame.map_err(|source: EncodeError| DatasetError::Codec { dataset: name(), index, source })
    })?;
    let mut inflater = Inflater::new(codec, MAX_SAMPLE_BYTES);
    let (_, inflating_s) = fastest(&encoded, |index, frame| {
        let raw = inflater.inflate(frame.clone());
        raw.map_err(|source: InflateError| DatasetError::Inflate { dataset: name(), index, source })
    })?;
    let bytes = |samples: &[(usize, Bytes)]| samples.iter().map(|(_, bytes)| bytes.len()).sum::<usize>() as f64;
    let raw_bytes = bytes(raws);
    Ok(Figures {
        codec,
        ratio: raw_bytes / bytes(&encoded),
        encode_bytes_per_s: raw_bytes / encoding_s,
        inflate_bytes_per_s: raw_bytes / inflating_s,
    })
}

/// Does `work` on all samples, in several passes. Returns the results, and the seconds for one pass. For each sample
/// the fastest time counts, because in the others something else used the core.
fn fastest(
    samples: &[(usize, Bytes)],
    mut work: impl FnMut(usize, &Bytes) -> Result<Bytes, DatasetError>,
) -> Result<(Vec<(usize, Bytes)>, f64), DatasetError> {
    let begin = Instant::now();
    let mut results = Vec::new();
    // A time is at least 1 ns, so that no speed is infinite.
    let mut times = vec![Duration::MAX; samples.len()];
    for _ in 0..MAX_PASSES {
        results.clear();
        for ((index, bytes), fastest) in samples.iter().zip(&mut times) {
            let start = Instant::now();
            let result = black_box(work(*index, bytes)?);
            *fastest = start.elapsed().max(Duration::from_nanos(1)).min(*fastest);
            results.push((*index, result));
        }
        if begin.elapsed() >= TIME {
            break;
        }
    }
    Ok((results, times.iter().sum::<Duration>().as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::OpenOptions;

    fn figures_of(ratio: f64, inflate_bytes_per_s: f64) -> Figures {
        Figures { codec: Codec::Lz4, ratio, encode_bytes_per_s: 1e9, inflate_bytes_per_s }
    }

    #[test]
    fn the_break_even_is_where_both_ways_take_the_same_time() {
        let figures = figures_of(2.5, 700e6);
        let bits_per_s = figures.break_even_bits_per_s().unwrap();
        assert!((bits_per_s - 3.36e9).abs() < 1.0, "{bits_per_s}");
        let bytes = 150_528.0;
        let raw_s = 8.0 * bytes / bits_per_s;
        let encoded_s = 8.0 * bytes / 2.5 / bits_per_s + bytes / 700e6;
        assert!((raw_s - encoded_s).abs() < 1e-12);
    }

    #[test]
    fn what_does_not_shrink_never_wins() {
        assert_eq!(figures_of(1.0, 1e9).break_even_bits_per_s(), None);
        assert_eq!(figures_of(0.99, 1e9).break_even_bits_per_s(), None);
        let none = Figures { codec: Codec::None, ratio: 1.0, ..figures_of(1.0, f64::INFINITY) };
        assert_eq!(none.break_even_bits_per_s(), None);
    }

    #[test]
    fn every_codec_is_measured_on_samples_from_the_whole_dataset() {
        let mut dataset = Dataset::open("synthetic:tokens-i64[64]x100", &OpenOptions::default()).unwrap();
        let codecs: Vec<Codec> = Codec::NAMES.iter().map(|name| name.parse().unwrap()).collect();
        let all = measure(&dataset, &codecs, 1_000).unwrap();
        assert_eq!(all.iter().map(|figures| figures.codec).collect::<Vec<_>>(), codecs);
        assert_eq!(dataset.loaded().samples, 0);
        for figures in &all {
            assert!(figures.encode_bytes_per_s > 0.0 && figures.inflate_bytes_per_s > 0.0);
            assert_eq!(figures.break_even_bits_per_s().is_some(), !figures.codec.is_none());
            dataset.set_codec(figures.codec);
            dataset.load(0..100).unwrap();
            assert!((figures.ratio - dataset.loaded().ratio()).abs() < 1e-9, "{}", figures.codec);
        }
        assert_eq!(measure(&dataset, &[Codec::Lz4], 0).unwrap().len(), 1);
    }
}
