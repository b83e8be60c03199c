//! Where the cause of a lower goodput most likely is.
//!
//! First by place: what all nodes suffer from is at what they share, what one suffers from is its own. Then by what
//! both ends counted: a processor that is full, costs that have risen, and threads that waited for a core speak for a
//! host; what was lost, or two ends with time to spare, for a link. Loopback has no link.

use super::pair::{Compared, DIRECTIONS, Judged, Pair};
use lon_run::network::ends::STARVED;
use lon_run::outputs::documents::probe::changes::{ChangeKind, LikelyDocument, Place};
use lon_run::outputs::documents::probe::{EndDocument, NodeFabricDocument};

/// A host that uses this share of one processor is busy with the network: what moves samples is mostly one thread.
const BUSY: f64 = 0.9;

/// Costs that have risen by this share have risen.
const DEARER: f64 = 0.3;

/// One direction that is worse, and all else that was compared.
pub(super) struct Loss<'a> {
    pub(super) direction: &'static str,
    pub(super) pair: &'a Pair<'a>,
    pub(super) among: &'a Compared<'a>,
}

/// Where the cause most likely is.
pub(super) fn likely_cause(loss: &Loss<'_>) -> LikelyDocument {
    let at = DIRECTIONS.iter().position(|name| *name == loss.direction).unwrap_or(0);
    let direction = direction(loss.pair, at);
    let document = |place, name: Option<&str>, why: String| LikelyDocument {
        place,
        name: name.map(str::to_owned),
        direction: direction.to_owned(),
        why,
    };
    let nodes = &loss.among.nodes;
    let worse = nodes.iter().filter(|node| is_worse(&node.judged[at])).count();
    // Where costs tell, they tell more than places.
    let host = busy_host(loss.pair, at).or_else(|| starved_host(loss, at)).or_else(|| loopback(loss));
    if let Some((host, why)) = host {
        return document(Place::Host, Some(&host), why);
    }
    match loss.pair.node {
        None if worse == 0 => {
            let why = "each node alone is as it was: what they share became narrower".to_owned();
            document(Place::SharedLink, None, why)
        }
        _ if worse == nodes.len() && worse > 1 => {
            let why = format!("all {worse} nodes are worse: the LoadGen node's own link, or one between switches");
            document(Place::SharedLink, Some("the LoadGen node"), why)
        }
        None => document(Place::Unknown, None, "it follows from the nodes that are worse alone".to_owned()),
        Some(name) => {
            let others = if nodes.len() > worse { "; other nodes are as they were" } else { "" };
            let why = link_evidence(loss.pair).unwrap_or_else(|| "neither end was busy".to_owned());
            document(Place::Link, Some(name), format!("{why}{others}"))
        }
    }
}

fn is_worse(judged: &Judged) -> bool {
    judged.kind == ChangeKind::Worse
}

/// The direction that suffers. Of both ways at once one is enough to be lower, where the other is shown not to be.
fn direction(pair: &Pair<'_>, at: usize) -> &'static str {
    let [up, down, _] = pair.judged.each_ref().map(|judged| judged.kind);
    match (up, down) {
        (ChangeKind::Worse, ChangeKind::Worse) => "both",
        (_, ChangeKind::Undecided) | (ChangeKind::Undecided, _) if at == 2 => "both",
        (ChangeKind::Worse, _) => "up",
        (_, ChangeKind::Worse) => "down",
        _ => "both",
    }
}

/// The ends of the pair before and now; of all nodes at once, those of each node.
fn ends<'a>(loss: &'a Loss<'_>) -> impl Iterator<Item = (&'a NodeFabricDocument, &'a NodeFabricDocument)> {
    let is_wanted = move |pair: &&Pair<'_>| loss.pair.node.is_none() || pair.node == loss.pair.node;
    loss.among.nodes.iter().filter(is_wanted).filter_map(|pair| pair.ends)
}

/// The end whose threads waited most for a core that others had.
fn starved_host(loss: &Loss<'_>, at: usize) -> Option<(String, String)> {
    let waits = ends(loss).flat_map(|(before, now)| {
        [("the LoadGen node", &before.loadgen, &now.loadgen), (now.name.as_str(), &before.sut, &now.sut)]
    });
    let wait = |end: &Option<EndDocument>| end.as_ref()?.core_wait_s_per_s.each()[at];
    let waits = waits.filter_map(|(name, before, now)| Some((name, wait(before), wait(now)?)));
    // A wait that was as long before has not made it slower.
    let longer = waits.filter(|(_, was, is)| *is >= STARVED && was.is_none_or(|was| *is > was));
    let (name, was, is) = longer.max_by(|a, b| a.2.total_cmp(&b.2))?;
    let was = was.map(|was| format!("; it was {was:.2} s")).unwrap_or_default();
    Some((name.to_owned(), format!("its threads had no core for {is:.2} s of each second{was}")))
}

/// The host of both ends, where they are one host.
fn loopback(loss: &Loss<'_>) -> Option<(String, String)> {
    let is_local = |(_, now): (&NodeFabricDocument, &NodeFabricDocument)| {
        now.loadgen.as_ref().is_some_and(|end| end.interface.is_none())
    };
    let mut ends = ends(loss).peekable();
    let is_loopback = ends.peek().is_some() && ends.all(is_local);
    let why = "the connections are on loopback, which has no link: this host's processors carry every byte";
    is_loopback.then(|| ("the LoadGen node".to_owned(), why.to_owned()))
}

/// The end whose processor is full, or which pays much more than it did for what it carries.
fn busy_host(pair: &Pair<'_>, at: usize) -> Option<(String, String)> {
    let ((before, now), now_gbit_s) = (pair.ends?, pair.judged[at].now_gbit_s?);
    let ends = [("the LoadGen node", &before.loadgen, &now.loadgen), (now.name.as_str(), &before.sut, &now.sut)];
    let busy = ends.into_iter().filter_map(|(name, before, now)| {
        let (before, now) = (before.as_ref()?, now.as_ref()?);
        let (was, is) = (before.cpu_s_per_gb.each()[at]?, now.cpu_s_per_gb.each()[at]?);
        // Seconds of processor time in a second.
        let used = is * now_gbit_s / 8.0;
        (used >= BUSY && is > was * (1.0 + DEARER)).then(|| {
            let why = format!("it uses {used:.1} processors, {is:.2} s for a gigabyte; it was {was:.2} s");
            (used, name.to_owned(), why)
        })
    });
    let dearest = busy.max_by(|a, b| a.0.total_cmp(&b.0));
    dearest.map(|(_, name, why)| (name, why))
}

/// Returns the counts of both ends that speak for a link, in words.
fn link_evidence(pair: &Pair<'_>) -> Option<String> {
    let (before, now) = pair.ends?;
    let mut evidence = Vec::new();
    for (name, was, is) in
        [("the LoadGen node", &before.loadgen, &now.loadgen), (now.name.as_str(), &before.sut, &now.sut)]
    {
        let Some(is) = is else { continue };
        let earlier = was.as_ref().and_then(|end| end.retransmits).unwrap_or(0);
        if let Some(resends) = is.retransmits.filter(|resends| *resends > 2 * earlier.max(1)) {
            evidence.push(format!("{name} sent {resends} segments again, {earlier} before"));
        }
        evidence.extend(moved(name, was.as_ref(), is));
    }
    (!evidence.is_empty()).then(|| evidence.join("; "))
}

/// Counters of the interface that stood still before.
fn moved(name: &str, was: Option<&EndDocument>, is: &EndDocument) -> Option<String> {
    let is_new = |counter: &String| !was.is_some_and(|end| end.counters_moved.contains_key(counter));
    let new = is.counters_moved.iter().filter(|(counter, _)| counter.starts_with("nic.") && is_new(counter));
    let new: Vec<String> = new.map(|(counter, count)| format!("{counter} {count}")).collect();
    (!new.is_empty()).then(|| format!("at {name} {}", new.join(", ")))
}
