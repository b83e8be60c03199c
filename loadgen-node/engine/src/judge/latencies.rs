//! Latencies of one kind: one by one, or where only a few of them are known, as runs of equal ones. Logs claim counts,
//! and runs take no memory for them.

/// Latencies in ns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Latencies {
    /// One by one, as they were measured.
    Each(Vec<i64>),
    /// Runs of equal ones: the latency, and how many have it.
    Equal(Vec<(i64, u64)>),
}

impl Default for Latencies {
    fn default() -> Self {
        Latencies::Each(Vec::new())
    }
}

impl From<Vec<i64>> for Latencies {
    fn from(latencies_ns: Vec<i64>) -> Self {
        Latencies::Each(latencies_ns)
    }
}

impl Latencies {
    /// Returns the number of latencies.
    pub fn count(&self) -> u64 {
        self.sorted().count()
    }

    pub(super) fn sort(&mut self) {
        match self {
            Latencies::Each(each) => each.sort_unstable(),
            Latencies::Equal(runs) => runs.sort_unstable(),
        }
    }

    /// The same after [`Self::sort`].
    pub(super) fn sorted(&self) -> Sorted<'_> {
        match self {
            Latencies::Each(each) => Sorted::Each(each),
            Latencies::Equal(runs) => Sorted::Equal(runs),
        }
    }
}

/// Latencies in ascending order, ns.
#[derive(Clone, Copy, Debug)]
pub enum Sorted<'a> {
    /// One by one.
    Each(&'a [i64]),
    /// Runs of equal ones: the latency, and how many have it.
    Equal(&'a [(i64, u64)]),
}

impl Sorted<'_> {
    /// Returns the number of latencies.
    pub fn count(self) -> u64 {
        match self {
            Sorted::Each(each) => each.len() as u64,
            Sorted::Equal(runs) => runs.iter().map(|(_, count)| count).sum(),
        }
    }

    /// The one at this position, from 0 on.
    pub fn at(self, position: u64) -> Option<i64> {
        match self {
            Sorted::Each(each) => each.get(usize::try_from(position).ok()?).copied(),
            Sorted::Equal(runs) => {
                let mut end = 0;
                let is_in = |(_, count): &&(i64, u64)| {
                    end += count;
                    position < end
                };
                runs.iter().find(is_in).map(|(ns, _)| *ns)
            }
        }
    }

    /// The largest one.
    pub fn last(self) -> Option<i64> {
        self.at(self.count().checked_sub(1)?)
    }

    /// All of them together.
    pub fn sum(self) -> i128 {
        match self {
            Sorted::Each(each) => each.iter().map(|ns| i128::from(*ns)).sum(),
            Sorted::Equal(runs) => runs.iter().map(|(ns, count)| i128::from(*ns) * i128::from(*count)).sum(),
        }
    }

    /// Returns the number of latencies that exceed a limit.
    pub fn over(self, limit_ns: u64) -> u64 {
        let limit = i64::try_from(limit_ns).unwrap_or(i64::MAX);
        match self {
            Sorted::Each(each) => (each.len() - each.partition_point(|ns| *ns <= limit)) as u64,
            Sorted::Equal(runs) => runs.iter().filter(|(ns, _)| *ns > limit).map(|(_, count)| count).sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_what_they_stand_for() {
        let each = [1, 4, 4, 4, 9, 9];
        let mut runs = Latencies::Equal(vec![(9, 2), (1, 1), (4, 3), (7, 0)]);
        runs.sort();
        let (one, other) = (Sorted::Each(&each), runs.sorted());
        assert_eq!((one.count(), one.sum(), one.last()), (other.count(), other.sum(), other.last()));
        for position in 0..=6 {
            assert_eq!(one.at(position), other.at(position), "{position}");
        }
        for limit_ns in [0, 1, 3, 4, 8, 9, u64::MAX] {
            assert_eq!(one.over(limit_ns), other.over(limit_ns), "{limit_ns}");
        }
        assert_eq!((Latencies::default().sorted().last(), runs.count()), (None, 6));
    }
}
