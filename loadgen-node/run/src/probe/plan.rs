//! Plan of a probe: a checked value, made of flags or by a run with `--probe`.
//!
//! Of every node alone: round trips of each size; goodput up and down over each number of connections; goodput both
//! ways over the number that fills the link. Then the same goodputs of all nodes at once. Each goodput is measured
//! `repeats` times.

use std::num::NonZeroUsize;
use std::time::Duration;

use lon_proto::limits::MAX_PEER_PROBE_BYTES;

/// Sizes of the requests whose round trips are measured, unless told otherwise: a question, a few tokens, a piece of an
/// image, an image.
pub const USUAL_SIZES: [usize; 4] = [64, 4 << 10, 64 << 10, 1 << 20];

/// Round trips get this share of a flood's time, for each size.
const TRIPS_SHARE: f64 = 0.25;

/// Most repeats where the mean is not known well enough, as a multiple of the planned ones.
const MORE_REPEATS: usize = 3;

/// Measurements that a probe makes.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbePlan {
    /// Time for which goodput is measured in each direction. Each size of round trips gets a quarter of it.
    pub duration: Duration,
    /// Bytes of payload after which a measurement ends, however short it was.
    pub max_bytes: u64,
    /// Numbers of connections to each node, rising.
    connections: Vec<NonZeroUsize>,
    /// Sizes of requests whose round trips are measured, in bytes.
    sizes: Vec<usize>,
    repeats: NonZeroUsize,
    /// The share of itself that each mean has to be known to. With two repeats or more, up to three times as many are
    /// made until it is.
    pub known_to: f64,
}

impl ProbePlan {
    /// A plan with these numbers of connections (at least one) and sizes, each once and rising.
    pub fn new(
        duration: Duration,
        max_bytes: u64,
        mut connections: Vec<NonZeroUsize>,
        mut sizes: Vec<usize>,
        repeats: NonZeroUsize,
    ) -> ProbePlan {
        if connections.is_empty() {
            connections.push(NonZeroUsize::MIN);
        }
        connections.sort_unstable();
        connections.dedup();
        sizes.sort_unstable();
        sizes.dedup();
        ProbePlan { duration, max_bytes, connections, sizes, repeats, known_to: 0.025 }
    }

    /// Returns the plan of a probe without flags, over so many connections.
    pub fn usual(connections: NonZeroUsize) -> ProbePlan {
        let (duration, max_bytes) = (Duration::from_secs(2), MAX_PEER_PROBE_BYTES);
        ProbePlan::new(duration, max_bytes, vec![connections], USUAL_SIZES.to_vec(), NonZeroUsize::MIN)
    }

    /// Numbers of connections to each node, rising; at least one.
    pub fn connections(&self) -> impl Iterator<Item = usize> + '_ {
        self.connections.iter().map(|count| count.get())
    }

    /// The largest of them.
    pub fn most_connections(&self) -> NonZeroUsize {
        self.connections.last().copied().unwrap_or(NonZeroUsize::MIN)
    }

    /// Sizes of requests whose round trips are measured.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// Returns the time for which the round trips of one size are measured.
    pub(crate) fn trips_time(&self) -> Duration {
        self.duration.mul_f64(TRIPS_SHARE)
    }

    /// Returns the least and the largest number of measurements of each goodput.
    pub fn repeats(&self) -> (usize, usize) {
        let least = self.repeats.get();
        (least, if least > 1 { least * MORE_REPEATS } else { 1 })
    }

    /// Returns the number of measurements with so many nodes, when none is repeated more often than it has to be.
    pub(crate) fn steps(&self, nodes: usize) -> usize {
        let alone = self.sizes.len() + (2 * self.connections.len() + 1) * self.repeats.get();
        let together = if nodes > 1 { 3 * self.repeats.get() } else { 0 };
        nodes * alone + together
    }

    /// About how long it takes with so many nodes: when every mean is known soon, and when all repeats are made.
    pub(crate) fn time(&self, nodes: usize) -> [Duration; 2] {
        let trips = nodes * self.sizes.len();
        let floods = self.steps(nodes) - trips;
        let (least, most) = self.repeats();
        [floods, floods / least * most].map(|floods| self.trips_time() * trips as u32 + self.duration * floods as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(counts: &[usize]) -> Vec<NonZeroUsize> {
        counts.iter().map(|count| NonZeroUsize::new(*count).unwrap()).collect()
    }

    #[test]
    fn lists_are_put_in_order() {
        let plan = ProbePlan::new(Duration::from_secs(1), 1, counts(&[8, 1, 2, 8]), vec![64, 8, 64], NonZeroUsize::MIN);
        assert_eq!(plan.connections().collect::<Vec<_>>(), [1, 2, 8]);
        assert_eq!((plan.most_connections().get(), plan.sizes()), (8, &[8, 64][..]));
        assert_eq!(plan.repeats(), (1, 1), "one is one");
        let none = ProbePlan::new(Duration::from_secs(1), 1, Vec::new(), Vec::new(), counts(&[5])[0]);
        assert_eq!((none.connections().collect::<Vec<_>>(), none.repeats()), (vec![1], (5, 15)));
    }

    #[test]
    fn the_length_is_known_before() {
        let usual = ProbePlan::usual(NonZeroUsize::MIN);
        assert_eq!((usual.steps(1), usual.time(1)), (4 + 3, [Duration::from_secs(4 * 2 / 4 + 3 * 2); 2]));
        assert_eq!(usual.steps(3), 3 * 7 + 3);
        let swept = ProbePlan::new(Duration::from_secs(1), 1, counts(&[1, 2, 4, 8]), vec![64], counts(&[5])[0]);
        assert_eq!(swept.steps(1), 1 + 9 * 5);
        let quarter = Duration::from_millis(250);
        assert_eq!(swept.time(1), [45, 135].map(|floods| quarter + Duration::from_secs(floods)));
    }
}
