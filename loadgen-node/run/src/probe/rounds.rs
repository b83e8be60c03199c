//! Which pairs of nodes measure at the same time: a tournament in which no host plays twice in a round.

/// Every pair of nodes once, in rounds of `at_once` pairs at most. `hosts` has the host of each node, as a number: no
/// host is in two pairs of one round. A pair of two nodes on one host has it alone.
pub(super) fn rounds(hosts: &[usize], at_once: usize) -> Vec<Vec<(usize, usize)>> {
    let mut pairs = tournament(hosts.len());
    let mut rounds = Vec::new();
    while !pairs.is_empty() {
        let (mut round, mut taken) = (Vec::new(), vec![false; hosts.len()]);
        pairs.retain(|&(a, b)| {
            let is_free = [a, b].iter().all(|&node| !taken[hosts[node]]);
            let plays = is_free && round.len() < at_once.max(1);
            if plays {
                round.push((a, b));
                [a, b].iter().for_each(|&node| taken[hosts[node]] = true);
            }
            !plays
        });
        rounds.push(round);
    }
    rounds
}

/// All pairs, round by round, by the circle method: one stays, the others move on by one seat. The node that is earlier
/// in the list comes first in a pair.
fn tournament(nodes: usize) -> Vec<(usize, usize)> {
    // With an odd number, the partner of the one seat too many pauses.
    let seats = nodes + nodes % 2;
    let turns = seats.saturating_sub(1);
    let pairs = |round: usize| {
        let seat = move |at: usize| if at == 0 { turns } else { (round + at) % turns };
        (0..seats / 2).map(move |at| {
            let (a, b) = (seat(at), seat(seats - 1 - at));
            (a.min(b), a.max(b))
        })
    };
    (0..turns).flat_map(pairs).filter(|&(_, later)| later < nodes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every pair once, and no host twice in a round.
    fn check(hosts: &[usize], at_once: usize) -> usize {
        let rounds = rounds(hosts, at_once);
        let mut all: Vec<_> = rounds.iter().flatten().copied().collect();
        all.sort_unstable();
        let nodes = hosts.len();
        let pairs: Vec<_> = (0..nodes).flat_map(|a| (a + 1..nodes).map(move |b| (a, b))).collect();
        assert_eq!(all, pairs);
        for round in &rounds {
            assert!(!round.is_empty() && round.len() <= at_once, "{round:?}");
            let of_pair = |&(a, b): &(usize, usize)| {
                if hosts[a] == hosts[b] { vec![hosts[a]] } else { vec![hosts[a], hosts[b]] }
            };
            let mut busy: Vec<usize> = round.iter().flat_map(of_pair).collect();
            let count = busy.len();
            busy.sort_unstable();
            busy.dedup();
            assert_eq!(busy.len(), count, "{round:?}");
        }
        rounds.len()
    }

    #[test]
    fn hosts_of_their_own_need_as_few_rounds_as_can_be() {
        for nodes in 2..=17_usize {
            let hosts: Vec<usize> = (0..nodes).collect();
            assert_eq!(check(&hosts, usize::MAX), if nodes % 2 == 0 { nodes - 1 } else { nodes }, "{nodes} nodes");
        }
        assert_eq!(rounds(&[0], 9), Vec::<Vec<_>>::new());
        assert_eq!(rounds(&[], 9), Vec::<Vec<_>>::new());
    }

    #[test]
    fn one_at_a_time_and_nodes_that_share_a_host() {
        assert_eq!(check(&[0, 1, 2, 3], 1), 6);
        assert_eq!(check(&[0, 0, 0, 0], usize::MAX), 6, "one host");
        check(&[0, 0, 1, 1, 2, 3], usize::MAX);
        check(&[0, 1, 0, 2, 1], 2);
    }
}
