//! Where a difference is with a confidence of 95 %.
//!
//! Of single runs: their timelines are cut into blocks of time, which are drawn again, with repetition, a thousand
//! times (block bootstrap: Künsch, The Annals of Statistics 17, 1989). Neighbouring samples depend on each other, so
//! whole blocks are drawn and not samples. Of three or more repeats on both sides:
//! [`ratio_interval`](lon_run::network::spread::ratio_interval).

use rand_mt::Mt64;

use lon_run::outputs::report::Series;

/// Steps of a series that are one block.
const STEPS_EACH: usize = 3;
/// Draws of all blocks.
const DRAWS: usize = 1000;
/// Fewest blocks that say something of noise.
const FEWEST_BLOCKS: usize = 10;
/// Fewest samples above a percentile that say something of it.
const FEWEST_ABOVE: f64 = 10.0;
/// The share of draws that lies on either side of an interval.
const TAIL: f64 = 0.025;
/// So that the same folders always give the same intervals.
const SEED: u64 = 0x6c6f_6164_6765_6e00;

/// Quantity that is worked out of each draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Drawn {
    /// Answers per second.
    Rate,
    /// Mean latency of all samples.
    Mean,
    P50,
    P90,
    P99,
    P999,
}

const PERCENTILES: [(Drawn, f64); 4] = [(Drawn::P50, 0.5), (Drawn::P90, 0.9), (Drawn::P99, 0.99), (Drawn::P999, 0.999)];

/// A stretch of time in a timeline.
#[derive(Clone, Copy, Debug, Default)]
struct Block {
    length_s: f64,
    answered: u64,
    /// Latencies of samples that began in it.
    count: u64,
    sum_ns: f64,
}

/// The timelines of a side in blocks.
#[derive(Debug, Default)]
struct Blocks {
    blocks: Vec<Block>,
    /// A latency in ns, the block, and how often it is there; by latency.
    latencies: Vec<(u64, usize, u64)>,
}

/// A thousand draws of a side; each has the rate, the mean latency and the percentiles.
pub(super) struct Draws {
    draws: Vec<[f64; 2 + PERCENTILES.len()]>,
    /// Samples of the side.
    samples: u64,
    /// Blocks in which samples began.
    filled: usize,
    /// Blocks of time.
    all: usize,
}

impl Blocks {
    fn of<'a>(timelines: impl Iterator<Item = &'a Series>) -> Blocks {
        let mut blocks = Blocks::default();
        for series in timelines {
            for steps in series.steps.chunks(STEPS_EACH) {
                let mut block = Block { length_s: series.step_s * steps.len() as f64, ..Block::default() };
                for step in steps {
                    block.answered += step.answered;
                    for value in step.latencies.iter_recorded() {
                        let (ns, count) = (value.value_iterated_to(), u64::from(value.count_at_value()));
                        block.count += count;
                        block.sum_ns += ns as f64 * count as f64;
                        blocks.latencies.push((ns, blocks.blocks.len(), count));
                    }
                }
                blocks.blocks.push(block);
            }
        }
        blocks.latencies.sort_unstable();
        blocks
    }

    /// Returns the quantities that the blocks give when each block counts as often as `weights` says.
    fn weighted(&self, weights: &[u64]) -> [f64; 2 + PERCENTILES.len()] {
        let sum = |of: &dyn Fn(&Block) -> f64| -> f64 {
            self.blocks.iter().zip(weights).map(|(block, weight)| of(block) * *weight as f64).sum()
        };
        let count = sum(&|block| block.count as f64);
        let mut values = [0.0; 2 + PERCENTILES.len()];
        values[0] = sum(&|block| block.answered as f64) / sum(&|block| block.length_s);
        values[1] = sum(&|block| block.sum_ns) / count;
        let (mut total, mut next) = (0.0, 0);
        for (ns, block, times) in &self.latencies {
            total += (weights[*block] * times) as f64;
            while next < PERCENTILES.len() && total >= PERCENTILES[next].1 * count {
                values[2 + next] = *ns as f64;
                next += 1;
            }
        }
        values
    }
}

impl Draws {
    /// Of a side's timelines. Sides have numbers of their own, so that draws do not depend on each other.
    pub(super) fn of<'a>(timelines: impl Iterator<Item = &'a Series>, side: u64) -> Draws {
        let blocks = Blocks::of(timelines);
        let all = blocks.blocks.len();
        let mut random = Mt64::new(SEED + side);
        let draw = |_| {
            let mut weights = vec![0; all];
            (0..all).for_each(|_| weights[(random.next_u64() % all as u64) as usize] += 1);
            blocks.weighted(&weights)
        };
        Draws {
            draws: if all > 0 { (0..DRAWS).map(draw).collect() } else { Vec::new() },
            samples: blocks.blocks.iter().map(|block| block.count).sum(),
            filled: blocks.blocks.iter().filter(|block| block.count > 0).count(),
            all,
        }
    }

    /// The values of all draws; none where the side has too little to say something of noise.
    fn values(&self, of: Drawn) -> Option<Vec<f64>> {
        let (at, is_enough) = match of {
            Drawn::Rate => (0, self.all >= FEWEST_BLOCKS),
            Drawn::Mean => (1, self.filled >= FEWEST_BLOCKS),
            percentile => {
                let at = PERCENTILES.iter().position(|(own, _)| *own == percentile)?;
                let above = (1.0 - PERCENTILES[at].1) * self.samples as f64;
                (2 + at, self.filled >= FEWEST_BLOCKS && above >= FEWEST_ABOVE)
            }
        };
        is_enough.then(|| self.draws.iter().map(|draw| draw[at]).collect())
    }
}

/// Where the relative difference of two sides is, by their draws. None: too little is known.
pub(super) fn of_draws(first: &Draws, other: &Draws, of: Drawn) -> Option<[f64; 2]> {
    let (first, other) = (first.values(of)?, other.values(of)?);
    let mut ratios: Vec<f64> = first.iter().zip(&other).map(|(first, other)| other / first - 1.0).collect();
    if ratios.iter().any(|ratio| !ratio.is_finite()) {
        return None;
    }
    ratios.sort_by(f64::total_cmp);
    let at = |share: f64| ratios[((ratios.len() - 1) as f64 * share).round() as usize];
    Some([at(TAIL), at(1.0 - TAIL)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use lon_run::examples::series_of;

    /// A run of samples that begin every ms and take so many µs.
    fn run(latency_us: impl Fn(&mut Mt64) -> u64, seed: u64) -> Series {
        let mut random = Mt64::new(seed);
        let samples: Vec<(u64, u64)> =
            (0..6000).map(|number| (number * 1_000_000, 1000 * latency_us(&mut random))).collect();
        series_of(&samples)
    }

    fn noisy(seed: u64, slower_us: u64) -> Series {
        run(move |random| 500 + slower_us + random.next_u64() % 500, seed)
    }

    fn interval(first: &Series, other: &Series, of: Drawn) -> Option<[f64; 2]> {
        let draws = |series, side| Draws::of(std::iter::once(series), side);
        of_draws(&draws(first, 0), &draws(other, 1), of)
    }

    #[test]
    fn equal_runs_differ_by_noise_and_slower_ones_do_not() {
        let mut misses = 0;
        for seed in 0..40 {
            let [low, high] = interval(&noisy(2 * seed, 0), &noisy(2 * seed + 1, 0), Drawn::Mean).unwrap();
            assert!(low < high && high - low < 0.05, "{low} {high}");
            misses += usize::from(low > 0.0 || high < 0.0);
        }
        // One in twenty is expected.
        assert!(misses <= 6, "{misses} of 40 intervals lie beside the truth");
        for of in [Drawn::Mean, Drawn::P50, Drawn::P90, Drawn::P99] {
            let [low, high] = interval(&noisy(1, 0), &noisy(2, 75), of).unwrap();
            let truth = match of {
                Drawn::P90 => 75.0 / 950.0,
                Drawn::P99 => 75.0 / 995.0,
                _ => 0.1,
            };
            assert!(low > 0.0 && low - 0.01 < truth && truth < high + 0.01, "{of:?}: {low} {high}");
        }
    }

    #[test]
    fn of_too_little_nothing_is_said() {
        let once: Vec<(u64, u64)> = vec![(0, 5)];
        let few: Vec<(u64, u64)> = (0..600).map(|number| (number * 1000, 10)).collect();
        assert_eq!(interval(&series_of(&once), &series_of(&once), Drawn::Mean), None);
        assert_eq!(interval(&series_of(&few), &series_of(&few), Drawn::P999), None);
        assert_eq!(interval(&series_of(&few), &series_of(&few), Drawn::P50), Some([0.0, 0.0]));
        assert!(of_draws(&Draws::of(std::iter::empty(), 0), &Draws::of(std::iter::empty(), 1), Drawn::Rate).is_none());
    }
}
