//! The use of each link in a run: the rate that it carried, beside the rate that the link can carry. Pure.
//!
//! It answers whether the network was the limit of the run as it was, codecs included. What the rules ask of a network
//! is another question: see `bandwidth`.

use lon_proto::direction::Direction;
use qdl::NodeReport;

use super::cause::Route;
use super::fabric::{Fabric, Goodput, rate};

/// From this share on a link is full: what a probe measures scatters by a few hundredths.
const FULL: f64 = 0.9;

/// One direction of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Used {
    pub(crate) direction: Direction,
    /// The rate that the run carried, bit/s.
    pub(crate) carried: f64,
    /// The rate that the link can carry, bit/s; `None` where it was not measured.
    pub(crate) possible: Option<f64>,
}

/// The link to one node, or the links to all of them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Link {
    /// The node's name; none: all nodes together.
    pub(crate) node: Option<String>,
    pub(crate) directions: [Used; 2],
}

/// All links of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Links {
    pub(crate) all: Vec<Link>,
    /// Sockets had room all the time, so that what leaves this host was not held up.
    has_room: bool,
}

impl Used {
    /// The share that was used, to 1 at most: what is carried in bursts is not what a probe carries.
    pub(crate) fn share(&self) -> Option<f64> {
        self.possible.filter(|possible| *possible > 0.0).map(|possible| (self.carried / possible).min(1.0))
    }
}

impl Links {
    /// Of a run that answered so many samples a second.
    pub(crate) fn new(
        samples_per_s: Option<f64>,
        reports: &[NodeReport],
        routes: &[Route],
        fabric: Option<&Fabric>,
    ) -> Links {
        let samples: u64 = reports.iter().map(|report| report.counts.samples_sent).sum();
        let Some(per_byte) = samples_per_s.filter(|_| samples > 0).map(|rate| rate / samples as f64 * 8.0) else {
            return Links::default();
        };
        let both = |bytes: [u64; 2], goodput: Option<Goodput>, measured: Option<f64>| {
            let [ingress, egress] = bytes.map(|bytes| bytes as f64 * per_byte);
            let up = goodput.and_then(|goodput| goodput.up).or(measured);
            let down = goodput.and_then(|goodput| goodput.down);
            [
                Used { direction: Direction::Ingress, carried: ingress, possible: up },
                Used { direction: Direction::Egress, carried: egress, possible: down },
            ]
        };
        let bytes = |report: &NodeReport| [report.counts.message_bytes_out, report.counts.message_bytes_in];
        let link = |(at, report): (usize, &NodeReport)| {
            let goodput = fabric.and_then(|fabric| Some(fabric.nodes.get(at)?.goodput));
            // Only where it was full is what it carried what it can carry.
            let measured =
                routes.get(at).filter(|route| route.full >= FULL / 2.0).and_then(|route| route.link_bits_per_s);
            Link { node: Some(report.name.clone()), directions: both(bytes(report), goodput, measured) }
        };
        let mut all: Vec<Link> = reports.iter().enumerate().map(link).collect();
        if reports.len() > 1 {
            let sum = reports.iter().map(bytes).fold([0, 0], |[a, b], [c, d]| [a + c, b + d]);
            all.push(Link { node: None, directions: both(sum, fabric.map(|fabric| fabric.together), None) });
        }
        Links { all, has_room: routes.iter().all(|route| route.full < 1.0 - FULL) }
    }

    /// The way that was used most, with the name of its node.
    fn fullest(&self) -> Option<(Option<&str>, Used, f64)> {
        let usages =
            self.all.iter().flat_map(|link| link.directions.iter().map(|usage| (link.node.as_deref(), *usage)));
        let shares = usages.filter_map(|(node, usage)| Some((node, usage, usage.share()?)));
        shares.max_by(|(.., a), (.., b)| a.total_cmp(b))
    }

    /// Returns true when the network was the limit. `None` where that is not known.
    pub(crate) fn is_limit(&self) -> Option<bool> {
        match self.fullest() {
            Some((.., share)) => Some(share >= FULL),
            // Sockets here do not see how the answers come back.
            None => self.has_room.then_some(false).filter(|_| !self.all.is_empty()),
        }
    }

    /// The same in words, with the link that was used most.
    pub(crate) fn text(&self) -> String {
        match self.fullest() {
            Some((node, usage, share)) => {
                let is = if share >= FULL { "is the limit" } else { "is not the limit of the rate" };
                let node = node.map_or_else(|| "all nodes together".to_owned(), |node| format!("node {node}"));
                let (used, direction) = (100.0 * share, usage.direction.name());
                let (carried, possible) = (rate(Some(usage.carried)), rate(usage.possible));
                format!("the network {is}: link used: {used:.0} % ({direction}, {node}: {carried} of {possible})")
            }
            None if self.all.is_empty() => "not known: nothing was answered".to_owned(),
            None if self.has_room => {
                "the link is not the limit of the rate towards the SUT: sockets always had room (--probe measures the \
                 rate of \
                 the links)"
                    .to_owned()
            }
            None => "not known: sockets were full for some of the time (--probe measures what the links can carry)"
                .to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(node: &str, [carried, back]: [f64; 2], [up, down]: [Option<f64>; 2]) -> Link {
        let directions = [(Direction::Ingress, carried, up), (Direction::Egress, back, down)];
        let directions = directions.map(|(direction, carried, possible)| Used { direction, carried, possible });
        Link { node: Some(node.to_owned()), directions }
    }

    fn links(all: Vec<Link>, has_room: bool) -> Links {
        Links { all, has_room }
    }

    #[test]
    fn the_fullest_direction_of_the_fullest_link_decides() {
        let wide = link("a", [10e6, 1e3], [Some(94e6); 2]);
        let full = link("b", [93.1e6, 1e3], [Some(94e6); 2]);
        let of = links(vec![wide.clone(), full], true);
        assert_eq!(of.is_limit(), Some(true));
        let text = "the network is the limit: link used: 99 % (ingress, node b: 93.1 Mbit/s of 94.0 Mbit/s)";
        assert_eq!(of.text(), text);
        let back = link("c", [1e6, 92e6], [Some(94e6); 2]);
        assert!(links(vec![wide.clone(), back], true).text().contains("98 % (egress, node c"));
        assert_eq!(links(vec![wide], false).is_limit(), Some(false));
    }

    #[test]
    fn where_nothing_was_measured_sockets_that_had_room_are_enough_to_say_that_it_is_not() {
        let unmeasured = || vec![link("a", [10e6, 1e3], [None; 2])];
        assert_eq!(links(unmeasured(), true).is_limit(), Some(false));
        assert!(links(unmeasured(), true).text().contains("sockets always had room"));
        assert_eq!(links(unmeasured(), false).is_limit(), None);
        assert_eq!(Links::default().is_limit(), None);
    }
}
