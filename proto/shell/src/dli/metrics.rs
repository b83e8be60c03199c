//! The formulas of DLI, on times alone.

/// Latencies this many standard deviations from their mean are left out.
const SIGMAS: f64 = 3.0;

/// Latency mode: requests one after the other, each of a batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LatencyMode {
    /// The median of what is kept, s.
    pub latency_s: f64,
    /// The mean of what is kept, s.
    pub average_s: f64,
    /// Images of a batch over the latency.
    pub batch_fps: f64,
    /// Images of what is kept over its total time. DLI's own code divides all images by the time of what is kept, which
    /// is too high where something is left out.
    pub fps: f64,
    /// Requests that are left out.
    pub left_out: usize,
}

/// Throughput mode: requests in flight at the same time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThroughputMode {
    /// The total time over the number of batches, s.
    pub average_s: f64,
    /// Images over the total time. A request is an iteration here, so that this is DLI's Batch FPS as well.
    pub fps: f64,
}

impl LatencyMode {
    /// Of these latencies, s. None: there is none, or none takes any time.
    pub fn of(latencies_s: &[f64], batch: f64) -> Option<LatencyMode> {
        let latencies = within_sigmas(latencies_s);
        let (sum, count) = (latencies.iter().sum::<f64>(), latencies.len() as f64);
        let latency_s = median(&latencies)?;
        (sum > 0.0 && latency_s > 0.0).then(|| LatencyMode {
            latency_s,
            average_s: sum / count,
            batch_fps: batch / latency_s,
            fps: batch * count / sum,
            left_out: latencies_s.len() - latencies.len(),
        })
    }
}

impl ThroughputMode {
    /// Of so many images in so much time, s. None: nothing was answered, or in no time.
    pub fn of(images: u64, total_s: f64, batch: f64) -> Option<ThroughputMode> {
        let (images, batches) = (images as f64, images as f64 / batch);
        (images > 0.0 && total_s > 0.0).then(|| ThroughputMode { average_s: total_s / batches, fps: images / total_s })
    }
}

/// The median of latencies over tokens, of what is kept; the median number of tokens.
pub fn by_tokens(latencies_s: &[f64], tokens: &[u32]) -> Option<(f64, f64)> {
    let answered = latencies_s.iter().zip(tokens).filter(|(_, tokens)| **tokens > 0);
    let each: Vec<f64> = answered.map(|(latency_s, tokens)| latency_s / f64::from(*tokens)).collect();
    let counts: Vec<f64> = tokens.iter().filter(|tokens| **tokens > 0).map(|tokens| f64::from(*tokens)).collect();
    Some((median(&within_sigmas(&each))?, median(&counts)?))
}

/// The values within three standard deviations of their mean, both ends included. The deviation is that of a
/// population: the sum of squares over their number.
fn within_sigmas(values: &[f64]) -> Vec<f64> {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let deviation = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
    let [low, high] = [mean - SIGMAS * deviation, mean + SIGMAS * deviation];
    values.iter().copied().filter(|value| (low..=high).contains(value) || deviation == 0.0).collect()
}

/// The value in the middle; of an even number of values the mean of the two in the middle.
fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = sorted.get(middle)?;
    Some(if sorted.len() % 2 == 1 { *upper } else { (sorted[middle - 1] + upper) / 2.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(one: f64, other: f64) -> bool {
        (one - other).abs() < 1e-12 * other.abs().max(1.0)
    }

    /// Nine of 1 s and one of 11 s: mean 2, squares 9 * 1 + 81 = 90, deviation 3, and 11 is 2 + 3 * 3. With one more of
    /// 1 s the mean is 1.909, the deviation 2.875, and 11 is above 10.53.
    #[test]
    fn both_ends_of_three_deviations_count() {
        let ten: Vec<f64> = [1.0; 9].into_iter().chain([11.0]).collect();
        assert_eq!(within_sigmas(&ten).len(), 10);
        let eleven: Vec<f64> = [1.0; 10].into_iter().chain([11.0]).collect();
        assert_eq!(within_sigmas(&eleven), [1.0; 10]);
        assert_eq!(within_sigmas(&[0.1; 7]).len(), 7, "no deviation");
    }

    /// Eleven requests of 4 images: 0.5 s ten times, 1.5 s once. Mean 0.5909, deviation 0.2875, so that 1.5 is above
    /// 1.4534 and left out. DLI's own code says 4 * 11 / 5 = 8.8 FPS; 40 images in 5 s are 8.
    #[test]
    fn images_and_time_are_of_the_same_requests() {
        let latencies: Vec<f64> = [0.5; 10].into_iter().chain([1.5]).collect();
        let mode = LatencyMode::of(&latencies, 4.0).unwrap();
        let right = LatencyMode { latency_s: 0.5, average_s: 0.5, batch_fps: 8.0, fps: 8.0, left_out: 1 };
        assert_eq!(mode, right);
    }

    /// By hand: median of 0.1, 0.2, 0.3, 0.4 is 0.25, their mean 0.25, 2 / 0.25 = 8, and 2 * 4 / 1.0 = 8.
    #[test]
    fn an_even_number_has_its_median_between_two() {
        let mode = LatencyMode::of(&[0.4, 0.1, 0.3, 0.2], 2.0).unwrap();
        assert!(close(mode.latency_s, 0.25) && close(mode.average_s, 0.25), "{mode:?}");
        assert!(close(mode.batch_fps, 8.0) && close(mode.fps, 8.0) && mode.left_out == 0, "{mode:?}");
        assert_eq!([LatencyMode::of(&[], 1.0), LatencyMode::of(&[0.0], 1.0)], [None, None]);
    }

    /// 100 images in batches of 8 in 4 s: 12.5 batches, 0.32 s each, 25 images a second.
    #[test]
    fn throughput_is_of_the_total_time() {
        let mode = ThroughputMode::of(100, 4.0, 8.0).unwrap();
        assert_eq!(mode, ThroughputMode { average_s: 0.32, fps: 25.0 });
        assert_eq!([ThroughputMode::of(0, 4.0, 8.0), ThroughputMode::of(1, 0.0, 8.0)], [None, None]);
    }

    /// 1 s / 10, 3 s / 10 and 2 s / 20 are 0.1, 0.3 and 0.1; their median is 0.1, that of the tokens 10.
    #[test]
    fn latency_for_each_token_is_a_median_of_ratios() {
        assert_eq!(by_tokens(&[1.0, 3.0, 2.0], &[10, 10, 20]), Some((0.1, 10.0)));
        assert_eq!(by_tokens(&[1.0], &[0]), None);
    }
}
