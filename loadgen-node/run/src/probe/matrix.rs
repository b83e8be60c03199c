//! Measurement of what the ways between the nodes carry, by the nodes themselves: `probe --matrix`.
//!
//! For each pair of nodes the one that is earlier in the list is claimed, and asked to probe the other over connections
//! of its own, in both directions. Pairs that share no host are measured at the same time.

use std::collections::BTreeMap;
use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::ScopedJoinHandle;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use qdl::{Driver, NodeDescription, NodeIndex, PeerOrder, PeerResult, Peers, Policy, Qdl, RunConfig};

use super::ProbeError;
use super::plan::ProbePlan;
use super::rounds::rounds;
use super::steps::Steps;
use crate::exit::{Exit, OrExit as _, Outcome};
use crate::network::matrix::{Matrix, Route};
use crate::nodes::target::Target;
use crate::signals::StopRequests;
use lon_world::inbox::Inbox;

/// Pairs at the same time, unless it is said how many: each takes some threads and connections here.
const MOST_AT_ONCE: usize = 64;

/// Longest wait for a node that is still busy with what came before. Every node has answered by then.
const BUSY_WAIT: Duration = Duration::from_secs(2);

/// Time, and number of bytes, for which a node measures another one to show that it may.
const MOMENT: (Duration, u64) = (Duration::from_millis(1), 1 << 16);

/// Checks that each node which is to measure may measure the next one, so that what is missing is known before anything
/// is measured. How good the ways are is not looked at.
///
/// # Errors
/// A node cannot be reached, or refuses to measure (exit code 4).
pub fn check(target: &Target, plan: &ProbePlan) -> Outcome<()> {
    let nodes = target.connect()?.nodes().to_vec();
    let (time, bytes) = MOMENT;
    let plan = &ProbePlan::new(time, bytes, vec![plan.most_connections()], vec![64], NonZeroUsize::MIN);
    let asking = Asking { target, plan, nodes: &nodes, stop: &Arc::default() };
    let pairs = (0..nodes.len().saturating_sub(1)).map(|from| (from, from + 1));
    // No node is claimed by two at a time.
    let (even, odd): (Vec<Pair>, Vec<Pair>) = pairs.partition(|(from, _)| from % 2 == 0);
    for round in even.chunks(MOST_AT_ONCE).chain(odd.chunks(MOST_AT_ONCE)) {
        for ((from, _), answer) in asking.answers_of(round) {
            let node = || format!("--matrix: node {} cannot measure the others", nodes[from].name);
            answer.map_err(|why| anyhow!(why)).with_context(node).or_exit(Exit::Network)?;
        }
    }
    Ok(())
}

/// Measures every pair of nodes, `at_once` of them at the same time at most; then once more those that are slower than
/// usual by more than `tolerance`, since other programs may have been in the way. What was measured comes back also
/// when some of it failed, or when it ends early.
///
/// # Errors
/// A node cannot be reached; nothing was measured.
pub fn measure(
    target: &Target,
    plan: &ProbePlan,
    at_once: Option<NonZeroUsize>,
    tolerance: f64,
    stop: &dyn StopRequests,
) -> Outcome<(Matrix, Result<(), ProbeError>)> {
    let stop = stop.test_begins().context("cannot listen to signals").or_exit(Exit::Bug)?;
    let nodes = target.connect()?.nodes().to_vec();
    let all = rounds(&hosts(&nodes), at_once.map_or(MOST_AT_ONCE, NonZeroUsize::get));
    let names = nodes.iter().map(|node| node.name.clone()).collect();
    let mut matrix = Matrix { transport: target.peers.transport().name(), names, routes: BTreeMap::new() };
    let asking = Asking { target, plan, nodes: &nodes, stop: &stop };
    let outcome = asking.play("among each other", &all, &mut matrix).and_then(|()| {
        let slow = matrix.slow_pairs(tolerance);
        let again = |round: &Vec<Pair>| round.iter().copied().filter(|pair| slow.contains(pair)).collect();
        let again: Vec<Vec<Pair>> = all.iter().map(again).filter(|round: &Vec<Pair>| !round.is_empty()).collect();
        asking.play("slow ones once more", &again, &mut matrix)
    });
    let outcome = outcome.and_then(|()| matrix.failure().map_or(Ok(()), |why| Err(ProbeError::Node(why))));
    Ok((matrix, outcome))
}

/// Two nodes by their numbers, of which the first measures.
type Pair = (usize, usize);

/// Request to the nodes: the nodes that are asked, and what they measure.
struct Asking<'a> {
    target: &'a Target,
    plan: &'a ProbePlan,
    nodes: &'a [NodeDescription],
    stop: &'a Arc<AtomicBool>,
}

impl Asking<'_> {
    /// Measures round after round, until the user wants to stop. `what` is shown.
    fn play(&self, what: &str, rounds: &[Vec<Pair>], matrix: &mut Matrix) -> Result<(), ProbeError> {
        if rounds.is_empty() {
            return Ok(());
        }
        let each = self.plan.trips_time() + self.plan.duration.mul_f64(2.0 * self.plan.repeats().0 as f64);
        let takes = each * u32::try_from(rounds.len()).unwrap_or(u32::MAX);
        let mut steps = Steps::new(rounds.len(), [takes; 2]);
        for (number, round) in rounds.iter().enumerate() {
            steps.next(&format!("nodes {what}: round {} of {}", number + 1, rounds.len()));
            for (pair, answer) in self.one_round(round) {
                directions(pair, answer, self.nodes).into_iter().for_each(|direction| matrix.add(direction));
            }
            if self.stop.load(SeqCst) {
                return Err(ProbeError::Interrupted);
            }
        }
        Ok(())
    }

    /// Returns the findings of all pairs of one round. A pair that could not be asked has an error.
    fn one_round(&self, round: &[Pair]) -> Vec<(Pair, PeerResult)> {
        let failed = |why: String| PeerResult { error: Some(why), ..PeerResult::default() };
        self.answers_of(round).into_iter().map(|(pair, answer)| (pair, answer.unwrap_or_else(failed))).collect()
    }

    /// All pairs of one round at the same time, each on a thread that waits for it.
    fn answers_of(&self, round: &[Pair]) -> Vec<(Pair, Result<PeerResult, String>)> {
        let gone = |_| Err("the thread that waited for it is gone".to_owned());
        std::thread::scope(|threads| {
            let ask = |pair: &Pair| {
                let pair = *pair;
                (pair, std::thread::Builder::new().spawn_scoped(threads, move || self.ask(pair)))
            };
            let waiting: Vec<_> = round.iter().map(ask).collect();
            let none = |error: io::Error| Err(format!("no thread to wait for it: {error}"));
            let answer = |thread: io::Result<ScopedJoinHandle<'_, Result<PeerResult, String>>>| {
                thread.map_or_else(none, |thread| thread.join().unwrap_or_else(gone))
            };
            waiting.into_iter().map(|(pair, thread)| (pair, answer(thread))).collect()
        })
    }

    /// Claims a node, has it measure another one, and lets it go.
    fn ask(&self, (from, to): Pair) -> Result<PeerResult, String> {
        let (transport, plan) = (self.target.peers.transport(), self.plan);
        let order = PeerOrder {
            address: self.nodes[to].address.clone(),
            transport,
            connections: plan.most_connections(),
            time: plan.duration,
            max_bytes: plan.max_bytes,
            repeats: NonZeroUsize::new(plan.repeats().0).unwrap_or(NonZeroUsize::MIN),
        };
        let peers = Peers::sut_nodes(vec![self.nodes[from].address.clone()], transport);
        let target = Target { peers, wait_ready: BUSY_WAIT, ..self.target.clone() };
        let qdl = Qdl::connect(target.config()).map_err(|error| error.to_string())?;
        // No caller pumps while the node is waited for, so a thread does.
        let config = RunConfig::new(Policy::LeastOutstanding, Driver::Threads(NonZeroUsize::MIN));
        let run = qdl.probe(&config, Arc::new(Inbox::default())).map_err(|error| error.to_string())?;
        let answer = run.probe_peer(NodeIndex(0), &order, self.stop);
        run.end();
        answer
    }
}

/// The host of each node, as a number: the same where the system is the same, or the address.
fn hosts(nodes: &[NodeDescription]) -> Vec<usize> {
    let is_same = |a: &NodeDescription, b: &NodeDescription| {
        let same_system = !a.host.boot_id.is_empty() && a.host.boot_id == b.host.boot_id;
        same_system || a.address.host() == b.address.host()
    };
    nodes.iter().map(|node| nodes.iter().position(|first| is_same(first, node)).unwrap_or(0)).collect()
}

/// Both directions of a pair, from what the first of the two has found.
fn directions((from, to): Pair, answer: PeerResult, nodes: &[NodeDescription]) -> [Route; 2] {
    let other = &nodes[to];
    let is_local = nodes[from].address.host() == other.address.host();
    let PeerResult { name, rtt, sent_bits_per_s, received_bits_per_s, mut error } = answer;
    if error.is_none() && name != other.name {
        error = Some(format!("at {} it meets node {name}, not {}", other.address, other.name));
    }
    let direction = |from: usize, to: usize, repeats_bits_per_s: Vec<f64>| {
        let rtt_ns = rtt.map(|rtt| rtt.as_nanos() as u64);
        Route { from, to, is_back: from > to, repeats_bits_per_s, rtt_ns, is_local, error: error.clone() }
    };
    [direction(from, to, sent_bits_per_s), direction(to, from, received_bits_per_s)]
}
