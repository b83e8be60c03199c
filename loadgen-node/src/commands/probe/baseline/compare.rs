//! Each quantity of two probes, side by side.
//!
//! A goodput passes only where its loss is shown to be within the tolerance: the interval of the difference does not
//! reach below it. A loss beyond the tolerance is shown where the interval excludes no change. All else is undecided.

use std::collections::HashMap;

use super::cause::{Loss, likely_cause};
use super::pair::{Compared, DIRECTIONS, Judged, Pair};
use lon_run::network::by_way::ByWay;
use lon_run::network::fabric::rate;
use lon_run::network::spread;
use lon_run::outputs::documents::probe::changes::{AgainstDocument, ChangeDocument, ChangeKind};
use lon_run::outputs::documents::probe::{
    AskedDocument, EndDocument, FabricDocument, NodeFabricDocument, ProbeDocument,
};

/// Checks that the probe in `file` can be compared with one over these transports, before anything is measured.
///
/// # Errors
/// It ended early, has other transports, or has a matrix where the other has none.
pub(crate) fn comparable(
    before: &ProbeDocument,
    transports: &[&str],
    has_matrix: bool,
    file: &str,
) -> Result<(), String> {
    if let Some(why) = &before.ended_early {
        return Err(format!("the probe in {file} ended early ({why}): save one that was measured to the end"));
    }
    let stored: Vec<&str> = before.fabrics().map(|fabric| fabric.transport.as_str()).collect();
    if stored != transports {
        let [before, now] = [&stored[..], transports].map(|transports| transports.join(", "));
        return Err(format!("{file} has transport {before}, this probe {now}: probe with the same --transport"));
    }
    match (before.matrix.is_empty(), has_matrix) {
        (false, false) => Err(format!("{file} has what nodes measure among each other: probe with --matrix")),
        (true, true) => Err(format!("{file} was saved without --matrix: save one with it, or leave it out")),
        _ => Ok(()),
    }
}

/// Checks that the flags which change the goodput are those of a stored probe, before anything is measured. A file of
/// an earlier version does not have them.
///
/// # Errors
/// One of them is another.
pub(crate) fn same_flags(before: Option<&AskedDocument>, now: &AskedDocument, file: &str) -> Result<(), String> {
    let flags_text = |flags: &AskedDocument| {
        let connections: Vec<String> = flags.connections.iter().map(ToString::to_string).collect();
        format!("--connections {} --duration {}s", connections.join(","), flags.duration_s)
    };
    match before {
        Some(before) if before != now => Err(format!(
            "{file} was saved with {}, this probe has {}: goodput depends on both, so give the same",
            flags_text(before),
            flags_text(now)
        )),
        _ => Ok(()),
    }
}

/// Checks that the nodes are those of a stored probe over the same transport, before anything is measured.
///
/// # Errors
/// They are others.
pub(crate) fn same_nodes(before: &FabricDocument, now: &[&str], file: &str) -> Result<(), String> {
    let names: Vec<&str> = before.nodes.iter().map(|node| node.name.as_str()).collect();
    let is_same = names.len() == now.len() && names.iter().all(|name| now.contains(name));
    let message =
        || format!("{file} has the nodes {}, this probe {}: probe the same nodes", names.join(", "), now.join(", "));
    if is_same { Ok(()) } else { Err(message()) }
}

/// Holds a probe against one that was stored in `file`. `tolerance`: the share by which goodput may be lower.
///
/// # Errors
/// The two cannot be compared: see [`comparable`], or the nodes are others.
pub(crate) fn compare(
    before: &ProbeDocument,
    now: &ProbeDocument,
    tolerance: f64,
    file: &str,
) -> Result<AgainstDocument, String> {
    let transports: Vec<&str> = now.fabrics().map(|fabric| fabric.transport.as_str()).collect();
    comparable(before, &transports, !now.matrix.is_empty(), file)?;
    let mut compared = Vec::new();
    for (before, now) in before.fabrics().zip(now.fabrics()) {
        let comparison = Compared::of(before, now, tolerance, file)?;
        compared.extend(comparison.changes());
    }
    compared.extend(matrices(before, now, tolerance, file)?);
    let (unchanged, changes): (Vec<_>, Vec<_>) =
        compared.into_iter().partition(|change| change.kind == ChangeKind::Same);
    let passed = changes.iter().all(|change| change.kind == ChangeKind::Better);
    Ok(AgainstDocument { file: file.to_owned(), tolerance_percent: tolerance * 100.0, passed, changes, unchanged })
}

/// The ways between nodes, where both probes have them.
fn matrices(
    before: &ProbeDocument,
    now: &ProbeDocument,
    tolerance: f64,
    file: &str,
) -> Result<Vec<ChangeDocument>, String> {
    let mut changes = Vec::new();
    for (before, now) in before.matrix.iter().zip(&now.matrix) {
        // A search for each way would be one among 16,256 of them with 128 nodes.
        let before: HashMap<_, _> = before.ways.iter().map(|entry| ((&entry.from, &entry.to), entry)).collect();
        for is in &now.ways {
            let was = before.get(&(&is.from, &is.to));
            let was =
                was.ok_or_else(|| format!("{file} has no way from {} to {}: probe the same nodes", is.from, is.to))?;
            let judged = one(&was.goodput_repeats_gbit_s, &is.goodput_repeats_gbit_s, tolerance);
            let quantity = format!("goodput to {}", is.to);
            changes.push(change(&now.transport, Some(&is.from), quantity, &judged));
        }
    }
    Ok(changes)
}

/// A goodput before and now, without an explanation.
fn change(transport: &str, node: Option<&str>, quantity: String, judged: &Judged) -> ChangeDocument {
    let percent = |share: f64| (share * 1000.0).round() / 10.0;
    ChangeDocument {
        transport: transport.to_owned(),
        node: node.map(str::to_owned),
        quantity,
        before: rate(judged.before_gbit_s.map(|gbit_s| gbit_s * 1e9)),
        now: rate(judged.now_gbit_s.map(|gbit_s| gbit_s * 1e9)),
        change_percent: judged.change.map(percent),
        interval_percent: judged.interval.map(|interval| interval.map(percent)),
        kind: judged.kind,
        likely: None,
    }
}

impl<'a> Compared<'a> {
    fn of(
        before: &'a FabricDocument,
        now: &'a FabricDocument,
        tolerance: f64,
        file: &str,
    ) -> Result<Compared<'a>, String> {
        let mut nodes = Vec::new();
        let names: Vec<&str> = now.nodes.iter().map(|node| node.name.as_str()).collect();
        same_nodes(before, &names, file)?;
        for was in &before.nodes {
            let Some(is) = now.nodes.iter().find(|node| node.name == was.name) else { continue };
            let judged = judge(&was.repeats(), &is.repeats(), tolerance);
            nodes.push(Pair { node: Some(&was.name), judged, ends: Some((was, is)) });
        }
        let together = (nodes.len() > 1).then(|| {
            let judged = judge(&before.together.repeats(), &now.together.repeats(), tolerance);
            Pair { node: None, judged, ends: None }
        });
        Ok(Compared { transport: &now.transport, nodes, together })
    }

    fn changes(&self) -> Vec<ChangeDocument> {
        let mut changes = Vec::new();
        for pair in self.nodes.iter().chain(&self.together) {
            for (judged, direction) in pair.judged.iter().zip(DIRECTIONS) {
                let loss = Loss { direction, pair, among: self };
                let document = change(self.transport, pair.node, format!("goodput {direction}"), judged);
                let likely = (judged.kind == ChangeKind::Worse).then(|| likely_cause(&loss));
                changes.push(ChangeDocument { likely, ..document });
            }
            if let Some((before, now)) = pair.ends {
                changes.extend(self.configuration(before, now));
            }
        }
        changes
    }

    /// Returns the configuration of both ends of the connections to a node, where it has changed.
    fn configuration(&self, before: &NodeFabricDocument, now: &NodeFabricDocument) -> Vec<ChangeDocument> {
        let mut changes = Vec::new();
        for (end, was, is) in
            [("the LoadGen node", &before.loadgen, &now.loadgen), (now.name.as_str(), &before.sut, &now.sut)]
        {
            let (Some(was), Some(is)) = (was, is) else { continue };
            for ((what, was), (_, is)) in configured(was).into_iter().zip(configured(is)) {
                // A setting that one of the two probes does not know is no difference.
                let (Some(was), Some(is)) = (was, is) else { continue };
                if was != is {
                    changes.push(ChangeDocument {
                        transport: self.transport.to_owned(),
                        node: Some(now.name.clone()),
                        quantity: format!("{what} at {end}"),
                        before: was,
                        now: is,
                        change_percent: None,
                        interval_percent: None,
                        kind: ChangeKind::Configuration,
                        likely: None,
                    });
                }
            }
        }
        changes
    }
}

/// Returns the configuration of an end, in words.
fn configured(end: &EndDocument) -> [(&'static str, Option<String>); 4] {
    let interface = end.interface.as_ref();
    [
        ("MTU", interface.map(|interface| interface.mtu_bytes.to_string())),
        ("interface speed", interface.and_then(|it| it.speed_mbit_s).map(|speed| format!("{speed} Mbit/s"))),
        ("MTU of the way", end.mtu_bytes.map(|bytes| bytes.to_string())),
        ("congestion control", end.congestion_control.clone()),
    ]
}

fn judge(before: &ByWay<Vec<f64>>, now: &ByWay<Vec<f64>>, tolerance: f64) -> [Judged; 3] {
    [(&before.up, &now.up), (&before.down, &now.down), (&before.both, &now.both)]
        .map(|(before, now)| one(before, now, tolerance))
}

fn one(before: &[f64], now: &[f64], tolerance: f64) -> Judged {
    let [before_gbit_s, now_gbit_s] = [before, now].map(spread::mean);
    let change =
        now_gbit_s.zip(before_gbit_s).map(|(now, before)| now / before - 1.0).filter(|share| share.is_finite());
    let interval = spread::ratio_interval(before, now);
    let may_be_chance = interval.is_some_and(|[low, high]| low <= 0.0 && high >= 0.0);
    // A narrower link is narrower each time. What only some repeats suffer from may be other programs on the hosts.
    let best = |repeats: &[f64]| repeats.iter().copied().fold(0.0, f64::max);
    let comes_and_goes = best(now) >= best(before) * (1.0 - tolerance);
    let is_lower = change.is_some_and(|change| change < -tolerance);
    let is_higher = change.is_some_and(|change| change > tolerance);
    let kind = match interval {
        _ if is_lower && !may_be_chance && !comes_and_goes => ChangeKind::Worse,
        Some([low, _]) if low < -tolerance => ChangeKind::Undecided,
        Some(_) if is_higher && !may_be_chance => ChangeKind::Better,
        Some(_) => ChangeKind::Same,
        None => ChangeKind::Undecided,
    };
    Judged { before_gbit_s, now_gbit_s, change, interval, kind }
}
