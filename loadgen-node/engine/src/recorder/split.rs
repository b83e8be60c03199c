//! Lag split in two: the part that this engine was late, and the part behind others that were due at the same moment.
//!
//! Of queries that are due at once one is the first to go, and each other one waits for those before it. That wait is
//! a fact of the burst, and not of the machine. The lag of all of them is that of the first one's issue.

use super::lag::{Lag, LagStats};

/// Groups of samples with one due time, in issue order.
#[derive(Debug)]
pub(super) struct Split {
    groups: Vec<Group>,
    /// Due and issue time of the latest sample.
    latest: Option<(u64, u64)>,
    behind: Lag,
}

/// Samples that were due at once.
#[derive(Clone, Copy, Debug)]
struct Group {
    first: u64,
    end: u64,
    /// Time from the due time to the first sample's issue, ns.
    late_ns: u64,
}

impl Default for Split {
    fn default() -> Self {
        Split { groups: Vec::new(), latest: None, behind: Lag::new() }
    }
}

impl Split {
    /// Notes a sample that is issued.
    pub(super) fn issued(&mut self, position: u64, due_ns: u64, issued_ns: u64) {
        let before = self.latest.replace((due_ns, issued_ns)).filter(|(due_before_ns, _)| *due_before_ns == due_ns);
        let Some((_, first_ns)) = before else { return };
        match self.groups.last_mut().filter(|group| group.end == position) {
            Some(group) => group.end = position + 1,
            None => self.groups.push(Group {
                first: position - 1,
                end: position + 1,
                late_ns: first_ns.saturating_sub(due_ns),
            }),
        }
    }

    /// The part of a sample's lag that is our own; the rest counts as behind others.
    pub(super) fn own_ns(&mut self, position: u64, lag_ns: u64) -> u64 {
        let after = self.groups.partition_point(|group| group.first < position);
        let group = after.checked_sub(1).and_then(|at| self.groups.get(at)).filter(|group| position < group.end);
        let Some(group) = group else { return lag_ns };
        let own_ns = lag_ns.min(group.late_ns);
        self.behind.record(0, lag_ns - own_ns);
        own_ns
    }

    /// Lag behind others.
    pub(super) fn stats(&self) -> LagStats {
        self.behind.stats()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lag_behind_others_of_a_burst_is_not_our_own() {
        let mut split = Split::default();
        // Alone; three at once, of which the first goes 5 ns late; alone; two at once.
        for (position, (due_ns, issued_ns)) in
            [(0, 0), (100, 105), (100, 106), (100, 109), (200, 200), (300, 300), (300, 301)].into_iter().enumerate()
        {
            split.issued(position as u64, due_ns, issued_ns);
        }
        let own: Vec<u64> = (0..7).map(|position| split.own_ns(position, 20)).collect();
        assert_eq!(own, [20, 20, 5, 5, 20, 20, 0]);
        assert_eq!((split.stats().count, split.stats().max_ns), (3, 20));
        assert_eq!(split.own_ns(2, 3), 3, "an early one is late by its own lag at most");
    }
}
