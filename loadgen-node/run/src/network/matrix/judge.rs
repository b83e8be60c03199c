//! Which ways between nodes are slow, and whose doing that is: a link between two nodes, or a host, which is slow
//! towards nearly all others. All of it is arithmetic.
//!
//! What is usual is the median of what the nodes typically send and receive, each of which is a median itself. So a
//! host or some links may be bad without moving it; when half of the nodes are, it is taken from them. A way is slow
//! when it is below what is usual by more than the tolerance, and by more than the others scatter.

/// Fewest ways from or to a node that tell a host from a link: with fewer, one link is too large a share of them.
const FEWEST_WAYS: usize = 3;

/// The share of a host's ways that are slow when the host is.
const NEARLY_ALL: f64 = 0.75;

/// The number of standard deviations below the usual rate from which on a low rate is no chance any more.
const SIGMAS: f64 = 3.0;

/// The median of absolute deviations times this is the standard deviation, where values are normally distributed.
const SIGMA_OF_MEDIAN: f64 = 1.4826;

/// A way that carries more than this times the usual is no link like the others: it stays inside a machine.
const INSIDE: f64 = 2.0;

/// The share of the usual rate, or of the rate typical of a slow host, below which a way is slow however much others
/// scatter.
const ALWAYS_SLOW: f64 = 0.5;

/// The findings on the ways between the nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judgement {
    /// The usual rate of a way, bit/s; `None` when nothing was measured.
    pub(crate) usual_bits_per_s: Option<f64>,
    /// The rate below which a way is slow, bit/s.
    pub(crate) least_bits_per_s: Option<f64>,
    /// There were enough nodes to tell a host from a link.
    pub(crate) tells_hosts: bool,
    /// Hosts first, then links; the slowest first.
    pub(crate) suspects: Vec<Suspect>,
}

/// Something that is slow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Suspect {
    pub(crate) place: Suspected,
    /// The rate that it carries, bit/s: that of the slower direction.
    pub(crate) bits_per_s: f64,
    /// Of a host: the slow rates of what it sends, and of what it receives, bit/s.
    pub(crate) host_bits_per_s: [Option<f64>; 2],
}

/// Where it is slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Suspected {
    /// A host, in what it sends, in what it receives, or in both.
    Host { node: usize, sends: bool, receives: bool },
    /// The link between two nodes, from the one to the other, or both ways.
    Link { from: usize, to: usize, both: bool },
    /// The same, where it may as well be one of the two hosts: there are too few ways to compare with.
    Unclear { from: usize, to: usize, both: bool },
}

/// Rates in bit/s, from the node of a row to that of a column; none where there is nothing to judge.
pub(crate) struct Rates(pub(crate) Vec<Vec<Option<f64>>>);

impl Rates {
    fn nodes(&self) -> usize {
        self.0.len()
    }

    fn row(&self, node: usize) -> Vec<f64> {
        self.0[node].iter().copied().flatten().collect()
    }

    fn column(&self, node: usize) -> Vec<f64> {
        self.0.iter().filter_map(|row| row[node]).collect()
    }

    /// All that are known, with their nodes.
    fn entries(&self) -> impl Iterator<Item = (usize, usize, f64)> + '_ {
        let row = |(from, row): (usize, &'_ Vec<Option<f64>>)| {
            row.iter().enumerate().filter_map(move |(to, rate)| Some((from, to, (*rate)?))).collect::<Vec<_>>()
        };
        self.0.iter().enumerate().flat_map(row)
    }
}

/// Judges rates; `tolerance` is the share by which a way may be slower than usual.
pub(crate) fn judge(rates: &Rates, tolerance: f64) -> Judgement {
    // Two nodes have one link, and no other to compare it with.
    if rates.entries().count() < FEWEST_WAYS {
        return Judgement::default();
    }
    let typical = |node: usize| [upper_median(rates.row(node)), upper_median(rates.column(node))];
    let Some(usual) = upper_median((0..rates.nodes()).flat_map(typical).flatten().collect()) else {
        return Judgement::default();
    };
    let least = least(rates, usual, tolerance);
    let hosts: Vec<Host> = (0..rates.nodes()).map(|node| Host::of(rates, node, least)).collect();
    let mut suspects: Vec<Suspect> = hosts.iter().enumerate().filter_map(|(node, host)| host.suspect(node)).collect();
    suspects.sort_by(|a, b| a.bits_per_s.total_cmp(&b.bits_per_s));
    let mut links = links(rates, &hosts, least);
    links.sort_by(|a, b| a.bits_per_s.total_cmp(&b.bits_per_s));
    suspects.append(&mut links);
    let tells_hosts = !hosts.is_empty() && hosts.iter().all(|host| host.is_known());
    Judgement { usual_bits_per_s: Some(usual), least_bits_per_s: Some(least), tells_hosts, suspects }
}

/// Returns the rate below which a way is slow. The scatter is that of the ways that are not below the usual, so that
/// slow ones do not make each other look normal.
fn least(rates: &Rates, usual: f64, tolerance: f64) -> f64 {
    let is_link = |rate: &f64| (usual..=usual * INSIDE).contains(rate);
    let above = rates.entries().map(|(.., rate)| rate).filter(is_link).map(|rate| rate - usual).collect();
    let sigma = SIGMA_OF_MEDIAN * upper_median(above).unwrap_or(0.0);
    (usual * (1.0 - tolerance)).min((usual - SIGMAS * sigma).max(usual * ALWAYS_SLOW))
}

/// The ways of one node.
struct Host {
    /// The rate at which the node sends, bit/s, when nearly all of its ways out are slow.
    sends: Option<f64>,
    /// The same of what it receives.
    receives: Option<f64>,
    /// There are enough ways from it; and to it.
    knows: [bool; 2],
}

impl Host {
    fn of(rates: &Rates, node: usize, least: f64) -> Host {
        let slow = |values: Vec<f64>| {
            let count = values.iter().filter(|rate| **rate < least).count();
            let is_slow = values.len() >= FEWEST_WAYS && count as f64 >= values.len() as f64 * NEARLY_ALL;
            is_slow.then(|| upper_median(values)).flatten()
        };
        let [row, column] = [rates.row(node), rates.column(node)];
        let knows = [row.len(), column.len()].map(|count| count >= FEWEST_WAYS);
        Host { sends: slow(row), receives: slow(column), knows }
    }

    fn is_known(&self) -> bool {
        self.knows == [true, true]
    }

    fn suspect(&self, node: usize) -> Option<Suspect> {
        let bits_per_s = self.sends.into_iter().chain(self.receives).reduce(f64::min)?;
        let place = Suspected::Host { node, sends: self.sends.is_some(), receives: self.receives.is_some() };
        Some(Suspect { place, bits_per_s, host_bits_per_s: [self.sends, self.receives] })
    }
}

/// Ways that are slow beyond what a slow host explains. Two directions of one pair are one link.
fn links(rates: &Rates, hosts: &[Host], least: f64) -> Vec<Suspect> {
    // The scatter of a slow host's ways is not known, so that there a link has to stand out more.
    let of_host = |typical: Option<f64>| typical.map_or(least, |typical| typical * ALWAYS_SLOW);
    let is_slow = |&(from, to, rate): &(usize, usize, f64)| {
        rate < least.min(of_host(hosts[from].sends)).min(of_host(hosts[to].receives))
    };
    let back = |from: usize, to: usize| rates.0[to][from].filter(|rate| is_slow(&(to, from, *rate)));
    let link = |(from, to, rate): (usize, usize, f64)| {
        let back = back(from, to);
        // Both directions are told once, from the earlier node to the later.
        if back.is_some() && from > to {
            return None;
        }
        let (both, bits_per_s) = (back.is_some(), back.map_or(rate, |back| back.min(rate)));
        let is_clear = hosts[from].knows[0] && hosts[to].knows[1];
        let place = if is_clear { Suspected::Link { from, to, both } } else { Suspected::Unclear { from, to, both } };
        Some(Suspect { place, bits_per_s, host_bits_per_s: [None, None] })
    };
    rates.entries().filter(is_slow).filter_map(link).collect()
}

/// The median; of an even number of values the upper one of the two in the middle, so that of few values one that is
/// slow does not count.
pub(crate) fn upper_median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: f64 = 1e9;

    /// So many nodes, all ways as usual but for a scatter of a per mille.
    fn even(nodes: usize) -> Rates {
        let rate = |from: usize, to: usize| {
            let off = ((from * 7 + to * 3) % 5) as f64 - 2.0;
            (from != to).then(|| USUAL * (1.0 + off / 2000.0))
        };
        Rates((0..nodes).map(|from| (0..nodes).map(|to| rate(from, to)).collect()).collect())
    }

    fn slowed(mut rates: Rates, share: f64, is_slow: impl Fn(usize, usize) -> bool) -> Rates {
        for (from, row) in rates.0.iter_mut().enumerate() {
            for (to, rate) in row.iter_mut().enumerate() {
                *rate = rate.map(|rate| if is_slow(from, to) { rate * share } else { rate });
            }
        }
        rates
    }

    fn places(rates: &Rates) -> Vec<Suspected> {
        judge(rates, 0.05).suspects.iter().map(|suspect| suspect.place).collect()
    }

    #[test]
    fn of_an_even_fabric_nothing_is_suspected() {
        assert_eq!(judge(&even(2), 0.05), Judgement::default(), "one link alone");
        for nodes in [3, 4, 9, 16] {
            let judgement = judge(&even(nodes), 0.05);
            assert_eq!((judgement.suspects.len(), judgement.tells_hosts), (0, nodes >= 4), "{nodes} nodes");
            assert!((judgement.usual_bits_per_s.unwrap() / USUAL - 1.0).abs() < 0.002, "{judgement:?}");
        }
        assert_eq!(judge(&Rates(Vec::new()), 0.05), Judgement::default());
        assert_eq!(judge(&Rates(vec![vec![None]]), 0.05), Judgement::default());
    }

    #[test]
    fn a_bad_cable_is_one_pair() {
        let cable = slowed(even(4), 0.2, |from, to| [(1, 2), (2, 1)].contains(&(from, to)));
        assert_eq!(places(&cable), [Suspected::Link { from: 1, to: 2, both: true }]);
        let one_way = slowed(even(4), 0.2, |from, to| (from, to) == (3, 0));
        assert_eq!(places(&one_way), [Suspected::Link { from: 3, to: 0, both: false }]);
        let slow = judge(&one_way, 0.05).suspects[0].bits_per_s;
        assert!((slow / USUAL - 0.2).abs() < 0.001, "{slow}");
    }

    #[test]
    fn a_bad_host_is_its_whole_row_and_column() {
        for nodes in [4, 5, 16] {
            let host = slowed(even(nodes), 0.2, |from, to| from == 2 || to == 2);
            assert_eq!(places(&host), [Suspected::Host { node: 2, sends: true, receives: true }], "{nodes} nodes");
        }
    }

    #[test]
    fn one_direction_says_which_side_of_a_host() {
        let sends = slowed(even(4), 0.8, |from, _| from == 1);
        assert_eq!(places(&sends), [Suspected::Host { node: 1, sends: true, receives: false }]);
        let receives = slowed(even(4), 0.8, |_, to| to == 3);
        assert_eq!(places(&receives), [Suspected::Host { node: 3, sends: false, receives: true }]);
    }

    #[test]
    fn a_bad_cable_is_found_beside_a_bad_host_also_at_that_host() {
        let both = |cable: (usize, usize)| {
            let host = slowed(even(6), 0.5, |from, to| from == 0 || to == 0);
            places(&slowed(host, 0.3, |from, to| (from, to) == cable))
        };
        let host = Suspected::Host { node: 0, sends: true, receives: true };
        assert_eq!(both((3, 4)), [host, Suspected::Link { from: 3, to: 4, both: false }]);
        assert_eq!(both((0, 4)), [host, Suspected::Link { from: 0, to: 4, both: false }]);
    }

    #[test]
    fn two_bad_hosts_of_six_are_both_found() {
        let suspects = places(&slowed(even(6), 0.3, |from, to| from == 1 || to == 4));
        assert_eq!(suspects.len(), 2, "{suspects:?}");
        assert!(suspects.contains(&Suspected::Host { node: 1, sends: true, receives: false }), "{suspects:?}");
        assert!(suspects.contains(&Suspected::Host { node: 4, sends: false, receives: true }), "{suspects:?}");
    }

    #[test]
    fn too_few_nodes_do_not_tell_a_host_from_a_link() {
        let judgement = judge(&slowed(even(3), 0.2, |from, to| from == 0 || to == 0), 0.05);
        assert!(!judgement.tells_hosts);
        let unclear = |to| Suspected::Unclear { from: 0, to, both: true };
        let places: Vec<_> = judgement.suspects.iter().map(|suspect| suspect.place).collect();
        assert!(places.contains(&unclear(1)) && places.contains(&unclear(2)) && places.len() == 2, "{places:?}");
        let two = judge(&slowed(even(2), 0.2, |from, _| from == 0), 0.05);
        assert_eq!(two, Judgement::default());
    }

    #[test]
    fn what_was_not_measured_makes_it_unclear_and_no_fault() {
        let mut holes = slowed(even(4), 0.2, |from, to| (from, to) == (0, 1));
        (holes.0[0][2], holes.0[2][0]) = (None, None);
        let judgement = judge(&holes, 0.05);
        assert!(!judgement.tells_hosts, "{judgement:?}");
        assert_eq!(judgement.suspects[0].place, Suspected::Unclear { from: 0, to: 1, both: false });
    }

    #[test]
    fn what_scatters_needs_more_to_be_slow() {
        let noisy = |nodes: usize| {
            let mut rates = even(nodes);
            for (number, rate) in rates.0.iter_mut().flatten().flatten().enumerate() {
                *rate = USUAL * (0.85 + (number * 7 % 11) as f64 * 0.03);
            }
            rates
        };
        let judgement = judge(&noisy(6), 0.05);
        assert_eq!(judgement.suspects, [], "{judgement:?}");
        let bad = slowed(noisy(6), 0.2, |from, to| from == 2 || to == 2);
        assert_eq!(places(&bad), [Suspected::Host { node: 2, sends: true, receives: true }]);
    }

    /// Two machines with two nodes each: what stays inside of one is four times as fast as a link.
    #[test]
    fn ways_inside_a_machine_hide_no_slow_link() {
        let mut rates = even(4);
        for (a, b) in [(0, 1), (1, 0), (2, 3), (3, 2)] {
            rates.0[a][b] = Some(4.0 * USUAL);
        }
        assert_eq!(judge(&rates, 0.05).suspects, []);
        rates.0[0][2] = Some(0.6 * USUAL);
        let suspects = judge(&rates, 0.05).suspects;
        assert!(
            matches!(suspects[..], [Suspect { place: Suspected::Link { from: 0, to: 2, both: false }, .. }]),
            "{suspects:?}"
        );
    }

    #[test]
    fn a_wide_tolerance_is_kept() {
        let mut rates = even(5);
        rates.0[0][2] = Some(0.45 * USUAL);
        assert_eq!(judge(&rates, 0.7).suspects, []);
        assert_eq!(judge(&rates, 0.05).suspects.len(), 1);
    }
}
