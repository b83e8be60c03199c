//! The rates of the ways between the nodes, each way from a node to another one.
//!
//! - `judge`: which of them are slow, and whether that is a host's or a link's doing.

pub(crate) mod judge;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use self::judge::{Judgement, Rates};

/// The measurements of nodes among each other.
#[derive(Clone, Debug, Default)]
pub struct Matrix {
    pub transport: &'static str,
    /// Of the nodes, in their order.
    pub names: Vec<String>,
    /// Those that were tried, by the numbers of their two nodes: from, to. With 128 nodes there are 16,256 of them.
    pub routes: BTreeMap<(usize, usize), Route>,
}

/// The way from one node to another one, by their numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Route {
    pub from: usize,
    pub to: usize,
    /// The receiver measured, by asking for answers; else the sender did.
    pub is_back: bool,
    /// Payload in bit/s, of each repeat that says something.
    pub repeats_bits_per_s: Vec<f64>,
    /// The median of the round trips of 64 bytes between the two.
    pub rtt_ns: Option<u64>,
    /// Both nodes have one address: there is no link between them, and it is not judged.
    pub is_local: bool,
    /// Why it was not measured, or not to the end.
    pub error: Option<String>,
}

impl Route {
    /// Payload in bit/s, the best of the repeats: a bad link is bad each time, and what slows only some repeats may be
    /// other programs on the hosts.
    pub(crate) fn bits_per_s(&self) -> Option<f64> {
        self.repeats_bits_per_s.iter().copied().reduce(f64::max)
    }
}

impl Matrix {
    /// Which ways are slow, and whose doing that is; `tolerance` is the share by which a way may be slower than usual.
    pub fn judge(&self, tolerance: f64) -> Judgement {
        let count = self.names.len();
        let mut rates = Rates(vec![vec![None; count]; count]);
        for route in self.routes.values().filter(|route| !route.is_local) {
            rates.0[route.from][route.to] = route.bits_per_s();
        }
        judge::judge(&rates, tolerance)
    }

    /// The pairs of which a direction is slow, the earlier node first.
    pub(crate) fn slow_pairs(&self, tolerance: f64) -> BTreeSet<(usize, usize)> {
        let Some(least) = self.judge(tolerance).least_bits_per_s else { return BTreeSet::new() };
        let is_slow = |route: &&Route| !route.is_local && route.bits_per_s().is_some_and(|rate| rate < least);
        self.routes.values().filter(is_slow).map(|route| (route.from.min(route.to), route.from.max(route.to))).collect()
    }

    /// Adds what was measured of a way, which may have been measured before.
    pub(crate) fn add(&mut self, route: Route) {
        match self.routes.entry((route.from, route.to)) {
            Entry::Occupied(entry) => {
                let record = entry.into_mut();
                record.repeats_bits_per_s.extend(route.repeats_bits_per_s);
                record.rtt_ns = record.rtt_ns.into_iter().chain(route.rtt_ns).min();
                record.error = record.error.take().or(route.error);
            }
            Entry::Vacant(place) => {
                place.insert(route);
            }
        }
    }

    /// Returns the count and the first of the ways that could not be measured, in words; `None` when all were measured.
    pub(crate) fn failure(&self) -> Option<String> {
        let failed: Vec<&Route> = self.routes.values().filter(|route| route.error.is_some()).collect();
        let first = failed.first()?;
        let [from, to] = [first.from, first.to].map(|node| self.names.get(node).map_or("?", String::as_str));
        let why = first.error.as_deref().unwrap_or_default();
        let (count, all) = (failed.len(), self.routes.len());
        Some(format!("{count} of {all} ways between nodes were not measured; the first, {from} -> {to}: {why}"))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use nix::time::ClockId;

    use super::*;

    #[test]
    fn what_was_slow_once_is_as_good_as_its_best() {
        let route =
            |from: usize, to: usize, rate: f64| Route { from, to, repeats_bits_per_s: vec![rate], ..Route::default() };
        let mut matrix = Matrix { names: vec![String::new(); 3], ..Matrix::default() };
        for (from, to) in [(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)] {
            matrix.add(route(from, to, if (from, to) == (2, 1) { 3e8 } else { 1e9 }));
        }
        assert_eq!(matrix.slow_pairs(0.05), BTreeSet::from([(1, 2)]));
        matrix.add(route(2, 1, 9.9e8));
        assert_eq!((matrix.slow_pairs(0.05), matrix.routes.len()), (BTreeSet::new(), 6));
        assert_eq!(matrix.routes[&(2, 1)].repeats_bits_per_s, [3e8, 9.9e8]);
    }

    /// A search among all ways for each of them would take minutes here, and does for none of the steps: a third
    /// of the ways is slow, so that there are many to look for.
    #[test]
    fn many_nodes_take_no_time() {
        const NODES: usize = 512;
        // The processor time of this thread does not grow when others have the cores.
        let spent = || Duration::from(ClockId::CLOCK_THREAD_CPUTIME_ID.now().unwrap());
        let before = spent();
        let mut matrix = Matrix { names: vec![String::new(); NODES], ..Matrix::default() };
        let pairs = (0..NODES).flat_map(|from| (0..NODES).map(move |to| (from, to))).filter(|(from, to)| from != to);
        for (from, to) in pairs {
            let rate = if (from + to) % 3 == 0 { 1e8 } else { 1e9 };
            matrix.add(Route { from, to, repeats_bits_per_s: vec![rate], ..Route::default() });
        }
        let slow = matrix.slow_pairs(0.05);
        assert_eq!(matrix.judge(0.05).suspects.len(), slow.len());
        for (from, to) in slow {
            matrix.add(Route { from, to, repeats_bits_per_s: vec![1e9], ..Route::default() });
        }
        assert_eq!(matrix.routes.len(), NODES * (NODES - 1));
        let took = spent() - before;
        assert!(took < Duration::from_secs(30), "{took:?}");
    }
}
