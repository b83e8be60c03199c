//! The part of `probe --json` that has the ways between the nodes.

use serde::{Deserialize, Serialize};

use super::changes::Place;
use crate::network::fabric::{gbit_s, rate};
use crate::network::matrix::judge::{Judgement, Suspect, Suspected};
use crate::network::matrix::{Matrix, Route};

/// Measurements of SUT nodes among each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MatrixDocument {
    /// The transport that was probed.
    pub transport: String,
    /// The names of the nodes, in their order.
    pub nodes: Vec<String>,
    /// Each way from a node to another one.
    pub ways: Vec<WayDocument>,
    /// Which of them are slow, and where that likely is.
    pub judgement: MatrixJudgement,
}

/// The way from one node to another one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WayDocument {
    /// The node that sends.
    pub from: String,
    /// The node that receives.
    pub to: String,
    /// Payload that came through, Gbit/s, the best of the repeats, since a bad link is bad each time, and what slows
    /// only some of them may be other programs; null when it was not measured.
    pub goodput_gbit_s: Option<f64>,
    /// Every repeat of it, Gbit/s; a way that was slow has been measured once more.
    pub goodput_repeats_gbit_s: Vec<f64>,
    /// The median of the round trips of 64 bytes between the two, ns; null when there was none.
    pub rtt_ns: Option<u64>,
    /// The node that has measured it.
    pub measured_by: String,
    /// Both nodes have one address: there is no link between them, and the way is not judged.
    pub same_address: bool,
    /// Why it was not measured, or not to the end; null when it was.
    pub error: Option<String>,
}

/// Which ways are slow, and where that likely is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MatrixJudgement {
    /// Share by which a way may be slower than usual, percent; more where ways scatter more.
    pub tolerance_percent: f64,
    /// Usual rate of a way, Gbit/s: the median of the rates that each node typically sends and receives at. Null when
    /// nothing was measured.
    pub usual_gbit_s: Option<f64>,
    /// Limit below which a way counts as slow, Gbit/s.
    pub least_gbit_s: Option<f64>,
    /// There were enough nodes to tell a bad host from a bad link: four of them, with links between all.
    pub tells_hosts_from_links: bool,
    /// Places that are slow; empty when none is.
    pub suspects: Vec<SuspectDocument>,
}

/// Something that is slow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SuspectDocument {
    /// The kind of place: `host`, `link`, or `unknown` where there are too few nodes to say.
    pub place: Place,
    /// The node of a bad host; the two nodes of a link, the one that sends first.
    pub nodes: Vec<String>,
    /// Of a host `sends`, `receives` or `both`; of a link `one`, which is from the first node to the second, or `both`.
    pub direction: String,
    /// Rate of the slow place, Gbit/s: of a host the median, of a link the slower direction.
    pub gbit_s: f64,
    /// All of it, in words.
    pub why: String,
}

impl MatrixDocument {
    /// Makes the document of the measurements, and of their judgement with this tolerance.
    pub fn new(matrix: &Matrix, judgement: &Judgement, tolerance: f64) -> MatrixDocument {
        let judgement = MatrixJudgement::new(judgement, &matrix.names, tolerance);
        MatrixDocument {
            transport: matrix.transport.to_owned(),
            nodes: matrix.names.clone(),
            ways: matrix.routes.values().map(|route| WayDocument::new(route, &matrix.names)).collect(),
            judgement,
        }
    }

    /// The way from one node to another one, by their names.
    pub fn way(&self, from: &str, to: &str) -> Option<&WayDocument> {
        self.ways.iter().find(|route| route.from == from && route.to == to)
    }
}

impl WayDocument {
    fn new(route: &Route, names: &[String]) -> WayDocument {
        let name = |node: usize| names.get(node).cloned().unwrap_or_default();
        WayDocument {
            from: name(route.from),
            to: name(route.to),
            goodput_gbit_s: route.bits_per_s().map(gbit_s),
            goodput_repeats_gbit_s: route.repeats_bits_per_s.iter().copied().map(gbit_s).collect(),
            rtt_ns: route.rtt_ns,
            measured_by: name(if route.is_back { route.to } else { route.from }),
            same_address: route.is_local,
            error: route.error.clone(),
        }
    }
}

impl MatrixJudgement {
    fn new(judgement: &Judgement, names: &[String], tolerance: f64) -> MatrixJudgement {
        let usual = rate(judgement.usual_bits_per_s);
        MatrixJudgement {
            tolerance_percent: tolerance * 100.0,
            usual_gbit_s: judgement.usual_bits_per_s.map(gbit_s),
            least_gbit_s: judgement.least_bits_per_s.map(gbit_s),
            tells_hosts_from_links: judgement.tells_hosts,
            suspects: judgement.suspects.iter().map(|suspect| SuspectDocument::new(suspect, names, &usual)).collect(),
        }
    }
}

impl SuspectDocument {
    fn new(suspect: &Suspect, names: &[String], usual: &str) -> SuspectDocument {
        let name = |node: usize| names.get(node).cloned().unwrap_or_default();
        let slow = rate(Some(suspect.bits_per_s));
        let (place, nodes, direction, why) = match suspect.place {
            Suspected::Host { node, .. } => {
                let (direction, does) = match suspect.host_bits_per_s {
                    [Some(sends), Some(receives)] => {
                        let [sends, receives] = [sends, receives].map(|bits_per_s| rate(Some(bits_per_s)));
                        ("both", format!("sends at {sends} and receives at {receives}"))
                    }
                    [Some(_), None] => ("sends", format!("sends at {slow}, and receives as usual,")),
                    [None, _] => ("receives", format!("receives at {slow}, and sends as usual,")),
                };
                let name = name(node);
                let why = format!(
                    "host {name} {does} with nearly all others, instead of {usual}: its processors, network card, or \
                     own cable and port"
                );
                (Place::Host, vec![name], direction, why)
            }
            Suspected::Link { from, to, both } => {
                let (nodes, direction, pair) = Self::link(name(from), name(to), both);
                let why = format!(
                    "the link {pair} carries {slow} instead of {usual}, and both hosts are as usual towards others: a \
                     cable, port or route between these two"
                );
                (Place::Link, nodes, direction, why)
            }
            Suspected::Unclear { from, to, both } => {
                let (nodes, direction, pair) = Self::link(name(from), name(to), both);
                let why = format!(
                    "{pair} carries {slow} instead of {usual}: the link or one of the hosts; with four measured \
                     nodes it could be told which"
                );
                (Place::Unknown, nodes, direction, why)
            }
        };
        SuspectDocument { place, nodes, direction: direction.to_owned(), gbit_s: gbit_s(suspect.bits_per_s), why }
    }

    fn link(from: String, to: String, both: bool) -> (Vec<String>, &'static str, String) {
        let (direction, arrow) = if both { ("both", "<->") } else { ("one", "->") };
        let pair = format!("{from} {arrow} {to}");
        (vec![from, to], direction, pair)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples::{judged, matrix};
    use crate::outputs::documents::reads_back;

    #[test]
    fn a_bad_host_and_a_bad_link_are_told_in_words() {
        let mut rates = vec![vec![1.0; 5]; 5];
        rates[1] = vec![0.2; 5];
        (rates[2][4], rates[4][2]) = (0.3, 0.4);
        let document = judged(&matrix(&rates));
        reads_back(&document);
        let [host, link] = &document.judgement.suspects[..] else { panic!("{document:?}") };
        assert_eq!((host.place, host.nodes.join(","), host.direction.as_str()), (Place::Host, "n2".into(), "sends"));
        assert_eq!((link.place, link.nodes.join(","), link.direction.as_str()), (Place::Link, "n3,n5".into(), "both"));
        assert_eq!((host.gbit_s, link.gbit_s, document.judgement.usual_gbit_s), (0.2, 0.3, Some(1.0)));
        assert!(host.why.contains("host n2 sends") && host.why.contains("200 Mbit/s"), "{host:?}");
        assert!(link.why.contains("n3 <-> n5"), "{link:?}");
        assert_eq!(document.way("n5", "n3").map(|route| route.measured_by.as_str()), Some("n3"));
    }

    #[test]
    fn nodes_of_one_address_are_measured_and_not_judged() {
        let mut local = matrix(&[vec![0.0, 9.0], vec![1.0, 0.0]]);
        local.routes.values_mut().for_each(|route| route.is_local = true);
        let document = judged(&local);
        assert_eq!(document.judgement.usual_gbit_s, None);
        assert!(document.judgement.suspects.is_empty() && document.ways[0].goodput_gbit_s == Some(9.0));
    }
}
