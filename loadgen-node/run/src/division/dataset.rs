//! Rules on the samples that are sent: the benchmark's own dataset, whole, and as much of it in memory as the round
//! asks for.

use super::facts::{Data, Facts};
use super::rule::Verdict;
use super::suite::published;

/// The benchmark whose samples are several items of its dataset each (section 9.3).
const AGGREGATED: &str = "dlrm-v2";

/// Section 7: real data.
pub(super) fn real(facts: &Facts<'_>) -> Verdict {
    let Some(data) = &facts.planned.data else { return none() };
    match data {
        data if data.is_synthetic() => Verdict::broken(format!("the samples are made up: {}", data.name)),
        Data { misfit: Some(misfit), .. } => Verdict::broken(misfit.clone()),
        Data { is_aggregated: true, .. } if facts.planned.benchmark.name != AGGREGATED => {
            Verdict::broken(format!("several items are one sample, which only {AGGREGATED} allows"))
        }
        _ => published(facts),
    }
}

/// Section 7: the whole dataset.
pub(super) fn complete(facts: &Facts<'_>) -> Verdict {
    let planned = facts.planned;
    let Some(data) = &planned.data else { return none() };
    let officials = planned.benchmark.official(planned.round);
    match officials.iter().find_map(|official| official.dataset_samples) {
        None => Verdict::unchecked(format!("round {} has no count for {}", planned.round, planned.benchmark.name)),
        Some(count) if data.total == count => Verdict::Kept,
        Some(count) => Verdict::broken(format!(
            "the dataset has {} samples, the complete one {count} in round {}",
            data.total, planned.round
        )),
    }
}

/// Section 7: the dataset is unchanged.
pub(super) fn sums(facts: &Facts<'_>) -> Verdict {
    match &facts.planned.data {
        None => none(),
        Some(data) if data.is_synthetic() => Verdict::unchecked("samples that are made up have no sums"),
        Some(data) if data.sums_sha256.is_none() && data.name == facts.planned.benchmark.name => {
            Verdict::unchecked(format!("{} is part of the program, which has no list of its sums", data.name))
        }
        Some(data) if data.sums_sha256.is_none() => {
            Verdict::unchecked("there is no list of all files' sums beside the dataset (SHA256SUMS)")
        }
        Some(data) if !data.is_compared => Verdict::unchecked("a run compares the files with their sums"),
        // A file that is not as its sum says ends the test before the run.
        Some(_) => Verdict::Kept,
    }
}

/// Section 4.1: the size of the QSL.
pub(super) fn performance_set(facts: &Facts<'_>) -> Verdict {
    let planned = facts.planned;
    let officials = planned.benchmark.official(planned.round);
    let Some(least) = officials.iter().find_map(|official| official.performance_samples) else {
        return Verdict::unchecked(format!("round {} has no QSL size for {}", planned.round, planned.benchmark.name));
    };
    match &planned.data {
        None => none(),
        // An accuracy run draws nothing.
        Some(_) if !planned.mode.has_performance() => Verdict::Kept,
        Some(data) if data.performance >= least => Verdict::Kept,
        Some(data) => Verdict::broken(format!(
            "a performance run draws from {} samples, {least} at least in round {}",
            data.performance, planned.round
        )),
    }
}

fn none() -> Verdict {
    Verdict::unchecked("no dataset is given")
}
