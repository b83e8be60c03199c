//! The goodputs of a probe that are known too badly for a baseline, and the line on a baseline that was saved.

use super::pair::DIRECTIONS;
use lon_run::network::ends::STARVED;
use lon_run::network::spread::{self, FEWEST_REPEATS};
use lon_run::outputs::documents::probe::{EndDocument, ProbeDocument};

/// The line on a probe that was saved in `file`, and on its use as a baseline.
pub(crate) fn saved(probe: &ProbeDocument, tolerance: f64, file: &str) -> String {
    let (unsteady, percent) = (unsteady(probe, tolerance), (tolerance * 1000.0).round() / 10.0);
    match (unsteady.first(), starved(probe).first()) {
        (None, None) => format!("\nSaved {file}: a baseline for --tolerance {percent}%\n"),
        (None, Some(starved)) => {
            format!("\nSaved {file}, a weak baseline: {starved}, and a later probe may find that core free\n")
        }
        (Some(first), _) => {
            let more = unsteady.len() - 1;
            let more = if more > 0 { format!(", and {more} more") } else { String::new() };
            format!(
                "\nSaved {file}, a weak baseline: its goodputs scatter more than --tolerance {percent}% \
                 ({first}{more})\n"
            )
        }
    }
}

/// Each end whose threads waited long for a core that others had, in words: its goodput is that of a busy host.
pub(crate) fn starved(probe: &ProbeDocument) -> Vec<String> {
    let wait = |end: &Option<EndDocument>| {
        let waits = end.as_ref()?.core_wait_s_per_s.each();
        waits.into_iter().flatten().reduce(f64::max).filter(|wait| *wait >= STARVED)
    };
    let mut starved = Vec::new();
    for fabric in probe.fabrics() {
        for node in &fabric.nodes {
            for (name, end) in [("the LoadGen node", &node.loadgen), (node.name.as_str(), &node.sut)] {
                let line = |wait: f64| {
                    format!("over {}, threads of {name} had no core for {wait:.2} s of each second", fabric.transport)
                };
                starved.extend(wait(end).map(line).filter(|line| !starved.contains(line)));
            }
        }
    }
    starved
}

/// Each goodput whose interval is wider than the tolerance to either side, or not known, in words.
pub(crate) fn unsteady(probe: &ProbeDocument, tolerance: f64) -> Vec<String> {
    let mut goodputs = Vec::new();
    for fabric in probe.fabrics() {
        let together = (fabric.nodes.len() > 1).then(|| ("all at once", fabric.together.repeats()));
        let nodes = fabric.nodes.iter().map(|node| (node.name.as_str(), node.repeats()));
        for (name, repeats) in nodes.chain(together) {
            for (values, direction) in repeats.each().into_iter().zip(DIRECTIONS) {
                let why = match spread::half_width(&values) {
                    _ if values.len() < FEWEST_REPEATS => format!("{} of {FEWEST_REPEATS} repeats", values.len()),
                    Some(share) if share <= tolerance => continue,
                    share => format!("\u{b1}{:.1} %", share.unwrap_or(1.0) * 100.0),
                };
                goodputs.push(format!("{} goodput {direction} of {name}: {why}", fabric.transport));
            }
        }
    }
    goodputs
}
