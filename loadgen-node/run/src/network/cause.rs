//! Finds the cause that held a run back, from measurements that were made while it went on. Pure.
//!
//! Four things can keep samples from being sent, and answered, as fast as they are due. Each leaves a trace of its own:
//!
//! | cause | trace |
//! |---|---|
//! | the link is full | writes wait for room, or the kernel always has more than it can send; not on loopback |
//! | a node is slow | its own stages take most of the round trip; or its receive window stops the kernel |
//! | a node's window is full | it holds all that it takes, with most of the round trip outside it; or HTTP/2's own |
//! | this host is busy | a thread that issues or carries waits for a core, or never rests |
//!
//! Loopback has no link: its sockets are as fast as this host's processors read and write them. A thread that waits for
//! a core finds its socket full for as long.
//!
//! Samples come at random times, so that a cause that acts for a share of the time meets that share of the samples.
//! Where 1 % of them were late, what acted for less than half of that is not why. Where two causes acted about as
//! long, or none did, it is said that the cause is not known: a guess would send its reader to the wrong machine.

use std::time::{Duration, Instant};

use lon_proto::figures::length_ns;
use qdl::{NodeReport, NodeRoom};

use super::fabric::{Fabric, rate};
use loadgen::run::RunOutcome;
use lon_world::tally::Split;
use lon_world::threads::{ThreadLook, ThreadTime};

/// A cause that holds a run back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The link between this host and the nodes carries no more.
    Link,
    /// The SUT nodes are no faster.
    Node,
    /// The SUT nodes take no more samples, or over HTTP/2 no more bytes, at once, and the way to them is long.
    Window,
    /// This host has no more processor time for the LoadGen node.
    Host,
    /// The measurements do not show the cause.
    Unknown,
}

/// A cause that acts for a smaller share of the time is not why more than 1 % of the samples were late.
const LEAST: f64 = 0.005;

/// A cause that acts so many times as long as another one is the one.
const CLEARLY: f64 = 1.5;

/// A socket that is full for this share of the time is why, whatever else there is: nothing could be sent sooner.
const SURE: f64 = 0.8;

/// The stage in which a node takes a sample apart, and decompresses it.
const DECODE: &str = "decode";

/// The stage in which a sample waits: for a decode thread where it has a codec, then for a worker.
const QUEUE: &str = "queue";
/// Share of the time outside the SUT that a sample is on the wire where the link is the reason: with a queue before it,
/// others are there as well.
const QUEUED: f64 = 0.2;
/// A link that carries this times the rate that was asked for has more than enough.
const NEARLY: f64 = 1.1;
/// The stage in which samples wait for their batch.
const BATCH: &str = "batch";

/// More than half of something.
const HALF: f64 = 0.5;

/// A thread that runs, or is ready to run, for this share of the time never rests.
const RESTLESS: f64 = 0.85;

/// A thread that waits for a core for this share of the time reads answers late, so that windows stay full.
const OFTEN: f64 = 0.2;

/// The share of a link's rate that samples may take. The rest stays free: at the link's very rate a queue never ends.
const LINK_SHARE: f64 = 0.99;

impl Cause {
    /// Its name in documents.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Cause::Link => "link",
            Cause::Node => "node",
            Cause::Window => "window",
            Cause::Host => "loadgen_host",
            Cause::Unknown => "not_known",
        }
    }

    /// Its name for people.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Cause::Link => "the link",
            Cause::Node => "the SUT nodes",
            Cause::Window => "the window of the SUT nodes",
            Cause::Host => "this host",
            Cause::Unknown => "not known",
        }
    }
}

/// The way to one node. Shares are of the time in which samples were timed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Route {
    /// Writes waited for room.
    pub blocked: f64,
    /// The socket was full.
    pub full: f64,
    /// Of the time in which the kernel had something to send, the node's receive window kept it from sending.
    pub receiver: f64,
    /// The socket had room, and HTTP/2's window for the node was full.
    pub http2_window_full: f64,
    /// The node was given no more samples, because it takes no more.
    pub window_full: f64,
    /// The rate that the link carries, bit/s: its rate while it was full, or else the rate that a probe found.
    pub link_bits_per_s: Option<f64>,
    /// The node is on this host.
    pub is_on_this_host: bool,
}

impl Route {
    /// The way to a node, of which this was measured in this time.
    pub(crate) fn new(room: &NodeRoom, took: Duration, probed_bits_per_s: Option<f64>) -> Route {
        let all = took.as_secs_f64() * room.writers.max(1) as f64;
        let share = |part: Duration| if all > 0.0 { (part.as_secs_f64() / all).min(1.0) } else { 0.0 };
        let socket = &room.socket;
        let full_s = socket.full.as_secs_f64() / room.writers.max(1) as f64;
        let while_full = (full_s >= LONG_ENOUGH_S).then(|| socket.full_bytes as f64 * 8.0 / full_s);
        let delivery = Some(socket.delivery_bytes_per_s).filter(|rate| *rate > 0).map(|rate| rate as f64 * 8.0);
        Route {
            blocked: share(socket.blocked),
            full: share(socket.full.max(socket.blocked)),
            receiver: socket.receiver_limited.as_secs_f64() / socket.busy.as_secs_f64().max(1e-9),
            http2_window_full: share(room.http2_held.saturating_sub(socket.blocked)),
            window_full: share(room.window_full * u32::try_from(room.writers).unwrap_or(1).max(1)),
            link_bits_per_s: while_full.filter(|rate| *rate > 0.0).or(probed_bits_per_s).or(delivery),
            is_on_this_host: room.is_on_this_host,
        }
    }
}

/// For how long a link must have been full so that its rate is known.
const LONG_ENOUGH_S: f64 = 0.25;

/// The processor time that the threads that issue and carry had of this host. Each value is that of the thread that had
/// the most.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct HostTime {
    /// Share of the time in which a thread was ready to run, and did not.
    pub(crate) waited: f64,
    /// The same and the time in which it ran; none where all of them spin, and so never rest.
    pub(crate) restless: Option<f64>,
}

impl HostTime {
    /// Of threads with these times, the issuing one first. None: not known.
    pub(crate) fn new(times: &[ThreadTime], took: Duration, issuer_spins: bool) -> Option<HostTime> {
        let share = |part: Duration| part.as_secs_f64() / took.as_secs_f64().max(1e-9);
        let waited = times.iter().map(|time| share(time.waited)).reduce(f64::max)?;
        let resting = times.iter().skip(usize::from(issuer_spins));
        Some(HostTime { waited, restless: resting.map(|time| share(time.ran + time.waited)).reduce(f64::max) })
    }

    /// Of the threads that were looked at, in order, from one moment to another: as near to them as there was a look.
    pub(crate) fn between(looks: &[ThreadLook], [from, until]: [Instant; 2], issuer_spins: bool) -> Option<HostTime> {
        let first = looks.iter().rev().find(|look| look.at <= from).or(looks.first())?;
        let last = looks.iter().find(|look| look.at >= until).or(looks.last())?;
        let times = first.threads.iter().zip(&last.threads).map(|(before, after)| after.since(*before));
        let took = last.at.checked_duration_since(first.at).filter(|took| !took.is_zero())?;
        HostTime::new(&times.collect::<Vec<_>>(), took, issuer_spins)
    }
}

/// The time of samples at the percentile that is judged, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    pub before_sending_ns: u64,
    pub outside_ns: u64,
    pub sut_ns: u64,
    /// The longest stage of the SUT; empty where it is not known.
    pub longest: &'static str,
}

impl Spent {
    /// At p50 (0), p90 (1) or p99 (2).
    pub(crate) fn of(split: &Split, at: usize) -> Spent {
        let mut parts = split.parts().map(|(name, values)| (name, values[at]));
        let [before_sending_ns, outside_ns] = [parts.next(), parts.next()].map(|part| part.unwrap_or_default().1);
        let stages: Vec<(&'static str, u64)> = parts.collect();
        let sut_ns = stages.iter().fold(0, |sum: u64, (_, ns)| sum.saturating_add(*ns));
        let longest = stages.into_iter().filter(|(_, ns)| *ns > 0).max_by_key(|(_, ns)| *ns);
        Spent { before_sending_ns, outside_ns, sut_ns, longest: longest.map(|(name, _)| name).unwrap_or_default() }
    }

    /// The longest stage, as the end of a sentence. `is_smaller` is true when samples have a codec.
    fn above_all(&self, is_smaller: bool) -> String {
        match self.longest {
            "" => String::new(),
            DECODE => ", above all decode, which decompresses samples (sut-node serve --decode-threads)".to_owned(),
            QUEUE if is_smaller => ", above all queue, in which samples wait to be decompressed (sut-node serve \
                                    --decode-threads), then for a worker"
                .to_owned(),
            BATCH => ", above all waiting for the batch or its worker".to_owned(),
            stage => format!(", above all {stage}"),
        }
    }
}

/// The measurements of everything that can hold a run back.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Evidence {
    /// The way to each node.
    pub(crate) routes: Vec<Route>,
    /// The processor time of this host. `None` where the system does not report it.
    pub(crate) host: Option<HostTime>,
    /// Share of the time in which threads of a SUT node were ready to run and had no core: of the node with the most.
    pub(crate) nodes_waited: f64,
    pub(crate) spent: Spent,
    /// Bits of a sample on the sockets; 0 where none was sent.
    pub(crate) sample_bits: f64,
}

/// The sources of the evidence.
pub(crate) struct Sources<'a> {
    pub(crate) outcome: &'a RunOutcome,
    pub(crate) reports: &'a [NodeReport],
    pub(crate) fabric: Option<&'a Fabric>,
    pub(crate) host: Option<HostTime>,
    pub(crate) spent: Spent,
}

impl Evidence {
    pub(crate) fn new(from: &Sources<'_>) -> Evidence {
        let timed_ns = from.outcome.phases.iter().map(|phase| phase.latest_end.since(phase.started)).sum();
        let took = Duration::from_nanos(timed_ns);
        let probed = |at: usize| from.fabric.and_then(|fabric| fabric.nodes.get(at)?.goodput.up);
        let routes = from.reports.iter().enumerate().map(|(at, report)| Route::new(&report.room, took, probed(at)));
        let sum = |of: fn(&NodeReport) -> u64| from.reports.iter().map(of).sum::<u64>() as f64;
        let (bytes, samples) =
            (sum(|report| report.traffic.socket_bytes_out), sum(|report| report.counts.samples_sent));
        let sample_bits = if samples > 0.0 { 8.0 * bytes / samples } else { 0.0 };
        let times = from.reports.iter().filter_map(|report| report.sut.as_ref().ok()?.processor_time);
        let nodes_waited = times.map(ThreadTime::waited_share).fold(0.0, f64::max);
        Evidence { routes: routes.collect(), host: from.host, nodes_waited, spent: from.spent, sample_bits }
    }

    /// The mean over the ways to all nodes, since all of them get samples.
    fn mean(&self, of: fn(&Route) -> f64) -> f64 {
        self.routes.iter().map(of).sum::<f64>() / self.routes.len().max(1) as f64
    }

    /// Share of the time in which a thread that issues or carries waited for a core.
    fn waited(&self) -> f64 {
        self.host.map_or(0.0, |host| host.waited)
    }

    /// A thread that issues or carries never rested.
    fn is_restless(&self) -> bool {
        self.host.and_then(|host| host.restless).is_some_and(|share| share >= RESTLESS)
    }

    /// Why a socket had no room.
    fn socket(&self) -> Cause {
        match () {
            () if self.mean(|route| route.receiver) >= HALF => Cause::Node,
            () if self.routes.iter().all(|route| route.is_on_this_host) => Cause::Host,
            () => Cause::Link,
        }
    }

    /// Why samples were sent late.
    pub(crate) fn of_lateness(&self) -> Cause {
        let (blocked, waited) = (self.mean(|route| route.blocked), self.waited());
        let window_full = self.mean(|route| route.http2_window_full);
        let most = blocked.max(window_full);
        let cause = if blocked >= window_full { self.socket() } else { Cause::Window };
        match () {
            () if most >= SURE => cause,
            () if most >= LEAST && most >= CLEARLY * waited => cause,
            () if waited >= LEAST && waited >= CLEARLY * most => Cause::Host,
            () if most < LEAST && self.is_restless() => Cause::Host,
            () => Cause::Unknown,
        }
    }

    /// A node's window is full for most of the time: the samples that it takes at once, or HTTP/2's own.
    fn is_window_full(&self) -> bool {
        self.mean(|route| route.window_full.max(route.http2_window_full)) >= HALF
    }

    /// Why samples found every node full.
    pub(crate) fn of_overload(&self) -> Cause {
        match () {
            () if self.mean(|route| route.full) >= HALF => self.socket(),
            // Samples that wait to be sent keep their places, so that the next ones find none.
            () if self.mean(|route| route.http2_window_full) >= SURE => Cause::Window,
            () if self.spent.sut_ns >= self.spent.outside_ns => Cause::Node,
            () if self.is_restless() => Cause::Host,
            () => Cause::Window,
        }
    }

    /// Returns the cause that bounds the rate where all samples are there from the start.
    pub(crate) fn of_throughput(&self) -> Cause {
        match () {
            () if self.mean(|route| route.full) >= HALF => self.socket(),
            () if self.is_restless() => Cause::Host,
            () if self.spent.sut_ns >= self.spent.outside_ns && self.spent.sut_ns > 0 => Cause::Node,
            () if self.waited() >= OFTEN => Cause::Host,
            () if self.is_window_full() => Cause::Window,
            () => Cause::Unknown,
        }
    }

    /// Why samples took too long.
    pub(crate) fn of_latency(&self) -> Cause {
        let Spent { before_sending_ns, outside_ns, sut_ns, .. } = self.spent;
        match () {
            () if before_sending_ns > outside_ns.max(sut_ns) => self.of_lateness(),
            () if sut_ns >= outside_ns => Cause::Node,
            () if self.mean(|route| route.full) >= HALF => self.socket(),
            () if self.mean(|route| route.http2_window_full) >= HALF => Cause::Window,
            () if self.wire_ns().is_some_and(|wire_ns| wire_ns >= QUEUED * outside_ns as f64) => Cause::Link,
            () if self.is_restless() => Cause::Host,
            () => Cause::Unknown,
        }
    }

    /// Returns the time that one sample is on the wire, ns.
    pub(crate) fn wire_ns(&self) -> Option<f64> {
        let slowest = self.routes.iter().filter_map(|route| route.link_bits_per_s).reduce(f64::min)?;
        (slowest > 0.0).then(|| self.sample_bits / slowest * 1e9)
    }

    /// Samples a second that the links to all nodes carry; none where that is not known.
    pub(crate) fn fits_per_s(&self) -> Option<f64> {
        let links: Option<f64> = self.routes.iter().map(|route| route.link_bits_per_s).sum();
        links.filter(|_| self.sample_bits > 0.0).map(|bits_per_s| (LINK_SHARE * bits_per_s / self.sample_bits).floor())
    }

    /// Returns the rate of the link in words: `it carries 94.0 Mbit/s to each of 2 nodes, which is 155 samples/s ...`.
    fn link(&self) -> Option<String> {
        let fits = self.fits_per_s()?;
        let links: Vec<f64> = self.routes.iter().filter_map(|route| route.link_bits_per_s).collect();
        let (least, sum) = (links.iter().copied().reduce(f64::min)?, links.iter().sum::<f64>());
        let rate_text = match links.len() {
            1 => rate(Some(sum)),
            // Nearly the same to each.
            count if sum - least * count as f64 <= 0.1 * sum => {
                format!("{} to each of {count} nodes", rate(Some(sum / count as f64)))
            }
            count => format!("{} to {count} nodes", rate(Some(sum))),
        };
        Some(format!("it carries {rate_text}, which is {fits:.0} samples/s with 1 % to spare"))
    }

    /// Returns the explanation of a cause. `target_per_s` is the rate that was asked for, where one was. `is_smaller`
    /// is true when samples have a codec already.
    pub(crate) fn explain(&self, cause: Cause, target_per_s: Option<f64>, is_smaller: bool) -> String {
        let percent = |share: f64| format!("{:.0} %", 100.0 * share);
        match cause {
            Cause::Link => {
                // A link that carries more than was asked for was full for moments only.
                let is_too_little = |fits: f64| target_per_s.is_none_or(|rate_per_s| fits <= rate_per_s * NEARLY);
                let is_known = self.fits_per_s().is_none_or(is_too_little);
                let needed = target_per_s.filter(|_| is_known).map(|rate_per_s| {
                    format!("{rate_per_s:.0}/s needs {}; ", rate(Some(rate_per_s * self.sample_bits)))
                });
                let on_wire = self
                    .wire_ns()
                    .filter(|_| !is_known)
                    .map(|ns| format!("a sample takes {} of it, and those behind it wait", length_ns(ns as u64)));
                let link = on_wire.or_else(|| self.link()).unwrap_or_else(|| {
                    format!("its sockets were full {} of the time", percent(self.mean(|route| route.full)))
                });
                let smaller = if is_smaller { "" } else { "; --compression gives more" };
                format!("{}{link}{smaller}", needed.unwrap_or_default())
            }
            Cause::Node if self.mean(|route| route.receiver) >= HALF => {
                "they did not take what was sent: their receive windows were full".to_owned()
            }
            Cause::Node if self.nodes_waited >= OFTEN => format!(
                "on average, most of a round trip is time in their own stages{}; their threads were ready to run and \
                 had no core {} of the time: a LoadGen node or other programs run on their hosts, or they have more \
                 threads than cores",
                self.spent.above_all(is_smaller),
                percent(self.nodes_waited)
            ),
            Cause::Node => {
                format!(
                    "on average, most of a round trip is time in their own stages{}",
                    self.spent.above_all(is_smaller)
                )
            }
            Cause::Window if self.mean(|route| route.http2_window_full) >= LEAST => format!(
                "the flow-control window of HTTP/2 was full {} of the time (--transport tcp has no such window)",
                percent(self.mean(|route| route.http2_window_full))
            ),
            Cause::Window => "they held as many samples as they take, while most of a round trip was outside them \
                              (sut-node serve --memory raises it)"
                .to_owned(),
            Cause::Host if self.waited() >= LEAST => format!(
                "a thread of the LoadGen node was ready to run and had no core {} of the time (--priority realtime, \
                 or a core of its own)",
                percent(self.waited())
            ),
            Cause::Host if self.is_restless() => {
                "a thread of the LoadGen node never rested (--io-threads, or a faster core)".to_owned()
            }
            Cause::Host => {
                "sockets were full on loopback, where this host's processors carry every byte (SUT nodes on \
                            hosts of their own)"
                    .to_owned()
            }
            Cause::Unknown => {
                let waited = self.host.map_or("not known".to_owned(), |host| percent(host.waited));
                let blocked = percent(self.mean(|route| route.blocked));
                let Spent { before_sending_ns, outside_ns, sut_ns, .. } = self.spent;
                let outside = match outside_ns > sut_ns.max(before_sending_ns) && self.wire_ns().is_none() {
                    true => "; most of a round trip is network and both ends (--probe measures the link's part of it)",
                    false => "",
                };
                format!("sockets had no room {blocked} of the time, and threads waited for a core: {waited}{outside}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(blocked: f64, full: f64) -> Route {
        Route { blocked, full, ..Route::default() }
    }

    fn evidence(route: Route, waited: f64, restless: f64) -> Evidence {
        let host = Some(HostTime { waited, restless: Some(restless) });
        Evidence { routes: vec![route.clone(), route], host, sample_bits: 1_204_224.0, ..Evidence::default() }
    }

    fn spent(before_sending_ns: u64, outside_ns: u64, sut_ns: u64) -> Spent {
        Spent { before_sending_ns, outside_ns, sut_ns, ..Spent::default() }
    }

    #[test]
    fn lateness_has_the_cause_that_acted_longest() {
        let of = |blocked, waited, restless| evidence(route(blocked, blocked), waited, restless).of_lateness();
        assert_eq!(of(0.97, 0.0, 0.04), Cause::Link);
        assert_eq!(of(0.97, 0.9, 0.95), Cause::Link, "what waits for a full socket gains nothing by a core");
        assert_eq!(of(0.02, 0.001, 0.1), Cause::Link);
        assert_eq!(of(0.0, 0.4, 0.5), Cause::Host);
        assert_eq!(of(0.001, 0.001, 0.99), Cause::Host, "it never rests");
        assert_eq!(of(0.3, 0.3, 0.9), Cause::Unknown, "either");
        assert_eq!(of(0.001, 0.002, 0.1), Cause::Unknown, "neither");
        let unsaid = Evidence { host: None, ..evidence(route(0.0, 0.0), 0.0, 0.0) };
        assert_eq!(unsaid.of_lateness(), Cause::Unknown);
        let full_window = Route { http2_window_full: 0.6, ..route(0.1, 0.1) };
        assert_eq!(evidence(full_window, 0.01, 0.1).of_lateness(), Cause::Window);
        let stopped = Route { receiver: 0.9, ..route(0.9, 0.9) };
        assert_eq!(evidence(stopped, 0.0, 0.1).of_lateness(), Cause::Node, "it does not read");
    }

    #[test]
    fn decompression_is_named_where_it_takes_longest() {
        let of = |longest| {
            let spent = Spent { longest, ..spent(0, 100, 800) };
            Evidence { spent, ..evidence(route(0.0, 0.0), 0.0, 0.1) }.explain(Cause::Node, None, false)
        };
        assert_eq!(of(""), "on average, most of a round trip is time in their own stages");
        assert_eq!(
            of("inference"),
            "on average, most of a round trip is time in their own stages, above all inference"
        );
        assert!(of(DECODE).contains("above all decode, which decompresses samples"), "{}", of(DECODE));
    }

    #[test]
    fn nodes_that_wait_for_cores_are_named_as_such() {
        let of = |nodes_waited| {
            let evidence = Evidence { nodes_waited, spent: spent(0, 100, 800), ..evidence(route(0.0, 0.0), 0.0, 0.1) };
            assert_eq!(evidence.of_throughput(), Cause::Node);
            evidence.explain(Cause::Node, None, false)
        };
        assert!(of(0.45).contains("had no core 45 % of the time"), "{}", of(0.45));
        assert!(!of(0.05).contains("core"), "{}", of(0.05));
    }

    #[test]
    fn throughput_is_bound_by_the_first_that_has_no_more() {
        let of = |route, restless, outside, sut| {
            let evidence = Evidence { spent: spent(9_000, outside, sut), ..evidence(route, 0.1, restless) };
            evidence.of_throughput()
        };
        assert_eq!(of(route(0.0, 0.95), 0.2, 900, 10), Cause::Link);
        assert_eq!(
            of(Route { is_on_this_host: true, ..route(0.0, 0.95) }, 0.2, 900, 10),
            Cause::Host,
            "loopback has no link"
        );
        assert_eq!(of(route(0.1, 0.2), 0.95, 900, 10), Cause::Host);
        assert_eq!(of(route(0.0, 0.0), 0.2, 100, 800), Cause::Node);
        let full = Route { window_full: 0.99, ..Route::default() };
        assert_eq!(of(full.clone(), 0.2, 900, 10), Cause::Window);
        let waiting = Evidence { spent: spent(9_000, 900, 10), ..evidence(full.clone(), 0.4, 0.7) };
        assert_eq!(waiting.of_throughput(), Cause::Host);
        assert_eq!(of(full, 0.2, 10, 900), Cause::Node, "a full window of a busy node is as it should be");
        assert_eq!(of(route(0.0, 0.0), 0.2, 900, 10), Cause::Unknown);
    }

    #[test]
    fn overload_is_the_nodes_unless_samples_are_elsewhere() {
        let of = |route, restless, outside, sut| {
            Evidence { spent: spent(0, outside, sut), ..evidence(route, 0.0, restless) }.of_overload()
        };
        assert_eq!(of(route(0.9, 0.9), 0.1, 900, 10), Cause::Link);
        assert_eq!(of(route(0.0, 0.0), 0.1, 10, 900), Cause::Node);
        assert_eq!(of(route(0.0, 0.0), 0.95, 900, 10), Cause::Host);
        assert_eq!(of(route(0.0, 0.0), 0.1, 900, 10), Cause::Window);
    }

    #[test]
    fn a_latency_is_too_long_where_most_of_it_is() {
        let of = |route: Route, spent| Evidence { spent, ..evidence(route, 0.0, 0.1) }.of_latency();
        assert_eq!(of(route(0.9, 0.9), spent(900, 10, 10)), Cause::Link);
        assert_eq!(of(Route::default(), spent(0, 10, 900)), Cause::Node);
        // 1.2 Mbit take 12.7 ms on the link.
        let slow = Route { link_bits_per_s: Some(95e6), ..Route::default() };
        assert_eq!(of(slow.clone(), spent(0, 13_000_000, 10)), Cause::Link);
        assert_eq!(of(slow, spent(0, 130_000_000, 10)), Cause::Unknown);
    }

    #[test]
    fn the_link_is_told_with_the_rate_that_fits() {
        let full = Route { link_bits_per_s: Some(94.3e6), ..route(0.97, 0.97) };
        let text = evidence(full, 0.0, 0.1).explain(Cause::Link, Some(200.0), false);
        let expected = "200/s needs 241 Mbit/s; it carries 94.3 Mbit/s to each of 2 nodes, which is 155 samples/s \
        with 1 % to spare; --compression gives more";
        assert_eq!(text, expected);
        let unknown = evidence(route(0.97, 0.97), 0.0, 0.1).explain(Cause::Link, None, true);
        assert_eq!(unknown, "its sockets were full 97 % of the time");
    }

    #[test]
    fn shares_are_of_all_that_write() {
        let mut room = NodeRoom { writers: 2, ..NodeRoom::default() };
        room.socket.blocked = Duration::from_secs(3);
        room.socket.full = Duration::from_secs(4);
        room.socket.full_bytes = 25_000_000;
        room.socket.busy = Duration::from_secs(4);
        room.socket.receiver_limited = Duration::from_secs(1);
        room.window_full = Duration::from_secs(1);
        room.http2_held = Duration::from_secs(4);
        let route = Route::new(&room, Duration::from_secs(2), Some(7.0));
        let expected = Route {
            blocked: 0.75,
            full: 1.0,
            receiver: 0.25,
            window_full: 0.5,
            http2_window_full: 0.25,
            link_bits_per_s: Some(100e6),
            is_on_this_host: false,
        };
        assert_eq!(route, expected);
        assert_eq!(Route::new(&NodeRoom::default(), Duration::ZERO, Some(7.0)).link_bits_per_s, Some(7.0));
    }

    #[test]
    fn the_nearest_looks_around_the_timed_stretch_count() {
        let start = Instant::now();
        let ms = Duration::from_millis;
        let look = |at, waited| ThreadLook {
            at: start + ms(at),
            threads: vec![ThreadTime { ran: ms(0), waited: ms(waited) }],
        };
        let looks = [look(0, 0), look(900, 0), look(1_900, 500), look(9_000, 500)];
        let of = |from, until| HostTime::between(&looks, [start + ms(from), start + ms(until)], false).unwrap().waited;
        assert_eq!((of(1_000, 1_800), of(900, 1_900)), (0.5, 0.5));
        assert!((of(1_000, 60_000) - 500.0 / 8_100.0).abs() < 1e-9);
        assert_eq!(HostTime::between(&[], [start; 2], false), None);
    }

    #[test]
    fn a_thread_that_spins_is_not_asked_whether_it_rests() {
        let time = |ran, waited| ThreadTime { ran: Duration::from_millis(ran), waited: Duration::from_millis(waited) };
        let of = |spins| HostTime::new(&[time(900, 100), time(100, 200)], Duration::from_secs(1), spins).unwrap();
        assert_eq!((of(false).restless, of(true).restless), (Some(1.0), Some(0.3)));
        assert_eq!((of(true).waited, HostTime::new(&[], Duration::from_secs(1), false)), (0.2, None));
    }
}
